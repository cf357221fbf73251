/* SPDX-License-Identifier: MIT */
/* What the rules are held against: jobs, their last runs, the cursors of shards. */
#include <inttypes.h>

#include "shardwheel/store/watch.h"
#include "store/conn/rows.h"

#define RUNS_BACK 200 /* among which the last successes are looked for */

enum err store_load_watched_jobs(struct store_session *s, bool all, struct watched_jobs *out, struct errctx *ec)
{
    static const struct row_type jobs =
        ROWS(struct watched_job,
             FIELDS(struct watched_job, job_id, started, app_name, tags, time_zone, schedule_type, schedule_conf,
                    success_within_s, longest_run_s, done_by),
             TIME(struct watched_job, changed_s, 0), TIME(struct watched_job, set_s, 0));

    store_sql(s,
              "SELECT j.id, j.trigger_status = 1, g.app_name, o.tags, o.time_zone, j.schedule_type, j.schedule_conf, "
              "COALESCE(o.success_within_s, -1), COALESCE(o.longest_run_s, -1), o.done_by, j.update_time, "
              "o.update_time FROM xxl_job_info j LEFT JOIN xxl_job_group g ON g.id = j.job_group LEFT JOIN "
              "shardwheel_job o ON o.job_id = j.id WHERE ? ORDER BY j.id",
              sql_word(all ? "TRUE" : "COALESCE(o.success_within_s, o.longest_run_s, o.done_by) IS NOT NULL"));
    enum err e = store_read_list(s, &jobs, out, ec);
    return e ? err_wrap(ec, e, "read the jobs that are watched") : ERR_OK;
}

/* An index over the job alone has its rows by id; one over job and time has them by time. */
static void put_ended(struct sqlbuf *q, const struct store_features *f, int64_t job_id, int64_t each)
{
    bool by_id = f->log_job_id_name[0] != '\0';

    sql_put(q,
            "(SELECT job_id, handle_code, trigger_time, handle_time FROM xxl_job_log FORCE INDEX (?) WHERE job_id = ? "
            "AND NOT (handle_code = 0 AND trigger_code IN (0, 200)) ORDER BY ? DESC LIMIT ?)",
            sql_word(by_id ? f->log_job_id_name : f->log_job_time_name), job_id,
            sql_word(by_id ? "id" : "trigger_time DESC, id"), each);
}

enum err store_load_successes(struct store_session *s, const int64_t *job_ids, size_t count, int64_t each,
                              struct job_success **out, size_t *out_count, bool *indexed, struct errctx *ec)
{
    static const struct row_type successes =
        ROWS(struct job_success, FIELDS(struct job_success, job_id, ended), TIME(struct job_success, success_s, 0),
             TIME(struct job_success, begun_s, 0));
    struct store_features features;
    struct row_list list = {0};
    enum err e = store_get_features(s, &features, ec);

    *out = NULL;
    *out_count = 0;
    *indexed = !e && (features.log_job_id_name[0] || features.log_job_time_name[0]);
    for (size_t at = 0; at < count && *indexed && !e;) {
        struct sqlbuf *q = store_start_sql(s, "SELECT job_id, COUNT(*), MAX(IF(handle_code = 200, handle_time, NULL)), "
                                              "MAX(IF(handle_code = 200, trigger_time, NULL)) FROM (");
        for (size_t first = at; at < count && at < first + 200; at++) {
            sql_puts(q, at > first ? " UNION ALL " : "");
            put_ended(q, &features, job_ids[at], each);
        }
        sql_puts(q, ") r GROUP BY job_id");
        e = store_append_list(s, &successes, &list, ec);
    }
    if (*indexed || e)
        e = store_end_array(&list, e, out, out_count);
    return e ? err_wrap(ec, e, "look for the last successes of %zu jobs", count) : ERR_OK;
}

enum err store_load_durations(struct store_session *s, int64_t job_id, int64_t *out, size_t max, size_t *count,
                              struct errctx *ec)
{
    struct store_features features;
    enum err e = store_get_features(s, &features, ec);

    *count = 0;
    if (!e && (features.log_job_id_name[0] || features.log_job_time_name[0])) {
        struct sqlbuf *q = store_start_sql(s, "SELECT GREATEST(d, 0) FROM (SELECT TIMESTAMPDIFF(SECOND, trigger_time, "
                                              "handle_time) d FROM ");
        put_ended(q, &features, job_id, RUNS_BACK);
        sql_put(q, " r WHERE handle_code = 200 AND handle_time IS NOT NULL LIMIT ?) t ORDER BY 1", max);
        e = store_read_ids(s, out, max, count, ec);
    }
    return e ? err_wrap(ec, e, "look how long job %" PRId64 " takes", job_id) : ERR_OK;
}

enum err store_load_shard_cursors(struct store_session *s, struct shard_lateness **out, size_t *count,
                                  struct errctx *ec)
{
    static const struct row_type cursors = ROWS(struct shard_lateness, FIELDS(struct shard_lateness, shard, cursor_s));

    store_start_sql(s, "SELECT c.shard, c.cursor_s FROM shardwheel_cursor c JOIN shardwheel_cluster k ON c.shard < "
                       "k.shards ORDER BY c.shard");
    enum err e = store_read_array(s, &cursors, out, count, ec);
    return e ? err_wrap(ec, e, "read the cursors of the shards") : ERR_OK;
}

/* ---- what is told of them ---------------------------------------------------------------------------------------- */

enum err store_load_watch_facts(struct store_session *s, enum watch_kind kind, int64_t target, struct watch_facts *out,
                                struct errctx *ec)
{
    static const struct row_type facts =
        ROWS(struct watch_facts, FIELDS(struct watch_facts, name, emails, group_name, app_name, tags));

    if (kind == WATCH_LATE_SHARD) {
        *out = (struct watch_facts){"", "", "", "", "", NULL};
        return ERR_OK;
    }
    if (kind == WATCH_FEW_EXECUTORS)
        store_sql(s, "SELECT ?, '', ?, app_name, '' FROM xxl_job_group WHERE id = ?", store_group_title(s),
                  store_group_title(s), target);
    else
        store_sql(s,
                  "SELECT j.?, j.alarm_email, g.?, g.app_name, o.tags FROM xxl_job_info j LEFT JOIN xxl_job_group g ON "
                  "g.id = j.job_group LEFT JOIN shardwheel_job o ON o.job_id = j.id WHERE j.id = ?",
                  store_job_name(s), store_group_title(s), target);
    enum err e = store_read_row(s, &facts, out, &out->memory, ec);
    return e && e != ERR_NOTFOUND ? err_wrap(ec, e, "read the open alarms") : e;
}

FINI_BY(store_free_memory, watch_facts, memory)

enum err store_load_open_alarms(struct store_session *s, const int64_t *groups, size_t group_count,
                                struct open_alarms *out, struct errctx *ec)
{
    static const struct row_type alarms =
        ROWS(struct open_alarm,
             FIELDS(struct open_alarm, kind, target, told, since_ms, log_id, group_id, detail, name, app_name));

    struct sqlbuf *q =
        store_sql(s,
                  "SELECT w.kind, w.target, w.phase = 1, w.since_ms, w.log_id, g.id, w.detail, COALESCE(j.?, g.?), "
                  "g.app_name "
                  "FROM shardwheel_watch w LEFT JOIN xxl_job_info j ON j.id = w.target AND w.kind IN ('no_success', "
                  "'long_run', 'not_done') LEFT JOIN xxl_job_group g ON g.id = IF(w.kind = 'few_executors', w.target, "
                  "j.job_group) WHERE w.phase < 2",
                  store_job_name(s), store_group_title(s));
    if (groups)
        sql_put(q, " AND g.id IN (?)", sql_list(groups, group_count));
    sql_puts(q, " ORDER BY w.since_ms DESC, w.kind, w.target LIMIT 1000");
    enum err e = store_read_list(s, &alarms, out, ec);
    return e ? err_wrap(ec, e, "read what did not happen") : ERR_OK;
}
