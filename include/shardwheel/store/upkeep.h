/* SPDX-License-Identifier: MIT */
/*
 * store/upkeep: what one node does with the tables for all: the log report, the cleaning of log rows, settings of jobs
 * that are gone. See store/conn.h for threads, ownership and errors.
 *
 * Days        Local days of the zone of DATETIME columns, as numbers: 0 is 1970-01-01. A day has the minutes 0..1439 by
 *             its wall clock, whatever that does.
 */
#ifndef SHARDWHEEL_STORE_UPKEEP_H
#define SHARDWHEEL_STORE_UPKEEP_H

#include "shardwheel/store/conn.h"

#define DAY_MINUTES 1440

/* ERR_CONFLICT unless that epoch is the shard's still. A plain read, which locks nothing and waits for nobody: what is
 * done behind it is small, and harmless when the next owner does it too. */
MUST_CHECK enum err store_check_epoch(struct store_session *s, int shard, int64_t epoch, struct errctx *ec);

/* ---- log report: store/upkeep/report.c --------------------------------------------------------------------------- */

int64_t store_find_day(const struct store *st, int64_t now_s, int *minute);

/* Rows by their state. What is in none of the three others has failed. */
struct report_counts {
    int64_t total;
    int64_t running; /* trigger_code 0 or 200, handle_code 0 */
    int64_t success; /* handle_code 200 */
    int64_t skipped; /* due times that the misfire rule left out: rows with a mark of their own */
};
/* Counts the rows of those minutes of that day by trigger_time: out[i] is of minute `from` + i. The server ends the
 * statement after limit_ms: ERR_TIMEOUT. */
MUST_CHECK enum err store_count_minutes(struct store_session *s, int64_t day, int from, int count, int limit_ms,
                                        struct report_counts *out, struct errctx *ec);
/* Writes the row of xxl_job_log_report of that day. Skipped due times are no failures there. */
MUST_CHECK enum err store_write_report(struct store_session *s, int64_t day, const struct report_counts *counts,
                                       int64_t now_s, struct errctx *ec);

/* ---- cleaning: store/upkeep/clean.c ------------------------------------------------------------------------------ */

#define CLEAN_BATCH_MAX 500 /* rows in one statement */

/* A walk over rows that are old enough: whose trigger_time is at or before the beginning of `before_day`. */
struct clean_walk {
    int64_t before_day;
    const int64_t *job_ids; /* ascending; of these jobs alone... */
    size_t job_count;
    bool except;   /* ... or of all but these */
    char time[64]; /* where the walk is; "" at its beginning. Private, as all below. */
    int64_t id;
    size_t job_at;   /* of a walk over some jobs: the one it is at, where each is looked up by itself */
    int64_t last_id; /* ... it ends there */
};
/* The next rows of the walk, at most `max` (CLEAN_BATCH_MAX): their ids, ascending. *done: the walk has come to its end
 * with these; without it `count` may be 0. Rows that are open and marked are left out: their fires are somebody's. */
MUST_CHECK enum err store_find_expired(struct store_session *s, struct clean_walk *walk, size_t max, int64_t *ids,
                                       size_t *count, bool *done, struct errctx *ec);
/* Removes those of them that still are what store_find_expired looks for, and their kept logs before. Each of the two
 * statements commits. */
MUST_CHECK enum err store_delete_expired(struct store_session *s, const struct clean_walk *walk, const int64_t *ids,
                                         size_t count, size_t *deleted, struct errctx *ec);
/* Removes settings of jobs that are gone, at most 500, if they were written before `before_s`: a job and its settings
 * may be made in two transactions. */
MUST_CHECK enum err store_delete_orphan_settings(struct store_session *s, int64_t before_s, size_t *deleted,
                                                 struct errctx *ec);

#endif
