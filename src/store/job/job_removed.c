/* SPDX-License-Identifier: MIT */
/* Rows of the log of jobs that were removed: found in small pieces, and removed by their ids. */
#include "shardwheel/store/kept.h"
#include "store/job/job_impl.h"

#define STEP_IDS 20000 /* ids that one statement looks at where no index helps */

struct removed {
    int64_t job_id; /* 0: there is none */
    int64_t log_id; /* its rows up to this one are gone */
    int64_t last_id;
};

static enum err find_removed(struct store_session *s, int64_t job_id, int64_t before_ms, struct removed *out,
                             struct errctx *ec)
{
    static const struct row_type row = ROWS(struct removed, FIELDS(struct removed, job_id, log_id, last_id));

    store_sql(s,
              "SELECT job_id, GREATEST(log_id, 0), GREATEST(last_id, 0) FROM shardwheel_removed WHERE job_id > 0 AND "
              "?? ORDER BY job_id LIMIT 1",
              sql_word(job_id ? "job_id = " : "at_ms < "), job_id ? job_id : before_ms);
    enum err e = store_read_row(s, &row, out, NULL, ec);
    return e == ERR_NOTFOUND ? ERR_OK : e;
}

/* The next rows of it, ascending. `upto`: how far they have been looked for. */
static enum err find_rows(struct store_session *s, const struct removed *r, int64_t *ids, size_t *count, int64_t *upto,
                          struct errctx *ec)
{
    const char *index = store_features(s)->log_job_id_name;

    *upto = *index || r->last_id - r->log_id < STEP_IDS ? r->last_id : r->log_id + STEP_IDS;
    store_sql(s,
              "SELECT id FROM xxl_job_log FORCE INDEX (?) WHERE job_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?",
              sql_word(*index ? index : "PRIMARY"), r->job_id, r->log_id, *upto, REMOVED_BATCH_MAX);
    enum err e = store_read_ids(s, ids, REMOVED_BATCH_MAX, count, ec);
    if (*count == REMOVED_BATCH_MAX)
        *upto = ids[*count - 1];
    return e;
}

static enum err note_place(struct store_session *s, const struct removed *r, int64_t upto, struct errctx *ec)
{
    if (upto >= r->last_id)
        return store_write(s, NULL, ec, "DELETE FROM shardwheel_removed WHERE job_id = ?", r->job_id);
    return store_write(s, NULL, ec, "UPDATE shardwheel_removed SET log_id = ? WHERE job_id = ?", upto, r->job_id);
}

enum err store_delete_removed(struct store_session *s, int64_t job_id, int64_t before_ms, size_t *deleted, bool *more,
                              struct errctx *ec)
{
    int64_t ids[REMOVED_BATCH_MAX], upto = 0;
    struct removed r = {0};
    size_t count = 0;
    enum err e = find_removed(s, job_id, before_ms, &r, ec);

    *deleted = 0;
    *more = false;
    if (!e && r.job_id == 0)
        return ERR_OK;
    if (!e)
        e = find_rows(s, &r, ids, &count, &upto, ec);
    if (!e && count > 0)
        e = store_drop_kept(s, ids, count, ec);
    if (!e && count > 0) {
        sql_id_among(store_start_sql(s, "DELETE FROM xxl_job_log WHERE "), ids, count);
        e = store_write_sql(s, NULL, ec);
    }
    if (!e)
        e = note_place(s, &r, upto, ec);
    if (e)
        return err_wrap(ec, e, "delete log rows of a deleted job");
    *deleted = count;
    *more = job_id == 0 || upto < r.last_id;
    return ERR_OK;
}
