/* SPDX-License-Identifier: MIT */
/*
 * watch: whether the threads that fires depend on go on. What the service manager's watchdog is fed by.
 *
 * Threads     The watched one enters, steps, pauses and leaves. One other looks. watch_find_stuck: any.
 * Invariants  A thread is stuck when nothing was heard of it for WATCH_STEP_MS longer than it said. Who waits for work
 *             without an end is never stuck. A call of the database is a pause as long as the connection's limits
 *             allow, so a database that is away, or silent, makes nobody stuck. After a time in which nobody looked
 *             the whole process stood still: all threads are given WATCH_STEP_MS anew.
 * Ownership   A mark lies on the stack of its thread; the watch must outlive it.
 * Time        Monotonic.
 */
#ifndef SHARDWHEEL_WATCH_H
#define SHARDWHEEL_WATCH_H

#include "shardwheel/base.h"

#define WATCH_STEP_MS 10000 /* the longest that a thread may work without a word */
#define WATCH_STILL_MS 5000 /* nobody looked for so long: the process stood still */
#define WATCH_FOREVER INT64_MAX

struct watch;

/* Of one thread. Private to watch.c. */
struct watch_mark {
    struct watch *watch;           /* [const] */
    struct watch_mark *next;       /* [lock] of the watch */
    struct watch_mark **link;      /* [lock] what points at this one */
    bool told;                     /* [lock] it is known to be stuck */
    char name[16];                 /* [const] */
    _Atomic int64_t heard_mono_ms; /* [atomic] relaxed, as the one below: each is right, and soon seen */
    _Atomic int64_t due_mono_ms;   /* [atomic] something should have been heard by then, but for WATCH_STEP_MS */
};

MUST_CHECK enum err watch_create(const struct clock *clock, struct watch **out, struct errctx *ec);
void watch_destroy(struct watch *w); /* NULL is fine; nobody is watched any more */

/* From now on until watch_leave the calling thread is watched. Neither does anything where `w` is NULL. */
void watch_enter(struct watch *w, struct watch_mark *mark, const char *name);
void watch_leave(struct watch *w, struct watch_mark *mark);

/* Of the calling thread, which need not be watched. They cost one look at the clock. */
void watch_step(void);            /* it goes on */
void watch_pause(int64_t max_ms); /* it may wait for so long now, or for work that may never come: WATCH_FOREVER */

/* Logs who is stuck now, and who goes on again. Returns the number of those that are stuck. To be called at least every
 * second, by one thread. */
size_t watch_look(struct watch *w);

/* Somebody who was stuck when watch_look was called last; false: nobody was. `since_ms`: nothing heard for so long. */
bool watch_find_stuck(struct watch *w, char name[16], int64_t *since_ms);

/* The mark of the calling thread, for those that put other stacks in the place of threads. Returns the former one. */
struct watch_mark *watch_swap_mark(struct watch_mark *mark);

#endif
