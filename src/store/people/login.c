/* SPDX-License-Identifier: MIT */
/* Who a proof belongs to, in one statement; the sessions. */
#include "shardwheel/store/login.h"

#include "store/people/audit.h"
#include "store/people/users.h"

#include <inttypes.h>

#define SESSION_COLUMNS                                                                                                \
    "s.id, s.user_id, s.password_hash, s.created_ms, s.used_ms, s.expires_ms, s.lives_ms, s.address, s.agent, "        \
    "s.factor_ms"
#define REMOVED_MAX 200 /* sessions at a time; the next login removes what is left */

/* ---- who it is --------------------------------------------------------------------------------------------------- */

static void put_key(struct sqlbuf *q, const struct login_key *key)
{
    sql_puts(q, key->token ? " FROM shardwheel_token t JOIN xxl_job_user u ON u.id = t.user_id"
                           : " FROM xxl_job_user u LEFT JOIN shardwheel_token t ON t.id = 0");
    sql_put(q, USER_JOINS " LEFT JOIN shardwheel_session s ON s.user_id = u.id AND s.id = ?",
            key->session ? key->session : "");
    if (key->token)
        sql_put(q, " WHERE t.hash = ? LIMIT 1", key->token);
    else if (key->name)
        sql_put(q, " WHERE u.username = ? LIMIT 1", key->name);
    else
        sql_put(q, " WHERE u.id = ? LIMIT 1", key->user_id);
}

static const struct row_type session_rows =
    ROWS(struct session_row, FIELDS(struct session_row, id, user_id, password, created_ms, used_ms, expires_ms,
                                    lives_ms, address, agent, factor_ms));

/* Behind the columns of the user. */
static const struct row_type facts_rows =
    ROWS(struct login_facts, SKIP, SKIP, SKIP, SKIP, SKIP, SKIP, SKIP, SKIP, SKIP, SKIP, SKIP, SKIP, SKIP,
         FIELDS(struct login_facts, session.id, session.user_id, session.password, session.created_ms, session.used_ms,
                session.expires_ms, session.lives_ms, session.address, session.agent, session.factor_ms, now_ms,
                token.id, token.name, token.scopes, token.expires_ms, token.used_ms));

static enum err read_facts(const struct store_session *s, const struct db_rows *rows, struct login_facts *out,
                           struct errctx *ec)
{
    struct login_facts f = {0};
    enum err e = users_read(rows, &f.user, ec);

    if (e)
        return e;
    row_read(s, rows, &facts_rows, &f);
    f.token.user_id = f.user.id;
    *out = f;
    return ERR_OK;
}

enum err store_load_login(struct store_session *s, const struct login_key *key, struct login_facts *out,
                          struct errctx *ec)
{
    struct db_rows *rows = NULL;
    struct sqlbuf *q = users_start(s);

    sql_puts(q, ", " SESSION_COLUMNS ", " STORE_NOW_MS ", t.id, t.name, t.scopes, t.expires_ms, t.used_ms");
    put_key(q, key);
    enum err e = store_query_sql(s, &rows, ec);
    if (!e)
        e = db_rows_next(rows) ? read_facts(s, rows, out, ec) : err_set(ec, ERR_NOTFOUND, "there is no such user");
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "look up who it is") : ERR_OK;
}

void login_facts_fini(struct login_facts *f)
{
    user_fini(&f->user);
}

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

static enum err insert_session(struct store_session *s, const struct session_row *row, struct errctx *ec)
{
    return store_exec(s, NULL, ec,
                      "INSERT INTO shardwheel_session (id, user_id, password_hash, created_ms, used_ms, expires_ms, "
                      "lives_ms, address, agent, factor_ms) VALUES (?, ?, ?, " STORE_NOW_MS ", " STORE_NOW_MS
                      ", " STORE_NOW_MS " + ?, ?, ?, ?, IF(?, " STORE_NOW_MS ", NULL))",
                      row->id, row->user_id, row->password, row->lives_ms, row->lives_ms,
                      sql_fitted(row->address, 64, TEXT_AS_IS), sql_fitted(row->agent, 200, TEXT_AS_IS),
                      row->factor_ms);
}

/* Those that are too many: the oldest. Expired ones go before them, for they were not used for longer than any that
 * lives as long. They are looked for without locks, and removed by their ids: a range would be locked with what others
 * are adding to it, and many logins at once would meet in deadlocks. */
static enum err bound_sessions(struct store_session *s, int64_t user_id, int64_t max, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(s, &rows, ec,
                             "SELECT id FROM shardwheel_session WHERE user_id = ? ORDER BY expires_ms > " STORE_NOW_MS
                             " DESC, used_ms DESC, id DESC LIMIT ?, ?",
                             user_id, max, REMOVED_MAX);

    if (e || db_rows_count(rows) == 0) {
        db_rows_destroy(rows);
        return e;
    }
    struct sqlbuf *q = store_start_sql(s, "DELETE FROM shardwheel_session WHERE id IN (");
    for (bool first = true; db_rows_next(rows); first = false) {
        sql_puts(q, first ? "" : ", ");
        sql_text(q, db_text_or_empty(rows, 0));
    }
    sql_puts(q, ")");
    db_rows_destroy(rows);
    return store_exec_sql(s, NULL, ec);
}

enum err store_add_session(struct store_session *s, const struct session_row *session, int64_t max,
                           const struct audit_row *audit, struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = insert_session(s, session, ec);
    if (!e)
        e = bound_sessions(s, session->user_id, max, ec);
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "begin a session") : ERR_OK;
}

enum err store_touch_session(struct store_session *s, const char *id, int64_t longest_ms, struct errctx *ec)
{
    enum err e = store_write(s, NULL, ec,
                             "UPDATE shardwheel_session SET used_ms = " STORE_NOW_MS
                             ", expires_ms = LEAST(" STORE_NOW_MS " + lives_ms, created_ms + ?) WHERE id = ?",
                             longest_ms, id);

    return e ? err_wrap(ec, e, "note the use of a session") : ERR_OK;
}

enum err store_remove_session(struct store_session *s, int64_t user_id, const char *id, const struct audit_row *audit,
                              struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e) {
        store_sql(s, "DELETE FROM shardwheel_session WHERE user_id = ?", user_id);
        if (id)
            sql_put(&s->sql, " AND id = ?", id);
        e = id ? store_exec_found(s, "session", ec) : store_exec_sql(s, NULL, ec);
    }
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "end a session") : ERR_OK;
}

enum err store_end_java_session(struct store_session *s, int64_t user_id, const char *token,
                                const struct audit_row *audit, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = store_exec(s, &effect, ec, "UPDATE xxl_job_user SET token = '' WHERE id = ? AND token = ?", user_id, token);
    if (!e && effect.matched > 0)
        e = store_put_audit(s, audit, ec);
    e = store_finish_txn(s, e, ec);
    return e ? err_wrap(ec, e, "end the session of a Java admin") : ERR_OK;
}

enum err store_load_sessions(struct store_session *s, int64_t user_id, int64_t limit, struct session_row **out,
                             size_t *count, struct errctx *ec)
{
    store_sql(s,
              "SELECT " SESSION_COLUMNS
              " FROM shardwheel_session s WHERE s.user_id = ? AND s.expires_ms > " STORE_NOW_MS
              " ORDER BY s.used_ms DESC, s.id LIMIT ?",
              user_id, limit);
    enum err e = store_read_array(s, &session_rows, out, count, ec);
    return e ? err_wrap(ec, e, "read the sessions of user %" PRId64, user_id) : ERR_OK;
}

enum err store_has_session_from(struct store_session *s, int64_t user_id, const char *address, bool *out,
                                struct errctx *ec)
{
    int64_t there = 0;
    enum err e = store_number(
        s, 0, &there, ec,
        "SELECT 1 FROM shardwheel_session WHERE user_id = ? AND address = ? AND expires_ms > " STORE_NOW_MS " LIMIT 1",
        user_id, address);

    *out = there != 0;
    return e ? err_wrap(ec, e, "look for sessions of user %" PRId64, user_id) : ERR_OK;
}
