/* SPDX-License-Identifier: MIT */
/*
 * store/flow_move: flow runs as their owner moves them (docs/protocol.md, "Flows"). See store/conn.h for threads,
 * ownership and errors.
 *
 * A move is one transaction: the epochs of the shards are checked, the rows of the runs are locked, all that is known
 * of them is read, the caller decides, and what he decided is written: states, rows of fires, fires whose ends are
 * waited for. Whoever else changes a run locks its row and sets look_ms to 0.
 */
#ifndef SHARDWHEEL_STORE_FLOW_MOVE_H
#define SHARDWHEEL_STORE_FLOW_MOVE_H

#include "shardwheel/flow.h"
#include "shardwheel/job.h"
#include "shardwheel/store/conn.h"

#define FLOW_NEVER_MS INT64_C(253402300799999) /* look_ms of a run that waits for no time */
#define FLOW_DEPTH_MAX 32                      /* flows of flows */
#define FLOW_DUE_ITEMS_MAX 1000                /* of a step, in a move: as many as may run at a time */

enum flow_run_state {
    FLOW_RUN_QUEUED,
    FLOW_RUN_RUNNING,
    FLOW_RUN_SUCCEEDED,
    FLOW_RUN_FAILED,
    FLOW_RUN_CANCELLED,
    FLOW_RUN_SKIPPED,
    FLOW_RUN_STATES
};
const char *flow_run_state_name(int64_t state);     /* "queued", "running" and so on */
const char *flow_run_kind_name(const char *letter); /* that of a trigger_kind */

/* ---- what is to be moved ----------------------------------------------------------------------------------------- */

/* A fire whose end its flow waits for. */
struct flow_fire {
    int64_t log_id;
    int64_t run_id;
};
/* Those of runs of that shard. `out`: free with free. */
MUST_CHECK enum err store_load_flow_fires(struct store_session *s, int shard, int n, struct flow_fire **out,
                                          size_t *count, struct errctx *ec);
/* Moves those of the ids that have ended, or whose row is gone, to the front; *ended is their number. */
MUST_CHECK enum err store_find_flow_ends(struct store_session *s, struct flow_fire *fires, size_t count, size_t *ended,
                                         struct errctx *ec);
/* Runs of those shards that are to be looked at now, by the clock of the database; at most max. */
MUST_CHECK enum err store_find_flow_looks(struct store_session *s, const int *shards, size_t shard_count, int n,
                                          int64_t *ids, size_t max, size_t *count, struct errctx *ec);
/* Some node that lives does not know flows. */
MUST_CHECK enum err store_find_flowless_node(struct store_session *s, bool *found, struct errctx *ec);

/* With which document each run goes; runs that are gone are left out. `out`: free with free. */
struct flow_version {
    int64_t flow_id;
    int version;
    /* When it was saved: ids, and the numbers of versions, may be given again, by a server that begins to count anew,
     * or has forgotten commits. 0: not known. */
    int64_t at_ms;
};
MUST_CHECK enum err store_load_flow_versions_of(struct store_session *s, const int64_t *run_ids, size_t count,
                                                struct flow_version **out, size_t *out_count, struct errctx *ec);
/* The document; free with free. ERR_NOTFOUND. */
MUST_CHECK enum err store_load_flow_document(struct store_session *s, struct flow_version version, char **out,
                                             struct errctx *ec);
/* The newest version of the flow with that name. ERR_NOTFOUND. */
MUST_CHECK enum err store_find_flow(struct store_session *s, const char *name, struct flow_version *out,
                                    struct errctx *ec);

/* ---- a move ------------------------------------------------------------------------------------------------------ */

struct flow_new_run;

/* Of a step or of an item of one; 0 and NULL: not known. */
struct flow_try {
    enum flow_state state;
    int64_t log_id;
    int tries;
    int lost; /* of these, runs that were lost and sent again */
    int64_t wake_ms;
    int64_t started_ms, ended_ms;
    int code;
    const char *address, *result, *message;
    const struct fire *fire; /* out: its new try; log_id becomes that of its row */
};
struct flow_step_row {
    int64_t run_id;
    int step;
    struct flow_try now;
    int64_t child_run;
    int items, items_begun, items_ended, items_failed;
    const char *who, *remark;
    struct flow_new_run *child; /* out: child_run becomes its id */
};
struct flow_item_row {
    int64_t run_id;
    int step, item;
    struct flow_try now;
};
/* A fire that has ended, or whose row is gone. */
struct flow_fire_end {
    int64_t run_id, log_id;
    int step, item; /* item -1: of the step */
    bool gone;
    int trigger_code, handle_code;
    const char *address, *said; /* handle_msg */
};
struct flow_ask {
    int64_t id, run_id;
    int step;
    char action[17];
    const char *who, *remark;
};
struct flow_flight {
    int64_t run_id;
    int step;
    int count; /* fires of the step whose ends are waited for */
};
/* The first of the items that wait for another try later than now. */
struct flow_wake {
    int64_t run_id, wake_ms;
};
/* What an item of a step that is complete has ended with, in their order. */
struct flow_item_result {
    int64_t run_id;
    int step, item;
    const char *result;
};

/* FAILED and GOOD: of a run that is no step; people are told where the one before ended in the other way. */
enum flow_news { FLOW_NEWS_NONE, FLOW_NEWS_FAILED, FLOW_NEWS_GOOD, FLOW_NEWS_LATE };

/* A run: what is known of it, and in the end what becomes of it. Lists are slices of the batch's. */
struct flow_moving {
    int64_t id, flow_id;
    int version;
    enum flow_run_state state;
    char kind[2];
    int64_t due_s;
    const char *parameters;
    int64_t parent_run;
    int parent_step, depth;
    int64_t started_ms, ended_ms, look_ms;
    bool late_told;
    const char *message;
    bool changed;        /* out: its row is written */
    bool has_ended;      /* out: it was open */
    bool frees_line;     /* out: the first one in line begins, if none of its flow runs */
    int64_t flow_next_s; /* out: it has ended, and its flow is due again then; 0: nothing */
    enum flow_news news; /* out: of what people may have to be told */
    struct flow_step_row *steps;
    size_t step_count;
    struct flow_item_row *items; /* of fires that have ended, and the first that are due for another try */
    size_t item_count;
    struct flow_fire_end *ends;
    size_t end_count;
    struct flow_ask *asks;
    size_t ask_count;
    struct flow_flight *flights;
    size_t flight_count;
    struct flow_wake *wakes;
    size_t wake_count; /* 0 or 1 */
    struct flow_item_result *results;
    size_t result_count;
};

struct flow_new_run {
    struct flow_new_run *next;
    int64_t flow_id;
    int version;
    int64_t due_s;
    int64_t parent_run;
    int parent_step, depth;
    char *parameters; /* owned */
    int64_t id;       /* out */
};
struct flow_place {
    int64_t run_id;
    int step;
};
/* The end of a run that is a step, for the run of that step. */
struct flow_parent_note {
    int64_t run_id;
    int step;
    int code; /* 200 or 500 */
    const char *result;
    int64_t child_run; /* that has ended */
};
/* What is written of all runs of a move. All memory but that of the fires lives as long as the changes. */
struct flow_changes {
    const struct flow_step_row **steps;
    size_t step_count;
    const struct flow_item_row **items;
    size_t item_count;
    struct fire *fires; /* list; of TRIGGER_FLOW, with flow_run, flow_step and flow_item */
    struct fire **fires_end;
    struct flow_new_run *new_runs;
    int64_t *ended; /* log ids whose ends were taken in */
    size_t ended_count;
    int64_t *closed; /* runs that wait for no fire any more */
    size_t closed_count;
    struct flow_place *forgotten; /* their items go */
    size_t forgotten_count;
    struct flow_place *again; /* their failed items are due at once */
    size_t again_count;
    int64_t *asks; /* ids of requests that were seen to */
    size_t ask_count;
    int64_t *cancelled; /* runs of steps that are to be cancelled */
    size_t cancelled_count;
    struct flow_parent_note *notes;
    size_t note_count;
    void **memory; /* freed with the changes */
    size_t memory_count;
    int64_t *kills; /* out: log ids that runs of `closed` waited for; free with free */
    size_t kill_count;
};
void flow_changes_fini(struct flow_changes *c); /* the fires, too */

struct flow_epoch {
    int shard;
    int64_t epoch;
};
struct flow_move_order {
    const struct flow_epoch *epochs; /* ascending */
    size_t epoch_count;
    int n;
    const int64_t *run_ids; /* ascending and distinct */
    size_t run_count;
    const int64_t *ended_logs; /* ascending: fires of these runs that have ended */
    size_t ended_count;
    const char *incarnation;
    /* now_ms by the clock of the database. An error ends all. */
    enum err (*decide)(void *arg, struct flow_moving *run, int64_t now_ms, struct flow_changes *out, struct errctx *ec);
    void *arg;
};
/* Runs of shards whose epoch is another one by now are left out, as are those that are gone; *moved is the number of
 * the others. `out` is empty at the call; flow_changes_fini after it, whatever came of it. ERR_CONFLICT: somebody holds
 * a row of a run; ERR_TIMEOUT: that of a shard. On ERR_UNKNOWN store_find_direct tells of its first fire what became of
 * all. */
MUST_CHECK enum err store_move_flows(struct store_session *s, const struct flow_move_order *order,
                                     struct flow_changes *out, size_t *moved, struct errctx *ec);

/* ---- schedules of flows ------------------------------------------------------------------------------------------ */

struct due_flow {
    int64_t id;
    int version;
    int64_t at_ms; /* as in struct flow_version */
    int64_t next_s;
    int64_t now_s; /* when this was read, by the clock of the database */
};
/* Flows of those shards whose schedule is followed and which are due by the clock of the database; at most max, free
 * with free. */
MUST_CHECK enum err store_find_due_flows(struct store_session *s, const int *shards, size_t shard_count, int n,
                                         size_t max, struct due_flow **out, size_t *count, struct errctx *ec);
/* What becomes of a due flow. */
struct flow_start {
    struct due_flow flow;
    int64_t new_next_s;     /* 0: none */
    int64_t skipped_next_s; /* in its place where the policy leaves the run out; 0: new_next_s */
    bool run;               /* a run for next_s; else it was missed */
    char kind;              /* C or F */
    enum flow_policy policy;
    int queue_max;
    const char *missed; /* why due times have no run: a row that says so; NULL: none */
};
/* One transaction: the epoch is still that (else ERR_STATE), the flow is as it was read (else nothing happens), its
 * next time is written, and a run, which waits in line or is skipped where the policy says so. */
MUST_CHECK enum err store_start_due_flow(struct store_session *s, struct flow_epoch epoch,
                                         const struct flow_start *start, struct errctx *ec);

#endif
