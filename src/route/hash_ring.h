/* SPDX-License-Identifier: MIT */
/*
 * hash_ring: the consistent-hash ring of one address list, sorted once and searched often.
 *
 * Threads     Belongs to one thread at a time.
 * Invariants  hash_ring_pick and route_pick_consistent_hash agree for every list and job. Each address has 100 points;
 *             where two points are equal the address that stands later in the list has it.
 * Ownership   The ring copies the addresses: it stays right when the list it was made from is gone.
 */
#ifndef ROUTE_HASH_RING_H
#define ROUTE_HASH_RING_H

#include "shardwheel/base.h"

struct hash_ring {
    uint64_t *points; /* ascending: hash << 32 | index of the address; one per hash */
    size_t point_count;
    char *list; /* the addresses one after the other, each with its NUL */
    size_t address_count;
};

/* Makes the ring of the list, or keeps it when it is of that list already. count > 0. On ERR_NOMEM the ring is
 * empty. */
MUST_CHECK enum err hash_ring_set(struct hash_ring *ring, const char *const *addresses, size_t count);
size_t hash_ring_pick(const struct hash_ring *ring, int64_t job_id); /* index of an address; the ring is not empty */
void hash_ring_fini(struct hash_ring *ring);                         /* zero-initialised is fine */

#endif
