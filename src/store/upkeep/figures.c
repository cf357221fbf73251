/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/figures.h"

#include <stdio.h>
#include <stdlib.h>

#include "store/conn/session.h"

#define READ_LIMIT_MS 5000

enum err store_load_report_days(struct store_session *s, const char *from, const char *to, struct report_days *out,
                                struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t n = 0;
    enum err e = store_ask_limited(
        s, READ_LIMIT_MS, &rows, ec,
        "DATE(trigger_day) AS d, SUM(running_count), SUM(suc_count), SUM(fail_count) FROM xxl_job_log_report WHERE "
        "trigger_day >= ? AND trigger_day <= ? GROUP BY d ORDER BY d LIMIT ?",
        from, to, REPORT_DAYS_MAX);
    struct report_day *items = db_rows_room(&rows, sizeof *items, &e, ec);

    if (e)
        return err_wrap(ec, e, "read the log report");
    while (db_rows_next(rows)) {
        struct report_day *day = &items[n++];
        snprintf(day->day, sizeof day->day, "%.10s", db_text_or_empty(rows, 0));
        day->running = db_int(rows, 1);
        day->success = db_int(rows, 2);
        day->fail = db_int(rows, 3);
    }
    db_rows_destroy(rows);
    *out = (struct report_days){.items = items, .count = n};
    return ERR_OK;
}

void report_days_fini(struct report_days *days)
{
    free(days->items);
    *days = (struct report_days){0};
}

static enum err query_two(struct store_session *s, int64_t *first, int64_t *second, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query_sql(s, &rows, ec);

    if (!e && db_rows_next(rows)) {
        *first = db_int(rows, 0);
        *second = db_int(rows, 1);
    }
    db_rows_destroy(rows);
    return e;
}

enum err store_count_all_jobs(struct store_session *s, int limit_ms, int64_t *all, int64_t *running, struct errctx *ec)
{
    enum err e = store_ready_session(s, ec);

    if (!e) {
        store_start_limited(s, limit_ms, "COUNT(*), COALESCE(SUM(trigger_status = 1), 0) FROM xxl_job_info");
        e = query_two(s, all, running, ec);
    }
    return e ? err_wrap(ec, e, "count the jobs") : ERR_OK;
}

enum err store_sum_report(struct store_session *s, int64_t *out, struct errctx *ec)
{
    int64_t none;
    enum err e = store_ready_session(s, ec);

    if (!e) {
        store_start_limited(s, READ_LIMIT_MS,
                            "COALESCE(SUM(running_count + suc_count + fail_count), 0), 0 FROM xxl_job_log_report");
        e = query_two(s, out, &none, ec);
    }
    return e ? err_wrap(ec, e, "read the log report") : ERR_OK;
}
