/* SPDX-License-Identifier: MIT */
/*
 * store/runs: rows of xxl_job_log as people look for them: found by filters, counted, read, cleared. See store/conn.h
 * for threads, ownership and errors.
 *
 * Order       Newest first: by trigger_time and, where these are equal, by id; or by id alone.
 * Cost        What an index has in that order is read there. Else rows are looked at one after the other, newest first,
 *             and where that finds too few, an index that has the rows of the filter in another order is tried. All is
 *             bounded: by time at the server, and by the number of rows looked at.
 */
#ifndef SHARDWHEEL_STORE_RUNS_H
#define SHARDWHEEL_STORE_RUNS_H

#include "shardwheel/store/audit.h"

/* ---- states: run/states.c ---------------------------------------------------------------------------------------- */

enum run_state {
    RUN_PLANNED, /* its second has not come */
    RUN_SENDING, /* it is being sent, or who should have sent it has not said what came of it */
    RUN_WAITING, /* for an executor */
    RUN_RUNNING, /* an executor has it */
    RUN_SUCCESS,
    RUN_FAILED,
    RUN_LOST,    /* the executor had it, and will not report it any more */
    RUN_UNKNOWN, /* nobody knows whether it reached its executor */
    RUN_SKIPPED, /* due times without a fire */
    RUN_STATES
};
const char *run_state_name(enum run_state state); /* "planned", ... */
/* Of a row; the texts may be NULL. Pure. */
enum run_state run_state_find(int trigger_code, int handle_code, const char *trigger_msg, const char *handle_msg);

/* ---- finding: run/list.c ----------------------------------------------------------------------------------------- */

#define RUN_TIME_MAX 32
#define RUN_GROUPS_MAX 32 /* of which each is looked up by itself */

/* Zero-initialised: all rows. */
struct run_filter {
    int64_t job_id; /* 0: of all jobs */
    int64_t group;  /* 0: of all groups */
    const int64_t *groups;
    size_t group_count;      /* of these groups alone, where `group` is 0; 0: of all */
    unsigned states;         /* bits of enum run_state; 0: all */
    int log_status;          /* of the original's list: 1 success, 2 failed, 3 running by the codes alone; else all */
    bool late;               /* whose mark says that they went out behind their due time */
    const char *address;     /* exactly; NULL: any */
    const char *text;        /* in parameter, messages or handler; NULL: any */
    int64_t from_s, until_s; /* trigger_time, both ends included; 0: no limit */
};

enum run_order { RUN_BY_TIME, RUN_BY_ID };

/* A row in the order. By id, `time` does not count. */
struct run_place {
    char time[RUN_TIME_MAX]; /* DATETIME text; "": none */
    int64_t id;              /* 0: before all rows */
};

struct run_query {
    struct run_filter filter;
    enum run_order order;
    struct run_place after; /* rows behind this one; zero-initialised: from the newest on */
    int64_t skip;           /* so many rows first */
    size_t want;            /* at most RUN_IDS_MAX */
    int limit_ms;           /* for all statements together */
    int64_t look_max;       /* rows that are looked at one after the other */
};
#define RUN_IDS_MAX 10000

struct run_ids {
    int64_t *ids; /* in the order of the query */
    size_t count;
    struct run_place last; /* the last one found; where nothing was, or the search stopped: as far as it got */
    bool is_end;           /* there are no more behind `last` */
    /* The search stopped before it had what was wanted: after so many rows, or so long. */
    enum run_stop { RUN_STOP_NOT, RUN_STOP_ROWS, RUN_STOP_TIME } stop;
};
MUST_CHECK enum err store_search_runs(struct store_session *s, const struct run_query *query, struct run_ids *out,
                                      struct errctx *ec);
void run_ids_fini(struct run_ids *ids);
/* ERR_TIMEOUT: the server has ended it after limit_ms. */
MUST_CHECK enum err store_count_runs(struct store_session *s, const struct run_filter *filter, int limit_ms,
                                     int64_t *out, struct errctx *ec);
/* What the server guesses of the whole table; costs nothing. */
MUST_CHECK enum err store_guess_runs(struct store_session *s, int64_t *out, struct errctx *ec);

/* ---- reading: run/rows.c ----------------------------------------------------------------------------------------- */

#define RUN_TAIL 700
/* NULL columns are NULL, 0 for numbers. */
struct run_row {
    int64_t id;
    int64_t group;
    int64_t job_id;
    const char *address;
    const char *handler;
    const char *param;
    const char *sharding;
    int retries_left;
    int64_t trigger_s; /* INT64_MIN for NULL, as handle_s */
    int trigger_code;
    const char *trigger_msg;
    const char *tail; /* the last RUN_TAIL characters of trigger_msg where that is cut; else all of it */
    int64_t handle_s;
    int handle_code;
    const char *handle_msg;
    int alarm_status;
    enum run_state state; /* by the whole texts, also where they are cut */
};
STORE_LIST(run_rows, struct run_row, rows, bool cut;); /* `cut`: more were asked for than bytes_max has room for */
/* In the order of the ids; rows that are gone are left out. Texts behind text_max characters are cut (0: they are
 * not); rows behind bytes_max bytes are left out. */
MUST_CHECK enum err store_load_run_rows(struct store_session *s, const int64_t *ids, size_t count, size_t text_max,
                                        size_t bytes_max, struct run_rows *out, struct errctx *ec);

/* ---- the newest of some jobs: run/recent.c ----------------------------------------------------------------------- */

#define RECENT_JOBS_MAX 100
#define RECENT_RUNS_MAX 50
/* Ids of the newest `each` runs of each of these jobs (at most RECENT_JOBS_MAX; each at most RECENT_RUNS_MAX), by job
 * and newest first; `out` has room for all of them. By an index that begins with the job: *indexed false, and none,
 * where there is no such index. ERR_TIMEOUT: it took the server longer than limit_ms. */
MUST_CHECK enum err store_find_recent_runs(struct store_session *s, const int64_t *job_ids, size_t count, int64_t each,
                                           int limit_ms, int64_t *out, size_t *out_count, bool *indexed,
                                           struct errctx *ec);

/* ---- who mentions a run: run/links.c ----------------------------------------------------------------------------- */

#define MENTIONS_LOOK 500 /* rows of the job that are looked at */
#define MENTIONS_MAX 10
struct run_mention {
    int64_t job_id;
    int64_t before_id;
    bool in_result;   /* in handle_msg, else in trigger_msg */
    const char *text; /* stands there */
};
/* The newest rows of the job below that id, of MENTIONS_LOOK of them. *indexed false: there is no index over the job
 * alone, and nothing was looked at. ERR_TIMEOUT. */
MUST_CHECK enum err store_find_mentions(struct store_session *s, const struct run_mention *what, int limit_ms,
                                        int64_t out[MENTIONS_MAX], size_t *count, bool *indexed, struct errctx *ec);
#define PARENT_JOBS_MAX 20
/* Jobs that have this one as a child; looks at all jobs. ERR_TIMEOUT. */
MUST_CHECK enum err store_find_parent_jobs(struct store_session *s, int64_t job_id, int limit_ms,
                                           int64_t out[PARENT_JOBS_MAX], size_t *count, struct errctx *ec);

/* A job's name and group, for who must say of which job a run is. ERR_NOTFOUND. */
struct run_job {
    int64_t group;
    char name[256 * 4];
};
MUST_CHECK enum err store_load_run_job(struct store_session *s, int64_t job_id, struct run_job *out, struct errctx *ec);

/* ---- counting over time: run/minutes.c --------------------------------------------------------------------------- */

struct run_minute {
    int64_t at_s; /* at which the minute begins */
    enum run_state state;
    int64_t count; /* of RUN_SKIPPED: due times; else rows */
    int64_t late;  /* of them went out behind the due time that they stand for */
};
/* Hands out the rows of a job with from_s <= trigger_time < until_s, by minute and state, in no order. Looks at each of
 * them. ERR_TIMEOUT: the server has ended it after limit_ms. */
MUST_CHECK enum err store_count_run_minutes(struct store_session *s, int64_t job_id, int64_t from_s, int64_t until_s,
                                            int limit_ms, void (*take)(void *arg, const struct run_minute *minute),
                                            void *arg, struct errctx *ec);

/* ---- clearing: run/clear.c --------------------------------------------------------------------------------------- */

#define CLEAR_BATCH_MAX 500
/* Removes those of these rows (at most CLEAR_BATCH_MAX) that are no open fire of ours. One statement, which commits. */
MUST_CHECK enum err store_clear_runs(struct store_session *s, int64_t *ids, size_t count, size_t *deleted,
                                     struct errctx *ec);
/* The place of the row `skip` rows behind the newest of the filter, by time; *found false: there are not so many. */
MUST_CHECK enum err store_find_place(struct store_session *s, const struct run_filter *filter, int64_t skip,
                                     int limit_ms, struct run_place *out, bool *found, struct errctx *ec);

#endif
