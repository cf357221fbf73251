/* SPDX-License-Identifier: MIT */
/* What the files of sim share. */
#ifndef TEST_SIM_IMPL_H
#define TEST_SIM_IMPL_H

#include "shardwheel/coord.h"
#include "shardwheel/dispatch.h"
#include "shardwheel/executor/access.h"
#include "shardwheel/flowrun.h"
#include "shardwheel/follow.h"
#include "shardwheel/follow/lost.h"
#include "shardwheel/follow/triggers.h"
#include "shardwheel/record.h"
#include "shardwheel/registry.h"
#include "shardwheel/schedule.h"
#include "sim/sim.h"

#define LOCK_LEASE_US INT64_C(6000000) /* a node that was not heard of for so long loses its locks */

#define SIM_MEMBERS_ALL ((1U << SIM_EXECUTORS) - 1)

struct registry {
    unsigned members; /* as this node sees them: bits */
    struct registry_view {
        struct registry_snapshot snapshot;
        struct registry_group group;
        const char *addresses[SIM_EXECUTORS];
    } view[SIM_MEMBERS_ALL + 1]; /* of all that they may be: who reads one keeps it */
};

struct coord {
    struct sim *sim;
    struct sim_run *run;
    int shards;
    struct coord_grant grant[SIM_SHARDS_MAX]; /* as this node was told */
    bool able, drained, draining, cut;
    bool telling; /* `changed` is being called */
    bool member;
    int64_t heard_us; /* when the lock service heard of it last */
    int64_t unable_us;
    void (*changed)(void *arg, int shard);
    void *arg;
};

/* A run at an executor, then its callback on the way from there. */
struct sim_callback {
    struct sim_callback *next;
    int64_t log_id, job_id;
    int executor;
    int code;
    const char *said; /* lives as long as the database */
    int64_t ends_us;  /* the run */
    int64_t at_us;    /* the callback comes, at the earliest */
};

enum run_state { RUN_ALIVE, RUN_PAUSED, RUN_KILLED, RUN_STOPPED };

/* One run of one node. */
struct sim_run {
    struct clock clock; /* the first */
    struct sim *sim;
    struct sim_run *former; /* of this node: killed or stopped */
    int node;
    int group;
    enum run_state state;
    char name[16];
    char incarnation[33];
    int64_t wall_offset_us;
    int64_t wall_high_ms; /* before it was set back, of some meaning until: */
    int64_t wall_high_until_us;
    struct store store;
    struct registry registry;
    struct coord coord;
    struct counters counters;
    struct watch *watch;
    struct results *results;
    struct dispatch *dispatch;
    struct access_box access;
    struct complete *complete;
    struct failures *failures; /* NULL: nobody follows */
    struct triggers *triggers; /* likewise, as the next */
    struct lost *lost;
    struct flowrun *flows; /* NULL: without them */
    bool missed;           /* it could not take in what executors told it */
    struct schedule *schedule;
    struct thread follower; /* goes over to another number of shards */
    struct thread receiver; /* takes callbacks */
    struct thread looker;   /* at the watch */
    bool ending;
    bool stopping;         /* it was asked to end */
    bool cut;              /* off from executors */
    int64_t messages_left; /* until that befalls it: */
    enum sim_end end;
    struct sim_callback *callbacks;
    struct sim_callback *in_hand; /* being stored */
};

struct sim {
    struct sim_opts opts;
    uint64_t seed;
    struct memory_db *db;
    struct zone *zone;
    struct sim_run *run[SIM_NODES_MAX];           /* the present one of each node */
    int groups;                                   /* given out */
    const struct sim_run *holder[SIM_SHARDS_MAX]; /* that has the lock, or NULL */
    int wanted[SIM_SHARDS_MAX];                   /* node that shall have it, or -1: any */
    uint64_t serial;
    struct thread locks; /* of the lock service */
    bool ending;
    enum sim_executor executors[SIM_EXECUTORS];
    unsigned members;             /* executors that are registered: bits */
    bool clocks_moved;            /* of any node, ever */
    int64_t lasting_ms;           /* runs last so long at most; 0: a moment */
    unsigned failing_permille;    /* runs that report a failure */
    struct sim_callback *waiting; /* no node is there to take them */
    unsigned forgetting_permille; /* runs that executors lose */
    int64_t max_lateness_ms;
    int64_t skipped;    /* due times that claims said had no fire */
    int64_t generation; /* of the database server */
    struct sim_call *calls;
    struct java_edit *edits; /* by Java admins, under way or done */
    struct sim_flows *flows;
    char violation[600];
};

struct sim_run *sim_run_of_clock(const struct clock *clock);
void sim_locks_begin(struct sim *sim);
void sim_locks_end(struct sim *sim);
void sim_coord_begin(struct sim_run *run, int shards);
void sim_coord_end(struct sim_run *run); /* gives all locks back */
void sim_coord_drain(struct sim_run *run);
int sim_coord_count_held(struct sim_run *run);
bool sim_coord_is_last(struct sim_run *run);
void sim_must(enum err e, const struct errctx *ec);
void sim_edits_end(struct sim *sim);
void sim_registry_begin(struct sim_run *run);
void sim_registry_look(struct sim_run *run); /* the node sees who is registered now */
const char *sim_get_address(int executor);
void sim_calls_end(struct sim_run *run); /* its calls have ended, or have nobody any more who would answer */
void sim_calls_free(struct sim *sim);
void sim_check_calls(struct sim *sim);
void sim_check_broadcasts(struct sim *sim); /* sim_registry.c */
void sim_check_call_arrival(struct sim *sim, const struct memory_log *row, int executor, const char *body, size_t len);
/* A request with that body was written to that executor. */
void sim_arrive(struct sim_run *run, int executor, const char *body, size_t len);
/* The node is about to send a message, or to take an answer: this may be the one that it dies at. */
void sim_move(struct sim_run *run);
void sim_move_store(void *arg, struct store *st);                                      /* the same, to the database */
void sim_call_back(struct sim *sim, const struct sim_callback *callback);              /* a copy of it */
bool sim_is_busy(const struct sim *sim, int executor, int64_t job_id, int64_t log_id); /* log_id 0: with any run */
void sim_check_lost(void *arg, const struct memory_log *row);                          /* it is about to end as lost */
void sim_check_chains_of_lost(struct sim *sim);
bool sim_is_delayed(const struct memory_job *job); /* by its settings, and its schedule is that delay */
void sim_check_followed(struct sim *sim);          /* sim_chains.c */
/* What an executor says at the end of a run. */
const char *sim_choose_words(struct sim *sim, const struct memory_log *row, int code);
void sim_check_move(void *arg, struct store *st, const struct memory_flow_run *before,
                    const struct memory_flow_run *after, int64_t epoch, int n); /* sim_flow_check.c, as the next */
void sim_check_flows(struct sim *sim);
void sim_check_claim(void *arg, struct store *st, const struct memory_job *before, int64_t new_next_ms, bool stop,
                     const int64_t *log_ids, size_t count, const struct skipped *skipped);

#endif
