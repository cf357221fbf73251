/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/export.h"

#include "store/group/group_impl.h"
#include "store/job/job_impl.h"

/* ---- the order --------------------------------------------------------------------------------------------------- */

/* By bytes, whatever the column's collation: blanks at the end count, and nothing is equal to another letter. */
static void put_bytes(struct sqlbuf *q, const char *table, const char *column)
{
    sql_put(q, "CAST(CONVERT(COALESCE(??, '') USING utf8mb4) AS BINARY)", sql_word(table), sql_word(column));
}

static void put_bytes_of(struct sqlbuf *q, const char *text)
{
    sql_put(q, "CAST(CONVERT(? USING utf8mb4) AS BINARY)", text);
}

static void put_order(struct sqlbuf *q, const char *table, const char *column)
{
    put_bytes(q, "g.", "app_name");
    sql_puts(q, ", ");
    put_bytes(q, table, column);
    sql_put(q, ", ?id", sql_word(table));
}

/* " AND g.id IN (...) AND (...) > (...) ORDER BY ... LIMIT n" */
static void put_page(struct sqlbuf *q, const char *table, const char *column, const struct export_name *after,
                     int64_t limit)
{
    if (after) {
        sql_puts(q, " AND (");
        put_order(q, table, column);
        sql_puts(q, ") > (");
        put_bytes_of(q, after->app_name);
        sql_puts(q, ", ");
        put_bytes_of(q, after->name);
        sql_put(q, ", ?)", after->id);
    }
    sql_puts(q, " ORDER BY ");
    put_order(q, table, column);
    sql_put(q, " LIMIT ?", limit);
}

static void put_groups(struct sqlbuf *q, const struct group_filter *f)
{
    if (!f->all_groups)
        sql_put(q, " AND g.id IN (?)", sql_list(f->groups, f->group_count));
}

static void put_jobs(struct sqlbuf *q, const struct export_filter *f)
{
    if (f->jobs)
        sql_put(q, " AND i.id IN (?)", sql_list(f->jobs, f->job_count));
}

enum err store_list_export_groups(struct store_session *s, const struct export_filter *filter,
                                  const struct export_name *after, int64_t limit, int limit_ms, struct group_infos *out,
                                  struct errctx *ec)
{
    const struct store_features *f = store_features(s);
    struct sqlbuf *q = store_start_limited(s, limit_ms, "id, app_name, ");

    group_put_columns(q, f);
    sql_puts(q, " FROM xxl_job_group g WHERE 1 = 1");
    put_groups(q, &filter->groups);
    if (filter->jobs) {
        sql_puts(q, " AND g.id IN (SELECT i.job_group FROM xxl_job_info i WHERE 1 = 1");
        put_jobs(q, filter);
        sql_puts(q, ")");
    }
    put_page(q, "g.", group_title_column(f), after, limit);
    enum err e = group_infos_read(s, out, ec);
    return e ? err_wrap(ec, e, "read the groups by name") : ERR_OK;
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static void put_names(struct sqlbuf *q, const struct group_filter *filter, const struct store_features *features)
{
    sql_put(q, "i.id, g.app_name, i.? FROM xxl_job_info i JOIN xxl_job_group g ON g.id = i.job_group WHERE 1 = 1",
            sql_word(job_name_column(features)));
    put_groups(q, filter);
}

static enum err read_names(struct store_session *s, struct export_names *out, struct errctx *ec)
{
    static const struct row_type names = ROWS(struct export_name, FIELDS(struct export_name, id, app_name, name));

    return store_read_list(s, &names, out, ec);
}

enum err store_list_export_jobs(struct store_session *s, const struct export_filter *filter,
                                const struct export_name *after, int64_t limit, int limit_ms, struct export_names *out,
                                struct errctx *ec)
{
    const struct store_features *f = store_features(s);
    struct sqlbuf *q = store_start_limited(s, limit_ms, "");

    put_names(q, &filter->groups, f);
    put_jobs(q, filter);
    put_page(q, "i.", job_name_column(f), after, limit);
    enum err e = read_names(s, out, ec);
    return e ? err_wrap(ec, e, "read the jobs by name") : ERR_OK;
}

enum err store_load_export_names(struct store_session *s, const struct group_filter *filter, const int64_t *ids,
                                 size_t count, struct export_names *out, struct errctx *ec)
{
    const struct store_features *f = store_features(s);
    struct sqlbuf *q = store_start_sql(s, "SELECT ");

    put_names(q, filter, f);
    sql_put(q, " AND i.id IN (?) ORDER BY i.id", sql_list(ids, count));
    enum err e = read_names(s, out, ec);
    return e ? err_wrap(ec, e, "read the names of %zu jobs", count) : ERR_OK;
}

enum err store_measure_sources(struct store_session *s, struct export_name *items, size_t count, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = ERR_OK;

    if (count > 0)
        e = store_query(s, &rows, ec,
                        "SELECT id, LENGTH(glue_source) FROM xxl_job_info WHERE glue_source <> '' AND id IN (?)",
                        sql_each(items, count, id));
    for (size_t i = 0; i < count; i++)
        items[i].source_bytes = 0;
    while (!e && db_rows_next(rows))
        for (size_t i = 0; i < count; i++)
            if (items[i].id == db_int(rows, 0))
                items[i].source_bytes = db_int(rows, 1);
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "measure the sources of %zu jobs", count) : ERR_OK;
}
