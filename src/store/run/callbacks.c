/* SPDX-License-Identifier: MIT */
/* What executors report of their runs, many at a time: decided in memory on rows that are locked, then written. */
#include <stdlib.h>
#include <string.h>

#include "shardwheel/job/codes.h"
#include "shardwheel/store/lost.h"
#include "store/conn/grouped.h"
#include "store/hook/put.h"
#include "store/run/callbacks_expected.h"
#include "store/run/children.h"
#include "store/run/lost.h"

#define CAREFUL_MAX 100 /* entries in a transaction that may make children: they bound what it writes */

struct log_row {
    int64_t id;
    int64_t trigger_code;
    int64_t handle_code; /* after the entries so far */
    bool lost;           /* it was ended as lost: a success overwrites that */
    bool found;          /* that is done */
    bool sent;           /* an entry proves it: CALLBACK_PROVES_SENT */
    bool delivered;      /* by an entry of this batch */
    bool written;        /* an entry is stored */
    struct buf message;  /* handle_msg after the entries so far */
    int generation;      /* of the fire */
    bool ended_well;     /* by an entry of this batch: its job's children follow */
};

/* ---- deciding ---------------------------------------------------------------------------------------------- */

static void cut_message(struct log_row *row)
{
    if (row->message.data)
        row->message.data[row->message.len = sql_cut_text(row->message.data, CALLBACK_MESSAGE_UNITS, SIZE_MAX)] = '\0';
}

static void store_entry(struct log_row *row, const struct callback_entry *entry)
{
    row->written = true;
    row->found |= row->lost;
    row->lost = false;
    row->handle_code = entry->code;
    row->ended_well = entry->code == CODE_OK;
    if (row->message.len > 0)
        buf_puts(&row->message, "<br>");
    buf_puts(&row->message, entry->message ? entry->message : "");
    cut_message(row);
}

/* First stored result wins, but a success wins over the end of a lost run: says what becomes of each entry, in their
 * order. */
static void decide(struct callback_entry *entries, size_t count, struct log_row *rows, size_t row_count)
{
    for (size_t i = 0; i < count; i++) {
        struct log_row *row = list_find(rows, row_count, sizeof *rows, entries[i].log_id);

        if (!row) {
            entries[i].outcome = CALLBACK_UNKNOWN_LOG;
            continue;
        }
        row->delivered |= row->sent || (entries[i].delivers && row->trigger_code == 0);
        if (row->handle_code > 0 && !(row->lost && entries[i].code == CODE_OK)) {
            entries[i].outcome = CALLBACK_REPEATED;
        } else {
            entries[i].outcome = CALLBACK_STORED;
            store_entry(row, &entries[i]);
        }
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------- */

/* A row that is to be written. */
struct write {
    int64_t log_id;
    int64_t code;
    const char *message; /* of the row */
};

static int compare_values(const void *a, const void *b)
{
    const struct write *x = a, *y = b;

    return x->code != y->code ? compare_numbers(x->code, y->code) : strcmp(x->message, y->message);
}

static int compare_writes(const void *a, const void *b)
{
    const struct write *x = *(const struct write *const *)a, *y = *(const struct write *const *)b;
    int c = compare_values(x, y);

    return c ? c : compare_numbers(x->log_id, y->log_id);
}

static struct sqlbuf *start_write(struct store_session *s, const int64_t *now_s)
{
    return store_sql(
        s, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET " STORE_TRIM_SLACK ", handle_time = ?, handle_code = ",
        sql_time(s->st->zone, *now_s));
}

static void put_tail(struct sqlbuf *q, const struct write *const *writes, size_t count)
{
    sql_put(q, " WHERE id IN (?) AND (handle_code <= 0 OR LEFT(handle_msg, 11) = '" LOST_MARK "')",
            sql_each_at(writes, count, log_id));
}

static enum err write_equal(struct store_session *s, const void *const *rows, size_t count, struct fitting how,
                            void *arg, struct errctx *ec)
{
    const struct write *const *writes = (const struct write *const *)rows;
    struct sqlbuf *q = start_write(s, arg);

    sql_put(q, "?, handle_msg = ?", writes[0]->code, sql_fitted(writes[0]->message, SIZE_MAX, how.fit));
    put_tail(q, writes, count);
    return store_exec_sql(s, NULL, ec);
}

static enum err write_different(struct store_session *s, const void *const *rows, size_t count, void *arg,
                                struct errctx *ec)
{
    const struct write *const *writes = (const struct write *const *)rows;
    struct sqlbuf *q = start_write(s, arg);

    sql_puts(q, "CASE id");
    for (size_t i = 0; i < count; i++)
        sql_put(q, " WHEN ? THEN ?", writes[i]->log_id, writes[i]->code);
    sql_puts(q, " ELSE handle_code END, handle_msg = CASE id");
    for (size_t i = 0; i < count; i++)
        sql_put(q, " WHEN ? THEN ?", writes[i]->log_id, writes[i]->message);
    sql_puts(q, " ELSE '' END");
    put_tail(q, writes, count);
    return store_exec_sql(s, NULL, ec);
}

static size_t measure_message(const void *row)
{
    return strlen(((const struct write *)row)->message);
}

static enum err write_all(struct store_session *s, const struct write *writes, size_t count, int64_t now_s,
                          struct errctx *ec)
{
    static const struct grouped how = {
        .compare = compare_values, .equal = write_equal, .different = write_different, .measure = measure_message};
    const void **rows = calloc(count + 1, sizeof(void *));
    enum err e = rows ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    for (size_t i = 0; i < count && !e; i++)
        rows[i] = &writes[i];
    if (!e) {
        qsort(rows, count, sizeof *rows, compare_writes);
        e = store_write_grouped(s, &how, rows, count, &now_s, ec);
    }
    free(rows);
    return e;
}

/* ---- the transaction --------------------------------------------------------------------------------------- */

struct batch {
    int64_t *ids; /* distinct, ascending */
    size_t id_count;
    struct log_row *rows; /* those that are there, ascending */
    size_t row_count;
    struct write *writes;
    size_t write_count;
};

static void fini_batch(struct batch *b)
{
    for (size_t i = 0; i < b->row_count; i++)
        buf_fini(&b->rows[i].message);
    free(b->writes);
    free(b->rows);
    free(b->ids);
}

static enum err init_batch(struct batch *b, const struct callback_entry *entries, size_t count, struct errctx *ec)
{
    b->ids = calloc(count + 1, sizeof *b->ids);
    b->rows = calloc(count + 1, sizeof *b->rows);
    b->writes = calloc(count + 1, sizeof *b->writes);
    if (!b->ids || !b->rows || !b->writes)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        b->ids[i] = entries[i].log_id;
    b->id_count = sort_distinct(b->ids, count);
    return ERR_OK;
}

static void read_row(struct log_row *row, const struct db_rows *rows)
{
    struct fire mark = {0};
    char incarnation[INCARNATION_MAX];

    *row = (struct log_row){.id = db_int(rows, 0), .trigger_code = db_int(rows, 1), .handle_code = db_int(rows, 2)};
    row->sent = db_int(rows, 5) != 0;
    row->lost = row->handle_code > 0 && strcmp(db_text_or_empty(rows, 3), LOST_MARK) == 0;
    if (row->handle_code <= 0)
        buf_puts(&row->message, db_text_or_empty(rows, 3));
    if (fire_parse_direct_mark(db_text(rows, 4), &mark, incarnation) || fire_parse_mark(db_text(rows, 4), &mark))
        row->generation = mark.generation;
}

/* Ascending, as store_lock_logs, and for the same reason. */
static enum err lock_some(struct store_session *s, struct batch *b, struct sql_value ids, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(s, &rows, ec,
                             "SELECT id, trigger_code, handle_code, IF(handle_code > 0, LEFT(handle_msg, 11), "
                             "handle_msg), LEFT(trigger_msg, 100), COALESCE(" CALLBACK_PROVES_SENT
                             ", FALSE) FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (?) ORDER BY id FOR UPDATE",
                             ids);

    while (!e && db_rows_next(rows))
        read_row(&b->rows[b->row_count++], rows);
    db_rows_destroy(rows);
    return e;
}

static enum err lock_rows(struct store_session *s, struct batch *b, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; at < b->id_count && !e; at += STORE_LIST_MAX)
        e = lock_some(s, b, sql_part(b->ids, b->id_count, at), ec);
    return e;
}

static enum err make_writes(struct batch *b, struct errctx *ec)
{
    for (size_t i = 0; i < b->row_count; i++) {
        struct log_row *row = &b->rows[i];
        if (!row->written)
            continue;
        if (buf_failed(&row->message))
            return err_set(ec, ERR_NOMEM, "out of memory");
        const char *message = row->message.data ? row->message.data : "";
        b->writes[b->write_count++] = (struct write){row->id, row->handle_code, message};
    }
    return ERR_OK;
}

/* Rows whose job has children, and that these entries end well. */
static enum err add_children(struct store_session *s, struct batch *b, const struct parents *parents, int64_t now_s,
                             const char *incarnation, struct fire **made, struct errctx *ec)
{
    struct parent_run *runs = calloc(b->row_count + 1, sizeof *runs);
    size_t n = 0;
    enum err e;

    if (!runs)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < b->row_count; i++) {
        struct log_row *row = &b->rows[i];
        const struct parent *parent = row->ended_well ? parents_find(parents, row->id) : NULL;
        if (parent)
            runs[n++] = (struct parent_run){parent, row->generation, &row->message};
    }
    e = n > 0 ? store_add_children(s, runs, n, now_s, incarnation, made, ec) : ERR_OK;
    for (size_t i = 0; i < b->row_count; i++)
        cut_message(&b->rows[i]);
    free(runs);
    return e;
}

/* What entries bring along of their dispatch, where nothing else was written meanwhile. Reuses the list of ids. */
static enum err write_delivered(struct store_session *s, struct batch *b, struct errctx *ec)
{
    size_t n = 0;
    enum err e = ERR_OK;

    for (size_t i = 0; i < b->row_count; i++)
        if (b->rows[i].delivered)
            b->ids[n++] = b->rows[i].id;
    for (size_t at = 0; at < n && !e; at += STORE_LIST_MAX)
        e = store_exec(
            s, NULL, ec,
            "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = 200 WHERE id IN (?) AND trigger_code = 0",
            sql_part(b->ids, n, at));
    return e;
}

static enum err cancel_retries(struct store_session *s, const struct batch *b, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < b->row_count && !e; i++)
        if (b->rows[i].found)
            e = store_cancel_retry(s, b->rows[i].id, ec);
    return e;
}

/* Reuses the list of ids. */
static enum err put_events(struct store_session *s, struct batch *b, struct errctx *ec)
{
    for (size_t i = 0; i < b->write_count; i++)
        b->ids[i] = b->writes[i].log_id;
    return hook_put_runs(s, b->ids, b->write_count, ec);
}

/* Rows are locked and looked at before anything is decided. parents: NULL when none of the entries can make any. */
static enum err write_carefully(struct store_session *s, struct callback_entry *entries, size_t count, int64_t now_s,
                                const struct parents *parents, struct children *children, struct errctx *ec)
{
    struct batch b = {0};
    struct fire *made = NULL;
    enum err e = init_batch(&b, entries, count, ec);

    if (!e)
        e = store_begin_txn(s, ec);
    if (!e)
        e = lock_rows(s, &b, ec);
    if (!e) {
        decide(entries, count, b.rows, b.row_count);
        if (parents)
            e = add_children(s, &b, parents, now_s, children->incarnation, &made, ec);
    }
    if (!e)
        e = cancel_retries(s, &b, ec);
    if (!e)
        e = make_writes(&b, ec);
    if (!e)
        e = write_delivered(s, &b, ec);
    if (!e)
        e = write_all(s, b.writes, b.write_count, now_s, ec);
    if (!e)
        e = put_events(s, &b, ec);
    e = store_finish_txn(s, e, ec);
    if (made)
        children_take(children, made, e);
    fini_batch(&b);
    return e;
}

/* ---- choosing the way -------------------------------------------------------------------------------------- */

static bool has_repeats(const struct callback_entry *entries, size_t count, int64_t *ids)
{
    for (size_t i = 0; i < count; i++)
        ids[i] = entries[i].log_id;
    return sort_distinct(ids, count) < count;
}

static enum err write_plain(struct store_session *s, struct callback_entry *entries, size_t count, bool repeats,
                            int64_t now_s, struct errctx *ec)
{
    bool written = false;
    enum err e = repeats ? ERR_OK : store_write_expected(s, entries, count, now_s, &written, ec);

    return e || written ? e : write_carefully(s, entries, count, now_s, NULL, NULL, ec);
}

static enum err write_in_slices(struct store_session *s, struct callback_entry *entries, size_t count, int64_t now_s,
                                const struct parents *parents, struct children *children, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0, n; at < count && !e; at += n) {
        n = count - at < CAREFUL_MAX ? count - at : CAREFUL_MAX;
        e = write_carefully(s, entries + at, n, now_s, parents, children, ec);
    }
    return e;
}

/* The others first, in the quick way: a transaction that makes children is the last one, so that its outcome is that
 * of the call. Their ids differ, so their order is no matter. */
static enum err write_apart(struct store_session *s, struct callback_entry *entries, size_t count, int64_t now_s,
                            const struct parents *parents, struct children *children, struct errctx *ec)
{
    struct callback_entry *sorted = calloc(count + 1, sizeof *sorted);
    size_t plain = 0, at = count;
    enum err e;

    if (!sorted)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        if (parents_find(parents, entries[i].log_id))
            sorted[--at] = entries[i];
        else
            sorted[plain++] = entries[i];
    e = plain > 0 ? write_plain(s, sorted, plain, /*repeats=*/false, now_s, ec) : ERR_OK;
    if (!e)
        e = write_in_slices(s, sorted + plain, count - plain, now_s, parents, children, ec);
    plain = 0;
    at = count;
    for (size_t i = 0; i < count; i++)
        entries[i].outcome = parents_find(parents, entries[i].log_id) ? sorted[--at].outcome : sorted[plain++].outcome;
    free(sorted);
    return e;
}

enum err store_write_callbacks(struct store_session *s, struct callback_entry *entries, size_t count, int64_t now_s,
                               struct children *children, struct errctx *ec)
{
    struct parents parents = {0};
    int64_t *ids = calloc(count + 1, sizeof *ids);
    enum err e = ids ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");
    bool repeats = ids && has_repeats(entries, count, ids);

    if (!e && children)
        e = store_find_parents(s, entries, count, ids, &parents, ec);
    if (!e && parents.count == 0)
        e = write_plain(s, entries, count, repeats, now_s, ec);
    else if (!e && repeats)
        e = write_in_slices(s, entries, count, now_s, &parents, children, ec);
    else if (!e)
        e = write_apart(s, entries, count, now_s, &parents, children, ec);
    parents_fini(&parents);
    free(ids);
    return e ? err_wrap(ec, e, "store %zu callbacks", count) : ERR_OK;
}
