/* SPDX-License-Identifier: MIT */
/*
 * offers: runs that have ended, waiting for the thread of keep.
 */
#ifndef KEEP_OFFERS_H
#define KEEP_OFFERS_H

#include "shardwheel/keep.h"

#define OFFERS_MAX 2048

/* Which offers are taken in: the most that the configuration or any job wants. */
void offers_set_level(struct keep_offers *o, enum kept_which level);
/* Whom to tell that there is something; called without a lock. Before the first offer. */
void offers_set_wake(struct keep_offers *o, void (*wake)(void *arg), void *arg);
/* The oldest, at most `max`. Returns their number. */
size_t offers_take(struct keep_offers *o, int64_t *ids, size_t max);
/* From now on none is taken in, and nobody is woken. */
void offers_close(struct keep_offers *o);

#endif
