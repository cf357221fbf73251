/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/names.h"

#include <stdlib.h>
#include <string.h>

#include "store/conn/rows.h"

const struct name_row *names_find(const struct names *names, int64_t id)
{
    return list_find(names->items, names->count, sizeof *names->items, id);
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

/* The statement's rows are id, name, app_name. */
static enum err load(struct store_session *s, struct sql_value (*name)(struct store_session *), const char *rest,
                     const int64_t *ids, size_t count, struct names *out, struct errctx *ec)
{
    static const struct row_type rows =
        ROWS(struct name_row, FIELDS(struct name_row, id), NULL_TEXTS(struct name_row, name, app_name));
    size_t distinct;
    int64_t *sorted = sort_ids(ids, count, &distinct);
    struct names names = {0};
    enum err e = sorted ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    for (size_t at = 0; !e && at < distinct; at += STORE_LIST_MAX) {
        store_sql(s, "SELECT id, ?? WHERE id IN (?) ORDER BY id", name(s), sql_word(rest),
                  sql_part(sorted, distinct, at));
        e = store_append_list(s, &rows, &names, ec);
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
    return load(s, store_job_name, ", NULL FROM xxl_job_info", ids, count, out, ec);
}

enum err store_load_group_names(struct store_session *s, const int64_t *ids, size_t count, struct names *out,
                                struct errctx *ec)
{
    return load(s, store_group_title, ", app_name FROM xxl_job_group", ids, count, out, ec);
}
