/* SPDX-License-Identifier: MIT */
/*
 * address_check: addresses of executors that a user gives by hand: those of a group, and those of a fire. Pure.
 *
 * Only whether they may be called is looked at (shardwheel.executor.networks), not whether they are addresses.
 */
#ifndef ADMIN_GROUPS_ADDRESS_CHECK_H
#define ADMIN_GROUPS_ADDRESS_CHECK_H

#include "shardwheel/admin.h"

/* `list`: parted by commas; NULL and "" are fine. REFUSED_INVALID, with the address as its item. */
MUST_CHECK enum err refuse_addresses(const struct admin *a, const char *list, const char *field, struct refusal *r);

#endif
