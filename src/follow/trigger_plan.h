/* SPDX-License-Identifier: MIT */
/* trigger_plan: what becomes of an order: fires, or the reason why there are none. Pure. */
#ifndef FOLLOW_TRIGGER_PLAN_H
#define FOLLOW_TRIGGER_PLAN_H

#include "shardwheel/follow/triggers.h"

/* What can be said without the database. */
MUST_CHECK enum err trigger_check(const struct trigger_order *order, struct errctx *ec);
/* Appends the fires to the list. job and group are NULL where there is none; param_max: length of the column, in
 * characters, or in bytes from 65535 on. */
MUST_CHECK enum err trigger_plan(const struct trigger_order *order, struct job_spec *job, struct group_spec *group,
                                 size_t param_max, int64_t now_s, struct fire **list, struct errctx *ec);

#endif
