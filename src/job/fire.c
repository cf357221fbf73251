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
    free(fire->own);
    free(fire->message);
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

void fire_put_before(struct fire **head, struct fire *list)
{
    struct fire **tail = &list;

    while (*tail)
        tail = &(*tail)->next;
    *tail = *head;
    *head = list;
}

struct fire_own *fire_own_create(const struct fire_own *values)
{
    struct fire_own *own = malloc(sizeof *own + str_size(values->param) + str_size(values->addresses));

    if (!own)
        return NULL;
    char *at = (char *)(own + 1);
    *own = *values;
    own->param = str_pack(&at, values->param);
    own->addresses = str_pack(&at, values->addresses);
    return own;
}
