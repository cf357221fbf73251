/* SPDX-License-Identifier: MIT */
/* What audit and events say of the schedule of one job. The JSON is ours, and read by the server. */
#include "shardwheel/store/history.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "store/conn/rows.h"

#define FIXED_COLUMNS 7 /* in front of those of the fields */

static_assert(FIXED_COLUMNS + 2 * CHANGE_FIELDS_MAX <= ROW_FIELDS_MAX, "a change has room in a row");

static void put_member(struct sqlbuf *q, const char *column, const char *name)
{
    sql_put(q, ", IF(JSON_VALID(?), JSON_UNQUOTE(JSON_EXTRACT(?, '$.\"?\"')), NULL)", sql_word(column),
            sql_word(column), sql_word(name));
}

static void put_members(struct sqlbuf *q, const char *column, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_member(q, column, names[i]);
}

static void put_end(struct sqlbuf *q, int64_t from_ms, size_t max)
{
    sql_put(q, " AND at_ms >= ? ORDER BY at_ms DESC, id DESC LIMIT ?", from_ms, max);
}

static void put_audit(struct sqlbuf *q, int64_t job_id, const char *const *names, size_t count, int64_t from_ms,
                      size_t max)
{
    sql_puts(q, "(SELECT at_ms, 0 AS others, job_group, action, who, via");
    put_member(q, "after_json", "run");
    put_members(q, "before_json", names, count);
    put_members(q, "after_json", names, count);
    sql_put(q, " FROM shardwheel_audit WHERE action LIKE 'job.%' AND target = ?", job_id);
    put_end(q, from_ms, max);
    sql_puts(q, ")");
}

static void put_events(struct sqlbuf *q, int64_t job_id, const char *const *names, size_t count, int64_t from_ms,
                       size_t max)
{
    sql_puts(q, "(SELECT at_ms, 1 AS others, job_group, IF(data_json LIKE '%\"added\":true%', 'job.add', "
                "'job.update'), '', '', NULL");
    for (size_t i = 0; i < count; i++)
        sql_puts(q, ", NULL");
    put_members(q, "data_json", names, count);
    sql_put(q, " FROM shardwheel_event WHERE kind = 'job-changed' AND job_id = ?", job_id);
    put_end(q, from_ms, max);
    sql_puts(q, ")");
}

COMPARE_BY_TWO(compare_changes, struct job_change_row, at_ms, by_others)

enum err store_load_job_changes(struct store_session *s, int64_t job_id, const char *const *names, size_t name_count,
                                int64_t from_ms, size_t max, int limit_ms, struct job_changes *out, struct errctx *ec)
{
    struct row_type changes =
        ROWS(struct job_change_row, FIELDS(struct job_change_row, at_ms, by_others, job_group, action, who, via, run));
    struct row_field *before = changes.fields + FIXED_COLUMNS, *after = before + name_count;
    struct job_changes read = {0};
    struct sqlbuf *q = store_start_limited(s, limit_ms, "* FROM (");

    assert(name_count <= CHANGE_FIELDS_MAX);
    for (size_t i = 0; i < name_count; i++) {
        before[i] = (struct row_field)FIELD_NULL_TEXT(struct job_change_row, before[i]);
        after[i] = (struct row_field)FIELD_NULL_TEXT(struct job_change_row, after[i]);
    }
    put_audit(q, job_id, names, name_count, from_ms, max);
    sql_puts(q, " UNION ALL ");
    put_events(q, job_id, names, name_count, from_ms, max);
    sql_puts(q, ") c");
    enum err e = store_read_list(s, &changes, &read, ec);
    if (e)
        return err_wrap(ec, e, "read the changes of job %" PRId64, job_id);
    qsort(read.items, read.count, sizeof *read.items, compare_changes);
    read.cut = read.count >= max;
    *out = read;
    return ERR_OK;
}
