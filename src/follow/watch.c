/* SPDX-License-Identifier: MIT */
#include "follow/watch.h"

#include <stdlib.h>
#include <string.h>

void watch_init(struct watch *w, size_t max)
{
    *w = (struct watch){.max = max, .turn_after = INT64_MIN};
}

void watch_fini(struct watch *w)
{
    free(w->items);
    free(w->turn);
    free(w->found);
    *w = (struct watch){0};
}

/* The place of the first item above the id. */
static size_t find_above(const struct watch *w, int64_t id)
{
    return id == INT64_MAX ? w->count : list_find_place(w->items, w->count, sizeof *w->items, id + 1);
}

enum err watch_begin(struct watch *w, int64_t front_id, size_t turn_max, struct errctx *ec)
{
    size_t end = find_above(w, front_id);
    size_t at = find_above(w, w->turn_after);
    size_t n = end < turn_max ? end : turn_max;

    watch_abandon(w);
    w->turn = calloc(n + 1, sizeof *w->turn);
    if (!w->turn)
        return err_set(ec, ERR_NOMEM, "out of memory for %zu watched rows", n);
    w->front_id = front_id;
    if (at >= end || end <= turn_max)
        at = 0;
    /* A turn does not wrap within itself: its ids stay ascending, and the next one begins at the lowest. */
    while (w->turn_count < n && at < end)
        w->turn[w->turn_count++] = w->items[at++].id;
    return ERR_OK;
}

enum err watch_note(struct watch *w, int64_t id, struct errctx *ec)
{
    if (!list_grow(&w->found, w->found_count, sizeof *w->found))
        return err_set(ec, ERR_NOMEM, "out of memory for %zu watched rows", w->found_count);
    w->found[w->found_count++] = id;
    return ERR_OK;
}

static bool was_looked_at(const struct watch *w, int64_t id)
{
    return id > w->front_id || (w->turn_count > 0 && id >= w->turn[0] && id <= w->turn[w->turn_count - 1]);
}

enum err watch_end(struct watch *w, int64_t now_ms, size_t *dropped, struct errctx *ec)
{
    struct watched *merged = calloc(w->count + w->found_count + 1, sizeof *merged);
    size_t n = 0, i = 0, k = 0;

    if (!merged)
        return err_set(ec, ERR_NOMEM, "out of memory for %zu watched rows", w->count + w->found_count);
    if (w->found_count > 0)
        qsort(w->found, w->found_count, sizeof *w->found, compare_int64);
    while (i < w->count || k < w->found_count) {
        int64_t old = i < w->count ? w->items[i].id : INT64_MAX;
        int64_t found = k < w->found_count ? w->found[k] : INT64_MAX;
        if (found <= old) {
            merged[n++] = found == old ? w->items[i] : (struct watched){found, now_ms};
            while (k < w->found_count && w->found[k] == found)
                k++;
            i += found == old;
        } else {
            if (!was_looked_at(w, old))
                merged[n++] = w->items[i];
            i++;
        }
    }
    *dropped = n > w->max ? n - w->max : 0;
    if (*dropped)
        memmove(merged, merged + *dropped, w->max * sizeof *merged);
    if (w->turn_count > 0)
        w->turn_after = w->turn[w->turn_count - 1];
    free(w->items);
    w->items = merged;
    w->count = n - *dropped;
    watch_abandon(w);
    return ERR_OK;
}

void watch_abandon(struct watch *w)
{
    free(w->turn);
    w->turn = NULL;
    w->turn_count = 0;
    w->found_count = 0;
}

int64_t watch_get_seen_ms(const struct watch *w, int64_t id)
{
    const struct watched *item = list_find(w->items, w->count, sizeof *w->items, id);

    return item ? item->seen_ms : INT64_MAX;
}
