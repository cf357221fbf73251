/* SPDX-License-Identifier: MIT */
/*
 * flow: what a flow is, and which of its steps start or are skipped. The rules are in docs/flows.md. Pure: no clock, no
 * database, no global state.
 *
 * A flow is read from a document, which is JSON. Of one version of it there are many runs; a run has a state for each
 * step and, for steps that have ended, their values.
 *
 * Threads     A flow is never changed after flow_load: any number of threads may use it at once. A flow_values belongs
 *             to one thread.
 * Ownership   flow_load creates, flow_destroy frees; NULL is fine. Steps are named by their index in the document.
 * Errors      ERR_INPUT with a sentence that names the place; ERR_NOMEM.
 */
#ifndef SHARDWHEEL_FLOW_H
#define SHARDWHEEL_FLOW_H

#include "shardwheel/cron.h"
#include "shardwheel/job.h"

#define FLOW_STEPS_MAX 200
#define FLOW_EDGES_MAX 2000
#define FLOW_PARAMETERS_MAX 100
#define FLOW_CONDITIONS_MAX 50    /* of one edge */
#define FLOW_NAME_MAX 64          /* bytes: letters, digits, - and _ */
#define FLOW_TEXT_MAX 2000        /* bytes of a description, a parameter of a step, a question */
#define FLOW_DOCUMENT_MAX 1000000 /* bytes */
#define FLOW_RESULT_MAX 65536     /* bytes of one result */
#define FLOW_VALUES_MAX 1000000   /* bytes of all results of a run */
#define FLOW_ITEMS_MAX 10000      /* of a map */
#define FLOW_FAULTS_MAX 50        /* that are told at once */

/* ---- the document ------------------------------------------------------------------------------------------------ */

enum flow_step_kind {
    FLOW_JOB,       /* a job, once */
    FLOW_MAP,       /* a job for each item of an array */
    FLOW_BROADCAST, /* a job of route SHARDING_BROADCAST, as one step */
    FLOW_WAIT,      /* for a while, or until a time of day */
    FLOW_APPROVAL,  /* until somebody says yes or no */
    FLOW_FLOW,      /* another flow */
};
#define FLOW_STEP_KINDS 6

const char *flow_step_kind_name(enum flow_step_kind kind); /* "job" and so on, as documents have it */

struct json_object;
struct flow_step {
    const char *name;
    enum flow_step_kind kind;
    bool join_any;               /* starts with its first edge that is true, not with the last one */
    int64_t job_id;              /* JOB, MAP, BROADCAST */
    const char *param;           /* JOB, MAP, BROADCAST: a template; NULL: the job's own parameter */
    const char *items;           /* MAP: the path of the array */
    int64_t parallel;            /* MAP: so many runs at a time at most */
    int64_t wait_s;              /* WAIT: so long; -1: until */
    int64_t until_s;             /* WAIT: second of the day in the flow's zone; -1: wait_s */
    const char *text;            /* APPROVAL: the question, a template */
    const char *flow;            /* FLOW: its name */
    struct json_object *members; /* FLOW: private, its parameters */
};

enum flow_policy {
    FLOW_SKIP_IF_RUNNING, /* a start while a run is open does nothing */
    FLOW_QUEUE,           /* it waits in line */
    FLOW_PARALLEL,        /* it runs beside the others */
};

/* When a flow is due, and what becomes of its runs. At most one of cron, every_s and delay_s is set; none: people,
 * programs and other flows alone start it. */
struct flow_settings {
    const char *cron;  /* NULL: not set */
    int64_t every_s;   /* fixed rate; 0: not set, as with all numbers below */
    int64_t delay_s;   /* from the end of a run to the next one */
    const char *zone;  /* of cron, due times in templates, and waits until a time of day; NULL: that of the cluster */
    int64_t from_s;    /* its schedule has no occurrence before this instant... */
    int64_t until_s;   /* ... and none at it and after it */
    bool misfire_once; /* what was not planned in time becomes one run, not none */
    enum flow_policy policy;
    int queue_max;      /* QUEUE: so many wait at most; never 0 */
    int64_t deadline_s; /* a run that is open longer is late */
    int retention_days; /* of its runs; 0: as the log's */
    const char *tags;   /* words between commas; "": none */
    const char *mails;  /* addresses between commas; "": none */
};

/* What is wrong with a document, and where: a JSON Pointer such as "/steps/2/param". */
struct flow_fault {
    char where[160];
    char text[300];
};
struct flow_faults {
    struct flow_fault list[FLOW_FAULTS_MAX];
    size_t count; /* may be more than the list has */
};
/* Of what a document says about others; the faults of its own are told by flow_load. */
void flow_add_fault(struct flow_faults *faults, const char *where, const char *fmt, ...) PRINTF_LIKE(3, 4);

struct flow;

/* ERR_INPUT: `faults`, which may be NULL, has at least one, and ec the first. Unknown members, names that are used
 * twice, edges in a circle, paths that lead nowhere and templates that cannot be read are faults. Whether jobs and
 * other flows are there is not looked at. */
MUST_CHECK enum err flow_load(const char *text, size_t len, struct flow **out, struct flow_faults *faults,
                              struct errctx *ec);
void flow_destroy(struct flow *flow);
const char *flow_get_name(const struct flow *flow);
size_t flow_count_steps(const struct flow *flow);
const struct flow_step *flow_get_step(const struct flow *flow, size_t step);
const struct flow_settings *flow_get_settings(const struct flow *flow);
bool flow_has_schedule(const struct flow_settings *settings);
/* The schedule as that of a job; `conf` and the settings hold its texts. A delay is a fixed delay, with that rate. */
#define FLOW_CONF_MAX 24
void flow_make_due(const struct flow_settings *settings, char conf[FLOW_CONF_MAX], struct job_due *out);

/* ---- values of a run --------------------------------------------------------------------------------------------- */

enum flow_state {
    FLOW_WAITING, /* not started */
    FLOW_RUNNING,
    FLOW_SUCCEEDED, /* also: marked as done */
    FLOW_FAILED,
    FLOW_SKIPPED,
    FLOW_CANCELLED,
};
#define FLOW_STATES 6
const char *flow_state_name(enum flow_state state); /* "waiting" and so on, as users see it */

struct flow_values;

/* `parameters`: a JSON object with those that are given, or NULL; defaults are filled in. ERR_INPUT names the one that
 * is unknown, missing, or of another type. `zone` is borrowed. */
MUST_CHECK enum err flow_create_values(const struct flow *flow, const char *parameters, int64_t run_id, int64_t due_s,
                                       const struct zone *zone, struct flow_values **out, struct errctx *ec);
void flow_destroy_values(struct flow_values *values);
/* Appends a member for such an object, "NAME":VALUE: a text as it is, of another type as the JSON that it is. The name
 * need not end with a NUL. ERR_INPUT: the flow has no such parameter, or the value is not of its type. */
MUST_CHECK enum err flow_put_parameter(struct buf *out, const struct flow *flow, const char *name, size_t name_len,
                                       const char *value, struct errctx *ec);
/* Every step begins as FLOW_WAITING. Into another state than SUCCEEDED or FAILED its values are forgotten. */
void flow_set_state(struct flow_values *values, size_t step, enum flow_state state);
enum flow_state flow_get_state(const struct flow_values *values, size_t step);

/* What is known of a step that has ended. */
struct flow_end {
    const char *result; /* what the executor said: JSON if it is JSON, else a text; NULL: nothing */
    size_t result_len;
    int64_t code;
    const char *address; /* or NULL */
    int64_t started_ms;
    int64_t ended_ms;
};
/* `state` is SUCCEEDED or FAILED. ERR_INPUT: the result, or all results together, are larger than allowed; then the
 * state is FAILED and there is no result. */
MUST_CHECK enum err flow_end_step(struct flow_values *values, size_t step, enum flow_state state,
                                  const struct flow_end *end, struct errctx *ec);

/* ---- deciding ---------------------------------------------------------------------------------------------------- */

enum flow_move {
    FLOW_STAY,
    FLOW_START,
    FLOW_SKIP,
};
/* What is to happen now: `moves`, one for each step. A step that is to be skipped counts as skipped for what comes
 * after it. Returns how many are not FLOW_STAY. The states are not changed. */
size_t flow_decide(const struct flow_values *values, enum flow_move *moves);

enum flow_outcome {
    FLOW_OPEN,
    FLOW_GOOD,
    FLOW_BAD, /* a step failed, and none of its edges was true */
};
/* One of the edges of a step that failed is true. */
bool flow_is_handled(const struct flow_values *values, size_t step);
/* A way of edges leads from the step to the other one. */
bool flow_comes_before(const struct flow *flow, size_t step, size_t other);
/* The results of the steps after which nothing comes, by their names, as a JSON object. */
MUST_CHECK enum err flow_put_results(struct buf *out, const struct flow_values *values, struct errctx *ec);

/* What executors reported, as a JSON array: each JSON if it is JSON, else a text; NULL: null. */
MUST_CHECK enum err flow_put_array(struct buf *out, const char *const *results, size_t count, struct errctx *ec);

/* Of a run for which flow_decide finds nothing. A cancelled step makes it bad. */
enum flow_outcome flow_find_outcome(const struct flow_values *values);

/* Why a step waits: a sentence. Only for FLOW_WAITING. */
void flow_put_reason(struct buf *out, const struct flow_values *values, size_t step);

/* To run a step again: it, and all that come after it and have failed, were skipped or cancelled, are FLOW_WAITING. */
void flow_reset_step(struct flow_values *values, size_t step);

/* ---- templates --------------------------------------------------------------------------------------------------- */

/* The step's parameter or question, filled in; `item`: of a map, a JSON text with its number, or NULL. ERR_INPUT: a
 * path leads to nothing, or the result is longer than `max` bytes or has a NUL. */
struct flow_item {
    const char *json;
    int64_t number; /* from 0 */
};
MUST_CHECK enum err flow_put_text(struct buf *out, const struct flow_values *values, const char *template, size_t max,
                                  const struct flow_item *item, struct errctx *ec);
/* The items of a map, each as JSON; to free with flow_free_items. ERR_INPUT: there is nothing, it is no array, or it
 * has too many. */
MUST_CHECK enum err flow_load_items(const struct flow_values *values, size_t step, char ***items, size_t *count,
                                    struct errctx *ec);
void flow_free_items(char **items, size_t count);
/* The parameters of a step that is a flow, filled in, as a JSON object. A text that is one path only keeps its type. */
MUST_CHECK enum err flow_put_parameters(struct buf *out, const struct flow_values *values, size_t step,
                                        struct errctx *ec);

/* ---- documents for people ---------------------------------------------------------------------------------------- */

/* How two versions differ: a line for each setting, parameter, step or edge that was added (+) or removed (-), and for
 * each member that was changed (~), with its old and its new value. Nothing: they differ in the order of their parts at
 * most. ERR_INPUT: one is no JSON object. */
MUST_CHECK enum err flow_put_diff(struct buf *out, const char *old, size_t old_len, const char *new, size_t new_len,
                                  struct errctx *ec);

/* They differ in white space and in the order of members at most. One that is no JSON object is
 * like itself alone. */
bool flow_is_same_document(const char *a, const char *b);

/* Documents that go to another cluster, whose ids are others: in them a step of type job, map or broadcast has
 * "job": {"appname": ..., "name": ...} in place of "jobId". */
struct flow_job_name {
    int64_t id;
    size_t step;
    const char *app_name, *name;
};
struct flow_portable;
/* `faults`: what is wrong with these members; the rest is not looked at. ERR_NOMEM alone. */
MUST_CHECK enum err flow_load_portable(const char *text, struct flow_portable **out, struct flow_faults *faults,
                                       struct errctx *ec);
void flow_destroy_portable(struct flow_portable *portable); /* NULL is fine */
/* The jobs that its steps name, in their order; ids are the caller's to fill in. */
struct flow_job_name *flow_get_job_names(struct flow_portable *portable, size_t *count);
/* Appends the document with these ids, once; nothing stays to be named then. */
MUST_CHECK enum err flow_put_with_ids(struct buf *out, struct flow_portable *portable, struct errctx *ec);
/* Appends a saved document with names in place of ids; an id that is not among them stays. `names` by id. */
MUST_CHECK enum err flow_put_with_names(struct buf *out, const char *document, const struct flow_job_name *names,
                                        size_t count, struct errctx *ec);

/* A job that starts others when it ends well. */
struct flow_chain_job {
    int64_t id;
    const char *name; /* or NULL */
    bool broadcast;   /* its route is SHARDING_BROADCAST */
    const int64_t *children;
    size_t child_count;
};
/* A document with a step for each job and an edge to each child; what differs from the chain is in docs/flows.md.
 * `name` of the flow may be NULL: as the first job. ERR_INPUT with a sentence: a circle, a child that is not among the
 * jobs, more than a flow can have. A job that is its own child is no circle: no node starts it so. */
MUST_CHECK enum err flow_put_chain(struct buf *out, const char *name, const struct flow_chain_job *jobs, size_t count,
                                   struct errctx *ec);

#endif
