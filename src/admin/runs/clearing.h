/* SPDX-License-Identifier: MIT */
/*
 * runs_clearing: removes rows of the log that people want to be rid of: one order after the other, in small statements
 * with rests between them, so that fires are not held up.
 *
 * Threads     Any thread submits; one of its own, `clear`, works. What is left at the stop stays, with a log line.
 * Bounds      RUNS_CLEARS_MAX orders.
 */
#ifndef ADMIN_RUNS_CLEARING_H
#define ADMIN_RUNS_CLEARING_H

#include "shardwheel/admin/runs.h"

struct run_clearing;

struct clear_order {
    struct run_filter filter; /* without texts and lists */
    int64_t keep;             /* the newest of them stay */
    struct run_place from;    /* rows behind it, `keep` or not; zero-initialised: see keep */
    bool in_pieces;           /* it ends when its caller has waited long enough */
    char who[101];
};

struct run_clearing *run_clearing_create(struct store *store, const struct clock *clock); /* NULL: no memory */
void run_clearing_destroy(struct run_clearing *c);                                        /* NULL is fine */
void run_clearing_stop(struct run_clearing *c); /* nobody waits any more; may be called twice */
/* Waits for the end until then. ERR_BUSY: too many wait, or it is stopping. Else what ended it, or ERR_OK with done
 * false: it goes on; in pieces it does not, and the next piece begins at `at`. */
MUST_CHECK enum err run_clearing_submit(struct run_clearing *c, const struct clear_order *order, int64_t wait_ms,
                                        struct run_cleared *out, struct errctx *ec);

#endif
