/* SPDX-License-Identifier: MIT */
/*
 * occurrences: when a job's schedule is due next: type, text, zone, fixed delay and validity together. Values in, times
 * out: no clock, no database.
 *
 * Threads     One belongs to one thread: it keeps parsed expressions and zones.
 * Rules       CRON and FIX_RATE as the original; every other type, a broken text and a zone that does not exist have no
 *             next time (ERR_INPUT). A fixed delay holds while the schedule is FIX_RATE with that very delay: who gives
 *             the job another schedule has overruled it. There is no occurrence before valid_from_s, nor at and after
 *             valid_until_s (ERR_STATE where the schedule itself goes on, ERR_NOTFOUND where it has ended).
 * Time        Epoch milliseconds; `why` is filled in on every error but ERR_NOMEM.
 */
#ifndef SCHEDULE_PLAN_OCCURRENCES_H
#define SCHEDULE_PLAN_OCCURRENCES_H

#include "shardwheel/cron.h"
#include "shardwheel/job.h"

#define WHY_MAX 200

struct occurrences;

MUST_CHECK enum err occurrences_create(const struct zone *zone, int64_t max_year, struct occurrences **out,
                                       struct errctx *ec);
void occurrences_destroy(struct occurrences *o); /* NULL is fine */

/* It is due when its last run has ended, and the delay is over. */
bool occurrences_is_delayed(const struct job_due *job);
/* The first one after from_ms. */
enum err occurrences_next(struct occurrences *o, const struct job_due *job, int64_t from_ms, int64_t *out_ms,
                          char why[WHY_MAX]);
/* There is none after from_ms because its expression has years, and no further one. */
bool occurrences_end_by(struct occurrences *o, const struct job_due *job, int64_t from_ms);
/* The first one after from_ms of a job that was due at due_ms: FIX_RATE keeps its phase. */
enum err occurrences_skip_to(struct occurrences *o, const struct job_due *job, int64_t due_ms, int64_t from_ms,
                             int64_t *out_ms, char why[WHY_MAX]);
/* *own: a due second that the schedule has, seen from one that it had: FIX_RATE has those that lie whole rates from it.
 * ERR_NOMEM only. */
enum err occurrences_is_own(struct occurrences *o, const struct job_due *job, int64_t due_s, int64_t newest_s,
                            bool *own, char why[WHY_MAX]);

/* Counting has a budget, which a call of this fills up: beyond it counts say "at least". */
void occurrences_begin(struct occurrences *o);
/* Those after due_ms, an occurrence, up to until_ms. */
struct occurrences_count {
    int64_t count;
    int64_t last_ms; /* the last that was counted; due_ms without any */
    bool more;       /* there may be more */
};
struct occurrences_count occurrences_count(struct occurrences *o, const struct job_due *job, int64_t due_ms,
                                           int64_t until_ms);

#endif
