/* SPDX-License-Identifier: MIT */
#include "store/group/group_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    put_like(q, group_title_column(features), f->title);
    if (!f->all_groups)
        sql_put(q, " AND id IN (?)", sql_list(f->groups, f->group_count));
}

void group_put_columns(struct sqlbuf *q, const struct store_features *features)
{
    sql_puts(q, group_title_column(features));
    sql_put(q, ", address_type, address_list, update_time, ?",
            sql_word(features->group_access_token ? "access_token" : "NULL"));
}

static bool look_at_token(const struct store_session *s, const struct db_rows *row, void *item)
{
    struct group_info *group = item;

    (void)s, (void)row;
    group->has_token = !str_is_blank(group->access_token);
    return true;
}

enum err group_infos_read(struct store_session *s, struct group_infos *out, struct errctx *ec)
{
    static const struct row_type groups =
        ROWS_AND(struct group_info, look_at_token, FIELDS(struct group_info, id, app_name, title, address_type),
                 NULL_TEXTS(struct group_info, address_list), TIME(struct group_info, update_s, -1),
                 NULL_TEXTS(struct group_info, access_token));

    return store_read_list(s, &groups, out, ec);
}

enum err store_list_groups(struct store_session *s, const struct group_filter *filter, struct group_infos *out,
                           struct errctx *ec)
{
    const struct store_features *f = store_features(s);
    struct sqlbuf *q = store_start_limited(s, READ_LIMIT_MS, "id, app_name, ");

    group_put_columns(q, f);
    put_filter(q, filter, f);
    if (filter->by_name)
        sql_put(q, " ORDER BY app_name, ?, id LIMIT ?,", sql_word(group_title_column(f)), filter->offset);
    else
        sql_put(q, " AND id > ? ORDER BY id LIMIT ", filter->after_id);
    sql_int(q, filter->limit);
    enum err e = group_infos_read(s, out, ec);
    return e ? err_wrap(ec, e, "read the groups") : ERR_OK;
}

enum err store_count_groups(struct store_session *s, const struct group_filter *filter, int limit_ms, int64_t *out,
                            struct errctx *ec)
{
    const struct store_features *f = store_features(s);

    put_filter(store_start_limited(s, limit_ms, "COUNT(*)"), filter, f);
    enum err e = store_query_number(s, 0, out, ec);
    return e ? err_wrap(ec, e, "count the groups") : ERR_OK;
}

enum err store_load_group(struct store_session *s, int64_t id, struct group_infos *out, struct errctx *ec)
{
    const struct store_features *f = store_features(s);
    struct sqlbuf *q = store_start_sql(s, "SELECT id, app_name, ");

    group_put_columns(q, f);
    sql_put(q, " FROM xxl_job_group WHERE id = ?", id);
    enum err e = group_infos_read(s, out, ec);
    if (!e && out->count == 0) {
        group_infos_fini(out);
        return err_set(ec, ERR_NOTFOUND, "there is no executor group %" PRId64, id);
    }
    return e ? err_wrap(ec, e, "read group %" PRId64, id) : ERR_OK;
}

enum err store_is_app_name_taken(struct store_session *s, const char *app_name, int64_t but, bool *out,
                                 struct errctx *ec)
{
    int64_t taken = 0;
    enum err e = store_number(
        s, 0, &taken, ec, "SELECT EXISTS(SELECT 1 FROM xxl_job_group WHERE app_name = ? AND id <> ?)", app_name, but);

    *out = taken != 0;
    return e ? err_wrap(ec, e, "look for the app name") : ERR_OK;
}

/* ---- executors --------------------------------------------------------------------------------------------------- */

static int compare_beats(const void *a, const void *b)
{
    const struct group_beat *x = a, *y = b;
    int by_address = strcmp(x->address, y->address);

    return by_address ? by_address : compare_numbers(y->beat_s, x->beat_s);
}

/* Each address once, with its latest beat, where that is not older. */
static size_t pick_beats(struct group_beat *items, size_t count, int64_t since_s)
{
    size_t kept = 0;

    qsort(items, count, sizeof *items, compare_beats);
    for (size_t i = 0; i < count; i++) {
        if (items[i].beat_s >= since_s && (kept == 0 || strcmp(items[kept - 1].address, items[i].address) != 0))
            items[kept++] = items[i];
    }
    return kept;
}

enum err store_load_group_beats(struct store_session *s, const char *app_name, int64_t since_s, struct group_beats *out,
                                struct errctx *ec)
{
    static const struct row_type beats =
        ROWS(struct group_beat, FIELDS(struct group_beat, address), TIME(struct group_beat, beat_s, INT64_MIN));

    /* By bytes: the collation may find other names. Times are compared as instants. */
    store_limited(s, READ_LIMIT_MS,
                  "registry_value, update_time FROM xxl_job_registry WHERE registry_group = 'EXECUTOR' AND "
                  "registry_key = ? AND CAST(CONVERT(registry_key USING utf8mb4) AS BINARY) = ?",
                  app_name, app_name);
    enum err e = store_read_list(s, &beats, out, ec);
    if (e)
        return err_wrap(ec, e, "read the registry");
    out->count = pick_beats(out->items, out->count, since_s);
    return ERR_OK;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

enum err store_list_group_jobs(struct store_session *s, int64_t group, int64_t after, int64_t limit,
                               struct group_jobs *out, struct errctx *ec)
{
    static const struct row_type jobs = ROWS(struct group_job, FIELDS(struct group_job, id, running, name));

    store_limited(s, READ_LIMIT_MS,
                  "id, trigger_status = 1, ? FROM xxl_job_info WHERE job_group = ? AND id > ? ORDER BY id LIMIT ?",
                  store_job_name(s), group, after, limit);
    enum err e = store_read_list(s, &jobs, out, ec);
    return e ? err_wrap(ec, e, "read the jobs of group %" PRId64, group) : ERR_OK;
}
