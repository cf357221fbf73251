/* SPDX-License-Identifier: MIT */
/* Failed logins; what is cleaned of all that belongs to logins. */
#include "shardwheel/store/login.h"

#include "store/conn/session.h"

#include <string.h>

#define CLEAN_MAX 500 /* rows of a statement */

/* ---- tries ------------------------------------------------------------------------------------------------------- */

static void put_keys(struct sqlbuf *q, const char *const keys[LOGIN_KEYS])
{
    for (size_t i = 0; i < LOGIN_KEYS; i++) {
        if (i > 0)
            sql_puts(q, ", ");
        sql_text(q, keys[i]);
    }
}

/* Rows that are there from now on, and locked, one after the other in the order of the keys. */
static enum err lock_tries(struct store_session *s, const char *const keys[LOGIN_KEYS], struct errctx *ec)
{
    struct sqlbuf *q = store_start_sql(s, "INSERT INTO shardwheel_login (who, failures, last_ms) VALUES ");

    for (size_t i = 0; i < LOGIN_KEYS; i++) {
        sql_puts(q, i > 0 ? ", (" : "(");
        sql_put(q, "?, 0, " STORE_NOW_MS ")", keys[i]);
    }
    sql_puts(q, " ON DUPLICATE KEY UPDATE failures = failures");
    return store_exec_sql(s, NULL, ec);
}

static enum err read_tries(struct store_session *s, const char *const keys[LOGIN_KEYS],
                           struct login_failures failures[LOGIN_KEYS], int64_t *now_ms, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    struct sqlbuf *q =
        store_start_sql(s, "SELECT who, failures, last_ms, " STORE_NOW_MS " FROM shardwheel_login WHERE who IN (");
    enum err e;

    put_keys(q, keys);
    sql_puts(q, ")");
    e = store_query_sql(s, &rows, ec);
    while (!e && db_rows_next(rows)) {
        *now_ms = db_int(rows, 3);
        for (size_t i = 0; i < LOGIN_KEYS; i++) {
            if (!strcmp(keys[i], db_text_or_empty(rows, 0)))
                failures[i] = (struct login_failures){db_int(rows, 1), db_int(rows, 2)};
        }
    }
    db_rows_destroy(rows);
    return e;
}

static enum err count_failure(struct store_session *s, const char *const keys[LOGIN_KEYS], int64_t since_ms,
                              struct errctx *ec)
{
    struct sqlbuf *q =
        store_sql(s,
                  "UPDATE shardwheel_login SET failures = IF(last_ms < ?, 1, failures + 1), last_ms = " STORE_NOW_MS
                  " WHERE who IN (",
                  since_ms);

    put_keys(q, keys);
    sql_puts(q, ")");
    return store_exec_sql(s, NULL, ec);
}

/* Those of the first key end; of the others only a row goes that was made a moment ago. */
static enum err forgive(struct store_session *s, const char *const keys[LOGIN_KEYS], struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < LOGIN_KEYS && !e; i++)
        e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_login WHERE who = ??", keys[i],
                       sql_word(i == 0 ? "" : " AND failures = 0"));
    return e;
}

/* Failures that are forgotten are none. */
static enum err find_wait(struct store_session *s, const struct login_try *t,
                          struct login_failures failures[LOGIN_KEYS], int64_t *now_ms, int64_t *wait_ms,
                          struct errctx *ec)
{
    enum err e = read_tries(s, t->keys, failures, now_ms, ec);

    *wait_ms = 0;
    for (size_t i = 0; i < LOGIN_KEYS && !e; i++) {
        if (failures[i].last_ms < *now_ms - t->forget_ms)
            failures[i].count = 0;
        int64_t ms = failures[i].count ? t->wait(i, &failures[i], *now_ms) : 0;
        *wait_ms = ms > *wait_ms ? ms : *wait_ms;
    }
    return e;
}

enum err store_try_login(struct store_session *s, const struct login_try *t, struct login_failures before[LOGIN_KEYS],
                         int64_t *wait_ms, bool *right, struct errctx *ec)
{
    struct login_failures failures[LOGIN_KEYS] = {0};
    int64_t now_ms = 0, longest = 0;
    bool good = false;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_tries(s, t->keys, ec);
    if (!e)
        e = find_wait(s, t, failures, &now_ms, &longest, ec);
    if (!e && longest == 0) {
        good = t->check && t->check(t->arg);
        e = good ? forgive(s, t->keys, ec) : count_failure(s, t->keys, now_ms - t->forget_ms, ec);
        if (!e)
            e = store_commit_txn(s, ec);
    }
    store_end_txn(s); /* who has to wait leaves nothing */
    if (e)
        return err_wrap(ec, e, "count a login");
    *wait_ms = longest;
    *right = good;
    if (before)
        memcpy(before, failures, sizeof failures);
    return ERR_OK;
}

/* The time of the last failure is again what it was, unless somebody has failed since. */
enum err store_take_back_try(struct store_session *s, const char *const keys[LOGIN_KEYS],
                             const struct login_failures before[LOGIN_KEYS], bool right, struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_tries(s, keys, ec);
    for (size_t i = 0; i < LOGIN_KEYS && !e; i++)
        e = store_exec(
            s, NULL, ec,
            "UPDATE shardwheel_login SET last_ms = IF(failures = ? + 1, ?, last_ms), failures = failures - 1 "
            "WHERE who = ? AND failures > 0",
            before[i].count, before[i].last_ms, keys[i]);
    for (size_t i = 0; i < LOGIN_KEYS && !e; i++)
        e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_login WHERE who = ??", keys[i],
                       sql_word(right && i == 0 ? "" : " AND failures = 0"));
    e = store_finish_txn(s, e, ec);
    return e ? err_wrap(ec, e, "take back a failed login") : ERR_OK;
}

/* ---- cleaning ---------------------------------------------------------------------------------------------------- */

enum err store_clean_tries(struct store_session *s, int64_t forget_ms, int64_t max, struct errctx *ec)
{
    int64_t count = 0;
    enum err e = store_write(s, NULL, ec, "DELETE FROM shardwheel_login WHERE last_ms < " STORE_NOW_MS " - ? LIMIT ?",
                             forget_ms, CLEAN_MAX);

    if (!e) /* by the index, which is small */
        e = store_number(s, 0, &count, ec, "SELECT COUNT(*) FROM shardwheel_login");
    /* Names that nobody has make as many rows as somebody likes; those of codes are of users whose password is known
     * to who tries, and the only bound of what he may guess. */
    if (!e && count > max)
        e = store_write(s, NULL, ec,
                        "DELETE FROM shardwheel_login WHERE LEFT(who, 2) <> 'c:' ORDER BY last_ms, who LIMIT ?",
                        count - max);
    return e ? err_wrap(ec, e, "clean failed logins") : ERR_OK;
}

enum err store_clean_people(struct store_session *s, int64_t token_ms, size_t *deleted, struct errctx *ec)
{
    static const char *const gone[] = {
        "session WHERE expires_ms < " STORE_NOW_MS,
        "session WHERE user_id NOT IN (SELECT id FROM xxl_job_user)",
        "token WHERE user_id NOT IN (SELECT id FROM xxl_job_user)",
        "outside WHERE user_id NOT IN (SELECT id FROM xxl_job_user)",
        "factor WHERE user_id NOT IN (SELECT id FROM xxl_job_user)",
        "recovery WHERE user_id NOT IN (SELECT id FROM xxl_job_user)",
        "password WHERE user_id NOT IN (SELECT id FROM xxl_job_user)",
        ("role WHERE user_id NOT IN (SELECT id FROM xxl_job_user WHERE role = 0 AND COALESCE(permission, '') = '')"),
    };
    struct db_effect effect = {0};
    enum err e =
        store_write(s, &effect, ec, "DELETE FROM shardwheel_token WHERE expires_ms < " STORE_NOW_MS " - ? LIMIT ?",
                    token_ms, CLEAN_MAX);

    *deleted = (size_t)effect.matched;
    for (size_t i = 0; i < ARRAY_LEN(gone) && !e; i++) {
        effect.matched = 0;
        e = store_write(s, &effect, ec, "DELETE FROM shardwheel_? LIMIT ?", sql_word(gone[i]), CLEAN_MAX);
        *deleted += (size_t)effect.matched;
    }
    return e ? err_wrap(ec, e, "clean sessions and tokens") : ERR_OK;
}

enum err store_count_sessions(struct store_session *s, int64_t *out, struct errctx *ec)
{
    return store_number(s, 0, out, ec, "SELECT COUNT(*) FROM shardwheel_session WHERE expires_ms >= " STORE_NOW_MS);
}
