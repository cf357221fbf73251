/* SPDX-License-Identifier: MIT */
/*
 * ring: the one thread that moves the cursors of our shards second by second, drains the wheel and hands over to
 * dispatch.
 *
 * Threads     ring_push, ring_add_shard, ring_limit_shard, ring_remove_shard, ring_hold, ring_get_* may be called by
 *             any thread.
 * Invariants  No second is skipped, however long the thread was stalled. A fire goes to dispatch only after the cursor
 *             of its shard was moved to its second (or beyond) under the very epoch that the fire carries; with an
 *             older epoch it is dropped, with a newer one put back. A fire's job is read from the database less than a
 *             second before it is due, so an edit, a stop or a removal a second before counts. One limit: the number of
 *             fires is that of the plan. A broadcast goes to the addresses that its group had then, also when the job
 *             has another group or route by now; a single fire stays one when its job becomes a broadcast.
 *             No cursor moves while dispatch has no room for results (dispatch_has_room): the fires stay here, late but
 *             once.
 * Time        For second S: its fires are taken out and their jobs read from 900 ms before S on, the cursor moves 20 to
 *             200 ms before S at the earliest, by what that takes (lead.h), dispatch sends at S. A clock set back makes
 *             the ring wait until it comes to the next second again (nothing fires twice); one set forward lets it
 *             catch up second by second, the last RING_JUMP_S of them (one lap of the wheel) when there are more.
 */
#ifndef SCHEDULE_RING_RING_H
#define SCHEDULE_RING_RING_H

#include "schedule/ring/fence.h"
#include "schedule/ring/wheel.h"
#include "shardwheel/counters.h"
#include "shardwheel/job.h"
#include "shardwheel/job/times.h"
#include "shardwheel/store/conn.h"

struct dispatch;

#define RING_PREPARE_MS 900
#define RING_STALE_MS 2000 /* job data older than this at the cursor's move is read again */

struct ring;

struct ring_opts {
    int shards; /* more than any shard's number */
    struct store *store;
    struct watch *watch; /* NULL: nobody watches the thread */
    /* A shard was fenced or reached its last second: its schedule thread should look. */
    void (*changed)(void *arg, int shard);
    /* The database could not be written to for 3 s (false), can be again (true). */
    void (*able)(void *arg, bool able);
    void *arg;
};

MUST_CHECK enum err ring_create(const struct ring_opts *opts, const struct clock *clock, struct counters *counters,
                                struct ring **out, struct errctx *ec);
/* May be started again after ring_join: what is in the wheel stays. */
MUST_CHECK enum err ring_start(struct ring *r, struct dispatch *dispatch, struct errctx *ec);
/* What the ring thread does each time it wakes up: returns how many milliseconds to wait for the next time. For the
 * thread, and for tests on a clock of their own, which do not start it. */
int64_t ring_turn(struct ring *r);
void ring_push(struct ring *r, struct fire *fire); /* takes it */
/* All loaded fires of the shard have been pushed: from now on its cursor moves. */
void ring_add_shard(struct ring *r, int shard, int64_t epoch, int64_t cursor_s);
void ring_limit_shard(struct ring *r, int shard, int64_t last_s);
void ring_remove_shard(struct ring *r, int shard);
/* No second after last_s is stepped, for no shard, until the hold is another one; INT64_MAX: none. Fires wait in the
 * wheel. */
void ring_hold(struct ring *r, int64_t last_s);
struct ring_shard ring_get_shard(struct ring *r, int shard);
/* The last second handed over; what is due at once is planned for a later one. */
int64_t ring_get_passed_s(struct ring *r);
/* The highest second that this node ever moved the shard's cursor to; 0: none. */
int64_t ring_get_floor_s(struct ring *r, int shard);
/* Nobody may be in the ring. With another number of shards a shard has other jobs: the highest second of any shard is
 * that of all from now on. A change of the number puts all cursors to one second, which is no less. */
void ring_level_floors(struct ring *r);
/* The server that cursors are moved on is another one: all our shards count as fenced until they are added again. */
void ring_fence_all(struct ring *r);
int64_t ring_get_hold_s(struct ring *r); /* INT64_MAX: none */
/* Milliseconds that the ring is behind the clock while it has shards; 0 when in time. */
int64_t ring_get_lag_ms(struct ring *r);
/* False from the time that opts.able was told so. */
bool ring_is_able(struct ring *r);
void ring_note_sent(struct ring *r, int shard, size_t count);
void ring_stop(struct ring *r);
void ring_join(struct ring *r);
void ring_destroy(struct ring *r);

#endif
