/* SPDX-License-Identifier: MIT */
#include "store/people/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/history/list.h"
#include "store/hook/put.h"

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

static void start_row(struct store_session *s, const struct audit_row *row)
{
    char before[64], after[64];

    store_sql(
        s,
        "INSERT INTO shardwheel_audit (at_ms, user_id, who, address, via, action, target, target_name, job_group, "
        "before_json, after_json) VALUES (" STORE_NOW_MS ", ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        row->user_id, bound_text(row->who, 100), bound_text(row->address, 64), bound_text(row->via, 64),
        bound_text(row->action, 40), row->target, bound_text(row->target_name, 100), row->job_group,
        bound_json(row->before, before), bound_json(row->after, after));
    s->sql.text.failed |= row->failed;
}

enum err store_put_audit(struct store_session *s, const struct audit_row *row, struct errctx *ec)
{
    if (!row)
        return ERR_OK;
    struct db_effect effect = {0};

    start_row(s, row);
    enum err e = store_exec_sql(s, &effect, ec);
    if (!e)
        e = hook_put_change(s, row, effect.first_id, ec);
    return e ? err_wrap(ec, e, "write the audit row of %s", row->action) : ERR_OK;
}

enum err store_write_audit(struct store_session *s, const struct audit_row *row, struct errctx *ec)
{
    start_row(s, row);
    enum err e = store_write_sql(s, NULL, ec);
    return e ? err_wrap(ec, e, "write the audit row of %s", row->action) : ERR_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void put_action(struct sqlbuf *q, const char *action)
{
    size_t len = strlen(action);
    struct buf pattern = {0};

    if (len == 0 || action[len - 1] != '.') {
        sql_put(q, " AND action = ?", action);
        return;
    }
    for (const char *c = action; *c; c++) { /* a prefix, as an index can look it up */
        if (strchr("%_\\", *c))
            buf_putc(&pattern, '\\');
        buf_putc(&pattern, *c);
    }
    buf_putc(&pattern, '%');
    sql_puts(q, " AND action LIKE ");
    sql_take_text(q, &pattern, SIZE_MAX, TEXT_AS_IS);
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

enum err store_load_audit(struct store_session *s, const struct audit_filter *filter, struct history_place place,
                          size_t max, int limit_ms, struct audit_page *out, struct errctx *ec)
{
    static const struct row_type entries = ROWS(struct audit_entry,
                                                FIELDS(struct audit_entry, id, at_ms, row.user_id, row.who, row.address,
                                                       row.via, row.action, row.target, row.target_name, row.job_group),
                                                NULL_TEXTS(struct audit_entry, row.before, row.after));
    struct sqlbuf *q = store_start_limited(s, limit_ms,
                                           "id, at_ms, user_id, who, address, via, action, target, target_name, "
                                           "job_group, before_json, after_json FROM shardwheel_audit WHERE 1 = 1");

    put_filter(q, filter, place);
    store_put_history_order(q, max);
    enum err e = store_read_list(s, &entries, out, ec);
    return e ? err_wrap(ec, e, "read the audit") : ERR_OK;
}

/* ---- changes and their rows -------------------------------------------------------------------------------------- */

enum err store_end_audited(struct store_session *s, enum err e, const struct audit_row *row, struct errctx *ec)
{
    if (!e)
        e = store_put_audit(s, row, ec);
    return store_finish_txn(s, e, ec);
}

enum err store_end_added(struct store_session *s, enum err e, const struct audit_row *row, int64_t id,
                         struct errctx *ec)
{
    struct audit_row named = row ? *row : (struct audit_row){0};

    named.target = id;
    return store_end_audited(s, e, row ? &named : NULL, ec);
}

enum err store_exec_found(struct store_session *s, const char *one, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_exec_sql(s, &effect, ec);

    return !e && effect.matched == 0 ? err_set(ec, ERR_NOTFOUND, "there is no such %s", one) : e;
}

/* Sends s->sql, whose rows are an id, and whether it has what must differ. */
static enum err check_room(struct store_session *s, const struct audited_table *t, int64_t id, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    int64_t count = 0;
    bool taken = false, found = false;
    enum err e = store_query_sql(s, &rows, ec);

    while (!e && db_rows_next(rows)) {
        count++;
        found = found || db_int(rows, 0) == id;
        taken = taken || (db_int(rows, 1) != 0 && db_int(rows, 0) != id);
    }
    db_rows_destroy(rows);
    if (!e && id && !found)
        e = err_set(ec, ERR_NOTFOUND, "there is no such %s", t->one);
    if (!e && taken)
        e = err_set(ec, ERR_STATE, "another %s has %s", t->one, t->has_same);
    if (!e && !id && count >= t->max)
        e = err_set(ec, ERR_BUSY, "there are %" PRId64 " %ss, which is the maximum", count, t->one);
    return e;
}

enum err store_put_audited(struct store_session *s, const struct audited_table *t, int64_t id, const char *same,
                           const struct sql_value *same_values, const char *members, const struct sql_value *values,
                           const struct audit_row *audit, int64_t *added, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_begin_txn(s, ec);

    if (!e) {
        sql_put_values(store_start_sql(s, "SELECT id, "), same, same_values);
        sql_put(&s->sql, " FROM ? FOR UPDATE", sql_word(t->table));
        e = check_room(s, t, id, ec);
    }
    if (!e) {
        store_sql(s, "? ? SET ", sql_word(id ? "UPDATE" : "INSERT INTO"), sql_word(t->table));
        sql_put_values(&s->sql, members, values);
        if (id)
            sql_put(&s->sql, " WHERE id = ?", id);
        e = store_exec_sql(s, &effect, ec);
    }
    e = id ? store_end_audited(s, e, audit, ec) : store_end_added(s, e, audit, effect.first_id, ec);
    if (!e && !id)
        *added = effect.first_id;
    if (e && !id)
        return err_wrap(ec, e, "add %s", t->new_one);
    return e ? err_wrap(ec, e, "change %s %" PRId64, t->one, id) : ERR_OK;
}

enum err store_remove_audited(struct store_session *s, const struct audited_table *t, int64_t id,
                              const struct audit_row *audit, struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e) {
        store_sql(s, "DELETE FROM ? WHERE id = ?", sql_word(t->table), id);
        e = store_exec_found(s, t->one, ec);
    }
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "remove %s %" PRId64, t->one, id) : ERR_OK;
}
