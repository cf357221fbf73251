/* SPDX-License-Identifier: MIT */
/* shardwheel_minute: what each node counted in each minute. */
#include "shardwheel/store/history.h"

#include <stdlib.h>

#include "store/conn/rows.h"

#define LATENESS_COUNT (HISTOGRAM_BUCKETS + 1)

/* ---- the buckets as a text --------------------------------------------------------------------------------------- */

/* What is no number counts as 0, and so does what is missing. */
static bool read_lateness(const struct store_session *s, const struct db_rows *row, void *item)
{
    const char *text = db_text_or_empty(row, 6);

    (void)s;
    for (size_t i = 0; i < LATENESS_COUNT; i++) {
        char *end = NULL;
        long long value = strtoll(text, &end, 10);

        ((struct minute_row *)item)->lateness[i] = value > 0 ? value : 0;
        text = *end == ',' ? end + 1 : "";
    }
    return true;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put_row(struct sqlbuf *q, const char *incarnation, const struct minute_row *row)
{
    sql_put(q, "(?, ?, ?, ?, ?, ?, ?, '?')", row->minute_s, incarnation, row->fires, row->undelivered, row->succeeded,
            row->failed, row->late_sum_ms, sql_list(row->lateness, LATENESS_COUNT));
}

enum err store_write_minutes(struct store_session *s, const char *incarnation, const struct minute_row *rows,
                             size_t count, struct errctx *ec)
{
    if (count == 0)
        return ERR_OK;
    struct sqlbuf *q = store_start_sql(s, "INSERT INTO shardwheel_minute (minute_s, incarnation, fires, undelivered, "
                                          "succeeded, failed, late_sum_ms, lateness) VALUES ");
    for (size_t i = 0; i < count; i++) {
        sql_puts(q, i ? ", " : "");
        put_row(q, incarnation, &rows[i]);
    }
    sql_puts(q, " ON DUPLICATE KEY UPDATE fires = shardwheel_minute.fires");
    enum err e = store_write_sql(s, NULL, ec);
    return e ? err_wrap(ec, e, "write %zu minutes of the history", count) : ERR_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

enum err store_read_minutes(struct store_session *s, int64_t from_s, int64_t to_s, int limit_ms,
                            void (*take)(void *arg, const struct minute_row *row), void *arg, struct errctx *ec)
{
    static const struct row_type minutes =
        ROWS_AND(struct minute_row, read_lateness,
                 FIELDS(struct minute_row, minute_s, fires, undelivered, succeeded, failed, late_sum_ms));
    struct db_rows *rows = NULL;

    store_limited(s, limit_ms,
                  "minute_s, fires, undelivered, succeeded, failed, late_sum_ms, lateness FROM shardwheel_minute WHERE "
                  "minute_s >= ? AND minute_s < ? ORDER BY minute_s",
                  from_s, to_s);
    enum err e = store_stream_sql(s, &rows, ec);
    while (!e && db_rows_next(rows)) {
        struct minute_row row = {0};

        row_read(s, rows, &minutes, &row);
        take(arg, &row);
    }
    if (!e)
        e = store_end_stream(s, rows, ec);
    return e ? err_wrap(ec, e, "read the minutes of the history") : ERR_OK;
}
