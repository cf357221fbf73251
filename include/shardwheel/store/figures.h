/* SPDX-License-Identifier: MIT */
/*
 * store/figures: what there is, in numbers. See store/conn.h for threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_FIGURES_H
#define SHARDWHEEL_STORE_FIGURES_H

#include "shardwheel/store/conn.h"

#define REPORT_DAY_MAX 16
#define REPORT_DAYS_MAX 4000 /* of one answer: eleven years */

struct report_day {
    char day[REPORT_DAY_MAX]; /* "2026-11-22", local to the database */
    int64_t running, success, fail;
};
struct report_days {
    struct report_day *items; /* ascending; REPORT_DAYS_MAX at most */
    size_t count;
};
/* Both ends are DATETIME texts, and count. Rows of one day are added up. */
MUST_CHECK enum err store_load_report_days(struct store_session *s, const char *from, const char *to,
                                           struct report_days *out, struct errctx *ec);
void report_days_fini(struct report_days *days);

MUST_CHECK enum err store_count_all_jobs(struct store_session *s, int limit_ms, int64_t *all, int64_t *running,
                                         struct errctx *ec);
MUST_CHECK enum err store_sum_report(struct store_session *s, int64_t *out, struct errctx *ec);

#endif
