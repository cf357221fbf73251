/* SPDX-License-Identifier: MIT */
/* What an alarm tells of a log row, and how it ended. */
#include <inttypes.h>

#include "store/conn/session.h"
#include "shardwheel/store/run.h"

enum err store_load_alarm(struct store_session *s, int64_t log_id, struct alarm_facts *out, struct errctx *ec)
{
    struct store_features features;
    struct db_rows *rows = NULL;
    enum err e = store_get_features(s, &features, ec);

    if (!e)
        e = store_ready_session(s, ec);
    if (e)
        return err_wrap(ec, e, "read log %" PRId64 " for its alarm", log_id);
    struct sqlbuf *q = store_start_sql(s, "SELECT l.job_id, j.id, j.alarm_email, j.");
    sql_puts(q, features.job_name_is_desc ? "job_desc" : "name");
    sql_puts(q, features.group_title ? ", g.title" : ", g.name");
    sql_puts(q, ", l.trigger_code, l.handle_code, l.trigger_msg, l.handle_msg FROM xxl_job_log l "
                "LEFT JOIN xxl_job_info j ON j.id = l.job_id LEFT JOIN xxl_job_group g ON g.id = j.job_group "
                "WHERE l.id = ");
    sql_int(q, log_id);
    e = store_query_sql(s, &rows, ec);
    if (!e && !db_rows_next(rows)) {
        db_rows_destroy(rows);
        e = err_set(ec, ERR_NOTFOUND, "there is no such row");
    }
    if (e)
        return err_wrap(ec, e, "read log %" PRId64 " for its alarm", log_id);
    *out = (struct alarm_facts){
        .log_id = log_id,
        .job_id = db_int(rows, 0),
        .job_exists = db_text(rows, 1) != NULL,
        .emails = db_text_or_empty(rows, 2),
        .job_name = db_text_or_empty(rows, 3),
        .group_name = db_text(rows, 4),
        .trigger_code = (int)db_int(rows, 5),
        .handle_code = (int)db_int(rows, 6),
        .trigger_msg = db_text_or_empty(rows, 7),
        .handle_msg = db_text_or_empty(rows, 8),
        .memory = rows,
    };
    return ERR_OK;
}

void alarm_facts_fini(struct alarm_facts *facts)
{
    db_rows_destroy(facts->memory);
    *facts = (struct alarm_facts){0};
}

static enum err move_status(struct store_session *s, const int64_t *log_ids, size_t count, enum alarm_status from,
                            enum alarm_status to, struct errctx *ec)
{
    enum err e = store_ready_session(s, ec);

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX) {
        struct sqlbuf *q = store_start_sql(s, "UPDATE xxl_job_log FORCE INDEX (PRIMARY) SET alarm_status = ");
        sql_int(q, to);
        sql_puts(q, " WHERE id IN (");
        sql_ids(q, log_ids + at, count - at < STORE_LIST_MAX ? count - at : STORE_LIST_MAX);
        sql_puts(q, ") AND alarm_status = ");
        sql_int(q, from);
        e = store_write_sql(s, NULL, ec);
    }
    return e ? err_wrap(ec, e, "write alarm status %d of %zu log rows", (int)to, count) : ERR_OK;
}

enum err store_end_alarms(struct store_session *s, const int64_t *log_ids, size_t count, enum alarm_status status,
                          struct errctx *ec)
{
    return move_status(s, log_ids, count, ALARM_LOCKED, status, ec);
}

enum err store_set_aside_failure(struct store_session *s, int64_t log_id, struct errctx *ec)
{
    return move_status(s, &log_id, 1, ALARM_OPEN, ALARM_FAILED, ec);
}
