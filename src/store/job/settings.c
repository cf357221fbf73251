/* SPDX-License-Identifier: MIT */
/* shardwheel_job: settings of ours per job. */
#include "shardwheel/store/job.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "shardwheel/job/times.h"
#include "store/conn/datetime.h"
#include "store/job/job_impl.h"
#include "store/plan/claim_impl.h"
#include "store/schema/upgrade.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* job_id, and the settings in their order. What tables of that version do not have yet is not set. */
static void put_columns(struct sqlbuf *q, int version)
{
    sql_puts(q, "job_id");
    for (size_t i = 0; i < job_setting_count(); i++)
        sql_put(q, ", ?", sql_word(job_setting_get(i)->since > version ? "NULL" : job_setting_get(i)->column));
}

static bool read_settings(const struct store_session *s, const struct db_rows *row, void *item)
{
    struct job_settings *read = item;

    (void)s;
    job_settings_init(read, db_int(row, 0));
    for (unsigned i = 0; i < job_setting_count(); i++) {
        const struct job_setting *setting = job_setting_get(i);
        void *field = (char *)read + setting->offset;

        if (job_setting_find_text(read, i))
            snprintf(field, setting->size, "%s", db_text_or_empty(row, i + 1));
        else if (db_text(row, i + 1))
            *(int64_t *)field = db_seconds(row, i + 1);
    }
    return true;
}

static const struct row_type settings_rows = {.size = sizeof(struct job_settings), .finish = read_settings};

enum err store_load_job_settings(struct store_session *s, const int64_t *ids, size_t count, struct job_settings **out,
                                 size_t *out_count, struct errctx *ec)
{
    struct row_list list = {0};
    enum err e = ERR_OK;

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        int version = store_features(s)->own_version;
        struct sqlbuf *q = store_start_sql(s, "SELECT ");

        put_columns(q, version);
        sql_put(q, " FROM shardwheel_job WHERE job_id IN (?) ORDER BY job_id", sql_part(ids, count, at));
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

/* ---- what jobs are planned by ------------------------------------------------------------------------------------ */

enum err store_no_such_job(int64_t job_id, struct errctx *ec)
{
    return err_set(ec, ERR_NOTFOUND, "there is no job %" PRId64, job_id);
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

/* ---- writing ----------------------------------------------------------------------------------------------------- */

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

enum err store_check_guard(struct store_session *s, struct errctx *ec)
{
    struct claim_guards guards;
    enum err e = store_load_guards(s, &guards, ec);

    if (e || guards.count > 0)
        return e;
    return err_set(
        ec, ERR_GUARD,
        "no node keeps Java admins on standby at the moment, so one of them may be planning the job: try again in a "
        "moment, or stop the job first");
}

enum err store_write_settings(struct store_session *s, const struct job_settings *settings, struct errctx *ec)
{
    struct sqlbuf *q;

    if (job_settings_are_empty(settings))
        return store_exec(s, NULL, ec, "DELETE FROM shardwheel_job WHERE job_id = ?", settings->job_id);
    q = store_start_sql(s, "REPLACE INTO shardwheel_job (");
    put_columns(q, OWN_VERSION);
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
