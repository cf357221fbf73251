/* SPDX-License-Identifier: MIT */
/*
 * Rows of xxl_job_log that failed: finding them, and the transaction that deals with some.
 *
 * Nothing here relies on an index beyond the primary key and that of trigger_time, which every schema has: alarm_status
 * has none, and a condition on it over the whole table would read all of it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/conn/datetime.h"
#include "store/conn/rows.h"
#include "store/later/later.h"
#include "store/run/alarms.h"
#include "store/run/direct.h"
#include "shardwheel/store/plan.h"
#include "shardwheel/store/lost.h"
#include "shardwheel/store/run.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/job/words.h"

#define MESSAGE_MAX_BYTES 65535

/* ---- looking ----------------------------------------------------------------------------------------------- */

bool log_state_is_failed(const struct log_state *row)
{
    if (row->alarm_status != ALARM_OPEN || row->handle_code == CODE_OK)
        return false;
    return row->handle_code != CODE_OPEN || (row->trigger_code != CODE_OPEN && row->trigger_code != CODE_OK);
}

static bool read_mark(const struct store_session *s, const struct db_rows *row, void *item)
{
    struct log_state *state = item;
    struct fire mark = {0};

    (void)s;
    state->marked =
        fire_parse_mark(db_text(row, 3), &mark) || fire_parse_direct_mark(db_text(row, 3), &mark, state->incarnation);
    state->due_s = mark.due_s;
    return true;
}

static const struct row_type state_rows =
    ROWS_AND(struct log_state, read_mark, FIELDS(struct log_state, id, trigger_code, handle_code), SKIP,
             FIELDS(struct log_state, job_id));

/* The text is read of rows without a result alone: elsewhere it may lie on pages of its own. */
static struct sqlbuf *start_states(struct store_session *s)
{
    return store_start_sql(
        s, "SELECT id, trigger_code, handle_code, IF(trigger_code = 0, LEFT(trigger_msg, 100), NULL), job_id "
           "FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE handle_code <> 200 AND alarm_status = 0 "
           "AND id ");
}

enum err store_load_log_range(struct store_session *s, int64_t after_id, int64_t until_id, struct log_state **out,
                              size_t *count, struct errctx *ec)
{
    sql_put(start_states(s), "> ? AND id <= ? ORDER BY id", after_id, until_id);
    enum err e = store_read_array(s, &state_rows, out, count, ec);
    return e ? err_wrap(ec, e, "look at log rows %" PRId64 " to %" PRId64, after_id + 1, until_id) : ERR_OK;
}

enum err store_load_log_list(struct store_session *s, const int64_t *ids, size_t count, struct log_state **out,
                             size_t *out_count, struct errctx *ec)
{
    struct row_list list = {0};
    enum err e = ERR_OK;

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        sql_put(start_states(s), "IN (?) ORDER BY id", sql_part(ids, count, at));
        e = store_append_list(s, &state_rows, &list, ec);
    }
    e = store_end_array(&list, e, out, out_count);
    return e ? err_wrap(ec, e, "look at %zu log rows", count) : ERR_OK;
}

enum err store_load_log_bounds(struct store_session *s, int64_t from_s, int64_t *first_id, int64_t *last_id,
                               struct errctx *ec)
{
    char low[DATETIME_TEXT_MAX], high[DATETIME_TEXT_MAX];
    int64_t first = 0, last = 0;
    enum err e = store_number(s, 0, &last, ec, "SELECT MAX(id) FROM xxl_job_log");

    if (!e) {
        datetime_range(s->st->zone, from_s, from_s, low, high);
        e = store_number(s, last + 1, &first, ec,
                         "SELECT id FROM xxl_job_log WHERE trigger_time >= ? ORDER BY trigger_time, id LIMIT 1", low);
    }
    if (e)
        return err_wrap(ec, e, "read the ends of the log");
    *first_id = first;
    *last_id = last;
    return ERR_OK;
}

enum err store_find_next_log(struct store_session *s, int64_t after_id, int64_t *out, struct errctx *ec)
{
    enum err e = store_number(
        s, 0, out, ec, "SELECT id FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id > ? ORDER BY id LIMIT 1", after_id);

    return e ? err_wrap(ec, e, "find the log row after %" PRId64, after_id) : ERR_OK;
}

/* ---- a batch of failed rows -------------------------------------------------------------------------------- */

struct batch_memory {
    struct db_rows *logs; /* texts of the rows */
    int64_t *job_ids;     /* distinct, ascending */
    struct job_spec **jobs;
    struct job_facts {
        bool has_mail, group_exists;
        int64_t retry_wait_s, retry_wait_max_s;
    } * facts; /* of each job */
    size_t job_count;
};

void failed_batch_fini(struct failed_batch *batch)
{
    struct batch_memory *m = batch->memory;

    for (size_t i = 0; i < batch->count; i++)
        fire_destroy_list(batch->rows[i].retries);
    free(batch->rows);
    if (m) {
        for (size_t i = 0; m->jobs && i < m->job_count; i++)
            job_spec_unref(m->jobs[i]);
        db_rows_destroy(m->logs);
        free(m->job_ids);
        free(m->jobs);
        free(m->facts);
        free(m);
    }
    *batch = (struct failed_batch){0};
}

static int read_generation(const char *text)
{
    struct fire mark = {0};
    char incarnation[INCARNATION_MAX];

    return fire_parse_direct_mark(text, &mark, incarnation) || fire_parse_mark(text, &mark) ? mark.generation : 0;
}

static enum err lock_failed(struct store_session *s, const int64_t *ids, size_t count, struct failed_batch *batch,
                            struct errctx *ec)
{
    struct batch_memory *m = batch->memory;
    enum err e = store_query(
        s, &m->logs, ec,
        "SELECT id, trigger_code, handle_code, alarm_status, job_id, executor_fail_retry_count, executor_param, "
        "executor_sharding_param, LEFT(trigger_msg, 100), COALESCE(LEFT(handle_msg, 11) = '" LOST_MARK
        "', FALSE) FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (?) ORDER BY id FOR UPDATE",
        sql_list(ids, count));

    if (e)
        return e;
    batch->rows = calloc(db_rows_count(m->logs) + 1, sizeof *batch->rows);
    if (!batch->rows)
        return err_set(ec, ERR_NOMEM, "out of memory");
    while (db_rows_next(m->logs)) {
        const struct log_state state = {.id = db_int(m->logs, 0),
                                        .trigger_code = (int)db_int(m->logs, 1),
                                        .handle_code = (int)db_int(m->logs, 2),
                                        .alarm_status = (int)db_int(m->logs, 3)};
        if (!log_state_is_failed(&state))
            continue;
        int generation = read_generation(db_text(m->logs, 8));
        batch->rows[batch->count++] = (struct failed_row){
            .id = state.id,
            .job_id = db_int(m->logs, 4),
            .retries_left = (int)db_int(m->logs, 5),
            .param = db_text(m->logs, 6),
            .sharding = db_text(m->logs, 7),
            .generation = db_int(m->logs, 9) ? generation_add_lost(generation) : generation,
        };
    }
    return ERR_OK;
}

static enum err collect_jobs(struct failed_batch *batch, struct errctx *ec)
{
    struct batch_memory *m = batch->memory;

    m->job_ids = calloc(batch->count + 1, sizeof *m->job_ids);
    m->jobs = calloc(batch->count + 1, sizeof(struct job_spec *));
    m->facts = calloc(batch->count + 1, sizeof *m->facts);
    if (!m->job_ids || !m->jobs || !m->facts)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < batch->count; i++)
        m->job_ids[i] = batch->rows[i].job_id;
    m->job_count = sort_distinct(m->job_ids, batch->count);
    return ERR_OK;
}

/* Reads without locks: a job that is being changed or removed right now counts as what it was before. */
static enum err read_jobs(struct store_session *s, struct failed_batch *batch, struct errctx *ec)
{
    struct batch_memory *m = batch->memory;
    struct db_rows *rows = NULL;
    int64_t waits = 0, room = 0;
    enum err e = collect_jobs(batch, ec);

    if (!e)
        e = store_load_job_specs(s, m->job_ids, m->job_count, m->jobs, ec);
    if (e)
        return e;
    e = store_query(
        s, &rows, ec,
        "SELECT j.id, j.alarm_email, g.id, o.retry_wait_s, o.retry_wait_max_s FROM xxl_job_info j LEFT JOIN "
        "xxl_job_group g ON g.id = j.job_group LEFT JOIN shardwheel_job o ON o.job_id = j.id WHERE j.id IN (?)",
        sql_list(m->job_ids, m->job_count));
    while (!e && db_rows_next(rows)) {
        int64_t *at = list_find(m->job_ids, m->job_count, sizeof *m->job_ids, db_int(rows, 0));

        if (!at)
            continue;
        m->facts[at - m->job_ids] = (struct job_facts){!str_is_blank(db_text(rows, 1)), db_text(rows, 2) != NULL,
                                                       db_int(rows, 3), db_int(rows, 4)};
        waits += db_int(rows, 3) > 0;
    }
    db_rows_destroy(rows);
    if (!e && waits > 0)
        e = store_count_later_room(s, &room, ec);
    for (size_t i = 0; i < batch->count && !e; i++) {
        struct failed_row *row = &batch->rows[i];
        int64_t *at = list_find(m->job_ids, m->job_count, sizeof *m->job_ids, row->job_id);
        const struct job_facts *facts = &m->facts[at - m->job_ids];
        row->job = m->jobs[at - m->job_ids];
        row->has_mail = facts->has_mail;
        row->group_exists = facts->group_exists;
        if (room >= (int64_t)batch->count) {
            row->retry_wait_s = facts->retry_wait_s;
            row->retry_wait_max_s = facts->retry_wait_max_s;
        }
    }
    return e;
}

/* ---- writing ----------------------------------------------------------------------------------------------- */

static void say_sent(const struct failed_row *row, enum lang lang, struct buf *out)
{
    size_t more = 0;

    for (const struct fire *f = row->retries->next; f; f = f->next)
        more++;
    word_put(out, lang, WORD_RETRIED, (long long)row->retries->log_id, 0);
    if (more)
        word_put(out, lang, WORD_MORE, (long long)more, 0);
}

static void say_waiting(const struct zone *zone, const struct failed_row *row, enum lang lang, struct buf *out)
{
    char at[DATETIME_TEXT_MAX];

    datetime_format(zone, row->retry_at_s, at);
    buf_puts(out, word_get(lang, WORD_RETRY_AT));
    buf_puts(out, at);
}

/* There was room for as many as the batch has rows when its jobs were read. */
static enum err write_waits(struct store_session *s, const struct failed_batch *batch, struct errctx *ec)
{
    struct later_row *later = calloc(batch->count + 1, sizeof *later);
    size_t n = 0;
    enum err e;

    if (!later)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < batch->count; i++) {
        const struct failed_row *row = &batch->rows[i];

        if (!row->retries && row->retry_at_s)
            later[n++] = (struct later_row){.job_id = row->job_id,
                                            .due_s = row->retry_at_s,
                                            .original_due_s = row->retry_at_s,
                                            .kind = TRIGGER_RETRY,
                                            .param = row->param,
                                            .sharding = row->sharding,
                                            .retries_left = row->retries_left - 1,
                                            .generation = row->generation};
    }
    e = store_put_later(s, later, n, ec);
    free(later);
    return e;
}

/* Characters are cut off the end for the bytes that are too many: each has at least one. */
static enum err write_retried(struct store_session *s, const struct failed_row *row, struct errctx *ec)
{
    struct buf line = {0};
    struct sqlbuf *q;
    char link[40] = "";

    buf_puts(&line, "<br><br><span style=\"color:#00c0ef;\">");
    if (row->retries)
        say_sent(row, s->st->opts.lang, &line);
    else
        say_waiting(s->st->zone, row, s->st->opts.lang, &line);
    buf_puts(&line, "</span>");
    if (row->retries)
        fire_format_retry_link(row->retries->log_id, link);
    buf_puts(&line, link);
    if (buf_failed(&line)) {
        buf_fini(&line);
        return err_set(ec, ERR_NOMEM, "out of memory");
    }
    q = store_sql(s,
                  "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET alarm_status = ?, trigger_msg = "
                  "CONCAT(LEFT(COALESCE(trigger_msg, ''), CHAR_LENGTH(COALESCE(trigger_msg, '')) - "
                  "IF(LENGTH(COALESCE(trigger_msg, '')) > ?, LENGTH(COALESCE(trigger_msg, '')) - ?, 0)), ?",
                  row->alarm, MESSAGE_MAX_BYTES - (int64_t)line.len, MESSAGE_MAX_BYTES - (int64_t)line.len, line.data);
    buf_fini(&line);
    sql_put(q, ") WHERE id = ? AND alarm_status = 0", row->id);
    return store_exec_sql(s, NULL, ec);
}

/* Those of that status that were not retried, in one statement. */
static enum err write_status(struct store_session *s, const struct failed_batch *batch, enum alarm_status status,
                             struct errctx *ec)
{
    size_t n = 0;

    struct sqlbuf *q =
        store_sql(s, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET alarm_status = ? WHERE id IN (", status);
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->rows[i].retries || batch->rows[i].retry_at_s || batch->rows[i].alarm != status)
            continue;
        sql_puts(q, n++ ? "," : "");
        sql_int(q, batch->rows[i].id);
    }
    sql_puts(q, ") AND alarm_status = 0");
    return n ? store_exec_sql(s, NULL, ec) : ERR_OK;
}

static enum err write_batch(struct store_session *s, struct failed_batch *batch, const char *incarnation,
                            struct errctx *ec)
{
    static const enum alarm_status statuses[] = {ALARM_LOCKED, ALARM_NOT_NEEDED, ALARM_DONE, ALARM_FAILED};
    enum err e = write_waits(s, batch, ec);

    for (size_t i = 0; i < batch->count && !e; i++) {
        if (!batch->rows[i].retries && !batch->rows[i].retry_at_s)
            continue;
        if (batch->rows[i].retries)
            e = store_insert_direct(s, batch->rows[i].retries, incarnation, ec);
        if (!e)
            e = write_retried(s, &batch->rows[i], ec);
    }
    for (size_t i = 0; i < ARRAY_LEN(statuses) && !e; i++)
        e = write_status(s, batch, statuses[i], ec);
    return e;
}

enum err store_handle_failures(struct store_session *s, const int64_t *ids, size_t count, const char *incarnation,
                               enum err (*decide)(void *arg, struct failed_row *row, struct errctx *ec), void *arg,
                               struct failed_batch *out, struct errctx *ec)
{
    struct failed_batch batch = {.memory = calloc(1, sizeof(struct batch_memory))};
    enum err e = batch.memory ? store_begin_txn(s, ec) : err_set(ec, ERR_NOMEM, "out of memory");

    if (!e)
        e = lock_failed(s, ids, count, &batch, ec);
    if (!e && batch.count > 0) {
        e = read_jobs(s, &batch, ec);
        for (size_t i = 0; i < batch.count && !e; i++)
            e = decide(arg, &batch.rows[i], ec);
        const struct batch_memory *m = batch.memory;
        if (!e)
            e = store_note_failures(s, batch.rows, batch.count, m->job_ids, m->job_count, ec);
        if (!e)
            e = write_batch(s, &batch, incarnation, ec);
        if (!e)
            e = store_commit_txn(s, ec);
    }
    store_end_txn(s);
    if (e && e != ERR_UNKNOWN)
        failed_batch_fini(&batch);
    *out = batch;
    return e ? err_wrap(ec, e, "deal with %zu failed fires", count) : ERR_OK;
}

/* ---- a commit of unknown outcome ---------------------------------------------------------------------------- */

/* All or nothing was written, so one row tells: a retry's, by its mark, for ids may be given out again after a crash of
 * the server; without any, what became of the first failed row. */
static enum err find_trace(struct store_session *s, const struct failed_batch *batch, const char *incarnation,
                           bool *happened, struct errctx *ec)
{
    const struct fire *retry = NULL;
    int64_t found = 0;
    char mark[100];
    enum err e;

    for (size_t i = 0; i < batch->count && !retry; i++)
        retry = batch->rows[i].retries;
    struct sqlbuf *q = store_start_sql(s, "SELECT COUNT(*) FROM xxl_job_log WHERE id = ");
    if (retry) {
        fire_format_direct_mark(retry, incarnation, mark);
        sql_put(q, "? AND job_id = ? AND LEFT(trigger_msg, ?) = ?", retry->log_id, retry->job_id, (int64_t)strlen(mark),
                mark);
    } else {
        sql_put(q, "? AND alarm_status = ?", batch->rows[0].id, batch->rows[0].alarm);
    }
    e = store_query_number(s, 0, &found, ec);
    *happened = found > 0;
    return e;
}

enum err store_find_failures(struct store_session *s, const struct failed_batch *batch, const char *incarnation,
                             bool *happened, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_begin_txn(s, ec);

    *happened = false;
    if (!e && batch->count > 0)
        e = store_query(s, &rows, ec,
                        "SELECT id FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (?) ORDER BY id FOR UPDATE",
                        sql_each(batch->rows, batch->count, id));
    if (!e && batch->count > 0)
        e = find_trace(s, batch, incarnation, happened, ec);
    store_end_txn(s);
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "read back what became of %zu failed fires", batch->count) : ERR_OK;
}
