/* SPDX-License-Identifier: MIT */
/* What executors report of their runs, many at a time: decided in memory on rows that are locked, then written. */
#include <stdlib.h>
#include <string.h>

#include "store/run/callbacks.h"

struct log_row {
    int64_t id;
    int64_t trigger_code;
    int64_t handle_code;
    bool delivered; /* by an entry of this batch */
    int round;      /* how many entries for this row are to be written already */
};

/* An entry that is to be written. Entries for one row have different rounds: a later one finds what an earlier one
 * wrote. */
struct write {
    int round;
    int code;
    const char *message; /* cut; of the batch */
    int64_t log_id;
};

static int compare_rows(const void *a, const void *b)
{
    return compare_int64(&((const struct log_row *)a)->id, &((const struct log_row *)b)->id);
}

static int compare_writes(const void *a, const void *b)
{
    const struct write *x = a, *y = b;
    int c;

    if (x->round != y->round)
        return x->round < y->round ? -1 : 1;
    if (x->code != y->code)
        return x->code < y->code ? -1 : 1;
    if ((c = strcmp(x->message, y->message)) != 0)
        return c;
    return compare_int64(&x->log_id, &y->log_id);
}

/* ---- deciding ---------------------------------------------------------------------------------------------- */

/* First stored result wins: says what becomes of each entry, in their order. */
static void decide(struct callback_entry *entries, size_t count, struct log_row *rows, size_t row_count, int *round)
{
    for (size_t i = 0; i < count; i++) {
        struct log_row key = {.id = entries[i].log_id};
        struct log_row *row = bsearch(&key, rows, row_count, sizeof *rows, compare_rows);
        if (!row) {
            entries[i].outcome = CALLBACK_UNKNOWN_LOG;
            continue;
        }
        row->delivered |= entries[i].delivers && row->trigger_code == 0;
        if (row->handle_code > 0) {
            entries[i].outcome = CALLBACK_REPEATED;
        } else {
            entries[i].outcome = CALLBACK_STORED;
            row->handle_code = entries[i].code;
            round[i] = row->round++;
        }
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------- */

static const char update_head[] = "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET " STORE_TRIM_SLACK ", handle_time = ";

static void put_head(struct store_session *s, int64_t now_s)
{
    struct sqlbuf *q = store_start_sql(s, update_head);

    sql_datetime(q, s->st->zone, now_s);
    sql_puts(q, ", handle_code = ");
}

static const char message_head[] =
    ", handle_msg = LEFT(CONCAT(IF(LENGTH(handle_msg) > 0, CONCAT(handle_msg, '<br>'), ''), ";

static void put_tail(struct sqlbuf *q, const struct write *writes, size_t count)
{
    sql_puts(q, "), ");
    sql_int(q, CALLBACK_MESSAGE_UNITS);
    sql_puts(q, ") WHERE id IN (");
    for (size_t i = 0; i < count; i++) {
        sql_puts(q, i ? "," : "");
        sql_int(q, writes[i].log_id);
    }
    sql_puts(q, ") AND handle_code <= 0");
}

static enum err write_equal(struct store_session *s, const struct write *writes, size_t count, int64_t now_s,
                            enum text_fit fit, struct errctx *ec)
{
    put_head(s, now_s);
    sql_int(&s->sql, writes[0].code);
    sql_puts(&s->sql, message_head);
    sql_text_fitted(&s->sql, writes[0].message, SIZE_MAX, fit);
    put_tail(&s->sql, writes, count);
    return store_exec_sql(s, NULL, ec);
}

static void put_when(struct sqlbuf *q, const struct write *w)
{
    sql_puts(q, " WHEN ");
    sql_int(q, w->log_id);
    sql_puts(q, " THEN ");
}

static enum err write_different(struct store_session *s, const struct write *writes, size_t count, int64_t now_s,
                                struct errctx *ec)
{
    struct sqlbuf *q = &s->sql;

    put_head(s, now_s);
    sql_puts(q, "CASE id");
    for (size_t i = 0; i < count; i++) {
        put_when(q, &writes[i]);
        sql_int(q, writes[i].code);
    }
    sql_puts(q, " ELSE handle_code END");
    sql_puts(q, message_head);
    sql_puts(q, "CASE id");
    for (size_t i = 0; i < count; i++) {
        put_when(q, &writes[i]);
        sql_text(q, writes[i].message);
    }
    sql_puts(q, " ELSE '' END");
    put_tail(q, writes, count);
    return store_exec_sql(s, NULL, ec);
}

static enum err write_singly(struct store_session *s, const struct write *writes, size_t count, int64_t now_s,
                             struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < count && !e; i++)
        for (int fit = TEXT_AS_IS; fit < TEXT_FITS; fit++) {
            e = write_equal(s, writes + i, 1, now_s, (enum text_fit)fit, ec);
            if (!e || !store_has_data_error(s))
                break;
        }
    return e;
}

static enum err write_some(struct store_session *s, const struct write *writes, size_t count, int64_t now_s, bool equal,
                           struct errctx *ec)
{
    enum err e =
        equal ? write_equal(s, writes, count, now_s, TEXT_AS_IS, ec) : write_different(s, writes, count, now_s, ec);

    if (e && store_has_data_error(s))
        e = write_singly(s, writes, count, now_s, ec);
    return e;
}

/* As many of the rest as one statement should hold. */
static size_t count_for_case(const struct store_session *s, const struct write *writes, size_t count)
{
    size_t quarter = db_max_packet(s->db) / 4; /* escaping may double a text */
    size_t limit = quarter < STORE_STATEMENT_SOFT_MAX ? quarter : STORE_STATEMENT_SOFT_MAX;
    size_t n = 0, bytes = 0;

    while (n < count && n < STORE_CASE_MAX && (n == 0 || bytes + strlen(writes[n].message) < limit))
        bytes += strlen(writes[n++].message);
    return n;
}

/* Writes of one round, sorted: large groups of one value first, then the rest, moved to the front. */
static enum err write_round(struct store_session *s, struct write *writes, size_t count, int64_t now_s,
                            struct errctx *ec)
{
    size_t left = 0;
    enum err e = ERR_OK;

    for (size_t at = 0, end; at < count && !e; at = end) {
        for (end = at + 1; end < count && end - at < STORE_LIST_MAX && writes[end].code == writes[at].code &&
                           strcmp(writes[end].message, writes[at].message) == 0;)
            end++;
        if (end - at >= STORE_GROUP_MIN)
            e = write_some(s, writes + at, end - at, now_s, /*equal=*/true, ec);
        else
            for (size_t i = at; i < end; i++)
                writes[left++] = writes[i];
    }
    for (size_t at = 0, n; at < left && !e; at += n) {
        n = count_for_case(s, writes + at, left - at);
        e = write_some(s, writes + at, n, now_s, /*equal=*/n == 1, ec);
    }
    return e;
}

static enum err write_all(struct store_session *s, struct write *writes, size_t count, int64_t now_s, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0, end; at < count && !e; at = end) {
        for (end = at + 1; end < count && writes[end].round == writes[at].round;)
            end++;
        e = write_round(s, writes + at, end - at, now_s, ec);
    }
    return e;
}

/* ---- the transaction --------------------------------------------------------------------------------------- */

struct batch {
    int64_t *ids; /* distinct, ascending */
    size_t id_count;
    struct log_row *rows; /* those that are there, ascending */
    size_t row_count;
    int *round;      /* of entry i */
    char **messages; /* of entry i, cut; NULL where nothing is written */
    size_t entry_count;
    struct write *writes; /* sorted, then moved about: they own nothing */
    size_t write_count;
};

static void fini_batch(struct batch *b)
{
    for (size_t i = 0; b->messages && i < b->entry_count; i++)
        free(b->messages[i]);
    free(b->messages);
    free(b->writes);
    free(b->round);
    free(b->rows);
    free(b->ids);
}

static enum err init_batch(struct batch *b, const struct callback_entry *entries, size_t count, struct errctx *ec)
{
    b->entry_count = count;
    b->messages = calloc(count + 1, sizeof *b->messages);
    b->ids = calloc(count + 1, sizeof *b->ids);
    b->rows = calloc(count + 1, sizeof *b->rows);
    b->round = calloc(count + 1, sizeof *b->round);
    b->writes = calloc(count + 1, sizeof *b->writes);
    if (!b->messages || !b->ids || !b->rows || !b->round || !b->writes)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < count; i++)
        b->ids[i] = entries[i].log_id;
    qsort(b->ids, count, sizeof *b->ids, compare_int64);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || b->ids[i] != b->ids[i - 1])
            b->ids[b->id_count++] = b->ids[i];
    return ERR_OK;
}

static enum err lock_rows(struct store_session *s, struct batch *b, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; at < b->id_count && !e; at += STORE_LIST_MAX) {
        struct db_rows *rows = NULL;
        size_t n = b->id_count - at < STORE_LIST_MAX ? b->id_count - at : STORE_LIST_MAX;
        e = store_lock_logs(s, b->ids + at, n, &rows, ec);
        while (!e && db_rows_next(rows))
            b->rows[b->row_count++] = (struct log_row){
                .id = db_int(rows, 0), .trigger_code = db_int(rows, 1), .handle_code = db_int(rows, 2)};
        db_rows_destroy(rows);
    }
    return e;
}

static enum err make_writes(struct batch *b, const struct callback_entry *entries, size_t count, struct errctx *ec)
{
    for (size_t i = 0; i < count; i++) {
        if (entries[i].outcome != CALLBACK_STORED)
            continue;
        const char *message = entries[i].message ? entries[i].message : "";
        b->messages[i] = strndup(message, sql_cut_text(message, CALLBACK_MESSAGE_UNITS, SIZE_MAX));
        if (!b->messages[i])
            return err_set(ec, ERR_NOMEM, "out of memory");
        b->writes[b->write_count++] = (struct write){b->round[i], entries[i].code, b->messages[i], entries[i].log_id};
    }
    qsort(b->writes, b->write_count, sizeof *b->writes, compare_writes);
    return ERR_OK;
}

/* What entries bring along of their dispatch, where nothing else was written meanwhile. Reuses the list of ids. */
static enum err write_delivered(struct store_session *s, struct batch *b, struct errctx *ec)
{
    size_t n = 0;
    enum err e = ERR_OK;

    for (size_t i = 0; i < b->row_count; i++)
        if (b->rows[i].delivered)
            b->ids[n++] = b->rows[i].id;
    for (size_t at = 0; at < n && !e; at += STORE_LIST_MAX) {
        struct sqlbuf *q =
            store_start_sql(s, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = 200 WHERE id IN (");
        sql_ids(q, b->ids + at, n - at < STORE_LIST_MAX ? n - at : STORE_LIST_MAX);
        sql_puts(q, ") AND trigger_code = 0");
        e = store_exec_sql(s, NULL, ec);
    }
    return e;
}

/* Rows are locked and looked at before anything is decided. */
static enum err write_carefully(struct store_session *s, struct batch *b, struct callback_entry *entries, size_t count,
                                int64_t now_s, struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_rows(s, b, ec);
    if (!e) {
        decide(entries, count, b->rows, b->row_count, b->round);
        e = make_writes(b, entries, count, ec);
    }
    if (!e)
        e = write_delivered(s, b, ec);
    if (!e)
        e = write_all(s, b->writes, b->write_count, now_s, ec);
    if (!e)
        e = store_commit_txn(s, ec);
    store_end_txn(s);
    return e;
}

enum err store_write_callbacks(struct store_session *s, struct callback_entry *entries, size_t count, int64_t now_s,
                               struct errctx *ec)
{
    struct batch b = {0};
    bool written = false;
    enum err e = init_batch(&b, entries, count, ec);

    if (!e && b.id_count == count)
        e = store_write_expected(s, entries, count, now_s, &written, ec);
    if (!e && !written)
        e = write_carefully(s, &b, entries, count, now_s, ec);
    fini_batch(&b);
    return e ? err_wrap(ec, e, "store %zu callbacks", count) : ERR_OK;
}
