/* SPDX-License-Identifier: MIT */
#include "store/people/users.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows -------------------------------------------------------------------------------------------------------- */

void user_fini(struct user *u)
{
    free(u->name);
    free(u->permission);
    free(u->own_groups);
    *u = (struct user){0};
}

void users_destroy(struct user *list, size_t count)
{
    for (size_t i = 0; list && i < count; i++)
        user_fini(&list[i]);
    free(list);
}

struct sqlbuf *users_start(struct store_session *s)
{
    return store_start_sql(s, store_features(s)->user_token ? "SELECT " USER_COLUMNS ", u.token, o.source, o.seen_ms"
                                                            : "SELECT " USER_COLUMNS ", NULL, o.source, o.seen_ms");
}

enum err users_read(const struct db_rows *rows, struct user *out, struct errctx *ec)
{
    struct user u = {
        .id = db_int(rows, 0), .role = db_int(rows, 3), .factor_ms = db_int(rows, 9), .seen_ms = db_int(rows, 12)};

    u.name = str_copy(db_text_or_empty(rows, 1));
    u.permission = str_copy(db_text(rows, 4));
    u.own_groups = str_copy(db_text(rows, 6));
    snprintf(u.password, sizeof u.password, "%s", db_text_or_empty(rows, 2));
    snprintf(u.own_role, sizeof u.own_role, "%s", db_text_or_empty(rows, 5));
    if (!strcmp(u.password, db_text_or_empty(rows, 7)))
        snprintf(u.strong, sizeof u.strong, "%s", db_text_or_empty(rows, 8));
    snprintf(u.token, sizeof u.token, "%s", db_text_or_empty(rows, 10));
    snprintf(u.source, sizeof u.source, "%s", db_text_or_empty(rows, 11));
    if (!u.name || (db_text(rows, 4) && !u.permission) || (db_text(rows, 6) && !u.own_groups)) {
        user_fini(&u);
        return err_set(ec, ERR_NOMEM, "out of memory");
    }
    *out = u;
    return ERR_OK;
}

/* Sends what users_select began. */
static enum err read_list(struct store_session *s, struct user **out, size_t *count, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    struct user *list = NULL;
    size_t n = 0;
    enum err e = store_query_sql(s, &rows, ec);

    if (!e && !(list = calloc(db_rows_count(rows) + 1, sizeof *list)))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    while (!e && db_rows_next(rows)) {
        e = users_read(rows, &list[n], ec);
        n += !e;
    }
    db_rows_destroy(rows);
    if (e) {
        users_destroy(list, n);
        return e;
    }
    *out = list;
    *count = n;
    return ERR_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct sqlbuf *users_select(struct store_session *s)
{
    struct sqlbuf *q = users_start(s);

    sql_puts(q, " FROM xxl_job_user u" USER_JOINS);
    return q;
}

enum err users_read_one(struct store_session *s, struct user *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query_sql(s, &rows, ec);

    if (!e)
        e = db_rows_next(rows) ? users_read(rows, out, ec) : err_set(ec, ERR_NOTFOUND, "there is no such user");
    db_rows_destroy(rows);
    return e;
}

enum err store_find_user(struct store_session *s, const char *name, struct user *out, struct errctx *ec)
{
    sql_put(users_select(s), " WHERE u.username = ? ORDER BY u.id LIMIT 1", name);
    enum err e = users_read_one(s, out, ec);
    return e ? err_wrap(ec, e, "read a user") : ERR_OK;
}

static enum err load_user(struct store_session *s, int64_t id, bool lock, struct user *out, struct errctx *ec)
{
    sql_put(users_select(s), " WHERE u.id = ??", id, sql_word(lock ? " FOR UPDATE" : ""));
    enum err e = users_read_one(s, out, ec);
    return e ? err_wrap(ec, e, "read user %" PRId64, id) : ERR_OK;
}

enum err users_lock(struct store_session *s, int64_t id, struct user *out, struct errctx *ec)
{
    return load_user(s, id, /*lock=*/true, out, ec);
}

enum err store_load_user(struct store_session *s, int64_t id, struct user *out, struct errctx *ec)
{
    return load_user(s, id, /*lock=*/false, out, ec);
}

static void put_filter(struct sqlbuf *q, const struct user_filter *filter)
{
    sql_puts(q, " WHERE 1 = 1");
    if (filter->name && *filter->name)
        sql_put(q, " AND INSTR(u.username, ?) > 0", filter->name);
    if (filter->role >= 0)
        sql_put(q, " AND u.role = ?", filter->role);
    if (filter->named)
        sql_put(q, " AND CASE WHEN u.role = 1 THEN 'admin' WHEN r.role IS NULL THEN 'user' ELSE r.role END = ?",
                filter->named);
}

enum err store_load_users(struct store_session *s, const struct user_filter *filter, struct user **out, size_t *count,
                          struct errctx *ec)
{
    struct sqlbuf *q = users_select(s);

    put_filter(q, filter);
    if (!filter->by_name && filter->after_id > 0)
        sql_put(q, " AND u.id > ?", filter->after_id);
    sql_puts(q, filter->by_name ? " ORDER BY u.username, u.id LIMIT " : " ORDER BY u.id LIMIT ");
    sql_put(q, "? OFFSET ?", filter->limit, filter->offset);
    enum err e = read_list(s, out, count, ec);
    return e ? err_wrap(ec, e, "read users") : ERR_OK;
}

enum err store_count_users(struct store_session *s, const struct user_filter *filter, int64_t *out, struct errctx *ec)
{
    put_filter(store_start_sql(s, "SELECT COUNT(*) FROM xxl_job_user u" USER_ROLE_JOIN), filter);
    enum err e = store_query_number(s, 0, out, ec);
    return e ? err_wrap(ec, e, "count users") : ERR_OK;
}

enum err store_get_password_length(struct store_session *s, int *out, struct errctx *ec)
{
    struct store_features features;
    enum err e = store_get_features(s, &features, ec);

    if (!e)
        *out = features.user_password_len;
    return e;
}

enum err store_find_missing_groups(struct store_session *s, int64_t *ids, size_t count, size_t *missing,
                                   struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t left = count;
    enum err e = ERR_OK;

    if (count)
        e = store_query(s, &rows, ec, "SELECT id FROM xxl_job_group WHERE id IN (?)", sql_list(ids, count));
    while (!e && db_rows_next(rows)) {
        size_t kept = 0;
        for (size_t i = 0; i < left; i++) { /* one may be there twice */
            if (ids[i] != db_int(rows, 0))
                ids[kept++] = ids[i];
        }
        left = kept;
    }
    db_rows_destroy(rows);
    if (e)
        return err_wrap(ec, e, "look groups up");
    *missing = left;
    return ERR_OK;
}
