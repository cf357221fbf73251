/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/factor.h"

#include "store/conn/rows.h"
#include "store/people/audit.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static enum err load_codes(struct store_session *s, int64_t user_id, struct factor_row *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(s, &rows, ec, "SELECT hash FROM shardwheel_recovery WHERE user_id = ? LIMIT ?", user_id,
                             RECOVERY_CODES);

    while (!e && out->code_count < RECOVERY_CODES && db_rows_next(rows))
        snprintf(out->codes[out->code_count++], SECRET_HASH_MAX, "%s", db_text_or_empty(rows, 0));
    db_rows_destroy(rows);
    return e;
}

enum err store_load_factor(struct store_session *s, int64_t user_id, struct factor_row *out, struct errctx *ec)
{
    static const struct row_type factors =
        ROWS(struct factor_row, FIELDS(struct factor_row, secret, since_ms, last_step, pending, pending_ms, now_ms));
    struct factor_row row = {0};

    store_sql(s,
              "SELECT f.secret, f.since_ms, f.last_step, f.pending, f.pending_ms, " STORE_NOW_MS
              " FROM (SELECT 1 AS one) o LEFT JOIN shardwheel_factor f ON f.user_id = ?",
              user_id);
    enum err e = store_read_row(s, &factors, &row, NULL, ec);
    if (!e)
        e = load_codes(s, user_id, &row, ec);
    if (e)
        return err_wrap(ec, e, "read the second factor of user %" PRId64, user_id);
    *out = row;
    return ERR_OK;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

enum err store_set_pending_factor(struct store_session *s, int64_t user_id, const char *secret, struct errctx *ec)
{
    enum err e = store_write(s, NULL, ec,
                             "INSERT INTO shardwheel_factor (user_id, pending, pending_ms) VALUES (?, ?, " STORE_NOW_MS
                             ") ON DUPLICATE KEY UPDATE pending = ?, pending_ms = " STORE_NOW_MS,
                             user_id, secret, secret);

    return e ? err_wrap(ec, e, "begin a second factor of user %" PRId64, user_id) : ERR_OK;
}

static enum err write_codes(struct store_session *s, int64_t user_id,
                            const char hashes[RECOVERY_CODES][SECRET_HASH_MAX], struct errctx *ec)
{
    enum err e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_recovery WHERE user_id = ?", user_id);

    for (size_t i = 0; i < RECOVERY_CODES && !e; i++)
        e = store_exec(s, NULL, ec, "INSERT INTO shardwheel_recovery (user_id, hash) VALUES (?, ?)", user_id,
                       hashes[i]);
    return e;
}

enum err store_confirm_factor(struct store_session *s, int64_t user_id, const char *session, const char *pending,
                              int64_t step, const char hashes[RECOVERY_CODES][SECRET_HASH_MAX],
                              const struct audit_row *audit, bool *done, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = store_exec(s, &effect, ec,
                       "UPDATE shardwheel_factor SET secret = pending, since_ms = " STORE_NOW_MS
                       ", last_step = ?, pending = NULL, pending_ms = NULL WHERE user_id = ? AND pending = ?",
                       step, user_id, pending);
    bool found = !e && effect.matched > 0;
    if (found)
        e = write_codes(s, user_id, hashes, ec);
    if (!e && found && *session)
        e = store_exec(s, NULL, ec, "UPDATE shardwheel_session SET factor_ms = " STORE_NOW_MS " WHERE id = ?", session);
    e = store_end_audited(s, e, found ? audit : NULL, ec);
    *done = !e && found;
    return e ? err_wrap(ec, e, "write the second factor of user %" PRId64, user_id) : ERR_OK;
}

enum err store_use_factor_step(struct store_session *s, int64_t user_id, const char *secret, int64_t step, bool *used,
                               struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_write(s, &effect, ec,
                             "UPDATE shardwheel_factor SET last_step = ? WHERE user_id = ? AND secret = ? AND "
                             "last_step < ?",
                             step, user_id, secret, step);

    *used = !e && effect.matched > 0;
    return e ? err_wrap(ec, e, "use a code of user %" PRId64, user_id) : ERR_OK;
}

enum err store_use_recovery(struct store_session *s, int64_t user_id, const char *hash, bool *used, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e =
        store_write(s, &effect, ec, "DELETE FROM shardwheel_recovery WHERE user_id = ? AND hash = ?", user_id, hash);

    *used = !e && effect.matched > 0;
    return e ? err_wrap(ec, e, "use a recovery code of user %" PRId64, user_id) : ERR_OK;
}

/* The row stays locked to the end. */
static enum err lock_in_use(struct store_session *s, int64_t user_id, struct errctx *ec)
{
    int64_t since_ms = 0;
    enum err e = store_number(s, 0, &since_ms, ec,
                              "SELECT since_ms FROM shardwheel_factor WHERE user_id = ? AND since_ms IS NOT NULL FOR "
                              "UPDATE",
                              user_id);

    return e ? e : since_ms ? ERR_OK : err_set(ec, ERR_NOTFOUND, "user %" PRId64 " has no second factor", user_id);
}

enum err store_replace_recovery(struct store_session *s, int64_t user_id,
                                const char hashes[RECOVERY_CODES][SECRET_HASH_MAX], const struct audit_row *audit,
                                struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_in_use(s, user_id, ec);
    if (!e)
        e = write_codes(s, user_id, hashes, ec);
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "write recovery codes") : ERR_OK;
}

enum err store_remove_factor(struct store_session *s, int64_t user_id, const struct audit_row *audit, struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_in_use(s, user_id, ec);
    if (!e)
        e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_factor WHERE user_id = ?", user_id);
    if (!e)
        e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_recovery WHERE user_id = ?", user_id);
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "remove a second factor") : ERR_OK;
}
