/* SPDX-License-Identifier: MIT */
#include "store/group/group_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/conn/datetime.h"

#define READ_LIMIT_MS 5000

enum err store_get_group_columns(struct store_session *s, struct group_columns *out, struct errctx *ec)
{
    struct store_features features;
    enum err e = store_get_features(s, &features, ec);

    if (!e)
        *out =
            (struct group_columns){.title_chars = features.group_title_len, .has_token = features.group_access_token};
    return e;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static void put_like(struct sqlbuf *q, const char *column, const char *part)
{
    struct buf pattern = {0};

    if (!part || !*part)
        return;
    buf_printf(&pattern, "%%%s%%", part);
    sql_put(q, " AND ? LIKE ?", sql_word(column), pattern.data ? pattern.data : "");
    q->text.failed |= buf_failed(&pattern);
    buf_fini(&pattern);
}

static void put_filter(struct sqlbuf *q, const struct group_filter *f, const struct store_features *features)
{
    sql_puts(q, " FROM xxl_job_group WHERE 1 = 1");
    put_like(q, "app_name", f->app_name);
    put_like(q, features->group_title ? "title" : "name", f->title);
    if (f->all_groups)
        return;
    sql_puts(q, " AND id IN (0");
    for (size_t i = 0; i < f->group_count; i++)
        sql_put(q, ",?", f->groups[i]);
    sql_puts(q, ")");
}

void group_put_columns(struct sqlbuf *q, const struct store_features *features)
{
    sql_puts(q, features->group_title ? "title" : "name");
    sql_put(q, ", address_type, address_list, update_time, ?",
            sql_word(features->group_access_token ? "access_token" : "NULL"));
}

enum err group_infos_read(struct store_session *s, struct group_infos *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t n = 0;
    enum err e = store_query_sql(s, &rows, ec);

    struct group_info *items = db_rows_room(&rows, sizeof *items, &e, ec);
    if (e)
        return e;
    while (db_rows_next(rows)) {
        struct group_info *g = &items[n++];
        *g = (struct group_info){
            .id = db_int(rows, 0),
            .app_name = db_text_or_empty(rows, 1),
            .title = db_text_or_empty(rows, 2),
            .address_type = db_int(rows, 3),
            .address_list = db_text(rows, 4),
            .access_token = db_text(rows, 6),
        };
        g->has_token = !str_is_blank(g->access_token);
        if (!datetime_parse(s->st->zone, db_text(rows, 5), &g->update_s))
            g->update_s = -1;
    }
    *out = (struct group_infos){.items = items, .count = n, .memory = rows};
    return ERR_OK;
}

void group_infos_fini(struct group_infos *list)
{
    db_rows_destroy(list->memory);
    free(list->items);
    *list = (struct group_infos){0};
}

static enum err list_groups(struct store_session *s, const struct group_filter *filter, const int64_t *after,
                            int64_t offset, int64_t limit, struct group_infos *out, struct errctx *ec)
{
    struct store_features features;
    enum err e = store_ready_features(s, &features, ec);

    if (e)
        return err_wrap(ec, e, "read the groups");
    struct sqlbuf *q = store_start_limited(s, READ_LIMIT_MS, "id, app_name, ");
    group_put_columns(q, &features);
    put_filter(q, filter, &features);
    if (after) {
        sql_put(q, " AND id > ? ORDER BY id LIMIT ", *after);
    } else {
        sql_puts(q,
                 features.group_title ? " ORDER BY app_name, title, id LIMIT " : " ORDER BY app_name, name, id LIMIT ");
        sql_put(q, "?,", offset);
    }
    sql_int(q, limit);
    e = group_infos_read(s, out, ec);
    return e ? err_wrap(ec, e, "read the groups") : ERR_OK;
}

enum err store_list_groups(struct store_session *s, const struct group_filter *filter, int64_t offset, int64_t limit,
                           struct group_infos *out, struct errctx *ec)
{
    return list_groups(s, filter, NULL, offset, limit, out, ec);
}

enum err store_list_groups_after(struct store_session *s, const struct group_filter *filter, int64_t after,
                                 int64_t limit, struct group_infos *out, struct errctx *ec)
{
    return list_groups(s, filter, &after, 0, limit, out, ec);
}

enum err store_count_groups(struct store_session *s, const struct group_filter *filter, int limit_ms, int64_t *out,
                            struct errctx *ec)
{
    struct store_features features;
    enum err e = store_ready_features(s, &features, ec);

    if (!e) {
        put_filter(store_start_limited(s, limit_ms, "COUNT(*)"), filter, &features);
        e = store_query_number(s, 0, out, ec);
    }
    return e ? err_wrap(ec, e, "count the groups") : ERR_OK;
}

enum err store_load_group(struct store_session *s, int64_t id, struct group_infos *out, struct errctx *ec)
{
    struct store_features features;
    enum err e = store_ready_features(s, &features, ec);

    if (e)
        return err_wrap(ec, e, "read group %" PRId64, id);
    struct sqlbuf *q = store_start_sql(s, "SELECT id, app_name, ");
    group_put_columns(q, &features);
    sql_put(q, " FROM xxl_job_group WHERE id = ?", id);
    e = group_infos_read(s, out, ec);
    if (!e && out->count == 0) {
        group_infos_fini(out);
        return err_set(ec, ERR_NOTFOUND, "there is no executor group %" PRId64, id);
    }
    return e ? err_wrap(ec, e, "read group %" PRId64, id) : ERR_OK;
}

enum err store_is_app_name_taken(struct store_session *s, const char *app_name, int64_t but, bool *out,
                                 struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e =
        store_ask(s, &rows, ec, "SELECT id FROM xxl_job_group WHERE app_name = ? AND id <> ? LIMIT 1", app_name, but);

    if (!e)
        *out = db_rows_next(rows);
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "look for the app name") : ERR_OK;
}

/* ---- executors --------------------------------------------------------------------------------------------------- */

static int compare_beats(const void *a, const void *b)
{
    const struct group_beat *x = a, *y = b;
    int by_address = strcmp(x->address, y->address);

    return by_address ? by_address : y->beat_s < x->beat_s ? -1 : y->beat_s > x->beat_s;
}

/* The rows of exactly this name (the collation may find others), each address once, with its latest beat. */
static size_t pick_beats(struct store_session *s, struct db_rows *rows, const char *app_name, int64_t since_s,
                         struct group_beat *items)
{
    size_t n = 0, kept = 0;
    int64_t beat_s;

    while (db_rows_next(rows)) {
        if (strcmp(db_text_or_empty(rows, 0), app_name) == 0 &&
            datetime_parse(s->st->zone, db_text(rows, 2), &beat_s) && beat_s >= since_s)
            items[n++] = (struct group_beat){db_text_or_empty(rows, 1), beat_s};
    }
    qsort(items, n, sizeof *items, compare_beats);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || strcmp(items[kept - 1].address, items[i].address) != 0)
            items[kept++] = items[i];
    }
    return kept;
}

enum err store_load_group_beats(struct store_session *s, const char *app_name, int64_t since_s, struct group_beats *out,
                                struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_ask_limited(s, READ_LIMIT_MS, &rows, ec,
                                   "registry_key, registry_value, update_time FROM xxl_job_registry WHERE "
                                   "registry_group = 'EXECUTOR' AND registry_key = ?",
                                   app_name);

    struct group_beat *items = db_rows_room(&rows, sizeof *items, &e, ec);
    if (e)
        return err_wrap(ec, e, "read the registry");
    *out = (struct group_beats){.items = items, .count = pick_beats(s, rows, app_name, since_s, items), .memory = rows};
    return ERR_OK;
}

void group_beats_fini(struct group_beats *list)
{
    db_rows_destroy(list->memory);
    free(list->items);
    *list = (struct group_beats){0};
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

enum err store_list_group_jobs(struct store_session *s, int64_t group, int64_t after, int64_t limit,
                               struct group_jobs *out, struct errctx *ec)
{
    struct store_features features;
    struct db_rows *rows = NULL;
    size_t n = 0;
    enum err e = store_get_features(s, &features, ec);

    if (!e)
        e = store_ask_limited(
            s, READ_LIMIT_MS, &rows, ec,
            "id, trigger_status, ? FROM xxl_job_info WHERE job_group = ? AND id > ? ORDER BY id LIMIT ?",
            sql_word(features.job_name_is_desc ? "job_desc" : "name"), group, after, limit);
    struct group_job *items = db_rows_room(&rows, sizeof *items, &e, ec);
    if (e)
        return err_wrap(ec, e, "read the jobs of group %" PRId64, group);
    while (db_rows_next(rows))
        items[n++] = (struct group_job){db_int(rows, 0), db_text_or_empty(rows, 2), db_int(rows, 1) == 1};
    *out = (struct group_jobs){.items = items, .count = n, .memory = rows};
    return ERR_OK;
}

void group_jobs_fini(struct group_jobs *list)
{
    db_rows_destroy(list->memory);
    free(list->items);
    *list = (struct group_jobs){0};
}
