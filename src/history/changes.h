/* SPDX-License-Identifier: MIT */
/*
 * changes: what is not as it was on this node since the last look, as events. Values in, events out.
 *
 * Threads     One owner.
 */
#ifndef HISTORY_CHANGES_H
#define HISTORY_CHANGES_H

#include "history/events.h"
#include "shardwheel/schedule.h"
#include "shardwheel/store/cluster.h"

#define CHANGES_AWAY_MS 2000 /* what is away for less is no event: one statement that failed, one ping that came late */

/* What a look finds. */
struct changes_facts {
    int64_t now_ms;
    bool database_up;
    bool zookeeper_up; /* also where there is none */
    int64_t guard_losses;
    int64_t shard_losses;
    /* The shards of this node, where they may differ from the last time; else count is 0. */
    const struct shard_status *shards;
    size_t count;
};

struct changes {
    const char *node;                 /* [const] */
    bool begun;                       /* [owner], as all below */
    int64_t database_since_ms;        /* [owner] away since then; 0: it is there */
    int64_t zookeeper_since_ms;       /* [owner] likewise */
    int64_t back_ms;                  /* [owner] when the database came back last */
    int64_t guard_losses;             /* [owner] */
    int64_t shard_losses;             /* [owner] */
    int64_t epochs[STORE_SHARDS_MAX]; /* [owner] of shards that are owned; else 0 */
    size_t count;                     /* [owner] 0: not seen yet */
};

void changes_init(struct changes *w, const char *node);
void changes_look(struct changes *w, const struct changes_facts *facts, struct events *out);

#endif
