/* SPDX-License-Identifier: MIT */
/*
 * The guard beside Java admins: a shared lock of the row that they lock exclusively, and the proof that it is held.
 *
 * A session that holds the row also has a named lock with its own name, taken after the row and given back before it;
 * so "the named lock is in use by that connection" means that the row has been locked by it since. Anybody can ask
 * that, in any isolation level, without a lock and without rights.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "shardwheel/job/times.h"
#include "shardwheel/store/guard.h"
#include "store/plan/claim_impl.h"

#define NOW_MS "(TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(3)) DIV 1000)"
#define TEXT_OF(number) #number
#define DIGITS(number) TEXT_OF(number)
#define NODE_FRESH_MS "5000"
#define ROW_OLD_MS "60000"
/* At most 9 + 32 + 1 + 20 characters; 64 are allowed. */
#define NAME_OF_ROW "CONCAT('sw_guard_', incarnation, '_', connection)"

/* ---- holding the row ----------------------------------------------------------------------------------------- */

static void put_name(struct sqlbuf *q, const char *prefix, const char *incarnation, int64_t connection)
{
    char name[80];

    snprintf(name, sizeof name, "%s%.32s_%" PRId64, prefix, incarnation, connection);
    sql_text(q, name);
}

/* Looked for without a lock first: the check for a duplicate would wait for a Java admin. */
static enum err make_row(struct store_session *s, struct errctx *ec)
{
    int64_t there = 0;
    enum err e = store_number(s, 0, &there, ec, "SELECT COUNT(*) FROM xxl_job_lock WHERE lock_name = 'schedule_lock'");

    if (e || there > 0)
        return e;
    return store_exec(s, NULL, ec, "INSERT IGNORE INTO xxl_job_lock (lock_name) VALUES ('schedule_lock')");
}

static enum err send_request(struct store_session *s, struct errctx *ec)
{
    store_start_sql(s, "SELECT lock_name FROM xxl_job_lock WHERE lock_name = 'schedule_lock' LOCK IN SHARE MODE");
    return store_send_sql(s, ec);
}

enum err store_ask_guard(struct store_session *s, const char *incarnation, int64_t *connection, struct errctx *ec)
{
    int64_t got = 0;
    enum err e = make_row(s, ec);

    if (!e) {
        struct sqlbuf *q = store_start_sql(s, "SELECT GET_LOCK(");
        put_name(q, "sw_asks_", incarnation, db_connection_id(s->db));
        sql_puts(q, ", 0)");
        e = store_query_number(s, 0, &got, ec);
    }
    if (!e && got != 1)
        e = err_set(ec, ERR_STATE, "the server does not give a lock of the session's own name");
    if (!e)
        e = store_begin_txn(s, ec);
    if (!e) {
        *connection = db_connection_id(s->db);
        e = send_request(s, ec);
    }
    return e ? err_wrap(ec, e, "ask for the guard against Java admins") : ERR_OK;
}

/* The answer is there: reads it, and takes the named lock. */
static enum err settle_request(struct store_session *s, const char *incarnation, int64_t *proven_ms, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    bool found;
    enum err e = store_read_sql(s, &rows, ec);

    if (e)
        return e;
    found = db_rows_next(rows);
    db_rows_destroy(rows);
    if (!found)
        return err_set(ec, ERR_CONFLICT, "the row schedule_lock of xxl_job_lock is gone");
    struct sqlbuf *q = store_start_sql(s, "SELECT GET_LOCK(");
    put_name(q, "sw_guard_", incarnation, db_connection_id(s->db));
    sql_puts(q, ", 0), " NOW_MS);
    e = store_query_sql(s, &rows, ec);
    if (e)
        return e;
    found = db_rows_next(rows) && db_int(rows, 0) == 1;
    if (found)
        *proven_ms = db_int(rows, 1);
    db_rows_destroy(rows);
    return found ? ERR_OK : err_set(ec, ERR_STATE, "the server does not give a lock of the session's own name");
}

enum err store_wait_guard(struct store_session *s, const char *incarnation, int timeout_ms, bool *held,
                          int64_t *proven_ms, struct errctx *ec)
{
    enum err e;

    *held = false;
    if (s->db && !db_has_answer(s->db, timeout_ms))
        return ERR_OK;
    e = settle_request(s, incarnation, proven_ms, ec);
    *held = e == ERR_OK;
    return e ? err_wrap(ec, e, "wait for the guard against Java admins") : ERR_OK;
}

enum err store_ping_guard(struct store_session *s, int64_t *proven_ms, struct errctx *ec)
{
    enum err e;

    /* Not store_ready_session: a new connection would hold nothing. The function sleeps after the time was read. */
    e = store_number(s, 0, proven_ms, ec, "SELECT " NOW_MS ", SLEEP(0.9)");
    return e ? err_wrap(ec, e, "hold the guard against Java admins") : ERR_OK;
}

void store_end_guard(struct store_session *s, const char *incarnation)
{
    struct sqlbuf *q;

    if (!s->db || !s->in_txn)
        return;
    q = store_start_sql(s, "DO RELEASE_LOCK(");
    put_name(q, "sw_guard_", incarnation, db_connection_id(s->db));
    sql_puts(q, ")");
    if (!store_exec_sql(s, NULL, NULL))
        store_end_txn(s);
}

/* ---- the table ----------------------------------------------------------------------------------------------- */

enum err store_write_guard(struct store_session *s, const char *incarnation, int64_t connection, int64_t proven_ms,
                           struct errctx *ec)
{
    struct sql_value at = connection ? sql_of_int(proven_ms) : sql_word(NOW_MS);
    enum err e = store_ready_session(s, ec);

    if (e)
        return e;
    e = store_exec(s, NULL, ec,
                   "INSERT INTO shardwheel_guard (incarnation, connection, proven_ms) VALUES (?, ?, ?) "
                   "ON DUPLICATE KEY UPDATE connection = ?, proven_ms = ?",
                   sql_fitted(incarnation, 32, TEXT_AS_IS), connection, at, connection, at);
    return e ? err_wrap(ec, e, "write the row of the guard") : ERR_OK;
}

enum err store_delete_guard(struct store_session *s, const char *incarnation, struct errctx *ec)
{
    enum err e = store_ready_session(s, ec);

    if (e)
        return e;
    struct sqlbuf *q = store_start_sql(s, "DELETE FROM shardwheel_guard WHERE proven_ms < " NOW_MS " - " ROW_OLD_MS);
    if (incarnation)
        sql_put(q, " OR incarnation = ?", sql_fitted(incarnation, 32, TEXT_AS_IS));
    e = store_exec_sql(s, NULL, ec);
    return e ? err_wrap(ec, e, "remove rows of guards") : ERR_OK;
}

enum err store_check_asking(struct store_session *s, const char *incarnation, int64_t connection, bool *alive,
                            struct errctx *ec)
{
    int64_t user = 0;
    enum err e = store_ready_session(s, ec);

    if (e)
        return e;
    struct sqlbuf *q = store_start_sql(s, "SELECT IS_USED_LOCK(");
    put_name(q, "sw_asks_", incarnation, connection);
    sql_puts(q, ")");
    e = store_query_number(s, 0, &user, ec);
    *alive = user == connection;
    return e;
}

/* A read waits for no row, so what it waits for is the table. */
enum err store_is_guard_in_way(struct store_session *s, bool *in_way, struct errctx *ec)
{
    int64_t rows = 0;
    enum err e = store_ask_number(s, 0, &rows, ec, "SELECT COUNT(*) FROM xxl_job_lock");

    *in_way = e == ERR_CONFLICT;
    return *in_way ? ERR_OK : e;
}

enum err store_kill_session(struct store_session *s, int64_t connection, struct errctx *ec)
{
    enum err e = store_ready_session(s, ec);

    if (e)
        return e;
    return store_exec(s, NULL, ec, "KILL CONNECTION ?", connection);
}

enum err store_count_guards(struct store_session *s, const char *except, int *nodes, int *held, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_ask(s, &rows, ec,
                           "SELECT COUNT(*), SUM(COALESCE(IS_USED_LOCK(" NAME_OF_ROW
                           ") = connection, 0)) FROM shardwheel_guard WHERE proven_ms > " NOW_MS " - " NODE_FRESH_MS
                           " AND incarnation <> ?",
                           sql_fitted(except, 32, TEXT_AS_IS));

    if (e)
        return err_wrap(ec, e, "look for other guards");
    if (db_rows_next(rows)) {
        *nodes = (int)db_int(rows, 0);
        *held = (int)db_int(rows, 1);
    }
    db_rows_destroy(rows);
    return ERR_OK;
}

/* ---- the check of a claim ------------------------------------------------------------------------------------ */

/* A subquery is no part of what FOR UPDATE locks. */
const char store_guards_column[] =
    "(SELECT GROUP_CONCAT(incarnation, ':', connection ORDER BY proven_ms DESC) FROM shardwheel_guard WHERE "
    "proven_ms > " NOW_MS " - " DIGITS(GUARD_PROOF_MS) " AND IS_USED_LOCK(" NAME_OF_ROW ") = connection)";

/* The newest come first; a list that the server cut, or that is too long, loses its end only. */
void store_parse_guards(const char *text, struct claim_guards *out)
{
    out->count = 0;
    while (text && out->count < CLAIM_GUARDS_MAX) {
        size_t name_len = strcspn(text, ":,");
        const char *end = strchr(text, ',');
        char number[24];
        struct claim_guard *g = &out->list[out->count];
        size_t number_len = text[name_len] == ':' ? strcspn(text + name_len + 1, ",") : 0;

        if (name_len == 0 || name_len >= sizeof g->incarnation || number_len == 0 || number_len >= sizeof number)
            return;
        memcpy(g->incarnation, text, name_len);
        g->incarnation[name_len] = '\0';
        memcpy(number, text + name_len + 1, number_len);
        number[number_len] = '\0';
        if (!parse_int(number, 1, INT64_MAX, &g->connection))
            return;
        out->count++;
        text = end ? end + 1 : NULL;
    }
}

enum err store_check_guards(struct store_session *s, const struct claim_guards *guards, bool *held, struct errctx *ec)
{
    int64_t alive = 0;
    enum err e = s->in_txn ? ERR_OK : store_ready_session(s, ec);

    if (e)
        return e;
    struct sqlbuf *q = store_start_sql(s, "SELECT 0");
    for (int i = 0; i < guards->count; i++) {
        sql_puts(q, " + COALESCE(IS_USED_LOCK(");
        put_name(q, "sw_guard_", guards->list[i].incarnation, guards->list[i].connection);
        sql_put(q, ") = ?, 0)", guards->list[i].connection);
    }
    e = store_query_number(s, 0, &alive, ec);
    if (e)
        return err_wrap(ec, e, "check the guard against Java admins");
    *held = alive > 0;
    return ERR_OK;
}

enum err store_load_uptime_s(struct store_session *s, int64_t *out_s, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_ask(s, &rows, ec, "SHOW GLOBAL STATUS LIKE 'Uptime'");

    if (e)
        return err_wrap(ec, e, "ask since when the server runs");
    if (db_rows_next(rows))
        *out_s = db_int(rows, 1);
    else
        e = err_set(ec, ERR_STATE, "the server does not say since when it runs");
    db_rows_destroy(rows);
    return e;
}
