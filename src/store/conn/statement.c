/* SPDX-License-Identifier: MIT */
/* What every other file does with a session: statements and transactions. */
#include "store/conn/session.h"
#include "shardwheel/watch.h"

/* ---- building ---------------------------------------------------------------------------------------------- */

static void start(struct store_session *s)
{
    s->not_ready = s->no_features;
    s->no_features = ERR_OK;
    if (!s->not_ready && !s->in_txn && !s->is_bound)
        s->not_ready = store_ready_session(s, &s->why);
    sqlbuf_start(&s->sql, s->db);
}

struct sqlbuf *store_start_sql(struct store_session *s, const char *text)
{
    start(s);
    sql_puts(&s->sql, text);
    return &s->sql;
}

struct sqlbuf *store_sql_values(struct store_session *s, const char *text, const struct sql_value *values)
{
    start(s);
    sql_put_values(&s->sql, text, values);
    return &s->sql;
}

struct sqlbuf *store_start_limited(struct store_session *s, int limit_ms, const char *text)
{
    int read_ms = s->st->opts.read_timeout_ms;

    start(s);
    if (read_ms > 0 && limit_ms > read_ms / 4 * 3)
        limit_ms = read_ms / 4 * 3;
    /* A server that knows neither way takes the second one for a comment. */
    if (s->db && db_is_mariadb(s->db)) {
        buf_printf(&s->sql.text, "SET STATEMENT max_statement_time=%d.%03d FOR SELECT ", limit_ms / 1000,
                   limit_ms % 1000);
    } else {
        buf_printf(&s->sql.text, "SELECT /*+ MAX_EXECUTION_TIME(%d) */ ", limit_ms);
    }
    sql_puts(&s->sql, text);
    return &s->sql;
}

struct sqlbuf *store_limited_values(struct store_session *s, int limit_ms, const char *text,
                                    const struct sql_value *values)
{
    sql_put_values(store_start_limited(s, limit_ms, ""), text, values);
    return &s->sql;
}

/* ---- sending ----------------------------------------------------------------------------------------------- */

static enum err check_statement(struct store_session *s, struct errctx *ec)
{
    if (s->not_ready)
        return err_set(ec, s->not_ready, "%s", s->why.text);
    if (!s->db)
        return err_set(ec, ERR_LOST, "the connection is closed");
    if (sqlbuf_failed(&s->sql))
        return err_set(ec, ERR_NOMEM, "out of memory");
    watch_pause(s->st->call_ms); /* what follows is the statement; store_note_outcome ends it */
    return ERR_OK;
}

enum err store_exec_sql(struct store_session *s, struct db_effect *effect, struct errctx *ec)
{
    enum err e = check_statement(s, ec);

    return e ? e : store_note_outcome(s, db_exec(s->db, s->sql.text.data, s->sql.text.len, effect, ec));
}

enum err store_write_sql(struct store_session *s, struct db_effect *effect, struct errctx *ec)
{
    enum err e = check_statement(s, ec);

    if (e)
        return e;
    e = store_note_outcome(s, db_exec(s->db, s->sql.text.data, s->sql.text.len, effect, ec));
    return e == ERR_LOST ? ERR_UNKNOWN : e;
}

enum err store_query_sql(struct store_session *s, struct db_rows **out, struct errctx *ec)
{
    enum err e = check_statement(s, ec);

    return e ? e : store_note_outcome(s, db_query(s->db, s->sql.text.data, s->sql.text.len, out, ec));
}

enum err store_query_number(struct store_session *s, int64_t none, int64_t *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query_sql(s, &rows, ec);

    if (e)
        return e;
    *out = db_rows_next(rows) && db_text(rows, 0) ? db_int(rows, 0) : none;
    db_rows_destroy(rows);
    return ERR_OK;
}

enum err store_read_ids(struct store_session *s, int64_t *ids, size_t max, size_t *count, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query_sql(s, &rows, ec);

    while (!e && *count < max && db_rows_next(rows))
        ids[(*count)++] = db_int(rows, 0);
    db_rows_destroy(rows);
    return e;
}

enum err store_stream_sql(struct store_session *s, struct db_rows **out, struct errctx *ec)
{
    enum err e = check_statement(s, ec);

    if (e)
        return e;
    e = store_note_outcome(s, db_stream(s->db, s->sql.text.data, s->sql.text.len, out, ec));
    if (!e)
        watch_pause(s->st->call_ms); /* until store_end_stream */
    return e;
}

enum err store_end_stream(struct store_session *s, struct db_rows *rows, struct errctx *ec)
{
    enum err e = db_check_rows(s->db, ec); /* before the connection may be closed: the rows hang on it */

    db_rows_destroy(rows);
    watch_step();
    return e ? store_note_outcome(s, e) : ERR_OK;
}

enum err store_send_sql(struct store_session *s, struct errctx *ec)
{
    enum err e = check_statement(s, ec);

    return e ? e : store_note_outcome(s, db_send(s->db, s->sql.text.data, s->sql.text.len, ec));
}

enum err store_read_sql(struct store_session *s, struct db_rows **out, struct errctx *ec)
{
    enum err e = check_statement(s, ec);

    return e ? e : store_note_outcome(s, db_read(s->db, out, ec));
}

bool store_is_sql_long(const struct store_session *s)
{
    size_t half = s->db ? db_max_packet(s->db) / 2 : 0;

    return s->sql.text.len >= (half < STORE_STATEMENT_SOFT_MAX ? half : STORE_STATEMENT_SOFT_MAX);
}

bool store_has_data_error(const struct store_session *s)
{
    return s->db && db_has_data_error(s->db);
}

bool store_fit_more(const struct store_session *s, struct fitting *how)
{
    if (!store_has_data_error(s))
        return false;
    if (db_has_length_error(s->db) && !how->cut)
        how->cut = true;
    else if (how->fit < TEXT_ASCII)
        how->fit++;
    else
        return false;
    return true;
}

/* ---- transactions ------------------------------------------------------------------------------------------ */

enum err store_begin_txn(struct store_session *s, struct errctx *ec)
{
    enum err e = store_exec(s, NULL, ec, "START TRANSACTION");

    if (!e)
        s->in_txn = true;
    return e;
}

enum err store_commit_txn(struct store_session *s, struct errctx *ec)
{
    if (!s->db)
        return err_set(ec, ERR_LOST, "the connection is closed");
    int64_t began_ms = clock_mono_ms(s->st->clock);
    watch_pause(s->st->call_ms);
    enum err e = store_note_outcome(s, db_commit(s->db, ec));
    counters_observe_us(s->st->counters, COUNTER_COMMIT_TIME, (clock_mono_ms(s->st->clock) - began_ms) * 1000);
    if (!e)
        s->in_txn = false;
    return e;
}

void store_end_txn(struct store_session *s)
{
    if (s->in_txn && s->db) {
        watch_pause(s->st->call_ms);
        if (store_note_outcome(s, db_exec(s->db, "ROLLBACK", 8, NULL, NULL)))
            store_drop_connection(s);
    }
    s->in_txn = false;
}

enum err store_finish_txn(struct store_session *s, enum err e, struct errctx *ec)
{
    if (!e)
        e = store_commit_txn(s, ec);
    store_end_txn(s);
    return e;
}

enum err store_lock_logs(struct store_session *s, const int64_t *ids, size_t count, struct errctx *ec)
{
    int64_t first = 0;
    enum err e = ERR_OK;

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX)
        e = store_number(s, 0, &first, ec,
                         "SELECT id FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (?) ORDER BY id FOR UPDATE",
                         sql_part(ids, count, at));
    return e;
}

/* ---- small calls ------------------------------------------------------------------------------------------- */

enum err store_ping(struct store_session *s, struct errctx *ec)
{
    return store_exec(s, NULL, ec, "DO 1");
}

bool store_is_galera(const struct store_session *s)
{
    return s->db && db_is_galera(s->db);
}

enum err store_load_wall_ms(struct store_session *s, int64_t *out_ms, struct errctx *ec)
{
    int64_t now_ms = 0;
    enum err e = store_number(s, 0, &now_ms, ec, "SELECT " STORE_NOW_MS);

    if (!e && !now_ms)
        e = err_set(ec, ERR_STATE, "the server did not return the time");
    if (!e)
        *out_ms = now_ms;
    return e;
}
