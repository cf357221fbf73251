/* SPDX-License-Identifier: MIT */
/*
 * engine: everything that coord decides with ZooKeeper: which shards to contend for, to take, to give back.
 *
 * Every node that can work queues at the lock of every shard. Who comes to the head of a queue while it already holds
 * its share lets the others pass once (it gives its ticket back and queues again at the tail) and takes the shard when
 * it comes to the head again: so each free shard goes to a node below its share if there is one, one waiter is woken at
 * a time, and no shard stays without owner because of a node that is alive and does nothing. What is above the share is
 * given back, and goes by the same way to whoever is below. A shard that was held for long enough goes round too: its
 * holder keeps away from the queue for a moment, so that another one takes it and gives back its own oldest in
 * exchange.
 *
 * Threads     One at a time: coord's. Lines are logged here.
 * Invariants  Pure but for the log: no clock, no I/O. A grant is made only while our ticket is the lowest. While
 *             ZooKeeper is away, and after a session has ended, a grant stays until another ticket is seen before ours.
 * Ownership   engine_create copies its options.
 * Time        Monotonic, passed in.
 */
#ifndef COORD_ENGINE_H
#define COORD_ENGINE_H

#include "coord/lock.h"
#include "coord/member.h"
#include "shardwheel/coord.h"

struct engine;

struct engine_opts {
    int shards;
    const char *node_name;
    const char *base_path;
    const char *member_data; /* what our znode among the nodes says */
    int64_t max_hold_ms;     /* 0: for ever */
    uint64_t jitter_seed;    /* for the spread of max_hold */
    zk_ask_fn ask;
    void *arg;
};

MUST_CHECK enum err engine_create(const struct engine_opts *opts, struct engine **out, struct errctx *ec);
void engine_destroy(struct engine *e); /* NULL is fine */

/* A new session is being opened: whatever belonged to the one before is gone. */
void engine_begin_session(struct engine *e);
/* session_id counts while connected only. */
void engine_set_connected(struct engine *e, bool connected, int64_t session_id);
void engine_set_able(struct engine *e, bool able);
void engine_set_drained(struct engine *e, bool drained);
void engine_drain(struct engine *e);
/* True when it was the present serial of a granted shard. */
bool engine_release(struct engine *e, int shard, uint64_t serial, int64_t now_mono_ms);
/* A shard that is ours counts as held for long enough. */
void engine_rotate(struct engine *e, int shard);
void engine_on_answer(struct engine *e, const struct zk_answer *answer, int64_t now_mono_ms);
void engine_on_change(struct engine *e, const char *path);
/* Decides and asks. To be called after anything above, and at least every ENGINE_TICK_MS. */
void engine_turn(struct engine *e, int64_t now_mono_ms);
#define ENGINE_TICK_MS 250

struct coord_grant engine_get_grant(const struct engine *e, int shard);
int engine_count_held(const struct engine *e);
bool engine_is_last(const struct engine *e);
int engine_count_nodes(const struct engine *e);

#endif
