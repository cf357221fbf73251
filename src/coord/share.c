/* SPDX-License-Identifier: MIT */
#include "coord/share.h"

#include <stdlib.h>

#define PATIENCE_MIN_MS 1000
#define PATIENCE_MAX_MS 300000

int share_get_size(int shards, int live)
{
    return live <= 1 ? shards : (shards - 1) / live + 1;
}

COMPARE_BY_TWO(compare_items, struct share_item, taken_mono_ms, shard)

void share_choose(struct share_item *items, size_t count, size_t excess)
{
    if (excess > count)
        excess = count;
    if (count)
        qsort(items, count, sizeof *items, compare_items);
    for (size_t i = 0; i < count; i++)
        items[i].chosen = false;
    for (size_t i = 0; i < excess; i++)
        items[i * count / excess].chosen = true;
}

int64_t share_get_patience_ms(int streak)
{
    int64_t ms = PATIENCE_MIN_MS;

    while (streak-- > 0 && ms < PATIENCE_MAX_MS)
        ms *= 2;
    return ms < PATIENCE_MAX_MS ? ms : PATIENCE_MAX_MS;
}

int64_t share_get_hold_ms(int64_t max_hold_ms, uint64_t random)
{
    uint64_t span = (uint64_t)max_hold_ms / 5 + 1; /* from 90 % to 110 % */

    return max_hold_ms - max_hold_ms / 10 + (int64_t)(random % span);
}
