/* SPDX-License-Identifier: MIT */
/* line: what the policy of a flow makes of a run that is to begin while others are open. Private to store. */
#ifndef STORE_FLOW_LINE_H
#define STORE_FLOW_LINE_H

#include "shardwheel/flow.h"
#include "store/conn/session.h"

enum line_verdict {
    LINE_BEGINS,
    LINE_WAITS,   /* it is put in line */
    LINE_IS_OPEN, /* SKIP_IF_RUNNING, and a run is open */
    LINE_IS_FULL,
};
/* In a transaction that has the row of the flow locked, but for PARALLEL. */
MUST_CHECK enum err line_decide(struct store_session *s, int64_t flow_id, enum flow_policy policy, int64_t queue_max,
                                enum line_verdict *out, struct errctx *ec);

/* A run that begins, waits in line, or is left out. */
struct line_run {
    int64_t flow_id, version;
    int64_t state;                          /* RUNNING, QUEUED, SKIPPED */
    const char *kind;                       /* a letter */
    int64_t due_s;                          /* 0: now */
    const char *parameters, *key, *message; /* NULL: none */
    const char *who;                        /* "": its schedule */
};
MUST_CHECK enum err line_insert_run(struct store_session *s, const struct line_run *run, int64_t *id,
                                    struct errctx *ec);

#endif
