/* SPDX-License-Identifier: MIT */
/* xxl_job_info: what is due. */
#include <stdlib.h>

#include "store/conn/session.h"
#include "shardwheel/job.h"
#include "shardwheel/store/plan.h"

/* ---- the look at the table ----------------------------------------------------------------------------------- */

static bool add_due(struct due_scan *scan, size_t *room, struct due_id due)
{
    if (scan->count == *room) {
        size_t more = *room ? *room * 2 : 1024;
        struct due_id *grown = realloc(scan->list, more * sizeof *grown);

        if (!grown)
            return false;
        scan->list = grown;
        *room = more;
    }
    scan->list[scan->count++] = due;
    return true;
}

static void put_scan(struct store_session *s, const int *shards, size_t shard_count, int n, int64_t until_ms,
                     size_t limit)
{
    /* Both columns and the id are in the optional index, which is in this very order. */
    struct sqlbuf *q = store_sql(s,
                                 "SELECT id, trigger_next_time FROM xxl_job_info WHERE trigger_status = 1 AND id >= 0 "
                                 "AND trigger_next_time <= ?",
                                 until_ms);

    sql_and_shards(q, "id", shards, shard_count, n);
    /* Order by id alone would make the server choose the primary key and read the whole table. */
    sql_put(q, " ORDER BY trigger_next_time, id LIMIT ?", (int64_t)limit + 1);
}

enum err store_scan_due(struct store_session *s, const int *shards, size_t shard_count, int n, int64_t until_ms,
                        size_t limit, struct due_scan *out, struct errctx *ec)
{
    struct due_scan scan = {.complete = true};
    struct db_rows *rows = NULL;
    size_t room = 0;
    bool fits = true;
    enum err e = store_ready_session(s, ec);

    if (e)
        return e;
    put_scan(s, shards, shard_count, n, until_ms, limit);
    e = store_stream_sql(s, &rows, ec);
    if (e)
        return err_wrap(ec, e, "look for due jobs");
    while (fits && scan.complete && db_rows_next(rows)) {
        if (db_int(rows, 0) < 0) /* no shard's: id % N */
            continue;
        scan.complete = scan.count < limit;
        if (scan.complete)
            fits = add_due(&scan, &room, (struct due_id){.id = db_int(rows, 0), .next_ms = db_int(rows, 1)});
    }
    e = store_end_stream(s, rows, ec);
    if (!e && !fits)
        e = err_set(ec, ERR_NOMEM, "out of memory");
    if (e) {
        free(scan.list);
        return err_wrap(ec, e, "look for due jobs");
    }
    *out = scan;
    return ERR_OK;
}

/* ---- the jobs ------------------------------------------------------------------------------------------------ */

/* The results of which a page is made. */
struct page_memory {
    size_t count;
    struct db_rows *rows[];
};

static struct job_due read_due(const struct db_rows *rows)
{
    return (struct job_due){
        .id = db_int(rows, 0),
        .group = db_int(rows, 1),
        .next_ms = db_int(rows, 2),
        .schedule_type = db_text_or_empty(rows, 3),
        .schedule_conf = db_text_or_empty(rows, 4),
        .misfire = db_text_or_empty(rows, 5),
        .route = db_text_or_empty(rows, 6),
        .handler = db_text_or_empty(rows, 7),
        .param = db_text(rows, 8),
        .retry_count = (int)db_int(rows, 9),
        .time_zone = db_text(rows, 10),
        .fixed_delay_s = db_seconds(rows, 11),
        .valid_from_s = db_seconds(rows, 12),
        .valid_until_s = db_seconds(rows, 13),
        .block = db_text_or_empty(rows, 14),
        .timeout_s = (int)db_int(rows, 15),
    };
}

static enum err query_due(struct store_session *s, const int64_t *ids, size_t count, int64_t until_ms,
                          struct db_rows **out, struct errctx *ec)
{
    return store_query(
        s, out, ec,
        "SELECT i.id, i.job_group, i.trigger_next_time, i.schedule_type, i.schedule_conf, i.misfire_strategy, "
        "i.executor_route_strategy, i.executor_handler, i.executor_param, i.executor_fail_retry_count, o.time_zone, "
        "o.fixed_delay_s, o.valid_from_s, o.valid_until_s, i.executor_block_strategy, i.executor_timeout FROM "
        "xxl_job_info i FORCE INDEX (PRIMARY) LEFT JOIN shardwheel_job o ON o.job_id = i.id WHERE i.id IN (?) AND "
        "i.trigger_status = 1 AND i.trigger_next_time <= ? ORDER BY i.id",
        sql_list(ids, count), until_ms);
}

enum err store_load_due(struct store_session *s, const int64_t *ids, size_t count, int64_t until_ms,
                        struct job_page *out, struct errctx *ec)
{
    size_t parts = (count + STORE_LIST_MAX - 1) / STORE_LIST_MAX;
    struct page_memory *memory = calloc(1, sizeof *memory + parts * sizeof memory->rows[0]);
    struct job_page page = {.jobs = calloc(count + 1, sizeof *page.jobs), .memory = memory};
    enum err e = memory && page.jobs ? store_ready_session(s, ec) : err_set(ec, ERR_NOMEM, "out of memory");

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        size_t n = count - at < STORE_LIST_MAX ? count - at : STORE_LIST_MAX;
        struct db_rows **rows = &memory->rows[memory->count];

        e = query_due(s, ids + at, n, until_ms, rows, ec);
        memory->count += !e;
        while (!e && db_rows_next(*rows))
            page.jobs[page.count++] = read_due(*rows);
    }
    if (e) {
        job_page_fini(&page);
        return err_wrap(ec, e, "read %zu due jobs", count);
    }
    *out = page;
    return ERR_OK;
}

void job_page_fini(struct job_page *page)
{
    struct page_memory *memory = page->memory;

    for (size_t i = 0; memory && i < memory->count; i++)
        db_rows_destroy(memory->rows[i]);
    free(memory);
    free(page->jobs);
    *page = (struct job_page){0};
}
