/* SPDX-License-Identifier: MIT */
/*
 * clean: removes old log rows, some at a time. A round walks over the rows of all jobs without days of their own, then
 * over those of jobs with, group by group. It begins when the day or the settings differ from those of the last one.
 *
 * Threads     One owner.
 */
#ifndef UPKEEP_CLEAN_H
#define UPKEEP_CLEAN_H

#include "shardwheel/store/job.h"
#include "shardwheel/store/upkeep.h"

#define CLEAN_LOOK_MS 60000   /* between two looks whether a round is due */
#define CLEAN_KEEP_MIN_DAYS 3 /* a general retention below it means that nothing is cleaned: the original's rule */
#define CLEAN_REST 2          /* after a statement nothing is done for so many times as long as it took, */
#define CLEAN_REST_MIN_MS 10  /* and so long at least */

struct clean {
    int64_t retention_days;
    struct job_retention *own; /* of the round: ascending by days, then by job */
    size_t own_count;
    size_t own_at; /* the first of the group that the walk is over */
    int64_t *ids;  /* the job ids that the walk points to */
    bool walking;
    struct clean_walk walk;
    size_t batch;    /* rows in the next statement */
    int64_t cleaned; /* in this round */
    bool done;       /* a round for the two below was finished */
    int64_t day;
    uint64_t settings; /* hash of them */
};

void clean_init(struct clean *c, int64_t retention_days);
void clean_fini(struct clean *c);
void clean_forget(struct clean *c); /* the next step begins a round */
/* One step: the rows of one statement. *removed: of these. *next_mono_ms: when the next step is due. */
MUST_CHECK enum err clean_step(struct clean *c, struct store_session *s, const struct store *store,
                               const struct clock *clock, size_t *removed, int64_t *next_mono_ms, struct errctx *ec);

#endif
