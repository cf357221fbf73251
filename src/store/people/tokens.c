/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/login.h"

#include "store/people/audit.h"

#include <inttypes.h>

static enum err check_room(struct store_session *s, const struct token_row *token, int64_t max, struct errctx *ec)
{
    int64_t user = 0, count = 0, same = 0;
    /* The user's row is locked, so that two at once do not pass both. */
    enum err e = store_number(s, 0, &user, ec, "SELECT id FROM xxl_job_user WHERE id = ? FOR UPDATE", token->user_id);

    if (!e)
        e = store_number(s, 0, &same, ec, "SELECT COUNT(*) FROM shardwheel_token WHERE name = ? AND user_id = ?",
                         token->name, token->user_id);
    if (!e && same > 0)
        return err_set(ec, ERR_STATE, "the user already has a token with this name");
    if (!e)
        e = store_number(s, 0, &count, ec, "SELECT COUNT(*) FROM shardwheel_token WHERE user_id = ?", token->user_id);
    if (!e && count >= max)
        return err_set(ec, ERR_BUSY, "the user has %" PRId64 " tokens, which is the maximum", count);
    return e;
}

static enum err insert_token(struct store_session *s, const struct token_row *token, const char *hash, int64_t *id,
                             struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_exec(s, &effect, ec,
                            "INSERT INTO shardwheel_token (hash, name, user_id, scopes, created_ms, expires_ms) "
                            "VALUES (?, ?, ?, ?, " STORE_NOW_MS ", ?)",
                            hash, token->name, token->user_id, token->scopes, sql_int_or_null(token->expires_ms));

    *id = effect.first_id;
    return e;
}

enum err store_add_token(struct store_session *s, const struct token_row *token, const char *hash, int64_t max,
                         const struct audit_row *audit, int64_t *id, struct errctx *ec)
{
    int64_t made = 0;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = check_room(s, token, max, ec);
    if (!e)
        e = insert_token(s, token, hash, &made, ec);
    e = store_end_added(s, e, audit, made, ec);
    if (e)
        return err_wrap(ec, e, "add a token");
    *id = made;
    return ERR_OK;
}

enum err store_touch_token(struct store_session *s, int64_t id, struct errctx *ec)
{
    enum err e = store_write(s, NULL, ec, "UPDATE shardwheel_token SET used_ms = " STORE_NOW_MS " WHERE id = ?", id);

    return e ? err_wrap(ec, e, "note the use of a token") : ERR_OK;
}

enum err store_remove_token(struct store_session *s, int64_t user_id, int64_t id, const struct audit_row *audit,
                            struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e) {
        store_sql(s, "DELETE FROM shardwheel_token WHERE id = ?", id);
        if (user_id)
            sql_put(&s->sql, " AND user_id = ?", user_id);
        e = store_exec_found(s, "token", ec);
    }
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "remove token %" PRId64, id) : ERR_OK;
}

enum err store_load_tokens(struct store_session *s, int64_t user_id, int64_t after_id, int64_t limit,
                           struct token_row **out, size_t *count, struct errctx *ec)
{
    static const struct row_type tokens =
        ROWS(struct token_row, FIELDS(struct token_row, id, user_id, name, scopes, created_ms, expires_ms, used_ms));

    store_sql(s, "SELECT id, user_id, name, scopes, created_ms, expires_ms, used_ms FROM shardwheel_token WHERE id > ?",
              after_id);
    if (user_id)
        sql_put(&s->sql, " AND user_id = ?", user_id);
    sql_put(&s->sql, " ORDER BY id LIMIT ?", limit);
    enum err e = store_read_array(s, &tokens, out, count, ec);
    return e ? err_wrap(ec, e, "read tokens") : ERR_OK;
}
