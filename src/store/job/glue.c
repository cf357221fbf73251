/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/glue.h"

#include <inttypes.h>
#include <stdio.h>

#include "store/conn/rows.h"
#include "store/people/audit.h"

static enum err query_now(struct store_session *s, int64_t job_id, const char *behind, struct glue_now *out,
                          struct errctx *ec)
{
    static const struct row_type now =
        ROWS(struct glue_now, FIELDS(struct glue_now, job_id, group, name, type),
             NULL_TEXTS(struct glue_now, source, remark), TIME(struct glue_now, updated_s, INT64_MIN));

    store_sql(
        s,
        "SELECT id, job_group, ?, glue_type, glue_source, glue_remark, glue_updatetime FROM xxl_job_info WHERE id = ??",
        store_job_name(s), job_id, sql_word(behind));
    enum err e = store_read_row(s, &now, out, &out->memory, ec);
    return e == ERR_NOTFOUND ? err_set(ec, e, "there is no job %" PRId64, job_id) : e;
}

enum err store_load_glue(struct store_session *s, int64_t job_id, struct glue_now *out, struct errctx *ec)
{
    enum err e = query_now(s, job_id, "", out, ec);

    return e ? err_wrap(ec, e, "read the source of job %" PRId64, job_id) : ERR_OK;
}

FINI_BY(store_free_memory, glue_now, memory)

/* ---- saving ------------------------------------------------------------------------------------------------------ */

/* Locks the job's row. */
static enum err lock_job(struct store_session *s, const struct glue_change *change, int64_t *updated_s, char type[64],
                         struct errctx *ec)
{
    struct glue_now now = {0};
    enum err e = query_now(s, change->job_id, " FOR UPDATE", &now, ec);

    if (e)
        return e;
    if (change->from && (change->from->updated_s != now.updated_s || !str_equal(change->from->source, now.source) ||
                         !str_equal(change->from->remark, now.remark)))
        e = err_set(ec, ERR_CONFLICT, "somebody else has changed the source");
    *updated_s = now.updated_s >= change->now_s ? now.updated_s + 1 : change->now_s;
    snprintf(type, 64, "%s", now.type);
    glue_now_fini(&now);
    return e;
}

static enum err write_job(struct store_session *s, const struct glue_change *change, int64_t updated_s,
                          struct errctx *ec)
{
    return store_exec(
        s, NULL, ec,
        "UPDATE xxl_job_info SET glue_source = ?, glue_remark = ?, glue_updatetime = ?, update_time = ? WHERE id = ?",
        sql_or_null(change->source), change->remark, sql_time(s->st->zone, updated_s),
        sql_time(s->st->zone, change->now_s), change->job_id);
}

static enum err add_version(struct store_session *s, const struct glue_change *change, int64_t updated_s,
                            const char *type, struct errctx *ec)
{
    struct sql_value at = sql_time(s->st->zone, updated_s);

    return store_exec(s, NULL, ec,
                      "INSERT INTO xxl_job_logglue (job_id, glue_type, glue_source, glue_remark, add_time, "
                      "update_time) VALUES (?, ?, ?, ?, ?, ?)",
                      change->job_id, type, sql_or_null(change->source), change->remark, at, at);
}

/* By update_time, as the original does, and by id where that is the same. */
static enum err drop_old_versions(struct store_session *s, int64_t job_id, struct errctx *ec)
{
    int64_t ids[STORE_LIST_MAX];
    size_t count = 0;

    store_sql(s, "SELECT id FROM xxl_job_logglue WHERE job_id = ? ORDER BY update_time DESC, id DESC LIMIT ?, ?",
              job_id, GLUE_VERSIONS_KEPT, STORE_LIST_MAX);
    enum err e = store_read_ids(s, ids, STORE_LIST_MAX, &count, ec);
    if (e || count == 0)
        return e;
    return store_exec(s, NULL, ec, "DELETE FROM xxl_job_logglue WHERE id IN (?)", sql_list(ids, count));
}

enum err store_save_glue(struct store_session *s, const struct glue_change *change, const struct audit_row *audit,
                         int64_t *updated_s, struct errctx *ec)
{
    char type[64];
    int64_t at_s = 0;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_job(s, change, &at_s, type, ec);
    if (!e)
        e = write_job(s, change, at_s, ec);
    if (!e)
        e = add_version(s, change, at_s, type, ec);
    if (!e)
        e = drop_old_versions(s, change->job_id, ec);
    e = store_end_audited(s, e, audit, ec);
    if (e)
        return err_wrap(ec, e, "save the source of job %" PRId64, change->job_id);
    *updated_s = at_s;
    return ERR_OK;
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

static const struct row_type versions = ROWS(
    struct glue_version, FIELDS(struct glue_version, id, type, remark), TIME(struct glue_version, added_s, INT64_MIN),
    FIELDS(struct glue_version, length), NULL_TEXTS(struct glue_version, source));

enum err store_load_glue_versions(struct store_session *s, int64_t job_id, struct glue_versions *out, struct errctx *ec)
{
    store_sql(s,
              "SELECT id, glue_type, glue_remark, add_time, LENGTH(glue_source), NULL FROM xxl_job_logglue WHERE "
              "job_id = ? ORDER BY update_time DESC, id DESC LIMIT ?",
              job_id, GLUE_VERSIONS_KEPT);
    enum err e = store_read_list(s, &versions, out, ec);
    return e ? err_wrap(ec, e, "read the versions of job %" PRId64, job_id) : ERR_OK;
}

enum err store_load_glue_version(struct store_session *s, int64_t job_id, int64_t id, struct glue_versions *out,
                                 struct errctx *ec)
{
    struct glue_versions read = {0};

    store_sql(s,
              "SELECT id, glue_type, glue_remark, add_time, LENGTH(glue_source), glue_source FROM xxl_job_logglue "
              "WHERE id = ? AND job_id = ?",
              id, job_id);
    enum err e = store_read_list(s, &versions, &read, ec);
    if (!e && read.count == 0) {
        glue_versions_fini(&read);
        e = err_set(ec, ERR_NOTFOUND, "the job has no version %" PRId64, id);
    }
    if (e)
        return err_wrap(ec, e, "read version %" PRId64 " of job %" PRId64, id, job_id);
    *out = read;
    return ERR_OK;
}
