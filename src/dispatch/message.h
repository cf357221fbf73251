/* SPDX-License-Identifier: MIT */
/*
 * message: the text of trigger_msg. Pure.
 *
 * HTML lines joined by <br>, at most MESSAGE_MAX bytes, everything foreign escaped. Fires of equal settings and outcome
 * have equal texts, so that their rows share one UPDATE: no log id and no clock goes in, but the due time of a late
 * fire. A success has few words (dispatch_put_success): they are written when the fire is planned, and what they leave
 * out stands in the row's columns. Everything else tells all that was known.
 */
#ifndef DISPATCH_MESSAGE_H
#define DISPATCH_MESSAGE_H

#include "shardwheel/job.h"
#include "shardwheel/registry.h"

#define MESSAGE_MAX 60000

struct message_facts {
    const struct fire *fire;            /* with its job */
    const struct registry_group *group; /* NULL when it is gone */
    const char *node_name;
    const char *admin_ip;
    const char *address; /* NULL when there is none */
    int code;
    bool from_executor; /* code and text are the executor's own */
    const char *text;   /* may be NULL */
    const char *asked;  /* HTML: what those said who were asked first and said no; may be NULL */
};

void message_put(struct buf *out, const struct message_facts *facts);

#endif
