/* SPDX-License-Identifier: MIT */
/* Runs that lead to another one: bounded looks among the newest rows of one job. */
#include <inttypes.h>

#include "shardwheel/store/runs.h"
#include "store/conn/session.h"

enum err store_find_mentions(struct store_session *s, const struct run_mention *what, int limit_ms,
                             int64_t out[MENTIONS_MAX], size_t *count, bool *indexed, struct errctx *ec)
{
    struct store_features f;
    enum err e = store_get_features(s, &f, ec);

    *count = 0;
    *indexed = !e && f.log_job_id_name[0] != '\0';
    if (*indexed) {
        store_limited(s, limit_ms,
                      "id FROM (SELECT id, ? AS m FROM xxl_job_log FORCE INDEX (?) WHERE job_id = ? AND id < ? ORDER "
                      "BY id DESC LIMIT ?) r WHERE LOCATE(?, m) > 0 ORDER BY id DESC LIMIT ?",
                      sql_word(what->in_result ? "handle_msg" : "trigger_msg"), sql_word(f.log_job_id_name),
                      what->job_id, what->before_id, MENTIONS_LOOK, what->text, MENTIONS_MAX);
        e = store_read_ids(s, out, MENTIONS_MAX, count, ec);
    }
    return e ? err_wrap(ec, e, "look for runs of job %" PRId64, what->job_id) : ERR_OK;
}

enum err store_find_parent_jobs(struct store_session *s, int64_t job_id, int limit_ms, int64_t out[PARENT_JOBS_MAX],
                                size_t *count, struct errctx *ec)
{
    *count = 0;
    store_limited(s, limit_ms, "id FROM xxl_job_info WHERE FIND_IN_SET(?, REPLACE(child_jobid, ' ', '')) > 0 LIMIT ?",
                  job_id, PARENT_JOBS_MAX);
    enum err e = store_read_ids(s, out, PARENT_JOBS_MAX, count, ec);
    return e ? err_wrap(ec, e, "look for the parents of job %" PRId64, job_id) : ERR_OK;
}
