/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/names.h"

#include <stdlib.h>
#include <string.h>

#include "store/conn/session.h"

static int compare_names(const void *a, const void *b)
{
    return compare_int64(&((const struct name_row *)a)->id, &((const struct name_row *)b)->id);
}

const struct name_row *names_find(const struct names *names, int64_t id)
{
    const struct name_row key = {.id = id};

    return names->count ? bsearch(&key, names->items, names->count, sizeof key, compare_names) : NULL;
}

void names_fini(struct names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->items[i].name);
        free(names->items[i].app_name);
    }
    free(names->items);
    *names = (struct names){0};
}

/* Ascending and distinct, for free; NULL: no memory. */
static int64_t *sort_ids(const int64_t *ids, size_t count, size_t *distinct)
{
    int64_t *sorted = calloc(count + 1, sizeof *sorted);

    *distinct = 0;
    if (!sorted || count == 0)
        return sorted;
    memcpy(sorted, ids, count * sizeof *ids);
    *distinct = sort_distinct(sorted, count);
    return sorted;
}

static bool copy_text(const struct db_rows *rows, unsigned column, char **out)
{
    const char *text = db_text(rows, column);

    *out = text ? strdup(text) : NULL;
    return !text || *out;
}

/* The statement's rows are id, name, app_name. */
static enum err read_names(struct store_session *s, size_t room, struct names *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query_sql(s, &rows, ec);

    for (size_t n = 0; !e && n < room && db_rows_next(rows); n++) {
        struct name_row *row = &out->items[out->count++];

        row->id = db_int(rows, 0);
        if (!copy_text(rows, 1, &row->name) || !copy_text(rows, 2, &row->app_name))
            e = err_set(ec, ERR_NOMEM, "out of memory for names");
    }
    db_rows_destroy(rows);
    return e;
}

static enum err load(struct store_session *s, const char *columns, const char *table, const int64_t *ids, size_t count,
                     struct names *out, struct errctx *ec)
{
    size_t distinct;
    int64_t *sorted = sort_ids(ids, count, &distinct);
    struct names names = {.items = calloc(distinct + 1, sizeof *names.items)};
    enum err e = sorted && names.items ? store_ready_session(s, ec) : err_set(ec, ERR_NOMEM, "out of memory");

    for (size_t at = 0, n; !e && at < distinct; at += n) {
        n = distinct - at < STORE_LIST_MAX ? distinct - at : STORE_LIST_MAX;
        store_sql(s, "SELECT id, ?? WHERE id IN (?) ORDER BY id", sql_word(columns), sql_word(table),
                  sql_list(sorted + at, n));
        e = read_names(s, n, &names, ec);
    }
    free(sorted);
    if (e)
        names_fini(&names);
    else
        *out = names;
    return e ? err_wrap(ec, e, "read %zu names", count) : ERR_OK;
}

enum err store_load_job_names(struct store_session *s, const int64_t *ids, size_t count, struct names *out,
                              struct errctx *ec)
{
    struct store_features features;
    enum err e = store_get_features(s, &features, ec);

    return e ? e
             : load(s, features.job_name_is_desc ? "job_desc" : "name", ", NULL FROM xxl_job_info", ids, count, out,
                    ec);
}

enum err store_load_group_names(struct store_session *s, const int64_t *ids, size_t count, struct names *out,
                                struct errctx *ec)
{
    struct store_features features;
    enum err e = store_get_features(s, &features, ec);

    return e ? e
             : load(s, features.group_title ? "title" : "name", ", app_name FROM xxl_job_group", ids, count, out, ec);
}
