/* SPDX-License-Identifier: MIT */
/*
 * admin/timeline: all that a picture of a job over some hours or days needs, in one call: what became of each due time,
 * or where these are too many the job's rows counted by steps of time; what was done to the job, and what happened to
 * its shard and to the cluster. See admin.h for threads and errors.
 */
#ifndef SHARDWHEEL_ADMIN_TIMELINE_H
#define SHARDWHEEL_ADMIN_TIMELINE_H

#include "shardwheel/admin/explain.h"
#include "shardwheel/store/history.h"
#include "shardwheel/store/runs.h"

#define TIMELINE_STEPS_MAX 400
#define TIMELINE_EVENTS_MAX 200 /* of the job, of its shard, of the cluster; and changes: the newest */

struct timeline_step {
    int64_t from_ms;
    int64_t counts[RUN_STATES]; /* rows by trigger time; of RUN_SKIPPED due times */
    int64_t late;
};

struct timeline {
    int64_t job_id, from_ms, to_ms;
    bool has_items;
    struct explanation items; /* with has_items: whole */
    bool has_steps;           /* neither: there are more rows than can be counted in time */
    int64_t step_s;
    struct timeline_step *steps; /* without gaps, ascending */
    size_t step_count;
    struct audit_page changes; /* the newest first */
    struct event_row *events;  /* ascending; those of a time that reaches into the range, too */
    size_t event_count;
    bool is_cut;                /* there are older changes or events in the range */
    struct event_page pages[3]; /* private: the texts */
};
/* As admin_explain_job, but that many due times or rows are no error. */
MUST_CHECK enum err admin_load_timeline(struct admin *a, const struct actor *actor, int64_t job_id, int64_t from_ms,
                                        int64_t to_ms, struct timeline *out, struct refusal *r);
void timeline_fini(struct timeline *t);

/* Pure: seconds of a step, so that TIMELINE_STEPS_MAX of them are enough. */
int64_t timeline_find_step_s(int64_t from_ms, int64_t to_ms);

#endif
