/* SPDX-License-Identifier: MIT */
/* What a node sent, written again where the database has lost it. */
#include "store/conn/session.h"
#include "store/flow/again.h"
#include "store/hook/put.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/job/words.h"
#include "shardwheel/store/run.h"

/* How a row stands that the node knows of. */
struct found {
    bool is_there;
    int code, handle_code;
};

static int code_of(const struct sent_row *row)
{
    /* What has ended had come to its executor. */
    return row->code != 0 ? row->code : row->handle_code != 0 ? CODE_OK : 0;
}

static enum err load(struct store_session *s, const struct sent_row *rows, size_t count, struct found *out,
                     struct errctx *ec)
{
    int64_t ids[STORE_LIST_MAX];
    struct db_rows *found = NULL;
    size_t i = 0;
    enum err e;

    for (size_t k = 0; k < count; k++)
        ids[k] = rows[k].log_id;
    struct sqlbuf *q = store_start_sql(s, "SELECT id, trigger_code, handle_code FROM xxl_job_log WHERE ");
    sql_id_among(q, ids, count);
    sql_puts(q, " ORDER BY id");
    e = store_query_sql(s, &found, ec);
    while (!e && db_rows_next(found)) {
        while (i < count && rows[i].log_id < db_int(found, 0))
            i++;
        if (i < count && rows[i].log_id == db_int(found, 0))
            out[i] = (struct found){true, (int)db_int(found, 1), (int)db_int(found, 2)};
    }
    db_rows_destroy(found);
    return e;
}

static void put_text(struct store_session *s, const char *mark, enum text_fit fit)
{
    struct buf text = {0};

    buf_puts(&text, mark);
    buf_puts(&text, word_get(s->st->opts.lang, WORD_WRITTEN_AGAIN));
    sql_take_text(&s->sql, &text, SIZE_MAX, fit);
}

/* With the mark of its kind: while it is open it is ended like any other. */
static void put_row(struct store_session *s, const struct sent_row *row, const char *incarnation, int64_t now_s,
                    enum text_fit fit)
{
    struct fire fire = {.due_s = row->due_s,
                        .original_due_s = row->due_s,
                        .epoch = row->epoch,
                        .kind = row->kind,
                        .shard_total = 1,
                        .flow_run = row->flow_run,
                        .flow_step = row->flow_step};
    struct sqlbuf *q = &s->sql;
    char mark[100];

    if (row->epoch > 0 && row->kind != TRIGGER_CRON && row->kind != TRIGGER_MISFIRE)
        fire.flags = FIRE_LATER;
    if (row->epoch > 0)
        fire_format_mark(&fire, mark);
    else
        fire_format_direct_mark(&fire, incarnation, mark);
    sql_put(q, "(?,?,?,?,?,", row->log_id, row->group, row->job_id, sql_time(s->st->zone, row->due_s), code_of(row));
    put_text(s, mark, fit);
    sql_put(q, ",?,", row->handle_code);
    if (row->handle_code != 0)
        sql_datetime(q, s->st->zone, now_s);
    else
        sql_puts(q, "NULL");
    sql_puts(q, ",1)");
}

static enum err insert(struct store_session *s, const struct sent_row *rows, const struct found *found, size_t count,
                       const char *incarnation, int64_t now_s, enum text_fit fit, size_t *written, struct errctx *ec)
{
    size_t n = 0;
    enum err e;

    store_start_sql(s, "INSERT INTO xxl_job_log (id, job_group, job_id, trigger_time, trigger_code, trigger_msg, "
                       "handle_code, handle_time, alarm_status) VALUES ");
    for (size_t i = 0; i < count; i++) {
        if (found[i].is_there || !rows[i].was_sent)
            continue;
        sql_puts(&s->sql, n++ ? "," : "");
        put_row(s, &rows[i], incarnation, now_s, fit);
    }
    if (n == 0)
        return ERR_OK;
    /* Another call may have been first whose answer got lost. */
    sql_puts(&s->sql, " ON DUPLICATE KEY UPDATE xxl_job_log.id = xxl_job_log.id");
    e = store_exec_sql(s, NULL, ec);
    *written += e ? 0 : n;
    return e;
}

/* One row by itself: few need it. */
static enum err update(struct store_session *s, const struct sent_row *row, const struct found *found, int64_t now_s,
                       enum text_fit fit, struct errctx *ec)
{
    struct sqlbuf *q;
    enum err e = ERR_OK;

    if (found->code == 0 && code_of(row) != 0)
        e = store_exec(s, NULL, ec, "UPDATE xxl_job_log SET trigger_code = ?? WHERE trigger_code = 0 AND id = ?",
                       code_of(row), sql_word(code_of(row) == CODE_OK ? "" : ", alarm_status = 1"), row->log_id);
    if (e || found->handle_code != 0 || row->handle_code == 0)
        return e;
    q = store_sql(s, "UPDATE xxl_job_log SET handle_code = ?, handle_time = ?, handle_msg = ", row->handle_code,
                  sql_time(s->st->zone, now_s));
    put_text(s, END_AGAIN_MARK, fit);
    sql_puts(q, row->handle_code == CODE_OK ? "" : ", alarm_status = 1");
    sql_put(q, " WHERE handle_code = 0 AND id = ?", row->log_id);
    return store_exec_sql(s, NULL, ec);
}

/* An open failure whose retry was sent is not retried again. */
static enum err close_failures(struct store_session *s, const struct sent_row *rows, size_t count, size_t *written,
                               struct errctx *ec)
{
    struct db_effect effect = {0};
    int64_t ids[STORE_LIST_MAX];
    size_t n = 0;
    enum err e;

    for (size_t i = 0; i < count; i++)
        if (rows[i].was_sent && rows[i].source && rows[i].epoch == 0 && rows[i].kind == TRIGGER_RETRY)
            ids[n++] = rows[i].source;
    if (n == 0)
        return ERR_OK;
    e = store_exec(s, &effect, ec,
                   "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET alarm_status = 1 WHERE id IN (?) AND alarm_status = 0",
                   sql_list(ids, n));
    *written += e ? 0 : (size_t)effect.matched;
    return e;
}

/* A later row that was sent is planned. One by that id that is due later is another one, or waits anew. */
static enum err plan_later(struct store_session *s, const struct sent_row *row, size_t *written, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_exec(s, &effect, ec,
                            "UPDATE shardwheel_later FORCE INDEX (PRIMARY) SET planned = 1, log_id = ? WHERE planned = "
                            "0 AND id = ? AND job_id = ? AND due_s <= ?",
                            row->log_id, row->source, row->job_id, row->due_s);

    *written += e ? 0 : (size_t)effect.matched;
    return e;
}

static enum err write_sources(struct store_session *s, const struct sent_row *rows, size_t count, size_t *written,
                              struct errctx *ec)
{
    enum err e = close_failures(s, rows, count, written, ec);

    for (size_t i = 0; i < count && !e; i++)
        if (rows[i].was_sent && rows[i].source && rows[i].epoch > 0)
            e = plan_later(s, &rows[i], written, ec);
    return e;
}

/* With an end its event is gone, too. */
static enum err put_events(struct store_session *s, const struct sent_row *rows, size_t count, struct errctx *ec)
{
    int64_t ids[STORE_LIST_MAX];

    for (size_t i = 0; i < count; i++)
        ids[i] = rows[i].log_id;
    return hook_put_runs(s, ids, count, ec);
}

static enum err write_rows(struct store_session *s, const struct sent_row *rows, size_t count, const char *incarnation,
                           int64_t now_s, enum text_fit fit, struct sent_counts *counts, struct errctx *ec)
{
    struct found found[STORE_LIST_MAX] = {0};
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = write_sources(s, rows, count, &counts->sources, ec);
    if (!e)
        e = load(s, rows, count, found, ec);
    if (!e)
        e = insert(s, rows, found, count, incarnation, now_s, fit, &counts->written, ec);
    for (size_t i = 0; i < count && !e; i++)
        if (!found[i].is_there && rows[i].flow_run)
            e = flow_begin_again(s, &rows[i], &counts->steps, ec);
    for (size_t i = 0; i < count && !e; i++) {
        if (!found[i].is_there)
            continue;
        counts->results += found[i].code == 0 && code_of(&rows[i]) != 0;
        counts->ends += found[i].handle_code == 0 && rows[i].handle_code != 0;
        e = update(s, &rows[i], &found[i], now_s, fit, ec);
    }
    if (!e)
        e = put_events(s, rows, count, ec);
    if (!e)
        e = store_commit_txn(s, ec);
    return e;
}

enum err store_write_sent(struct store_session *s, const struct sent_row *rows, size_t count, const char *incarnation,
                          int64_t now_s, struct sent_counts *counts, struct errctx *ec)
{
    enum err e = count > STORE_LIST_MAX ? err_set(ec, ERR_INPUT, "too many rows at once") : ERR_OK;
    struct sent_counts tried = *counts;

    /* A column that cannot hold the language: what is not ASCII becomes question marks. */
    for (int i = 0; i < 2 && !e; i++) {
        tried = *counts;
        e = write_rows(s, rows, count, incarnation, now_s, i ? TEXT_ASCII : TEXT_AS_IS, &tried, ec);
        bool again = e && i == 0 && store_has_data_error(s);
        store_end_txn(s);
        if (!again)
            break;
        e = ERR_OK;
    }
    if (e)
        return err_wrap(ec, e, "write what was sent");
    *counts = tried;
    return ERR_OK;
}
