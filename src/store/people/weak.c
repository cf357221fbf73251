/* SPDX-License-Identifier: MIT */
/* Who has a secret that everybody knows, or a password that no Java admin knows. */
#include "shardwheel/text.h"
#include "store/people/users.h"

#include <stdio.h>
#include <string.h>

#define LOOK_MAX 1000

/* Sends the statement, whose one column is a name. */
static enum err read_few(struct store_session *s, struct named_few *out, struct errctx *ec)
{
    struct named_few few = {0};
    struct db_rows *rows = NULL;
    enum err e = store_query_sql(s, &rows, ec);

    while (!e && db_rows_next(rows)) {
        const char *name = db_text_or_empty(rows, 0);

        if (few.count < NAMED_FEW_MAX) {
            size_t len = utf8_cut(name, strlen(name), sizeof few.names[0] - 1);

            snprintf(few.names[few.count++], sizeof few.names[0], "%.*s", (int)len, name);
        }
        few.all++;
    }
    db_rows_destroy(rows);
    if (!e)
        *out = few;
    return e;
}

enum err store_find_users_by_password(struct store_session *s, const char *const hashes[], size_t count,
                                      struct named_few *out, struct errctx *ec)
{
    struct store_features features;
    enum err e = store_get_features(s, &features, ec);

    if (e)
        return e;
    store_start_sql(s, "SELECT u.username FROM xxl_job_user u");
    if (features.own_complete)
        sql_puts(&s->sql, " LEFT JOIN shardwheel_password p ON p.user_id = u.id AND p.weak = 1");
    sql_puts(&s->sql, " WHERE u.password IN (");
    for (size_t i = 0; i < count; i++) {
        sql_puts(&s->sql, i ? ", " : "");
        sql_text(&s->sql, hashes[i]);
    }
    sql_puts(&s->sql, features.own_complete ? ") OR " USER_IS_STRONG : ")");
    sql_put(&s->sql, " ORDER BY u.id LIMIT ?", LOOK_MAX);
    return read_few(s, out, ec);
}

enum err store_has_strong_passwords(struct store_session *s, bool *out, struct errctx *ec)
{
    int64_t there = 0;
    enum err e = store_number(s, 0, &there, ec, "SELECT 1 FROM shardwheel_password LIMIT 1");

    *out = there != 0;
    return e ? err_wrap(ec, e, "look for strong passwords") : ERR_OK;
}

enum err store_find_strong_users(struct store_session *s, struct named_few *out, struct errctx *ec)
{
    struct store_features features;
    enum err e = store_get_features(s, &features, ec);

    if (e)
        return e;
    *out = (struct named_few){0};
    if (!features.own_complete)
        return ERR_OK;
    store_sql(
        s,
        "SELECT u.username FROM xxl_job_user u JOIN shardwheel_password p ON p.user_id = u.id WHERE " USER_IS_STRONG
        " ORDER BY u.id LIMIT ?",
        LOOK_MAX);
    return read_few(s, out, ec);
}

enum err store_find_groups_by_token(struct store_session *s, const char *token, struct named_few *out,
                                    struct errctx *ec)
{
    struct store_features features;
    enum err e = store_get_features(s, &features, ec);

    if (e)
        return e;
    *out = (struct named_few){0};
    if (!features.group_access_token)
        return ERR_OK;
    store_sql(s, "SELECT app_name FROM xxl_job_group WHERE access_token = ? ORDER BY id LIMIT ?", token, LOOK_MAX);
    return read_few(s, out, ec);
}
