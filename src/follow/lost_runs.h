/* SPDX-License-Identifier: MIT */
/*
 * lost_runs: the open runs that are watched: found in the log, kept in memory until they end.
 *
 * Threads     One owner.
 * Finding     Rows without a result lie together in the index of handle_code. New ones are read once they are
 *             LOST_YOUNG_S old, and all of them once more every 10 minutes, for a row may become an open run long after
 *             it was made.
 * Limits      100,000 runs; what is above is found when others have ended.
 */
#ifndef FOLLOW_LOST_RUNS_H
#define FOLLOW_LOST_RUNS_H

#include "follow/horizons.h"
#include "follow/lost_address.h"
#include "shardwheel/base.h"

struct store_session;

struct lost_run {
    int64_t id;
    int64_t job_id;
    int64_t group;
    int64_t triggered_s;
    struct lost_address *address;
    int64_t asked_mono_ms; /* INT64_MIN: not yet */
    int64_t idle_mono_ms;  /* first and last answer that the job is idle; INT64_MIN: none */
    int64_t last_idle_mono_ms;
};

struct lost_runs {
    const struct clock *clock;
    struct worker *worker;            /* whose stop ends a look */
    struct lost_addresses *addresses; /* those of the runs, and others */
    struct log_limit full_log;
    struct lost_run *list; /* ascending by id */
    size_t count;
    int64_t front_id; /* rows up to here were looked at */
    int64_t sweep_id; /* ... and again, up to here */
    int64_t sweep_mono_ms;
    struct horizons horizons; /* of earlier looks */
};

void lost_runs_forget(struct lost_runs *r); /* all of it: the look begins anew */
void lost_runs_fini(struct lost_runs *r);
MUST_CHECK enum err lost_runs_drop_ended(struct lost_runs *r, struct store_session *s, struct errctx *ec);
MUST_CHECK enum err lost_runs_find(struct lost_runs *r, struct store_session *s, struct errctx *ec);

#endif
