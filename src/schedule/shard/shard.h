/* SPDX-License-Identifier: MIT */
/*
 * shard: the schedule thread of one shard: takeover, one claim cycle a second, handover.
 *
 * Threads     One per shard. shard_wake may be called by any thread; shard_get_state too.
 * Invariants  States move by the table in shard.c only. A shard is planned under the epoch that its takeover wrote;
 *             whoever finds a newer one in the database stops (fenced) and, while the lock is still granted, takes over
 *             again.
 */
#ifndef SCHEDULE_SHARD_SHARD_H
#define SCHEDULE_SHARD_SHARD_H

#include "schedule/look/loader.h"
#include "schedule/look/scanner.h"
#include "schedule/plan/planner.h"
#include "schedule/ring/ring.h"
#include "shardwheel/counters.h"
#include "shardwheel/schedule.h"

#define SHARD_CYCLE_MS 1000
#define SHARD_RETAKE_MS 1000 /* between two takeovers by fencing, so that two nodes do not chase each other */

struct shard;

/* The database server in use. */
struct primary_use {
    _Atomic int64_t generation; /* [atomic] 0: never told. release in schedule_on_primary, acquire in takeover.c */
};

struct shard_deps {
    struct schedule_opts opts;
    struct ring *ring;
    struct scanner *scanner;
    struct loader *loader;
    int64_t *
        /* of each shard: the highest that this node ever had; each written by its shard's thread alone */
        highest_epochs;
    const struct primary_use *primary; /* another one is taken over from anew */
    struct coord *coord;
    const struct clock *clock;
    struct counters *counters;
};

/* Copies deps. */
MUST_CHECK enum err shard_create(int number, const struct shard_deps *deps, struct shard **out, struct errctx *ec);
MUST_CHECK enum err shard_start(struct shard *shard, struct errctx *ec);
/* One look at the grant and the state; returns how many milliseconds to wait for the next one. For the shard's thread,
 * and for tests on a clock of their own, which do not start it. */
int64_t shard_turn(struct shard *shard);
void shard_wake(struct shard *shard);
void shard_load_status(struct shard *shard, struct shard_status *out);
void shard_stop(struct shard *shard);
void shard_join(struct shard *shard);
void shard_destroy(struct shard *shard);

#endif
