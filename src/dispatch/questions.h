/* SPDX-License-Identifier: MIT */
/*
 * questions: the calls that ask executors for fires whose routes want that (asking.h): beat and idleBeat, at the
 * addresses of one loop.
 *
 * Threads     Belongs to one loop, and is driven by its HTTP client.
 * Invariants  What asks at an address is in the hands of one question until that is answered, its time is over
 *             (questions_sweep) or it is taken. A question is no sending: it may be asked any number of times, and what
 *             it finds holds no longer than for the fires that wait for it.
 * Bounds      ASK_AT_ONCE are under way at an address, beside its window for fires; the others wait in order, and no
 *             longer than a call may take. Fires that want a beat of one group's executor share the question.
 * Ownership   questions_put takes the delivery, `answered` and the lists give it back.
 */
#ifndef DISPATCH_QUESTIONS_H
#define DISPATCH_QUESTIONS_H

#include "dispatch/delivery.h"
#include "dispatch/lanes.h"

#define ASK_AT_ONCE 4

struct questions;

/* The executor said yes, or the delivery's asking has noted why not. From within questions_put never; from within the
 * turn of the client or questions_sweep. questions_put may be called again. */
typedef void (*answered_fn)(void *arg, struct delivery *d, bool yes);

MUST_CHECK enum err questions_create(struct post_office *office, struct http_client *http, struct lanes *lanes,
                                     answered_fn answered, void *arg, struct questions **out, struct errctx *ec);
/* NULL is fine; nothing waits any more, and the client has no request under way. Before the lanes. */
void questions_destroy(struct questions *q);
/* asking_get_next gave the address, `hash` is route_hash_address of it. */
MUST_CHECK enum err questions_put(struct questions *q, struct delivery *d, const char *address, uint64_t hash);
/* Those whose time at their address is over are answered. Those that must not be sent any more go to `expired`. */
void questions_sweep(struct questions *q, int64_t now_mono_ms, int64_t now_boot_ms, struct delivery_list *expired);
void questions_take_all(struct questions *q, struct delivery_list *out);
size_t questions_count(const struct questions *q); /* deliveries */

#endif
