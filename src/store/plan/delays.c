/* SPDX-License-Identifier: MIT */
/* FIX_DELAY: which jobs wait for the end of a run, and what has become of it. */
#include <stdlib.h>

#include "store/conn/datetime.h"
#include "store/conn/rows.h"
#include "shardwheel/job.h"
#include "shardwheel/job/codes.h"
#include "shardwheel/store/plan.h"

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

/* False: the delay is not in force. */
static bool read_delayed(const struct store_session *s, const struct db_rows *row, void *item)
{
    struct delayed_job *job = item;

    (void)s;
    job->next_ms = db_millis(row, 1);
    job->last_ms = db_millis(row, 2);
    job->delay_s = db_seconds(row, 3);
    return db_int(row, 4) == job->delay_s;
}

enum err store_load_delayed_jobs(struct store_session *s, int shard, int n, struct delayed_job **out, size_t *count,
                                 struct errctx *ec)
{
    static const struct row_type jobs = ROWS_AND(struct delayed_job, read_delayed, FIELDS(struct delayed_job, id));

    store_sql(s,
              "SELECT o.job_id, i.trigger_next_time, i.trigger_last_time, o.fixed_delay_s, i.schedule_conf FROM "
              "shardwheel_job o STRAIGHT_JOIN xxl_job_info i ON i.id = o.job_id WHERE o.fixed_delay_s > 0 AND o.job_id "
              "% ? = ? AND i.trigger_status = 1 AND i.schedule_type = 'FIX_RATE' ORDER BY o.job_id",
              n, shard);
    enum err e = store_read_array(s, &jobs, out, count, ec);
    return e ? err_wrap(ec, e, "look for jobs with a fixed delay") : ERR_OK;
}

/* ---- their rows -------------------------------------------------------------------------------------------------- */

/* No schema names its index of trigger_time surely, some have none of job_id, and a walk along PRIMARY reads all there
 * is: so that alone is ruled out, and no order asked for. */
static void put_keys(struct store_session *s, const struct run_key *keys, size_t count)
{
    sql_puts(&s->sql, "id, job_id, trigger_msg FROM xxl_job_log IGNORE INDEX (PRIMARY) WHERE trigger_time IN (");
    for (size_t i = 0; i < count; i++) {
        sql_puts(&s->sql, i ? "," : "");
        sql_datetime(&s->sql, s->st->zone, keys[i].due_s);
    }
    sql_put(&s->sql, ") AND job_id IN (?) AND trigger_msg LIKE '<!--sw:p:%'", sql_each(keys, count, job_id));
}

/* Fires that wait for an executor, or waited: their rows of the log have another second, or none. */
static enum err query_later(struct store_session *s, const struct run_key *keys, size_t count, struct db_rows **out,
                            struct errctx *ec)
{
    return store_query(s, out, ec,
                       "SELECT job_id, original_due_s, log_id FROM shardwheel_later FORCE INDEX (shardwheel_later_job) "
                       "WHERE kind IN ('C', 'F') AND log_id IS NOT NULL AND job_id IN (?)",
                       sql_each(keys, count, job_id));
}

/* What is known of a run's due time is the next time before its claim. Where that was left to the misfire rule, which
 * did nothing, the claim had another due time besides: the run's own second. */
static bool stands_for(const struct run_key *key, int64_t original_due_s)
{
    return original_due_s == key->original_due_s || original_due_s == key->due_s;
}

enum err store_find_runs(struct store_session *s, const struct run_key *keys, size_t count, int limit_ms,
                         struct found_run **out, size_t *out_count, struct errctx *ec)
{
    struct db_rows *rows = NULL, *later = NULL;
    struct found_run *list = NULL;
    size_t n = 0;
    enum err e = query_later(s, keys, count, &later, ec);

    if (!e) {
        store_start_limited(s, limit_ms, "");
        put_keys(s, keys, count);
        e = store_query_sql(s, &rows, ec);
    }
    if (!e) {
        list = calloc(db_rows_count(rows) + db_rows_count(later) + 1, sizeof *list);
        if (!list)
            e = err_set(ec, ERR_NOMEM, "out of memory");
    }
    while (!e && db_rows_next(rows)) {
        struct fire mark = {0};

        if (!fire_parse_mark(db_text(rows, 2), &mark) || (mark.kind != TRIGGER_CRON && mark.kind != TRIGGER_MISFIRE))
            continue;
        for (size_t i = 0; i < count; i++)
            if (keys[i].job_id == db_int(rows, 1) && keys[i].due_s == mark.due_s)
                list[n++] = (struct found_run){.key = i, .log_id = db_int(rows, 0)};
    }
    while (!e && db_rows_next(later))
        for (size_t i = 0; i < count; i++)
            if (keys[i].job_id == db_int(later, 0) && stands_for(&keys[i], db_int(later, 1)))
                list[n++] = (struct found_run){.key = i, .log_id = db_int(later, 2)};
    db_rows_destroy(rows);
    db_rows_destroy(later);
    if (e)
        return err_wrap(ec, e, "look for the last runs of %zu jobs", count);
    *out = list;
    *out_count = n;
    return ERR_OK;
}

/* ---- what has become of them ------------------------------------------------------------------------------------- */

/* A failed row that was dealt with, had retries left, and names no row of a retry: that may wait among the later rows.
 */
struct waiting {
    struct run_end *row;
    int64_t job_id;
};

static void read_state(struct store_session *s, const struct db_rows *rows, struct run_end *row,
                       struct waiting *waiting, size_t *waiting_count)
{
    int64_t trigger_code = db_int(rows, 2), handle_code = db_int(rows, 3), retry_id;
    bool failed =
        handle_code != CODE_OK && (handle_code != CODE_OPEN || (trigger_code != CODE_OPEN && trigger_code != CODE_OK));

    row->what = failed || handle_code == CODE_OK ? RUN_ENDED : RUN_OPEN;
    if (row->what == RUN_ENDED && !datetime_parse(s->st->zone, db_text(rows, 4), &row->ended_s))
        row->ended_s = 0;
    if (!failed || db_int(rows, 6) <= 0)
        return;
    retry_id = fire_find_retry_link(db_text(rows, 7));
    if (db_int(rows, 5) == 0) {
        row->what = RUN_OPEN; /* nobody has dealt with it yet */
    } else if (retry_id) {
        row->what = RUN_RETRIED;
        row->retry_id = retry_id;
    } else {
        waiting[(*waiting_count)++] = (struct waiting){row, db_int(rows, 1)};
    }
}

/* Retries with a wait stand in shardwheel_later until they have ended. */
static enum err look_for_later(struct store_session *s, const struct waiting *waiting, size_t count, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e =
        store_query(s, &rows, ec, "SELECT job_id, log_id FROM shardwheel_later WHERE kind = 'R' AND job_id IN (?)",
                    sql_each(waiting, count, job_id));

    while (!e && db_rows_next(rows))
        for (size_t i = 0; i < count; i++) {
            struct run_end *row = waiting[i].row;

            if (waiting[i].job_id != db_int(rows, 0) || db_int(rows, 1) == row->log_id)
                continue;
            row->what = db_text(rows, 1) ? RUN_RETRIED : RUN_OPEN;
            row->retry_id = db_int(rows, 1);
        }
    db_rows_destroy(rows);
    return e;
}

static enum err load_some(struct store_session *s, struct run_end *list, size_t count, struct errctx *ec)
{
    struct waiting waiting[STORE_LIST_MAX];
    struct db_rows *rows = NULL;
    size_t waiting_count = 0;
    enum err e = store_query(
        s, &rows, ec,
        "SELECT id, job_id, trigger_code, handle_code, handle_time, alarm_status, executor_fail_retry_count, "
        "IF(executor_fail_retry_count > 0 AND alarm_status <> 0, SUBSTRING(trigger_msg, LOCATE('" RETRY_LINK_HEAD
        "', trigger_msg), 60), NULL) FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE id IN (?)",
        sql_each(list, count, log_id));

    for (size_t i = 0; i < count; i++)
        list[i] = (struct run_end){.log_id = list[i].log_id, .what = RUN_ENDED};
    while (!e && db_rows_next(rows)) {
        struct run_end *row = list_find(list, count, sizeof *list, db_int(rows, 0));

        if (row)
            read_state(s, rows, row, waiting, &waiting_count);
    }
    db_rows_destroy(rows);
    return e || waiting_count == 0 ? e : look_for_later(s, waiting, waiting_count, ec);
}

enum err store_load_run_ends(struct store_session *s, struct run_end *rows, size_t count, struct errctx *ec)
{
    enum err e = ERR_OK;

    qsort(rows, count, sizeof *rows, compare_int64);
    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX)
        e = load_some(s, rows + at, count - at < STORE_LIST_MAX ? count - at : STORE_LIST_MAX, ec);
    return e ? err_wrap(ec, e, "look at %zu runs", count) : ERR_OK;
}
