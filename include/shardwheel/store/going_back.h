/* SPDX-License-Identifier: MIT */
/*
 * store/going_back: what a Java admin will not do that takes over now: it knows nothing of tables of ours. See
 * store/conn.h for threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_GOING_BACK_H
#define SHARDWHEEL_STORE_GOING_BACK_H

#include "shardwheel/store/later.h"
#include "shardwheel/store/people.h"

struct going_back {
    struct later_sum later;
    /* Jobs that are there and have the setting. */
    int64_t time_zones, fixed_delays, validities, retry_waits, holds, resends, retentions, watches;
    int64_t flow_runs;            /* that are open */
    int64_t flows, flows_first_s; /* whose schedule is followed; the first of them that is due, 0: none is */
    struct named_few strong;      /* users whose passwords it does not know: they cannot log in there */
    int64_t factors;              /* users whose second factor it does not ask for */
    /* Fires of the nodes' last minute whose rows are open 5 s and more behind their second: a Java admin ends none of
     * them. While nodes live these may be on their way. */
    int64_t left_open;
};
MUST_CHECK enum err store_load_going_back(struct store_session *s, struct going_back *out, struct errctx *ec);
bool going_back_is_empty(const struct going_back *g); /* it will do everything, but for left_open. Pure */

#endif
