/* SPDX-License-Identifier: MIT */
/*
 * lost_address: the addresses that lost.c knows, and when each was registered last.
 *
 * Threads     Those of the owner.
 * Ownership   The list owns the addresses; one stays where it is until it is forgotten.
 * Limits      LOST_ADDRESSES_MAX of them.
 */
#ifndef FOLLOW_LOST_ADDRESS_H
#define FOLLOW_LOST_ADDRESS_H

#include "shardwheel/base.h"

#define LOST_ADDRESSES_MAX 50000

struct lost_address {
    char *text;
    bool registered;      /* in this turn */
    bool used;            /* a run is there; the owner's */
    int64_t seen_mono_ms; /* when it was registered last... */
    int64_t seen_wall_s;  /* ... likewise; INT64_MIN: never */
};

struct lost_addresses {
    struct lost_address **list; /* ascending by text */
    size_t count;
};

/* The one with this text, made where it is not known yet. NULL when there is no room. */
struct lost_address *lost_addresses_get(struct lost_addresses *a, const char *text);
void lost_address_see(struct lost_address *address, const struct clock *clock); /* it is registered now */
/* Forgets those that are not used and were not seen since. */
void lost_addresses_forget(struct lost_addresses *a, int64_t before_mono_ms);
void lost_addresses_fini(struct lost_addresses *a);

#endif
