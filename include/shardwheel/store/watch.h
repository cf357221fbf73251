/* SPDX-License-Identifier: MIT */
/*
 * store/watch: alarms on what did not happen. Rules say for which jobs, groups or shards (shardwheel_rule, and settings
 * of jobs); a state is a rule that is broken now (shardwheel_watch); what a channel missed in its quiet hours is held
 * back (shardwheel_held). See store/conn.h for threads, ownership and errors.
 *
 * Invariants  One state for each kind and target. The node with the lease of the alarms (alarm.h) alone opens and ends
 *             states: store_write_watch_changes fails with ERR_STATE for any other.
 */
#ifndef SHARDWHEEL_STORE_WATCH_H
#define SHARDWHEEL_STORE_WATCH_H

#include "shardwheel/store/audit.h"

enum watch_kind {
    WATCH_NO_SUCCESS,    /* of a job: no success for so many seconds */
    WATCH_LONG_RUN,      /* of a job: a run takes longer than so many seconds; 0: than three times the usual */
    WATCH_NOT_DONE,      /* of a job: no success of the day by then, in minutes from midnight */
    WATCH_FEW_EXECUTORS, /* of a group: fewer executors than that */
    WATCH_LATE_SHARD,    /* of a shard: so many seconds late */
    WATCH_KINDS
};
const char *watch_kind_name(enum watch_kind kind);             /* "no_success" */
bool watch_kind_parse(const char *name, enum watch_kind *out); /* false: it is none */
bool watch_kind_is_of_jobs(enum watch_kind kind);
const char *const *watch_kind_names(void); /* NULL behind the last */

/* ---- rules ------------------------------------------------------------------------------------------------------- */

#define WATCH_RULES_MAX 200

struct watch_rule {
    int64_t id;
    const char *kind;
    const char *tag;      /* of jobs; "": any */
    const char *app_name; /* of the group; "": any */
    int64_t bound;        /* see enum watch_kind */
    int64_t changed_ms;   /* by the clock of the database; filled in by the store */
};
STORE_LIST(watch_rules, struct watch_rule, rows); /* ascending by id */
MUST_CHECK enum err store_load_watch_rules(struct store_session *s, struct watch_rules *out, struct errctx *ec);
/* Adds a rule (id 0), whose id goes to *added, or writes all of the one with that id. ERR_STATE: the same kind with the
 * same tag and group is there; ERR_BUSY: there are WATCH_RULES_MAX; ERR_NOTFOUND. */
MUST_CHECK enum err store_put_watch_rule(struct store_session *s, const struct watch_rule *rule,
                                         const struct audit_row *audit, int64_t *added, struct errctx *ec);
MUST_CHECK enum err store_remove_watch_rule(struct store_session *s, int64_t id, const struct audit_row *audit,
                                            struct errctx *ec);

/* ---- what is looked at ------------------------------------------------------------------------------------------- */

/* A job that may be watched: it has a setting for it, or (`all`) is any job. */
struct watched_job {
    int64_t job_id;
    bool started;
    const char *app_name, *tags, *time_zone, *schedule_type, *schedule_conf; /* "" for NULL */
    int64_t success_within_s, longest_run_s;                                 /* -1: not set */
    const char *done_by;                                                     /* "": not set */
    int64_t changed_s, set_s; /* the job and its settings; 0: not known */
};
STORE_LIST(watched_jobs, struct watched_job, rows); /* ascending by job_id */
MUST_CHECK enum err store_load_watched_jobs(struct store_session *s, bool all, struct watched_jobs *out,
                                            struct errctx *ec);

/* The newest `each` runs of those jobs that have ended, by an index. Jobs without any are left out. *indexed false: the
 * log has no index for it, and nothing was looked at. */
struct job_success {
    int64_t job_id;
    int64_t ended;     /* runs that were looked at */
    int64_t success_s; /* when the last success among them ended; 0: there is none */
    int64_t begun_s;   /* when the success among them that began last did so; 0 likewise */
};
MUST_CHECK enum err store_load_successes(struct store_session *s, const int64_t *job_ids, size_t count, int64_t each,
                                         struct job_success **out, size_t *out_count, bool *indexed, struct errctx *ec);
/* Seconds that the last runs of a job took which succeeded, at most `max`, ascending. */
MUST_CHECK enum err store_load_durations(struct store_session *s, int64_t job_id, int64_t *out, size_t max,
                                         size_t *count, struct errctx *ec);
struct shard_lateness {
    int64_t shard;
    int64_t cursor_s; /* what is due up to here was handed out */
};
MUST_CHECK enum err store_load_shard_cursors(struct store_session *s, struct shard_lateness **out, size_t *count,
                                             struct errctx *ec);

/* ---- states ------------------------------------------------------------------------------------------------------ */

#define WATCH_STATES_MAX 20000

enum watch_phase {
    WATCH_NEW,  /* people are to be told */
    WATCH_TOLD, /* they were told */
    WATCH_OVER, /* they were, and are to be told that it is over */
};
struct watch_state {
    const char *kind;
    int64_t target; /* id of the job or group, or the shard */
    int phase;
    int64_t since_ms;   /* by the clock of the database */
    int64_t log_id;     /* of the run; 0: none */
    const char *detail; /* one sentence */
};
STORE_LIST(watch_states, struct watch_state, rows); /* by kind and target */
MUST_CHECK enum err store_load_watch_states(struct store_session *s, struct watch_states *out, struct errctx *ec);

enum watch_change_kind {
    WATCH_OPENS, /* nothing where there is a state, in whatever phase */
    WATCH_ENDS,  /* where people were told, they are to be told; nothing in another phase */
    WATCH_DROPS, /* nobody is told: there is no such rule any more, or no such job */
};
struct watch_change {
    enum watch_change_kind what;
    enum watch_kind kind;
    int64_t target;
    int64_t log_id;
    char detail[200];
};
/* One transaction. ERR_STATE: that node has not the lease. */
MUST_CHECK enum err store_write_watch_changes(struct store_session *s, const char *incarnation,
                                              const struct watch_change *changes, size_t count, struct errctx *ec);
/* People were told of it as it was in that phase, NEW or OVER; nothing where it is in another by now. */
MUST_CHECK enum err store_end_watch_telling(struct store_session *s, const char *kind, int64_t target, int phase,
                                            struct errctx *ec);

/* What is told of a target; "" for what there is not. */
struct watch_facts {
    const char *name; /* of the job or group */
    const char *emails, *group_name, *app_name, *tags;
    void *memory; /* private: the texts */
};
/* ERR_NOTFOUND: it is gone. Shards have none: the texts are "". */
MUST_CHECK enum err store_load_watch_facts(struct store_session *s, enum watch_kind kind, int64_t target,
                                           struct watch_facts *out, struct errctx *ec);
void watch_facts_fini(struct watch_facts *facts);

/* What is open, with names, for display. */
struct open_alarm {
    const char *kind;
    int64_t target;
    bool told;
    int64_t since_ms;
    int64_t log_id;   /* 0: none */
    int64_t group_id; /* of the job, or the group itself; 0: there is none */
    const char *detail, *name, *app_name;
};
STORE_LIST(open_alarms, struct open_alarm, rows); /* the newest first */
/* Of those groups alone; NULL: all, and shards. */
MUST_CHECK enum err store_load_open_alarms(struct store_session *s, const int64_t *groups, size_t group_count,
                                           struct open_alarms *out, struct errctx *ec);

/* ---- what was held back ------------------------------------------------------------------------------------------ */

#define HELD_AT_ONCE 50              /* of one channel */
#define HELD_JOB_FAILED "job_failed" /* beside the names of kinds */

struct held_alarm {
    const char *channel; /* its name */
    const char *kind;
    int64_t target;
    bool over; /* that it is over is what was held back */
};
STORE_LIST(held_alarms, struct held_alarm, rows);
/* For all of these channels, of which there is one at least, in one statement, which may be repeated. A channel for
 * which something of that kind and target is held back keeps that: at the end of its hours it is told whether that is
 * still so, whatever came between. */
MUST_CHECK enum err store_hold_back(struct store_session *s, const char *const *channels, size_t count,
                                    const char *kind, int64_t target, bool over, struct errctx *ec);
struct held_channel {
    const char *name;
};
STORE_LIST(held_channels, struct held_channel, rows);
/* Those for which something is held back. */
MUST_CHECK enum err store_load_held_channels(struct store_session *s, struct held_channels *out, struct errctx *ec);
/* At most HELD_AT_ONCE: there may be more when these were dropped. */
MUST_CHECK enum err store_load_held(struct store_session *s, const char *channel, struct held_alarms *out,
                                    struct errctx *ec);
MUST_CHECK enum err store_drop_held(struct store_session *s, const struct held_alarm *alarm, struct errctx *ec);
/* At most 1000 of that channel. */
MUST_CHECK enum err store_drop_held_channel(struct store_session *s, const char *channel, struct errctx *ec);
/* The newest failure of a job that people were told of, or are to be, and that has not ended; 0: there is none. */
MUST_CHECK enum err store_find_failing(struct store_session *s, int64_t job_id, int64_t *log_id, struct errctx *ec);

#endif
