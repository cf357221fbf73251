/* SPDX-License-Identifier: MIT */
/*
 * store/flow: flows, their versions and their runs as people see and change them. What moves a run is in
 * store/flow_move.h. See store/conn.h for threads, ownership and errors.
 *
 * A change locks the row of the flow, or of the run; what is to be written is decided under that lock. A row of audit
 * goes with it.
 */
#ifndef SHARDWHEEL_STORE_FLOW_H
#define SHARDWHEEL_STORE_FLOW_H

#include "shardwheel/flow.h"
#include "shardwheel/store/audit.h"
#include "shardwheel/store/flow_move.h"

/* ---- flows: flows.c ---------------------------------------------------------------------------------------------- */

struct flow_row {
    int64_t id;
    const char *name;
    bool started;
    int64_t version; /* the newest one */
    int64_t next_s;  /* 0: none */
    int64_t changed_ms;
    const char *document; /* of that version */
};
STORE_LIST(flow_rows, struct flow_row, rows);

struct flow_filter {
    const char *name; /* a part of it, as a part of a LIKE pattern; NULL: all */
    int started;      /* 0, 1; -1: all */
};
/* By name, those behind `after`. */
MUST_CHECK enum err store_list_flows(struct store_session *s, const struct flow_filter *filter, const char *after,
                                     int64_t limit, struct flow_rows *out, struct errctx *ec);
/* Those that are there, by id; by name. At most 500. */
MUST_CHECK enum err store_load_flows(struct store_session *s, const int64_t *ids, size_t count, struct flow_rows *out,
                                     struct errctx *ec);
MUST_CHECK enum err store_load_flows_named(struct store_session *s, const char *const *names, size_t count,
                                           struct flow_rows *out, struct errctx *ec);
/* Flows behind `after_id` in whose newest document that text stands, by id; at most `limit`. */
MUST_CHECK enum err store_list_flows_with(struct store_session *s, const char *text, int64_t after_id, int64_t limit,
                                          struct flow_rows *out, struct errctx *ec);

/* What steps need to know of jobs. */
struct flow_job {
    int64_t id;
    int64_t group;
    const char *name; /* NULL as in the table, as the next */
    const char *route;
};
STORE_LIST(flow_jobs, struct flow_job, items);
/* Of those that are there, ascending; ids ascending and distinct, any number. */
MUST_CHECK enum err store_load_flow_jobs(struct store_session *s, const int64_t *ids, size_t count,
                                         struct flow_jobs *out, struct errctx *ec);

/* It is stopped, with version 1. The audit row gets the id as its target. ERR_STATE: another one has that name. */
MUST_CHECK enum err store_add_flow(struct store_session *s, const char *name, const char *document, const char *who,
                                   const struct audit_row *audit, int64_t *id, struct errctx *ec);

/* A flow under the lock of its row. */
struct flow_now {
    struct flow_row row;
    int64_t open_runs; /* with those that people have asked to go on */
    int64_t now_ms;    /* the server's clock, read behind the lock */
};
/* What is to become of it. */
struct flow_change {
    bool started;
    int64_t next_s;       /* 0: none */
    const char *document; /* of a new version; NULL: there is none */
    const char *name;     /* as the document has it */
    const char *who;
    bool remove;                       /* with its versions; its runs are left to store_delete_flow_runs */
    const struct flow_version *others; /* flows that it was decided by: these must still be their newest versions */
    size_t other_count;
    const struct audit_row *audit;
};
/* Fills in `out`, which comes as no change at all. An error ends the transaction and is returned. */
typedef enum err flow_decide_change(void *arg, const struct flow_now *now, struct flow_change *out, struct errctx *ec);
/* One transaction; what `decide` reads with the session is read in it, behind the lock. ERR_NOTFOUND: there is no such
 * flow; ERR_STATE: another one has the name; ERR_CONFLICT: somebody holds the row, a deadlock, or one of the others has
 * another version by now. */
MUST_CHECK enum err store_change_flow(struct store_session *s, int64_t id, flow_decide_change *decide, void *arg,
                                      struct errctx *ec);
/* Removes some runs of a flow that is gone, with all that belongs to them, and then its versions. *more: there may be
 * others. */
MUST_CHECK enum err store_delete_flow_runs(struct store_session *s, int64_t flow_id, bool *more, struct errctx *ec);

/* ---- cleaning: clean.c ------------------------------------------------------------------------------------------- */

/* A flow that is gone, and has runs or versions; 0: there is none. */
MUST_CHECK enum err store_find_gone_flow(struct store_session *s, int64_t *flow_id, struct errctx *ec);
#define FLOW_CLEAN_MAX 100
/* Removes some runs of a flow that ended more than so many days ago, at most FLOW_CLEAN_MAX, with all that belongs to
 * them; those that are steps of a run that is open stay. *more: there may be others. */
MUST_CHECK enum err store_delete_old_flow_runs(struct store_session *s, int64_t flow_id, int64_t days, size_t *deleted,
                                               bool *more, struct errctx *ec);

/* ---- versions: versions.c ---------------------------------------------------------------------------------------- */

struct flow_version_row {
    int64_t flow_id;
    int64_t version;
    int64_t at_ms;
    const char *who;
    const char *document; /* NULL in lists */
};
STORE_LIST(flow_version_rows, struct flow_version_row, rows);
/* The newest ones below `before`, newest first. */
MUST_CHECK enum err store_list_flow_versions(struct store_session *s, int64_t flow_id, int64_t before, int64_t limit,
                                             struct flow_version_rows *out, struct errctx *ec);
/* The version of a flow that is there; none: the list is empty. */
MUST_CHECK enum err store_load_flow_version(struct store_session *s, int64_t flow_id, int64_t version,
                                            struct flow_version_rows *out, struct errctx *ec);

/* ---- runs: flow_runs.c ------------------------------------------------------------------------------------------- */

#define FLOW_RUN_OPEN (1u << FLOW_RUN_QUEUED | 1u << FLOW_RUN_RUNNING)
#define FLOW_LISTED_PARAMETERS_MAX 8192 /* bytes of those that a list shows */

struct flow_run_row {
    int64_t id;
    int64_t flow_id;
    const char *flow_name;
    int64_t version;
    int64_t state; /* of enum flow_run_state */
    const char *kind;
    int64_t due_s;
    const char *parameters; /* NULL: none; in a list also: they are long */
    int64_t parent_run;     /* 0: none */
    int64_t parent_step;
    int64_t depth;
    const char *who;
    int64_t created_ms;
    int64_t started_ms; /* 0: not yet, as the next */
    int64_t ended_ms;
    bool late_told;
    const char *message; /* NULL: none */
};
STORE_LIST(flow_run_rows, struct flow_run_row, rows);

struct flow_run_filter {
    int64_t flow_id; /* 0: all */
    unsigned states; /* a bit for each; 0: all */
    int64_t before;  /* ids below it */
};
/* Newest first, of flows that are there. ERR_TIMEOUT: the server has ended it after limit_ms. */
MUST_CHECK enum err store_list_flow_runs(struct store_session *s, const struct flow_run_filter *filter, size_t limit,
                                         int limit_ms, struct flow_run_rows *out, struct errctx *ec);
/* Whole rows of those that are there, at most 500, newest first. */
MUST_CHECK enum err store_load_flow_runs(struct store_session *s, const int64_t *ids, size_t count,
                                         struct flow_run_rows *out, struct errctx *ec);

/* A run as a tick in a row. */
struct flow_tick {
    int64_t flow_id;
    int64_t id;
    int64_t state;
    int64_t started_ms;
    int64_t ended_ms;
};
#define FLOW_TICKS_MAX 20
/* The newest FLOW_TICKS_MAX of each flow, in the order of their flows' ids, newest first. `out`: free with free. */
MUST_CHECK enum err store_load_flow_ticks(struct store_session *s, const int64_t *flow_ids, size_t count,
                                          struct flow_tick **out, size_t *out_count, struct errctx *ec);
/* How many runs of each flow are open: out[i] of flow_ids[i]; at most 500. */
MUST_CHECK enum err store_count_open_flow_runs(struct store_session *s, const int64_t *flow_ids, size_t count,
                                               int64_t *out, struct errctx *ec);

#define FLOW_NO_NUMBER INT64_MIN /* the column is NULL */

struct flow_step_view {
    int64_t step;
    int64_t state;  /* of enum flow_state */
    int64_t log_id; /* 0: none, as child_run */
    int64_t child_run;
    int64_t tries;
    int64_t wake_ms; /* 0: none, as all times */
    int64_t started_ms;
    int64_t ended_ms;
    int64_t code;        /* FLOW_NO_NUMBER: none, as the items below */
    const char *address; /* NULL: none, as all texts */
    const char *result;
    const char *message;
    int64_t items;
    int64_t items_begun;
    int64_t items_ended;
    int64_t items_failed;
    const char *who;
    const char *remark;
    const char *param; /* of the log row, while that is there */
};
STORE_LIST(flow_step_views, struct flow_step_view, rows);
/* Those of a run that have a row, by their place. */
MUST_CHECK enum err store_load_flow_steps(struct store_session *s, int64_t run_id, struct flow_step_views *out,
                                          struct errctx *ec);

struct flow_item_view {
    int64_t item;
    int64_t state; /* as of a step, as all below */
    int64_t log_id;
    int64_t tries;
    int64_t wake_ms;
    int64_t started_ms;
    int64_t ended_ms;
    int64_t code;
    const char *address;
    const char *result;
    const char *message;
};
STORE_LIST(flow_item_views, struct flow_item_view, rows);
/* By number, those from `from` on; states: a bit for each, 0: all. */
MUST_CHECK enum err store_list_flow_items(struct store_session *s, int64_t run_id, int64_t step, unsigned states,
                                          int64_t from, int64_t limit, struct flow_item_views *out, struct errctx *ec);

struct flow_run_start {
    int64_t flow_id;
    int64_t version;        /* which was looked at */
    const char *parameters; /* JSON object; NULL: none */
    const char *key;        /* of who asks; NULL: none */
    const char *kind;       /* "M", "A" */
    const char *who;
    enum flow_policy policy;
    int64_t queue_max;
};
/* One transaction. The audit row, whose target is the flow, gets the run's id and parameters. *is_new false: the key
 * was used before, and *id is its run. ERR_NOTFOUND: there is no such flow; ERR_CONFLICT: its newest version is another
 * one by now, or a deadlock; ERR_STATE: SKIP, and a run is open; ERR_BUSY: QUEUE, and the line is full. */
MUST_CHECK enum err store_start_flow_run(struct store_session *s, const struct flow_run_start *order,
                                         const struct audit_row *audit, int64_t *id, bool *is_new, struct errctx *ec);

/* ---- what people ask of runs: requests.c ------------------------------------------------------------------------- */

struct flow_request {
    int64_t run_id;
    int64_t step;       /* -1: it is about the run */
    const char *action; /* "cancel" and so on */
    const char *who;
    const char *remark;
};
/* A run under the lock of its row. */
struct flow_run_now {
    int64_t state;      /* of enum flow_run_state */
    int64_t step_state; /* of the request's step; FLOW_WAITING where it has no row */
};
/* An error ends the transaction and is returned. */
typedef enum err flow_check_request(void *arg, const struct flow_run_now *now, struct errctx *ec);
/* One transaction. What is asked for already is not asked again, without a row of audit. ERR_NOTFOUND: there is no such
 * run; ERR_CONFLICT: somebody holds the row, or a deadlock. */
MUST_CHECK enum err store_ask_flow_run(struct store_session *s, const struct flow_request *request,
                                       flow_check_request *check, void *arg, const struct audit_row *audit,
                                       struct errctx *ec);

#endif
