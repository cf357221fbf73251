/* SPDX-License-Identifier: MIT */
/* shardwheel_event: what happened to nodes, shards, database and jobs. */
#include "shardwheel/store/history.h"

#include <stdlib.h>

#include "store/history/list.h"

#define EVENT_TEXT_MAX 2000 /* characters of a sentence */

static const char insert_event[] = "INSERT INTO shardwheel_event (at_ms, until_ms, kind, node, shard, job_id, "
                                   "job_group, detail, data_json) ";

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void put_int_or_null(struct sqlbuf *q, int64_t value, int64_t null)
{
    sql_puts(q, ", ");
    if (value == null)
        sql_puts(q, "NULL");
    else
        sql_int(q, value);
}

static void put_event(struct sqlbuf *q, const struct event_row *row)
{
    sql_int(q, row->at_ms);
    put_int_or_null(q, row->until_ms, 0);
    sql_put(q, ", ?, ?", sql_fitted(row->kind, 32, TEXT_AS_IS), sql_fitted(row->node, 128, TEXT_AS_IS));
    put_int_or_null(q, row->shard, -1);
    put_int_or_null(q, row->job_id, 0);
    sql_put(q, ", ?, ?, ?", row->job_group, sql_fitted(row->detail, EVENT_TEXT_MAX, TEXT_AS_IS),
            sql_or_null(row->data));
}

enum err store_write_events(struct store_session *s, const struct event_row *rows, size_t count, struct errctx *ec)
{
    enum err e = count > 0 ? store_ready_session(s, ec) : ERR_OK;

    if (e || count == 0)
        return e;
    struct sqlbuf *q = store_start_sql(s, insert_event);
    for (size_t i = 0; i < count; i++) {
        sql_puts(q, i ? ", (" : "VALUES (");
        put_event(q, &rows[i]);
        sql_puts(q, ")");
    }
    e = store_write_sql(s, NULL, ec);
    return e ? err_wrap(ec, e, "write %zu events", count) : ERR_OK;
}

static void put_not_own(struct sqlbuf *q, const struct event_row *row)
{
    sql_put(q, " AND NOT EXISTS (SELECT 1 FROM shardwheel_audit WHERE target = ? AND at_ms >= ? AND at_ms <= ",
            row->job_id, row->at_ms - EVENT_OWN_MS);
    sql_int(q, row->at_ms + 1000 + EVENT_OWN_MS); /* update_time has no fraction of a second */
    sql_puts(q, " AND (action LIKE 'job%' OR action LIKE 'glue%'))");
}

enum err store_write_event_once(struct store_session *s, const struct event_row *row, bool unless_own, bool *written,
                                struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_ready_session(s, ec);

    if (e)
        return e;
    struct sqlbuf *q = store_start_sql(s, insert_event);
    sql_puts(q, "SELECT ");
    put_event(q, row);
    sql_put(q,
            " FROM (SELECT 1 AS one) o WHERE NOT EXISTS (SELECT 1 FROM shardwheel_event WHERE at_ms = ? AND kind = ?",
            row->at_ms, row->kind);
    if (row->job_id) {
        sql_put(q, " AND job_id = ?", row->job_id);
    } else {
        sql_put(q, " AND node = ?", row->node);
    }
    sql_puts(q, ")");
    if (unless_own)
        put_not_own(q, row);
    e = store_write_sql(s, &effect, ec);
    if (e)
        return err_wrap(ec, e, "write the event %s", row->kind);
    *written = effect.matched > 0;
    return ERR_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static struct event_row read_event(const struct db_rows *rows)
{
    return (struct event_row){.id = db_int(rows, 0),
                              .at_ms = db_int(rows, 1),
                              .until_ms = db_int(rows, 2),
                              .kind = db_text_or_empty(rows, 3),
                              .node = db_text_or_empty(rows, 4),
                              .shard = db_text(rows, 5) ? (int)db_int(rows, 5) : -1,
                              .job_id = db_int(rows, 6),
                              .job_group = db_int(rows, 7),
                              .detail = db_text_or_empty(rows, 8),
                              .data = db_text(rows, 9)};
}

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
    struct db_rows *rows = NULL;
    size_t n = 0;
    enum err e = store_ready_session(s, ec);

    if (!e) {
        struct sqlbuf *q = store_start_limited(s, limit_ms,
                                               "id, at_ms, until_ms, kind, node, shard, job_id, "
                                               "job_group, detail, data_json FROM shardwheel_event "
                                               "WHERE 1 = 1");
        put_filter(q, filter, place);
        store_put_history_order(q, max);
        e = store_query_sql(s, &rows, ec);
    }
    struct event_row *items = db_rows_room(&rows, sizeof *items, &e, ec);
    if (e)
        return err_wrap(ec, e, "read the events");
    while (db_rows_next(rows))
        items[n++] = read_event(rows);
    *out = (struct event_page){.items = items, .count = n, .memory = rows};
    return ERR_OK;
}

void event_page_fini(struct event_page *page)
{
    db_rows_destroy(page->memory);
    free(page->items);
    *page = (struct event_page){0};
}
