/* SPDX-License-Identifier: MIT */
/* What is written about users. Reading: users.c. */
#include "store/people/audit.h"
#include "store/people/users.h"
#include "shardwheel/store/login.h"

#include <inttypes.h>
#include <string.h>

static enum err write_role(struct store_session *s, int64_t id, const struct user *u, struct errctx *ec)
{
    if (!u->own_role[0])
        return store_exec(s, NULL, ec, "DELETE FROM shardwheel_role WHERE user_id = ?", id);
    return store_exec(s, NULL, ec, "REPLACE INTO shardwheel_role (user_id, role, job_groups) VALUES (?, ?, ?)", id,
                      u->own_role, sql_or_null(u->own_groups));
}

/* Beside u->password in the column. */
static enum err write_strong(struct store_session *s, int64_t id, const struct user *u, struct errctx *ec)
{
    if (!u->strong[0])
        return store_exec(s, NULL, ec, "DELETE FROM shardwheel_password WHERE user_id = ?", id);
    return store_exec(s, NULL, ec,
                      "REPLACE INTO shardwheel_password (user_id, stands_for, hash, weak) VALUES (?, ?, ?, ?)", id,
                      u->password, u->strong, u->strong_is_weak ? 1 : 0);
}

/* An id may come again: a server before MySQL 8.0 counts from the highest one that is left when it starts. */
static enum err forget_user(struct store_session *s, int64_t id, struct errctx *ec)
{
    static const char *const statements[] = {
        "DELETE FROM shardwheel_role WHERE user_id = ",     "DELETE FROM shardwheel_session WHERE user_id = ",
        "DELETE FROM shardwheel_token WHERE user_id = ",    "DELETE FROM shardwheel_outside WHERE user_id = ",
        "DELETE FROM shardwheel_password WHERE user_id = ", "DELETE FROM shardwheel_factor WHERE user_id = ",
        "DELETE FROM shardwheel_recovery WHERE user_id = ", "DELETE FROM shardwheel_view WHERE user_id = ",
    };
    enum err e = ERR_OK;

    for (size_t i = 0; i < ARRAY_LEN(statements) && !e; i++) {
        sql_int(store_start_sql(s, statements[i]), id);
        e = store_exec_sql(s, NULL, ec);
    }
    return e;
}

static enum err check_name_free(struct store_session *s, const char *name, struct errctx *ec)
{
    int64_t other = 0;
    enum err e = store_number(s, 0, &other, ec, "SELECT 1 FROM xxl_job_user WHERE username = ? LIMIT 1", name);

    return !e && other ? err_set(ec, ERR_STATE, "another user has this name") : e;
}

static enum err insert_user(struct store_session *s, const struct user *u, int64_t *id, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_exec(s, &effect, ec,
                            "INSERT INTO xxl_job_user (username, password, role, permission) VALUES (?, ?, ?, ?)",
                            u->name, u->password, u->role, sql_or_null(u->permission));

    *id = effect.first_id;
    return e;
}

/* A row of the same person may be left of a user whom a Java admin has removed. */
static enum err insert_outside(struct store_session *s, int64_t id, const struct user *u,
                               const struct outside_row *outside, struct errctx *ec)
{
    enum err e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_outside WHERE subject_hash = ?", outside->hash);

    return e ? e
             : store_exec(s, NULL, ec,
                          "INSERT INTO shardwheel_outside (user_id, username, source, subject_hash, subject, seen_ms) "
                          "VALUES (?, ?, ?, ?, ?, " STORE_NOW_MS ")",
                          id, u->name, outside->source, outside->hash, sql_fitted(outside->subject, 500, TEXT_AS_IS));
}

static enum err add_user(struct store_session *s, const struct user *u, const struct outside_row *outside,
                         const struct audit_row *audit, int64_t *id, struct errctx *ec)
{
    int64_t made = 0;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = check_name_free(s, u->name, ec);
    if (!e) {
        e = insert_user(s, u, &made, ec);
        if (e == ERR_INPUT && check_name_free(s, u->name, NULL) == ERR_STATE)
            e = err_set(ec, ERR_STATE, "another user has this name"); /* by now */
    }
    if (!e)
        e = forget_user(s, made, ec);
    if (!e && u->strong[0])
        e = write_strong(s, made, u, ec);
    if (!e && u->own_role[0])
        e = write_role(s, made, u, ec);
    if (!e && outside)
        e = insert_outside(s, made, u, outside, ec);
    e = store_end_added(s, e, audit, made, ec);
    if (e)
        return err_wrap(ec, e, "add a user");
    *id = made;
    return ERR_OK;
}

enum err store_add_user(struct store_session *s, const struct user *u, const struct audit_row *audit, int64_t *id,
                        struct errctx *ec)
{
    return add_user(s, u, NULL, audit, id, ec);
}

enum err store_add_outside_user(struct store_session *s, const struct user *u, const struct outside_row *outside,
                                const struct audit_row *audit, int64_t *id, struct errctx *ec)
{
    return add_user(s, u, outside, audit, id, ec);
}

static bool same_role(const struct user *a, const struct user *b)
{
    return !strcmp(a->own_role, b->own_role) && str_equal(a->own_groups, b->own_groups);
}

static bool same_user(const struct user *a, const struct user *b)
{
    return a->role == b->role && !strcmp(a->password, b->password) && str_equal(a->permission, b->permission) &&
           same_role(a, b);
}

static void put_assignment(struct sqlbuf *q, bool *first, const char *assignment)
{
    sql_puts(q, *first ? " SET " : ", ");
    sql_puts(q, assignment);
    *first = false;
}

/* A Java admin's session goes with the password: its own page logs out as well. */
static enum err write_user(struct store_session *s, const struct user *from, const struct user *to, bool end_java,
                           struct errctx *ec)
{
    struct sqlbuf *q = store_start_sql(s, "UPDATE xxl_job_user");
    bool first = true;

    if (strcmp(from->password, to->password) != 0) {
        put_assignment(q, &first, "password = ");
        sql_text(q, to->password);
        if (end_java)
            put_assignment(q, &first, "token = ''");
    }
    if (from->role != to->role) {
        put_assignment(q, &first, "role = ");
        sql_int(q, to->role);
    }
    if (!str_equal(from->permission, to->permission)) {
        put_assignment(q, &first, "permission = ");
        sql_text_or_null(q, to->permission);
    }
    if (first)
        return ERR_OK;
    sql_put(q, " WHERE id = ?", from->id);
    return store_exec_sql(s, NULL, ec);
}

static enum err end_sessions(struct store_session *s, const struct user *to, const char *keep, struct errctx *ec)
{
    char hash[SECRET_HASH_MAX];
    enum err e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_session WHERE user_id = ? AND id <> ?", to->id,
                            keep ? keep : "");

    if (e || !keep)
        return e;
    sha256_hex(to->password, hash);
    return store_exec(s, NULL, ec, "UPDATE shardwheel_session SET password_hash = ? WHERE id = ?", hash, keep);
}

static enum err compare_user(struct store_session *s, const struct user *from, bool *has_token, struct errctx *ec)
{
    struct user now = {0};
    enum err e = users_lock(s, from->id, &now, ec);

    if (!e && !same_user(from, &now))
        e = err_set(ec, ERR_CONFLICT, "user %" PRId64 " was changed by somebody else", from->id);
    *has_token = !e && now.token[0];
    user_fini(&now);
    return e;
}

enum err store_change_user(struct store_session *s, const struct user *from, const struct user *to, const char *keep,
                           bool keep_java, const struct audit_row *audit, struct errctx *ec)
{
    bool has_token = false;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = compare_user(s, from, &has_token, ec);
    if (!e)
        e = write_user(s, from, to, has_token && !keep_java, ec);
    if (!e && !(same_role(from, to) && from->role == to->role && str_equal(from->permission, to->permission)))
        e = write_role(s, from->id, to, ec);
    if (!e && strcmp(from->password, to->password) != 0)
        e = write_strong(s, from->id, to, ec);
    if (!e && strcmp(from->password, to->password) != 0)
        e = end_sessions(s, to, keep, ec);
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "change user %" PRId64, from->id) : ERR_OK;
}

/* Sessions are bound to what stands in the column. */
static enum err move_password(struct store_session *s, const struct user *to, const char *from, bool *moved,
                              struct errctx *ec)
{
    struct db_effect effect = {0};
    char before[SECRET_HASH_MAX], after[SECRET_HASH_MAX];
    enum err e = store_exec(s, &effect, ec, "UPDATE xxl_job_user SET password = ? WHERE id = ? AND password = ?",
                            to->password, to->id, from);

    *moved = !e && effect.matched > 0;
    if (!*moved)
        return e;
    sha256_hex(from, before);
    sha256_hex(to->password, after);
    e = write_strong(s, to->id, to, ec);
    return e ? e
             : store_exec(s, NULL, ec,
                          "UPDATE shardwheel_session SET password_hash = ? WHERE user_id = ? AND password_hash = ?",
                          after, to->id, before);
}

enum err store_move_password(struct store_session *s, const struct user *to, const char *from,
                             const struct audit_row *audit, bool *moved, struct errctx *ec)
{
    bool done = false;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = move_password(s, to, from, &done, ec);
    e = store_end_audited(s, e, done ? audit : NULL, ec);
    *moved = !e && done;
    return e ? err_wrap(ec, e, "write the password of user %" PRId64 " in another form", to->id) : ERR_OK;
}

enum err store_remove_user(struct store_session *s, int64_t id, const struct audit_row *audit, struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e) {
        store_sql(s, "DELETE FROM xxl_job_user WHERE id = ?", id);
        e = store_exec_found(s, "user", ec);
    }
    if (!e)
        e = forget_user(s, id, ec);
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "remove user %" PRId64, id) : ERR_OK;
}
