/* SPDX-License-Identifier: MIT */
/* xxl_job_info: what is due. */
#include <stdlib.h>

#include "store/conn/rows.h"
#include "shardwheel/job.h"
#include "shardwheel/store/plan.h"

/* ---- the look at the table ----------------------------------------------------------------------------------- */

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
    bool fits = true;

    put_scan(s, shards, shard_count, n, until_ms, limit);
    enum err e = store_stream_sql(s, &rows, ec);
    while (!e && fits && scan.complete && db_rows_next(rows)) {
        if (db_int(rows, 0) < 0) /* no shard's: id % N */
            continue;
        scan.complete = scan.count < limit;
        fits = !scan.complete || list_grow(&scan.list, scan.count, sizeof *scan.list);
        if (scan.complete && fits)
            scan.list[scan.count++] = (struct due_id){.id = db_int(rows, 0), .next_ms = db_int(rows, 1)};
    }
    if (!e)
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

static const struct row_type due_jobs = ROWS(
    struct job_due, FIELDS(struct job_due, id, group, next_ms, schedule_type, schedule_conf, misfire, route, handler),
    NULL_TEXTS(struct job_due, param), FIELDS(struct job_due, retry_count), NULL_TEXTS(struct job_due, time_zone),
    SECONDS(struct job_due, fixed_delay_s, 0), SECONDS(struct job_due, valid_from_s, 0),
    SECONDS(struct job_due, valid_until_s, 0), FIELDS(struct job_due, block, timeout_s));

enum err store_load_due(struct store_session *s, const int64_t *ids, size_t count, int64_t until_ms,
                        struct job_page *out, struct errctx *ec)
{
    struct job_page page = {0};
    enum err e = ERR_OK;

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        store_sql(
            s,
            "SELECT i.id, i.job_group, i.trigger_next_time, i.schedule_type, i.schedule_conf, i.misfire_strategy, "
            "i.executor_route_strategy, i.executor_handler, i.executor_param, i.executor_fail_retry_count, "
            "o.time_zone, "
            "o.fixed_delay_s, o.valid_from_s, o.valid_until_s, i.executor_block_strategy, i.executor_timeout FROM "
            "xxl_job_info i FORCE INDEX (PRIMARY) LEFT JOIN shardwheel_job o ON o.job_id = i.id WHERE i.id IN (?) AND "
            "i.trigger_status = 1 AND i.trigger_next_time <= ? ORDER BY i.id",
            sql_part(ids, count, at), until_ms);
        e = store_append_list(s, &due_jobs, &page, ec);
    }
    if (e) {
        job_page_fini(&page);
        return err_wrap(ec, e, "read %zu due jobs", count);
    }
    *out = page;
    return ERR_OK;
}
