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

/* FNV-1a; a NULL text and an empty one hash apart, and texts do not run into each other. */
static uint32_t hash_bytes(uint32_t h, const void *data, size_t len)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < len; i++)
        h = (h ^ p[i]) * UINT32_C(16777619);
    return h;
}

static uint32_t hash_text(uint32_t h, const char *text)
{
    return text ? hash_bytes(h, text, strlen(text) + 1) : hash_bytes(h, "\1\0\1", 3);
}

uint32_t fire_row_hash(int64_t group, const char *handler, const char *param, int retry_count)
{
    uint32_t h = hash_bytes(UINT32_C(2166136261), &group, sizeof group);

    h = hash_text(h, handler ? handler : "");
    h = hash_text(h, param);
    return hash_bytes(h, &retry_count, sizeof retry_count);
}

uint32_t fire_route_hash(const char *route)
{
    return hash_text(UINT32_C(2166136261), route ? route : "");
}
