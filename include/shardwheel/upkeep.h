/* SPDX-License-Identifier: MIT */
/*
 * upkeep: duties that one node does for the whole cluster: the log report, the cleaning of old log rows, of old runs of
 * flows, of kept logs, of audit and of history, of sessions that have expired, and what jobs and users who are gone
 * have left. That node is the owner of shard 0.
 *
 * Threads     One thread of its own, which works in small steps.
 * Invariants  Each step compares shard 0's epoch first, by a plain read, and is harmless when two nodes do it. No
 *             statement of it holds locks for long; after each one it pauses for longer than that took.
 * Time        Days are those of the zone of DATETIME columns.
 */
#ifndef SHARDWHEEL_UPKEEP_H
#define SHARDWHEEL_UPKEEP_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"
#include "shardwheel/store/conn.h"

struct upkeep;

struct upkeep_opts {
    struct store *store;
    int64_t retention_days;          /* of log rows and flow runs; below 3: they are kept, but for jobs and flows with
                                      * days of their own */
    int64_t audit_days;              /* rows of audit are kept */
    int64_t kept_days, kept_total;   /* logs of runs are kept so long, and so many bytes of them; 0: without a bound */
    int64_t (*get_epoch)(void *arg); /* of shard 0 while this node owns it, else 0; any thread */
    void *arg;
};

MUST_CHECK enum err upkeep_create(const struct upkeep_opts *opts, const struct clock *clock, struct counters *counters,
                                  struct upkeep **out, struct errctx *ec);
MUST_CHECK enum err upkeep_start(struct upkeep *u, struct errctx *ec);
/* One step: in how many ms the next one is due. For the thread, and for tests, which do not start it. */
int64_t upkeep_turn(struct upkeep *u);
void upkeep_stop(struct upkeep *u); /* after the step under way */
void upkeep_join(struct upkeep *u);
void upkeep_destroy(struct upkeep *u); /* NULL is fine */

/* Of statements that remove rows: how many the one after one that took so long should have, CLEAN_BATCH_MAX at most.
 * Pure. */
#define UPKEEP_BATCH_MIN 10
#define UPKEEP_BATCH_START 100
size_t upkeep_next_batch(size_t batch, int64_t took_ms);

#endif
