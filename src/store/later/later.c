/* SPDX-License-Identifier: MIT */
/* Later rows: written, looked for, read, listed, and their ends. */
#include "store/later/later.h"
#include "store/hook/put.h"
#include "store/people/audit.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- writing ----------------------------------------------------------------------------------------------- */

/* What there is room for. The ids tell an upper bound at once; where it is too high the rows are counted, by the
 * smallest index. */
enum err store_count_later_room(struct store_session *s, int64_t *room, struct errctx *ec)
{
    int64_t rows = 0;
    enum err e = store_number(s, 0, &rows, ec, "SELECT MAX(id) - MIN(id) + 1 FROM shardwheel_later");

    if (!e && LATER_MAX - rows <= LATER_MAX / 10)
        e = store_number(s, 0, &rows, ec, "SELECT COUNT(*) FROM shardwheel_later FORCE INDEX (shardwheel_later_due)");
    *room = e ? 0 : LATER_MAX - rows;
    return e;
}

static void put_row(struct sqlbuf *q, const struct later_row *row)
{
    const char kind[2] = {trigger_kind_letter(row->kind), '\0'};

    sql_put(q, "(?,?,?,?,?,?,?,?,?,?,?,?)", row->planned, row->due_s, row->job_id, kind, sql_or_null(row->param),
            sql_or_null(row->addresses), sql_or_null(row->sharding), row->retries_left, row->generation,
            row->original_due_s, sql_int_or_null(row->hold_until_s), sql_int_or_null(row->log_id));
}

enum err store_put_later(struct store_session *s, const struct later_row *rows, size_t count, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; at < count && !e;) {
        struct sqlbuf *q = store_start_sql(
            s, "INSERT INTO shardwheel_later (planned, due_s, job_id, kind, param, addresses, sharding, retries_left, "
               "generation, original_due_s, hold_until_s, log_id) VALUES ");
        for (size_t first = at; at < count && (at == first || !store_is_sql_long(s)); at++) {
            sql_puts(q, at == first ? "" : ",");
            put_row(q, &rows[at]);
        }
        e = store_exec_sql(s, NULL, ec);
    }
    return e;
}

enum err store_insert_later(struct store_session *s, const struct later_row *rows, size_t count, struct errctx *ec)
{
    int64_t room = 0;
    enum err e = count > 0 ? store_count_later_room(s, &room, ec) : ERR_OK;

    if (!e && room < (int64_t)count)
        return err_set(ec, ERR_BUSY, "there are %d later rows already (shardwheelctl later lists them)", LATER_MAX);
    return e ? e : store_put_later(s, rows, count, ec);
}

enum err store_add_later(struct store_session *s, const struct later_row *row, const struct audit_row *audit,
                         int64_t *id, struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = store_insert_later(s, row, 1, ec);
    if (!e)
        e = store_number(s, 0, id, ec, "SELECT LAST_INSERT_ID()");
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "write a later row of job %" PRId64, row->job_id) : ERR_OK;
}

/* ---- the look ---------------------------------------------------------------------------------------------- */

enum err store_scan_later(struct store_session *s, const int *shards, size_t shard_count, int n, int64_t until_s,
                          size_t limit, struct later_scan *out, struct errctx *ec)
{
    static const struct row_type ids = ROWS(struct later_id, FIELDS(struct later_id, id, job_id));
    struct later_scan scan = {0};
    struct sqlbuf *q = store_sql(
        s,
        "SELECT id, job_id FROM shardwheel_later FORCE INDEX (shardwheel_later_due) WHERE planned = 0 AND due_s <= ? "
        "AND job_id >= 0",
        until_s); /* below 0 it is no shard's: job_id % N */

    sql_and_shards(q, "job_id", shards, shard_count, n);
    sql_put(q, " ORDER BY due_s LIMIT ?", (int64_t)limit + 1);
    enum err e = store_read_array(s, &ids, &scan.list, &scan.count, ec);
    if (e)
        return err_wrap(ec, e, "look for later rows");
    scan.complete = scan.count <= limit;
    scan.count -= !scan.complete;
    *out = scan;
    return ERR_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------- */

static const char columns[] = "id, planned, due_s, job_id, kind, param, addresses, sharding, retries_left, "
                              "original_due_s, hold_until_s, log_id, generation FROM shardwheel_later ";

/* Rows of a kind that a newer release made are left out. */
static bool read_kind(const struct store_session *s, const struct db_rows *row, void *item)
{
    (void)s;
    return trigger_kind_of_letter(db_text_or_empty(row, 4)[0], &((struct later_row *)item)->kind);
}

static const struct row_type later_rows =
    ROWS_AND(struct later_row, read_kind, FIELDS(struct later_row, id, planned), SECONDS(struct later_row, due_s, 0),
             FIELDS(struct later_row, job_id), SKIP, NULL_TEXTS(struct later_row, param, addresses, sharding),
             FIELDS(struct later_row, retries_left), SECONDS(struct later_row, original_due_s, 0),
             SECONDS(struct later_row, hold_until_s, 0), FIELDS(struct later_row, log_id, generation));

enum err store_load_later(struct store_session *s, const int64_t *ids, size_t count, struct later_page *out,
                          struct errctx *ec)
{
    store_sql(s, "SELECT ?FORCE INDEX (PRIMARY) WHERE id IN (?) AND planned = 0 ORDER BY id", sql_word(columns),
              sql_list(ids, count));
    enum err e = store_read_list(s, &later_rows, out, ec);
    return e ? err_wrap(ec, e, "read %zu later rows", count) : ERR_OK;
}

enum err store_list_later(struct store_session *s, int64_t job_id, size_t limit, struct later_page *out,
                          struct errctx *ec)
{
    store_sql(s, "SELECT ?WHERE planned = 0", sql_word(columns));
    if (job_id)
        sql_put(&s->sql, " AND job_id = ?", job_id);
    sql_put(&s->sql, " ORDER BY due_s, id LIMIT ?", limit);
    enum err e = store_read_list(s, &later_rows, out, ec);
    return e ? err_wrap(ec, e, "list later rows") : ERR_OK;
}

/* ---- what a fire has of its own ---------------------------------------------------------------------------- */

COMPARE_AT(compare_by_log, struct fire, log_id)

static enum err load_some(struct store_session *s, struct fire **fires, size_t count, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    size_t i = 0;
    enum err e = store_query(s, &rows, ec,
                             "SELECT log_id, param, addresses, retries_left, hold_until_s FROM shardwheel_later FORCE "
                             "INDEX (shardwheel_later_log) WHERE log_id IN (?) ORDER BY log_id",
                             sql_each_at(fires, count, log_id));

    while (!e && db_rows_next(rows)) {
        while (i < count && fires[i]->log_id < db_int(rows, 0))
            i++;
        if (i == count || fires[i]->log_id != db_int(rows, 0) || fires[i]->own)
            continue;
        fires[i]->own = fire_own_create(&(struct fire_own){.param = db_text(rows, 1),
                                                           .addresses = db_text(rows, 2),
                                                           .retries = (int)db_int(rows, 3),
                                                           .hold_until_s = db_seconds(rows, 4)});
        if (!fires[i]->own)
            e = err_set(ec, ERR_NOMEM, "out of memory");
    }
    db_rows_destroy(rows);
    return e;
}

enum err store_load_own(struct store_session *s, struct fire **list, struct errctx *ec)
{
    struct fire **fires;
    size_t count = 0, n = 0;
    enum err e = ERR_OK;

    for (const struct fire *f = *list; f; f = f->next)
        count += (f->flags & FIRE_LATER) != 0;
    if (count == 0)
        return ERR_OK;
    fires = calloc(count, sizeof(struct fire *));
    if (!fires)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (struct fire *f = *list; f; f = f->next)
        if (f->flags & FIRE_LATER)
            fires[n++] = f;
    qsort(fires, n, sizeof(struct fire *), compare_by_log);
    for (size_t at = 0; at < n && !e; at += STORE_LIST_MAX)
        e = load_some(s, fires + at, n - at < STORE_LIST_MAX ? n - at : STORE_LIST_MAX, ec);
    free(fires);
    for (struct fire **link = list; *link && !e;) {
        struct fire *fire = *link;

        if (!(fire->flags & FIRE_LATER) || fire->own) {
            link = &fire->next;
            continue;
        }
        *link = fire->next;
        fire->next = NULL;
        fire_destroy(fire);
    }
    return e;
}

/* ---- ends -------------------------------------------------------------------------------------------------- */

/* The look takes no locks, and what has ended stays so: the ids alone are enough for the second statement. */
enum err store_end_later(struct store_session *s, size_t limit, size_t *ended, struct errctx *ec)
{
    static const struct row_type rows = ROWS(struct later_id, FIELDS(struct later_id, id));
    struct later_id *list = NULL;
    size_t n = 0;

    store_sql(
        s,
        "SELECT r.id FROM shardwheel_later r FORCE INDEX (shardwheel_later_due) LEFT JOIN xxl_job_log l ON l.id = "
        "r.log_id WHERE r.planned = 1 AND (l.id IS NULL OR ((l.trigger_code <> 0 OR l.handle_code <> 0) AND (r.kind <> "
        "'R' OR l.trigger_time <= ?))) LIMIT ?",
        sql_time(s->st->zone, clock_wall_ms(s->st->clock) / 1000 - LATER_RETRY_STAYS_S), limit);
    enum err e = store_read_array(s, &rows, &list, &n, ec);
    for (size_t at = 0, some; at < n && !e; at += some) {
        some = n - at < STORE_LIST_MAX ? n - at : STORE_LIST_MAX;
        e = store_write(s, NULL, ec,
                        "DELETE r FROM shardwheel_later r FORCE INDEX (PRIMARY) WHERE r.id IN (?) AND r.planned = 1",
                        sql_each(list + at, some, id));
    }
    free(list);
    if (!e)
        *ended = n;
    return e ? err_wrap(ec, e, "delete later rows whose run has ended") : ERR_OK;
}

enum err store_cancel_later(struct store_session *s, int64_t id, const struct audit_row *audit, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    int64_t log_id = 0;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = store_query(s, &rows, ec, "SELECT planned, log_id FROM shardwheel_later WHERE id = ? FOR UPDATE", id);
    if (!e && !db_rows_next(rows))
        e = err_set(ec, ERR_NOTFOUND, "there is no waiting run %" PRId64, id);
    else if (!e && db_int(rows, 0))
        e = err_set(ec, ERR_STATE, "waiting run %" PRId64 " is already planned as log %" PRId64, id, db_int(rows, 1));
    if (!e)
        log_id = db_int(rows, 1);
    db_rows_destroy(rows);
    if (!e && log_id)
        e = store_exec(s, NULL, ec,
                       "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = 500, alarm_status = 1, trigger_msg "
                       "= CONCAT(trigger_msg, '<br>cancelled') WHERE id = ? AND trigger_code = 0 AND handle_code = 0 "
                       "AND trigger_msg LIKE '" LATER_HELD_MARK "%'",
                       log_id);
    if (!e && log_id)
        e = hook_put_runs(s, &log_id, 1, ec);
    if (!e)
        e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_later WHERE id = ?", id);
    return store_end_audited(s, e, audit, ec);
}

/* ---- counting ---------------------------------------------------------------------------------------------- */

static int64_t add_count(int64_t a, int64_t b)
{
    int64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

enum err store_sum_later(struct store_session *s, struct later_sum *out, struct errctx *ec)
{
    struct later_sum sum = {0};
    struct db_rows *rows = NULL;
    enum trigger_kind kind;
    enum err e = store_query(
        s, &rows, ec,
        "SELECT planned, hold_until_s IS NOT NULL, kind, COUNT(*), MIN(due_s) FROM shardwheel_later GROUP BY 1, 2, 3");

    if (e)
        return err_wrap(ec, e, "count later rows");
    while (db_rows_next(rows)) {
        struct later_kind_sum *of;

        if (db_int(rows, 0)) {
            sum.planned = add_count(sum.planned, db_int(rows, 3));
            continue;
        }
        if (!trigger_kind_of_letter(db_text_or_empty(rows, 2)[0], &kind))
            continue;
        of = db_int(rows, 1) ? &sum.held : &sum.kind[kind];
        if (of->count == 0 || db_int(rows, 4) < of->first_due_s)
            of->first_due_s = db_int(rows, 4);
        of->count = add_count(of->count, db_int(rows, 3));
    }
    db_rows_destroy(rows);
    *out = sum;
    return ERR_OK;
}
