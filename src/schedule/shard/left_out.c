/* SPDX-License-Identifier: MIT */
#include "schedule/shard/left_out.h"

#include <stdlib.h>

void left_out_add(struct left_out *list, struct left_out_job job)
{
    if (list->count == LEFT_OUT_MAX || !list_grow(&list->jobs, list->count, sizeof job))
        list->full = true;
    else
        list->jobs[list->count++] = job;
}

void left_out_sort(struct left_out *list)
{
    if (list->count > 0)
        qsort(list->jobs, list->count, sizeof *list->jobs, compare_int64);
}

const struct left_out_job *left_out_find(const struct left_out *list, int64_t id)
{
    return list_find(list->jobs, list->count, sizeof *list->jobs, id);
}

void left_out_join(struct left_out *list, const struct left_out *more)
{
    struct left_out had = *list; /* what is added stands behind these */

    for (size_t i = 0; i < more->count; i++) {
        had.jobs = list->jobs;
        if (!left_out_find(&had, more->jobs[i].id))
            left_out_add(list, more->jobs[i]);
    }
    list->full = list->full || more->full;
    left_out_sort(list);
}

FINI_BY(free, left_out, jobs)
