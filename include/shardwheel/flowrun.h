/* SPDX-License-Identifier: MIT */
/*
 * flowrun: moves flow runs: starts flows that are due, starts steps, takes in how they end, and does what people ask of
 * a run. The rules are in docs/flows.md and docs/protocol.md ("Flows").
 *
 * Threads     One of its own, `flows`; and one, `flow-kills`, that asks executors to stop the runs of flow runs that
 *             were cancelled.
 * Invariants  A run belongs to shard id % N, and is moved by the owner of that shard's epoch, in one transaction under
 *             the lock of its row. What is to be sent stands in xxl_job_log before, and is sent at most once: steps are
 *             direct fires.
 * Bounds      Memory holds 32 bytes for each fire whose end is waited for, and FLOWRUN_DOCUMENTS_MAX documents
 *             besides those of the move under way.
 */
#ifndef SHARDWHEEL_FLOWRUN_H
#define SHARDWHEEL_FLOWRUN_H

#include "shardwheel/counters.h"
#include "shardwheel/job.h"
#include "shardwheel/store/conn.h"

#define FLOWRUN_DOCUMENTS_MAX 200

struct flowrun;
struct executor_calls;
struct access_box;
struct zone;

struct flowrun_opts {
    const char *incarnation; /* of this run of this node; outlives the object */
    struct store *store;
    const struct zone *zone;      /* of the cluster's cron expressions */
    int64_t max_year;             /* see schedule_find_next */
    struct executor_calls *calls; /* to stop runs; NULL: nobody is asked */
    struct access_box *access;    /* of such a call; outlives the object */
    struct keep_offers *keep;     /* to which stopped runs are offered; NULL: to none */
    struct watch *watch;          /* of its threads; NULL: none */
    /* The epochs of all N shards, 0 where this node does not own them; `out` has room for STORE_SHARDS_MAX. Returns N.
     * Any thread. */
    int (*get_epochs)(void *arg, int64_t *out);
    void (*submit)(void *arg, struct fire *list); /* as dispatch_submit_direct; takes the fires */
    /* The database may have forgotten what was submitted, and it was not compared yet: nothing moves meanwhile. NULL:
     * never. Any thread. */
    bool (*is_comparing)(void *arg);
    void *arg;
};

MUST_CHECK enum err flowrun_create(const struct flowrun_opts *opts, const struct clock *clock,
                                   struct counters *counters, struct flowrun **out, struct errctx *ec);
MUST_CHECK enum err flowrun_start(struct flowrun *f, struct errctx *ec);
int64_t flowrun_turn(struct flowrun *f); /* for the thread, and for tests, which do not start it: see worker_start */
void flowrun_stop(struct flowrun *f);
void flowrun_join(struct flowrun *f);
void flowrun_destroy(struct flowrun *f); /* NULL is fine */

#endif
