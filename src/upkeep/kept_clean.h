/* SPDX-License-Identifier: MIT */
/*
 * kept_clean: removes kept logs of runs that are old, and the oldest where all together are too large. A few at a time;
 * then it rests.
 *
 * Threads     One owner.
 */
#ifndef UPKEEP_KEPT_CLEAN_H
#define UPKEEP_KEPT_CLEAN_H

#include "shardwheel/base.h"

#define KEPT_CLEAN_BATCH 200
#define KEPT_CLEAN_EVERY_MS 60000 /* between two looks */
#define KEPT_CLEAN_PAUSE_MS 200   /* between two batches */

struct store_session;

struct kept_clean {
    int64_t days;  /* they are kept; 0: for ever */
    int64_t total; /* bytes of all; 0: without a bound */
    int64_t bytes; /* of all, as of the last look */
    int64_t over;  /* bytes that are to go still */
    bool more;     /* the batch before was a full one: another comes without a look at all */
};

void kept_clean_init(struct kept_clean *c, int64_t days, int64_t total);
void kept_clean_forget(struct kept_clean *c);
/* A statement or two. *next_mono_ms: when the next ones are due. */
MUST_CHECK enum err kept_clean_step(struct kept_clean *c, struct store_session *s, const struct clock *clock,
                                    size_t *removed, int64_t *next_mono_ms, struct errctx *ec);

#endif
