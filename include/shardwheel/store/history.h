/* SPDX-License-Identifier: MIT */
/*
 * store/history: what happened: numbers of each minute and node (shardwheel_minute), events (shardwheel_event), and
 * jobs that somebody else has changed. See store/conn.h for threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_HISTORY_H
#define SHARDWHEEL_STORE_HISTORY_H

#include "shardwheel/store/audit.h"
#include "shardwheel/store/conn.h"
#include "shardwheel/store/job.h"

#define HISTORY_DAYS 8 /* minutes and events are kept */

/* ---- minutes: store/history/minutes.c ---------------------------------------------------------------------------- */

/* What a node counted in a minute, or in several. */
struct minute_row {
    int64_t minute_s; /* epoch second at which it begins */
    int64_t fires;    /* that ended: taken by an executor, or not delivered */
    int64_t undelivered;
    int64_t succeeded; /* runs */
    int64_t failed;
    int64_t late_sum_ms;
    int64_t lateness[HISTOGRAM_BUCKETS + 1]; /* fires that were sent, by histogram_bounds_s; not cumulative */
};
/* One statement, which commits; may be repeated: a minute that stands there stays. */
MUST_CHECK enum err store_write_minutes(struct store_session *s, const char *incarnation, const struct minute_row *rows,
                                        size_t count, struct errctx *ec);
/* Hands out the rows of from_s <= minute_s < to_s, of all nodes, ascending by minute. */
MUST_CHECK enum err store_read_minutes(struct store_session *s, int64_t from_s, int64_t to_s, int limit_ms,
                                       void (*take)(void *arg, const struct minute_row *row), void *arg,
                                       struct errctx *ec);

/* ---- events: store/history/events.c ------------------------------------------------------------------------------ */

struct event_row {
    int64_t id; /* out */
    int64_t at_ms;
    int64_t until_ms; /* 0: it has no length */
    const char *kind; /* "shard-taken": a list stands in history.h */
    const char *node;
    int shard;          /* -1: none */
    int64_t job_id;     /* 0: none */
    int64_t job_group;  /* 0: all users may see it */
    const char *detail; /* one sentence */
    const char *data;   /* JSON or NULL */
};
STORE_LIST(event_page, struct event_row, items);
/* One statement, which commits. After ERR_UNKNOWN they may be there. */
MUST_CHECK enum err store_write_events(struct store_session *s, const struct event_row *rows, size_t count,
                                       struct errctx *ec);

/* Writes an event unless one of that time and kind stands there, about that job or, without one, that node; and, with
 * `unless_own`, unless an audit row about that job is within EVENT_OWN_MS of it: then the edit was ours. */
#define EVENT_OWN_MS 5000
MUST_CHECK enum err store_write_event_once(struct store_session *s, const struct event_row *row, bool unless_own,
                                           bool *written, struct errctx *ec);

/* NULL and 0 ask for nothing. */
struct event_filter {
    const char *kind;
    int64_t job_id; /* events of that job alone */
    bool no_jobs;   /* events of no job alone */
    bool no_shards; /* of no shard alone */
    bool by_shard;  /* of the shard below alone */
    int shard;
    int64_t from_ms; /* begun at or after it */
    int64_t to_ms;   /* begun before it */
    bool all_groups; /* else those of these groups, and of none */
    const int64_t *groups;
    size_t group_count;
};
/* The newest behind `place`, at most `max`. The server ends the statement after limit_ms: ERR_TIMEOUT. */
MUST_CHECK enum err store_load_events(struct store_session *s, const struct event_filter *filter,
                                      struct history_place place, size_t max, int limit_ms, struct event_page *out,
                                      struct errctx *ec);

/* ---- edits: store/history/edits.c -------------------------------------------------------------------------------- */

/* A job whose update_time is not old. */
struct edited_job {
    int64_t id;
    int64_t group;
    int64_t updated_s; /* update_time: by the clock of who wrote it */
    bool added;        /* add_time is the same */
    bool running;
    char type[SCHEDULE_TYPE_MAX];
    char conf[SCHEDULE_CONF_MAX];
};
#define EDITS_PIECE 5000 /* jobs in one look */
/* Looks at the next EDITS_PIECE jobs above after_id for those with update_time at or after since_s; *until_id: so far,
 * 0 when these were the last. Two statements by the primary key. `out`: free with free. */
MUST_CHECK enum err store_find_edits(struct store_session *s, int64_t after_id, int64_t since_s,
                                     struct edited_job **out, size_t *count, int64_t *until_id, struct errctx *ec);
/* ---- changes of one job: store/history/changes.c ----------------------------------------------------------------- */

#define CHANGE_FIELDS_MAX 8
/* What audit and events say of some fields of a job, as texts; NULL: does not differ, or is not known. */
struct job_change_row {
    int64_t at_ms;
    bool by_others; /* an event: only `after` is known */
    int64_t job_group;
    const char *action;
    const char *who;
    const char *via;
    const char *before[CHANGE_FIELDS_MAX];
    const char *after[CHANGE_FIELDS_MAX];
    int64_t run; /* the log id that a trigger was given; 0: none */
};
/* Ascending by time; `cut`: there are more, older ones. */
STORE_LIST(job_changes, struct job_change_row, items, bool cut;);
/* Those at or after from_ms, the newest `max` of each. `names`: of the fields in JSON, constants; at most
 * CHANGE_FIELDS_MAX. ERR_TIMEOUT as above. */
MUST_CHECK enum err store_load_job_changes(struct store_session *s, int64_t job_id, const char *const *names,
                                           size_t name_count, int64_t from_ms, size_t max, int limit_ms,
                                           struct job_changes *out, struct errctx *ec);

/* ---- rows of the log: store/history/rows.c ----------------------------------------------------------------------- */

#define TOLD_HEAD 100
#define TOLD_TAIL 700
/* A row of xxl_job_log with as much of its texts as tells what it is, and how it ended. NULL columns are NULL or 0. */
struct told_row {
    int64_t id;
    int64_t triggered_s;
    int64_t handled_s;
    int trigger_code;
    int handle_code;
    const char *address;
    const char *head; /* the first TOLD_HEAD characters of trigger_msg */
    const char *tail; /* its last TOLD_TAIL characters */
    int retries_left;
    const char *handle_head; /* the first TOLD_TAIL characters of handle_msg */
};
STORE_LIST(told_rows, struct told_row, items); /* ascending by id */
/* Those of `ids` that are there and of that job. */
MUST_CHECK enum err store_load_told_rows(struct store_session *s, int64_t job_id, int64_t *ids, size_t count,
                                         struct told_rows *out, struct errctx *ec);

/* ---- retention: store/history/sweep.c ---------------------------------------------------------------------------- */

enum history_table { HISTORY_AUDIT, HISTORY_MINUTES, HISTORY_EVENTS, HISTORY_TABLES };
/* Removes rows of before `before_ms`, the oldest first, at most `max`. One statement, which commits. */
MUST_CHECK enum err store_sweep_history(struct store_session *s, enum history_table table, int64_t before_ms,
                                        size_t max, size_t *removed, struct errctx *ec);

#endif
