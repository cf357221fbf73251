/* SPDX-License-Identifier: MIT */
/*
 * asking: whom a fire with a route that asks (FAILOVER, BUSYOVER) asks next, for how long, and what those said who were
 * asked. Pure.
 *
 * Rule        The addresses are asked in the order of the list, each for the time that a call may take. All together
 *             take ASK_MAX_MS at most, and end no later than the fire's deadline; who is left then is not asked. What
 *             is no URL counts as a no.
 * Threads     Those of its owner.
 * Time        Monotonic, but for the deadline.
 */
#ifndef DISPATCH_ASKING_H
#define DISPATCH_ASKING_H

#include "shardwheel/registry.h"
#include "shardwheel/route.h"

#define ASK_MAX_MS 7800 /* and a sweep of the loop more: 8 s */

struct asking {
    enum route_ask ask;
    size_t at;             /* index of the address that is to be asked */
    int64_t until_mono_ms; /* so long that one has time */
    int64_t end_mono_ms;   /* all of them; 0 before the first */
    struct buf protocol;   /* HTML: who was asked, and what he said */
    size_t unnamed;        /* so many more were asked than the protocol has room for */
};

struct asking *asking_create(enum route_ask ask); /* NULL when out of memory */
void asking_destroy(struct asking *a);            /* NULL is fine */
/* The address that is to be asked now, with until_mono_ms set, or NULL: nobody is left, or no time. `left_ms`: until
 * the fire's deadline. */
const char *asking_get_next(struct asking *a, const struct registry_group *group, int64_t now_mono_ms, int64_t left_ms,
                            int64_t timeout_ms);
/* The one that was to be asked said no, or nothing: the next one's turn. `text` may be NULL. */
void asking_note_no(struct asking *a, const char *address, int code, const char *text);
/* The protocol, "" when nobody said no. It belongs to `a`. */
const char *asking_get_protocol(struct asking *a);
/* Why the fire goes nowhere. */
const char *asking_get_reason(const struct asking *a);

#endif
