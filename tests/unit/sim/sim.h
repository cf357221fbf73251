/* SPDX-License-Identifier: MIT */
/*
 * sim: a cluster in one thread: the real schedule and dispatch of several nodes on a virtual clock, with a database in
 * memory, locks in memory, and executors in memory. Link it with the object library test_sim.
 *
 * Threads     The test's. All nodes' threads are fibers (fibers.h); they run while the test waits in one of these
 *             functions.
 * Invariants  Looked at as things happen and by sim_check: no due time arrives twice; none is lost: each is planned in
 *             its time and ends in an arrival or in a row with a reason; nothing is sent that has ended as "delivery
 *             unknown"; nothing that is reported as delivered has not arrived, nor the other way round.
 * Randomness  All of a seed: opts.seed, else the environment's SHARDWHEEL_SIM_SEED, else 1. SHARDWHEEL_SIM_LOG=1 shows
 *             what nodes log.
 */
#ifndef TEST_SIM_H
#define TEST_SIM_H

#include "sim/memory_store.h"

#define SECOND_MS INT64_C(1000)
#define MINUTE_MS (60 * SECOND_MS)
#define SIM_NODES_MAX 8
#define SIM_SHARDS_MAX 32

struct sim;

struct sim_opts {
    int nodes;        /* 0: 1 */
    int shards;       /* 0: 4; at most SIM_SHARDS_MAX */
    const char *wall; /* "2025-11-02T01:58:00Z"; NULL: 2025-06-01 */
    const char *zone; /* of cron; NULL: UTC */
    uint64_t seed;
    bool resend;             /* fires of unknown delivery are sent again */
    bool guarded;            /* claims need a guard against Java admins */
    bool follows;            /* failures are retried, runs that end well have their children started */
    bool flows;              /* nodes move flow runs; needs `follows` */
    bool calm;               /* no node is harmed: no fire may end as "delivery unknown" */
    enum memory_rule broken; /* see memory_store.h */
};

struct sim *sim_create(struct sim_opts opts); /* all nodes start */
void sim_destroy(struct sim *sim);
uint64_t sim_get_seed(const struct sim *sim);

/* The system's, which the linker has put aside (CMakeLists.txt): for a seed. */
enum err __real_random_hex(char *out, size_t bytes, struct errctx *ec);

/* ---- jobs; the id is returned ---- */

int64_t sim_add_cron(struct sim *sim, const char *conf); /* first due at its next occurrence */
int64_t sim_add_rate(struct sim *sim, int seconds);
/* For what else shall be said of it; not while it is being claimed. Valid until the next sim_ function. */
struct memory_job *sim_edit_job(struct sim *sim, int64_t id);
/* As somebody does by hand: other due times than before count as new ones. */
void sim_set_next_ms(struct sim *sim, int64_t id, int64_t next_ms);
void sim_stop_job(struct sim *sim, int64_t id);
void sim_change_cron(struct sim *sim, int64_t id, const char *conf);

/* How somebody changes a job; what it becomes is drawn. */
enum sim_edit {
    EDIT_SCHEDULE,
    EDIT_SETTINGS, /* of ours: waits, zone, validity */
    EDIT_WORDS,    /* route, misfire rule, parameter */
    EDIT_STOP,
    EDIT_START,
    EDIT_REMOVE,
};
/* By our API: under the lock of its row, and behind all that is planned. */
void sim_edit_by_api(struct sim *sim, int64_t id, enum sim_edit what);
/* By a Java admin: reads the row, and writes all its columns so much later, whatever it says by then. A job that it
 * removes takes all its rows with it. */
void sim_edit_by_java(struct sim *sim, int64_t id, enum sim_edit what, int64_t takes_ms);
/* Removes rows of the log, of that job or (0) of all; `ended`: only those that have an end. */
void sim_clear_rows(struct sim *sim, int64_t job, bool ended);
void sim_clear_left(struct sim *sim); /* those that removed jobs have left */

/* A later row of the job, due in so many seconds by the world's clock; what arrives of it must have that parameter. The
 * id is returned. */
int64_t sim_add_later(struct sim *sim, int64_t job, int64_t in_s);

/* Somebody asks the node for a fire at once; what arrives of it must have a parameter of its own. `members`: bits of
 * the executors that it shall go to; 0: those of the group. */
void sim_trigger(struct sim *sim, int node, int64_t job, unsigned members);

/* ---- flows ---- */

/* Flows of all kinds, some of them drawn, with jobs of their own, which nobody edits. Two have schedules. */
void sim_add_flows(struct sim *sim);
void sim_start_flow(struct sim *sim); /* a run of one of them is asked for */
void sim_start_that_flow(struct sim *sim, int64_t flow);
void sim_ask_flow(struct sim *sim);          /* somebody asks something of some run: also what makes no sense */
void sim_approve_flows(struct sim *sim);     /* whatever waits for an answer gets one */
bool sim_flows_go_on(const struct sim *sim); /* an open run waits for what an executor had lost, which has ended */

/* ---- time ---- */

void sim_advance_ms(struct sim *sim, int64_t ms);
int64_t sim_now_ms(const struct sim *sim);                     /* the world's wall clock; the database's is the same */
void sim_set_wall(struct sim *sim, const char *wall);          /* of all nodes */
void sim_shift_wall_ms(struct sim *sim, int node, int64_t ms); /* of one */

/* ---- nodes: numbers from 0 ---- */

void sim_kill(struct sim *sim, int node);
void sim_pause(struct sim *sim, int node);               /* its process stands still */
void sim_wake(struct sim *sim, int node);                /* if it was stopping, it goes on with that */
void sim_suspend(struct sim *sim, int node, int64_t ms); /* its machine does: the monotonic clock stands, too */
void sim_stop(struct sim *sim, int node);                /* in order; returns when it has ended */
void sim_start(struct sim *sim, int node);               /* one that was killed or stopped: a new run of it */
/* Killed or paused at its so-manieth message to the database or to an executor, or answer to one. */
enum sim_end { END_KILLED, END_PAUSED };
void sim_end_at(struct sim *sim, int node, int64_t messages, enum sim_end end);
bool sim_is_running(const struct sim *sim, int node);
bool sim_is_paused(const struct sim *sim, int node);
void sim_give_to(struct sim *sim, int shard,
                 int node); /* the shard is asked back from whoever has it, and goes there */
void sim_reshard(struct sim *sim, int shards);
int sim_count_shards(const struct sim *sim);
int sim_count_owned(struct sim *sim, int node);
int64_t sim_count(struct sim *sim, enum counter_id id); /* of all nodes that run, and ran */

/* ---- faults ---- */

struct memory_db *sim_get_db(struct sim *sim);
void sim_set_away(struct sim *sim, bool away); /* the database */
/* What is committed from now on is lost by the next failover. */
void sim_remember(struct sim *sim);
/* To a server that knows no more; all nodes are told. */
void sim_fail_over(struct sim *sim);
void sim_cut_database(struct sim *sim, int node, bool cut);
void sim_cut_locks(struct sim *sim, int node, bool cut);     /* from ZooKeeper */
void sim_cut_executors(struct sim *sim, int node, bool cut); /* both ways */

enum sim_executor {
    EXECUTOR_QUICK,
    EXECUTOR_SLOW,    /* answers after up to 2.5 s */
    EXECUTOR_SILENT,  /* takes the job, never answers */
    EXECUTOR_REFUSES, /* code 500 */
    EXECUTOR_GONE,    /* no connection */
    EXECUTOR_MIXED,   /* now this, now that */
};
#define SIM_EXECUTORS 3
void sim_set_executors(struct sim *sim, enum sim_executor how);           /* all of them */
void sim_set_failing(struct sim *sim, unsigned permille);                 /* so many runs report a failure */
void sim_set_lasting(struct sim *sim, int64_t ms);                        /* runs last up to that; 0: a moment */
void sim_set_forgetting(struct sim *sim, unsigned permille);              /* so many runs end and are not told of */
void sim_restart_executor(struct sim *sim, int executor);                 /* what runs there is gone */
void sim_set_executor(struct sim *sim, int index, enum sim_executor how); /* the one at that place of the list */
void sim_set_members(struct sim *sim, unsigned members);                  /* registered ones: bits; nodes see it soon */
void sim_empty_group(struct sim *sim, bool empty);                        /* nobody is registered, as all nodes see */

/* ---- what came of it ---- */

int64_t sim_count_arrivals(struct sim *sim, int64_t job);
int64_t sim_max_fires_per_minute(struct sim *sim, int64_t job); /* arrivals of one minute's due times */
int64_t sim_count_skipped(const struct sim *sim);               /* due times that claims said had no fire */
int64_t sim_max_lateness_ms(struct sim *sim);                   /* of all arrivals, by the world's clock */
/* Notes that a rule was broken, and how; the first one is kept. The rules:
 *   due-time-has-one-row: Each due time is planned once, or left to the misfire strategy and counted.
 *   planned-in-time: No job, and no later row, is due for 15 s without being planned.
 *   sent-in-its-time: Nothing is sent before its second, nor beyond the cursor, nor by a node that has moved no
 *     cursor for 20 s.
 *   sent-has-its-row: What was sent is in the log, and stays there.
 *   sent-once: Nothing is sent twice, unless the job has it sent again; nothing after it ended as "delivery
 *     unknown".
 *   step-starts-once: A try of a step begins after the end of the one before. It has no more tries than its job
 *     allows, and nobody but its flow run repeats it.
 *   step-that-must-starts: In a run that has ended each step started, or was skipped, and ended as the rules of
 *     docs/flows.md say for the ends that were reported; so did the run.
 *   flow-run-ends: A run ends, unless it waits for what an executor has lost.
 *   flow-leaves-nothing: A run that has ended waits for no fire, has no open step and no request.
 *   flow-is-due-once: Due times of a flow follow each other, those with a delay behind the end of the run; its
 *     schedule never stops.
 *   moved-by-its-owner: A move shows the epoch that its shard has when it commits.
 *   broadcast-is-whole: The parts of a broadcast are written once, all at once, and each has its end.
 *   call-is-answered-truly: A caller is told what happened: what was refused did not happen, what was fired is
 *     there as often as was said, with its own parameter and addresses.
 *   later-row-runs-once: A later row is planned once for each time that it waits.
 *   nothing-open-too-long: A fire of a shard ends within 100 s, a direct one within 180 s, and a run that arrived
 *     has its end.
 *   row-says-what-happened: Codes are final, and say whether it arrived and what the executor reported.
 *   chain-has-its-retries: A failure has one retry if some are left, with one less; otherwise none.
 *   good-run-has-each-child-once: A run that ended well has each child of its job once, any other run none.
 *   fixed-delay-keeps-distance: The next run is due no earlier than the end and the delay, and such a job never
 *     stops.
 *   calm-loses-nothing: Nothing ends as "delivery unknown" if nodes only start, stop and pass shards on, whatever
 *     statements fail. One history in four is like that.
 *   lost-run-is-lost, lost-run-is-resent-thrice: What ends as lost does not run at a registered executor. A chain
 *     has no more lost runs than are sent again, and its job's own retries.
 *   threads-go-on: No thread hangs, whatever is unavailable. */
void sim_violate(struct sim *sim, const char *rule, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* All invariants; what fell due until a minute ago must have ended. NULL: they hold. */
const char *sim_find_violation(struct sim *sim);
/* The same as an assertion, which names the seed. */
#define sim_check(sim)                                                                                                 \
    do {                                                                                                               \
        const char *sim_why = sim_find_violation(sim);                                                                 \
        if (sim_why)                                                                                                   \
            fail_msg("%s (SHARDWHEEL_SIM_SEED=%llu)", sim_why, (unsigned long long)sim_get_seed(sim));                 \
    } while (0)
/* Where the environment has SHARDWHEEL_SIM_SHOW: that row of the log, and what came of it, to stderr. */
void sim_show(const struct sim *sim);

#endif
