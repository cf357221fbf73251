/* SPDX-License-Identifier: MIT */
/* Flows: lists, one by one, and changed. */
#include "shardwheel/store/flow.h"

#include <inttypes.h>

#include "store/people/audit.h"

#define RUNS_AT_ONCE 100

/* ---- reading ----------------------------------------------------------------------------------------------------- */

#define COLUMNS                                                                                                        \
    "f.id, f.name, f.started, f.version, f.next_s, f.changed_ms, v.document FROM shardwheel_flow f "                   \
    "JOIN shardwheel_flow_version v ON v.flow_id = f.id AND v.version = f.version"

static const struct row_type rows_of_flows =
    ROWS(struct flow_row, FIELDS(struct flow_row, id, name, started, version, next_s, changed_ms, document));

enum err store_list_flows(struct store_session *s, const struct flow_filter *filter, const char *after, int64_t limit,
                          struct flow_rows *out, struct errctx *ec)
{
    struct sqlbuf *q = store_sql(s, "SELECT " COLUMNS " WHERE f.name > ?", after);

    if (filter->name)
        sql_put(q, " AND LOWER(f.name) LIKE LOWER(CONCAT('%', ?, '%'))", filter->name);
    if (filter->started >= 0)
        sql_put(q, " AND f.started = ?", filter->started);
    sql_put(q, " ORDER BY f.name LIMIT ?", limit);
    enum err e = store_read_list(s, &rows_of_flows, out, ec);
    return e ? err_wrap(ec, e, "list flows") : ERR_OK;
}

enum err store_load_flows(struct store_session *s, const int64_t *ids, size_t count, struct flow_rows *out,
                          struct errctx *ec)
{
    store_sql(s, "SELECT " COLUMNS " WHERE f.id IN (?) ORDER BY f.id", sql_list(ids, count));
    enum err e = store_read_list(s, &rows_of_flows, out, ec);
    return e ? err_wrap(ec, e, "read %zu flows", count) : ERR_OK;
}

enum err store_load_flows_named(struct store_session *s, const char *const *names, size_t count, struct flow_rows *out,
                                struct errctx *ec)
{
    struct sqlbuf *q = store_start_sql(s, "SELECT " COLUMNS " WHERE f.name IN (''");

    for (size_t i = 0; i < count; i++)
        sql_put(q, ", ?", names[i]);
    sql_puts(q, ") ORDER BY f.name");
    enum err e = store_read_list(s, &rows_of_flows, out, ec);
    return e ? err_wrap(ec, e, "read %zu flows by name", count) : ERR_OK;
}

enum err store_list_flows_with(struct store_session *s, const char *text, int64_t after_id, int64_t limit,
                               struct flow_rows *out, struct errctx *ec)
{
    store_sql(s, "SELECT " COLUMNS " WHERE f.id > ? AND LOCATE(?, v.document) > 0 ORDER BY f.id LIMIT ?", after_id,
              text, limit);
    enum err e = store_read_list(s, &rows_of_flows, out, ec);
    return e ? err_wrap(ec, e, "look for flows by a text") : ERR_OK;
}

enum err store_load_flow_jobs(struct store_session *s, const int64_t *ids, size_t count, struct flow_jobs *out,
                              struct errctx *ec)
{
    static const struct row_type jobs =
        ROWS(struct flow_job, FIELDS(struct flow_job, id, group), NULL_TEXTS(struct flow_job, name, route));
    struct flow_jobs found = {0};
    enum err e = ERR_OK;

    for (size_t at = 0; !e && at < count; at += STORE_LIST_MAX) {
        store_sql(s, "SELECT id, job_group, ?, executor_route_strategy FROM xxl_job_info WHERE id IN (?) ORDER BY id",
                  store_job_name(s), sql_part(ids, count, at));
        e = store_append_list(s, &jobs, &found, ec);
    }
    if (e)
        flow_jobs_fini(&found);
    else
        *out = found;
    return e ? err_wrap(ec, e, "read %zu jobs of flows", count) : ERR_OK;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static enum err check_name_free(struct store_session *s, const char *name, int64_t but, struct errctx *ec)
{
    int64_t other = 0;
    enum err e = store_number(s, 0, &other, ec, "SELECT id FROM shardwheel_flow WHERE name = ? AND id <> ?", name, but);

    return !e && other ? err_set(ec, ERR_STATE, "another flow has the name %s", name) : e;
}

/* Somebody may have taken the name since it was free. */
static enum err find_why(struct store_session *s, enum err e, const char *name, int64_t but, struct errctx *ec)
{
    struct errctx why;

    if (e == ERR_INPUT && check_name_free(s, name, but, &why) == ERR_STATE)
        return err_set(ec, ERR_STATE, "%s", why.text);
    return e;
}

static enum err add_version(struct store_session *s, int64_t id, int64_t version, const char *document, const char *who,
                            struct errctx *ec)
{
    return store_exec(
        s, NULL, ec,
        "INSERT INTO shardwheel_flow_version (flow_id, version, document, at_ms, who) VALUES (?, ?, ?, " STORE_NOW_MS
        ", ?)",
        id, version, document, sql_fitted(who, 100, TEXT_AS_IS));
}

enum err store_add_flow(struct store_session *s, const char *name, const char *document, const char *who,
                        const struct audit_row *audit, int64_t *id, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = check_name_free(s, name, 0, ec);
    if (!e) {
        e = store_exec(s, &effect, ec,
                       "INSERT INTO shardwheel_flow (name, started, version, next_s, changed_ms) VALUES (?, 0, 1, "
                       "NULL, " STORE_NOW_MS ")",
                       name);
        e = find_why(s, e, name, 0, ec);
    }
    if (!e) /* a server that begins to count anew may give the id of one that was removed */
        e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_flow_version WHERE flow_id = ?", effect.first_id);
    if (!e)
        e = add_version(s, effect.first_id, 1, document, who, ec);
    e = store_end_added(s, e, audit, effect.first_id, ec);
    if (e)
        return err_wrap(ec, e, "add a flow");
    *id = effect.first_id;
    return ERR_OK;
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

static enum err lock_flow(struct store_session *s, int64_t id, struct flow_rows *rows, struct errctx *ec)
{
    int64_t found = 0;
    enum err e = store_number(s, 0, &found, ec, "SELECT id FROM shardwheel_flow WHERE id = ? FOR UPDATE", id);

    if (!e)
        e = store_load_flows(s, &id, 1, rows, ec);
    return !e && rows->count == 0 ? err_set(ec, ERR_NOTFOUND, "there is no flow %" PRId64, id) : e;
}

static enum err read_now(struct store_session *s, const struct flow_row *row, struct flow_now *now, struct errctx *ec)
{
    enum err e = store_number(s, 0, &now->now_ms, ec, "SELECT " STORE_NOW_MS);

    now->row = *row;
    if (!e)
        e = store_number(s, 0, &now->open_runs, ec,
                         "SELECT (SELECT COUNT(*) FROM shardwheel_flow_run WHERE flow_id = ? AND state IN (0, 1)) + "
                         "(SELECT COUNT(*) FROM shardwheel_flow_run WHERE look_ms IS NOT NULL AND flow_id = ? AND "
                         "state NOT IN (0, 1))",
                         row->id, row->id);
    return e;
}

static enum err remove_flow(struct store_session *s, int64_t id, struct errctx *ec)
{
    enum err e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_flow WHERE id = ?", id);

    return e ? e : store_exec(s, NULL, ec, "DELETE FROM shardwheel_flow_version WHERE flow_id = ?", id);
}

static enum err write_change(struct store_session *s, const struct flow_row *row, const struct flow_change *to,
                             struct errctx *ec)
{
    enum err e = ERR_OK;

    if (to->remove)
        return remove_flow(s, row->id, ec);
    if (to->document) {
        e = check_name_free(s, to->name, row->id, ec);
        if (!e)
            e = add_version(s, row->id, row->version + 1, to->document, to->who, ec);
        if (e)
            return e;
    }
    struct sqlbuf *q =
        store_sql(s, "UPDATE shardwheel_flow SET changed_ms = " STORE_NOW_MS ", started = ?", to->started ? 1 : 0);
    if (to->next_s != row->next_s)
        sql_put(q, ", next_s = ?", sql_int_or_null(to->next_s));
    if (to->document)
        sql_put(q, ", version = ?, name = ?", row->version + 1, to->name);
    sql_put(q, " WHERE id = ?", row->id);
    e = store_exec_sql(s, NULL, ec);
    return to->document ? find_why(s, e, to->name, row->id, ec) : e;
}

/* Shared: of two flows that are changed at the same time, each decided by the other, one meets a deadlock, or waits and
 * finds a new version. */
static enum err hold_others(struct store_session *s, const struct flow_change *change, struct errctx *ec)
{
    for (size_t at = 0; at < change->other_count; at += STORE_LIST_MAX) {
        size_t some = change->other_count - at < STORE_LIST_MAX ? change->other_count - at : STORE_LIST_MAX, same = 0;
        struct db_rows *rows = NULL;
        enum err e = store_query(s, &rows, ec,
                                 "SELECT id, version FROM shardwheel_flow WHERE id IN (?) ORDER BY id LOCK IN SHARE "
                                 "MODE",
                                 sql_each(change->others + at, some, flow_id));

        while (!e && db_rows_next(rows))
            for (size_t i = 0; i < some; i++)
                same += change->others[at + i].flow_id == db_int(rows, 0) &&
                        change->others[at + i].version == db_int(rows, 1);
        db_rows_destroy(rows);
        if (e)
            return e;
        if (same < some)
            return err_set(ec, ERR_CONFLICT, "a flow that it runs has a new version");
    }
    return ERR_OK;
}

enum err store_change_flow(struct store_session *s, int64_t id, flow_decide_change *decide, void *arg,
                           struct errctx *ec)
{
    struct flow_rows rows = {0};
    struct flow_now now = {0};
    struct flow_change change = {0};
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_flow(s, id, &rows, ec);
    if (!e)
        e = read_now(s, &rows.rows[0], &now, ec);
    if (!e) {
        change = (struct flow_change){.started = now.row.started, .next_s = now.row.next_s, .name = now.row.name};
        e = decide(arg, &now, &change, ec);
    }
    if (!e)
        e = hold_others(s, &change, ec);
    if (!e)
        e = write_change(s, &rows.rows[0], &change, ec);
    e = store_end_audited(s, e, change.audit, ec);
    flow_rows_fini(&rows);
    return e;
}

/* ---- runs of flows that are gone --------------------------------------------------------------------------------- */

enum err store_delete_flow_runs(struct store_session *s, int64_t flow_id, bool *more, struct errctx *ec)
{
    static const char *const tables[] = {"shardwheel_flow_item", "shardwheel_flow_step", "shardwheel_flow_fire",
                                         "shardwheel_flow_request"};
    int64_t ids[RUNS_AT_ONCE];
    size_t count = 0;

    store_sql(s, "SELECT id FROM shardwheel_flow_run WHERE flow_id = ? ORDER BY id LIMIT ?", flow_id, RUNS_AT_ONCE);
    enum err e = store_read_ids(s, ids, RUNS_AT_ONCE, &count, ec);
    for (size_t i = 0; i < ARRAY_LEN(tables) && !e && count > 0; i++)
        e = store_write(s, NULL, ec, "DELETE FROM ? WHERE run_id IN (?)", sql_word(tables[i]), sql_list(ids, count));
    if (!e && count > 0)
        e = store_write(s, NULL, ec, "DELETE FROM shardwheel_flow_run WHERE id IN (?)", sql_list(ids, count));
    *more = count == RUNS_AT_ONCE;
    if (!e && !*more)
        e = store_write(s, NULL, ec, "DELETE FROM shardwheel_flow_version WHERE flow_id = ?", flow_id);
    return e ? err_wrap(ec, e, "remove runs of flow %" PRId64, flow_id) : ERR_OK;
}
