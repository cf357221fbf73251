/* SPDX-License-Identifier: MIT */
/*
 * watch: ids of log rows that have no end yet, to be looked at again.
 *
 * Threads     One owner.
 * Use         A round: watch_begin gives the ids whose turn it is; watch_note is told each row that was looked at and
 *             still has no end, in any order; watch_end forgets those that were looked at and not noted. watch_abandon
 *             instead, when the looking failed: as if the round had not been.
 * Limits      At most `max` ids; beyond it the lowest ones, which are the oldest, are dropped.
 */
#ifndef FOLLOW_WATCH_H
#define FOLLOW_WATCH_H

#include "shardwheel/base.h"

struct watched {
    int64_t id;
    int64_t seen_ms; /* monotonic: when it was noted first */
};

struct watch {
    struct watched *items; /* ascending by id */
    size_t count;
    size_t max;
    int64_t turn_after; /* the id at which the last turn ended */
    /* Of the round. */
    int64_t *turn; /* the ids that watch_begin gave out */
    size_t turn_count;
    int64_t front_id;
    int64_t *found; /* in the order of watch_note */
    size_t found_count;
};

void watch_init(struct watch *w, size_t max);
void watch_fini(struct watch *w);
/* Rows above front_id are looked at in any case. Of the others up to turn_max, ascending, going on where the last turn
 * ended and round from the lowest; they are in w->turn until the end of the round. */
MUST_CHECK enum err watch_begin(struct watch *w, int64_t front_id, size_t turn_max, struct errctx *ec);
MUST_CHECK enum err watch_note(struct watch *w, int64_t id, struct errctx *ec);
/* *dropped: ids that there was no room for. */
MUST_CHECK enum err watch_end(struct watch *w, int64_t now_ms, size_t *dropped, struct errctx *ec);
void watch_abandon(struct watch *w);
/* When that id was noted first; INT64_MAX when it is not here. */
int64_t watch_get_seen_ms(const struct watch *w, int64_t id);

#endif
