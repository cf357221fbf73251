/* SPDX-License-Identifier: MIT */
/*
 * loop: one event-driven thread that sends the deliveries of its addresses and reads the answers.
 *
 * Threads     loop_post and loop_wake: any thread. The rest: the creator's. The loop's thread waits for nothing but
 *             events.
 * Invariants  A delivery is written at most once to an executor that may have taken it, not before its due second (wall
 *             clock), and not after its deadline (boot clock, asked right before the write). Each ends exactly once, at
 *             the writer.
 * Ownership   loop_post takes the deliveries.
 */
#ifndef DISPATCH_LOOP_H
#define DISPATCH_LOOP_H

#include "dispatch/delivery.h"

struct loop;

MUST_CHECK enum err loop_create(struct post_office *office, int number, struct loop **out, struct errctx *ec);
MUST_CHECK enum err loop_start(struct loop *loop, struct errctx *ec);
/* False after the loop's end: the list stays the caller's. The list ends empty on success. */
bool loop_post(struct loop *loop, struct delivery_list *list);
void loop_wake(struct loop *loop);
void loop_wake_if_starved(struct loop *loop); /* room for results has come */
/* Unsent deliveries end as failed, those under way as failed with an unknown fate. */
void loop_stop(struct loop *loop);
void loop_join(struct loop *loop);
void loop_destroy(struct loop *loop); /* NULL is fine */

#endif
