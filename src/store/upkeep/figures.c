/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/figures.h"

#include <stdlib.h>

#include "store/conn/rows.h"

#define READ_LIMIT_MS 5000

enum err store_load_report_days(struct store_session *s, const char *from, const char *to, struct report_days *out,
                                struct errctx *ec)
{
    static const struct row_type days = ROWS(struct report_day, FIELDS(struct report_day, day, running, success, fail));

    store_limited(s, READ_LIMIT_MS,
                  "DATE(trigger_day) AS d, SUM(running_count), SUM(suc_count), SUM(fail_count) FROM "
                  "xxl_job_log_report WHERE trigger_day >= ? AND trigger_day <= ? GROUP BY d ORDER BY d LIMIT ?",
                  from, to, REPORT_DAYS_MAX);
    enum err e = store_read_array(s, &days, &out->items, &out->count, ec);
    return e ? err_wrap(ec, e, "read the log report") : ERR_OK;
}

FINI_BY(free, report_days, items)

enum err store_count_all_jobs(struct store_session *s, int limit_ms, int64_t *all, int64_t *running, struct errctx *ec)
{
    struct counts {
        int64_t all, running;
    } counts;
    static const struct row_type row = ROWS(struct counts, FIELDS(struct counts, all, running));

    store_start_limited(s, limit_ms, "COUNT(*), COALESCE(SUM(trigger_status = 1), 0) FROM xxl_job_info");
    enum err e = store_read_row(s, &row, &counts, NULL, ec);
    if (e)
        return err_wrap(ec, e, "count the jobs");
    *all = counts.all;
    *running = counts.running;
    return ERR_OK;
}

enum err store_sum_report(struct store_session *s, int64_t *out, struct errctx *ec)
{
    store_start_limited(s, READ_LIMIT_MS, "SUM(running_count + suc_count + fail_count) FROM xxl_job_log_report");
    enum err e = store_query_number(s, 0, out, ec);
    return e ? err_wrap(ec, e, "read the log report") : ERR_OK;
}
