/* SPDX-License-Identifier: MIT */
#include "follow/horizons.h"

#include <string.h>

bool horizons_take(struct horizons *h, int64_t now_mono_ms, int64_t age_ms, int64_t *id)
{
    if (h->count == 0 || now_mono_ms - h->list[0].mono_ms < age_ms)
        return false;
    *id = h->list[0].id;
    h->count--;
    memmove(h->list, h->list + 1, h->count * sizeof *h->list);
    return true;
}

void horizons_note(struct horizons *h, int64_t now_mono_ms, int64_t gap_ms, int64_t id)
{
    if (h->count < HORIZONS_MAX && (h->count == 0 || now_mono_ms - h->list[h->count - 1].mono_ms >= gap_ms))
        h->list[h->count++] = (struct horizon){now_mono_ms, id};
}
