/* SPDX-License-Identifier: MIT */
/* line: what the policy of a flow makes of a run that is to begin while others are open. Private to store. */
#ifndef STORE_FLOW_LINE_H
#define STORE_FLOW_LINE_H

#include "shardwheel/store/flow.h"
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

/* A run that begins, waits in line, or is left out: state RUNNING, QUEUED, SKIPPED. due_s 0: now; `message` NULL: none;
 * who "": its schedule. */
MUST_CHECK enum err line_insert_run(struct store_session *s, const struct flow_run_start *run,
                                    enum flow_run_state state, int64_t due_s, const char *message, int64_t *id,
                                    struct errctx *ec);

#endif
