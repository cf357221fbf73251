/* SPDX-License-Identifier: MIT */
/*
 * admin/alarms: which channels there are, of which jobs people are told, and a message of test. See shardwheel/admin.h
 * for threads, ownership and refusals.
 */
#ifndef SHARDWHEEL_ADMIN_ALARMS_H
#define SHARDWHEEL_ADMIN_ALARMS_H

#include "shardwheel/admin.h"
#include "shardwheel/alarm.h"
#include "shardwheel/store/alarm.h"

/* Right: ADMINISTER. `each` is called for each channel in their order, never with a target or a secret. *mail: jobs
 * with addresses are told by mail. */
MUST_CHECK enum err admin_list_channels(struct admin *a, const struct actor *actor,
                                        void (*each)(void *arg, const struct alarm_channel *channel), void *arg,
                                        bool *mail, struct refusal *r);
/* Jobs that failed lately, of the groups that the actor sees, ascending by job behind `after_job`. */
MUST_CHECK enum err admin_load_alarms(struct admin *a, const struct actor *actor, int64_t after_job, size_t limit,
                                      struct alarm_state **out, size_t *count, struct refusal *r);
/* Right: ADMINISTER. As alarms_test; `app` "": all channels. Waits for the receivers, 25 s at most. REFUSED_STATE: no
 * channel serves that. One test at a time in a node: else REFUSED_LIMIT. */
MUST_CHECK enum err admin_test_alarms(struct admin *a, const struct actor *actor, const char *app,
                                      void (*each)(void *arg, const char *channel, const char *to, const char *error),
                                      void *arg, struct refusal *r);

#endif
