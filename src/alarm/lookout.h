/* SPDX-License-Identifier: MIT */
/*
 * lookout: looks for what did not happen: jobs without a success, runs that take too long, groups with few executors,
 * shards that are late. It opens and ends states (store/watch.h) by rules and by settings of jobs; who is told of them
 * is the business of tell_watch.h.
 *
 * What is known of jobs is kept from turn to turn, so that a job is looked up only when what is known says that it is
 * bad. A state that is open is looked at again in each turn. Nothing that is kept matters: another node finds the same
 * in the tables.
 *
 * Threads     One owner.
 * Limits      In a turn WATCH_LOOKS_MAX jobs are looked up; the others have their turn in the next one. WATCH_OPEN_MAX
 *             runs are followed.
 */
#ifndef ALARM_LOOKOUT_H
#define ALARM_LOOKOUT_H

#include "alarm/verdict.h"
#include "shardwheel/counters.h"

#define WATCH_LOOKS_MAX 2000
#define WATCH_OPEN_MAX 20000
#define WATCH_CHANGES_MAX 1000 /* in a turn */

struct watch_run;

/* A job for which something holds. */
struct watch_item {
    int64_t job_id;
    bool expected; /* to run: it is started, or others start it */
    struct watch_limits limits;
    int64_t since_s;                   /* when it, or the rule, was changed last */
    const char *zone_name, *cron_text; /* of watch.jobs; "": the cluster's, no cron */
    int64_t success_s, begun_s;        /* as in struct job_success; 0: not known */
    const struct watch_run *oldest;    /* of those that are open; of a turn */
    int64_t usual_s, usual_ms;         /* verdict_find_long, and until when that is kept; 0: not known */
};

struct watch_run {
    int64_t log_id, job_id, triggered_s;
};

struct watch_few {
    int64_t group, since_ms;
};

struct lookout {
    const struct clock *clock; /* [const] */
    const struct zone *zone;   /* [const] of cron expressions */
    int64_t max_year;          /* [const] likewise */

    struct watched_jobs jobs; /* [thread] as all below */
    struct watch_rules rules;
    struct watch_states states;
    struct watch_item *items; /* ascending by job */
    size_t item_count;
    size_t look_at;        /* among them: where the next look-up begins */
    int64_t more_after;    /* the job with which the last look at many of its runs ended */
    struct zone *job_zone; /* that was loaded last */

    struct watch_run *runs; /* ascending by log_id: runs of jobs with a limit that are open */
    size_t run_count;
    int64_t walk_id, walk_until; /* rows up to here were looked at, and are to be */
    int64_t young_id, young_ms;  /* the newest row at that time: what is behind it may not have been sent */
    int64_t sweep_ms;            /* when the walk begins anew */
    bool walked;                 /* the first walk has reached the young rows */
    size_t usual_at;             /* among the items: where the next looks at what is usual begin */

    struct watch_few *few; /* groups that have had too few executors for some time */
    size_t few_count;

    struct watch_change *changes; /* of this turn */
    size_t change_count;
    bool blind_told; /* the log has no index for it: that was logged */
    int64_t next_ms;
};

void lookout_init(struct lookout *w, const struct clock *clock, const struct zone *zone, int64_t max_year);
void lookout_reset(struct lookout *w); /* what is kept is of another time */
/* ERR_STATE: that node has not the lease any more. */
MUST_CHECK enum err lookout_turn(struct lookout *w, struct store_session *s, const char *incarnation,
                                 struct errctx *ec);

/* ---- parts of a turn --------------------------------------------------------------------------------------------- */

/* NULL: it is not open. `states`: by kind and target, as they are read. */
const struct watch_state *lookout_find_state(const struct watch_states *states, const char *kind, int64_t target);
void lookout_note(struct lookout *w, enum verdict verdict, enum watch_kind kind, int64_t target, int64_t log_id,
                  const char *fmt, ...) PRINTF_LIKE(6, 7);
void lookout_drop(struct lookout *w, enum watch_kind kind, int64_t target); /* nothing holds for it */
struct watch_item *lookout_find_item(struct lookout *w, int64_t job_id);    /* NULL: nothing holds for it */
MUST_CHECK enum err lookout_look_at_successes(struct lookout *w, struct store_session *s, int64_t now_ms,
                                              struct errctx *ec);
MUST_CHECK enum err lookout_look_at_runs(struct lookout *w, struct store_session *s, int64_t now_ms, struct errctx *ec);
MUST_CHECK enum err lookout_look_at_groups(struct lookout *w, struct store_session *s, int64_t now_ms,
                                           struct errctx *ec);
MUST_CHECK enum err lookout_look_at_shards(struct lookout *w, struct store_session *s, int64_t now_ms,
                                           struct errctx *ec);

#endif
