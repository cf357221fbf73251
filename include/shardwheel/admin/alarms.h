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
#include "shardwheel/store/channel.h"
#include "shardwheel/store/watch.h"

/* Right: ADMINISTER. `each` is called for each channel in their order, never with a target or a secret. *mail: jobs
 * with addresses are told by mail; *can_add: channels may be set in the console. */
MUST_CHECK enum err admin_list_channels(struct admin *a, const struct actor *actor,
                                        void (*each)(void *arg, const struct alarm_channel *channel), void *arg,
                                        bool *mail, bool *can_add, struct refusal *r);
/* Jobs that failed lately, of the groups that the actor sees, ascending by job behind `after_job`. */
MUST_CHECK enum err admin_load_alarms(struct admin *a, const struct actor *actor, int64_t after_job, size_t limit,
                                      struct alarm_state **out, size_t *count, struct refusal *r);
/* A webhook that is set here, and counts on all nodes within seconds. Right: ADMINISTER. Adds one (id 0), whose id goes
 * to *added, or changes the one with that id: what is NULL stays as it is, or has its default; the name is the kind
 * then, with a number where that is taken. REFUSED_OFF: shardwheel.alarm.console-channels is off. REFUSED_TAKEN,
 * REFUSED_INVALID with `name`, `kind`, `url`, `secret`, `groups`, `quiet`; REFUSED_LIMIT, REFUSED_UNKNOWN. With
 * `dry_run` nothing is written. */
MUST_CHECK enum err admin_put_channel(struct admin *a, const struct actor *actor, const struct channel_row *given,
                                      bool dry_run, int64_t *added, struct refusal *r);
MUST_CHECK enum err admin_remove_channel(struct admin *a, const struct actor *actor, int64_t id, struct refusal *r);
/* What was told to whom, of jobs of the groups that the actor sees; for admins that about executors, too. */
MUST_CHECK enum err admin_load_told(struct admin *a, const struct actor *actor, struct sent_filter *filter,
                                    int64_t before_id, size_t limit, struct sent_alarms *out, struct refusal *r);

/* ---- what did not happen: alarms/rules.c ------------------------------------------------------------------------- */

/* Anybody who sees jobs. */
MUST_CHECK enum err admin_load_watch_rules(struct admin *a, const struct actor *actor, struct watch_rules *out,
                                           struct refusal *r);
/* Right for these two: ADMINISTER. Adds a rule (id 0), or changes the one with that id: tag and app_name NULL, bound
 * -1: it stays as it is, as the kind does; a new bound that is a time of day has the kind not_done, another one none.
 * REFUSED_INVALID with `kind`, `limit`, `doneBy`, `tag`, `group`; REFUSED_TAKEN, REFUSED_LIMIT, REFUSED_UNKNOWN. */
MUST_CHECK enum err admin_put_watch_rule(struct admin *a, const struct actor *actor, const struct watch_rule *given,
                                         int64_t *added, struct refusal *r);
MUST_CHECK enum err admin_remove_watch_rule(struct admin *a, const struct actor *actor, int64_t id, struct refusal *r);
/* Of jobs and groups that the actor sees; shards for who sees all. */
MUST_CHECK enum err admin_load_open_alarms(struct admin *a, const struct actor *actor, struct open_alarms *out,
                                           struct refusal *r);

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/* Right: ADMINISTER. As alarms_test; `app` "": all channels; `channel` NULL: likewise. Waits for the receivers, 25 s at
 * most. REFUSED_STATE: no channel serves that. One test at a time in a node: else REFUSED_LIMIT. */
MUST_CHECK enum err admin_test_alarms(struct admin *a, const struct actor *actor, const char *app, const char *channel,
                                      void (*each)(void *arg, const char *channel, const char *to, const char *error),
                                      void *arg, struct refusal *r);

#endif
