/* SPDX-License-Identifier: MIT */
/*
 * admin/flows: flows as people see, change and run them. What runs them is not here: a run that is started, and what is
 * asked of one, waits in the tables for its owner. See admin.h for threads, rights and refusals.
 *
 * Rights      A flow has the groups of its jobs, and of those of the flows that it runs. Who sees one of them sees the
 *             flow, but steps whose jobs he may not see are boxes: a name and a state. To change it, and to run it,
 *             takes the right in all of them; without any job, in all groups that there are. A run has the groups of
 *             the version that it goes through.
 * Audit       Rows of a flow with one group are seen by its users; others by admins alone.
 * Bounds      A page may have fewer items than asked for: see struct flow_query.
 */
#ifndef SHARDWHEEL_ADMIN_FLOWS_H
#define SHARDWHEEL_ADMIN_FLOWS_H

#include "shardwheel/admin.h"
#include "shardwheel/flow.h"
#include "shardwheel/store/flow.h"

#define FLOWS_DEEP_MAX 32 /* flows of flows */
#define FLOW_KEY_MAX 100
#define FLOW_REMARK_MAX 500
#define FLOW_PARAMETERS_BYTES_MAX 65536 /* of a run that is started */

/* ---- documents: admin/flows/check.c ------------------------------------------------------------------------------ */

struct flow_verdict {
    struct flow_faults faults;
    int64_t *groups; /* ascending; of a document that cannot be read there are none */
    size_t group_count;
};
void flow_verdict_fini(struct flow_verdict *v);
/* ERR_OK whatever the verdict. Also what flow_load does not look at: jobs, and flows that it runs. */
MUST_CHECK enum err admin_check_flow(struct admin *a, const struct actor *actor, const char *document,
                                     struct flow_verdict *out, struct refusal *r);

/* ---- child jobs as a flow: admin/flows/chain.c ------------------------------------------------------------------- */

/* Appends the document of a job and all that follow it by child_jobid; see flow_put_chain. Nothing is saved. RIGHT_SEE
 * on all of these jobs. REFUSED_UNKNOWN "id"; REFUSED_STATE: they are no flow, such as a circle. */
MUST_CHECK enum err admin_put_chain(struct admin *a, const struct actor *actor, int64_t job_id, struct buf *out,
                                    struct refusal *r);

/* ---- looking: admin/flows/list.c --------------------------------------------------------------------------------- */

/* A step as somebody may see it. */
struct flow_box {
    char name[FLOW_NAME_MAX + 1];
    enum flow_step_kind kind;
    bool closed;
    int64_t job_id; /* 0: none */
    char *job_name; /* NULL: none, or it is gone */
};

struct flow_card {
    struct flow_row row; /* texts are its own */
    size_t step_count;
    int64_t *groups; /* ascending */
    size_t group_count;
    int64_t open_runs;
    struct flow_tick ticks[FLOW_TICKS_MAX]; /* newest first */
    size_t tick_count;
    bool can_change, can_run;
};
struct flow_cards {
    struct flow_card *items;
    size_t count;
    char last[FLOW_NAME_MAX + 1]; /* behind which the list goes on */
    bool is_end;
};
void flow_cards_fini(struct flow_cards *cards);

/* FLOWS_LOOKED_MAX flows are looked at for a page, and documents of FLOWS_BYTES_MAX bytes. */
#define FLOWS_LOOKED_MAX 1000
#define FLOWS_BYTES_MAX (16 * 1024 * 1024)
struct flow_query {
    struct flow_filter filter;
    const char *tag;   /* exactly this one; NULL: all */
    const char *after; /* a name; "": from the first one */
    size_t limit;
};
MUST_CHECK enum err admin_list_flows(struct admin *a, const struct actor *actor, const struct flow_query *query,
                                     struct flow_cards *out, struct refusal *r);
/* REFUSED_UNKNOWN "id". The list has this one; *boxes has one for each of its steps, see flow_boxes_destroy. */
MUST_CHECK enum err admin_load_flow(struct admin *a, const struct actor *actor, int64_t id, struct flow_cards *out,
                                    struct flow_box **boxes, struct refusal *r);
void flow_boxes_destroy(struct flow_box *boxes, size_t count);

/* Newest first, below `before`. REFUSED_UNKNOWN "id". */
MUST_CHECK enum err admin_list_flow_versions(struct admin *a, const struct actor *actor, int64_t id, int64_t before,
                                             int64_t limit, struct flow_version_rows *out, struct refusal *r);
/* REFUSED_UNKNOWN "id", "version". The list has this one; boxes as above. */
MUST_CHECK enum err admin_load_flow_version(struct admin *a, const struct actor *actor, int64_t id, int64_t version,
                                            struct flow_version_rows *out, struct flow_box **boxes, size_t *box_count,
                                            struct refusal *r);

/* ---- changing: admin/flows/change.c ------------------------------------------------------------------------------ */

/* A document with faults is REFUSED_INVALID "document"; `faults` has them. A name that another flow has is
 * REFUSED_TAKEN "document". */
MUST_CHECK enum err admin_add_flow(struct admin *a, const struct actor *actor, const char *document, int64_t *id,
                                   struct flow_faults *faults, struct refusal *r);
/* REFUSED_CHANGED "version": the newest one is another. The same document makes no version
 * (flow_is_same_document). REFUSED_IN_USE: it has another name, and other flows run it by the one that it had. */
MUST_CHECK enum err admin_update_flow(struct admin *a, const struct actor *actor, int64_t id, int64_t version,
                                      const char *document, struct flow_faults *faults, struct refusal *r);
/* With its versions and runs: runs that could not be removed within two seconds are removed by a node later.
 * REFUSED_STATE: a run is open; REFUSED_IN_USE: other flows run it. */
MUST_CHECK enum err admin_remove_flow(struct admin *a, const struct actor *actor, int64_t id, struct refusal *r);
/* Whether its schedule is followed. A flow that is started and started again gets its next time anew. REFUSED_STATE
 * "schedule": there is none, or it has no next time. */
MUST_CHECK enum err admin_set_flow_started(struct admin *a, const struct actor *actor, int64_t id, bool started,
                                           struct refusal *r);

/* ---- runs: admin/flows/runs.c, run.c ----------------------------------------------------------------------------- */

struct flow_run_order {
    const char *parameters; /* JSON object; NULL: none */
    const char *key;        /* NULL: none; visible ASCII without blanks */
    bool by_program;
};
/* *is_new false: a run was started with that key before, and it is that one. REFUSED_UNKNOWN "id"; REFUSED_INVALID
 * "parameters", "key"; REFUSED_STATE: a run is open, and the flow wants one at a time; REFUSED_LIMIT: the line is full.
 */
MUST_CHECK enum err admin_start_flow_run(struct admin *a, const struct actor *actor, int64_t flow_id,
                                         const struct flow_run_order *order, int64_t *run_id, bool *is_new,
                                         struct refusal *r);

struct flow_run_card {
    struct flow_run_row row;
    int64_t deadline_ms; /* 0: none */
    bool late;           /* its deadline has passed, or passed before it ended */
    int64_t parent_run;  /* 0: none that may be seen */
    char parent_step[FLOW_NAME_MAX + 1];
    bool can_run;
};
#define FLOW_RUN_BATCHES_MAX 20 /* of FLOW_RUN_BATCH runs that are looked at for a page */
#define FLOW_RUN_BATCH 100
struct flow_run_cards {
    struct flow_run_card *items;
    size_t count;
    int64_t last; /* behind which the list goes on */
    bool is_end;
    struct flow_run_rows batches[FLOW_RUN_BATCHES_MAX]; /* where its texts are */
    size_t batch_count;
};
void flow_run_cards_fini(struct flow_run_cards *cards);
/* Newest first; a page may have fewer than `limit`. */
MUST_CHECK enum err admin_list_flow_runs(struct admin *a, const struct actor *actor,
                                         const struct flow_run_filter *filter, size_t limit, struct flow_run_cards *out,
                                         struct refusal *r);

/* One run, whole. */
struct flow_run_whole {
    struct flow_run_cards card; /* this one */
    struct flow_version_rows version;
    struct flow_box *boxes; /* one for each step, as the next two */
    size_t box_count;
    const struct flow_step_view **steps; /* NULL: it waits for others */
    char **reasons;                      /* why it waits; NULL: it does not */
    struct flow_step_views rows;
};
void flow_run_whole_fini(struct flow_run_whole *whole);
/* REFUSED_UNKNOWN "id". */
MUST_CHECK enum err admin_load_flow_run(struct admin *a, const struct actor *actor, int64_t id,
                                        struct flow_run_whole *out, struct refusal *r);
/* What people have asked of a run that was loaded, oldest first: rows of audit whose `after` has the run's number, and
 * the step and the remark where there are some. At most FLOW_ASKED_MAX; *cut: there may be more. */
#define FLOW_ASKED_MAX 500
MUST_CHECK enum err admin_load_flow_asked(struct admin *a, const struct flow_run_row *run, struct audit_page *out,
                                          bool *cut, struct refusal *r);
/* The same of one that who acts has just started: without the right to see it. Without steps. */
MUST_CHECK enum err admin_show_started_run(struct admin *a, const struct actor *actor, int64_t id,
                                           struct flow_run_cards *out, struct refusal *r);
/* Of a map or a broadcast, by number from `from` on. REFUSED_UNKNOWN "id", "name". */
MUST_CHECK enum err admin_list_flow_items(struct admin *a, const struct actor *actor, int64_t run_id, const char *step,
                                          unsigned states, int64_t from, int64_t limit, struct flow_item_views *out,
                                          struct refusal *r);

/* ---- what is asked of runs: admin/flows/ask.c -------------------------------------------------------------------- */

enum flow_action {
    FLOW_ASK_CANCEL, /* a run that is open */
    FLOW_ASK_RERUN,  /* a run that has failed or was cancelled: what did not go well, again */
    FLOW_ASK_RETRY,  /* a step that has failed or was cancelled, again */
    FLOW_ASK_SKIP,   /* a step that waits, has failed, or is a wait or an approval: counts as skipped */
    FLOW_ASK_DONE,   /* ... counts as succeeded; with a remark */
    FLOW_ASK_APPROVE,
    FLOW_ASK_REJECT,
};
#define FLOW_ACTIONS 7
const char *flow_action_name(enum flow_action action);
/* `step`: a name; NULL for the first two. REFUSED_UNKNOWN "id", "name"; REFUSED_REQUIRED, REFUSED_LENGTH "remark";
 * REFUSED_STATE: not as run and step are now. */
MUST_CHECK enum err admin_ask_flow_run(struct admin *a, const struct actor *actor, int64_t run_id, const char *step,
                                       enum flow_action action, const char *remark, struct refusal *r);

#endif
