/* SPDX-License-Identifier: MIT */
#include "schedule/shard/left_out.h"

#include <stdlib.h>

void left_out_add(struct left_out *list, struct left_out_job job)
{
    if (list->count == list->room) {
        size_t room = list->room ? list->room * 2 : 64;
        struct left_out_job *jobs = list->count < LEFT_OUT_MAX ? realloc(list->jobs, room * sizeof *jobs) : NULL;

        if (!jobs) {
            list->full = true;
            return;
        }
        list->jobs = jobs;
        list->room = room < LEFT_OUT_MAX ? room : LEFT_OUT_MAX;
    }
    list->jobs[list->count++] = job;
}

static int compare_jobs(const void *a, const void *b)
{
    const struct left_out_job *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

void left_out_sort(struct left_out *list)
{
    if (list->count > 0)
        qsort(list->jobs, list->count, sizeof *list->jobs, compare_jobs);
}

const struct left_out_job *left_out_find(const struct left_out *list, int64_t id)
{
    struct left_out_job key = {.id = id};

    return list->count ? bsearch(&key, list->jobs, list->count, sizeof *list->jobs, compare_jobs) : NULL;
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
