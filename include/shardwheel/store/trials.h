/* SPDX-License-Identifier: MIT */
/*
 * store/trials: tries whether a server, and what stands before it, does what the protocol is built on. A proxy that
 * sends reads elsewhere, and a server whose locks do nothing, answer every statement politely; so each trial looks at
 * what became of it. See store/conn.h for threads, ownership and errors.
 *
 * Others      Nodes and Java admins at work are not disturbed: the trials have a row of shardwheel_primary and a named
 *             lock of their own, any number of them at once. Ids of shardwheel_event are used up.
 * Cost        Two sessions, some 30 statements: milliseconds, and two seconds where the server knows no NOWAIT.
 */
#ifndef SHARDWHEEL_STORE_TRIALS_H
#define SHARDWHEEL_STORE_TRIALS_H

#include "shardwheel/store/conn.h"

enum trial {
    TRIAL_ONE_SERVER,   /* both sessions write to one server */
    TRIAL_NEWEST_READ,  /* a read outside of transactions is answered by that server, and sees the last write */
    TRIAL_MATCHED_ROWS, /* an update counts the rows that it found, also those that it did not change */
    TRIAL_ROW_LOCKS,    /* a locked row is locked for others, by FOR UPDATE and by LOCK IN SHARE MODE */
    TRIAL_ISOLATION,    /* READ COMMITTED, and statements commit by themselves */
    TRIAL_IDS,          /* an INSERT of several rows gets its ids in one piece */
    TRIAL_NAMED_LOCKS,  /* GET_LOCK is seen by others, under the number that the connection goes by here */
    TRIAL_COUNT
};

/* What did not hold. */
struct trial_fault {
    enum trial trial;
    char what[400];     /* a sentence: what was found */
    const char *change; /* constant: what to do */
};

struct trials {
    struct trial_fault faults[TRIAL_COUNT]; /* in the order of the enum */
    size_t count;
};

/* Needs the tables of ours. An error, with its text, when the trials could not be made. */
MUST_CHECK enum err store_make_trials(struct store *st, struct trials *out, struct errctx *ec);

#endif
