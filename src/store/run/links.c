/* SPDX-License-Identifier: MIT */
/* Runs that lead to another one: bounded looks among the newest rows of one job. */
#include <inttypes.h>

#include "shardwheel/store/runs.h"
#include "store/conn/session.h"

enum err store_find_mentions(struct store_session *s, const struct run_mention *what, int limit_ms,
                             int64_t out[MENTIONS_MAX], size_t *count, bool *indexed, struct errctx *ec)
{
    const char *column = what->in_result ? "handle_msg" : "trigger_msg";
    struct store_features f;
    struct db_rows *rows = NULL;
    enum err e = store_get_features(s, &f, ec);

    *count = 0;
    if (!e)
        e = store_ready_session(s, ec);
    if (e)
        return err_wrap(ec, e, "look for runs of job %" PRId64, what->job_id);
    *indexed = f.log_job_id_name[0] != '\0';
    if (!*indexed)
        return ERR_OK;
    store_limited(s, limit_ms,
                  "id FROM (SELECT id, ? AS m FROM xxl_job_log FORCE INDEX (?) WHERE job_id = ? AND id < ? ORDER "
                  "BY id DESC LIMIT ?) r WHERE LOCATE(?, m) > 0 ORDER BY id DESC LIMIT ?",
                  sql_word(column), sql_word(f.log_job_id_name), what->job_id, what->before_id, MENTIONS_LOOK,
                  what->text, MENTIONS_MAX);
    e = store_query_sql(s, &rows, ec);
    while (!e && *count < MENTIONS_MAX && db_rows_next(rows))
        out[(*count)++] = db_int(rows, 0);
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "look for runs of job %" PRId64, what->job_id) : ERR_OK;
}

enum err store_find_parent_jobs(struct store_session *s, int64_t job_id, int limit_ms, int64_t out[PARENT_JOBS_MAX],
                                size_t *count, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_ready_session(s, ec);

    *count = 0;
    if (!e) {
        store_limited(s, limit_ms,
                      "id FROM xxl_job_info WHERE FIND_IN_SET(?, REPLACE(child_jobid, ' ', '')) > 0 LIMIT ?", job_id,
                      PARENT_JOBS_MAX);
        e = store_query_sql(s, &rows, ec);
    }
    while (!e && *count < PARENT_JOBS_MAX && db_rows_next(rows))
        out[(*count)++] = db_int(rows, 0);
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "look for the parents of job %" PRId64, job_id) : ERR_OK;
}
