/* SPDX-License-Identifier: MIT */
/* shardwheel_rule: for which jobs, groups and shards people are told of what did not happen. */
#include <inttypes.h>

#include "shardwheel/store/watch.h"
#include "store/conn/rows.h"
#include "store/people/audit.h"

enum err store_load_watch_rules(struct store_session *s, struct watch_rules *out, struct errctx *ec)
{
    static const struct row_type rules =
        ROWS(struct watch_rule, FIELDS(struct watch_rule, id, kind, tag, app_name, bound, changed_ms));

    store_sql(s, "SELECT id, kind, tag, app_name, bound, changed_ms FROM shardwheel_rule ORDER BY id LIMIT ?",
              WATCH_RULES_MAX);
    enum err e = store_read_list(s, &rules, out, ec);
    return e ? err_wrap(ec, e, "read the rules of alarms") : ERR_OK;
}

STORE_LIST_FINI(watch_rules, rows)

/* Locks all of them, so that two at once do not pass both. */
static enum err check_room(struct store_session *s, const struct watch_rule *rule, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    int64_t count = 0;
    bool taken = false, found = false;
    enum err e =
        store_query(s, &rows, ec, "SELECT id, kind = ? AND tag = ? AND app_name = ? FROM shardwheel_rule FOR UPDATE",
                    rule->kind, rule->tag, rule->app_name);

    while (!e && db_rows_next(rows)) {
        count++;
        found = found || db_int(rows, 0) == rule->id;
        taken = taken || (db_int(rows, 1) != 0 && db_int(rows, 0) != rule->id);
    }
    db_rows_destroy(rows);
    if (!e && rule->id && !found)
        e = err_set(ec, ERR_NOTFOUND, "there is no such rule");
    if (!e && taken)
        e = err_set(ec, ERR_STATE, "another rule has the same kind, tag and group");
    if (!e && !rule->id && count >= WATCH_RULES_MAX)
        e = err_set(ec, ERR_BUSY, "there are %" PRId64 " rules, which is as many as there may be", count);
    return e;
}

static void put_members(struct sqlbuf *q, const struct watch_rule *rule)
{
    sql_put(q, "kind = ?, tag = ?, app_name = ?, bound = ?, changed_ms = " STORE_NOW_MS, rule->kind, rule->tag,
            rule->app_name, rule->bound);
}

enum err store_add_watch_rule(struct store_session *s, const struct watch_rule *rule, const struct audit_row *audit,
                              int64_t *id, struct errctx *ec)
{
    struct audit_row noted = *audit;
    struct db_effect effect = {0};
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = check_room(s, rule, ec);
    if (!e) {
        put_members(store_start_sql(s, "INSERT INTO shardwheel_rule SET "), rule);
        e = store_exec_sql(s, &effect, ec);
    }
    noted.target = effect.first_id;
    e = store_end_audited(s, e, &noted, ec);
    if (e)
        return err_wrap(ec, e, "add a rule of alarms");
    *id = effect.first_id;
    return ERR_OK;
}

enum err store_change_watch_rule(struct store_session *s, const struct watch_rule *rule, const struct audit_row *audit,
                                 struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = check_room(s, rule, ec);
    if (!e) {
        put_members(store_start_sql(s, "UPDATE shardwheel_rule SET "), rule);
        sql_put(&s->sql, " WHERE id = ?", rule->id);
        e = store_exec_sql(s, NULL, ec);
    }
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "change rule %" PRId64, rule->id) : ERR_OK;
}

enum err store_remove_watch_rule(struct store_session *s, int64_t id, const struct audit_row *audit, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = store_exec(s, &effect, ec, "DELETE FROM shardwheel_rule WHERE id = ?", id);
    if (!e && effect.matched == 0)
        e = err_set(ec, ERR_NOTFOUND, "there is no such rule");
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "remove rule %" PRId64, id) : ERR_OK;
}
