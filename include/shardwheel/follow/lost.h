/* SPDX-License-Identifier: MIT */
/*
 * lost: ends runs that nobody will report any more. Their rows end as failed, with the reason, and what follows is the
 * failure monitor's: retries, alarms. A success that comes later still overwrites the reason.
 *
 * Rules       A run is lost
 *             - 10 minutes after its trigger, when its address is not registered: the original's rule;
 *             - when its address was registered when it began and has not been for LOST_AWAY_MS;
 *             - when its executor has said by idleBeat, twice and LOST_IDLE_MS apart, that the job is idle there.
 *             The last two only when callbacks were accepted on all nodes for LOST_QUIET_MS: an executor is idle, and
 *             may be gone, while its success waits to be sent again.
 * Threads     One of its own. It watches the registry on every node; runs are looked for, and ended, by the owner of
 *             shard 0 alone, under its epoch.
 * Limits      100,000 open runs are watched; 2,000 questions in a turn, of which there is one every 10 s.
 */
#ifndef SHARDWHEEL_FOLLOW_LOST_H
#define SHARDWHEEL_FOLLOW_LOST_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"
#include "shardwheel/registry.h"
#include "shardwheel/store/conn.h"

struct access_box;
struct lost;
struct executor_networks;
struct resolver;

struct lost_opts {
    struct store *store;
    struct registry *registry;
    struct resolver *resolver;
    const struct executor_networks *networks; /* which addresses may be called; NULL: the built-in rules */
    struct access_box *access;                /* outlives it */
    bool ask;                                 /* executors are asked; else the third rule is off */
    struct keep_offers *keep;                 /* to which lost runs are offered; NULL: to none */
    int64_t (*get_epoch)(void *arg);          /* of shard 0 while this node owns it, else 0; any thread */
    void *arg;
};

MUST_CHECK enum err lost_create(const struct lost_opts *opts, const struct clock *clock, struct counters *counters,
                                struct lost **out, struct errctx *ec);
MUST_CHECK enum err lost_start(struct lost *l, struct errctx *ec);
int64_t lost_turn(struct lost *l); /* for the thread, and for tests, which do not start it: see worker_start */
void lost_stop(struct lost *l);
void lost_join(struct lost *l);    /* waits for questions under way, some seconds at most */
void lost_destroy(struct lost *l); /* NULL is fine */

#endif
