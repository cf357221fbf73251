/* SPDX-License-Identifier: MIT */
/* Rows of a job, counted by minute and state. */
#include <inttypes.h>

#include "store/run/filter.h"
#include "store/run/states.h"

#define MINUTE_CHARS "16" /* "2024-02-29 23:59" */

/* How many due times a row of skipped ones stands for, and 1 for every other: behind <!--sw:s: */
#define WEIGHT                                                                                                         \
    "IF(trigger_code = 500 AND trigger_msg LIKE '<!--sw:s:%', "                                                        \
    "CAST(SUBSTRING_INDEX(SUBSTRING(trigger_msg, 10, 20), '-->', 1) AS UNSIGNED), 1)"
/* The mark of a planned fire names its due time where that is another one. */
#define IS_LATE "(trigger_msg LIKE '<!--sw:p:%' AND SUBSTRING_INDEX(LEFT(trigger_msg, 100), '-->', 1) LIKE '%:O%')"

static const char *find_index(const struct store_features *f)
{
    if (f->log_job_time_name[0])
        return f->log_job_time_name;
    return f->log_job_id_name[0] ? f->log_job_id_name : NULL;
}

enum err store_count_run_minutes(struct store_session *s, int64_t job_id, int64_t from_s, int64_t until_s, int limit_ms,
                                 void (*take)(void *arg, const struct run_minute *minute), void *arg, struct errctx *ec)
{
    static const struct row_type minutes = ROWS(struct run_minute, TIME(struct run_minute, at_s, INT64_MIN),
                                                FIELDS(struct run_minute, state, count, late));
    const struct run_filter filter = {.job_id = job_id, .from_s = from_s, .until_s = until_s - 1};
    const struct store_features *f = store_features(s);
    struct db_rows *rows = NULL;

    struct sqlbuf *q = store_start_limited(s, limit_ms,
                                           "CONCAT(minute, ':00'), state, SUM(weight), SUM(late) FROM (SELECT "
                                           "LEFT(CAST(trigger_time AS CHAR), " MINUTE_CHARS ") AS minute, ");
    run_states_put_number(q);
    sql_puts(q, " AS state, " WEIGHT " AS weight, " IS_LATE " AS late");
    run_put_table(q, find_index(f));
    run_put_prefix(q, s->st->zone, &filter, 0);
    sql_puts(q, ") r GROUP BY minute, state");
    enum err e = store_query_sql(s, &rows, ec);
    while (!e && db_rows_next(rows)) {
        struct run_minute minute = {0};

        row_read(s, rows, &minutes, &minute);
        if (minute.at_s != INT64_MIN && minute.state < RUN_STATES)
            take(arg, &minute);
    }
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "count the runs of job %" PRId64, job_id) : ERR_OK;
}
