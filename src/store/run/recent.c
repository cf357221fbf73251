/* SPDX-License-Identifier: MIT */
/* The newest runs of some jobs: one look into an index for each. */
#include "shardwheel/store/runs.h"
#include "store/conn/session.h"

/* An index over the job alone has its rows by id; one over job and time has them by time. */
static void put_newest(struct sqlbuf *q, const struct store_features *f, int64_t job_id, int64_t each)
{
    bool by_id = f->log_job_id_name[0] != '\0';

    sql_put(q, "(SELECT id, job_id FROM xxl_job_log FORCE INDEX (?) WHERE job_id = ? ORDER BY ? DESC LIMIT ?)",
            sql_word(by_id ? f->log_job_id_name : f->log_job_time_name), job_id,
            sql_word(by_id ? "id" : "trigger_time DESC, id"), each);
}

enum err store_find_recent_runs(struct store_session *s, const int64_t *job_ids, size_t count, int64_t each,
                                int limit_ms, int64_t *out, size_t *out_count, bool *indexed, struct errctx *ec)
{
    struct store_features features;
    enum err e = store_get_features(s, &features, ec);

    *out_count = 0;
    *indexed = !e && (features.log_job_id_name[0] || features.log_job_time_name[0]);
    if (*indexed && count > 0) {
        struct sqlbuf *q = store_start_limited(s, limit_ms, "id FROM (");
        for (size_t i = 0; i < count; i++) {
            sql_puts(q, i ? " UNION ALL " : "");
            put_newest(q, &features, job_ids[i], each);
        }
        sql_puts(q, ") r ORDER BY job_id, id DESC");
        e = store_read_ids(s, out, count * (size_t)each, out_count, ec);
    }
    return e ? err_wrap(ec, e, "look for the newest runs of %zu jobs", count) : ERR_OK;
}
