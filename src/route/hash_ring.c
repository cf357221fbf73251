/* SPDX-License-Identifier: MIT */
#include "route/hash_ring.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/route.h"

#define POINTS_PER_ADDRESS 100

/* The first four bytes of the MD5, the first one lowest. */
static uint32_t hash_point(const void *data, size_t len)
{
    unsigned char digest[16];

    md5_digest(data, len, digest);
    return (uint32_t)digest[0] | (uint32_t)digest[1] << 8 | (uint32_t)digest[2] << 16 | (uint32_t)digest[3] << 24;
}

static uint32_t hash_job(int64_t job_id)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%" PRId64, job_id);

    return hash_point(text, (size_t)len);
}

/* Calls `each` for every point of the address. False when out of memory. */
static bool for_each_point(const char *address, void (*each)(void *arg, uint32_t hash), void *arg)
{
    struct buf text = {0};
    size_t head;

    buf_puts(&text, "SHARD-");
    buf_puts(&text, address);
    buf_puts(&text, "-NODE-");
    head = text.len;
    for (int i = 0; i < POINTS_PER_ADDRESS; i++) {
        text.len = head;
        buf_put_int(&text, i);
        if (buf_failed(&text))
            break;
        each(arg, hash_point(text.data, text.len));
    }
    bool ok = !buf_failed(&text);
    buf_fini(&text);
    return ok;
}

struct point_list {
    uint64_t *points;
    size_t count;
    size_t address;
};

static void add_point(void *arg, uint32_t hash)
{
    struct point_list *list = arg;

    list->points[list->count++] = (uint64_t)hash << 32 | list->address;
}

static int compare_points(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y); /* the index of the address is part of the number, so the order is total */
}

/* The address that comes later owns an equal hash: of each run of one hash the last point stays. */
static size_t keep_last_of_equal(uint64_t *points, size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || points[i] >> 32 != points[i + 1] >> 32)
            points[kept++] = points[i];
    return kept;
}

static bool is_same_list(const struct hash_ring *ring, const char *const *addresses, size_t count)
{
    const char *at = ring->list;

    if (!at || ring->address_count != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(at, addresses[i]) != 0)
            return false;
        at += strlen(at) + 1;
    }
    return true;
}

enum err hash_ring_set(struct hash_ring *ring, const char *const *addresses, size_t count)
{
    struct point_list list = {0};
    struct buf copy = {0};

    if (is_same_list(ring, addresses, count))
        return ERR_OK;
    hash_ring_fini(ring);
    list.points = malloc(count * POINTS_PER_ADDRESS * sizeof *list.points);
    if (!list.points)
        goto nomem;
    for (; list.address < count; list.address++) {
        const char *address = addresses[list.address];
        buf_append(&copy, address, strlen(address) + 1);
        if (!for_each_point(address, add_point, &list))
            goto nomem;
    }
    if (buf_failed(&copy))
        goto nomem;
    qsort(list.points, list.count, sizeof *list.points, compare_points);
    ring->points = list.points;
    ring->point_count = keep_last_of_equal(list.points, list.count);
    ring->address_count = count;
    ring->list = buf_take(&copy);
    return ERR_OK;
nomem:
    free(list.points);
    buf_fini(&copy);
    return ERR_NOMEM;
}

size_t hash_ring_pick(const struct hash_ring *ring, int64_t job_id)
{
    uint64_t least = (uint64_t)hash_job(job_id) << 32;
    size_t low = 0, high = ring->point_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ring->points[middle] < least)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == ring->point_count)
        low = 0; /* past the top: the smallest point of all */
    return (size_t)(ring->points[low] & UINT32_MAX);
}

void hash_ring_fini(struct hash_ring *ring)
{
    free(ring->points);
    free(ring->list);
    *ring = (struct hash_ring){0};
}

/* ---- the same without a ring ------------------------------------------------------------------------------------ */

struct search {
    uint32_t wanted;
    size_t address;
    bool has_next, has_least;
    uint32_t next_hash, least_hash; /* the smallest at or after `wanted`, the smallest of all */
    size_t next_address, least_address;
};

static void try_point(void *arg, uint32_t hash)
{
    struct search *s = arg;

    /* <= : an equal hash goes to the address that comes later. */
    if (hash >= s->wanted && (!s->has_next || hash <= s->next_hash)) {
        s->has_next = true;
        s->next_hash = hash;
        s->next_address = s->address;
    }
    if (!s->has_least || hash <= s->least_hash) {
        s->has_least = true;
        s->least_hash = hash;
        s->least_address = s->address;
    }
}

size_t route_pick_consistent_hash(int64_t job_id, const char *const *addresses, size_t count)
{
    struct search s = {.wanted = hash_job(job_id)};

    for (; s.address < count; s.address++)
        (void)for_each_point(addresses[s.address], try_point, &s); /* without memory an address has no points */
    return s.has_next ? s.next_address : s.least_address;
}
