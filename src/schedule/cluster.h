/* SPDX-License-Identifier: MIT */
/*
 * cluster: the thread that shows this node to the others in shardwheel_node, and takes from the database what is asked
 * of it: to own nothing (drain), to let a shard go, to go over to another number of shards.
 *
 * Threads     One of its own. The functions of cluster_opts are called on it and must not block.
 *             cluster_get_wanted_shards, cluster_suspend and cluster_resume may be called by any other thread.
 * Invariants  While a wish for another number of shards stands, `hold` is told its second before the wish is worked on;
 *             it is lifted once the wish is gone or carried out. What cannot be read from the database changes nothing.
 * Time        All times in the tables are of the database's clock.
 */
#ifndef SCHEDULE_CLUSTER_H
#define SCHEDULE_CLUSTER_H

#include "shardwheel/counters.h"
#include "shardwheel/store/conn.h"

#define CLUSTER_BEAT_MS 1000
#define CLUSTER_CHANGE_MS 250 /* the same while the number of shards changes */
#define CLUSTER_FORGET_MS 600000
#define CLUSTER_CLOCK_MS 1000 /* a clock that differs by more is worth a line */

struct cluster;

struct cluster_opts {
    int shards;              /* that the node works with */
    const char *incarnation; /* borrowed, as all texts here */
    const char *node_name;
    const char *url;
    const char *version;
    struct store *store;
    int (*count_owned)(void *arg);
    /* The four below are told what holds at each turn, news or not. */
    void (*drained)(void *arg, bool drained);
    void (*hold)(void *arg, int64_t last_s); /* INT64_MAX: none */
    void (*release)(void *arg, int shard);   /* ... but this one, which is told once for each time it is asked */
    void *arg;
};

MUST_CHECK enum err cluster_create(const struct cluster_opts *opts, const struct clock *clock,
                                   struct counters *counters, struct cluster **out, struct errctx *ec);
MUST_CHECK enum err cluster_start(struct cluster *c, struct errctx *ec);
/* What the thread does each time: returns how many milliseconds to wait for the next time. For tests too. */
int64_t cluster_turn(struct cluster *c);
/* The number of shards that the cluster works with when it is not that of this node; 0: no change. */
int cluster_get_wanted_shards(struct cluster *c);
/* From the return on nothing of cluster_opts is called, until resumed; beats go on. To be called before what the
 * functions work on is taken apart. May be called twice. */
void cluster_suspend(struct cluster *c);
void cluster_resume(struct cluster *c, int shards); /* the number that the node works with from now on */
void cluster_stop(struct cluster *c);
void cluster_join(struct cluster *c); /* the thread removes this node's row, where the database can be reached */
void cluster_destroy(struct cluster *c);

#endif
