/* SPDX-License-Identifier: MIT */
/*
 * loop_impl: what the files of a loop share: loop.c (its thread: which delivery goes out when) and requests.c (how one
 * goes out, and ends).
 *
 * Threads     All functions below: the loop's.
 */
#ifndef DISPATCH_LOOP_IMPL_H
#define DISPATCH_LOOP_IMPL_H

#include "dispatch/loop.h"

struct http_client;
struct lanes;
struct questions;

#define SENT_SHARDS 16

#define TEXT_STOPPING "not sent: this node is stopping"
#define TEXT_TOO_LATE "not sent: too late"
#define TEXT_NO_MEMORY "not sent: out of memory"

struct sent_count {
    int shard;
    size_t count;
};

struct loop {
    struct post_office *office; /* [const] */
    struct http_client *http;   /* [loop] but for http_client_wake */
    int number;                 /* [const] */
    char name[16];              /* [const] once started */
    struct thread thread;       /* [const] after start */
    struct mutex lock;          /* rank LOCK_DISPATCH; held for list moves only */
    struct delivery_list inbox; /* [lock] oldest first */
    bool closed;                /* [lock] the thread takes nothing any more */
    _Atomic bool stopping;      /* [atomic] set once; release in loop_stop, acquire in run */
    _Atomic bool starved;       /* [atomic] waits for room; seq_cst, see reserve_room */

    struct lanes *lanes;          /* [loop] as all below */
    struct questions *questions;  /* of fires that have no address yet */
    struct delivery_list pending; /* not yet due, ascending by due second */
    struct result_list ended;     /* to be posted, at the end of the turn */
    struct sent_count sent[SENT_SHARDS];
    size_t sent_shards;
    struct buf headers; /* of the request that is being started */
    struct buf body;    /* that is being made */
    int64_t next_sweep_mono_ms;
    size_t shown_queued; /* what the gauges say of this loop */
    size_t shown_in_flight;
};

/* ---- requests.c -------------------------------------------------------------------------------------------------- */

bool loop_is_draining(const struct loop *loop);
/* Of its exact size, for many may wait. False when out of memory. */
bool loop_prepare_body(struct loop *loop, struct delivery *d);
/* The delivery is under way at its lane. When it cannot be started it ends here, and the lane is released. */
void loop_send(struct loop *loop, struct delivery *d);
void loop_end(struct loop *loop, struct delivery *d, enum delivery_outcome outcome, int code, const char *text);
/* Tells how many fires of which shard were sent, or ended unsent, since the last time. */
void loop_flush_sent(struct loop *loop);

#endif
