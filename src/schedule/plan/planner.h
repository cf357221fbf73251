/* SPDX-License-Identifier: MIT */
/*
 * planner: decides which fires a job has now and when it is due next. Values in, plan out: no clock, no database.
 *
 * Threads     A planner belongs to one schedule thread: it keeps parsed expressions.
 * Rules       A due time beyond the last second that was planned completely (the window) is planned whatever happened
 *             since: in time, or one by one for the next second while it is at most 60 s old. Older ones are left to
 *             the misfire rule. A due time at or before that second was set by hand into the past: then the original's
 *             branches hold (up to 5 s late: fire at once; later: misfire rule; the next time counts from the clock).
 *             A due second of the job's own schedule, at most a minute old, that is not after the newest one that was
 *             planned is done, whatever the next time says: the job goes on behind that one.
 *             A FIX_DELAY job fires once, and its next time becomes so late (delay and FIXED_DELAY_LIMIT_S behind that
 *             fire) that whoever sees the end of the run pulls it forward. It has no branch for times set by hand.
 *             A job whose validity ends stops right after that end, when what was planned of it before has gone out.
 *             What has no fire, though it was due, is counted in `skipped`.
 * Time        Wall clock, passed in.
 */
#ifndef SCHEDULE_PLAN_PLANNER_H
#define SCHEDULE_PLAN_PLANNER_H

#include "schedule/plan/occurrences.h"
#include "shardwheel/job/times.h"
#include "shardwheel/registry.h"

#define PLAN_FIRES_MAX 200 /* occurrences of one job in one claim; the rest follows in the next one */

struct planner;

/* What the decision depends on besides the job. */
struct plan_moment {
    int64_t now_ms;
    int64_t window_end_ms;    /* plan what is due up to here */
    int64_t planned_until_ms; /* the end of the last window that was planned completely */
    int64_t earliest_s;       /* the next second: what is due at once goes here */
    int64_t newest_s;         /* the newest due second of this job that is planned already; INT64_MIN: not known */
    int64_t own_s;            /* with newest_s: one that its schedule had then; 0: newest_s is */
    int64_t remembered_ms;    /* what is due before it counts as not planned, whatever newest_s says */
};

struct plan {
    struct fire *fires; /* list, oldest first; the caller's */
    size_t count;
    int64_t new_next_ms; /* 0 with stop */
    bool stop;
    bool misfired; /* due times were left to the misfire rule */
    struct skipped skipped;
    bool repeated; /* the next time had fallen back: due times that are planned already were passed by */
    char why_stopped[WHY_MAX];
};

MUST_CHECK enum err planner_create(const struct zone *zone, int64_t max_year, struct planner **out, struct errctx *ec);
void planner_destroy(struct planner *p);
void planner_begin(struct planner *p); /* a round of planning: what counting may cost begins anew */
/* Each occurrence is one fire, or one for each address of a broadcast (`group` NULL or without addresses: one fire
 * without an address). Fires carry no log id, shard or epoch yet. ERR_NOMEM only. */
MUST_CHECK enum err planner_plan_job(struct planner *p, const struct job_due *job, const struct plan_moment *moment,
                                     const struct registry_group *group, struct plan *out, struct errctx *ec);

#endif
