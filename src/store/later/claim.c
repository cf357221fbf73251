/* SPDX-License-Identifier: MIT */
/* Later rows that are planned: their rows of the log and what they say of them in one transaction, under the epoch of
 * the shard. Java admins know nothing of these rows, so no guard is asked for. */
#include "store/later/later.h"
#include "store/hook/put.h"
#include "store/plan/claim_impl.h"

#include <stdlib.h>

#define ADDRESS_MAX 255 /* characters of executor_address */
#define HELD_OPEN "trigger_code = 0 AND handle_code = 0 AND trigger_msg LIKE '" LATER_HELD_MARK "%'"

static bool is_planned(const struct later_claim *c)
{
    return c->done && c->fate == LATER_PLAN;
}

/* A fire that waited goes on with the row that it has. */
static bool goes_on(const struct later_claim *c)
{
    return is_planned(c) && c->row->log_id;
}

/* ---- locking ----------------------------------------------------------------------------------------------- */

static const char *lock_clause(bool skip_locked)
{
    return skip_locked ? " ORDER BY id FOR UPDATE SKIP LOCKED" : " ORDER BY id FOR UPDATE";
}

/* Passing locked rows by, one that is not there may be locked or gone: it counts as locked, and the next reading
 * tells. */
static enum err lock_rows(struct store_session *s, struct later_claim *claims, size_t count, bool skip_locked,
                          struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t i = 0;
    enum err e = store_query(s, &rows, ec,
                             "SELECT id FROM shardwheel_later FORCE INDEX (PRIMARY) WHERE id IN (?) AND planned = 0?",
                             sql_each_in(claims, count, row, id), sql_word(lock_clause(skip_locked)));

    for (size_t k = 0; k < count; k++)
        claims[k].locked = skip_locked;
    while (!e && db_rows_next(rows)) {
        while (i < count && claims[i].row->id < db_int(rows, 0))
            i++;
        if (i < count && claims[i].row->id == db_int(rows, 0))
            claims[i].done = true;
        if (i < count && claims[i].done)
            claims[i].locked = false;
    }
    db_rows_destroy(rows);
    return e;
}

/* Its row of the log is written. */
static bool needs_log(const struct later_claim *c)
{
    return c->done && c->row->log_id && c->fate != LATER_WAIT;
}

COMPARE_AT(compare_by_log, struct later_claim, row->log_id)

/* Rows of the log of these claims, in brackets behind IN. */
static void put_logs(struct sqlbuf *q, struct later_claim *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sql_put(q, "??", sql_word(i ? "," : "("), list[i]->row->log_id);
    sql_puts(q, ")");
}

/* Those of the list whose rows of the log wait come to its end; *count becomes the number of the others. By id. */
static enum err find_waiting(struct store_session *s, struct later_claim **list, size_t *count, const char *how,
                             struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t i = 0, kept = 0;
    struct sqlbuf *q = store_start_sql(s, "SELECT id FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN ");
    enum err e;

    put_logs(q, list, *count);
    sql_put(q, " AND " HELD_OPEN "?", sql_word(how));
    e = store_query_sql(s, &rows, ec);
    while (!e && db_rows_next(rows)) {
        while (i < *count && list[i]->row->log_id < db_int(rows, 0))
            list[kept++] = list[i++];
        while (i < *count && list[i]->row->log_id == db_int(rows, 0))
            i++;
    }
    while (i < *count)
        list[kept++] = list[i++];
    db_rows_destroy(rows);
    *count = kept;
    return e;
}

/* Rows of the log that wait are locked too; who has none there any more is dropped. What was passed by and still waits
 * when it is read without a lock is somebody's at this moment. */
static enum err lock_waiting(struct store_session *s, struct later_claim *claims, size_t count, bool skip_locked,
                             struct errctx *ec)
{
    struct later_claim **list = calloc(count + 1, sizeof(struct later_claim *));
    size_t n = 0, ended;
    enum err e = list ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    for (size_t i = 0; i < count && !e; i++)
        if (needs_log(&claims[i]))
            list[n++] = &claims[i];
    if (n > 0)
        qsort(list, n, sizeof(struct later_claim *), compare_by_log);
    if (!e && n > 0)
        e = find_waiting(s, list, &n, lock_clause(skip_locked), ec);
    for (size_t i = 0; i < n && !e && skip_locked; i++) {
        list[i]->locked = true;
        list[i]->done = false;
    }
    ended = n;
    if (!e && n > 0 && skip_locked)
        e = find_waiting(s, list, &ended, " ORDER BY id", ec);
    for (size_t i = 0; i < ended && !e; i++) {
        list[i]->fate = LATER_DROP;
        list[i]->done = true;
        list[i]->locked = false;
    }
    free(list);
    return e;
}

/* ---- rows of the log --------------------------------------------------------------------------------------- */

static enum err insert_all(struct store_session *s, struct later_claim *claims, size_t count, int64_t step,
                           struct errctx *ec)
{
    struct fire_row *rows;
    size_t n = 0;
    enum err e;

    for (size_t i = 0; i < count; i++)
        for (struct fire *f = claims[i].fires; f; f = f->next)
            n++;
    rows = calloc(n + 1, sizeof *rows);
    if (!rows)
        return err_set(ec, ERR_NOMEM, "out of memory");
    n = 0;
    for (size_t i = 0; i < count; i++)
        for (struct fire *f = is_planned(&claims[i]) ? claims[i].fires : NULL; f; f = f->next) {
            f->row_hash = f->job->row_hash;
            if (goes_on(&claims[i]) && f == claims[i].fires) {
                f->log_id = claims[i].row->log_id;
                f->row_hash = ~f->row_hash; /* the job may be another one by now: its result writes all columns */
            } else {
                rows[n++] = (struct fire_row){f, f->job->handler, f->job->param, f->job->retry_count, NULL};
            }
        }
    e = store_insert_rows(s, rows, n, /*incarnation=*/NULL, step, ec);
    free(rows);
    return e;
}

/* Those of the claims of which `is_one` is true, some at a time. */
static enum err write_some(struct store_session *s, struct later_claim *claims, size_t count,
                           bool (*is_one)(const struct later_claim *c),
                           enum err (*write)(struct store_session *s, struct later_claim *const *list, size_t count,
                                             struct errctx *ec),
                           struct errctx *ec)
{
    struct later_claim *list[STORE_CASE_MAX];
    size_t n = 0;
    enum err e = ERR_OK;

    for (size_t i = 0; i < count && !e; i++) {
        if (is_one(&claims[i]))
            list[n++] = &claims[i];
        if (n == STORE_CASE_MAX || (n > 0 && i + 1 == count)) {
            e = write(s, list, n, ec);
            n = 0;
        }
    }
    return e;
}

/* The rows of those that waited are planned ones again, of another second. */
static enum err plan_waiting(struct store_session *s, struct later_claim *const *list, size_t count, struct errctx *ec)
{
    struct sqlbuf *q = store_start_sql(s, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_time = CASE id");
    char mark[100];

    for (size_t i = 0; i < count; i++)
        sql_put(q, " WHEN ? THEN ?", list[i]->row->log_id, sql_time(s->st->zone, list[i]->fires->due_s));
    sql_puts(q, " ELSE trigger_time END, trigger_msg = CASE id");
    for (size_t i = 0; i < count; i++) {
        fire_format_mark(list[i]->fires, mark);
        sql_put(q, " WHEN ? THEN ?", list[i]->row->log_id, mark);
    }
    sql_puts(q, " ELSE trigger_msg END, executor_address = CASE id");
    for (size_t i = 0; i < count; i++)
        sql_put(q, " WHEN ? THEN ?", list[i]->row->log_id,
                sql_fitted(list[i]->fires->address, ADDRESS_MAX, TEXT_AS_IS));
    sql_puts(q, " ELSE executor_address END WHERE id IN ");
    put_logs(q, list, count);
    return store_exec_sql(s, NULL, ec);
}

/* ---- later rows -------------------------------------------------------------------------------------------- */

static void put_ids(struct sqlbuf *q, struct later_claim *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sql_put(q, "??", sql_word(i ? "," : "("), list[i]->row->id);
    sql_puts(q, ")");
}

static enum err write_planned(struct store_session *s, struct later_claim *const *list, size_t count, struct errctx *ec)
{
    struct sqlbuf *q =
        store_start_sql(s, "UPDATE shardwheel_later FORCE INDEX (PRIMARY) SET planned = 1, log_id = CASE id");

    for (size_t i = 0; i < count; i++)
        sql_put(q, " WHEN ? THEN ?", list[i]->row->id, list[i]->fires->log_id);
    sql_puts(q, " ELSE log_id END WHERE id IN ");
    put_ids(q, list, count);
    return store_exec_sql(s, NULL, ec);
}

/* The parts of a broadcast: the row becomes the first one's, and each of the others gets one like it. */
static enum err write_parts(struct store_session *s, const struct later_claim *c, struct errctx *ec)
{
    enum err e = store_exec(s, NULL, ec, "UPDATE shardwheel_later SET sharding = '?/?' WHERE id = ?",
                            c->fires->shard_index, c->fires->shard_total, c->row->id);

    for (const struct fire *f = c->fires->next; f && !e; f = f->next)
        e = store_exec(s, NULL, ec,
                       "INSERT INTO shardwheel_later (planned, due_s, job_id, kind, param, addresses, sharding, "
                       "retries_left, generation, original_due_s, hold_until_s, log_id) SELECT 1, due_s, job_id, kind, "
                       "param, addresses, '?/?', retries_left, generation, original_due_s, hold_until_s, ? FROM "
                       "shardwheel_later WHERE id = ?",
                       f->shard_index, f->shard_total, f->log_id, c->row->id);
    return e;
}

static bool waits(const struct later_claim *c)
{
    return c->done && c->fate == LATER_WAIT;
}

static enum err write_waiting(struct store_session *s, struct later_claim *const *list, size_t count, struct errctx *ec)
{
    struct sqlbuf *q = store_start_sql(s, "UPDATE shardwheel_later FORCE INDEX (PRIMARY) SET due_s = CASE id");

    for (size_t i = 0; i < count; i++)
        sql_put(q, " WHEN ? THEN ?", list[i]->row->id, list[i]->again_s);
    sql_puts(q, " ELSE due_s END WHERE id IN ");
    put_ids(q, list, count);
    return store_exec_sql(s, NULL, ec);
}

static enum err write_dropped(struct store_session *s, const struct later_claim *claims, size_t count,
                              struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < count && !e; i++) {
        const struct later_claim *c = &claims[i];

        if (!c->done || c->fate != LATER_DROP)
            continue;
        if (c->row->log_id)
            e = store_exec(s, NULL, ec,
                           "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = 500, alarm_status = 1, "
                           "trigger_msg = CONCAT(trigger_msg, '<br>', ?) WHERE id = ? AND " HELD_OPEN,
                           c->why ? c->why : "", c->row->log_id);
        if (!e && c->row->log_id)
            e = hook_put_runs(s, &c->row->log_id, 1, ec);
        if (!e)
            e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_later WHERE id = ?", c->row->id);
    }
    return e;
}

/* ---- the transaction --------------------------------------------------------------------------------------- */

static enum err claim_in_txn(struct store_session *s, int shard, int64_t epoch, struct later_claim *claims,
                             size_t count, bool skip_locked, struct errctx *ec)
{
    int64_t step = 1;
    enum err e = store_lock_shard(s, shard, epoch, &step, /*guards=*/NULL, ec);

    if (!e)
        e = lock_rows(s, claims, count, skip_locked, ec);
    if (!e)
        e = lock_waiting(s, claims, count, skip_locked, ec);
    if (!e)
        e = insert_all(s, claims, count, step, ec);
    if (!e)
        e = write_some(s, claims, count, goes_on, plan_waiting, ec);
    if (!e)
        e = write_some(s, claims, count, is_planned, write_planned, ec);
    for (size_t i = 0; i < count && !e; i++)
        if (is_planned(&claims[i]) && claims[i].fires->next)
            e = write_parts(s, &claims[i], ec);
    if (!e)
        e = write_some(s, claims, count, waits, write_waiting, ec);
    if (!e)
        e = write_dropped(s, claims, count, ec);
    return e ? e : store_commit_txn(s, ec);
}

enum err store_claim_later(struct store_session *s, int shard, int64_t epoch, struct later_claim *claims, size_t count,
                           struct errctx *ec)
{
    bool skip_locked = store_features(s)->skip_locked;
    enum err e = store_begin_txn(s, ec);

    for (size_t i = 0; i < count; i++)
        claims[i].done = claims[i].locked = false;
    if (!e)
        e = claim_in_txn(s, shard, epoch, claims, count, skip_locked, ec);
    store_end_txn(s);
    for (size_t i = 0; i < count && e; i++)
        claims[i].done = false;
    return e ? err_wrap(ec, e, "claim %zu later rows of shard %d", count, shard) : ERR_OK;
}

/* ---- after a commit of unknown outcome ---------------------------------------------------------------------- */

/* Under our epoch nobody else plans these rows. One that is planned as another log is what a restart of the server made
 * of ids that were given and not committed: not ours. */
static enum err find_planned(struct store_session *s, struct later_claim *claims, size_t count, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t i = 0;
    enum err e = store_query(
        s, &rows, ec,
        "SELECT id, log_id FROM shardwheel_later FORCE INDEX (PRIMARY) WHERE id IN (?) AND planned = 1 ORDER BY id",
        sql_each_in(claims, count, row, id));

    while (!e && db_rows_next(rows)) {
        while (i < count && claims[i].row->id < db_int(rows, 0))
            i++;
        if (i < count && claims[i].row->id == db_int(rows, 0) && claims[i].fate == LATER_PLAN &&
            claims[i].fires->log_id == db_int(rows, 1))
            claims[i].done = true;
    }
    db_rows_destroy(rows);
    return e;
}

enum err store_find_later_claimed(struct store_session *s, int shard, int64_t epoch, struct later_claim *claims,
                                  size_t count, struct errctx *ec)
{
    int64_t step;
    enum err e = store_begin_txn(s, ec);

    for (size_t i = 0; i < count; i++)
        claims[i].done = false;
    if (!e)
        e = store_lock_shard(s, shard, epoch, &step, /*guards=*/NULL, ec);
    if (!e)
        e = find_planned(s, claims, count, ec);
    if (!e)
        e = store_end_reading_back(s, ec);
    store_end_txn(s);
    return e ? err_wrap(ec, e, "read back %zu later rows of shard %d", count, shard) : ERR_OK;
}
