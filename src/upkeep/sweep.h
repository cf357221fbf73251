/* SPDX-License-Identifier: MIT */
/*
 * sweep: removes old rows of audit and of history, SWEEP_BATCH at a time, table by table; then it rests.
 *
 * Threads     One owner.
 */
#ifndef UPKEEP_SWEEP_H
#define UPKEEP_SWEEP_H

#include "shardwheel/store/history.h"

#define SWEEP_BATCH 500
#define SWEEP_EVERY_MS (10 * 60000) /* between two rounds */
#define SWEEP_PAUSE_MS 200          /* between two statements */

struct sweep {
    int64_t audit_days; /* of audit; the others have HISTORY_DAYS */
    int table;          /* the next statement is about it */
};

void sweep_init(struct sweep *sweep, int64_t audit_days);
/* One statement. *next_mono_ms: when the next one is due. A locked row is no error: it goes with the next round. */
MUST_CHECK enum err sweep_step(struct sweep *sweep, struct store_session *s, const struct clock *clock,
                               int64_t *next_mono_ms, struct errctx *ec);

#endif
