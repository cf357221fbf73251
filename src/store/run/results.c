/* SPDX-License-Identifier: MIT */
/* What came of dispatches, many at a time. Rows of equal values share a statement; single ones go by CASE. */
#include <stdlib.h>
#include <string.h>

#include "store/conn/grouped.h"
#include "store/conn/session.h"
#include "store/later/later.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/store/run.h"

/* trigger_msg holds 65,535 bytes, and the mark comes first. */
#define MESSAGE_MAX_BYTES (65535 - 200)

static int compare_texts(const char *a, const char *b)
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
        return x->code < y->code ? -1 : 1;
    if ((c = compare_texts(x->address, y->address)) != 0)
        return c;
    if ((c = compare_texts(x->message, y->message)) != 0 || !x->write_job)
        return c;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->retry_count != y->retry_count)
        return x->retry_count < y->retry_count ? -1 : 1;
    if ((c = compare_texts(x->handler, y->handler)) != 0)
        return c;
    if ((c = compare_texts(x->param, y->param)) != 0)
        return c;
    return compare_texts(x->sharding, y->sharding);
}

static int compare_results(const void *a, const void *b)
{
    const struct fire_result *x = *(const struct fire_result *const *)a, *y = *(const struct fire_result *const *)b;
    int c = compare_values(x, y);

    return c ? c : x->log_id < y->log_id ? -1 : x->log_id > y->log_id;
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
    size_t delivered = 0;

    sql_puts(q, " WHERE id IN (");
    for (size_t i = 0; i < count; i++) {
        sql_puts(q, i ? "," : "");
        sql_int(q, rows[i]->log_id);
        delivered += rows[i]->code == CODE_OK;
    }
    sql_puts(q, ") AND (trigger_code = 0");
    if (delivered > 0)
        sql_puts(q, " OR (trigger_code = 200 AND handle_time IS NOT NULL AND alarm_status = 0");
    if (delivered > 0 && delivered < count) {
        sql_puts(q, " AND id NOT IN (");
        for (size_t i = 0, n = 0; i < count; i++) {
            if (rows[i]->code == CODE_OK)
                continue;
            sql_puts(q, n++ ? "," : "");
            sql_int(q, rows[i]->log_id);
        }
        sql_puts(q, ")");
    }
    sql_puts(q, delivered > 0 ? "))" : ")");
}

static enum err write_equal(struct store_session *s, const struct fire_result *const *rows, size_t count,
                            struct fitting how, struct errctx *ec)
{
    const struct fire_result *r = rows[0];
    struct sqlbuf *q =
        store_sql(s, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = ?, executor_address = ?", r->code,
                  sql_fitted(r->address, 255, how.fit));

    put_message_head(q);
    put_message(q, r, how);
    sql_puts(q, ")");
    if (r->write_job)
        sql_put(q,
                ", job_group = ?, executor_handler = ?, executor_param = ?, executor_fail_retry_count = ?, "
                "executor_sharding_param = ?",
                r->group, sql_fitted(r->handler, how.cut ? 255 : SIZE_MAX, how.fit),
                sql_fitted(r->param, how.cut ? 512 : SIZE_MAX, how.fit), r->retry_count, sql_or_null(r->sharding));
    put_tail(q, rows, count);
    return store_exec_sql(s, NULL, ec);
}

static void put_when(struct sqlbuf *q, const struct fire_result *r)
{
    sql_put(q, " WHEN ? THEN ", r->log_id);
}

/* Without the columns of write_job. */
static enum err write_different(struct store_session *s, const struct fire_result *const *rows, size_t count,
                                struct errctx *ec)
{
    struct sqlbuf *q = store_start_sql(s, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = CASE id");
    const struct fitting as_is = {TEXT_AS_IS, false};

    for (size_t i = 0; i < count; i++) {
        put_when(q, rows[i]);
        sql_int(q, rows[i]->code);
    }
    sql_puts(q, " ELSE trigger_code END, executor_address = CASE id");
    for (size_t i = 0; i < count; i++) {
        put_when(q, rows[i]);
        sql_text_fitted(q, rows[i]->address, 255, TEXT_AS_IS);
    }
    sql_puts(q, " ELSE NULL END");
    put_message_head(q);
    sql_puts(q, "CASE id");
    for (size_t i = 0; i < count; i++) {
        put_when(q, rows[i]);
        put_message(q, rows[i], as_is);
    }
    sql_puts(q, " ELSE '' END)");
    put_tail(q, rows, count);
    return store_exec_sql(s, NULL, ec);
}

/* Something does not fit its column: row by row, each changed no more than it needs. */
static enum err write_singly(struct store_session *s, const struct fire_result *const *rows, size_t count,
                             struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < count && !e; i++) {
        struct fitting how = {TEXT_AS_IS, false};
        for (;;) {
            e = write_equal(s, rows + i, 1, how, ec);
            if (!e || !store_fit_more(s, &how))
                break;
        }
    }
    return e;
}

/* ---- batches ----------------------------------------------------------------------------------------------- */

static size_t message_bytes(const struct fire_result *r)
{
    return r->message ? strlen(r->message) : 0;
}

/* As many of the rest as one statement should hold. */
static size_t count_for_case(const struct store_session *s, const struct fire_result *const *rows, size_t count)
{
    size_t half = db_max_packet(s->db) / 4; /* escaping may double a text */
    size_t limit = half < STORE_STATEMENT_SOFT_MAX ? half : STORE_STATEMENT_SOFT_MAX;
    size_t n = 0, bytes = 0;

    while (n < count && n < STORE_CASE_MAX && (n == 0 || bytes + message_bytes(rows[n]) < limit))
        bytes += message_bytes(rows[n++]);
    return n;
}

static size_t fit_case(const struct store_session *s, const void *const *rows, size_t count)
{
    return count_for_case(s, (const struct fire_result *const *)rows, count);
}

static bool is_apart(const void *row)
{
    return ((const struct fire_result *)row)->write_job;
}

static enum err write_group(struct store_session *s, const void *const *rows, size_t count, void *arg,
                            struct errctx *ec)
{
    const struct fire_result *const *results = (const struct fire_result *const *)rows;
    enum err e = write_equal(s, results, count, (struct fitting){TEXT_AS_IS, false}, ec);

    (void)arg;
    return e && store_has_data_error(s) ? write_singly(s, results, count, ec) : e;
}

static enum err write_mixture(struct store_session *s, const void *const *rows, size_t count, void *arg,
                              struct errctx *ec)
{
    const struct fire_result *const *results = (const struct fire_result *const *)rows;
    enum err e;

    if (count == 1)
        return write_group(s, rows, count, arg, ec);
    e = write_different(s, results, count, ec);
    return e && store_has_data_error(s) ? write_singly(s, results, count, ec) : e;
}

static enum err lock_rows(struct store_session *s, const int64_t *ids, size_t count, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        struct db_rows *rows = NULL;
        size_t n = count - at < STORE_LIST_MAX ? count - at : STORE_LIST_MAX;
        e = store_lock_logs(s, ids + at, n, &rows, ec);
        db_rows_destroy(rows);
    }
    return e;
}

static int compare_ids(const void *a, const void *b)
{
    const struct fire_result *x = *(const struct fire_result *const *)a, *y = *(const struct fire_result *const *)b;

    return compare_int64(&x->log_id, &y->log_id);
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
                                       .equal = write_group,
                                       .different = write_mixture,
                                       .fit = fit_case};
    enum err e;

    for (size_t i = 0; i < count; i++)
        ids[i] = rows[i]->log_id;
    qsort(rows, count, sizeof(struct fire_result *), compare_results);
    qsort(ids, count, sizeof *ids, compare_int64);
    e = lock_rows(s, ids, count, ec);
    return e ? e : store_write_grouped(s, &how, (const void **)rows, count, NULL, ec);
}

/* One transaction of its own for each of the two kinds: together they would lock rows in no order. */
static enum err write_kind(struct store_session *s, const struct fire_result **rows, size_t count, int64_t *ids,
                           bool as_planned, struct errctx *ec)
{
    enum err e = count > 0 ? store_begin_txn(s, ec) : ERR_OK;

    if (!e && count > 0)
        e = as_planned ? write_codes(s, rows, count, ids, ec) : write_whole(s, rows, count, ids, ec);
    if (!e && count > 0)
        e = store_commit_txn(s, ec);
    store_end_txn(s);
    return e;
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
