/* SPDX-License-Identifier: MIT */
/* route: where fires go. The interface stands in shardwheel/dispatch.h; this is what dispatch alone uses of it. */
#ifndef DISPATCH_ROUTE_H
#define DISPATCH_ROUTE_H

#include "shardwheel/dispatch.h"

uint64_t route_hash_address(const char *address); /* both halves of the number may be used by themselves */

#endif
