/* SPDX-License-Identifier: MIT */
/* The writing half of a claim: many jobs and many rows in few statements. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/conn/grouped.h"
#include "store/plan/claim_impl.h"

/* ---- jobs in groups ---------------------------------------------------------------------------------------- */

struct member {
    const struct claim_job *claim;
    size_t at; /* its place in the claim */
};

/* What the statements of a claim tell. */
struct advance {
    enum claim_state *state;
    bool refuted; /* a job is not what was read */
};

/* 0: one statement advances both. */
static int compare_groups(const void *a, const void *b)
{
    const struct claim_job *x = ((const struct member *)a)->claim, *y = ((const struct member *)b)->claim;
    int c;

    if ((c = compare_numbers(x->job->next_ms, y->job->next_ms)) != 0)
        return c;
    if ((c = compare_numbers(x->new_next_ms, y->new_next_ms)) != 0)
        return c;
    if ((c = strcmp(x->job->schedule_type, y->job->schedule_type)) != 0)
        return c;
    return strcmp(x->job->schedule_conf, y->job->schedule_conf);
}

static int compare_members(const void *a, const void *b)
{
    const struct member *x = *(const struct member *const *)a, *y = *(const struct member *const *)b;
    int c = compare_groups(x, y);

    return c ? c : compare_numbers(x->at, y->at);
}

/* As strcmp would: the collation of the column takes "a" for "A" and drops trailing blanks. */
static void put_equal_bytes(struct sqlbuf *q, const char *column, const char *text)
{
    sql_put(q, " AND CAST(CONVERT(? USING utf8mb4) AS BINARY) = ?", sql_word(column), text);
}

static enum err write_group(struct store_session *s, const void *const *rows, size_t count, struct fitting how,
                            void *arg, struct errctx *ec)
{
    const struct member *const *members = (const struct member *const *)rows;
    const struct claim_job *first = members[0]->claim;
    int64_t ids[STORE_LIST_MAX];
    struct db_effect effect = {0};
    struct advance *advance = arg;
    enum err e;

    (void)how;
    for (size_t i = 0; i < count; i++) {
        ids[i] = members[i]->claim->job->id;
        advance->state[members[i]->at] = CLAIM_ADVANCED;
    }
    struct sqlbuf *q = store_sql(s,
                                 "UPDATE xxl_job_info FORCE INDEX (PRIMARY) SET trigger_last_time = ?, "
                                 "trigger_next_time = ? WHERE id IN (?) AND "
                                 "trigger_status = 1 AND trigger_next_time = ?",
                                 first->job->next_ms, first->new_next_ms, sql_list(ids, count), first->job->next_ms);
    put_equal_bytes(q, "schedule_type", first->job->schedule_type);
    put_equal_bytes(q, "schedule_conf", first->job->schedule_conf);
    e = store_exec_sql(s, &effect, ec);
    if (e || effect.matched == (int64_t)count)
        return e;
    advance->refuted = true;
    return err_set(ec, ERR_CONFLICT, "a job of the claim is not what was read");
}

/* The groups lock jobs in no order of their ids. They may: claims of one shard come one by one, behind the lock of its
 * row, those of two shards have no job in common, and nobody else locks more than one job in a transaction. */
enum err store_advance_groups(struct store_session *s, const struct claim_job *jobs, enum claim_state *state,
                              size_t count, bool *refuted, struct errctx *ec)
{
    static const struct grouped how = {.compare = compare_groups, .equal = write_group};
    struct member *members = calloc(count + 1, sizeof *members);
    const void **rows = calloc(count + 1, sizeof(void *));
    struct advance advance = {.state = state};
    size_t n = 0;
    enum err e = ERR_OK;

    if (!members || !rows)
        e = err_set(ec, ERR_NOMEM, "out of memory");
    /* An empty text may stand for NULL, which equals nothing. */
    for (size_t i = 0; i < count && !e; i++) {
        if (jobs[i].stop || jobs[i].keeps_last || !jobs[i].job->schedule_type[0] || !jobs[i].job->schedule_conf[0])
            continue;
        members[n] = (struct member){&jobs[i], i};
        rows[n] = &members[n];
        n++;
    }
    if (!e) {
        qsort(rows, n, sizeof *rows, compare_members);
        e = store_write_grouped(s, &how, rows, n, &advance, ec);
    }
    *refuted = advance.refuted;
    free(rows);
    free(members);
    return advance.refuted ? ERR_OK : e;
}

/* ---- jobs that are locked ---------------------------------------------------------------------------------- */

struct step {
    int64_t next_ms; /* 0 and stop: the job is stopped */
    int64_t id;
    bool stop;
    bool keeps_last;
};

static int compare_values(const void *a, const void *b)
{
    const struct step *x = a, *y = b;

    if (x->stop != y->stop)
        return x->stop ? -1 : 1;
    if (x->keeps_last != y->keeps_last)
        return x->keeps_last ? -1 : 1;
    return compare_numbers(x->next_ms, y->next_ms);
}

static int compare_steps(const void *a, const void *b)
{
    const struct step *x = *(const struct step *const *)a, *y = *(const struct step *const *)b;
    int c = compare_values(x, y);

    return c ? c : compare_numbers(x->id, y->id);
}

static bool is_special(const void *row)
{
    const struct step *step = row;

    return step->stop || step->keeps_last;
}

/* The statement must find every row: they are locked, so a difference means that the table is not what we think. */
static enum err exec_on_all(struct store_session *s, size_t count, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_exec_sql(s, &effect, ec);

    if (!e && effect.matched != (int64_t)count)
        e = err_set(ec, ERR_CONFLICT, "%" PRId64 " of %zu locked jobs were found", effect.matched, count);
    return e;
}

static enum err write_equal(struct store_session *s, const void *const *rows, size_t count, struct fitting how,
                            void *arg, struct errctx *ec)
{
    const struct step *const *steps = (const struct step *const *)rows;
    struct sqlbuf *q = store_start_sql(s, "UPDATE xxl_job_info FORCE INDEX (PRIMARY) SET ");

    (void)how, (void)arg;
    if (steps[0]->stop) {
        sql_puts(q, "trigger_status = 0, trigger_last_time = 0, trigger_next_time = 0");
    } else {
        sql_puts(q, steps[0]->keeps_last ? "" : "trigger_last_time = trigger_next_time, ");
        sql_put(q, "trigger_next_time = ?", steps[0]->next_ms);
    }
    sql_put(q, " WHERE id IN (?)", sql_each_at(steps, count, id));
    return exec_on_all(s, count, ec);
}

static enum err write_different(struct store_session *s, const void *const *rows, size_t count, void *arg,
                                struct errctx *ec)
{
    const struct step *const *steps = (const struct step *const *)rows;
    struct sqlbuf *q = store_start_sql(s, "UPDATE xxl_job_info FORCE INDEX (PRIMARY) SET trigger_last_time = "
                                          "trigger_next_time, trigger_next_time = CASE id");

    (void)arg;
    for (size_t i = 0; i < count; i++)
        sql_put(q, " WHEN ? THEN ?", steps[i]->id, steps[i]->next_ms);
    sql_put(q, " ELSE trigger_next_time END WHERE id IN (?)", sql_each_at(steps, count, id));
    return exec_on_all(s, count, ec);
}

enum err store_advance_claimed(struct store_session *s, const struct claim_job *jobs, const enum claim_state *state,
                               size_t count, struct errctx *ec)
{
    static const struct grouped how = {
        .compare = compare_values, .is_apart = is_special, .equal = write_equal, .different = write_different};
    struct step *steps = calloc(count + 1, sizeof *steps);
    const void **rows = calloc(count + 1, sizeof(void *));
    size_t n = 0;
    enum err e = ERR_NOMEM;

    if (!steps || !rows) {
        err_set(ec, ERR_NOMEM, "out of memory");
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        if (state[i] != CLAIM_SAME)
            continue;
        steps[n] = (struct step){.next_ms = jobs[i].stop ? 0 : jobs[i].new_next_ms,
                                 .id = jobs[i].job->id,
                                 .stop = jobs[i].stop,
                                 .keeps_last = jobs[i].keeps_last};
        rows[n] = &steps[n];
        n++;
    }
    qsort(rows, n, sizeof *rows, compare_steps);
    e = store_write_grouped(s, &how, rows, n, NULL, ec);
out:
    free(rows);
    free(steps);
    return e;
}

/* ---- fires ------------------------------------------------------------------------------------------------- */

/* Fits in trigger_msg, whatever the characters. */
#define MESSAGE_CUT_CHARS 15000

static const char fire_columns[] =
    "INSERT INTO xxl_job_log (job_group, job_id, executor_address, executor_handler, executor_param, "
    "executor_sharding_param, executor_fail_retry_count, trigger_time, trigger_code, trigger_msg, handle_code, "
    "alarm_status) VALUES ";

/* The mark alone for a NULL message. One literal: the server takes long to join several. */
static void put_message(struct sqlbuf *q, const char *mark, const char *message, struct fitting how)
{
    struct buf text = {0};

    if (!message) {
        sql_text(q, mark);
        return;
    }
    buf_puts(&text, mark);
    buf_puts(&text, message);
    buf_puts(&text, STORE_SLACK);
    sql_take_text(q, &text, how.cut ? MESSAGE_CUT_CHARS : SIZE_MAX, how.fit);
}

static void put_row(struct store_session *s, const struct fire_row *row, const char *incarnation, struct fitting how)
{
    const struct fire *f = row->fire;
    struct sqlbuf *q = &s->sql;
    char mark[100];

    if (incarnation)
        fire_format_direct_mark(f, incarnation, mark);
    else
        fire_format_mark(f, mark);
    sql_put(q, "(?,?,?,?,?", f->group, f->job_id, sql_fitted(f->address, how.cut ? 255 : SIZE_MAX, how.fit),
            sql_fitted(row->handler, how.cut ? 255 : SIZE_MAX, how.fit),
            sql_fitted(row->param, how.cut ? 512 : SIZE_MAX, how.fit));
    if (f->broadcast)
        sql_put(q, ",'?/?',", f->shard_index, f->shard_total);
    else
        sql_puts(q, ",NULL,");
    sql_put(q, "?,?,0,", row->retry_count, sql_time(s->st->zone, f->due_s));
    put_message(q, mark, f->written_ahead ? row->message ? row->message : "" : NULL, how);
    sql_puts(q, ",0,0)");
}

/* Behind an INSERT of several rows: on a Galera cluster `step` changes with its members. ERR_CONFLICT: it has, the ids
 * are not known, and the transaction is to be rolled back. */
static enum err check_step(struct store_session *s, int64_t step, struct errctx *ec)
{
    int64_t now;
    enum err e;

    if (!db_is_galera(s->db))
        return ERR_OK;
    e = store_number(s, 0, &now, ec, "SELECT @@auto_increment_increment");
    if (e || now == step)
        return e;
    return err_set(ec, ERR_CONFLICT, "the ids of one INSERT are %" PRId64 " apart by now, and were %" PRId64, now,
                   step);
}

static enum err exec_insert(struct store_session *s, const struct fire_row *rows, size_t count, int64_t step,
                            struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_exec_sql(s, &effect, ec);

    if (e)
        return e;
    /* One INSERT of many rows gets its ids in one piece. */
    for (size_t i = 0; i < count; i++)
        rows[i].fire->log_id = effect.first_id + (int64_t)i * step;
    return count > 1 ? check_step(s, step, ec) : ERR_OK;
}

/* Something in the batch does not fit its column: row by row, each changed no more than it needs. */
static enum err insert_singly(struct store_session *s, const struct fire_row *rows, size_t count,
                              const char *incarnation, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < count && !e; i++) {
        struct fitting how = {TEXT_AS_IS, false};

        do {
            store_start_sql(s, fire_columns);
            put_row(s, &rows[i], incarnation, how);
            e = exec_insert(s, &rows[i], 1, 0, ec);
        } while (e && store_fit_more(s, &how));
    }
    return e;
}

enum err store_insert_rows(struct store_session *s, const struct fire_row *rows, size_t count, const char *incarnation,
                           int64_t step, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0, end = 0; at < count && !e; at = end) {
        store_start_sql(s, fire_columns);
        do {
            sql_puts(&s->sql, end == at ? "" : ",");
            put_row(s, &rows[end], incarnation, (struct fitting){TEXT_AS_IS, false});
            end++;
        } while (end < count && !store_is_sql_long(s));
        e = exec_insert(s, rows + at, end - at, step, ec);
        if (e && store_has_data_error(s))
            e = insert_singly(s, rows + at, end - at, incarnation, ec);
    }
    return e;
}

enum err store_insert_fires(struct store_session *s, struct claim_job *jobs, const enum claim_state *state,
                            size_t count, int64_t step, struct errctx *ec)
{
    struct fire_row *rows;
    size_t n = 0, at = 0;
    enum err e;

    for (size_t i = 0; i < count; i++)
        for (struct fire *f = state[i] != CLAIM_OTHER ? jobs[i].fires : NULL; f; f = f->next)
            n++;
    if (n == 0)
        return ERR_OK;
    rows = calloc(n, sizeof *rows);
    if (!rows)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const struct job_due *job = jobs[i].job;
        for (struct fire *f = state[i] != CLAIM_OTHER ? jobs[i].fires : NULL; f; f = f->next) {
            f->row_hash = fire_row_hash(f->group, job->handler, job->param, job->retry_count);
            rows[at++] = (struct fire_row){f, job->handler, job->param, job->retry_count,
                                           f->message ? f->message : jobs[i].message};
        }
    }
    e = store_insert_rows(s, rows, n, /*incarnation=*/NULL, step, ec);
    free(rows);
    return e;
}
