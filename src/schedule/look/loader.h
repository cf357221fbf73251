/* SPDX-License-Identifier: MIT */
/*
 * loader: looks for planned rows in the log, for all shards of this node together; each shard takes its own.
 *
 * Threads     One of its own. loader_ask, loader_take and loader_drop are called by the threads of the shards, each for
 *             its own.
 * Invariants  Every row of what was asked for is looked at after it was asked for, and given out once. A look goes on
 *             where it stopped, whatever fails meanwhile.
 * Limits      The log is read piece by piece, each as large as the server reads in a moment, and the server itself ends
 *             a statement that takes longer: none goes on that nobody waits for, and no size of the log keeps a look
 *             from its end. What is not urgent pauses as long as it reads.
 */
#ifndef SCHEDULE_LOOK_LOADER_H
#define SCHEDULE_LOOK_LOADER_H

#include "schedule/look/scanner.h"
#include "shardwheel/job.h"
#include "shardwheel/store/conn.h"

#define LOAD_LIMIT_MS 1000      /* of one statement */
#define LOAD_SLOW_MS 300        /* a piece that took longer is followed by smaller ones */
#define LOAD_QUICK_MS 100       /* one that took less, by larger ones */
#define LOAD_PIECE_MAX_S 3600   /* the largest piece, in due seconds; the first one is that large */
#define LOAD_SHRINK 8           /* a piece that came to the limit is tried again in so many parts */
#define LOAD_PAGE_ROWS 20000    /* of a second that cannot be read at once */
#define LOAD_PAGE_LIMIT_MS 5000 /* no smaller piece can be had: the server is given more time for one */
#define LOAD_PAUSE_MAX_MS 1000  /* between two pieces that are not urgent */
#define LOAD_RETRY_MS 500       /* after a failure */

struct loader;

/* Which rows of the shard. */
struct load_ask {
    int64_t from_s; /* due after it */
    int64_t to_s;   /* due at or before it */
    int64_t under;  /* planned under an older epoch; INT64_MAX: under any */
    int64_t epoch;  /* written into each fire */
    bool urgent;    /* goes before what is not, and does not pause */
};

MUST_CHECK enum err loader_create(const struct look_opts *opts, struct loader **out, struct errctx *ec);
MUST_CHECK enum err loader_start(struct loader *l, struct errctx *ec);
/* What its thread does each time it wakes up: returns how many milliseconds to wait for the next time. For the thread,
 * and for tests on a clock of their own, which do not start it. */
int64_t loader_turn(struct loader *l);
/* In place of whatever the shard asked for before. */
void loader_ask(struct loader *l, int shard, const struct load_ask *ask);
/* ERR_BUSY: the look is under way, and goes on. ERR_OK: the fires, oldest first, are the caller's. ERR_STATE: nothing
 * was asked for. Any other error: the last statement failed; it is tried again, and the look stands where it stood. */
MUST_CHECK enum err loader_take(struct loader *l, int shard, struct fire **out, size_t *count, struct errctx *ec);
void loader_drop(struct loader *l, int shard); /* what was asked for is not wanted any more */
void loader_stop(struct loader *l);
void loader_join(struct loader *l); /* waits for the statement under way */
void loader_destroy(struct loader *l);

#endif
