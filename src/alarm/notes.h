/* SPDX-License-Identifier: MIT */
/*
 * notes: messages that receivers have ended with, until they stand in shardwheel_told for people to read. Nothing hangs
 * on them: what is too much, or what the database does not take, is not kept.
 *
 * Threads     notes_add by any thread, notes_write by one.
 */
#ifndef ALARM_NOTES_H
#define ALARM_NOTES_H

#include "alarm/receiver.h"

struct notes {
    struct mutex lock;          /* rank LOCK_COMPLETE; never held across a call of others */
    struct parcel_list parcels; /* [lock] oldest first */
    size_t count;               /* [lock] */
};

void notes_init(struct notes *n);
void notes_fini(struct notes *n);
/* Takes the parcel. What was given up is told again, and noted then. */
void notes_add(struct notes *n, const struct channel *channel, struct parcel *d);
MUST_CHECK enum err notes_write(struct notes *n, struct store_session *s, struct errctx *ec);

#endif
