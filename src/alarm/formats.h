/* SPDX-License-Identifier: MIT */
/*
 * formats: what each kind of webhook is sent, how it is signed, and what its answer means. Pure.
 *
 * Messages go out as plain text, never as markdown: what a job is called, or failed with, formats nothing and mentions
 * nobody.
 */
#ifndef ALARM_FORMATS_H
#define ALARM_FORMATS_H

#include "alarm/channels.h"
#include "alarm/client.h"
#include "alarm/message.h"

struct post {
    struct buf query;  /* goes behind that of the URL */
    struct buf header; /* one line more */
    struct buf body;
};

/* Several messages become one with their titles, but for JSON, which takes one. Test post_failed at the end. */
void format_put(enum channel_kind kind, const char *secret, struct message *const *messages, size_t count,
                int64_t now_ms, struct post *out);
bool post_failed(const struct post *post);
void post_fini(struct post *post);

/* CLIENT_AWAY for what may pass later: errors of the server, too many messages. `ec` says why, unless sent. */
enum client_outcome format_judge(enum channel_kind kind, int status, const struct buf *answer, struct errctx *ec);

#endif
