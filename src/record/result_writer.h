/* SPDX-License-Identifier: MIT */
/*
 * result_writer: commits rows of results, however often that takes.
 *
 * Threads     One owner.
 * Invariants  What fails is repeated until it is committed or the owner is stopped; a repeat after an unknown outcome
 *             is harmless. Where the database refuses a batch its rows go one by one, and a row that is refused by
 *             itself is written once more with plain texts before it is given up, with a log line.
 */
#ifndef RECORD_RESULT_WRITER_H
#define RECORD_RESULT_WRITER_H

#include "shardwheel/counters.h"
#include "shardwheel/store/run.h"

/* All zero but for the first five at first. */
struct result_writer {
    struct store *store;
    const struct clock *clock;
    struct counters *counters;
    bool (*pause)(void *arg, int64_t about_ms); /* before the next try; 0: not at all. False: the owner is stopped */
    void *arg;
    struct store_session *session; /* NULL until needed and after a fault */
    bool faulty;                   /* the last transaction failed: one log line for the fault, one for its end */
    struct log_limit refused_log, dropped_log;
};

/* Anything but ERR_OK: stopped, and the try after that failed too. */
MUST_CHECK enum err result_writer_commit(struct result_writer *w, const struct fire_result *results, size_t count);
/* For other work on the session: makes sure that there is one... */
MUST_CHECK enum err result_writer_take_session(struct result_writer *w, struct errctx *ec);
/* ...and after a failure, also of take_session: the next use gets a sound one. */
void result_writer_note_failure(struct result_writer *w, enum err e, const struct errctx *ec);
void result_writer_end(struct result_writer *w); /* gives the session back */

#endif
