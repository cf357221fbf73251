/* SPDX-License-Identifier: MIT */
/*
 * history: what a node writes of what happens: each minute what it has counted, and events. docs/operations.md says
 * what is kept how long.
 *
 * Events      A node tells of itself, and of database and ZooKeeper as it sees them. The owner of shard 0 tells of
 *             nodes that died and of jobs that were changed by others (a Java admin, SQL): it looks for them once a
 *             minute, in small pieces. What was changed through shardwheel stands in the audit.
 * Limits      While the database is away events and minutes wait, so many as fit; those that come then are counted and
 *             left out. What was counted in the minute in which a node dies is lost, and so are events of its last
 *             second. After a commit of unknown outcome an event may stand twice.
 * Threads     One of its own, which looks once a second at numbers that others count anyway. Nobody waits for it.
 * Time        By the clock of the database, as the node knows it.
 */
#ifndef SHARDWHEEL_HISTORY_H
#define SHARDWHEEL_HISTORY_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"
#include "shardwheel/schedule.h"
#include "shardwheel/store/history.h"

#define EVENT_NODE_JOINED "node-joined"
#define EVENT_NODE_LEFT "node-left"
#define EVENT_NODE_DIED "node-died" /* at its last sign of life; `node` is the dead one */
#define EVENT_SHARD_TAKEN "shard-taken"
#define EVENT_SHARD_HANDED_OVER "shard-handed-over"
#define EVENT_SHARD_LOST "shard-lost"       /* to another owner, not handed over */
#define EVENT_DATABASE_AWAY "database-away" /* has a length, as the next */
#define EVENT_ZOOKEEPER_AWAY "zookeeper-away"
#define EVENT_GUARD_LOST "guard-lost" /* the lock that holds Java admins off */
#define EVENT_RESHARDED "resharded"
#define EVENT_JOB_CHANGED "job-changed" /* by others; data_json says how its schedule is from then on */
#define EVENT_LEFT_OUT "left-out"       /* events that did not fit */

struct history;

struct history_opts {
    const char *node_name;
    const char *incarnation;
    const char *version;
    struct store *store;
    /* Fills in the shards of this node: at most STORE_SHARDS_MAX. How many they are. Any thread. */
    size_t (*load_shards)(void *arg, struct shard_status *out);
    int64_t (*get_epoch)(void *arg); /* of shard 0 while this node owns it, else 0; any thread */
    void *arg;
};

/* Copies the options; what they point to outlives it. */
MUST_CHECK enum err history_create(const struct history_opts *opts, const struct clock *clock,
                                   struct counters *counters, struct history **out, struct errctx *ec);
MUST_CHECK enum err history_start(struct history *h, struct errctx *ec);
/* One look, and what is due: in how many ms the next one is. For the thread, and for tests, which do not start it. */
int64_t history_turn(struct history *h);
void history_stop(struct history *h); /* its last words are written if the database answered last time */
void history_join(struct history *h);
void history_destroy(struct history *h); /* NULL is fine */

#endif
