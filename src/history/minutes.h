/* SPDX-License-Identifier: MIT */
/*
 * minutes: what the counters of a node have gained in a minute.
 *
 * Threads     One owner; counters are read as they are at that moment.
 * Time        Minutes of the clock of the database; a look that comes late belongs to the minute that it began in.
 */
#ifndef HISTORY_MINUTES_H
#define HISTORY_MINUTES_H

#include "shardwheel/counters.h"
#include "shardwheel/store/history.h"

#define MINUTES_WAITING 120 /* that wait for the database; those beyond are added to the last one */

/* Counters as they stood. */
struct minutes_sum {
    int64_t fires, undelivered, succeeded, failed;
    int64_t late_sum_us;
    int64_t lateness[HISTOGRAM_BUCKETS + 1];
};

struct minutes {
    int64_t minute_s; /* the minute that is being counted; 0: none yet */
    struct minutes_sum from;
    struct minute_row waiting[MINUTES_WAITING];
    size_t count;
};

/* The minute that is over joins those that wait, unless nothing was counted in it. True when there is one more. */
bool minutes_look(struct minutes *m, struct counters *counters, int64_t now_ms);
/* The same for what was counted so far in this one, at the node's end. */
bool minutes_end(struct minutes *m, struct counters *counters, int64_t now_ms);
void minutes_drop(struct minutes *m, size_t count); /* the oldest were written */

#endif
