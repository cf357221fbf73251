/* SPDX-License-Identifier: MIT */
#include "schedule/ring/fence.h"

enum fence fence_before_move(int64_t fire_epoch, const struct ring_shard *shard)
{
    if (fire_epoch != shard->epoch)
        return fire_epoch > shard->epoch ? FENCE_KEEP : FENCE_DROP;
    return shard->active && !shard->fenced ? FENCE_KEEP : FENCE_DROP;
}

enum fence fence_after_move(int64_t fire_epoch, int64_t second_s, const struct ring_shard *shard,
                            const struct cursor_move *move)
{
    if (move && fire_epoch == move->epoch)
        return move->moved ? FENCE_SEND : FENCE_DROP;
    if (move && fire_epoch < move->epoch)
        return FENCE_DROP;
    /* Newer than what was asked, or nothing was asked: the shard was added after we asked, or must go no further. */
    if (fire_epoch == shard->epoch)
        return shard->active && !shard->fenced && second_s <= shard->last_s ? FENCE_KEEP : FENCE_DROP;
    return fire_epoch > shard->epoch ? FENCE_KEEP : FENCE_DROP;
}
