/* SPDX-License-Identifier: MIT */
/*
 * admin/overview: what a dashboard shows of jobs, runs and executors, and how the cluster is in one line. See admin.h
 * for threads and refusals.
 *
 * Rights      SEE; everybody sees numbers of the groups that he may see. admin_load_health: whoever is logged in.
 * Cost        Made at most every OVERVIEW_MS for each set of groups, by the first who asks then, and less often where
 *             that takes long: it works for a tenth of the time at most. Others get the one before meanwhile. Each part
 *             is bounded in rows and time, and says where it is not the whole truth.
 * Ownership   An overview is reference-counted and never changes; give it back with overview_put.
 */
#ifndef SHARDWHEEL_ADMIN_OVERVIEW_H
#define SHARDWHEEL_ADMIN_OVERVIEW_H

#include "shardwheel/admin.h"
#include "shardwheel/store/jobs.h"
#include "shardwheel/store/names.h"
#include "shardwheel/store/overview.h"

#define OVERVIEW_MS 5000
#define HEALTH_MS 3000
#define OVERVIEW_TOP 10
#define OVERVIEW_FAILING_MAX 500
#define OVERVIEW_CANNOT_MAX 20
#define OVERVIEW_LOOK 3000       /* newest rows of each code that are looked at */
#define OVERVIEW_LATE_LOOK 10000 /* newest rows that are looked at for late ones */

/* A job, and runs of it: of failing ones those that failed, of late ones those that were late. */
struct overview_job {
    int64_t job_id, group;
    int64_t hour, day; /* runs of the last hour, and of the last 24 */
    int64_t worst_s;   /* of late ones: the latest of the hour */
    int64_t last_run, last_s;
    bool failing; /* it is there, and its last run did not end well */
};
struct overview_jobs {
    struct overview_job *items; /* the most runs of the hour first */
    size_t count;
};

/* Jobs that run and cannot be sent anywhere. */
struct overview_cannot {
    int64_t group;
    bool no_group; /* else it has no address */
    int64_t jobs;
};

enum overview_part { OVERVIEW_JOBS = 1, OVERVIEW_RUNS = 2, OVERVIEW_LATE = 4, OVERVIEW_NEXT = 8 };

struct overview {
    _Atomic int refs; /* [atomic] */
    /* [const] and all that follows */
    int64_t made_mono_ms;
    int64_t again_mono_ms; /* not before */
    int64_t now_ms;
    unsigned incomplete; /* of enum overview_part: took too long, and says nothing */
    int64_t jobs, jobs_running;
    int64_t running, waiting; /* runs that executors have; that wait for one */
    int64_t failures_hour, failures_day, skipped_hour, alarms_failed_day;
    bool runs_are_estimates;      /* of the newest OVERVIEW_LOOK rows of some code alone; as the next two */
    struct overview_jobs failing; /* at most OVERVIEW_FAILING_MAX */
    struct overview_jobs top;     /* at most OVERVIEW_TOP that failed within a day, failing or not */
    struct overview_jobs ranked;  /* at most STORE_IDS_MAX that failed within a day, the fewest failures first */
    struct overview_jobs late;    /* at most OVERVIEW_TOP */
    int64_t late_hour;            /* runs */
    bool late_is_estimate;
    struct overview_cannot cannot[OVERVIEW_CANNOT_MAX];
    size_t cannot_count;
    int64_t executors, groups, groups_without; /* addresses, each once; groups that may be seen; without an address */
    struct soon_fire soon[SOON_MAX];
    size_t soon_count;
    int64_t soon_all; /* fires and due jobs of the next minute */
    struct names job_names, group_names;
    struct group_count *group_counts; /* ascending by group; of groups that have jobs */
    size_t group_count;
    struct notable_runs notable;
};
/* *out is never NULL on success. */
MUST_CHECK enum err admin_get_overview(struct admin *a, const struct actor *actor, const struct overview **out,
                                       struct refusal *r);
void overview_put(const struct overview *o); /* NULL is fine */

/* Pure, for tests: what the rows say, by job. *failed: jobs with a run that did not end well, `top` and `ranked`: those
 * of a day. The caller frees the lists. False: no memory. */
bool overview_count_runs(struct overview *o, int64_t now_s, struct overview_jobs *failed);
bool overview_count_late(struct overview *o, int64_t now_s, const struct late_run *runs, size_t count);

/* ---- health ------------------------------------------------------------------------------------------------------ */

struct health {
    int64_t nodes, nodes_live, nodes_draining;
    int64_t shards, shards_owned;
    int64_t database_ms;   /* of a small question; -1: there was no answer */
    const char *zookeeper; /* "up", "away", "none" */
    const char *trouble;   /* a word; NULL: there is none */
    char text[200];        /* a sentence about it */
};
MUST_CHECK enum err admin_load_health(struct admin *a, struct health *out, struct refusal *r);

#endif
