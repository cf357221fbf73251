/* SPDX-License-Identifier: MIT */
/* Jobs, changed: what is read under the lock of the job's row decides, and only what differs is written. */
#include "store/job/job_impl.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/people/audit.h"

/* ---- reading under the lock -------------------------------------------------------------------------------------- */

static enum err lock_row(struct store_session *s, int64_t job_id, const struct store_features *features,
                         struct job_list *out, struct errctx *ec)
{
    struct sqlbuf *q = store_start_sql(s, "SELECT ");
    enum err e;

    job_put_columns(q, features, SIZE_MAX);
    sql_put(q, " FROM xxl_job_info i WHERE i.id = ? FOR UPDATE", job_id);
    e = job_list_read(s, out, ec);
    return !e && out->count == 0 ? store_no_such_job(job_id, ec) : e;
}

/* A statement of its own: one that waited for the lock has the time of its beginning. */
static enum err read_clock(struct store_session *s, struct job_state *state, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e =
        store_query(s, &rows, ec, "SELECT " STORE_NOW_MS ", (SELECT zone_cron FROM shardwheel_cluster WHERE id = 1)");

    if (!e && db_rows_next(rows)) {
        state->now_ms = db_int(rows, 0);
        snprintf(state->cron_zone, sizeof state->cron_zone, "%s", db_text_or_empty(rows, 1));
    }
    db_rows_destroy(rows);
    return e;
}

/* Who removes a group locks its row and then looks for jobs in it. */
static enum err lock_group(struct store_session *s, int64_t group, struct errctx *ec)
{
    int64_t there = 0;
    enum err e = store_number(s, 0, &there, ec, "SELECT 1 FROM xxl_job_group WHERE id = ? LOCK IN SHARE MODE", group);

    return !e && !there ? err_set(ec, ERR_NOTFOUND, "there is no executor group %" PRId64, group) : e;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool is_changed(const struct job_row *from, const struct job_row *to)
{
    for (size_t k = 0; k < job_column_count(); k++)
        if (!job_column_is_equal(from, to, job_column_get(k)))
            return true;
    return false;
}

static enum err update_row(struct store_session *s, const struct store_features *features,
                           const struct job_state *state, const struct job_row *to, struct errctx *ec)
{
    struct sqlbuf *q =
        store_sql(s, "UPDATE xxl_job_info SET update_time = ?", sql_time(s->st->zone, state->now_ms / 1000));

    for (size_t k = 0; k < job_column_count(); k++) {
        const struct job_column *c = job_column_get(k);

        if (job_column_is_equal(&state->row, to, c))
            continue;
        sql_put(q, ", ? = ", sql_word(job_column_sql(c, features)));
        job_put_value(q, to, c);
    }
    sql_put(q, " WHERE id = ?", state->row.id);
    return store_exec_sql(s, NULL, ec);
}

/* The table has no index over job_id: who deletes by job would wait for all rows that others hold. */
static enum err delete_sources(struct store_session *s, int64_t job_id, struct errctx *ec)
{
    int64_t ids[STORE_LIST_MAX];
    size_t n;
    enum err e;

    do {
        n = 0;
        store_sql(s, "SELECT id FROM xxl_job_logglue WHERE job_id = ? ORDER BY id LIMIT ?", job_id, STORE_LIST_MAX);
        e = store_read_ids(s, ids, STORE_LIST_MAX, &n, ec);
        if (!e && n > 0)
            e = store_exec(s, NULL, ec, "DELETE FROM xxl_job_logglue WHERE id IN (?)", sql_list(ids, n));
    } while (!e && n == STORE_LIST_MAX);
    return e;
}

/* Rows of the log are left to store_delete_removed, which this tells. */
static enum err delete_job(struct store_session *s, int64_t job_id, struct errctx *ec)
{
    static const char *const statements[] = {
        "DELETE FROM xxl_job_info WHERE id = ", "DELETE FROM shardwheel_job WHERE job_id = ",
        "DELETE FROM shardwheel_later WHERE planned = 0 AND job_id = "};
    enum err e = delete_sources(s, job_id, ec);

    for (size_t i = 0; i < ARRAY_LEN(statements) && !e; i++) {
        sql_int(store_start_sql(s, statements[i]), job_id);
        e = store_exec_sql(s, NULL, ec);
    }
    if (!e)
        e = store_exec(s, NULL, ec,
                       "REPLACE INTO shardwheel_removed (job_id, at_ms, log_id, last_id) SELECT ?, " STORE_NOW_MS
                       ", 0, COALESCE(MAX(id), 0) FROM xxl_job_log",
                       job_id);
    return e;
}

static enum err write_change(struct store_session *s, const struct store_features *features,
                             const struct job_state *state, const struct job_change *to, struct errctx *ec)
{
    bool row_changed = is_changed(&state->row, &to->row);
    bool settings_changed = !job_settings_are_equal(&state->settings, &to->settings);
    enum err e = ERR_OK;

    if (to->remove) {
        e = delete_job(s, state->row.id, ec);
    } else {
        if (row_changed)
            e = update_row(s, features, state, &to->row, ec);
        if (!e && settings_changed)
            e = store_write_settings(s, &to->settings, ec);
    }
    if (!e && (to->remove || row_changed || settings_changed))
        e = store_put_audit(s, to->audit, ec);
    return e;
}

/* The group's row is locked before the job's, which is not known yet: so it is locked behind it, and who removes a
 * group locks no job. */
static enum err apply(struct store_session *s, const struct store_features *features, const struct job_state *state,
                      const struct job_change *to, struct errctx *ec)
{
    bool moves = to->guarded && !to->remove && to->row.status == 1 && to->row.next_ms != state->row.next_ms;
    enum err e = ERR_OK;

    if (!to->remove && to->row.group != state->row.group)
        e = lock_group(s, to->row.group, ec);
    if (!e && moves)
        e = store_check_guard(s, ec);
    if (!e)
        e = write_change(s, features, state, to, ec);
    if (!e && moves)
        e = store_check_guard(s, ec);
    return e ? e : store_commit_txn(s, ec);
}

enum err store_change_job(struct store_session *s, int64_t job_id, job_decide *decide, void *arg, struct errctx *ec)
{
    const struct store_features *features = store_features(s);
    struct job_list rows = {0};
    struct job_state state;
    struct job_change change = {0};
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_row(s, job_id, features, &rows, ec);
    if (!e)
        e = read_clock(s, &state, ec);
    if (!e)
        e = store_read_settings(s, job_id, &state.settings, ec);
    if (!e) {
        state.row = rows.rows[0];
        change.row = state.row;
        change.settings = state.settings;
        e = decide(arg, s, &state, &change, ec);
    }
    if (!e)
        e = apply(s, features, &state, &change, ec);
    store_end_txn(s);
    job_list_fini(&rows);
    return e;
}

/* ---- new ones ---------------------------------------------------------------------------------------------------- */

static enum err insert_row(struct store_session *s, const struct store_features *features, const struct job_row *row,
                           int64_t *id, struct errctx *ec)
{
    int64_t now_s = clock_wall_ms(s->st->clock) / 1000;
    struct db_effect effect = {0};
    struct sqlbuf *q = store_start_sql(s, "INSERT INTO xxl_job_info (add_time, update_time, glue_updatetime");
    enum err e;

    for (size_t k = 0; k < job_column_count(); k++)
        sql_put(q, ", ?", sql_word(job_column_sql(job_column_get(k), features)));
    sql_puts(q, ") VALUES (");
    for (int i = 0; i < 3; i++) {
        sql_puts(q, i ? ", " : "");
        sql_datetime(q, s->st->zone, now_s);
    }
    for (size_t k = 0; k < job_column_count(); k++) {
        sql_puts(q, ", ");
        job_put_value(q, row, job_column_get(k));
    }
    sql_puts(q, ")");
    e = store_exec_sql(s, &effect, ec);
    *id = effect.first_id;
    return e;
}

enum err store_add_job(struct store_session *s, const struct job_row *row, const struct job_settings *settings,
                       const struct audit_row *audit, int64_t *id, struct errctx *ec)
{
    const struct store_features *features = store_features(s);
    struct job_settings own = *settings;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_group(s, row->group, ec);
    if (!e)
        e = insert_row(s, features, row, &own.job_id, ec);
    if (!e && !job_settings_are_empty(&own))
        e = store_write_settings(s, &own, ec);
    if (!e) { /* a server that begins to count anew may give the id of one that was removed */
        e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_removed WHERE job_id = ?", own.job_id);
    }
    e = store_end_added(s, e, audit, own.job_id, ec);
    if (e)
        return err_wrap(ec, e, "add a job");
    *id = own.job_id;
    return ERR_OK;
}
