/* SPDX-License-Identifier: MIT */
/* Runs of flows that are old enough, and what flows that are gone have left. */
#include "shardwheel/store/flow.h"

#include <inttypes.h>

#include "store/conn/rows.h"

#define ROWS_AT_ONCE 2000 /* of runs, steps and items in one transaction; a run is not cut in two */
#define DAY_MS "86400000"

enum err store_find_gone_flow(struct store_session *s, int64_t *flow_id, struct errctx *ec)
{
    static const char *const tables[] = {"shardwheel_flow_run", "shardwheel_flow_version"};
    enum err e = ERR_OK;

    *flow_id = 0;
    for (size_t i = 0; i < ARRAY_LEN(tables) && !e && *flow_id == 0; i++)
        e = store_number(s, 0, flow_id, ec,
                         "SELECT r.flow_id FROM (SELECT DISTINCT flow_id FROM ?) r LEFT JOIN shardwheel_flow f ON f.id "
                         "= r.flow_id WHERE f.id IS NULL LIMIT 1",
                         sql_word(tables[i]));
    return e ? err_wrap(ec, e, "look for runs of deleted flows") : ERR_OK;
}

/* Those that ended first. A run that is a step goes after the run of that step has ended. */
static enum err find_old(struct store_session *s, int64_t flow_id, int64_t days, size_t max, int64_t *ids,
                         size_t *count, struct errctx *ec)
{
    store_sql(s,
              "SELECT r.id FROM shardwheel_flow_run r FORCE INDEX (shardwheel_flow_run_ended) LEFT JOIN "
              "shardwheel_flow_run p ON p.id = r.parent_run WHERE r.flow_id = ? AND r.ended_ms < " STORE_NOW_MS
              " - ? * " DAY_MS " AND r.look_ms IS NULL AND (p.id IS NULL OR (p.ended_ms IS NOT NULL AND p.look_ms IS "
              "NULL)) ORDER BY r.ended_ms, r.id LIMIT ?",
              flow_id, days, max);
    return store_read_ids(s, ids, max, count, ec);
}

/* As many of the first ones as have so many rows together, one at least. */
static enum err keep_some(struct store_session *s, const int64_t *ids, size_t *count, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t kept = 0, sum = 0;
    enum err e = store_query(s, &rows, ec,
                             "SELECT r.id, COUNT(t.run_id) + COALESCE(SUM(t.items_begun), 0) FROM shardwheel_flow_run "
                             "r LEFT JOIN shardwheel_flow_step t ON t.run_id = r.id WHERE r.id IN (?) GROUP BY r.id, "
                             "r.ended_ms ORDER BY r.ended_ms, r.id",
                             sql_list(ids, *count));

    while (!e && db_rows_next(rows)) {
        sum += 1 + (size_t)db_int(rows, 1);
        kept += kept == 0 || sum <= ROWS_AT_ONCE;
    }
    db_rows_destroy(rows);
    if (!e)
        *count = kept < *count ? kept : *count;
    return e;
}

/* Somebody may have asked for more of a run since it was found: then it stays. */
static enum err lock_ended(struct store_session *s, int64_t *ids, size_t *count, struct errctx *ec)
{
    store_sql(s,
              "SELECT id FROM shardwheel_flow_run FORCE INDEX (PRIMARY) WHERE id IN (?) AND ended_ms IS NOT NULL AND "
              "look_ms IS NULL ORDER BY id FOR UPDATE",
              sql_list(ids, *count));
    return store_read_ids(s, ids, *count, count, ec);
}

static enum err delete_in_txn(struct store_session *s, int64_t *ids, size_t *count, struct errctx *ec)
{
    static const char *const tables[] = {"shardwheel_flow_item", "shardwheel_flow_step", "shardwheel_flow_fire",
                                         "shardwheel_flow_request"};
    enum err e = lock_ended(s, ids, count, ec);

    if (e || *count == 0)
        return e;
    for (size_t i = 0; i < ARRAY_LEN(tables) && !e; i++)
        e = store_exec(s, NULL, ec, "DELETE FROM ? WHERE run_id IN (?)", sql_word(tables[i]), sql_list(ids, *count));
    if (!e)
        e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_flow_run WHERE id IN (?)", sql_list(ids, *count));
    return e ? e : store_commit_txn(s, ec);
}

enum err store_delete_old_flow_runs(struct store_session *s, int64_t flow_id, int64_t days, size_t *deleted, bool *more,
                                    struct errctx *ec)
{
    int64_t ids[FLOW_CLEAN_MAX];
    size_t count = 0;
    enum err e = find_old(s, flow_id, days, FLOW_CLEAN_MAX, ids, &count, ec);

    *deleted = 0;
    *more = false;
    if (!e && count > 0) {
        size_t found = count;
        e = keep_some(s, ids, &count, ec);
        *more = count < found || found == FLOW_CLEAN_MAX;
    }
    if (!e && count > 0) {
        e = store_begin_txn(s, ec);
        if (!e)
            e = delete_in_txn(s, ids, &count, ec);
        store_end_txn(s);
        *deleted = e ? 0 : count;
    }
    return e ? err_wrap(ec, e, "remove old runs of flow %" PRId64, flow_id) : ERR_OK;
}
