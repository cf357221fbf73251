/* SPDX-License-Identifier: MIT */
/* shardwheel_event: what happened to nodes, shards, database and jobs. */
#include "shardwheel/store/history.h"

#include "store/conn/rows.h"
#include "store/history/list.h"

#define EVENT_TEXT_MAX 2000 /* characters of a sentence */

static const char insert_event[] = "INSERT INTO shardwheel_event (at_ms, until_ms, kind, node, shard, job_id, "
                                   "job_group, detail, data_json) ";

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put_event(struct sqlbuf *q, const struct event_row *row)
{
    sql_put(q, "?, ?, ?, ?, ?, ?, ?, ?, ?", row->at_ms, sql_int_or_null(row->until_ms),
            sql_fitted(row->kind, 32, TEXT_AS_IS), sql_fitted(row->node, 128, TEXT_AS_IS),
            row->shard == -1 ? sql_or_null(NULL) : sql_of_int(row->shard), sql_int_or_null(row->job_id), row->job_group,
            sql_fitted(row->detail, EVENT_TEXT_MAX, TEXT_AS_IS), sql_or_null(row->data));
}

enum err store_write_events(struct store_session *s, const struct event_row *rows, size_t count, struct errctx *ec)
{
    if (count == 0)
        return ERR_OK;
    struct sqlbuf *q = store_start_sql(s, insert_event);
    for (size_t i = 0; i < count; i++) {
        sql_puts(q, i ? ", (" : "VALUES (");
        put_event(q, &rows[i]);
        sql_puts(q, ")");
    }
    enum err e = store_write_sql(s, NULL, ec);
    return e ? err_wrap(ec, e, "write %zu events", count) : ERR_OK;
}

static void put_not_own(struct sqlbuf *q, const struct event_row *row)
{
    /* update_time has no fraction of a second */
    sql_put(q,
            " AND NOT EXISTS (SELECT 1 FROM shardwheel_audit WHERE target = ? AND at_ms >= ? AND at_ms <= ? AND "
            "(action LIKE 'job%' OR action LIKE 'glue%'))",
            row->job_id, row->at_ms - EVENT_OWN_MS, row->at_ms + 1000 + EVENT_OWN_MS);
}

enum err store_write_event_once(struct store_session *s, const struct event_row *row, bool unless_own, bool *written,
                                struct errctx *ec)
{
    struct db_effect effect = {0};
    struct sqlbuf *q = store_start_sql(s, insert_event);

    sql_puts(q, "SELECT ");
    put_event(q, row);
    sql_put(q,
            " FROM (SELECT 1 AS one) o WHERE NOT EXISTS (SELECT 1 FROM shardwheel_event WHERE at_ms = ? AND kind = ?",
            row->at_ms, row->kind);
    if (row->job_id)
        sql_put(q, " AND job_id = ?)", row->job_id);
    else
        sql_put(q, " AND node = ?)", row->node);
    if (unless_own)
        put_not_own(q, row);
    enum err e = store_write_sql(s, &effect, ec);
    if (e)
        return err_wrap(ec, e, "write the event %s", row->kind);
    *written = effect.matched > 0;
    return ERR_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void put_filter(struct sqlbuf *q, const struct event_filter *f, struct history_place place)
{
    if (f->kind)
        sql_put(q, " AND kind = ?", f->kind);
    if (f->job_id > 0)
        sql_put(q, " AND job_id = ?", f->job_id);
    if (f->by_shard)
        sql_put(q, " AND shard = ?", f->shard);
    if (f->no_jobs)
        sql_puts(q, " AND job_id IS NULL");
    if (f->no_shards)
        sql_puts(q, " AND shard IS NULL");
    if (!f->all_groups)
        store_put_history_groups(q, f->groups, f->group_count, /*none=*/true);
    store_put_history_range(q, f->from_ms, f->to_ms, place);
}

enum err store_load_events(struct store_session *s, const struct event_filter *filter, struct history_place place,
                           size_t max, int limit_ms, struct event_page *out, struct errctx *ec)
{
    static const struct row_type events = ROWS(
        struct event_row, FIELDS(struct event_row, id, at_ms, until_ms, kind, node, shard, job_id, job_group, detail),
        NULL_TEXTS(struct event_row, data));
    struct sqlbuf *q = store_start_limited(s, limit_ms,
                                           "id, at_ms, until_ms, kind, node, COALESCE(shard, -1), job_id, job_group, "
                                           "detail, data_json FROM shardwheel_event WHERE 1 = 1");

    put_filter(q, filter, place);
    store_put_history_order(q, max);
    enum err e = store_read_list(s, &events, out, ec);
    return e ? err_wrap(ec, e, "read the events") : ERR_OK;
}
