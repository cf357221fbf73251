/* SPDX-License-Identifier: MIT */
/* Fires in memory. */
#include <stdlib.h>
#include <string.h>

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
    size_t param = values->param ? strlen(values->param) + 1 : 0;
    size_t addresses = values->addresses ? strlen(values->addresses) + 1 : 0;
    struct fire_own *own = malloc(sizeof *own + param + addresses);

    if (!own)
        return NULL;
    *own = *values;
    if (param)
        own->param = memcpy((char *)(own + 1), values->param, param);
    if (addresses)
        own->addresses = memcpy((char *)(own + 1) + param, values->addresses, addresses);
    return own;
}
