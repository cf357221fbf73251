/* SPDX-License-Identifier: MIT */
/* shardwheel_job: settings of ours per job. */
#include "shardwheel/store/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shardwheel/job/times.h"
#include "store/conn/datetime.h"
#include "store/job/job_impl.h"
#include "store/people/audit.h"
#include "store/plan/claim_impl.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

#define SETTINGS_COLUMNS                                                                                               \
    "job_id, time_zone, fixed_delay_s, valid_from_s, valid_until_s, retry_wait_s, retry_wait_max_s, hold_s, "          \
    "resend_lost, retention_days, tags"

#define NUMBER_OR_NONE(type, member) SECONDS(type, member, SETTING_NONE)

static const struct row_type settings_rows =
    ROWS(struct job_settings, FIELDS(struct job_settings, job_id, time_zone),
         FIELD_EXPAND(FIELD_EACH(NUMBER_OR_NONE, struct job_settings, fixed_delay_s, valid_from_s, valid_until_s,
                                 retry_wait_s, retry_wait_max_s, hold_s, resend_lost, retention_days)),
         FIELDS(struct job_settings, tags));

enum err store_load_job_settings(struct store_session *s, const int64_t *ids, size_t count, struct job_settings **out,
                                 size_t *out_count, struct errctx *ec)
{
    struct row_list list = {.items = calloc(1, sizeof **out)};
    enum err e = list.items ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        store_sql(s, "SELECT " SETTINGS_COLUMNS " FROM shardwheel_job WHERE job_id IN (?) ORDER BY job_id",
                  sql_part(ids, count, at));
        e = store_append_list(s, &settings_rows, &list, ec);
    }
    e = store_end_array(&list, e, out, out_count);
    return e ? err_wrap(ec, e, "read settings of %zu jobs", count) : ERR_OK;
}

enum err store_load_retentions(struct store_session *s, struct job_retention **out, size_t *count, struct errctx *ec)
{
    static const struct row_type retentions = ROWS(struct job_retention, FIELDS(struct job_retention, job_id, days));

    store_start_sql(s, "SELECT job_id, retention_days FROM shardwheel_job WHERE retention_days IS NOT NULL ORDER BY "
                       "job_id");
    enum err e = store_read_array(s, &retentions, out, count, ec);
    return e ? err_wrap(ec, e, "read the retention of jobs") : ERR_OK;
}

/* ---- the schedule of one job ------------------------------------------------------------------------------------- */

enum err store_no_such_job(int64_t job_id, struct errctx *ec)
{
    return err_set(ec, ERR_NOTFOUND, "there is no job %" PRId64, job_id);
}

static enum err query_schedule(struct store_session *s, int64_t job_id, struct job_schedule *out, struct errctx *ec)
{
    static const struct row_type schedules =
        ROWS(struct job_schedule, FIELDS(struct job_schedule, job_id, running, next_ms, type, conf, now_ms, cron_zone));

    store_sql(s,
              "SELECT i.id, i.trigger_status = 1, i.trigger_next_time, i.schedule_type, i.schedule_conf, " STORE_NOW_MS
              ", c.zone_cron FROM xxl_job_info i LEFT JOIN shardwheel_cluster c ON c.id = 1 WHERE i.id = ?",
              job_id);
    enum err e = store_read_row(s, &schedules, out, NULL, ec);
    return e == ERR_NOTFOUND ? store_no_such_job(job_id, ec) : e;
}

/* By the index of trigger_time: no more rows than are planned at this moment. */
enum err store_find_newest_planned(struct store_session *s, int64_t job_id, int64_t now_ms, int64_t *out,
                                   struct errctx *ec)
{
    char low[DATETIME_TEXT_MAX], high[DATETIME_TEXT_MAX];
    struct db_rows *rows = NULL;
    int64_t now_s = now_ms / 1000;
    enum err e;

    datetime_range(s->st->zone, now_s, now_s + LOOK_AHEAD_S, low, high);
    e = store_query(s, &rows, ec,
                    "SELECT trigger_msg FROM xxl_job_log WHERE trigger_time >= ? AND trigger_time <= ? AND "
                    "trigger_code = 0 AND trigger_msg LIKE '<!--sw:p:%' AND job_id = ?",
                    low, high, job_id);
    if (e)
        return e;
    *out = 0;
    while (db_rows_next(rows)) {
        struct fire mark = {0};

        if (fire_parse_mark(db_text(rows, 0), &mark) && mark.original_due_s > *out)
            *out = mark.original_due_s;
    }
    db_rows_destroy(rows);
    return ERR_OK;
}

enum err store_load_cron_zone(struct store_session *s, char out[ZONE_NAME_MAX], struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e = store_query(s, &rows, ec, "SELECT zone_cron FROM shardwheel_cluster");

    if (!e)
        snprintf(out, ZONE_NAME_MAX, "%s", db_rows_next(rows) ? db_text_or_empty(rows, 0) : "");
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "read the zone of cron expressions") : ERR_OK;
}

enum err store_load_job_schedule(struct store_session *s, int64_t job_id, struct job_schedule *out, struct errctx *ec)
{
    struct job_schedule read;
    enum err e = query_schedule(s, job_id, &read, ec);

    if (!e)
        e = store_find_newest_planned(s, job_id, read.now_ms, &read.planned_s, ec);
    if (e)
        return err_wrap(ec, e, "read the schedule of job %" PRId64, job_id);
    *out = read;
    return ERR_OK;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static enum err meanwhile_changed(int64_t job_id, struct errctx *ec)
{
    return err_set(ec, ERR_CONFLICT, "job %" PRId64 " was changed by somebody meanwhile", job_id);
}

/* Locks the job's row, so that a claim waits for us or we for it, and compares. */
static enum err lock_job(struct store_session *s, int64_t job_id, const struct schedule_change *change,
                         struct errctx *ec)
{
    static const struct row_type rows =
        ROWS(struct job_schedule, FIELDS(struct job_schedule, running, next_ms, type, conf));
    const struct job_schedule *from = change ? change->from : NULL;
    struct job_schedule now;

    store_sql(s,
              "SELECT trigger_status = 1, trigger_next_time, schedule_type, schedule_conf FROM xxl_job_info WHERE id = "
              "? FOR UPDATE",
              job_id);
    enum err e = store_read_row(s, &rows, &now, NULL, ec);
    if (e)
        return e == ERR_NOTFOUND ? store_no_such_job(job_id, ec) : e;
    if (from && (from->running != now.running || from->next_ms != now.next_ms || strcmp(from->type, now.type) != 0 ||
                 strcmp(from->conf, now.conf) != 0))
        return meanwhile_changed(job_id, ec);
    return ERR_OK;
}

enum err store_read_settings(struct store_session *s, int64_t job_id, struct job_settings *out, struct errctx *ec)
{
    struct job_settings *list = NULL;
    size_t count = 0;
    enum err e = store_load_job_settings(s, &job_id, 1, &list, &count, ec);

    job_settings_init(out, job_id);
    if (!e && count > 0)
        *out = list[0];
    free(list);
    return e;
}

/* Under the lock of the job's row, which all have who write its settings. */
static enum err compare_settings(struct store_session *s, const struct job_settings *from, struct errctx *ec)
{
    struct job_settings now;
    enum err e = store_read_settings(s, from->job_id, &now, ec);

    return !e && !job_settings_are_equal(from, &now) ? meanwhile_changed(from->job_id, ec) : e;
}

enum err store_check_guard(struct store_session *s, struct errctx *ec)
{
    struct claim_guards guards;
    enum err e = store_load_guards(s, &guards, ec);

    if (e || guards.count > 0)
        return e;
    return err_set(ec, ERR_GUARD,
                   "no node holds Java admins off at present, so one of them may be planning the job: try again in a "
                   "moment, or stop the job first");
}

static enum err write_schedule(struct store_session *s, int64_t job_id, const struct schedule_change *change,
                               struct errctx *ec)
{
    bool moves = change->from->running && change->next_ms != change->from->next_ms;
    struct sqlbuf *q = store_start_sql(s, "UPDATE xxl_job_info SET ");

    if (!change->type && !moves)
        return ERR_OK;
    if (change->type)
        sql_put(q, "schedule_type = ?, schedule_conf = ?", change->type, change->conf);
    if (moves) {
        sql_puts(q, change->type ? ", trigger_next_time = " : "trigger_next_time = ");
        sql_int(q, change->next_ms);
    }
    sql_put(q, " WHERE id = ?", job_id);
    return store_exec_sql(s, NULL, ec);
}

static struct sql_value number_or_null(int64_t value)
{
    return value == SETTING_NONE ? sql_word("NULL") : sql_of_int(value);
}

static struct sql_value text_or_null(const char *text)
{
    return sql_or_null(text[0] ? text : NULL);
}

enum err store_write_settings(struct store_session *s, const struct job_settings *settings, struct errctx *ec)
{
    if (job_settings_are_empty(settings))
        return store_exec(s, NULL, ec, "DELETE FROM shardwheel_job WHERE job_id = ?", settings->job_id);
    return store_exec(s, NULL, ec,
                      "REPLACE INTO shardwheel_job (" SETTINGS_COLUMNS
                      ", update_time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                      settings->job_id, text_or_null(settings->time_zone), number_or_null(settings->fixed_delay_s),
                      number_or_null(settings->valid_from_s), number_or_null(settings->valid_until_s),
                      number_or_null(settings->retry_wait_s), number_or_null(settings->retry_wait_max_s),
                      number_or_null(settings->hold_s), number_or_null(settings->resend_lost),
                      number_or_null(settings->retention_days), text_or_null(settings->tags),
                      sql_time(s->st->zone, clock_wall_ms(s->st->clock) / 1000));
}

enum err store_save_job_settings(struct store_session *s, const struct job_settings *from,
                                 const struct job_settings *settings, const struct schedule_change *change,
                                 const struct audit_row *audit, struct errctx *ec)
{
    bool guarded = change && change->guarded && change->from->running && change->next_ms != change->from->next_ms;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_job(s, settings->job_id, change, ec);
    if (!e)
        e = compare_settings(s, from, ec);
    if (!e && guarded)
        e = store_check_guard(s, ec);
    if (!e && change)
        e = write_schedule(s, settings->job_id, change, ec);
    if (!e)
        e = store_write_settings(s, settings, ec);
    if (!e)
        e = store_put_audit(s, audit, ec);
    if (!e && guarded)
        e = store_check_guard(s, ec);
    e = store_finish_txn(s, e, ec);
    return e ? err_wrap(ec, e, "save settings of job %" PRId64, settings->job_id) : ERR_OK;
}
