/* SPDX-License-Identifier: MIT */
/*
 * takeover: how a shard becomes this node's: a new epoch in the database, what is planned beyond the cursor in the
 * wheel, then the ring may move the cursor.
 *
 * Threads     The schedule thread of the shard.
 * States      None: shard.c moves them. shard.loading is true between the two halves.
 */
#ifndef SCHEDULE_SHARD_TAKEOVER_H
#define SCHEDULE_SHARD_TAKEOVER_H

#include "shardwheel/base.h"

struct shard;

/* Under that grant. ERR_BUSY with shard.loading: it goes on, the loader wakes us. */
MUST_CHECK enum err shard_take_over(struct shard *shard, uint64_t serial, struct errctx *ec);
/* Another database server is in use than the one that the shard was taken over on, or is being. */
bool shard_is_elsewhere(const struct shard *shard);

#endif
