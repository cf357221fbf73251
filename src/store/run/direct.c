/* SPDX-License-Identifier: MIT */
/* Direct fires: their rows, and the end of what a node that is gone has left open. */
#include "store/plan/claim.h"
#include "store/run/direct.h"
#include "shardwheel/store/run.h"

#include <stdlib.h>
#include <string.h>

/* ---- rows -------------------------------------------------------------------------------------------------- */

static void put_row(struct store_session *s, const struct fire *f, const char *incarnation, struct fitting how)
{
    char mark[100];

    fire_format_direct_mark(f, incarnation, mark);
    store_start_sql(s, store_fire_columns);
    store_put_fire(s, f, f->job->handler, f->job->param, f->job->retry_count, mark, /*message=*/NULL, how);
}

static enum err insert_one(struct store_session *s, struct fire *f, const char *incarnation, struct errctx *ec)
{
    struct fitting how = {TEXT_AS_IS, false};
    struct db_effect effect = {0};
    enum err e;

    do {
        put_row(s, f, incarnation, how);
        e = store_exec_sql(s, &effect, ec);
    } while (e && store_fit_more(s, &how));
    if (e)
        return e;
    f->log_id = effect.first_id;
    f->row_hash = f->job->row_hash;
    return ERR_OK;
}

enum err store_insert_direct(struct store_session *s, struct fire *list, const char *incarnation, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (; list && !e; list = list->next)
        e = insert_one(s, list, incarnation, ec);
    return e;
}

/* ---- nodes that are gone ----------------------------------------------------------------------------------- */

enum err store_load_live_nodes(struct store_session *s, int64_t within_ms, char (**out)[INCARNATION_MAX], size_t *count,
                               struct errctx *ec)
{
    struct db_rows *rows = NULL;
    char(*list)[INCARNATION_MAX];
    size_t n = 0;
    enum err e = store_ready_session(s, ec);

    if (e)
        return err_wrap(ec, e, "read the nodes");
    store_start_sql(s, "SELECT incarnation FROM shardwheel_node WHERE beat_ms > TIMESTAMPDIFF(MICROSECOND, "
                       "'1970-01-01 00:00:00', UTC_TIMESTAMP(3)) DIV 1000 - ");
    sql_int(&s->sql, within_ms);
    e = store_query_sql(s, &rows, ec);
    if (e)
        return err_wrap(ec, e, "read the nodes");
    list = calloc(db_rows_count(rows) + 1, sizeof *list);
    if (!list) {
        db_rows_destroy(rows);
        return err_set(ec, ERR_NOMEM, "out of memory");
    }
    while (db_rows_next(rows))
        strncpy(list[n++], db_text_or_empty(rows, 0), INCARNATION_MAX - 1);
    db_rows_destroy(rows);
    *out = list;
    *count = n;
    return ERR_OK;
}

enum err store_end_direct(struct store_session *s, const int64_t *log_ids, size_t count, size_t *ended,
                          struct errctx *ec)
{
    int64_t changed = 0;
    enum err e = count > 0 ? store_begin_txn(s, ec) : ERR_OK;

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        struct db_effect effect = {0};
        struct sqlbuf *q = store_start_sql(
            s, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = 500, trigger_msg = "
               "CONCAT(LEFT(trigger_msg, LOCATE('-->', trigger_msg) + 2), 'delivery unknown: the node that was to send "
               "this went away; it may have reached its executor or not') WHERE id IN (");
        sql_ids(q, log_ids + at, count - at < STORE_LIST_MAX ? count - at : STORE_LIST_MAX);
        sql_puts(q, ") AND trigger_code = 0 AND handle_code = 0 AND trigger_msg LIKE '<!--sw:d:%-->%'");
        e = store_exec_sql(s, &effect, ec);
        changed += effect.matched;
    }
    if (!e && count > 0)
        e = store_commit_txn(s, ec);
    store_end_txn(s);
    if (e)
        return err_wrap(ec, e, "end %zu direct fires of unknown delivery", count);
    *ended = (size_t)changed;
    return ERR_OK;
}
