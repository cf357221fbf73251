/* SPDX-License-Identifier: MIT */
/* Fires in memory. */
#include <stdlib.h>

#include "shardwheel/job.h"

struct fire *fire_create(void)
{
    struct fire *fire = calloc(1, sizeof *fire);

    if (fire)
        fire->shard_total = 1;
    return fire;
}

void fire_destroy(struct fire *fire)
{
    if (!fire)
        return;
    job_spec_unref(fire->job);
    group_spec_unref(fire->target);
    free(fire->address);
    free(fire);
}

void fire_destroy_list(struct fire *list)
{
    while (list) {
        struct fire *next = list->next;
        fire_destroy(list);
        list = next;
    }
}
