/* SPDX-License-Identifier: MIT */
/*
 * request: what an executor is sent: path, headers, body. Pure; docs/wire.md has the facts.
 *
 * Answers     Those of beat, idleBeat and kill are read by answer_parse, with CODE_OK for "it lives", "the job is idle
 *             there" and "stopped, or there was nothing to stop".
 */
#ifndef SHARDWHEEL_EXECUTOR_REQUEST_H
#define SHARDWHEEL_EXECUTOR_REQUEST_H

#include "shardwheel/job.h"

/* The generation of an executor shows in the path that starts a job. */
#define REQUEST_PATH_RUN "/run"
#define REQUEST_PATH_TRIGGER "/trigger"
#define REQUEST_PATH_BEAT "/beat" /* has no body */
#define REQUEST_PATH_IDLE_BEAT "/idleBeat"
#define REQUEST_PATH_KILL "/kill"
#define REQUEST_PATH_LOG "/log"

const char *request_path(bool trigger_path);
/* True for what a URL of ours can be made of: http:// or https://, something behind it, no blanks or control
 * characters. */
bool request_is_address(const char *address);
/* Header lines "Name: value\r\n" one after the other. The token is the group's, or the global one where the
 * group has none; no line for an empty one. Control characters are left out of values. */
void request_put_headers(struct buf *out, const char *app_name, const char *group_token, const char *global_token);
/* The JSON body that starts a job. The fire has its job. */
void request_put_body(struct buf *out, const struct fire *fire);
/* The body of idleBeat and kill. */
void request_put_job_body(struct buf *out, int64_t job_id);
/* The body of log: lines from `from_line` on, counted from 1. `date_ms`: the trigger_time of the row, whose date is the
 * folder of the log at the executor. */
void request_put_log_body(struct buf *out, int64_t log_id, int64_t date_ms, int64_t from_line);

#endif
