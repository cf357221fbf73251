/* SPDX-License-Identifier: MIT */
/*
 * memory_store: the database in memory: what schedule and record call of the store, with faults. Linked in place of it.
 * tests/unit/store/contract.h holds it against the real one.
 *
 * Threads     Fibers (fibers.h). Each call takes some time on its way there and back, and others go on meanwhile; what
 *             it does at the server it does at once, as if serializable.
 * Faults      A call may come to nothing, break with its outcome unknown (carried out, not carried out, or carried out
 *             later, while the rows stay locked), or meet a conflict. Which and how often is drawn.
 * Time        The server's clock is the world's.
 */
#ifndef TEST_MEMORY_STORE_H
#define TEST_MEMORY_STORE_H

#include "sim/fibers.h"
#include "shardwheel/job.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/flow.h"
#include "shardwheel/store/flow_move.h"
#include "shardwheel/store/later.h"
#include "shardwheel/store/plan.h"
#include "shardwheel/store/run.h"

#define MEMORY_TEXTS 512

/* Rules of the contract that can be taken out, to see that a simulation notices. */
enum memory_rule {
    RULE_NONE,
    RULE_CLAIM_CHECKS_EPOCH,
    RULE_CURSOR_CHECKS_EPOCH,
    RULE_CURSOR_NEVER_FALLS,
    RULE_CLAIM_COMPARES_JOBS,
    RULE_READ_BACK_FINDS_ROWS,
    RULE_READ_BACK_WAITS_FOR_LOCK,
    RULE_RESULTS_ONLY_WHERE_OPEN,
    RULE_UNKNOWN_ONLY_WHERE_OPEN,
    RULE_TAKEOVER_RAISES_BOTH_EPOCHS,
    RULE_TAKEOVER_CHECKS_NUMBER,
    RULE_RESHARD_RAISES_EPOCHS,
    RULE_CANCEL_CHECKS_EPOCH,
    RULE_LATER_CHECKS_EPOCH,
    RULE_LATER_IS_READ_BACK,
    RULE_LATER_IS_LOADED,
    RULE_DIRECT_IS_READ_BACK,
    RULE_FAILURE_IS_LOOKED_AT_AGAIN,
    RULE_CHILDREN_ONLY_ONCE,
    RULE_MOVE_CHECKS_EPOCH,
    RULE_MOVE_LOCKS_RUNS,
    RULE_FLOW_FIRES_ARE_LOADED,
    RULE_COUNT
};

struct memory_job {
    bool exists;
    bool running;
    bool set_by_hand; /* the next time is not what a claim wrote */
    int64_t id;
    int64_t group;
    int64_t next_ms;
    int64_t last_ms;
    const char *type; /* texts live as long as the database */
    const char *conf;
    const char *misfire;
    const char *route;
    const char *handler;
    const char *param; /* NULL stays NULL */
    int retry_count;
    int most_retries;      /* that it had before somebody changed them */
    const char *time_zone; /* settings of ours: as in struct job_due */
    int64_t fixed_delay_s, valid_from_s, valid_until_s;
    int generation; /* counts what was done to it by hand: due times may come again after that */
    int edits;      /* likewise, also those after which they may not */
    bool fell_back; /* somebody wrote its next time as read before: only who owned its shard then knows what was */
    int64_t fell_back_epoch; /* planned since */
    int64_t pending;         /* claim that holds its row, or 0 */
    int64_t hold_s;          /* its fires wait so long for an executor; 0: they do not */
    int64_t retry_wait_s, retry_wait_max_s;
    bool resend_lost;
    const char *children; /* ids with commas between them; NULL: none */
};

struct memory_log {
    bool exists; /* inserted and committed, and not removed */
    bool cancelled;
    bool cleared;     /* somebody removed it */
    struct fire fire; /* as planned: its lists and owned members are not used */
    int generation;
    int64_t first_epoch; /* under which it was planned first: one that waits is planned anew */
    int edits;           /* of its job when it was written */
    int children_due;    /* of its job, when the run ended well */
    const char *address;
    int trigger_code;
    int first_code; /* that it had first: an end is final */
    int handle_code;
    int64_t ended_s;        /* handle_time; 0: NULL */
    char *message;          /* behind the mark; NULL as planned */
    const char *said;       /* handle_msg */
    bool was_good, was_bad; /* it has had such an end */
    int flow_life;          /* of a flow: `again` of its run when it was written */
    bool is_unknown;        /* ended as "delivery unknown" */
    bool forgotten;         /* by a failover; and its second had been handed over by then: */
    bool was_sent;
    bool held;   /* its fire waits for an executor: no planned row at present */
    bool direct; /* by that node: */
    char incarnation[INCARNATION_MAX];
    int retries_left;
    const char *param;
    const char *sharding; /* "i/n" or NULL */
    int alarm_status;
    int handled;                 /* how often a transaction dealt with its failure */
    int retries_then;            /* that were left when it did */
    int64_t made_us, changed_us; /* when it was written, and got its last code */
    bool was_held;               /* it has waited for an executor */
    bool said_good, said_bad;    /* what executors said that came of it */
    int64_t parent;              /* the row whose child it is; 0: none */
    int64_t retry_of;            /* the row that it repeats; 0: none */
    int64_t retry_id;            /* of its retry, where that did not wait */
    int good_ends;               /* how often its children were made */
    bool lost;                   /* ended so, and no success has come since */
    bool was_lost;               /* when its failure was dealt with */
    int64_t lost_s;              /* it ended as lost then, whatever came since; 0: it did not */
    int64_t gone_us;             /* its executor has forgotten it since then; 0: it has not */
    int arrivals;
    int64_t arrival_wall_ms; /* by the world's clock */
};

struct memory_later {
    bool exists;
    struct later_row row;
    enum { LATER_FREE, LATER_PASSED_BY, LATER_LOCKED, LATER_REFUSED } trouble; /* what a claim of it meets */
    int64_t retry_of;                                                          /* the row that it repeats; 0: none */
    int plans, holds, waits; /* how often its fire was planned, waited again, and was put off */
};

struct memory_flow {
    int64_t id;
    const char *name;
    bool started;
    int version;              /* the newest */
    int64_t next_s;           /* 0: none */
    const char *documents[4]; /* of the versions from 1 on */
};

#define MEMORY_FLOW_STEPS 8
#define MEMORY_FLOW_ITEMS 32

/* A run with all that is of it. */
struct memory_flow_run {
    bool exists;
    struct flow_moving row;
    int64_t created_ms; /* its columns: lists are not used */
    bool is_looked_at;  /* false: look_ms is NULL */
    const char *request_key, *who;
    bool has_step[MEMORY_FLOW_STEPS];
    struct flow_step_row steps[MEMORY_FLOW_STEPS];
    struct memory_flow_item {
        bool exists;
        struct flow_item_row row;
    } items[MEMORY_FLOW_ITEMS];
    struct memory_flow_fire {
        int64_t log_id; /* 0: this place is free */
        int step, item;
    } fires[2 * MEMORY_FLOW_ITEMS];
    struct memory_flow_request {
        int64_t id; /* likewise */
        int step;
        char action[17];
        const char *who, *remark;
    } requests[40];
    int again; /* requests by which steps may start again, that were seen to */
};

struct memory_past;  /* private */
struct memory_claim; /* private: one whose outcome nobody was told */
struct memory_move;  /* likewise */

struct memory_db {
    int64_t base_wall_us; /* what the server's clock said at the begin */
    struct memory_job *jobs;
    size_t job_count;
    struct memory_log *logs; /* the id is the place + 1 */
    size_t log_count, log_room;
    struct memory_later *later; /* the id is the place + 1 */
    size_t later_count;
    struct memory_flow *flows; /* the id is the place + 1, as of runs */
    size_t flow_count;
    struct memory_flow_run *flow_runs;
    size_t flow_run_count;
    int64_t last_request;
    int shards;
    struct memory_shard {
        int64_t epoch, cursor_epoch, cursor_s;
        char owner[128];
        int64_t pending; /* claim that holds its row, or 0 */
    } shard[STORE_SHARDS_MAX];
    struct memory_note {
        int shard;
        int64_t epoch, cursor_s, taken_ms;
    } * notes;
    size_t note_count;
    struct memory_node {
        char incarnation[40];
        bool exists, drain;
        int release_shard;
        int64_t beat_ms, started_ms;
    } nodes[64];
    struct reshard_wish wish;
    int64_t resharded_s[64]; /* the last seconds of the numbers before */
    size_t reshard_count;
    struct memory_claim *pending;
    struct memory_move *flow_moves; /* likewise, of flows */
    int64_t next_pending;
    struct memory_text {
        struct memory_text *next;
        char text[];
    } * texts[MEMORY_TEXTS]; /* by their hashes */

    /* What the test sets. */
    bool follows;             /* somebody deals with failures */
    bool away;                /* for everybody */
    unsigned fault_permille;  /* of writes */
    const char *address_list; /* of all groups */
    int64_t unfindable_job;   /* whose runs are never found in time */
    int64_t latency_us;       /* up to */
    int64_t look_us;          /* so much longer for a look for planned rows, behind their reading */
    bool guarded;             /* a guard against Java admins lives */
    bool calm;                /* no commit stays open; moves of cursors that meet a conflict are made each by itself */
    int64_t guard_serial;     /* another one since */
    enum memory_rule broken;
    /* Told of each job that a claim advances, in the moment of its commit, with the fires that it planned. */
    void (*claimed)(void *arg, struct store *st, const struct memory_job *before, int64_t new_next_ms, bool stop,
                    const int64_t *log_ids, size_t count, const struct skipped *skipped);
    void (*lost)(void *arg, const struct memory_log *row); /* told of each run that is about to end as lost */
    /* Told of each run that is about to be moved: by whom, and the epoch of its shard that he showed. */
    void (*moved)(void *arg, struct store *st, const struct memory_flow_run *before,
                  const struct memory_flow_run *after, int64_t epoch, int n);
    int64_t missed_ms; /* when a node had missed callbacks; 0: never */
    /* A message between a node and the server is about to go on its way. */
    void (*moves)(void *arg, struct store *st);
    void *arg;
    struct memory_past *past; /* what memory_db_remember saw */
    int era;                  /* of sessions: those of the server before are gone */
    size_t written_again;     /* rows by store_write_sent */
    size_t steps_begun_again; /* likewise, tries of flows */
    int64_t later_troubles;   /* claims that a later row in trouble let fail */
    int64_t claims, faults, unknown_ends, lost_runs;
};

struct store {
    struct memory_db *db;
    const struct clock *clock; /* of the node */
    bool cut;                  /* this node does not reach the database */
    int64_t moved_us;          /* when the server moved a cursor for it last */
};

/* A claim that waits for nobody's rows: in memory nobody else holds any. */
enum err store_claim_free_jobs(struct store_session *s, int shard, int64_t epoch, struct claim_job *jobs, size_t count,
                               struct claim_guards *guards, struct errctx *ec);

struct memory_db *memory_db_create(int shards, int64_t base_wall_ms);
void memory_db_destroy(struct memory_db *db);
/* The replica has come so far. */
void memory_db_remember(struct memory_db *db);
/* The server goes, and the replica that has come so far takes its place: as hosts_raise leaves it. */
void memory_db_fail_over(struct memory_db *db);
int64_t memory_db_wall_ms(const struct memory_db *db);
const char *memory_db_keep(struct memory_db *db, const char *text); /* NULL stays NULL */
/* The id. For the test: type "CRON" or "FIX_RATE"; the job is running, and due at next_ms. */
struct memory_job *memory_db_add_job(struct memory_db *db, const char *type, const char *conf, int64_t next_ms);
/* Waits until no claim holds it. */
struct memory_job *memory_db_find_job(struct memory_db *db, int64_t id);
struct memory_log *memory_db_find_log(struct memory_db *db, int64_t id);                  /* NULL: never given */
int64_t memory_db_add_later(struct memory_db *db, const struct later_row *row);           /* the id */
struct memory_later *memory_db_find_later(struct memory_db *db, int64_t id);              /* NULL: it is gone */
int64_t memory_db_add_flow(struct memory_db *db, const char *name, const char *document); /* the id; it is stopped */
/* NULL: never given. Valid until the next call. */
struct memory_flow_run *memory_db_find_flow_run(struct memory_db *db, int64_t id);

#endif
