/* SPDX-License-Identifier: MIT */
/*
 * share: how many shards a node may hold, and which it gives back. Pure functions.
 */
#ifndef COORD_SHARE_H
#define COORD_SHARE_H

#include "shardwheel/base.h"

struct share_item {
    int shard;
    int64_t taken_mono_ms;
    bool chosen; /* out */
};

/* ceil(shards / live nodes): the shares of all live nodes together are never less than all shards. */
int share_get_size(int shards, int live);
/* Marks `excess` of the shards that a node holds, and sorts them: the one held longest first. The chosen are spread
 * evenly over that order, beginning with the one held longest, so that the shards of one moment are not all moved
 * together. */
void share_choose(struct share_item *items, size_t count, size_t excess);
/* How long a node keeps a shard above its share that everybody else let pass, when it was given back `streak` times in
 * vain. */
int64_t share_get_patience_ms(int streak);
/* The maximal hold with up to 10 % more or less, so that the shards of one moment do not end together. `random` is
 * any. */
int64_t share_get_hold_ms(int64_t max_hold_ms, uint64_t random);

#endif
