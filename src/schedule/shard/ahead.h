/* SPDX-License-Identifier: MIT */
/*
 * ahead: routes the fires of a job when they are planned, so that their rows are written as a success will leave them.
 *
 * Threads     The schedule thread of one shard: a job belongs to one shard, so whose turn it is (ROUND) is kept there.
 * Invariants  A guess, no promise: dispatch routes anew what has no address here, or whose address or route is not what
 *             it was. Late and misfired fires are left alone, for their text is another one.
 */
#ifndef SCHEDULE_SHARD_AHEAD_H
#define SCHEDULE_SHARD_AHEAD_H

#include "shardwheel/job.h"
#include "shardwheel/job/words.h"
#include "shardwheel/registry.h"

struct ahead;

/* The texts are those of the node; style: of trigger_msg. */
MUST_CHECK enum err ahead_create(const char *node_name, const char *admin_ip, struct message_style style,
                                 struct ahead **out, struct errctx *ec);
void ahead_destroy(struct ahead *a); /* NULL is fine */
/* A round of planning under one snapshot of the groups. */
void ahead_begin(struct ahead *a, int64_t now_mono_ms);
/* Fills in address, route_hash and written_ahead where the fire's way is known. Returns what a success leaves behind
 * the mark of those, or NULL when there is none; it lives as long as `a`. In the full style each fire has a text of its
 * own instead (fire->message). */
const char *ahead_route(struct ahead *a, const struct job_due *job, const struct registry_group *group,
                        struct fire *list);

#endif
