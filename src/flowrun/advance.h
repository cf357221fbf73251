/* SPDX-License-Identifier: MIT */
/*
 * flowrun/advance: what becomes of a flow run now: which steps start, end, are tried again, and whether the run has
 * ended. No clock and no database: from what is known of the run to what is to be written (store/flow_move.h).
 */
#ifndef FLOWRUN_ADVANCE_H
#define FLOWRUN_ADVANCE_H

#include "shardwheel/store/flow_move.h"

/* A job of a step, as it is now. */
struct advance_job {
    int64_t id;
    struct job_spec *spec; /* NULL: it is gone */
    struct group_spec *group;
    int64_t retry_wait_s, retry_wait_max_s; /* 0: not set */
    bool resend_lost;
};

/* A version of a flow in memory. */
struct advance_flow {
    struct flow_version version;
    struct flow *flow;
    struct zone *zone; /* its own; NULL: that of the cluster */
};

struct advance {
    const struct advance_flow *flow;                              /* of the run; NULL: its document cannot be read */
    const struct zone *zone;                                      /* of the flow, or of the cluster */
    const struct advance_job *(*find_job)(void *arg, int64_t id); /* NULL: it is gone */
    const struct advance_flow *(*find_flow)(void *arg, const char *name); /* the newest version; NULL: there is none */
    void *arg;
    size_t param_max; /* bytes or characters of a parameter of a run, at least */
};

/* What has happened, for counters and people. */
struct advance_tally {
    int steps_succeeded, steps_failed, steps_skipped, tries;
    int runs_succeeded, runs_failed, runs_cancelled;
};

/* ERR_NOMEM only. */
MUST_CHECK enum err advance_run(const struct advance *a, struct flow_moving *run, int64_t now_ms,
                                struct flow_changes *out, struct advance_tally *tally, struct errctx *ec);

#endif
