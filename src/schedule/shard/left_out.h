/* SPDX-License-Identifier: MIT */
/*
 * left_out: jobs that were due and whose rows somebody else held, so that a claim passed them by. A list of later rows
 * that are put aside is one, too; there only the time of the next try counts.
 *
 * A window counts as planned for the others. For these, the last window that was planned is the one before they were
 * left out: what they missed is caught up when their rows are free.
 *
 * Threads     The schedule thread of one shard.
 * Memory      24 bytes each, for LEFT_OUT_MAX at most, rounded up to a power of two.
 */
#ifndef SHARDWHEEL_SCHEDULE_SHARD_LEFT_OUT_H
#define SHARDWHEEL_SCHEDULE_SHARD_LEFT_OUT_H

#include "shardwheel/base.h"

#define LEFT_OUT_MAX 10000

struct left_out_job {
    int64_t id;
    int64_t planned_until_ms; /* the end of the last window that was planned for it */
    int64_t again_mono_ms;    /* not tried before */
};

struct left_out {
    struct left_out_job *jobs; /* owned */
    size_t count;
    bool full; /* there were more than are kept */
};

/* Behind the others; the ids need no order until left_out_sort. What finds no room makes it `full`. */
void left_out_add(struct left_out *list, struct left_out_job job);
void left_out_sort(struct left_out *list);
const struct left_out_job *left_out_find(const struct left_out *list,
                                         int64_t id); /* of a sorted list; NULL: not in it */
void left_out_join(struct left_out *list,
                   const struct left_out *more); /* both sorted; jobs of both stay as they are in `list` */
void left_out_fini(struct left_out *list);

#endif
