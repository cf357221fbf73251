/* SPDX-License-Identifier: MIT */
/* Rows of shardwheel_alarm, as people are shown them. */
#include <stdio.h>

#include "store/conn/session.h"
#include "shardwheel/store/alarm.h"

static void read_state(struct db_rows *rows, int64_t now_ms, struct alarm_state *out)
{
    int64_t quiet_ms = db_int(rows, 4);

    *out = (struct alarm_state){.job_id = db_int(rows, 0),
                                .last_log = db_int(rows, 1),
                                .failures = db_int(rows, 2),
                                .failing = db_int(rows, 3) != 0,
                                .quiet_until_ms = quiet_ms > now_ms ? quiet_ms : 0,
                                .due = db_text(rows, 5) != NULL,
                                .job_group = db_int(rows, 6)};
    snprintf(out->job_name, sizeof out->job_name, "%s", db_text_or_empty(rows, 7));
}

enum err store_load_alarm_states(struct store_session *s, int64_t after_job, size_t limit, const int64_t *groups,
                                 size_t group_count, struct alarm_state **out, size_t *count, struct errctx *ec)
{
    struct store_features features;
    struct db_rows *rows = NULL;
    enum err e = store_ready_features(s, &features, ec);

    if (e)
        return err_wrap(ec, e, "read the alarms");
    struct sqlbuf *q = store_sql(
        s,
        "SELECT a.job_id, a.last_log, a.failures, a.failing, a.quiet_until_ms, a.log_id, j.job_group, "
        "j.?, " STORE_NOW_MS
        " FROM shardwheel_alarm a LEFT JOIN xxl_job_info j ON j.id = a.job_id WHERE a.job_id > 0 AND a.job_id > ?",
        sql_word(features.job_name_is_desc ? "job_desc" : "name"), after_job);
    if (groups)
        sql_put(q, " AND j.job_group IN (?)", sql_list(groups, group_count));
    sql_put(q, " ORDER BY a.job_id LIMIT ?", limit);
    e = store_query_sql(s, &rows, ec);
    struct alarm_state *list = db_rows_room(&rows, sizeof *list, &e, ec);
    size_t n = 0;
    if (e)
        return err_wrap(ec, e, "read the alarms");
    while (db_rows_next(rows)) {
        read_state(rows, db_int(rows, 8), &list[n]);
        n++;
    }
    db_rows_destroy(rows);
    *out = list;
    *count = n;
    return ERR_OK;
}
