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

/* job_id, and the settings in their order. */
static void put_columns(struct sqlbuf *q)
{
    sql_puts(q, "job_id");
    for (size_t i = 0; i < job_setting_count(); i++)
        sql_put(q, ", ?", sql_word(job_setting_get(i)->column));
}

static struct job_settings read_settings(const struct db_rows *rows)
{
    struct job_settings read;

    job_settings_init(&read, db_int(rows, 0));
    for (unsigned i = 0; i < job_setting_count(); i++) {
        const struct job_setting *row = job_setting_get(i);
        void *field = (char *)&read + row->offset;

        if (job_setting_find_text(&read, i))
            snprintf(field, row->size, "%s", db_text_or_empty(rows, i + 1));
        else if (db_text(rows, i + 1))
            *(int64_t *)field = db_seconds(rows, i + 1);
    }
    return read;
}

static enum err load_some(struct store_session *s, const int64_t *ids, size_t count, struct job_settings **list,
                          size_t *n, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    struct job_settings *grown;
    struct sqlbuf *q = store_start_sql(s, "SELECT ");
    enum err e;

    put_columns(q);
    sql_put(q, " FROM shardwheel_job WHERE job_id IN (?) ORDER BY job_id", sql_list(ids, count));
    e = store_query_sql(s, &rows, ec);
    if (e)
        return e;
    grown = realloc(*list, (*n + db_rows_count(rows) + 1) * sizeof **list);
    if (grown) {
        *list = grown;
        while (db_rows_next(rows))
            grown[(*n)++] = read_settings(rows);
    } else {
        e = err_set(ec, ERR_NOMEM, "out of memory");
    }
    db_rows_destroy(rows);
    return e;
}

enum err store_load_job_settings(struct store_session *s, const int64_t *ids, size_t count, struct job_settings **out,
                                 size_t *out_count, struct errctx *ec)
{
    struct job_settings *list = NULL;
    size_t n = 0;
    enum err e = s->in_txn ? ERR_OK : store_ready_session(s, ec);

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX)
        e = load_some(s, ids + at, count - at < STORE_LIST_MAX ? count - at : STORE_LIST_MAX, &list, &n, ec);
    if (e) {
        free(list);
        return err_wrap(ec, e, "read settings of %zu jobs", count);
    }
    *out = list;
    *out_count = n;
    return ERR_OK;
}

enum err store_load_retentions(struct store_session *s, struct job_retention **out, size_t *count, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    struct job_retention *list = NULL;
    size_t n = 0;
    enum err e =
        store_ask(s, &rows, ec,
                  "SELECT job_id, retention_days FROM shardwheel_job WHERE retention_days IS NOT NULL ORDER BY job_id");

    list = db_rows_room(&rows, sizeof *list, &e, ec);
    while (!e && db_rows_next(rows))
        list[n++] = (struct job_retention){.job_id = db_int(rows, 0), .days = db_int(rows, 1)};
    db_rows_destroy(rows);
    if (e)
        return err_wrap(ec, e, "read the retention of jobs");
    *out = list;
    *count = n;
    return ERR_OK;
}

/* ---- the schedule of one job ------------------------------------------------------------------------------------- */

enum err store_no_such_job(int64_t job_id, struct errctx *ec)
{
    return err_set(ec, ERR_NOTFOUND, "there is no job %" PRId64, job_id);
}

static enum err query_schedule(struct store_session *s, struct job_schedule *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    enum err e =
        store_query(s, &rows, ec,
                    "SELECT i.trigger_status, i.trigger_next_time, i.schedule_type, i.schedule_conf, " STORE_NOW_MS
                    ", c.zone_cron FROM xxl_job_info i LEFT JOIN shardwheel_cluster c ON c.id = 1 WHERE i.id = ?",
                    out->job_id);

    if (e)
        return e;
    if (db_rows_next(rows)) {
        out->running = db_int(rows, 0) == 1;
        out->next_ms = db_int(rows, 1);
        out->now_ms = db_int(rows, 4);
        snprintf(out->type, sizeof out->type, "%s", db_text_or_empty(rows, 2));
        snprintf(out->conf, sizeof out->conf, "%s", db_text_or_empty(rows, 3));
        snprintf(out->cron_zone, sizeof out->cron_zone, "%s", db_text_or_empty(rows, 5));
    } else {
        e = store_no_such_job(out->job_id, ec);
    }
    db_rows_destroy(rows);
    return e;
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
    enum err e = store_ask(s, &rows, ec, "SELECT zone_cron FROM shardwheel_cluster");

    if (!e)
        snprintf(out, ZONE_NAME_MAX, "%s", db_rows_next(rows) ? db_text_or_empty(rows, 0) : "");
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "read the zone of cron expressions") : ERR_OK;
}

enum err store_load_job_schedule(struct store_session *s, int64_t job_id, struct job_schedule *out, struct errctx *ec)
{
    struct job_schedule read = {.job_id = job_id};
    enum err e = store_ready_session(s, ec);

    if (!e)
        e = query_schedule(s, &read, ec);
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
    struct db_rows *rows = NULL;
    enum err e = store_query(s, &rows, ec,
                             "SELECT trigger_status, trigger_next_time, schedule_type, schedule_conf FROM xxl_job_info "
                             "WHERE id = ? FOR UPDATE",
                             job_id);

    if (e)
        return e;
    if (!db_rows_next(rows))
        e = store_no_such_job(job_id, ec);
    else if (change && (change->from->running != (db_int(rows, 0) == 1) || change->from->next_ms != db_int(rows, 1) ||
                        strcmp(change->from->type, db_text_or_empty(rows, 2)) != 0 ||
                        strcmp(change->from->conf, db_text_or_empty(rows, 3)) != 0))
        e = meanwhile_changed(job_id, ec);
    db_rows_destroy(rows);
    return e;
}

enum err store_read_settings(struct store_session *s, int64_t job_id, struct job_settings *out, struct errctx *ec)
{
    struct job_settings *list = NULL;
    size_t count = 0;
    enum err e = load_some(s, &job_id, 1, &list, &count, ec);

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
    struct db_rows *rows = NULL;
    struct claim_guards guards = {0};
    enum err e = store_query(s, &rows, ec, "SELECT ?", sql_word(store_guards_column));

    if (e)
        return e;
    if (db_rows_next(rows))
        store_parse_guards(db_text(rows, 0), &guards);
    db_rows_destroy(rows);
    if (guards.count > 0)
        return ERR_OK;
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

enum err store_write_settings(struct store_session *s, const struct job_settings *settings, struct errctx *ec)
{
    struct sqlbuf *q;

    if (job_settings_are_empty(settings))
        return store_exec(s, NULL, ec, "DELETE FROM shardwheel_job WHERE job_id = ?", settings->job_id);
    q = store_start_sql(s, "REPLACE INTO shardwheel_job (");
    put_columns(q);
    sql_put(q, ", update_time) VALUES (?", settings->job_id);
    for (size_t i = 0; i < job_setting_count(); i++) {
        const char *text = job_setting_find_text(settings, i);

        sql_puts(q, ", ");
        if (!job_setting_is_set(settings, i))
            sql_puts(q, "NULL");
        else if (text)
            sql_put(q, "?", text);
        else
            sql_int(q, job_setting_number(settings, i));
    }
    sql_put(q, ", ?)", sql_time(s->st->zone, clock_wall_ms(s->st->clock) / 1000));
    return store_exec_sql(s, NULL, ec);
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
