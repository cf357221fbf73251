/* SPDX-License-Identifier: MIT */
/*
 * lost_ask: asks executors whether the jobs of open runs are idle there: each run once every LOST_IDLE_MS.
 *
 * Threads     One owner, who waits for the answers, some seconds at most.
 * Limits      2,000 runs at a time; the one that was asked about longest ago comes first.
 */
#ifndef FOLLOW_LOST_ASK_H
#define FOLLOW_LOST_ASK_H

#include "follow/idle.h"
#include "follow/lost_runs.h"
#include "shardwheel/executor/access.h"
#include "shardwheel/registry.h"

struct lost_asking {
    const struct clock *clock;
    struct registry *registry;
    struct idle_asker *asker;
    struct access_box *access;
};

/* Asks about those that are due, and notes in them what was answered. */
MUST_CHECK enum err lost_ask(const struct lost_asking *with, struct lost_run *runs, size_t count, struct errctx *ec);

#endif
