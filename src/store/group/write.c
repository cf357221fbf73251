/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/group.h"

#include <inttypes.h>

#include "store/conn/session.h"
#include "store/people/audit.h"

/* A refused text is the caller's fault, and the statement's words help nobody. */
static enum err explain(struct store_session *s, enum err e, struct errctx *ec)
{
    if (e == ERR_INPUT && s->db && store_has_data_error(s))
        return err_set(ec, e,
                       "a text is too long for its column, or has characters that this database does not support");
    return e;
}

/* ---- insert ------------------------------------------------------------------------------------------------------ */

static enum err insert_row(struct store_session *s, const struct store_features *features,
                           const struct group_info *group, int64_t now_s, struct audit_row *audit, struct errctx *ec)
{
    struct db_effect effect = {0};
    struct sqlbuf *q = store_sql(
        s, "INSERT INTO xxl_job_group (app_name, address_type, address_list, update_time, ? ?) VALUES (?, ?, ?, ?, ?",
        sql_word(group_title_column(features)), sql_word(features->group_access_token ? ", access_token" : ""),
        group->app_name, group->address_type, sql_or_null(group->address_list), sql_time(s->st->zone, now_s),
        group->title);

    if (features->group_access_token)
        sql_put(q, ", ?", sql_or_null(group->access_token));
    sql_puts(q, ")");
    enum err e = store_exec_sql(s, &effect, ec);
    if (!e)
        audit->target = audit->job_group = effect.first_id;
    return explain(s, e, ec);
}

enum err store_insert_group(struct store_session *s, const struct group_info *group, int64_t now_s,
                            struct audit_row *audit, int64_t *out_id, struct errctx *ec)
{
    const struct store_features *features = store_features(s);
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = insert_row(s, features, group, now_s, audit, ec);
    e = store_end_audited(s, e, audit, ec);
    if (!e)
        *out_id = audit->target;
    return e ? err_wrap(ec, e, "add a group") : ERR_OK;
}

/* ---- update ------------------------------------------------------------------------------------------------------ */

static void put_set(struct sqlbuf *q, const char *column, const char *from, const char *to)
{
    if (str_equal(from, to))
        return;
    sql_put(q, ", ? = ?", sql_word(column), sql_or_null(to));
}

/* To the letter: the column's own collation would not see a change of case. */
static void put_as_read(struct sqlbuf *q, const char *column, const char *text)
{
    sql_put(q, " AND CONVERT(COALESCE(?, '') USING utf8mb4) COLLATE utf8mb4_bin = ?", sql_word(column),
            text ? text : "");
}

/* " WHERE": the row of the group as it was read. */
static void put_condition(struct sqlbuf *q, const struct store_features *features, const struct group_info *from)
{
    sql_put(q, " WHERE id = ? AND address_type = ?", from->id, from->address_type);
    put_as_read(q, "app_name", from->app_name);
    put_as_read(q, group_title_column(features), from->title);
    if (from->address_type != 0)
        put_as_read(q, "address_list", from->address_list);
    if (features->group_access_token)
        put_as_read(q, "access_token", from->access_token);
}

static enum err update_row(struct store_session *s, const struct store_features *features,
                           const struct group_info *from, const struct group_info *to, int64_t now_s, struct errctx *ec)
{
    struct db_effect effect = {0};
    struct sqlbuf *q = store_sql(s, "UPDATE xxl_job_group SET update_time = ?", sql_time(s->st->zone, now_s));

    put_set(q, "app_name", from->app_name, to->app_name);
    put_set(q, group_title_column(features), from->title, to->title);
    put_set(q, "address_list", from->address_list, to->address_list);
    if (features->group_access_token)
        put_set(q, "access_token", from->access_token, to->access_token);
    if (from->address_type != to->address_type)
        sql_put(q, ", address_type = ?", to->address_type);
    put_condition(q, features, from);
    enum err e = store_exec_sql(s, &effect, ec);
    if (!e && effect.matched == 0)
        e = err_set(ec, ERR_CONFLICT, "somebody else has changed or deleted the group");
    return explain(s, e, ec);
}

enum err store_update_group(struct store_session *s, const struct group_info *from, const struct group_info *to,
                            int64_t now_s, const struct audit_row *audit, struct errctx *ec)
{
    const struct store_features *features = store_features(s);
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = update_row(s, features, from, to, now_s, ec);
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "change group %" PRId64, from->id) : ERR_OK;
}

/* ---- remove ------------------------------------------------------------------------------------------------------ */

/* All groups are locked, so that two removals at once leave one. They are few, and the registry waits for
 * milliseconds. */
static enum err lock_groups(struct store_session *s, int64_t but, bool *has_others, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(s, &rows, ec, "SELECT id FROM xxl_job_group ORDER BY id FOR UPDATE");

    *has_others = false;
    while (!e && db_rows_next(rows))
        *has_others |= db_int(rows, 0) != but;
    db_rows_destroy(rows);
    return e;
}

static enum err decide_removal(struct store_session *s, const struct group_info *from, enum group_removal *out,
                               struct errctx *ec)
{
    int64_t job = 0;
    bool has_others = false;
    enum err e = lock_groups(s, from->id, &has_others, ec);

    if (!e)
        e = store_number(s, 0, &job, ec, "SELECT 1 FROM xxl_job_info WHERE job_group = ? LIMIT 1", from->id);
    if (!e)
        *out = job ? GROUP_HAS_JOBS : has_others ? GROUP_REMOVED : GROUP_IS_LAST;
    return e;
}

enum err store_check_removal(struct store_session *s, int64_t id, enum group_removal *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(
        s, &rows, ec,
        "SELECT EXISTS(SELECT 1 FROM xxl_job_info WHERE job_group = ?), (SELECT COUNT(*) FROM xxl_job_group)", id);

    if (!e && db_rows_next(rows))
        *out = db_int(rows, 0) ? GROUP_HAS_JOBS : db_int(rows, 1) == 1 ? GROUP_IS_LAST : GROUP_REMOVED;
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "look whether group %" PRId64 " may go", id) : ERR_OK;
}

static enum err delete_rows(struct store_session *s, const struct store_features *features,
                            const struct group_info *from, struct errctx *ec)
{
    struct db_effect effect = {0};
    int64_t shared = 0;

    put_condition(store_start_sql(s, "DELETE FROM xxl_job_group"), features, from);
    enum err e = store_exec_sql(s, &effect, ec);
    if (!e && effect.matched == 0)
        return err_set(ec, ERR_CONFLICT, "somebody else has changed or deleted the group");
    if (!e)
        e = store_number(s, 0, &shared, ec, "SELECT 1 FROM xxl_job_group WHERE app_name = ? LIMIT 1", from->app_name);
    if (e || shared)
        return e;
    return store_exec(s, NULL, ec,
                      "DELETE FROM xxl_job_registry WHERE registry_group = 'EXECUTOR' AND registry_key = ?",
                      from->app_name);
}

enum err store_remove_group(struct store_session *s, const struct group_info *from, const struct audit_row *audit,
                            enum group_removal *out, struct errctx *ec)
{
    const struct store_features *features = store_features(s);
    enum group_removal removal = GROUP_REMOVED;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = decide_removal(s, from, &removal, ec);
    if (!e && removal == GROUP_REMOVED)
        e = delete_rows(s, features, from, ec);
    e = store_end_audited(s, e, removal == GROUP_REMOVED ? audit : NULL, ec);
    if (!e)
        *out = removal;
    return e ? err_wrap(ec, e, "remove group %" PRId64, from->id) : ERR_OK;
}
