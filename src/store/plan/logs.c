/* SPDX-License-Identifier: MIT */
/* Planned rows of xxl_job_log after a takeover, and their two ends without a dispatch. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "store/conn/datetime.h"
#include "store/conn/session.h"
#include "store/hook/put.h"
#include "store/later/later.h"
#include "store/plan/claim_impl.h"
#include "shardwheel/job.h"
#include "shardwheel/store/plan.h"
#include "shardwheel/job/times.h"

#define OPEN_AND_MARKED "trigger_code = 0 AND handle_code = 0 AND trigger_msg LIKE '<!--sw:p:%'"

/* ---- loading ----------------------------------------------------------------------------------------------- */

/* A row that was written ahead has text behind its mark, if only blanks. */
static bool has_text_behind_mark(const char *text)
{
    const char *end = strstr(text, "-->");

    return end && end[3] != '\0';
}

static enum err read_row(const struct log_slice *slice, const struct db_rows *rows, struct fire **out,
                         struct errctx *ec)
{
    struct fire mark = {0};
    struct fire *f;

    *out = NULL;
    if (!fire_parse_mark(db_text(rows, 3), &mark))
        return ERR_OK; /* the server compares without case; what is no mark to the letter is not ours */
    if (mark.due_s <= slice->from_s || mark.due_s > slice->to_s)
        return ERR_OK;
    f = fire_create();
    if (!f)
        return err_set(ec, ERR_NOMEM, "out of memory");
    *out = f;
    f->log_id = db_int(rows, 0);
    f->job_id = db_int(rows, 1);
    f->group = db_int(rows, 2);
    f->due_s = mark.due_s;
    f->original_due_s = mark.original_due_s;
    f->epoch = mark.epoch;
    f->kind = mark.kind;
    f->flags = mark.flags;
    f->broadcast = fire_parse_sharding(db_text(rows, 4), &f->shard_index, &f->shard_total);
    f->row_hash = fire_row_hash(f->group, db_text(rows, 6), db_text(rows, 7), (int)db_int(rows, 8));
    f->written_ahead = db_text(rows, 5) && has_text_behind_mark(db_text(rows, 3));
    if ((f->broadcast || f->written_ahead) && db_text(rows, 5)) {
        f->address = str_copy(db_text(rows, 5));
        if (!f->address)
            return err_set(ec, ERR_NOMEM, "out of memory");
    }
    return ERR_OK;
}

static void put_range(struct store_session *s, const struct log_slice *slice)
{
    char low[DATETIME_TEXT_MAX], high[DATETIME_TEXT_MAX];

    datetime_range(s->st->zone, slice->from_s, slice->to_s, low, high);
    sql_put(&s->sql, "trigger_time >= ? AND trigger_time <= ?", low, high);
}

/* Ids of the slice, by the index of trigger_time alone: the server looks at no more of the rows than these. */
static void put_page(struct store_session *s, const struct log_slice *slice, int64_t until_id, int64_t limit)
{
    sql_puts(&s->sql, "(SELECT id FROM xxl_job_log WHERE ");
    put_range(s, slice);
    sql_put(&s->sql, " AND id > ?", slice->after_id);
    if (until_id > 0)
        sql_put(&s->sql, " AND id <= ?", until_id);
    sql_put(&s->sql, " ORDER BY id LIMIT ?) p", limit);
}

/* Where the slice's next page ends; 0: nowhere, it is the last one. */
static enum err query_page_end(struct store_session *s, const struct log_slice *slice, int64_t *last_id,
                               struct errctx *ec)
{
    store_start_limited(s, slice->limit_ms, "");
    sql_put(&s->sql, "IF(COUNT(*) = ?, MAX(p.id), 0) FROM ", slice->page_rows);
    put_page(s, slice, 0, slice->page_rows);
    return store_query_number(s, 0, last_id, ec);
}

static enum err query_planned(struct store_session *s, const struct log_slice *slice, int64_t until_id,
                              struct db_rows **out, struct errctx *ec)
{
    store_start_limited(s, slice->limit_ms,
                        "l.id, l.job_id, l.job_group, l.trigger_msg, l.executor_sharding_param, l.executor_address, "
                        "l.executor_handler, l.executor_param, l.executor_fail_retry_count FROM ");
    if (slice->page_rows > 0) {
        /* Twice the number: rows that came in between must not push others out. */
        put_page(s, slice, until_id, 2 * slice->page_rows);
        sql_puts(&s->sql, " STRAIGHT_JOIN xxl_job_log l ON l.id = p.id WHERE ");
    } else {
        sql_puts(&s->sql, "xxl_job_log l WHERE ");
        put_range(s, slice);
        sql_puts(&s->sql, " AND ");
    }
    sql_puts(&s->sql, OPEN_AND_MARKED);
    return store_query_sql(s, out, ec);
}

enum err store_load_planned(struct store_session *s, const struct log_slice *slice, struct fire **out, int64_t *last_id,
                            struct errctx *ec)
{
    struct fire *list = NULL;
    struct db_rows *rows = NULL;
    int64_t last = 0;
    /* A transaction, which nothing between sends to a replica: a row that is not seen here is never sent. */
    enum err e = store_begin_txn(s, ec);

    if (!e && slice->page_rows > 0)
        e = query_page_end(s, slice, &last, ec);
    if (!e)
        e = query_planned(s, slice, last, &rows, ec);
    while (!e && db_rows_next(rows)) {
        struct fire *f = NULL;

        e = read_row(slice, rows, &f, ec);
        if (f) {
            f->next = list;
            list = f;
        }
    }
    db_rows_destroy(rows);
    if (!e)
        e = store_load_own(s, &list, ec);
    store_end_txn(s);
    if (e) {
        fire_destroy_list(list);
        return err_wrap(ec, e, "look for planned fires due within %" PRId64 " s", slice->to_s - slice->from_s);
    }
    *out = list;
    *last_id = last;
    return ERR_OK;
}

/* ---- ending ------------------------------------------------------------------------------------------------ */

#define END_UNKNOWN                                                                                                    \
    "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = 500, trigger_msg = "                                  \
    "CONCAT(LEFT(trigger_msg, LOCATE('-->', trigger_msg) + 2), 'delivery unknown: the node that "                      \
    "was to send this went away; it may have reached its executor or not') WHERE id IN ("

/* The same statement for all ids, some at a time; then events of those that have ended by it, if any. */
static enum err change_some(struct store_session *s, const char *head, const char *tail, const int64_t *ids,
                            size_t count, int64_t *changed, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        struct db_effect effect = {0};
        e = store_exec(s, &effect, ec, "? ? ?", sql_word(head), sql_part(ids, count, at), sql_word(tail));
        *changed += effect.matched;
    }
    return e ? e : hook_put_runs(s, ids, count, ec);
}

enum err store_end_unsent(struct store_session *s, const char *condition, const int64_t *log_ids, size_t count,
                          size_t *ended, struct errctx *ec)
{
    int64_t changed = 0;
    enum err e = count > 0 ? store_begin_txn(s, ec) : ERR_OK;

    if (!e && count > 0)
        e = store_finish_txn(s, change_some(s, END_UNKNOWN, condition, log_ids, count, &changed, ec), ec);
    if (!e)
        *ended = (size_t)changed;
    return e;
}

enum err store_end_unknown(struct store_session *s, const int64_t *log_ids, size_t count, int64_t until_s,
                           size_t *ended, struct errctx *ec)
{
    char tail[250];

    /* As text: what is no number in a mark that a stranger wrote would be an error. */
    snprintf(tail, sizeof tail,
             ") AND %s AND LPAD(SUBSTRING_INDEX(SUBSTRING(trigger_msg, 10), ':', 1), 20, '0') <= "
             "'%020" PRId64 "'",
             OPEN_AND_MARKED, until_s);
    enum err e = store_end_unsent(s, tail, log_ids, count, ended, ec);
    return e ? err_wrap(ec, e, "end %zu fires of unknown delivery", count) : ERR_OK;
}

static enum err begin_under_epoch(struct store_session *s, int shard, int64_t epoch, struct errctx *ec)
{
    int64_t step;
    enum err e = store_begin_txn(s, ec);

    return e ? e : store_lock_shard(s, shard, epoch, &step, /*guards=*/NULL, ec);
}

enum err store_end_doubtful(struct store_session *s, int shard, int64_t epoch, const int64_t *log_ids, size_t count,
                            struct errctx *ec)
{
    int64_t changed = 0;
    enum err e = begin_under_epoch(s, shard, epoch, ec);

    if (!e)
        e = change_some(s,
                        "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = 500, trigger_msg = "
                        "CONCAT(LEFT(trigger_msg, LOCATE('-->', trigger_msg) + 2), 'delivery unknown: the guard "
                        "against Java admins was lost while this was planned; one of them may have sent it') "
                        "WHERE id IN (",
                        ") AND " OPEN_AND_MARKED, log_ids, count, &changed, ec);
    e = store_finish_txn(s, e, ec);
    return e ? err_wrap(ec, e, "end %zu fires that a Java admin may have sent", count) : ERR_OK;
}

enum err store_cancel_planned(struct store_session *s, int shard, int64_t epoch, const struct gone_fires *gone,
                              struct errctx *ec)
{
    int64_t changed = 0;
    enum err e = begin_under_epoch(s, shard, epoch, ec);

    /* The form for several tables, of one: the other form takes no index hint, and a scan would wait for rows of
     * others. */
    if (!e)
        e = change_some(s, "DELETE l FROM xxl_job_log l FORCE INDEX (PRIMARY) WHERE l.id IN (",
                        ") AND " OPEN_AND_MARKED, gone->ids, gone->count, &changed, ec);
    if (!e)
        e = change_some(s, END_UNKNOWN, ") AND " OPEN_AND_MARKED, gone->resent_ids, gone->resent_count, &changed, ec);
    e = store_finish_txn(s, e, ec);
    return e ? err_wrap(ec, e, "remove %zu planned fires of shard %d", gone->count + gone->resent_count, shard)
             : ERR_OK;
}
