/* SPDX-License-Identifier: MIT */
/* shardwheel_alarm: of which jobs people are to be told, and what of them. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/store/alarm.h"
#include "store/conn/rows.h"
#include "store/run/alarms.h"

/* ---- failures that are new (in the transaction of store_handle_failures) ----------------------------------------- */

static void put_failures(struct sqlbuf *q, const struct failed_row *rows, size_t count, int64_t job_id)
{
    int64_t first = 0, last = 0, n = 0;

    for (size_t i = 0; i < count; i++) {
        if (rows[i].job_id != job_id || rows[i].alarm != ALARM_LOCKED)
            continue;
        first = first ? first : rows[i].id;
        last = rows[i].id;
        n++;
    }
    sql_put(q, "(?,?,?,?,0,0,'')", job_id, first, last, n);
}

static bool is_to_be_told(const struct failed_row *rows, size_t count, int64_t job_id)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].job_id == job_id && rows[i].alarm == ALARM_LOCKED)
            return true;
    return false;
}

static void group_others(struct failed_row *rows, size_t count, int64_t job_id, int64_t log_id)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].job_id != job_id || rows[i].alarm != ALARM_LOCKED || rows[i].id == log_id)
            continue;
        rows[i].alarm = ALARM_DONE;
        rows[i].grouped = true;
    }
}

enum err store_note_failures(struct store_session *s, struct failed_row *rows, size_t count, const int64_t *job_ids,
                             size_t job_count, struct errctx *ec)
{
    struct db_rows *found = NULL;
    size_t n = 0;
    struct sqlbuf *q = store_start_sql(s, "INSERT INTO shardwheel_alarm (job_id, log_id, last_log, failures, failing, "
                                          "quiet_until_ms, incarnation) VALUES ");

    for (size_t i = 0; i < job_count; i++) {
        if (!is_to_be_told(rows, count, job_ids[i]))
            continue;
        sql_puts(q, n++ ? "," : "");
        put_failures(q, rows, count, job_ids[i]);
    }
    if (n == 0)
        return ERR_OK;
    sql_puts(q, " ON DUPLICATE KEY UPDATE log_id = IF(log_id IS NULL AND quiet_until_ms <= " STORE_NOW_MS
                ", VALUES(log_id), log_id), last_log = GREATEST(last_log, VALUES(last_log)), "
                "failures = failures + VALUES(failures)");
    enum err e = store_exec_sql(s, NULL, ec);
    if (!e)
        e = store_query(s, &found, ec, "SELECT job_id, log_id FROM shardwheel_alarm WHERE job_id IN (?)",
                        sql_list(job_ids, job_count));
    while (!e && db_rows_next(found))
        group_others(rows, count, db_int(found, 0), db_text(found, 1) ? db_int(found, 1) : 0);
    db_rows_destroy(found);
    return e;
}

/* ---- the lease --------------------------------------------------------------------------------------------------- */

enum err store_hold_alarms(struct store_session *s, const char *incarnation, int64_t lease_ms, bool *held,
                           struct errctx *ec)
{
    struct db_effect effect = {0};
    int64_t ours = -1; /* there is no row */
    enum err e = store_number(s, -1, &ours, ec,
                              "SELECT incarnation = ? OR quiet_until_ms < " STORE_NOW_MS
                              " FROM shardwheel_alarm WHERE job_id = 0",
                              incarnation);

    if (!e && ours < 0) {
        store_start_sql(s, "INSERT IGNORE INTO shardwheel_alarm (job_id, last_log, failures, failing, quiet_until_ms, "
                           "incarnation) VALUES (0,0,0,0,0,'')");
        e = store_write_sql(s, NULL, ec);
    }
    if (!e && ours) {
        store_sql(s,
                  "UPDATE shardwheel_alarm SET quiet_until_ms = " STORE_NOW_MS
                  " + ?, incarnation = ? WHERE job_id = 0 AND (incarnation = ? OR quiet_until_ms < " STORE_NOW_MS ")",
                  lease_ms, incarnation, incarnation);
        e = store_write_sql(s, &effect, ec);
    }
    if (e)
        return err_wrap(ec, e, "take the lease for sending alarms");
    *held = effect.matched > 0;
    return ERR_OK;
}

enum err store_release_alarms(struct store_session *s, const char *incarnation, struct errctx *ec)
{
    enum err e = store_write(
        s, NULL, ec,
        "UPDATE shardwheel_alarm SET quiet_until_ms = 0, incarnation = '' WHERE job_id = 0 AND incarnation = ?",
        incarnation);

    return e ? err_wrap(ec, e, "leave the lease for sending alarms to others") : ERR_OK;
}

/* ---- jobs to be told of ------------------------------------------------------------------------------------------ */

enum err store_load_due_alarms(struct store_session *s, size_t max, struct due_alarm **out, size_t *count,
                               struct errctx *ec)
{
    static const struct row_type alarms =
        ROWS(struct due_alarm, FIELDS(struct due_alarm, job_id, log_id, last_log, failures));

    store_sql(
        s,
        "SELECT job_id, log_id, last_log, failures FROM shardwheel_alarm WHERE job_id > 0 AND (log_id IS NOT NULL "
        "OR (failures > 0 AND quiet_until_ms <= " STORE_NOW_MS ")) ORDER BY log_id IS NULL, log_id LIMIT ?",
        max);
    enum err e = store_read_array(s, &alarms, out, count, ec);
    return e ? err_wrap(ec, e, "look for alarms") : ERR_OK;
}

static enum err write_row(struct store_session *s, const struct due_alarm *alarm, enum alarm_status status,
                          int64_t quiet_ms, struct errctx *ec)
{
    if (status == ALARM_NOT_NEEDED)
        return store_exec(s, NULL, ec, "DELETE FROM shardwheel_alarm WHERE job_id = ?", alarm->job_id);
    /* Only what was told: a repeat changes nothing. */
    return store_exec(s, NULL, ec,
                      "UPDATE shardwheel_alarm SET log_id = NULL, failing = 1, failures = GREATEST(failures - ?, 0), "
                      "quiet_until_ms = " STORE_NOW_MS
                      " + ? WHERE job_id = ? AND COALESCE(log_id, 0) = ? AND failures >= ?",
                      alarm->failures, quiet_ms, alarm->job_id, alarm->log_id, alarm->failures);
}

enum err store_end_alarm(struct store_session *s, const struct due_alarm *alarm, enum alarm_status status,
                         int64_t quiet_ms, struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e && alarm->log_id)
        e = store_exec(
            s, NULL, ec,
            "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET alarm_status = ? WHERE id = ? AND alarm_status = -1", status,
            alarm->log_id);
    if (!e)
        e = write_row(s, alarm, status, quiet_ms, ec);
    e = store_finish_txn(s, e, ec);
    return e ? err_wrap(ec, e, "write what became of the alarm of job %" PRId64, alarm->job_id) : ERR_OK;
}

/* ---- jobs that work again ---------------------------------------------------------------------------------------- */

enum err store_load_failing_jobs(struct store_session *s, size_t max, struct failing_job **out, size_t *count,
                                 struct errctx *ec)
{
    static const struct row_type jobs = ROWS(struct failing_job, FIELDS(struct failing_job, job_id, last_log));

    store_sql(s,
              "SELECT job_id, last_log FROM shardwheel_alarm WHERE job_id > 0 AND failing = 1 ORDER BY job_id LIMIT ?",
              max);
    enum err e = store_read_array(s, &jobs, out, count, ec);
    return e ? err_wrap(ec, e, "look for jobs that fail") : ERR_OK;
}

enum err store_end_failing(struct store_session *s, const struct failing_job *job, struct errctx *ec)
{
    enum err e = store_write(s, NULL, ec,
                             "UPDATE shardwheel_alarm SET failing = 0, failures = 0 WHERE job_id = ? AND "
                             "log_id IS NULL AND last_log = ?",
                             job->job_id, job->last_log);

    return e ? err_wrap(ec, e, "write that job %" PRId64 " works again", job->job_id) : ERR_OK;
}

enum err store_forget_alarms(struct store_session *s, int64_t silent_ms, struct errctx *ec)
{
    enum err e = store_write(s, NULL, ec,
                             "DELETE FROM shardwheel_alarm WHERE job_id > 0 AND log_id IS NULL AND failures = "
                             "0 AND quiet_until_ms <= " STORE_NOW_MS " - IF(failing = 1, ?, 0)",
                             silent_ms);

    return e ? err_wrap(ec, e, "delete states of alarms") : ERR_OK;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

#define SELECT_RUNS                                                                                                    \
    "SELECT id, job_id, handle_code <> 200 FROM xxl_job_log FORCE INDEX (PRIMARY) WHERE (handle_code = 200 OR "        \
    "(handle_code = 0 AND trigger_code IN (0, 200))) AND "

static const struct row_type run_rows = ROWS(struct job_run, FIELDS(struct job_run, log_id, job_id, open));

enum err store_load_runs(struct store_session *s, int64_t after_id, int64_t until_id, const int64_t *job_ids,
                         size_t job_count, struct job_run **out, size_t *count, struct errctx *ec)
{
    struct sqlbuf *q = store_sql(s, SELECT_RUNS "id > ? AND id <= ? AND (job_id IN (", after_id, until_id);

    for (size_t at = 0; at < job_count; at += STORE_LIST_MAX)
        sql_put(q, "??", sql_word(at ? ") OR job_id IN (" : ""), sql_part(job_ids, job_count, at));
    sql_puts(q, ")) ORDER BY id");
    enum err e = store_read_array(s, &run_rows, out, count, ec);
    return e ? err_wrap(ec, e, "look at runs %" PRId64 " to %" PRId64, after_id + 1, until_id) : ERR_OK;
}

enum err store_load_run_list(struct store_session *s, const int64_t *log_ids, size_t id_count, struct job_run **out,
                             size_t *count, struct errctx *ec)
{
    struct row_list list = {0};
    enum err e = ERR_OK;

    for (size_t at = 0; at < id_count && !e; at += STORE_LIST_MAX) {
        store_sql(s, SELECT_RUNS "id IN (?) ORDER BY id", sql_part(log_ids, id_count, at));
        e = store_append_list(s, &run_rows, &list, ec);
    }
    e = store_end_array(&list, e, out, count);
    return e ? err_wrap(ec, e, "look at %zu runs", id_count) : ERR_OK;
}

/* ---- what is told of a row --------------------------------------------------------------------------------------- */

enum err store_load_alarm(struct store_session *s, int64_t log_id, struct alarm_facts *out, struct errctx *ec)
{
    static const struct row_type facts =
        ROWS(struct alarm_facts, FIELDS(struct alarm_facts, log_id, job_id, job_exists, emails, job_name),
             NULL_TEXTS(struct alarm_facts, group_name),
             FIELDS(struct alarm_facts, trigger_code, handle_code, trigger_msg, handle_msg, app_name, tags, time));

    store_sql(s,
              "SELECT l.id, l.job_id, j.id IS NOT NULL, j.alarm_email, j.?, g.?, l.trigger_code, l.handle_code, "
              "l.trigger_msg, l.handle_msg, g.app_name, o.tags, DATE_FORMAT(l.trigger_time, '%Y-%m-%d %H:%i:%s') FROM "
              "xxl_job_log l LEFT JOIN xxl_job_info j ON j.id = l.job_id LEFT JOIN xxl_job_group g ON g.id = "
              "j.job_group LEFT JOIN shardwheel_job o ON o.job_id = j.id WHERE l.id = ?",
              store_job_name(s), store_group_title(s), log_id);
    enum err e = store_read_row(s, &facts, out, &out->memory, ec);
    return e ? err_wrap(ec, e, "read log %" PRId64 " for its alarm", log_id) : ERR_OK;
}

FINI_BY(store_free_memory, alarm_facts, memory)

enum err store_set_aside_failure(struct store_session *s, int64_t log_id, struct errctx *ec)
{
    enum err e = store_write(
        s, NULL, ec, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET alarm_status = 3 WHERE id = ? AND alarm_status = 0",
        log_id);

    return e ? err_wrap(ec, e, "set log %" PRId64 " aside", log_id) : ERR_OK;
}

/* ---- executors --------------------------------------------------------------------------------------------------- */

static int compare_beats(const void *a, const void *b)
{
    const struct executor_beat *x = a, *y = b;
    int by_app = strcmp(x->app_name, y->app_name);

    return by_app ? by_app : strcmp(x->address, y->address);
}

enum err store_load_executor_beats(struct store_session *s, int64_t now_s, struct executor_beats *out,
                                   struct errctx *ec)
{
    static const struct row_type beats =
        ROWS(struct executor_beat, FIELDS(struct executor_beat, app_name, address, age_s));

    store_sql(s,
              "SELECT registry_key, registry_value, TIMESTAMPDIFF(SECOND, update_time, ?) FROM xxl_job_registry WHERE "
              "registry_group = 'EXECUTOR' LIMIT 100000",
              sql_time(s->st->zone, now_s));
    enum err e = store_read_list(s, &beats, out, ec);
    if (e)
        return err_wrap(ec, e, "look at the executors");
    qsort(out->rows, out->count, sizeof *out->rows, compare_beats);
    return ERR_OK;
}
