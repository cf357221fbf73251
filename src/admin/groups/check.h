/* SPDX-License-Identifier: MIT */
/* groups_check: whether values make a group. Private to admin. */
#ifndef ADMIN_GROUPS_CHECK_H
#define ADMIN_GROUPS_CHECK_H

#include "shardwheel/admin/groups.h"

#define ADDRESS_LIST_BYTES 65535 /* of the TEXT column */

/* One item. REFUSED_UNKNOWN "id"; an error of the store is for admin_end. read.c */
MUST_CHECK enum err group_load(struct store_session *s, int64_t id, struct group_infos *out, struct refusal *r);
/* Addresses of executors that are given by hand, parted by commas; NULL and "" are fine. Only whether they may be
 * called is looked at (shardwheel.executor.networks), not whether they are addresses. REFUSED_INVALID, with the
 * address as its item. Pure. */
MUST_CHECK enum err refuse_addresses(const struct admin *a, const char *list, const char *field, struct refusal *r);
/* All but who else has the app name. `now`: what is changed; NULL: a new one. */
MUST_CHECK enum err group_check(const struct admin *a, const struct group_info *values, const struct group_info *now,
                                const struct group_rules *rules, const struct group_columns *columns,
                                struct refusal *r);

#endif
