/* SPDX-License-Identifier: MIT */
/* Hashes that tell whether a job is still what a row was written with. */
#include "shardwheel/job.h"

/* A NULL text and an empty one hash apart. */
static uint64_t hash_nullable(uint64_t h, const char *text)
{
    return text ? hash_text(h, text) : hash_bytes(h, "\1\0\1", 3);
}

static uint32_t fold(uint64_t h)
{
    return (uint32_t)(h ^ h >> 32);
}

uint32_t fire_row_hash(int64_t group, const char *handler, const char *param, int retry_count)
{
    uint64_t h = hash_bytes(HASH_START, &group, sizeof group);

    h = hash_text(h, handler ? handler : "");
    h = hash_nullable(h, param);
    return fold(hash_bytes(h, &retry_count, sizeof retry_count));
}

uint32_t fire_route_hash(const char *route)
{
    return fold(hash_text(HASH_START, route ? route : ""));
}
