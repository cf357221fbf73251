/* SPDX-License-Identifier: MIT */
/* unknown: which of the rows that a node left open were probably sent. Pure; any thread. */
#ifndef SCHEDULE_SHARD_UNKNOWN_H
#define SCHEDULE_SHARD_UNKNOWN_H

#include "shardwheel/job.h"

/* Puts the log ids of the list, which are due at or before cursor_s, into `ids`, which has room for all: first those
 * due before it, ascending, then the others, ascending. Returns how many are due before it: a whole second went by
 * between their hand-over and the last one of their node. They were sent, unless their executor kept them waiting, and
 * lack nothing but their result. The others may have been on their way. */
size_t unknown_sort(const struct fire *list, int64_t cursor_s, int64_t *ids);

#endif
