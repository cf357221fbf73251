/* SPDX-License-Identifier: MIT */
#include "store/people/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/history/list.h"

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* What made it shall bound it; a change does not fail for its audit. `instead` is room. */
static struct sql_value bound_json(const char *json, char instead[64])
{
    if (!json || strlen(json) <= AUDIT_JSON_MAX)
        return sql_or_null(json);
    snprintf(instead, 64, "{\"bytesLeftOut\":%zu}", strlen(json));
    return sql_of_text(instead);
}

static struct sql_value bound_text(const char *text, size_t max_chars)
{
    return sql_fitted(text ? text : "", max_chars, TEXT_AS_IS);
}

enum err store_put_audit(struct store_session *s, const struct audit_row *row, struct errctx *ec)
{
    char before[64], after[64];

    if (!row)
        return ERR_OK;
    enum err e = store_exec(
        s, NULL, ec,
        "INSERT INTO shardwheel_audit (at_ms, user_id, who, address, via, action, target, target_name, job_group, "
        "before_json, after_json) VALUES (" STORE_NOW_MS ", ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row->user_id, bound_text(row->who, 100), bound_text(row->address, 64), bound_text(row->via, 64),
        bound_text(row->action, 40), row->target, bound_text(row->target_name, 100), row->job_group,
        bound_json(row->before, before), bound_json(row->after, after));
    return e ? err_wrap(ec, e, "write the audit row of %s", row->action) : ERR_OK;
}

enum err store_add_audit(struct store_session *s, const struct audit_row *row, struct errctx *ec)
{
    enum err e = store_ready_session(s, ec);

    return e ? e : store_put_audit(s, row, ec);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* As an index can look it up. */
static void put_prefix(struct sqlbuf *q, const char *prefix)
{
    struct buf pattern = {0};

    for (const char *c = prefix; *c; c++) {
        if (strchr("%_\\", *c))
            buf_putc(&pattern, '\\');
        buf_putc(&pattern, *c);
    }
    buf_putc(&pattern, '%');
    sql_puts(q, " AND action LIKE ");
    if (buf_failed(&pattern))
        q->text.failed = true;
    else
        sql_text(q, pattern.data);
    buf_fini(&pattern);
}

static void put_action(struct sqlbuf *q, const char *action)
{
    size_t len = strlen(action);

    if (len == 0 || action[len - 1] != '.') {
        sql_put(q, " AND action = ?", action);
        return;
    }
    put_prefix(q, action);
}

static void put_filter(struct sqlbuf *q, const struct audit_filter *f, struct history_place place)
{
    if (f->who)
        sql_put(q, " AND who = ?", f->who);
    if (f->action)
        put_action(q, f->action);
    if (f->target > 0)
        sql_put(q, " AND target = ?", f->target);
    if (f->job_group > 0)
        sql_put(q, " AND job_group = ?", f->job_group);
    if (f->of_jobs)
        sql_puts(q, " AND (action LIKE 'job.%' OR action LIKE 'glue.%')");
    switch (f->scope) {
    case AUDIT_OF_LISTED: store_put_history_groups(q, f->groups, f->group_count, /*none=*/false); break;
    case AUDIT_OF_GROUPS: sql_puts(q, " AND job_group > 0"); break;
    case AUDIT_OF_ALL: break;
    }
    store_put_history_range(q, f->from_ms, f->to_ms, place);
}

static struct audit_entry read_entry(const struct db_rows *rows)
{
    return (struct audit_entry){.id = db_int(rows, 0),
                                .at_ms = db_int(rows, 1),
                                .row = {.user_id = db_int(rows, 2),
                                        .who = db_text_or_empty(rows, 3),
                                        .address = db_text_or_empty(rows, 4),
                                        .via = db_text_or_empty(rows, 5),
                                        .action = db_text_or_empty(rows, 6),
                                        .target = db_int(rows, 7),
                                        .target_name = db_text_or_empty(rows, 8),
                                        .job_group = db_int(rows, 9),
                                        .before = db_text(rows, 10),
                                        .after = db_text(rows, 11)}};
}

enum err store_load_audit(struct store_session *s, const struct audit_filter *filter, struct history_place place,
                          size_t max, int limit_ms, struct audit_page *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t n = 0;
    enum err e = store_ready_session(s, ec);

    if (!e) {
        struct sqlbuf *q = store_start_limited(s, limit_ms,
                                               "id, at_ms, user_id, who, address, via, action, target, target_name, "
                                               "job_group, before_json, after_json FROM shardwheel_audit WHERE 1 = 1");
        put_filter(q, filter, place);
        store_put_history_order(q, max);
        e = store_query_sql(s, &rows, ec);
    }
    struct audit_entry *items = db_rows_room(&rows, sizeof *items, &e, ec);
    if (e)
        return err_wrap(ec, e, "read the audit");
    while (db_rows_next(rows))
        items[n++] = read_entry(rows);
    *out = (struct audit_page){.items = items, .count = n, .memory = rows};
    return ERR_OK;
}

void audit_page_fini(struct audit_page *page)
{
    db_rows_destroy(page->memory);
    free(page->items);
    *page = (struct audit_page){0};
}

enum err store_write_audit(struct store_session *s, const struct audit_row *row, struct errctx *ec)
{
    return store_end_audited(s, store_begin_txn(s, ec), row, ec);
}

enum err store_end_audited(struct store_session *s, enum err e, const struct audit_row *row, struct errctx *ec)
{
    if (!e)
        e = store_put_audit(s, row, ec);
    return store_finish_txn(s, e, ec);
}
