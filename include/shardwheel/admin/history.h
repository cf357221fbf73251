/* SPDX-License-Identifier: MIT */
/*
 * admin/history: reading what happened: audit, events, minutes. See admin.h for threads and errors.
 *
 * Rights      SEE. Rows of audit: of the groups of who asks; who has all groups sees those of all; admins see those of
 *             no group, too. Events: likewise those of jobs; all others are for everybody. Minutes are for everybody.
 */
#ifndef SHARDWHEEL_ADMIN_HISTORY_H
#define SHARDWHEEL_ADMIN_HISTORY_H

#include "shardwheel/admin.h"
#include "shardwheel/store/history.h"

/* The groups of the filters are filled in here. REFUSED_LIMIT: it takes too long: ask for a shorter range. */
MUST_CHECK enum err admin_list_audit(struct admin *a, const struct actor *actor, const struct audit_filter *filter,
                                     struct history_place place, size_t max, struct audit_page *out, struct refusal *r);
/* What was done to one job, its GLUE sources too. `id` REFUSED_UNKNOWN: there is no such job, and nothing was. */
MUST_CHECK enum err admin_list_job_changes(struct admin *a, const struct actor *actor, int64_t job_id,
                                           struct history_place place, size_t max, struct audit_page *out,
                                           struct refusal *r);
MUST_CHECK enum err admin_list_events(struct admin *a, const struct actor *actor, const struct event_filter *filter,
                                      struct history_place place, size_t max, struct event_page *out,
                                      struct refusal *r);

/* ---- minutes ----------------------------------------------------------------------------------------------------- */

#define HISTORY_POINTS_MAX 2000

/* One step of time, all nodes together. */
struct history_point {
    int64_t from_ms;
    struct minute_row sum;
    int64_t sent; /* fires whose lateness is known */
};
struct history_points {
    struct history_point *items; /* without gaps, ascending */
    size_t count;
    struct history_point sum; /* of all of them */
};
/* From the step that has from_ms to the one before to_ms. step_s: 60, 300 or 3600. `to`, `step` REFUSED_INVALID; more
 * than HISTORY_POINTS_MAX: `step` REFUSED_LIMIT. */
MUST_CHECK enum err admin_load_minutes(struct admin *a, const struct actor *actor, int64_t from_ms, int64_t to_ms,
                                       int64_t step_s, struct history_points *out, struct refusal *r);
void history_points_fini(struct history_points *points);

/* Pure: the lateness below which that part of the fires was, by the bounds of the histogram and evenly within them;
 * -1 without any. What is beyond all bounds counts as the last one. */
double history_find_quantile_ms(const struct history_point *point, double part);

#endif
