/* SPDX-License-Identifier: MIT */
/* Rows of shardwheel_alarm, as people are shown them. */
#include "store/conn/rows.h"
#include "shardwheel/store/alarm.h"

enum err store_load_alarm_states(struct store_session *s, int64_t after_job, size_t limit, const int64_t *groups,
                                 size_t group_count, struct alarm_state **out, size_t *count, struct errctx *ec)
{
    static const struct row_type states =
        ROWS(struct alarm_state,
             FIELDS(struct alarm_state, job_id, last_log, failures, failing, quiet_until_ms, due, job_group, job_name));
    struct sqlbuf *q =
        store_sql(s,
                  "SELECT a.job_id, a.last_log, a.failures, a.failing, IF(a.quiet_until_ms > " STORE_NOW_MS
                  ", a.quiet_until_ms, 0), a.log_id IS NOT NULL, j.job_group, j.? FROM shardwheel_alarm a LEFT JOIN "
                  "xxl_job_info j ON j.id = a.job_id WHERE a.job_id > 0 AND a.job_id > ?",
                  store_job_name(s), after_job);

    if (groups)
        sql_put(q, " AND j.job_group IN (?)", sql_list(groups, group_count));
    sql_put(q, " ORDER BY a.job_id LIMIT ?", limit);
    enum err e = store_read_array(s, &states, out, count, ec);
    return e ? err_wrap(ec, e, "read the alarms") : ERR_OK;
}
