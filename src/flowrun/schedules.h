/* SPDX-License-Identifier: MIT */
/* flowrun/schedules: what becomes of a flow that is due. No clock and no database. */
#ifndef FLOWRUN_SCHEDULES_H
#define FLOWRUN_SCHEDULES_H

#include "flowrun/advance.h"

/* The first due time after from_s; due_s: the one before it, whose phase a fixed rate keeps, 0: there is none.
 * 0: there is none, or it comes when a run has ended. */
int64_t schedules_find_next(const struct flow_settings *settings, const struct zone *zone, int64_t max_year,
                            int64_t due_s, int64_t from_s);
/* With a delay: the due time after a run that has ended then; 0: there is none. */
int64_t schedules_find_delayed(const struct flow_settings *settings, int64_t end_s);
/* `flow` is due at flow->next_s, at or before now_s. Due times that are older than FLOW_MISSED_S are missed: they have
 * one run, or none, as the document says. */
#define FLOW_MISSED_S 60
void schedules_plan(const struct flow_settings *settings, const struct zone *zone, int64_t max_year, int64_t now_s,
                    struct flow_start *start);

#endif
