/* SPDX-License-Identifier: MIT */
/* What an owner looks for: runs that are to be moved, ends of fires, documents. */
#include "shardwheel/job/codes.h"
#include "shardwheel/job/times.h"
#include "shardwheel/store/flow_move.h"
#include "store/conn/rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum err store_load_flow_fires(struct store_session *s, int shard, int n, struct flow_fire **out, size_t *count,
                               struct errctx *ec)
{
    static const struct row_type fires = ROWS(struct flow_fire, FIELDS(struct flow_fire, log_id, run_id));

    store_sql(s, "SELECT log_id, run_id FROM shardwheel_flow_fire WHERE run_id % ? = ?", n, shard);
    enum err e = store_read_array(s, &fires, out, count, ec);
    return e ? err_wrap(ec, e, "read the fires of flows of shard %d", shard) : ERR_OK;
}

/* Those of the fires, ascending by log id, that have a row without an end are marked in `open`. */
static enum err find_open(struct store_session *s, const struct flow_fire *fires, size_t count, bool *open,
                          struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t i = 0;
    enum err e = store_query(s, &rows, ec,
                             "SELECT id FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (?) AND handle_code = ? AND "
                             "trigger_code IN (?, ?) ORDER BY id",
                             sql_each(fires, count, log_id), CODE_OPEN, CODE_OPEN, CODE_OK);

    while (!e && db_rows_next(rows)) {
        while (i < count && fires[i].log_id < db_int(rows, 0))
            i++;
        if (i < count && fires[i].log_id == db_int(rows, 0))
            open[i] = true;
    }
    db_rows_destroy(rows);
    return e;
}

enum err store_find_flow_ends(struct store_session *s, struct flow_fire *fires, size_t count, size_t *ended,
                              struct errctx *ec)
{
    bool open[STORE_LIST_MAX];
    size_t front = 0;
    enum err e = ERR_OK;

    qsort(fires, count, sizeof *fires, compare_int64);
    for (size_t at = 0, some; at < count && !e; at += some) {
        some = count - at < STORE_LIST_MAX ? count - at : STORE_LIST_MAX;
        memset(open, 0, sizeof open);
        e = find_open(s, fires + at, some, open, ec);
        for (size_t i = 0; i < some && !e; i++) {
            struct flow_fire fire = fires[at + i];
            if (open[i])
                continue;
            fires[at + i] = fires[front];
            fires[front++] = fire;
        }
    }
    *ended = front;
    return e ? err_wrap(ec, e, "look for the ends of %zu fires of flows", count) : ERR_OK;
}

enum err store_find_flow_looks(struct store_session *s, const int *shards, size_t shard_count, int n, int64_t *ids,
                               size_t max, size_t *count, struct errctx *ec)
{
    struct sqlbuf *q = store_start_sql(
        s, "SELECT id FROM shardwheel_flow_run FORCE INDEX (shardwheel_flow_run_look) WHERE look_ms <= " STORE_NOW_MS);

    *count = 0;
    sql_and_shards(q, "id", shards, shard_count, n);
    sql_put(q, " ORDER BY look_ms, id LIMIT ?", (int64_t)max);
    enum err e = store_read_ids(s, ids, max, count, ec);
    return e ? err_wrap(ec, e, "look for flow runs") : ERR_OK;
}

enum err store_find_flowless_node(struct store_session *s, bool *found, struct errctx *ec)
{
    int64_t count = 0;
    enum err e = store_number(s, 0, &count, ec,
                              "SELECT COUNT(*) FROM shardwheel_node WHERE flows = 0 AND beat_ms > " STORE_NOW_MS " - ?",
                              NODE_GONE_MS);

    *found = count > 0;
    return e ? err_wrap(ec, e, "look for nodes that do not know flows") : ERR_OK;
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

static const struct row_type versions = ROWS(struct flow_version, FIELDS(struct flow_version, flow_id, version, at_ms));

enum err store_load_flow_versions_of(struct store_session *s, const int64_t *run_ids, size_t count,
                                     struct flow_version **out, size_t *out_count, struct errctx *ec)
{
    struct row_list list = {0};
    enum err e = ERR_OK;

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        store_sql(s,
                  "SELECT DISTINCT r.flow_id, r.version, v.at_ms FROM shardwheel_flow_run r LEFT JOIN "
                  "shardwheel_flow_version v ON v.flow_id = r.flow_id AND v.version = r.version WHERE r.id IN (?)",
                  sql_part(run_ids, count, at));
        e = store_append_list(s, &versions, &list, ec);
    }
    e = store_end_array(&list, e, out, out_count);
    return e ? err_wrap(ec, e, "read the versions of %zu flow runs", count) : ERR_OK;
}

enum err store_load_flow_document(struct store_session *s, struct flow_version version, char **out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e =
        store_query(s, &rows, ec, "SELECT document FROM shardwheel_flow_version WHERE flow_id = ? AND version = ?",
                    version.flow_id, version.version);

    if (!e && !db_rows_next(rows))
        e = err_set(ec, ERR_NOTFOUND, "flow %" PRId64 " has no version %d", version.flow_id, version.version);
    if (!e) {
        *out = str_copy(db_text_or_empty(rows, 0));
        if (!*out)
            e = err_set(ec, ERR_NOMEM, "out of memory");
    }
    db_rows_destroy(rows);
    return e;
}

enum err store_find_flow(struct store_session *s, const char *name, struct flow_version *out, struct errctx *ec)
{
    store_sql(
        s,
        "SELECT f.id, f.version, v.at_ms FROM shardwheel_flow f LEFT JOIN shardwheel_flow_version v ON v.flow_id = "
        "f.id AND v.version = f.version WHERE f.name = ?",
        name);
    enum err e = store_read_row(s, &versions, out, NULL, ec);
    return e == ERR_NOTFOUND ? err_set(ec, e, "there is no flow \"%s\"", name) : e;
}
