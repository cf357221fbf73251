/* SPDX-License-Identifier: MIT */
/* route: where fires go. The interface stands in shardwheel/dispatch.h; this is what dispatch alone uses of it. */
#ifndef ROUTE_ROUTE_H
#define ROUTE_ROUTE_H

#include "shardwheel/dispatch.h"

uint64_t route_hash_address(const char *address); /* both halves of the number may be used by themselves */
/* True when the fire, which has its job, goes to the address that it was planned for: its row was written ahead, the group lists
 * the address (but for a broadcast, which has it from its plan) and the route is what it was. Costs no more in a long list.
 * Without memory to look it up: false. */
bool routes_can_keep(struct routes *routes, const struct fire *fire, const struct registry_group *group,
                     uint64_t *address_hash);

#endif
