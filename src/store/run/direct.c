/* SPDX-License-Identifier: MIT */
/* Direct fires: their rows, and the end of what a node that is gone has left open. */
#include "shardwheel/store/run.h"
#include "store/conn/rows.h"
#include "store/plan/claim_impl.h"
#include "store/run/direct.h"

#include <stdlib.h>
#include <string.h>

/* ---- jobs and groups --------------------------------------------------------------------------------------- */

/* Those of `ids` that are there, each with the places in `jobs` that it is for. */
static enum err load_groups(struct store_session *s, struct job_spec *const *jobs, size_t count, const int64_t *ids,
                            size_t id_count, struct group_spec **out, struct errctx *ec)
{
    const struct store_features *features = store_features(s);
    struct db_rows *rows = NULL;
    enum err e = store_query(s, &rows, ec,
                             "SELECT id, address_type, app_name, address_list, ? FROM xxl_job_group WHERE id IN (?)",
                             sql_word(features->group_access_token ? "access_token" : "NULL"), sql_list(ids, id_count));
    while (!e && db_rows_next(rows)) {
        struct group_spec *group =
            group_spec_create(db_int(rows, 0), db_text_or_empty(rows, 2), db_text_or_empty(rows, 4),
                              db_int(rows, 1) == 1, db_text_or_empty(rows, 3));
        if (!group)
            e = err_set(ec, ERR_NOMEM, "out of memory");
        for (size_t i = 0; i < count && !e; i++)
            if (jobs[i] && jobs[i]->group == group->id && !out[i])
                out[i] = group_spec_ref(group);
        group_spec_unref(group);
    }
    db_rows_destroy(rows);
    return e;
}

enum err store_load_targets(struct store_session *s, const int64_t *ids, size_t count, struct job_spec **jobs,
                            struct group_spec **groups, struct errctx *ec)
{
    int64_t *group_ids = calloc(count + 1, sizeof *group_ids);
    size_t n = 0;
    enum err e = group_ids ? store_load_job_specs(s, ids, count, jobs, ec) : err_set(ec, ERR_NOMEM, "out of memory");

    if (e) {
        free(group_ids);
        return e;
    }
    for (size_t i = 0; i < count; i++) {
        groups[i] = NULL;
        if (jobs[i])
            group_ids[n++] = jobs[i]->group;
    }
    size_t distinct = sort_distinct(group_ids, n);
    for (size_t at = 0, some; at < distinct && !e; at += some) {
        some = distinct - at < STORE_LIST_MAX ? distinct - at : STORE_LIST_MAX;
        e = load_groups(s, jobs, count, group_ids + at, some, groups, ec);
    }
    free(group_ids);
    if (!e)
        return ERR_OK;
    for (size_t i = 0; i < count; i++) {
        job_spec_unref(jobs[i]);
        group_spec_unref(groups[i]);
        jobs[i] = NULL;
        groups[i] = NULL;
    }
    return err_wrap(ec, e, "read %zu jobs and their groups", count);
}

/* ---- rows -------------------------------------------------------------------------------------------------- */

enum err store_insert_direct(struct store_session *s, struct fire *list, const char *incarnation, struct errctx *ec)
{
    struct fire_row *rows;
    int64_t step = 1;
    size_t n = 0;
    enum err e = ERR_OK;

    for (const struct fire *f = list; f; f = f->next)
        n++;
    rows = calloc(n + 1, sizeof *rows);
    if (!rows)
        return err_set(ec, ERR_NOMEM, "out of memory");
    n = 0;
    for (struct fire *f = list; f; f = f->next) {
        f->row_hash = f->job->row_hash;
        rows[n++] = (struct fire_row){f, f->job->handler, f->job->param, f->job->retry_count, NULL};
    }
    if (n > 1)
        e = store_number(s, 1, &step, ec, "SELECT @@auto_increment_increment");
    if (!e)
        e = store_insert_rows(s, rows, n, incarnation, step, ec);
    free(rows);
    return e;
}

/* ---- fires asked for --------------------------------------------------------------------------------------- */

enum err store_load_param_max(struct store_session *s, size_t *out, struct errctx *ec)
{
    struct store_features features;
    enum err e = store_get_features(s, &features, ec);

    if (e)
        return e;
    *out = (size_t)features.param_len;
    return ERR_OK;
}

enum err store_make_direct(struct store_session *s, struct fire *list, const char *incarnation, struct errctx *ec)
{
    enum err e = list ? store_begin_txn(s, ec) : ERR_OK;

    if (list && !e)
        e = store_finish_txn(s, store_insert_direct(s, list, incarnation, ec), ec);
    return e ? err_wrap(ec, e, "write the rows of fires that were asked for") : ERR_OK;
}

/* By its mark too: ids may be given out again after a crash of the server. An insert that is not committed yet holds
 * its row locked, so the read waits for its end. */
enum err store_find_direct(struct store_session *s, const struct fire *fire, const char *incarnation, bool *found,
                           struct errctx *ec)
{
    int64_t id = 0;
    char mark[100];
    enum err e = store_begin_txn(s, ec);

    fire_format_direct_mark(fire, incarnation, mark);
    if (!e)
        e = store_number(
            s, 0, &id, ec,
            "SELECT id FROM xxl_job_log WHERE id = ? AND job_id = ? AND LEFT(trigger_msg, ?) = ? FOR UPDATE",
            fire->log_id, fire->job_id, (int64_t)strlen(mark), mark);
    if (!e)
        *found = id != 0;
    store_end_txn(s);
    return e ? err_wrap(ec, e, "look for the row of a fire") : ERR_OK;
}

/* ---- nodes that are gone ----------------------------------------------------------------------------------- */

enum err store_load_live_nodes(struct store_session *s, int64_t within_ms, char (**out)[INCARNATION_MAX], size_t *count,
                               struct errctx *ec)
{
    static const struct row_type nodes = {.size = INCARNATION_MAX,
                                          .fields = {{.kind = FIELD_CHARS, .size = INCARNATION_MAX}}};

    store_sql(s, "SELECT incarnation FROM shardwheel_node WHERE beat_ms > " STORE_NOW_MS " - ?", within_ms);
    enum err e = store_read_array(s, &nodes, out, count, ec);
    return e ? err_wrap(ec, e, "read the nodes") : ERR_OK;
}

enum err store_end_direct(struct store_session *s, const int64_t *log_ids, size_t count, size_t *ended,
                          struct errctx *ec)
{
    enum err e = store_end_unsent(s, ") AND trigger_code = 0 AND handle_code = 0 AND trigger_msg LIKE '<!--sw:d:%-->%'",
                                  log_ids, count, ended, ec);

    return e ? err_wrap(ec, e, "end %zu direct fires of unknown delivery", count) : ERR_OK;
}
