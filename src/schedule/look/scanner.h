/* SPDX-License-Identifier: MIT */
/*
 * scanner: looks once a second which jobs and which later rows fall due, for all shards of this node together; each
 * shard takes its part.
 *
 * Threads     One of its own. scanner_ask, scanner_take and scanner_drop are called by the threads of the shards, each
 *             for its own.
 * Invariants  A part was read after it was asked for, and is given out once. It is a hint: what is due is read again
 *             when it is claimed. Only one that is complete, all of its jobs claimed, says that a window is
 *             planned.
 * Time        The look is at SCAN_PHASE_MS of the wall clock's second, away from the tick and before the claims of the
 *             shards.
 */
#ifndef SCHEDULE_LOOK_SCANNER_H
#define SCHEDULE_LOOK_SCANNER_H

#include "shardwheel/store/conn.h"

#define SCAN_PHASE_MS 200
#define SCAN_GAP_MS 100        /* between two looks, however much they are wanted */
#define SCAN_RETRY_MS 500      /* after one that failed */
#define SCAN_LIMIT 200000      /* ids in one look: 16 bytes each */
#define SCAN_LATER_LIMIT 20000 /* later rows in one look */
#define SCAN_TOGETHER_MS 300   /* asked for so soon: comes along */

struct scanner;

/* Of the loader, too. */
struct look_opts {
    int shards; /* N */
    struct store *store;
    struct watch *watch; /* NULL: nobody watches the thread */
    const struct clock *clock;
    void (*ready)(void *arg, int shard); /* there is something to take; on the thread that looks */
    void *arg;
};

/* What one look found of a shard. */
struct scan_part {
    int64_t *ids; /* most overdue first; free with free */
    size_t count;
    int64_t *later; /* ids of later rows, most overdue first; free with free */
    size_t later_count;
    int64_t until_ms; /* due by then */
    bool complete;    /* false: more jobs are due */
    bool later_more;  /* more later rows are due */
};

void scan_part_fini(struct scan_part *part);

MUST_CHECK enum err scanner_create(const struct look_opts *opts, struct scanner **out, struct errctx *ec);
MUST_CHECK enum err scanner_start(struct scanner *s, struct errctx *ec);
/* What its thread does each time it wakes up: returns how many milliseconds to wait for the next time. For the thread,
 * and for tests on a clock of their own, which do not start it. */
int64_t scanner_turn(struct scanner *s);
/* Wants a part, with the next second's look or at once. Asking again before it is there changes nothing but the
 * haste. */
void scanner_ask(struct scanner *s, int shard, bool at_once);
bool scanner_take(struct scanner *s, int shard, struct scan_part *out); /* false: none is there */
void scanner_drop(struct scanner *s, int shard);                        /* what was asked for is not wanted any more */
void scanner_stop(struct scanner *s);
void scanner_join(struct scanner *s); /* waits for the look under way */
void scanner_destroy(struct scanner *s);

#endif
