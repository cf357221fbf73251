/* SPDX-License-Identifier: MIT */
/*
 * fence: which entries of the wheel may be sent, are to be dropped, or must wait. Pure.
 *
 * The rule: an entry carries the epoch under which it was planned or loaded. It is sent only when the cursor of its
 * shard was moved to its second under that very epoch. Entries of an older epoch, or of one whose move was refused, are
 * dropped: their rows belong to the present owner. Entries of a newer epoch belong to a takeover of ours that is under
 * way: they wait.
 */
#ifndef SCHEDULE_RING_FENCE_H
#define SCHEDULE_RING_FENCE_H

#include "shardwheel/store/cluster.h"

/* How a shard stands with the ring. */
struct ring_shard {
    bool active;
    bool fenced; /* the cursor could not be moved under our epoch: another owner has taken over */
    int64_t epoch;
    int64_t cursor_s;     /* last second moved to; that of the takeover at first */
    int64_t last_s;       /* the ring goes no further; INT64_MAX without limit */
    int64_t jump_mono_ms; /* when the cursor last passed more than RING_JUMP_S at once, which left a note; 0: never */
    int64_t jump_from_s;  /* where it stood before that */
    int64_t in_wheel;
    int64_t unsent;
};

enum fence { FENCE_DROP, FENCE_KEEP, FENCE_SEND };

/* Before the cursors move: FENCE_KEEP or FENCE_DROP. */
enum fence fence_before_move(int64_t fire_epoch, const struct ring_shard *shard);
/* After: `move` is what was asked for this shard at second_s and what came of it, NULL when nothing was asked; `shard`
 * is the state by now, which may be that of a later takeover. */
enum fence fence_after_move(int64_t fire_epoch, int64_t second_s, const struct ring_shard *shard,
                            const struct cursor_move *move);

#endif
