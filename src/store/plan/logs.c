/* SPDX-License-Identifier: MIT */
/* Planned rows of xxl_job_log after a takeover, and their two ends without a dispatch. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "store/conn/datetime.h"
#include "store/conn/session.h"
#include "shardwheel/job.h"
#include "shardwheel/store/plan.h"
#include "shardwheel/job/times.h"

/* Planned rows lie at most seconds ahead of the cursor while all goes well; the margins are for rings that stood
 * still. */
#define LOOK_BACK_S (15 * 60)

#define OPEN_AND_MARKED "trigger_code = 0 AND handle_code = 0 AND trigger_msg LIKE '<!--sw:p:%'"

/* ---- loading ----------------------------------------------------------------------------------------------- */

/* A row that was written ahead has text behind its mark, if only blanks. */
static bool has_text_behind_mark(const char *text)
{
    const char *end = strstr(text, "-->");

    return end && end[3] != '\0';
}

/* Which rows of the shard: those due in (from_s, to_s] and planned under an epoch below `under`. */
struct planned_range {
    int64_t from_s;
    int64_t to_s;
    int64_t under;
};

static enum err read_row(const struct planned_range *range, const struct db_rows *rows, int shard, int64_t epoch,
                         struct fire **out, struct errctx *ec)
{
    struct fire mark = {0};
    struct fire *f;

    *out = NULL;
    if (!fire_parse_mark(db_text(rows, 3), &mark))
        return ERR_OK; /* the server compares without case; what is no mark to the letter is not ours */
    if (mark.due_s <= range->from_s || mark.due_s > range->to_s || mark.epoch >= range->under)
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
    f->epoch = epoch;
    f->shard = shard;
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

static int compare_fires(const void *a, const void *b)
{
    const struct fire *x = *(struct fire *const *)a, *y = *(struct fire *const *)b;

    if (x->due_s != y->due_s)
        return x->due_s < y->due_s ? -1 : 1;
    return x->log_id < y->log_id ? -1 : x->log_id > y->log_id;
}

static enum err query_planned(struct store_session *s, int shard, int n, const struct planned_range *range,
                              struct db_rows **out, struct errctx *ec)
{
    char low[DATETIME_TEXT_MAX], high[DATETIME_TEXT_MAX];
    struct sqlbuf *q = store_start_sql(s, "SELECT id, job_id, job_group, trigger_msg, executor_sharding_param, "
                                          "executor_address, executor_handler, executor_param, "
                                          "executor_fail_retry_count FROM xxl_job_log WHERE trigger_time >= ");

    datetime_range(s->st->zone, range->from_s, range->to_s, low, high);
    sql_text(q, low);
    sql_puts(q, " AND trigger_time <= ");
    sql_text(q, high);
    sql_puts(q, " AND " OPEN_AND_MARKED " AND job_id % ");
    sql_int(q, n);
    sql_puts(q, " = ");
    sql_int(q, shard);
    return store_query_sql(s, out, ec);
}

static enum err load_planned(struct store_session *s, int shard, int n, int64_t epoch,
                             const struct planned_range *range, struct fire **out, size_t *count, struct errctx *ec)
{
    struct fire **fires = NULL;
    struct db_rows *rows = NULL;
    size_t found = 0;
    enum err e = store_ready_session(s, ec);

    if (!e)
        e = query_planned(s, shard, n, range, &rows, ec);
    if (e)
        goto out;
    fires = calloc(db_rows_count(rows) + 1, sizeof *fires);
    if (!fires)
        e = err_set(ec, ERR_NOMEM, "out of memory");
    while (!e && db_rows_next(rows)) {
        e = read_row(range, rows, shard, epoch, &fires[found], ec);
        found += fires[found] != NULL;
    }
    if (e)
        goto out;
    qsort(fires, found, sizeof *fires, compare_fires);
    for (size_t i = 0; i + 1 < found; i++)
        fires[i]->next = fires[i + 1];
    *out = fires[0]; /* NULL when there is none: the array has one entry more than rows */
    *count = found;
    found = 0; /* the caller's now */
out:
    for (size_t i = 0; i < found; i++)
        fire_destroy(fires[i]);
    free(fires);
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "load planned fires of shard %d", shard) : ERR_OK;
}

enum err store_load_beyond(struct store_session *s, int shard, int n, int64_t epoch, int64_t cursor_s,
                           struct fire **out, size_t *count, struct errctx *ec)
{
    return load_planned(
        s, shard, n, epoch,
        &(struct planned_range){.from_s = cursor_s, .to_s = cursor_s + LOOK_AHEAD_S, .under = INT64_MAX}, out, count,
        ec);
}

enum err store_load_before(struct store_session *s, int shard, int n, int64_t epoch, int64_t cursor_s, int64_t after_s,
                           struct fire **out, size_t *count, struct errctx *ec)
{
    int64_t from_s = cursor_s - LOOK_BACK_S;

    return load_planned(
        s, shard, n, epoch,
        &(struct planned_range){.from_s = from_s > after_s ? from_s : after_s, .to_s = cursor_s, .under = epoch}, out,
        count, ec);
}

/* ---- ending ------------------------------------------------------------------------------------------------ */

/* The same statement for all ids, some at a time, in one transaction. */
static enum err change_all(struct store_session *s, const char *head, const char *tail, const int64_t *ids,
                           size_t count, int64_t *changed, struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    *changed = 0;
    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        struct db_effect effect = {0};
        struct sqlbuf *q = store_start_sql(s, head);
        sql_ids(q, ids + at, count - at < STORE_LIST_MAX ? count - at : STORE_LIST_MAX);
        sql_puts(q, tail);
        e = store_exec_sql(s, &effect, ec);
        *changed += effect.matched;
    }
    if (!e)
        e = store_commit_txn(s, ec);
    store_end_txn(s);
    return e;
}

enum err store_end_unknown(struct store_session *s, const int64_t *log_ids, size_t count, size_t *ended,
                           struct errctx *ec)
{
    int64_t changed = 0;
    enum err e = ERR_OK;

    if (count > 0)
        e = change_all(s,
                       "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = 500, trigger_msg = "
                       "CONCAT(LEFT(trigger_msg, LOCATE('-->', trigger_msg) + 2), 'delivery unknown: the node that "
                       "was to send this went away; it may have reached its executor or not') WHERE id IN (",
                       ") AND " OPEN_AND_MARKED, log_ids, count, &changed, ec);
    if (e)
        return err_wrap(ec, e, "end %zu fires of unknown delivery", count);
    *ended = (size_t)changed;
    return ERR_OK;
}

enum err store_end_doubtful(struct store_session *s, const int64_t *log_ids, size_t count, struct errctx *ec)
{
    int64_t changed = 0;
    enum err e = ERR_OK;

    if (count > 0)
        e = change_all(s,
                       "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET trigger_code = 500, trigger_msg = "
                       "CONCAT(LEFT(trigger_msg, LOCATE('-->', trigger_msg) + 2), 'delivery unknown: the guard "
                       "against Java admins was lost while this was planned; one of them may have sent it') "
                       "WHERE id IN (",
                       ") AND " OPEN_AND_MARKED, log_ids, count, &changed, ec);
    return e ? err_wrap(ec, e, "end %zu fires that a Java admin may have sent", count) : ERR_OK;
}

enum err store_cancel_planned(struct store_session *s, const int64_t *log_ids, size_t count, struct errctx *ec)
{
    int64_t changed = 0;
    enum err e = ERR_OK;

    /* The form for several tables, of one: the other form takes no index hint, and a scan would wait for rows of
     * others. */
    if (count > 0)
        e = change_all(s, "DELETE l FROM xxl_job_log l FORCE INDEX (PRIMARY) WHERE l.id IN (", ") AND " OPEN_AND_MARKED,
                       log_ids, count, &changed, ec);
    return e ? err_wrap(ec, e, "remove %zu planned fires", count) : ERR_OK;
}
