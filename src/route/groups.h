/* SPDX-License-Identifier: MIT */
/*
 * groups: what the routes work out of a group's address list and keep while the list stays: its hash ring, and its
 * addresses by hash.
 *
 * Threads     Belongs to one thread at a time.
 * Invariants  Within a round the list of a group does not change; what is kept is compared with it, or made anew, at
 *             the first use of each round.
 * Ownership   What is returned belongs to `groups` and holds until the next call.
 */
#ifndef ROUTE_GROUPS_H
#define ROUTE_GROUPS_H

#include "route/hash_ring.h"
#include "shardwheel/registry.h"

#define NOT_LISTED SIZE_MAX

struct group_state;

struct groups {
    uint64_t round;
    struct group_state *states; /* ascending by group */
    size_t count;
};

/* The addresses of a list by hash. */
struct listed {
    const uint32_t *hashes; /* in the order of the list: the lower half of route_hash_address */
    size_t count;
    const struct listed_place *places; /* open addressing */
    size_t size;                       /* a power of two */
};

void groups_begin(struct groups *groups); /* another round */
void groups_fini(struct groups *groups);  /* zero-initialised is fine, and empty again behind it */
/* The ring of the list, which is not empty. NULL when out of memory. */
const struct hash_ring *groups_get_ring(struct groups *groups, const struct registry_group *group);
/* False when out of memory. */
bool groups_get_listed(struct groups *groups, const struct registry_group *group, struct listed *out);
/* Index of the address, or NOT_LISTED. */
size_t listed_find(const struct listed *listed, const struct registry_group *group, const char *address, uint64_t hash);
/* Index of an address with that hash, or NOT_LISTED: two addresses may have one. */
size_t listed_find_hash(const struct listed *listed, uint32_t hash);

#endif
