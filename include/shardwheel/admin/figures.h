/* SPDX-License-Identifier: MIT */
/*
 * admin/figures: the numbers of the dashboard. For whoever is logged in. See admin.h for threads and refusals.
 *
 * Runs are those of the log report: days that somebody counted, the last three about once a minute.
 */
#ifndef SHARDWHEEL_ADMIN_FIGURES_H
#define SHARDWHEEL_ADMIN_FIGURES_H

#include "shardwheel/admin.h"
#include "shardwheel/store/figures.h"

/* Days with a row, whose beginning lies within [from, to]: local times of the database as "2026-11-22 00:00:00".
 * Ascending. */
MUST_CHECK enum err admin_load_days(struct admin *a, const char *from, const char *to, struct report_days *out,
                                    struct refusal *r);
/* The date of the instant `now` less so many days, in the zone of the database: "2026-11-22". */
void admin_write_day(const struct admin *a, int64_t days_ago, char out[REPORT_DAY_MAX]);

struct figures {
    int64_t jobs, jobs_running;
    int64_t runs;      /* of all days that the report has */
    int64_t executors; /* addresses over all groups, each once */
};
MUST_CHECK enum err admin_load_figures(struct admin *a, struct figures *out, struct refusal *r);

#endif
