/* SPDX-License-Identifier: MIT */
/*
 * wheel: holds planned fires in memory until their second comes.
 *
 * Threads     Any schedule thread pushes; the ring thread alone drains. Nobody waits: a push is one compare-and-swap
 *             loop, a drain one exchange per slot.
 * Invariants  A fire sits in one slot and leaves it exactly once. A drain for second S hands out every fire due at or
 *             before S whose push had returned, and puts the others back.
 * Ownership   push takes the fire; drain gives it to the caller.
 * Reclamation None is needed. A drain takes a slot's whole list with one exchange, so from that instant on no other
 * thread
 *             can reach its entries (a pusher only ever dereferences the entry that it pushes, never the head it read),
 *             and there is no ABA: a head that went and came back is still the right next of the new entry.
 * Time        Wall clock seconds, passed in; this module reads no clock. Slots are due second % 60, entries carry the
 *             absolute second, so a lap cannot be mistaken for another.
 */
#ifndef SCHEDULE_RING_WHEEL_H
#define SCHEDULE_RING_WHEEL_H

#include "shardwheel/job.h"
#include "shardwheel/job/times.h"

struct wheel {
    _Atomic(struct fire *) slot[WHEEL_SLOTS]; /* [atomic] newest first; push: release, drain: acquire */
    _Atomic int64_t drained_s;                /* [atomic] newest second that was drained; INT64_MAX: none yet */
    _Atomic bool has_old;                     /* [atomic] a fire may be in a slot that a drain leaves out: see push */
    _Atomic int64_t count;                    /* [atomic] fires inside, relaxed: a gauge */
};

void wheel_init(struct wheel *w);
void wheel_fini(struct wheel *w); /* frees what is left; no pusher may be active */
void wheel_push(struct wheel *w, struct fire *fire);
/* A list, or NULL. Looks into the slot of second_s and those before it, so that a fire which was pushed for a second
 * that had passed meanwhile goes out now and not a lap later. The slots of seconds to come, whose fires would all be
 * put back, are left out, unless an old fire may be there: one that was pushed half a lap late, or that a drain which
 * left out many seconds passed. */
struct fire *wheel_drain(struct wheel *w, int64_t second_s);
int64_t wheel_count(struct wheel *w);

#endif
