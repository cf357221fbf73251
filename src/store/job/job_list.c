/* SPDX-License-Identifier: MIT */
/* Jobs, read: pages by filters, counts, and what they did last. */
#include "store/job/job_impl.h"

#include <assert.h>
#include <string.h>

#define SKIPPED_LIKE "<!--sw:s:%" /* see fire_format_skipped_mark */

/* ---- rows -------------------------------------------------------------------------------------------------------- */

void job_put_columns(struct sqlbuf *q, const struct store_features *features, size_t max_source)
{
    sql_puts(q, "i.id, i.add_time, i.update_time, i.glue_updatetime");
    for (size_t k = 0; k < job_column_count(); k++) {
        const char *column = job_column_sql(job_column_get(k), features);

        if (max_source < SIZE_MAX && !strcmp(column, "glue_source")) {
            sql_puts(q, max_source ? ", CASE WHEN LENGTH(i.glue_source) <= " : ", NULL");
            if (max_source)
                sql_put(q, "? THEN i.glue_source END", max_source);
            continue;
        }
        sql_put(q, ", i.?", sql_word(column));
    }
}

enum err job_list_read(struct store_session *s, struct job_list *out, struct errctx *ec)
{
    struct row_type rows = ROWS(struct job_row, FIELDS(struct job_row, id), TIME(struct job_row, added_s, TIME_NONE),
                                TIME(struct job_row, updated_s, TIME_NONE), TIME(struct job_row, glue_s, TIME_NONE));

    assert(4 + job_column_count() <= ROW_FIELDS_MAX);
    for (size_t k = 0; k < job_column_count(); k++) {
        const struct job_column *c = job_column_get(k);

        rows.fields[4 + k] =
            (struct row_field){.kind = c->is_text ? FIELD_NULL : FIELD_NUMBER, .at = c->at, .size = sizeof(int64_t)};
    }
    return store_read_list(s, &rows, out, ec);
}

enum err store_load_jobs(struct store_session *s, const int64_t *ids, size_t count, struct job_list *out,
                         struct errctx *ec)
{
    const struct store_features *f = store_features(s);
    struct sqlbuf *q = store_start_sql(s, "SELECT ");

    job_put_columns(q, f, SIZE_MAX);
    sql_put(q, " FROM xxl_job_info i WHERE i.id IN (?) ORDER BY i.id", sql_list(ids, count));
    enum err e = job_list_read(s, out, ec);
    return e ? err_wrap(ec, e, "read %zu jobs", count) : ERR_OK;
}

enum err store_load_job_groups(struct store_session *s, const int64_t *ids, size_t count, int64_t *out,
                               struct errctx *ec)
{
    struct db_rows *rows = NULL;

    memset(out, 0, count * sizeof *out);
    if (count == 0)
        return ERR_OK;
    enum err e =
        store_query(s, &rows, ec, "SELECT id, job_group FROM xxl_job_info WHERE id IN (?)", sql_list(ids, count));
    while (!e && db_rows_next(rows))
        for (size_t i = 0; i < count; i++)
            if (ids[i] == db_int(rows, 0))
                out[i] = db_int(rows, 1);
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "read the groups of %zu jobs", count) : ERR_OK;
}

enum err store_load_job_moves(struct store_session *s, const int64_t *ids, size_t count, struct job_moves *out,
                              struct errctx *ec)
{
    static const struct row_type moves = ROWS(struct job_moves, SKIP, FIELDS(struct job_moves, group, runs, next_ms));
    struct db_rows *rows = NULL;

    memset(out, 0, count * sizeof *out);
    if (count == 0)
        return ERR_OK;
    enum err e = store_query(s, &rows, ec,
                             "SELECT id, job_group, trigger_status = 1, IF(trigger_status = 1, trigger_next_time, 0) "
                             "FROM xxl_job_info WHERE id IN (?)",
                             sql_list(ids, count));
    while (!e && db_rows_next(rows))
        for (size_t i = 0; i < count; i++)
            if (ids[i] == db_int(rows, 0))
                row_read(s, rows, &moves, &out[i]);
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "read when %zu jobs fire next", count) : ERR_OK;
}

enum err store_find_group(struct store_session *s, int64_t group, bool *found, struct errctx *ec)
{
    int64_t there = 0;
    enum err e = store_number(s, 0, &there, ec, "SELECT 1 FROM xxl_job_group WHERE id = ?", group);

    if (!e)
        *found = there != 0;
    return e ? err_wrap(ec, e, "look for a group") : ERR_OK;
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

void job_filter_escape(struct buf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '%' || *text == '_' || *text == '\\')
            buf_putc(out, '\\');
        buf_putc(out, *text);
    }
}

static void put_and_like(struct sqlbuf *q, const char *column, const char *part)
{
    if (part && part[0])
        sql_put(q, " AND i.? LIKE CONCAT('%', ?, '%')", sql_word(column), part);
}

static void put_text(struct sqlbuf *q, const char *name, const char *part)
{
    int64_t id;

    if (!part || !part[0])
        return;
    sql_put(q,
            " AND (i.? LIKE CONCAT('%', ?, '%') OR i.executor_handler LIKE CONCAT('%', ?, '%') OR i.author LIKE "
            "CONCAT('%', ?, '%') OR i.executor_param LIKE CONCAT('%', ?, '%')",
            sql_word(name), part, part, part, part);
    if (parse_int(part, 1, INT32_MAX, &id)) /* a plain number: an id */
        sql_put(q, " OR i.id = ?", id);
    sql_put(q, " OR i.id IN (SELECT t.job_id FROM shardwheel_job t WHERE t.tags LIKE CONCAT('%', ?, '%')))", part);
}

static void put_groups(struct sqlbuf *q, const struct job_filter *f)
{
    if (f->group > 0)
        sql_put(q, " AND i.job_group = ?", f->group);
    if (f->some_groups)
        sql_put(q, " AND i.job_group IN (?)", sql_list(f->groups, f->group_count));
}

static void put_filter(struct sqlbuf *q, const struct job_filter *f, const struct store_features *features)
{
    const char *name = job_name_column(features);

    sql_puts(q, " WHERE 1 = 1");
    put_groups(q, f);
    if (f->status >= 0)
        sql_put(q, " AND i.trigger_status = ?", f->status);
    if (f->some_ids)
        sql_put(q, " AND i.id IN (?)", sql_list(f->ids, f->id_count));
    put_and_like(q, name, f->name);
    put_and_like(q, "executor_handler", f->handler);
    put_and_like(q, "author", f->author);
    put_text(q, name, f->text);
    if (f->tag && f->tag[0])
        sql_put(q, " AND i.id IN (SELECT t.job_id FROM shardwheel_job t WHERE FIND_IN_SET(?, t.tags) > 0)", f->tag);
}

static void put_order(struct sqlbuf *q, const struct job_page_opts *opts, const struct store_features *features)
{
    switch (opts->sort) {
    case JOBS_NEWEST: sql_puts(q, " ORDER BY i.id DESC"); break;
    case JOBS_OLDEST: sql_puts(q, " ORDER BY i.id"); break;
    case JOBS_NEXT: sql_puts(q, " ORDER BY i.trigger_status DESC, i.trigger_next_time, i.id"); break;
    case JOBS_NAMED: sql_put(q, " ORDER BY i.?, i.id", sql_word(job_name_column(features))); break;
    case JOBS_LAST: sql_puts(q, " ORDER BY i.trigger_last_time DESC, i.id DESC"); break;
    case JOBS_RANKED: /* from 1 on; 0 of the others */
        sql_put(q, " ORDER BY FIELD(i.id, ?) DESC, i.id DESC", sql_list(opts->ranks, opts->rank_count));
        break;
    }
}

static void put_after(struct sqlbuf *q, const struct job_page_opts *opts, const struct store_features *features)
{
    const struct job_place *after = &opts->after;
    struct sql_value name = sql_word(features->job_name_is_desc ? "i.job_desc" : "i.name");

    if (after->id <= 0)
        return;
    switch (opts->sort) {
    case JOBS_NEWEST: sql_put(q, " AND i.id < ?", after->id); break;
    case JOBS_OLDEST: sql_put(q, " AND i.id > ?", after->id); break;
    case JOBS_NEXT:
        sql_put(q,
                " AND (i.trigger_status < ? OR (i.trigger_status = ? AND (i.trigger_next_time > ? OR "
                "(i.trigger_next_time = ? AND i.id > ?))))",
                after->status, after->status, after->time_ms, after->time_ms, after->id);
        break;
    case JOBS_NAMED:
        sql_put(q, " AND (? > ? OR (i.id > ? AND ? = ?))", name, after->name, after->id, name, after->name);
        break;
    case JOBS_LAST:
        sql_put(q, " AND (i.trigger_last_time < ? OR (i.trigger_last_time = ? AND i.id < ?))", after->time_ms,
                after->time_ms, after->id);
        break;
    case JOBS_RANKED:
        sql_put(q, " AND FIELD(i.id, ?)", sql_list(opts->ranks, opts->rank_count));
        if (after->rank < 0)
            sql_put(q, " = 0 AND i.id < ?", after->id);
        else
            sql_put(q, " <= ?", after->rank);
        break;
    }
}

/* Ids first, so that rows that are passed over are not read whole. */
static void put_page(struct sqlbuf *q, const struct job_page_opts *opts, const struct store_features *features)
{
    job_put_columns(q, features, opts->sources ? JOB_SOURCES_MAX / (size_t)(opts->limit > 1 ? opts->limit : 1) : 0);
    sql_puts(q, " FROM (SELECT i.id FROM xxl_job_info i");
    put_filter(q, &opts->filter, features);
    put_after(q, opts, features);
    put_order(q, opts, features);
    sql_put(q, " LIMIT ? OFFSET ?) p JOIN xxl_job_info i ON i.id = p.id", opts->limit, opts->offset);
    put_order(q, opts, features);
}

enum err store_list_jobs(struct store_session *s, const struct job_page_opts *opts, struct job_list *out,
                         struct errctx *ec)
{
    const struct store_features *f = store_features(s);

    put_page(opts->limit_ms ? store_start_limited(s, opts->limit_ms, "") : store_start_sql(s, "SELECT "), opts, f);
    enum err e = job_list_read(s, out, ec);
    return e ? err_wrap(ec, e, "list jobs") : ERR_OK;
}

enum err store_count_jobs(struct store_session *s, const struct job_filter *filter, int limit_ms, int64_t *out,
                          struct errctx *ec)
{
    const struct store_features *f = store_features(s);

    put_filter(store_start_limited(s, limit_ms, "COUNT(*) FROM xxl_job_info i"), filter, f);
    enum err e = store_query_number(s, 0, out, ec);
    return e ? err_wrap(ec, e, "count jobs") : ERR_OK;
}

/* ---- what they did last ------------------------------------------------------------------------------------------ */

/* An index over the job alone has its rows by id; one over job and time has them by time. */
static void put_last_run(struct sqlbuf *q, const struct store_features *f, int64_t job_id)
{
    bool by_id = f->log_job_id_name[0] != '\0';

    sql_put(
        q,
        "(SELECT job_id, id, trigger_time, handle_time, trigger_code, handle_code, trigger_msg LIKE '" SKIPPED_LIKE
        "' AS skipped FROM xxl_job_log FORCE INDEX (?) WHERE job_id = ? AND (trigger_code <> 0 OR handle_code <> 0)?",
        sql_word(by_id ? f->log_job_id_name : f->log_job_time_name), job_id,
        sql_word(by_id ? " ORDER BY id DESC LIMIT 1)" : " ORDER BY trigger_time DESC, id DESC LIMIT 1)"));
}

/* One look into the index for each job. */
enum err store_load_last_runs(struct store_session *s, const int64_t *ids, size_t count, int limit_ms,
                              struct job_last_run *out, size_t *out_count, struct errctx *ec)
{
    static const struct row_type runs =
        ROWS(struct job_last_run, FIELDS(struct job_last_run, job_id, log_id),
             TIME(struct job_last_run, trigger_s, TIME_NONE), TIME(struct job_last_run, handle_s, TIME_NONE),
             FIELDS(struct job_last_run, trigger_code, handle_code, skipped));
    struct store_features features;
    struct db_rows *rows = NULL;
    struct sqlbuf *q;
    enum err e = store_get_features(s, &features, ec);

    *out_count = 0;
    if (e || count == 0 || (!features.log_job_id_name[0] && !features.log_job_time_name[0]))
        return e;
    q = store_start_limited(s, limit_ms, "* FROM (");
    for (size_t i = 0; i < count; i++) {
        sql_puts(q, i ? " UNION ALL " : "");
        put_last_run(q, &features, ids[i]);
    }
    sql_puts(q, ") r");
    e = store_query_sql(s, &rows, ec);
    while (!e && *out_count < count && db_rows_next(rows))
        row_read(s, rows, &runs, &out[(*out_count)++]);
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "read the last runs of %zu jobs", count) : ERR_OK;
}
