/* SPDX-License-Identifier: MIT */
#include "schedule/shard/unknown.h"

#include <stdlib.h>

size_t unknown_sort(const struct fire *list, int64_t cursor_s, int64_t *ids)
{
    size_t n = 0, before;

    for (const struct fire *fire = list; fire; fire = fire->next)
        if (fire->due_s < cursor_s)
            ids[n++] = fire->log_id;
    before = n;
    for (const struct fire *fire = list; fire; fire = fire->next)
        if (fire->due_s >= cursor_s)
            ids[n++] = fire->log_id;
    qsort(ids, before, sizeof *ids, compare_int64);
    qsort(ids + before, n - before, sizeof *ids, compare_int64);
    return before;
}
