/* SPDX-License-Identifier: MIT */
/* shardwheel_minute: what each node counted in each minute. */
#include "shardwheel/store/history.h"

#include <stdlib.h>

#include "store/conn/session.h"

#define LATENESS_COUNT (HISTOGRAM_BUCKETS + 1)

/* ---- the buckets as a text --------------------------------------------------------------------------------------- */

static void put_lateness(struct buf *out, const int64_t *lateness)
{
    for (size_t i = 0; i < LATENESS_COUNT; i++) {
        if (i)
            buf_putc(out, ',');
        buf_put_int(out, lateness[i]);
    }
}

/* What is no number counts as 0, and so does what is missing. */
static void read_lateness(const char *text, int64_t *out)
{
    for (size_t i = 0; i < LATENESS_COUNT; i++) {
        char *end = NULL;
        long long value = strtoll(text, &end, 10);

        out[i] = value > 0 ? value : 0;
        text = *end == ',' ? end + 1 : "";
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put_row(struct sqlbuf *q, const char *incarnation, const struct minute_row *row)
{
    const int64_t values[] = {row->fires, row->undelivered, row->succeeded, row->failed, row->late_sum_ms};
    struct buf lateness = {0};

    sql_put(q, "(?, ?", row->minute_s, incarnation);
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        sql_put(q, ", ?", values[i]);
    sql_puts(q, ", ");
    put_lateness(&lateness, row->lateness);
    if (buf_failed(&lateness))
        q->text.failed = true;
    else
        sql_text(q, lateness.data);
    buf_fini(&lateness);
    sql_puts(q, ")");
}

enum err store_write_minutes(struct store_session *s, const char *incarnation, const struct minute_row *rows,
                             size_t count, struct errctx *ec)
{
    enum err e = count > 0 ? store_ready_session(s, ec) : ERR_OK;

    if (e || count == 0)
        return e;
    struct sqlbuf *q = store_start_sql(s, "INSERT INTO shardwheel_minute (minute_s, incarnation, fires, undelivered, "
                                          "succeeded, failed, late_sum_ms, lateness) VALUES ");
    for (size_t i = 0; i < count; i++) {
        sql_puts(q, i ? ", " : "");
        put_row(q, incarnation, &rows[i]);
    }
    sql_puts(q, " ON DUPLICATE KEY UPDATE fires = shardwheel_minute.fires");
    e = store_write_sql(s, NULL, ec);
    return e ? err_wrap(ec, e, "write %zu minutes of the history", count) : ERR_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

enum err store_read_minutes(struct store_session *s, int64_t from_s, int64_t to_s, int limit_ms,
                            void (*take)(void *arg, const struct minute_row *row), void *arg, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_ready_session(s, ec);

    if (!e) {
        store_limited(s, limit_ms,
                      "minute_s, fires, undelivered, succeeded, failed, late_sum_ms, lateness FROM "
                      "shardwheel_minute WHERE minute_s >= ? AND minute_s < ? ORDER BY minute_s",
                      from_s, to_s);
        e = store_stream_sql(s, &rows, ec);
    }
    if (!e) {
        while (db_rows_next(rows)) {
            struct minute_row row = {.minute_s = db_int(rows, 0),
                                     .fires = db_int(rows, 1),
                                     .undelivered = db_int(rows, 2),
                                     .succeeded = db_int(rows, 3),
                                     .failed = db_int(rows, 4),
                                     .late_sum_ms = db_int(rows, 5)};

            read_lateness(db_text_or_empty(rows, 6), row.lateness);
            take(arg, &row);
        }
        e = store_end_stream(s, rows, ec);
    }
    return e ? err_wrap(ec, e, "read the minutes of the history") : ERR_OK;
}
