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
#include "store/conn/rows.h"
#include "store/plan/claim_impl.h"

#define TEXT_OF(number) #number
#define DIGITS(number) TEXT_OF(number)
#define NODE_FRESH_MS "5000"
#define ROW_OLD_MS "60000"
/* At most 9 + 32 + 1 + 20 characters; 64 are allowed. */
#define NAME_OF_ROW "CONCAT('sw_guard_', incarnation, '_', connection)"

/* ---- holding the row ----------------------------------------------------------------------------------------- */

/* The call of a function on a lock up to the lock's name: the caller puts what follows, and the bracket. */
static void put_call(struct store_session *s, const char *function, const char *prefix, const char *incarnation,
                     int64_t connection)
{
    char name[80];

    snprintf(name, sizeof name, "%s%.32s_%" PRId64, prefix, incarnation, connection);
    sql_put(&s->sql, "?(?", sql_word(function), name);
}

static int64_t own_connection(const struct store_session *s)
{
    return s->db ? db_connection_id(s->db) : 0;
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
        store_start_sql(s, "SELECT ");
        put_call(s, "GET_LOCK", "sw_asks_", incarnation, own_connection(s));
        sql_puts(&s->sql, ", 0)");
        e = store_query_number(s, 0, &got, ec);
    }
    if (!e && got != 1)
        e = err_set(ec, ERR_STATE, "the server does not give a lock of the session's own name");
    if (!e)
        e = store_begin_txn(s, ec);
    if (!e) {
        *connection = own_connection(s);
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
        return err_set(ec, ERR_CONFLICT, "the row schedule_lock of xxl_job_lock no longer exists");
    store_start_sql(s, "SELECT IF(");
    put_call(s, "GET_LOCK", "sw_guard_", incarnation, own_connection(s));
    sql_puts(&s->sql, ", 0) = 1, " STORE_NOW_MS ", 0)");
    e = store_query_number(s, 0, proven_ms, ec);
    return e || *proven_ms ? e : err_set(ec, ERR_STATE, "the server does not give a lock of the session's own name");
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
    /* The function sleeps after the time was read. */
    enum err e = store_number(s, 0, proven_ms, ec, "SELECT " STORE_NOW_MS ", SLEEP(0.9)");

    return e ? err_wrap(ec, e, "hold the guard against Java admins") : ERR_OK;
}

void store_end_guard(struct store_session *s, const char *incarnation)
{
    if (!s->db || !s->in_txn)
        return;
    store_start_sql(s, "DO ");
    put_call(s, "RELEASE_LOCK", "sw_guard_", incarnation, own_connection(s));
    sql_puts(&s->sql, ")");
    if (!store_exec_sql(s, NULL, NULL))
        store_end_txn(s);
}

/* ---- the table ----------------------------------------------------------------------------------------------- */

enum err store_write_guard(struct store_session *s, const char *incarnation, int64_t connection, int64_t proven_ms,
                           struct errctx *ec)
{
    struct sql_value at = connection ? sql_of_int(proven_ms) : sql_word(STORE_NOW_MS);
    enum err e = store_exec(s, NULL, ec,
                            "INSERT INTO shardwheel_guard (incarnation, connection, proven_ms) VALUES (?, ?, ?) "
                            "ON DUPLICATE KEY UPDATE connection = ?, proven_ms = ?",
                            sql_fitted(incarnation, 32, TEXT_AS_IS), connection, at, connection, at);

    return e ? err_wrap(ec, e, "write the row of the guard") : ERR_OK;
}

enum err store_delete_guard(struct store_session *s, const char *incarnation, struct errctx *ec)
{
    struct sqlbuf *q =
        store_start_sql(s, "DELETE FROM shardwheel_guard WHERE proven_ms < " STORE_NOW_MS " - " ROW_OLD_MS);

    if (incarnation)
        sql_put(q, " OR incarnation = ?", sql_fitted(incarnation, 32, TEXT_AS_IS));
    enum err e = store_exec_sql(s, NULL, ec);
    return e ? err_wrap(ec, e, "remove rows of guards") : ERR_OK;
}

enum err store_check_asking(struct store_session *s, const char *incarnation, int64_t connection, bool *alive,
                            struct errctx *ec)
{
    int64_t user = 0;

    store_start_sql(s, "SELECT ");
    put_call(s, "IS_USED_LOCK", "sw_asks_", incarnation, connection);
    sql_puts(&s->sql, ")");
    enum err e = store_query_number(s, 0, &user, ec);
    *alive = user == connection;
    return e;
}

/* A read waits for no row, so what it waits for is the table. */
enum err store_is_guard_in_way(struct store_session *s, bool *in_way, struct errctx *ec)
{
    int64_t rows = 0;
    enum err e = store_number(s, 0, &rows, ec, "SELECT COUNT(*) FROM xxl_job_lock");

    *in_way = e == ERR_CONFLICT;
    return *in_way ? ERR_OK : e;
}

enum err store_kill_session(struct store_session *s, int64_t connection, struct errctx *ec)
{
    return store_exec(s, NULL, ec, "KILL CONNECTION ?", connection);
}

enum err store_count_guards(struct store_session *s, const char *except, int *nodes, int *held, struct errctx *ec)
{
    struct counts {
        int nodes, held;
    } counts;
    static const struct row_type row = ROWS(struct counts, FIELDS(struct counts, nodes, held));

    store_sql(s,
              "SELECT COUNT(*), SUM(COALESCE(IS_USED_LOCK(" NAME_OF_ROW
              ") = connection, 0)) FROM shardwheel_guard WHERE proven_ms > " STORE_NOW_MS " - " NODE_FRESH_MS
              " AND incarnation <> ?",
              sql_fitted(except, 32, TEXT_AS_IS));
    enum err e = store_read_row(s, &row, &counts, NULL, ec);
    if (e)
        return err_wrap(ec, e, "look for other guards");
    *nodes = counts.nodes;
    *held = counts.held;
    return ERR_OK;
}

/* ---- the check of a claim ------------------------------------------------------------------------------------ */

/* A subquery is no part of what FOR UPDATE locks. */
const char store_guards_column[] =
    "(SELECT GROUP_CONCAT(incarnation, ':', connection ORDER BY proven_ms DESC) FROM shardwheel_guard WHERE "
    "proven_ms > " STORE_NOW_MS " - " DIGITS(GUARD_PROOF_MS) " AND IS_USED_LOCK(" NAME_OF_ROW ") = connection)";

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

    store_start_sql(s, "SELECT 0");
    for (int i = 0; i < guards->count; i++) {
        put_call(s, " + COALESCE(IS_USED_LOCK", "sw_guard_", guards->list[i].incarnation, guards->list[i].connection);
        sql_put(&s->sql, ") = ?, 0)", guards->list[i].connection);
    }
    enum err e = store_query_number(s, 0, &alive, ec);
    *held = alive > 0;
    return e ? err_wrap(ec, e, "check the guard against Java admins") : ERR_OK;
}

enum err store_load_guards(struct store_session *s, struct claim_guards *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(s, &rows, ec, "SELECT ?", sql_word(store_guards_column));

    out->count = 0;
    if (!e && db_rows_next(rows))
        store_parse_guards(db_text(rows, 0), out);
    db_rows_destroy(rows);
    return e;
}

enum err store_load_uptime_s(struct store_session *s, int64_t *out_s, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(s, &rows, ec, "SHOW GLOBAL STATUS LIKE 'Uptime'");

    if (e)
        return err_wrap(ec, e, "ask since when the server runs");
    if (db_rows_next(rows))
        *out_s = db_int(rows, 1);
    else
        e = err_set(ec, ERR_STATE, "the server does not say since when it runs");
    db_rows_destroy(rows);
    return e;
}
