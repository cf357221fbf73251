/* SPDX-License-Identifier: MIT */
/*
 * lanes: one queue per executor address, with a window of requests under way (window.h), served in turn.
 *
 * Threads     Belongs to one loop.
 * Invariants  Oldest first within a lane; among lanes that may send, one delivery each in turn, so that a full or slow
 *             one takes nothing from the others.
 * Ownership   What waits in a lane belongs to the lanes; what was taken to be sent belongs to the caller.
 */
#ifndef DISPATCH_LANES_H
#define DISPATCH_LANES_H

#include "dispatch/delivery.h"
#include "shardwheel/executor/http_client.h"

struct lanes;
struct question;

/* What is asked at an address beside its fires: questions.c keeps it here. */
struct lane_questions {
    struct question *first, *last; /* that wait for their turn */
    struct question *beat;         /* the last one that was made of this kind, while it is there */
    int under_way;
};

/* Each lane is a peer of the client. per_address: the most that a window may become. */
MUST_CHECK enum err lanes_create(int per_address, struct http_client *http, struct lanes **out, struct errctx *ec);
void lanes_destroy(struct lanes *lanes); /* NULL is fine; nothing waits any more */
/* Finds the lane of a delivery that is to come; with `warm` opens connections for as many as come, up to the window.
 * lanes_add or lanes_cancel follows. */
MUST_CHECK enum err lanes_expect(struct lanes *lanes, struct delivery *d, bool warm);
void lanes_cancel(struct delivery *d);
/* Finds the lane of an address, which then stays until lanes_unpin. */
MUST_CHECK enum err lanes_pin(struct lanes *lanes, const char *address, uint64_t hash, struct lane **out);
void lanes_unpin(struct lane *lane, int64_t now_mono_ms);
struct lane_questions *lanes_questions(struct lane *lane);
void lanes_add(struct lanes *lanes, struct delivery *d, int64_t now_mono_ms); /* behind the others of its address */
struct http_peer *lanes_peer(const struct lane *lane);
/* The next that may be sent, or NULL; counts as under way at its address until lanes_release. */
struct delivery *lanes_take_next(struct lanes *lanes, int64_t now_mono_ms);
/* What became of a request, for the window of its address. */
void lanes_note_answer(struct lanes *lanes, struct lane *lane, int64_t took_ms, int64_t now_mono_ms);
void lanes_note_failure(struct lane *lane, bool reached); /* there is no answer; reached: it may have been sent */
bool lanes_is_away(const struct lane *lane);              /* the last request there reached nobody */
void lanes_release(struct lanes *lanes, struct lane *lane, int64_t now_mono_ms);
/* Moves what waits and must not be sent any more after now_boot_ms to `out`; INT64_MAX: everything. */
void lanes_take_expired(struct lanes *lanes, int64_t now_boot_ms, struct delivery_list *out);
/* Forgets addresses without use since that time. */
void lanes_drop_idle(struct lanes *lanes, int64_t before_mono_ms);
size_t lanes_count_waiting(const struct lanes *lanes);

#endif
