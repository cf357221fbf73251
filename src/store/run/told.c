/* SPDX-License-Identifier: MIT */
/* What was told to whom. */

#include "shardwheel/store/channel.h"
#include "store/conn/rows.h"

#define DAY_MS (INT64_C(24) * 3600 * 1000)
#define FORGET_STEP 1000
#define FORGET_STEPS 20

static void put_row(struct sqlbuf *q, const struct sent_alarm *row)
{
    sql_put(q, "(" STORE_NOW_MS ", ?, ?, ?, ?, ?, ?, ?, ?)", row->event, row->job_id, row->log_id,
            sql_fitted(row->app_name, 64, TEXT_AS_IS), sql_fitted(row->channel, 40, TEXT_AS_IS),
            sql_fitted(row->receiver, 255, TEXT_AS_IS), sql_fitted(row->title, 500, TEXT_AS_IS),
            sql_fitted(row->error, 300, TEXT_AS_IS));
}

enum err store_add_told(struct store_session *s, const struct sent_alarm *rows, size_t count, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; at < count && !e;) {
        store_start_sql(s, "INSERT INTO shardwheel_told (at_ms, event, job_id, log_id, app_name, channel, receiver, "
                           "title, error) VALUES ");
        for (size_t first = at; at < count && !store_is_sql_long(s); at++) {
            sql_puts(&s->sql, at > first ? ", " : "");
            put_row(&s->sql, &rows[at]);
        }
        e = store_write_sql(s, NULL, ec);
    }
    return e ? err_wrap(ec, e, "record a sent message") : ERR_OK;
}

static void put_filter(struct sqlbuf *q, const struct sent_filter *filter, int64_t before_id)
{
    sql_int(q, before_id);
    if (filter->job_id)
        sql_put(q, " AND t.job_id = ?", filter->job_id);
    if (filter->channel)
        sql_put(q, " AND t.channel = ?", filter->channel);
    sql_puts(q, filter->failed ? " AND t.error IS NOT NULL" : "");
    if (filter->groups)
        sql_put(q, " AND j.job_group IN (?)", sql_list(filter->groups, filter->group_count));
}

enum err store_load_told(struct store_session *s, const struct sent_filter *filter, int64_t before_id, size_t limit,
                         struct sent_alarms *out, struct errctx *ec)
{
    static const struct row_type alarms =
        ROWS(struct sent_alarm,
             FIELDS(struct sent_alarm, id, at_ms, event, job_id, log_id, app_name, channel, receiver, title),
             NULL_TEXTS(struct sent_alarm, error), FIELDS(struct sent_alarm, job_group),
             NULL_TEXTS(struct sent_alarm, job_name));

    store_sql(s,
              "SELECT t.id, t.at_ms, t.event, t.job_id, t.log_id, t.app_name, t.channel, t.receiver, t.title, t.error, "
              "j.job_group, j.? FROM shardwheel_told t LEFT JOIN xxl_job_info j ON j.id = t.job_id WHERE t.id < ",
              store_job_name(s));
    put_filter(&s->sql, filter, before_id);
    sql_put(&s->sql, " ORDER BY t.id DESC LIMIT ?", limit);
    enum err e = store_read_list(s, &alarms, out, ec);
    return e ? err_wrap(ec, e, "read the sent messages") : ERR_OK;
}

/* `where` is a constant, `bound` what it is compared with. */
static enum err forget(struct store_session *s, const char *where, int64_t bound, struct errctx *ec)
{
    struct db_effect effect = {.matched = FORGET_STEP};
    enum err e = ERR_OK;

    for (int i = 0; i < FORGET_STEPS && !e && effect.matched >= FORGET_STEP; i++)
        e = store_write(s, &effect, ec, "DELETE FROM shardwheel_told WHERE ? ? LIMIT ?", sql_word(where), bound,
                        FORGET_STEP);
    return e;
}

enum err store_forget_told(struct store_session *s, struct errctx *ec)
{
    int64_t newest = 0, now_ms = 0;
    enum err e = store_number(s, 0, &newest, ec, "SELECT MAX(id) FROM shardwheel_told");

    if (!e && newest > 0)
        e = store_number(s, 0, &now_ms, ec, "SELECT " STORE_NOW_MS);
    if (!e && newest > TOLD_KEPT)
        e = forget(s, "id <=", newest - TOLD_KEPT, ec);
    if (!e && newest > 0)
        e = forget(s, "at_ms <", now_ms - TOLD_DAYS * DAY_MS, ec);
    return e ? err_wrap(ec, e, "delete old sent messages") : ERR_OK;
}
