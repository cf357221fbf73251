/* SPDX-License-Identifier: MIT */
/*
 * admin/explain: why a job fired, or did not, in a time range: each due time with what became of it, in one sentence.
 * See admin.h for threads and errors.
 *
 * Sources     Due times from the schedule as it was then: the job as it is now, and back from there by the audit and
 *             by events of edits by others; rows of xxl_job_log; later rows; outages. What none of them tells is said
 *             to be unknown, never made up.
 * Bounds      EXPLAIN_DAYS and EXPLAIN_ITEMS_MAX in a call; what is behind them is another call's, from `until_ms` on.
 */
#ifndef SHARDWHEEL_ADMIN_EXPLAIN_H
#define SHARDWHEEL_ADMIN_EXPLAIN_H

#include "shardwheel/admin.h"
#include "shardwheel/job.h"

#define EXPLAIN_DAYS 7
#define EXPLAIN_ITEMS_MAX 2000
#define EXPLAIN_RUNS_MAX 8
#define EXPLAIN_TEXT_MAX 480

enum explain_state {
    EXPLAIN_PLANNED, /* to come */
    EXPLAIN_RUNNING,
    EXPLAIN_SUCCESS,
    EXPLAIN_FAILED,  /* its retries, too */
    EXPLAIN_RETRIED, /* it failed; its retry waits, runs or did well */
    EXPLAIN_LATE,    /* it went out late, and runs or did well */
    EXPLAIN_SKIPPED, /* left out on purpose: the job was stopped, the misfire rule */
    EXPLAIN_UNKNOWN, /* nobody can tell whether it was sent, or how the schedule was */
    EXPLAIN_MISSING, /* it should have fired, and there is no row */
};
#define EXPLAIN_STATES 9
const char *explain_state_name(enum explain_state state); /* "planned", ... */

struct explain_item {
    int64_t due_ms;
    enum trigger_kind kind; /* TRIGGER_CRON: a due time of its schedule; others were asked for, or followed something */
    enum explain_state state;
    int64_t runs[EXPLAIN_RUNS_MAX]; /* rows of xxl_job_log, retries too */
    size_t run_count;
    int64_t runs_left_out; /* beyond EXPLAIN_RUNS_MAX */
    char text[EXPLAIN_TEXT_MAX];
};

struct explanation {
    int64_t job_id;
    int64_t from_ms;
    int64_t until_ms;           /* so far; before to_ms when there was too much for one call */
    struct explain_item *items; /* by due time */
    size_t count;
};
void explanation_fini(struct explanation *ex);

/* from_ms <= due < to_ms. Right: SEE of the job's group; of a job that is gone, of the group that its audit names.
 * `from`, `to` REFUSED_INVALID: no range, or too long a one. `id` REFUSED_UNKNOWN. REFUSED_LIMIT: the log has too many
 * rows for that range to be read in time. */
MUST_CHECK enum err admin_explain_job(struct admin *a, const struct actor *actor, int64_t job_id, int64_t from_ms,
                                      int64_t to_ms, struct explanation *out, struct refusal *r);

#endif
