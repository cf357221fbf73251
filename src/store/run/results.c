/* SPDX-License-Identifier: MIT */
/* What came of dispatches, many at a time. Rows of equal values share a statement; single ones go by CASE. */
#include <stdlib.h>
#include <string.h>

#include "store/conn/grouped.h"
#include "store/hook/put.h"
#include "store/conn/session.h"
#include "store/later/later.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/store/run.h"

/* trigger_msg holds 65,535 bytes, and the mark comes first. */
#define MESSAGE_MAX_BYTES (65535 - 200)

static int compare_or_null(const char *a, const char *b)
{
    if (!a || !b)
        return (a != NULL) - (b != NULL);
    return a == b ? 0 : strcmp(a, b);
}

static int compare_values(const void *a, const void *b)
{
    const struct fire_result *x = a, *y = b;
    int c;

    if (x->write_job != y->write_job)
        return x->write_job - y->write_job;
    if (x->code != y->code)
        return compare_numbers(x->code, y->code);
    if ((c = compare_or_null(x->address, y->address)) != 0)
        return c;
    if ((c = compare_or_null(x->message, y->message)) != 0 || !x->write_job)
        return c;
    if (x->group != y->group)
        return compare_numbers(x->group, y->group);
    if (x->retry_count != y->retry_count)
        return compare_numbers(x->retry_count, y->retry_count);
    if ((c = compare_or_null(x->handler, y->handler)) != 0)
        return c;
    if ((c = compare_or_null(x->param, y->param)) != 0)
        return c;
    return compare_or_null(x->sharding, y->sharding);
}

COMPARE_AT(compare_ids, struct fire_result, log_id)

static int compare_results(const void *a, const void *b)
{
    int c = compare_values(*(const struct fire_result *const *)a, *(const struct fire_result *const *)b);

    return c ? c : compare_ids(a, b);
}

/* ---- statements -------------------------------------------------------------------------------------------- */

static void put_message(struct sqlbuf *q, const struct fire_result *r, struct fitting how)
{
    const char *message = r->message ? r->message : "";

    if (strlen(message) <= MESSAGE_MAX_BYTES) {
        sql_text_fitted(q, message, SIZE_MAX, how.fit);
        return;
    }
    char *head = strndup(message, sql_cut_text(message, SIZE_MAX, MESSAGE_MAX_BYTES));
    if (!head)
        q->text.failed = true;
    else
        sql_text_fitted(q, head, SIZE_MAX, how.fit);
    free(head);
}

/* The mark stays at the head of the message; a row that has none, by whatever way, is given the message alone. */
static void put_message_head(struct sqlbuf *q)
{
    sql_puts(q, ", trigger_msg = CONCAT(IF(trigger_msg LIKE '<!--sw:%-->%', "
                "LEFT(trigger_msg, LOCATE('-->', trigger_msg) + 2), ''), ");
}

/* Where nobody wrote a result. A callback that came first left the one that was planned: a delivery knows better, as
 * long as no line about a retry is in its text. */
static void put_tail(struct sqlbuf *q, const struct fire_result *const *rows, size_t count)
{
    int64_t others[STORE_LIST_MAX];
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (rows[i]->code != CODE_OK)
            others[n++] = rows[i]->log_id;
    sql_put(q, " WHERE id IN (?) AND (trigger_code = 0", sql_each_at(rows, count, log_id));
    if (n < count)
        sql_puts(q, " OR (trigger_code = 200 AND handle_time IS NOT NULL AND alarm_status = 0");
    if (n > 0 && n < count)
        sql_put(q, " AND id NOT IN (?)", sql_list(others, n));
    sql_puts(q, n < count ? "))" : ")");
}

static enum err write_equal(struct store_session *s, const void *const *rows, size_t count, struct fitting how,
                            void *arg, struct errctx *ec)
{
    const struct fire_result *r = rows[0];
    struct sqlbuf *q =
        store_sql(s, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = ?, executor_address = ?", r->code,
                  sql_fitted(r->address, 255, how.fit));

    (void)arg;
    put_message_head(q);
    put_message(q, r, how);
    sql_puts(q, ")");
    if (r->write_job)
        sql_put(q,
                ", job_group = ?, executor_handler = ?, executor_param = ?, executor_fail_retry_count = ?, "
                "executor_sharding_param = ?",
                r->group, sql_fitted(r->handler, how.cut ? 255 : SIZE_MAX, how.fit),
                sql_fitted(r->param, how.cut ? 512 : SIZE_MAX, how.fit), r->retry_count, sql_or_null(r->sharding));
    put_tail(q, (const struct fire_result *const *)rows, count);
    return store_exec_sql(s, NULL, ec);
}

/* Without the columns of write_job. */
static enum err write_different(struct store_session *s, const void *const *items, size_t count, void *arg,
                                struct errctx *ec)
{
    const struct fire_result *const *rows = (const struct fire_result *const *)items;
    struct sqlbuf *q = store_start_sql(s, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = CASE id");
    const struct fitting as_is = {TEXT_AS_IS, false};

    (void)arg;
    for (size_t i = 0; i < count; i++)
        sql_put(q, " WHEN ? THEN ?", rows[i]->log_id, rows[i]->code);
    sql_puts(q, " ELSE trigger_code END, executor_address = CASE id");
    for (size_t i = 0; i < count; i++)
        sql_put(q, " WHEN ? THEN ?", rows[i]->log_id, sql_fitted(rows[i]->address, 255, TEXT_AS_IS));
    sql_puts(q, " ELSE NULL END");
    put_message_head(q);
    sql_puts(q, "CASE id");
    for (size_t i = 0; i < count; i++) {
        sql_put(q, " WHEN ? THEN ", rows[i]->log_id);
        put_message(q, rows[i], as_is);
    }
    sql_puts(q, " ELSE '' END)");
    put_tail(q, rows, count);
    return store_exec_sql(s, NULL, ec);
}

/* ---- batches ----------------------------------------------------------------------------------------------- */

static size_t measure_message(const void *row)
{
    const char *message = ((const struct fire_result *)row)->message;

    return message ? strlen(message) : 0;
}

static bool is_apart(const void *row)
{
    return ((const struct fire_result *)row)->write_job;
}

/* Rows that need their code alone: by ascending ids, so they need not be locked first. `ids` has room for count. */
static enum err write_codes(struct store_session *s, const struct fire_result **rows, size_t count, int64_t *ids,
                            struct errctx *ec)
{
    enum err e = ERR_OK;

    qsort(rows, count, sizeof(struct fire_result *), compare_ids);
    for (size_t at = 0, n; at < count && !e; at += n) {
        for (n = 0; n < STORE_LIST_MAX && at + n < count && rows[at + n]->code == rows[at]->code; n++)
            ids[n] = rows[at + n]->log_id;
        struct sqlbuf *q =
            store_sql(s, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = ? WHERE ", rows[at]->code);
        sql_id_among(q, ids, n);
        sql_puts(q, " AND trigger_code = 0");
        e = store_exec_sql(s, NULL, ec);
    }
    return e;
}

/* All columns; locks the rows first, since statements go by values and not by ids. `ids` has room for count. */
static enum err write_whole(struct store_session *s, const struct fire_result **rows, size_t count, int64_t *ids,
                            struct errctx *ec)
{
    static const struct grouped how = {.compare = compare_values,
                                       .is_apart = is_apart,
                                       .equal = write_equal,
                                       .different = write_different,
                                       .measure = measure_message};
    enum err e;

    for (size_t i = 0; i < count; i++)
        ids[i] = rows[i]->log_id;
    qsort(rows, count, sizeof(struct fire_result *), compare_results);
    qsort(ids, count, sizeof *ids, compare_int64);
    e = store_lock_logs(s, ids, count, ec);
    return e ? e : store_write_grouped(s, &how, (const void **)rows, count, NULL, ec);
}

/* What was not delivered has ended. `ids` has room for count. */
static enum err put_events(struct store_session *s, const struct fire_result **rows, size_t count, int64_t *ids,
                           struct errctx *ec)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        if (rows[i]->code != CODE_OK)
            ids[n++] = rows[i]->log_id;
    return hook_put_runs(s, ids, n, ec);
}

/* One transaction of its own for each of the two kinds: together they would lock rows in no order. */
static enum err write_kind(struct store_session *s, const struct fire_result **rows, size_t count, int64_t *ids,
                           bool as_planned, struct errctx *ec)
{
    enum err e = count > 0 ? store_begin_txn(s, ec) : ERR_OK;

    if (e || count == 0)
        return e;
    e = as_planned ? write_codes(s, rows, count, ids, ec) : write_whole(s, rows, count, ids, ec);
    if (!e)
        e = put_events(s, rows, count, ids, ec);
    return store_finish_txn(s, e, ec);
}

enum err store_write_results(struct store_session *s, const struct fire_result *results, size_t count,
                             struct errctx *ec)
{
    const struct fire_result **rows = calloc(count + 1, sizeof(struct fire_result *));
    int64_t *ids = calloc(count + 1, sizeof *ids);
    size_t planned = 0, others = count;
    enum err e = ERR_NOMEM;

    if (!rows || !ids) {
        err_set(ec, ERR_NOMEM, "out of memory");
        goto out;
    }
    for (size_t i = 0; i < count; i++)
        rows[results[i].as_planned ? planned++ : --others] = &results[i];
    others = count - planned;
    e = store_hold_fires(s, rows + planned, &others, ec);
    if (!e)
        e = write_kind(s, rows, planned, ids, /*as_planned=*/true, ec);
    if (!e)
        e = write_kind(s, rows + planned, others, ids, /*as_planned=*/false, ec);
out:
    free(rows);
    free(ids);
    return e ? err_wrap(ec, e, "write %zu dispatch results", count) : ERR_OK;
}
