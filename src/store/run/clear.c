/* SPDX-License-Identifier: MIT */
/* Rows of the log removed for people, some at a time. */
#include "store/conn/session.h"
#include "shardwheel/store/kept.h"
#include "shardwheel/store/runs.h"

#include <stdlib.h>

enum err store_clear_runs(struct store_session *s, int64_t *ids, size_t count, size_t *deleted, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = ERR_OK;

    if (count > 0) {
        qsort(ids, count, sizeof *ids, compare_int64);
        e = store_drop_kept(s, ids, count, ec);
    }
    if (count > 0 && !e) {
        struct sqlbuf *q = store_start_sql(s, "DELETE FROM xxl_job_log WHERE ");
        sql_id_among(q, ids, count);
        /* The fire is not over: nobody has sent it, or nobody knows what came of it yet. */
        sql_puts(q, " AND NOT (trigger_code = 0 AND handle_code = 0 AND COALESCE(trigger_msg, '') LIKE '<!--sw:%')");
        e = store_write_sql(s, &effect, ec);
    }
    *deleted = (size_t)effect.matched;
    return e ? err_wrap(ec, e, "remove %zu log rows", count) : ERR_OK;
}

enum err store_find_place(struct store_session *s, const struct run_filter *filter, int64_t skip, int limit_ms,
                          struct run_place *out, bool *found, struct errctx *ec)
{
    struct run_query query = {.filter = *filter,
                              .order = RUN_BY_TIME,
                              .skip = skip,
                              .want = 1,
                              .limit_ms = limit_ms,
                              .look_max = INT64_MAX / 2};
    struct run_ids ids;
    enum err e = store_search_runs(s, &query, &ids, ec);

    if (e)
        return e;
    if (ids.stop)
        e = err_set(ec, ERR_TIMEOUT, "the newest rows could not be counted in time");
    *found = ids.count > 0;
    *out = ids.last;
    run_ids_fini(&ids);
    return e;
}
