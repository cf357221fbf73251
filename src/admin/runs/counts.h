/* SPDX-License-Identifier: MIT */
/*
 * runs_counts: what filters counted last, and how many slow searches may be under way. Memory is bounded: the entry
 * that was used longest ago goes.
 *
 * Threads     Any.
 */
#ifndef ADMIN_RUNS_COUNTS_H
#define ADMIN_RUNS_COUNTS_H

#include "shardwheel/store/runs.h"

#define COUNTS_MAX 256
#define COUNT_AGAIN_MS 30000 /* a count that was not done in time is not tried again for so long */

struct run_counts;

struct run_counts *run_counts_create(const struct clock *clock); /* NULL: no memory */
void run_counts_destroy(struct run_counts *counts);              /* NULL is fine */

/* A place among the slow ones; false: all are taken. */
bool run_counts_enter(struct run_counts *counts);
void run_counts_leave(struct run_counts *counts);

/* False: nothing was counted yet. *again: to be counted now; else that took too long a moment ago. */
bool run_counts_find(struct run_counts *counts, const struct run_filter *filter, int64_t *total, bool *again);
/* total -1: it could not be counted in time. */
void run_counts_note(struct run_counts *counts, const struct run_filter *filter, int64_t total);

#endif
