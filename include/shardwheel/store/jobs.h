/* SPDX-License-Identifier: MIT */
/*
 * store/jobs: rows of xxl_job_info as people see and change them, with the settings of ours beside them. See
 * store/conn.h for threads, ownership and errors.
 *
 * A change locks the job's row first, so that a claim waits for it or it for a claim; what is to be written is decided
 * under that lock, and only columns that differ are written.
 */
#ifndef SHARDWHEEL_STORE_JOBS_H
#define SHARDWHEEL_STORE_JOBS_H

#include "shardwheel/store/audit.h"
#include "shardwheel/store/job.h"

#define TIME_NONE INT64_MIN /* of an instant: the column is NULL, or no date */

/* A row; texts are NULL where the column is. */
struct job_row {
    int64_t id;
    int64_t group;
    const char *name; /* job_desc before family 3.5 */
    const char *author;
    const char *email;
    const char *schedule_type;
    const char *schedule_conf;
    const char *misfire;
    const char *route;
    const char *handler;
    const char *param;
    const char *block;
    int64_t timeout_s;
    int64_t retry_count;
    const char *glue_type;
    const char *glue_source; /* NULL in lists without sources */
    const char *glue_remark;
    const char *children;
    int64_t status; /* 1: running */
    int64_t last_ms;
    int64_t next_ms;
    int64_t added_s; /* of the epoch, as the next two; TIME_NONE */
    int64_t updated_s;
    int64_t glue_s;
};

/* The columns that people change, and the last three that they start and stop: a table of them. */
struct job_column {
    const char *field;  /* as api/v1 and the dialects call it */
    const char *column; /* NULL: it goes by the family of the schema */
    bool is_text;
    size_t at;        /* in struct job_row: a const char *, or an int64_t */
    size_t max_chars; /* of a text; 0: as long as the server takes it */
};
size_t job_column_count(void);
const struct job_column *job_column_get(size_t i);
const struct job_column *job_column_find(const char *field); /* NULL: there is none */
const char *job_row_text(const struct job_row *row, const struct job_column *c);
int64_t job_row_number(const struct job_row *row, const struct job_column *c);
void job_row_set_text(struct job_row *row, const struct job_column *c, const char *text);
void job_row_set_number(struct job_row *row, const struct job_column *c, int64_t number);
bool job_column_is_equal(const struct job_row *a, const struct job_row *b, const struct job_column *c);

/* ---- reading ----------------------------------------------------------------------------------------------------- */

STORE_LIST(job_list, struct job_row, rows);

/* Texts of filters are parts of a LIKE pattern: % and _ stand for others, \ makes the next character itself; NULL and
 * "" filter nothing. */
struct job_filter {
    int64_t group;         /* 0: all */
    bool some_groups;      /* of these alone */
    const int64_t *groups; /* when some_groups */
    size_t group_count;
    int status; /* 0, 1; -1: all */
    const char *name;
    const char *handler;
    const char *author;
    const char *text; /* in any of the three, the parameter or a tag; or it is the id */
    const char *tag;  /* exactly this one */
    bool some_ids;    /* of these alone: at most STORE_IDS_MAX */
    const int64_t *ids;
    size_t id_count;
};
#define STORE_IDS_MAX 500
/* Appends the text as a part of a LIKE pattern that finds exactly it. */
void job_filter_escape(struct buf *out, const char *text);

#define JOB_SOURCES_MAX (64 * 1024 * 1024) /* bytes of all sources of a page */

/* All but the first two look at every job of the filter. */
enum job_sort {
    JOBS_NEWEST, /* by id, descending */
    JOBS_OLDEST, /* by id */
    JOBS_NEXT,   /* by the next time, those that run first */
    JOBS_NAMED,  /* by name as the database sorts it */
    JOBS_LAST,   /* by the last due time, the latest first */
    JOBS_RANKED, /* those of `ranks`, the last one first, then the others by id, descending */
};
/* The row that a page goes on behind. */
struct job_place {
    int64_t id;       /* 0: none: the first page */
    int64_t status;   /* JOBS_NEXT; as the next */
    int64_t time_ms;  /* also JOBS_LAST */
    int64_t rank;     /* JOBS_RANKED: so many of `ranks` come behind it; -1: it is none of them */
    const char *name; /* JOBS_NAMED */
};

struct job_page_opts {
    struct job_filter filter;
    enum job_sort sort;
    const int64_t *ranks; /* of JOBS_RANKED: ids, at most STORE_IDS_MAX */
    size_t rank_count;
    struct job_place after;
    int64_t offset;
    int64_t limit;
    bool sources; /* with glue_source, where it is not larger than JOB_SOURCES_MAX / limit */
    int limit_ms; /* the server ends it then: ERR_TIMEOUT; 0: it does not */
};
MUST_CHECK enum err store_list_jobs(struct store_session *s, const struct job_page_opts *opts, struct job_list *out,
                                    struct errctx *ec);
MUST_CHECK enum err store_count_jobs(struct store_session *s, const struct job_filter *filter, int limit_ms,
                                     int64_t *out, struct errctx *ec);
/* Whole rows of the jobs `ids` (any order, at most 500) that are there, by id. */
MUST_CHECK enum err store_load_jobs(struct store_session *s, const int64_t *ids, size_t count, struct job_list *out,
                                    struct errctx *ec);
/* Ids of the groups that those jobs are in: out[i] of ids[i], 0 where there is no such job. At most 500. */
MUST_CHECK enum err store_load_job_groups(struct store_session *s, const int64_t *ids, size_t count, int64_t *out,
                                          struct errctx *ec);
/* What changes of a job by itself. */
struct job_moves {
    int64_t group; /* 0: there is no such job */
    bool runs;
    int64_t next_ms; /* 0: it does not run, or never again */
};
MUST_CHECK enum err store_load_job_moves(struct store_session *s, const int64_t *ids, size_t count,
                                         struct job_moves *out, struct errctx *ec);
MUST_CHECK enum err store_find_group(struct store_session *s, int64_t group, bool *found, struct errctx *ec);

/* A job that names children. */
struct job_parent {
    int64_t id;
    const char *children; /* see children_parse */
};
STORE_LIST(job_parents, struct job_parent, items, bool cut;); /* ascending by id; `cut`: there are more */
/* At most `max`, the lowest ids. Looks at all jobs. ERR_TIMEOUT: the server has ended it after limit_ms. */
MUST_CHECK enum err store_load_parents(struct store_session *s, int64_t max, int limit_ms, struct job_parents *out,
                                       struct errctx *ec);

/* The newest run of a job that has been sent, or has failed to be. */
struct job_last_run {
    int64_t job_id;
    int64_t log_id;
    int64_t trigger_s; /* TIME_NONE */
    int64_t handle_s;  /* TIME_NONE: it has not ended */
    int trigger_code;
    int handle_code;
    bool skipped; /* it is no run: due times passed without one */
};
/* Of the jobs `ids`, at most 500: those that have one, in no order; at most `count` of them. Needs an index over job_id
 * alone, or over it and trigger_time: without one there are none. ERR_TIMEOUT: it took the server longer than
 * limit_ms. */
MUST_CHECK enum err store_load_last_runs(struct store_session *s, const int64_t *ids, size_t count, int limit_ms,
                                         struct job_last_run *out, size_t *out_count, struct errctx *ec);

/* ---- changing ---------------------------------------------------------------------------------------------------- */

/* A job under the lock of its row. */
struct job_state {
    struct job_row row;
    struct job_settings settings;
    int64_t now_ms;                /* the server's clock, read behind the lock */
    char cron_zone[ZONE_NAME_MAX]; /* on record for the cluster; "": none */
};

/* What is to become of it. */
struct job_change {
    struct job_row row; /* columns that differ are written; id and the three instants are not looked at */
    struct job_settings settings;
    bool remove;  /* the job goes, with its sources and settings and what waits of it; rows of the log see below */
    bool guarded; /* another next time of a job that runs is written only while a node holds Java admins off */
    const struct audit_row *audit; /* written if anything is; NULL: none */
};

/* Decides in the middle of the transaction: fills in `out`, which comes as no change at all. The texts that it points
 * to are needed until store_change_job returns. An error ends the transaction and is returned. */
typedef enum err job_decide(void *arg, struct store_session *s, const struct job_state *state, struct job_change *out,
                            struct errctx *ec);
/* One transaction. ERR_NOTFOUND: there is no such job, or its new group is none; ERR_GUARD: see `guarded`;
 * ERR_CONFLICT: somebody holds the row, or a deadlock. ERR_INPUT: a text is too long for its column. */
MUST_CHECK enum err store_change_job(struct store_session *s, int64_t job_id, job_decide *decide, void *arg,
                                     struct errctx *ec);
/* The newest due second of the job that is planned and not over; 0: none. For job_decide, with the job's row locked. */
MUST_CHECK enum err store_find_newest_planned(struct store_session *s, int64_t job_id, int64_t now_ms, int64_t *out,
                                              struct errctx *ec);
/* One transaction. ERR_NOTFOUND: its group is none. The audit row gets the id as its target. Settings of a job_id other
 * than the new one's: that is filled in. */
MUST_CHECK enum err store_add_job(struct store_session *s, const struct job_row *row,
                                  const struct job_settings *settings, const struct audit_row *audit, int64_t *id,
                                  struct errctx *ec);

/* ---- rows of the log of jobs that were removed ------------------------------------------------------------------- */

#define REMOVED_BATCH_MAX 500

/* Removes some rows of the log of that job, at most REMOVED_BATCH_MAX; of any job that was removed before `before_ms`
 * when it is 0. *more: there may be others. Statements that commit by themselves. */
MUST_CHECK enum err store_delete_removed(struct store_session *s, int64_t job_id, int64_t before_ms, size_t *deleted,
                                         bool *more, struct errctx *ec);

#endif
