/* SPDX-License-Identifier: MIT */
/*
 * route: which address of a group a fire goes to.
 *
 * Threads     The state of the routes (whose turn it is, rings) belongs to one thread: that of a shard, which routes
 *             its fires when it plans them, or the ring thread, which by dispatch_submit routes again what cannot go
 *             where it was planned; that for direct fires is locked by dispatch.
 * Invariants  A pick makes no call to anybody: where executors are to be asked first, dispatch does it (asking.h).
 *             Equal lists give equal consistent-hash picks on every node.
 * Turns       Whose turn it is, is known to each state by itself: a job takes its turns evenly over the fires that its
 *             shard plans, and again over its direct ones (retries, triggers) of this node. A shard that moves begins
 *             anew, and a claim that has to be made again takes another turn. Nothing of it is in the database, as with
 *             the original. Bounds: src/route/turns.h.
 * Facts       The names of the strategies and the hash ring are those of the original: docs/wire.md.
 */
#ifndef SHARDWHEEL_ROUTE_H
#define SHARDWHEEL_ROUTE_H

#include "shardwheel/job.h"
#include "shardwheel/registry.h"

struct routes;

/* What an executor must say before it is sent the fire. The addresses are asked in the order of the list. */
enum route_ask {
    ROUTE_ASK_NOBODY,
    ROUTE_ASK_ALIVE, /* FAILOVER: that it lives */
    ROUTE_ASK_IDLE,  /* BUSYOVER: that the job neither runs nor waits there */
};

struct route_choice {
    const char *address; /* of the group or the fire; NULL: nobody to send to, `reason` says why, or `ask` */
    enum route_ask ask;  /* then address is NULL, and the group has addresses */
    char reason[240];
};

/* Equal seeds give equal counters of ROUND; 0: some seed. */
MUST_CHECK enum err routes_create(uint64_t seed, struct routes **out, struct errctx *ec);
void routes_destroy(struct routes *routes); /* NULL is fine */
/* Begins a round of picks. Within a round the list of a group does not change; between rounds it is compared anew. The
 * state is forgotten after 24 h. */
void routes_begin(struct routes *routes, int64_t now_mono_ms);
/* `route` is that of the job, `group` is NULL when the fire's group is gone. */
void routes_pick(struct routes *routes, const struct fire *fire, const char *route, const struct registry_group *group,
                 struct route_choice *out);

/* ---- pure parts of the routes, for tests and tools --------------------------------------------------------------- */

/* Index of the address that the consistent-hash route picks; count > 0. */
size_t route_pick_consistent_hash(int64_t job_id, const char *const *addresses, size_t count);
bool route_is_broadcast(const char *strategy);
bool route_is_known(const char *strategy);
size_t route_count(void); /* of the strategies that are known, and their names in any order */
const char *route_name(size_t i);

/* ---- for dispatch ------------------------------------------------------------------------------------------------ */

uint64_t route_hash_address(const char *address); /* both halves of the number may be used by themselves */
/* True when the fire, which has its job, goes to the address that it was planned for: its row was written ahead, the
 * group lists the address (but for a broadcast, which has it from its plan) and the route is what it was. Costs no more
 * in a long list. Without memory to look it up: false. */
bool routes_can_keep(struct routes *routes, const struct fire *fire, const struct registry_group *group,
                     uint64_t *address_hash);

#endif
