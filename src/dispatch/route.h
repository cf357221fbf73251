/* SPDX-License-Identifier: MIT */
/*
 * route: picks the executor address of a fire.
 *
 * Threads     One owner: the ring thread, through dispatch_submit. Nothing in here locks.
 * Invariants  A pick makes no call to anybody. Equal lists give equal consistent-hash picks on every node.
 * Ownership   A picked address belongs to the group (or to the fire) it was taken from.
 * Time        Monotonic, passed in; the state of the routes is forgotten after 24 h.
 */
#ifndef DISPATCH_ROUTE_H
#define DISPATCH_ROUTE_H

#include "shardwheel/dispatch.h"

struct routes;

struct route_choice {
    const char *address; /* NULL: nobody to send to, `reason` says why */
    char reason[240];
};

/* Equal seeds give equal counters of ROUND. */
MUST_CHECK enum err routes_create(uint64_t seed, struct routes **out, struct errctx *ec);
void routes_destroy(struct routes *routes); /* NULL is fine */
/* Begins a round of picks. Within a round the list of a group does not change; between rounds it is compared anew. */
void routes_begin(struct routes *routes, int64_t now_mono_ms);
/* `group` is NULL when the fire's group is gone. The fire has its job. */
void routes_pick(struct routes *routes, const struct fire *fire, const struct registry_group *group,
                 struct route_choice *out);

#endif
