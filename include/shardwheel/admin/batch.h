/* SPDX-License-Identifier: MIT */
/*
 * admin/batch: the same for many jobs: start, stop, remove, edit. See shardwheel/admin.h for threads, ownership and
 * refusals.
 *
 * Each job    is a call of its own (admin/jobs.h), with its right, its transaction and its row of audit: some may be
 *             done and others not. What came of each stands in the result.
 * Bounds      BATCH_MAX jobs; a call that takes longer than BATCH_MS leaves the rest undone and says so. BATCH_AT_ONCE
 *             calls at a time in a node.
 * Dry run     Says what would be done, by the jobs as they are now; nothing is written or locked.
 */
#ifndef SHARDWHEEL_ADMIN_BATCH_H
#define SHARDWHEEL_ADMIN_BATCH_H

#include "shardwheel/admin/jobs.h"

#define BATCH_MAX 10000
#define BATCH_MS 20000
#define BATCH_AT_ONCE 2

enum batch_action { BATCH_START, BATCH_STOP, BATCH_REMOVE, BATCH_EDIT };

struct batch_order {
    enum batch_action action;
    struct job_filter filter; /* which jobs, of those that the actor sees */
    const int64_t *ids;       /* these instead, in this order; NULL: the filter's, the newest first */
    size_t id_count;
    int64_t expected; /* how many they must be; -1: any number */
    bool dry_run;
    struct job_edit edit; /* of BATCH_EDIT; its `match` is not looked at */
};

enum batch_outcome {
    BATCH_DONE, /* with a dry run: would be done */
    BATCH_SAME, /* it is so already */
    BATCH_REFUSED,
    BATCH_LEFT, /* not looked at: the time was over */
};
const char *batch_outcome_name(enum batch_outcome outcome); /* "done", "same", "refused", "left" */

struct batch_item {
    int64_t id;
    char *name; /* NULL: there is no such job, or it was not looked at */
    enum batch_outcome outcome;
    enum refusal_kind kind; /* of BATCH_REFUSED */
    const char *field;      /* of it; NULL */
    char *text;             /* of it; NULL */
};

struct batch_result {
    struct batch_item *items; /* in the order of the call */
    size_t count;
    size_t outcomes[BATCH_LEFT + 1]; /* how many of each */
};
void batch_result_fini(struct batch_result *result);

/* REFUSED_LIMIT "filter" or "ids": more than BATCH_MAX jobs, or too many batches at once (no field). REFUSED_STATE
 * "expected": they are another number. Jobs that the actor may not change are refused one by one. */
MUST_CHECK enum err admin_run_batch(struct admin *a, const struct actor *actor, const struct batch_order *order,
                                    struct batch_result *out, struct refusal *r);

#endif
