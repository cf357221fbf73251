/* SPDX-License-Identifier: MIT */
/*
 * recent: the newest due second of each job of a shard that was planned within the last minute.
 *
 * trigger_next_time may fall back behind what was planned: a console that edits a job writes all columns as it read
 * them a moment before. This memory says which due seconds are done.
 *
 * Threads     The schedule thread of one shard.
 * Invariants  What it says was planned. It may have forgotten more than it should: when it is full or there is no
 *             memory, the oldest go first.
 * Memory      28 bytes for each slot, at most RECENT_SLOTS_MAX of them for all shards of a cluster together.
 * Time        Wall clock, passed in.
 */
#ifndef SHARDWHEEL_SCHEDULE_SHARD_RECENT_H
#define SHARDWHEEL_SCHEDULE_SHARD_RECENT_H

#include "shardwheel/base.h"

#define RECENT_SLOTS_MAX (1 << 21)

struct recent;

/* `shards`: of the cluster. Jobs of one shard differ in id / shards. */
MUST_CHECK enum err recent_create(int shards, struct recent **out, struct errctx *ec);
void recent_destroy(struct recent *r); /* NULL is fine */
/* The fire of that due second goes out at goes_s: the same, or later. */
void recent_note(struct recent *r, int64_t job_id, int64_t due_s, int64_t goes_s, int64_t now_s);
/* INT64_MIN: none that is known, or it is older than PLAN_REMEMBER_S. */
int64_t recent_find(const struct recent *r, int64_t job_id, int64_t now_s);
/* A due second that the job's schedule had when that was planned; 0: not known. */
int64_t recent_find_own(const struct recent *r, int64_t job_id);
/* A takeover by a node that moved the cursor up to there itself: what was to go out by then was sent, and stays. What
 * was to go out after it is planned only where the database has its row, which is to be noted again after this: the
 * server may have lost it, and another owner have passed it. Until recent_age
 * PLAN_REMEMBER_S counts back from no later than the cursor: while no cursor moves, nothing is forgotten. */
void recent_take_over(struct recent *r, int64_t moved_s);
/* Each job has been looked at since. */
void recent_age(struct recent *r);
/* Due times from here on may be known. */
int64_t recent_get_since_ms(const struct recent *r, int64_t now_ms);
size_t recent_count_slots(const struct recent *r); /* for tests */

#endif
