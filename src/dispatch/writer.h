/* SPDX-License-Identifier: MIT */
/*
 * writer: commits the results of deliveries, many in one transaction.
 *
 * Threads     writer_post: any thread, never waits for the database. One thread of its own writes.
 * Invariants  A batch is written when it is full (1,000), or 50 ms after its first result came. A success as planned waits half a
 *             second for its callback (pairs.h), or up to 10 s while callbacks are behind, 1,000 or more wait, and a quarter of the
 *             last ones got theirs in time. It is done with at once when that has brought it along; the wait is cut short when more
 *             than waiting_max wait, and when the writer is told to hurry or stopped; who comes after the deadline of its
 *             sending does not wait. A batch that fails is repeated until it is committed or the writer is stopped; results
 *             are written where trigger_code = 0 only, so a repeat after an unknown outcome is harmless. Where the database
 *             refuses a batch its rows go one by one, and a row that is refused by itself is written once more with plain texts
 *             before it is given up, with a log line.
 * Ownership   writer_post takes the deliveries. How many there can be is bounded by who posts.
 */
#ifndef DISPATCH_WRITER_H
#define DISPATCH_WRITER_H

#include "dispatch/delivery.h"

struct writer;

struct writer_opts {
    struct store *store;
    const struct clock *clock;
    struct counters *counters;
    struct pairs *pairs; /* out of which its deliveries are taken before they are written or freed */
    size_t waiting_max;  /* results that may wait for their callbacks */
    void (*committed)(void *arg, size_t count); /* any thread: so many deliveries are done with */
    void *arg;
};

MUST_CHECK enum err writer_create(const struct writer_opts *opts, struct writer **out, struct errctx *ec);
MUST_CHECK enum err writer_start(struct writer *w, struct errctx *ec);
void writer_post(struct writer *w, struct delivery_list *list); /* the list ends empty */
/* Any thread: what pairs_settle is for; who waits for nothing else is done with. */
void writer_settle(struct writer *w, int64_t log_id, bool written);
void writer_note_behind(struct writer *w); /* any thread: more callbacks come than are being written */
void writer_hurry(struct writer *w);       /* any thread: from now on nothing waits for its callback */
/* No more posts come: what is there is tried once more, then the thread ends. */
void writer_stop(struct writer *w);
void writer_join(struct writer *w);
void writer_destroy(struct writer *w); /* NULL is fine; frees what could not be written */

#endif
