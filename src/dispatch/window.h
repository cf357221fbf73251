/* SPDX-License-Identifier: MIT */
/*
 * window: how many requests may be under way at one address. It follows what the executor does: it grows while answers
 * stay quick, and shrinks when they slow down, so that a quick executor is kept busy and a slow one holds no more than
 * its share.
 *
 * Threads     Those of its owner. Pure: values in, a number out.
 * Rule        An answer is quick that takes no longer than twice the quickest one of the last 10 to 20 s; 10 ms are
 *             always quick, more than 100 ms never are. Where more is wanted, each quick answer adds one. An answer
 *             that is not quick halves the window, once for the requests that were under way then. One of more than 100
 *             ms, or a request without an answer, makes it WINDOW_LEAST. An address of which nothing was heard for 100
 *             ms gets no more than that either, until something is heard again.
 * Time        Monotonic.
 */
#ifndef DISPATCH_WINDOW_H
#define DISPATCH_WINDOW_H

#include "shardwheel/base.h"

#define WINDOW_LEAST 4 /* the share of a slow executor, where `most` is not less */

struct window {
    int least;
    int most;
    int size;
    int forgiven;                         /* answers that may be slow before it shrinks again */
    int64_t base_ms;                      /* the quickest answer of the period before this one; INT64_MAX: none */
    int64_t next_base_ms;                 /* of this period */
    int64_t period_end_ms, heard_mono_ms; /* 0 before the first answer */
};

void window_init(struct window *w, int most);
/* So many requests may be under way now. */
int window_get(const struct window *w, int64_t now_mono_ms);
/* took_ms: from the request to its answer. wanted: fires wait, and there is time for more of them. */
void window_note_answer(struct window *w, int64_t took_ms, bool wanted, int64_t now_mono_ms);
void window_note_failure(struct window *w); /* a request that went out ended without an answer */

#endif
