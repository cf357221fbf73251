/* SPDX-License-Identifier: MIT */
/* Rows of the log with the ends of their texts: the mark at the head, reason and link to a retry at the tail. */
#include "shardwheel/store/history.h"

#include <inttypes.h>
#include <stdlib.h>

#include "store/conn/datetime.h"
#include "store/conn/session.h"

static int64_t read_time(const struct store_session *s, const char *text)
{
    int64_t at_s;

    return text && datetime_parse(s->st->zone, text, &at_s) ? at_s : 0;
}

static struct told_row read_row(const struct store_session *s, const struct db_rows *rows)
{
    return (struct told_row){.id = db_int(rows, 0),
                             .triggered_s = read_time(s, db_text(rows, 1)),
                             .handled_s = read_time(s, db_text(rows, 2)),
                             .trigger_code = (int)db_int(rows, 3),
                             .handle_code = (int)db_int(rows, 4),
                             .address = db_text_or_empty(rows, 5),
                             .head = db_text_or_empty(rows, 6),
                             .tail = db_text_or_empty(rows, 7),
                             .handle_head = db_text_or_empty(rows, 8),
                             .retries_left = (int)db_int(rows, 9)};
}

static enum err load_some(struct store_session *s, int64_t job_id, const int64_t *ids, size_t count,
                          struct told_rows *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e =
        store_query(s, &rows, ec,
                    "SELECT id, trigger_time, handle_time, trigger_code, handle_code, executor_address, "
                    "LEFT(trigger_msg, ?), RIGHT(trigger_msg, ?), LEFT(handle_msg, ?), executor_fail_retry_count FROM "
                    "xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (?) AND job_id = ? ORDER BY id",
                    TOLD_HEAD, TOLD_TAIL, TOLD_TAIL, sql_list(ids, count), job_id);

    if (e)
        return e;
    out->memory[out->memory_count++] = rows;
    while (db_rows_next(rows))
        out->items[out->count++] = read_row(s, rows);
    return ERR_OK;
}

enum err store_load_told_rows(struct store_session *s, int64_t job_id, int64_t *ids, size_t count,
                              struct told_rows *out, struct errctx *ec)
{
    struct told_rows rows = {.items = calloc(count + 1, sizeof *rows.items),
                             .memory = calloc(count / STORE_LIST_MAX + 1, sizeof *rows.memory)};
    enum err e = rows.items && rows.memory ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    if (!e)
        e = store_ready_session(s, ec);
    qsort(ids, count, sizeof *ids, compare_int64);
    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX)
        e = load_some(s, job_id, ids + at, count - at < STORE_LIST_MAX ? count - at : STORE_LIST_MAX, &rows, ec);
    if (e) {
        told_rows_fini(&rows);
        return err_wrap(ec, e, "read %zu rows of job %" PRId64, count, job_id);
    }
    *out = rows;
    return ERR_OK;
}

void told_rows_fini(struct told_rows *rows)
{
    for (size_t i = 0; i < rows->memory_count; i++)
        db_rows_destroy(rows->memory[i]);
    free(rows->memory);
    free(rows->items);
    *rows = (struct told_rows){0};
}
