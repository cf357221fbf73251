/* SPDX-License-Identifier: MIT */
/*
 * horizons: the newest ids of earlier looks at the log, each with its time: which rows are surely so old. Ids are given
 * out before their transactions commit, so a row may become visible after rows with higher ids.
 *
 * Threads     One owner.
 */
#ifndef FOLLOW_HORIZONS_H
#define FOLLOW_HORIZONS_H

#include "shardwheel/base.h"

#define HORIZONS_MAX 16

/* All zero: none. */
struct horizons {
    struct horizon {
        int64_t mono_ms;
        int64_t id;
    } list[HORIZONS_MAX]; /* oldest first */
    size_t count;
};

/* Takes out the oldest one, if it is of age_ms ago or more. */
bool horizons_take(struct horizons *h, int64_t now_mono_ms, int64_t age_ms, int64_t *id);
/* The newest id there is now. Left out where the last one is younger than gap_ms, or there is no room. */
void horizons_note(struct horizons *h, int64_t now_mono_ms, int64_t gap_ms, int64_t id);

#endif
