/* SPDX-License-Identifier: MIT */
/* The log report: rows counted by minutes of their trigger_time, and the three numbers of a day written. */
#include <string.h>

#include "shardwheel/store/upkeep.h"
#include "store/conn/datetime.h"
#include "store/conn/rows.h"

enum err store_check_epoch(struct store_session *s, int shard, int64_t epoch, struct errctx *ec)
{
    int64_t now = 0;
    enum err e = store_number(s, -1, &now, ec, "SELECT epoch FROM shardwheel_shard WHERE shard = ?", shard);

    if (e)
        return err_wrap(ec, e, "read the epoch of shard %d", shard);
    return now == epoch ? ERR_OK : err_set(ec, ERR_CONFLICT, "shard %d has another owner", shard);
}

int64_t store_find_day(const struct store *st, int64_t now_s, int *minute)
{
    return datetime_day(st->zone, now_s, minute);
}

/* ---- counting ---------------------------------------------------------------------------------------------------- */

/* trigger_msg is looked at where the codes say that it may be a skipped due time: elsewhere it may be long. */
static const char columns[] =
    "HOUR(trigger_time) * 60 + MINUTE(trigger_time) AS m, COUNT(*), "
    "SUM(trigger_code IN (0, 200) AND handle_code = 0), SUM(handle_code = 200), "
    "SUM(IF(trigger_code = 500 AND handle_code = 0 AND alarm_status = 1, "
    "COALESCE(LEFT(trigger_msg, 9) = '<!--sw:s:', 0), 0)) FROM xxl_job_log WHERE trigger_time >= ";

enum err store_count_minutes(struct store_session *s, int64_t day, int from, int count, int limit_ms,
                             struct report_counts *out, struct errctx *ec)
{
    static const struct row_type minutes =
        ROWS(struct report_counts, SKIP, FIELDS(struct report_counts, total, running, success, skipped));
    char low[DATETIME_TEXT_MAX], high[DATETIME_TEXT_MAX];
    struct db_rows *rows = NULL;

    datetime_format_day(day, from, low);
    datetime_format_day(day, (int64_t)from + count, high);
    sql_put(store_start_limited(s, limit_ms, columns), "? AND trigger_time < ? GROUP BY m", low, high);
    enum err e = store_query_sql(s, &rows, ec);
    if (e)
        return err_wrap(ec, e, "count log rows from %s", low);
    memset(out, 0, (size_t)count * sizeof *out);
    while (db_rows_next(rows)) {
        int64_t i = db_int(rows, 0) - from;
        if (i >= 0 && i < count)
            row_read(s, rows, &minutes, &out[i]);
    }
    db_rows_destroy(rows);
    return ERR_OK;
}

/* ---- the row of a day -------------------------------------------------------------------------------------------- */

/* The columns are INT. */
static int64_t bound(int64_t n)
{
    return n < 0 ? 0 : n > INT32_MAX ? INT32_MAX : n;
}

/* An INSERT that finds its row would use up an id each minute, so the UPDATE comes first. */
enum err store_write_report(struct store_session *s, int64_t day, const struct report_counts *counts, int64_t now_s,
                            struct errctx *ec)
{
    int64_t fail = counts->total - counts->running - counts->success - counts->skipped;
    char midnight[DATETIME_TEXT_MAX];
    struct db_effect effect = {0};
    enum err e = ERR_OK;

    datetime_format_day(day, 0, midnight);
    for (int insert = 0; insert < 2 && !e && effect.matched == 0; insert++)
        e = store_write(s, &effect, ec,
                        "? xxl_job_log_report SET running_count = ?, suc_count = ?, fail_count = ?, update_time = ? ? "
                        "trigger_day = ?",
                        sql_word(insert ? "INSERT INTO" : "UPDATE"), bound(counts->running), bound(counts->success),
                        bound(fail), sql_time(s->st->zone, now_s), sql_word(insert ? "," : "WHERE"), midnight);
    return e ? err_wrap(ec, e, "write the log report of %.10s", midnight) : ERR_OK;
}
