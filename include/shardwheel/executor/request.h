/* SPDX-License-Identifier: MIT */
/*
 * request: what an executor is sent to start a job: path, headers, body. Pure; docs/wire.md has the facts.
 */
#ifndef SHARDWHEEL_EXECUTOR_REQUEST_H
#define SHARDWHEEL_EXECUTOR_REQUEST_H

#include "shardwheel/job.h"

/* The generation of an executor shows in the path that starts a job. */
#define REQUEST_PATH_RUN "/run"
#define REQUEST_PATH_TRIGGER "/trigger"

const char *request_path(bool trigger_path);
/* True for what a URL of ours can be made of: http:// or https://, something behind it, no blanks or control
 * characters. */
bool request_is_address(const char *address);
/* Header lines "Name: value\r\n" one after the other. The token is the group's, or the global one where the
 * group has none; no line for an empty one. Control characters are left out of values. */
void request_put_headers(struct buf *out, const char *app_name, const char *group_token, const char *global_token);
/* The JSON body. The fire has its job. */
void request_put_body(struct buf *out, const struct fire *fire);

#endif
