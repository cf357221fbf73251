/* SPDX-License-Identifier: MIT */
/* shardwheel_delivery: what is there, for people and for who sends it. */
#include "shardwheel/store/hook.h"

#include <inttypes.h>

#include "store/conn/rows.h"
#include "store/people/audit.h"

#define LOOK_MAX 1000 /* events that wait, among which those that are due are looked for */

/* ---- for people -------------------------------------------------------------------------------------------------- */

#define DELIVERIES                                                                                                     \
    "d.id, d.hook_id, h.name, d.kind, d.line, j.job_desc, f.name, d.log_id, d.run_id, d.state, d.tries, "              \
    "d.made_ms, IF(d.state = 0, GREATEST(d.next_ms, h.next_ms), 0), d.ended_ms, d.status, d.error FROM "               \
    "shardwheel_delivery d JOIN shardwheel_hook h ON h.id = d.hook_id LEFT JOIN xxl_job_info j ON j.id = "             \
    "d.line LEFT JOIN shardwheel_flow f ON f.id = -d.line WHERE 1 = 1"

static enum err read_list(struct store_session *s, struct deliveries *out, struct errctx *ec)
{
    static const struct row_type rows =
        ROWS(struct delivery, FIELDS(struct delivery, id, hook_id, hook, kind, line, job, flow, log_id, run_id, state,
                                     tries, made_ms, next_ms, ended_ms, status, error));

    return store_read_list(s, &rows, out, ec);
}

enum err store_load_deliveries(struct store_session *s, const struct delivery_filter *filter, int64_t before_id,
                               size_t limit, int limit_ms, struct deliveries *out, struct errctx *ec)
{
    struct sqlbuf *q = &s->sql;

    store_start_limited(s, limit_ms, DELIVERIES);
    if (filter->hook_id)
        sql_put(q, " AND d.hook_id = ?", filter->hook_id);
    if (filter->state >= 0)
        sql_put(q, " AND d.state = ?", filter->state);
    if (filter->job_id)
        sql_put(q, " AND d.line = ?", filter->job_id);
    sql_put(q, " AND d.id < ? ORDER BY d.id DESC LIMIT ?", before_id, limit);
    enum err e = read_list(s, out, ec);
    return e ? err_wrap(ec, e, "read deliveries of events") : ERR_OK;
}

enum err store_load_delivery(struct store_session *s, int64_t id, struct deliveries *out, struct errctx *ec)
{
    store_sql(s, "SELECT " DELIVERIES " AND d.id = ?", id);
    enum err e = read_list(s, out, ec);
    return e ? err_wrap(ec, e, "read delivery %" PRId64, id) : ERR_OK;
}

enum err store_resend_delivery(struct store_session *s, int64_t id, const struct audit_row *audit, struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e) {
        store_sql(s,
                  "UPDATE shardwheel_delivery SET since_ms = IF(state = 0, since_ms, " STORE_NOW_MS
                  "), tries = IF(state = 0, tries, 0), ended_ms = NULL, next_ms = 0, state = 0 WHERE id = ?",
                  id);
        e = store_exec_found(s, "delivery", ec);
    }
    if (!e)
        e = store_exec(s, NULL, ec,
                       "UPDATE shardwheel_hook SET next_ms = 0 WHERE id = (SELECT hook_id FROM shardwheel_delivery "
                       "WHERE id = ?)",
                       id);
    e = store_end_audited(s, e, audit, ec);
    return e ? err_wrap(ec, e, "send delivery %" PRId64 " again", id) : ERR_OK;
}

/* ---- what is told ------------------------------------------------------------------------------------------------ */

#define EVENT_COLUMNS                                                                                                  \
    "SELECT d.id, d.hook_id, d.kind, d.code, d.tries, d.line, d.log_id, d.run_id, d.made_ms, j.job_desc, g.app_name, " \
    "l.id IS NOT NULL, l.trigger_code, l.handle_code, l.executor_fail_retry_count, j.executor_fail_retry_count, "      \
    "l.trigger_time, l.handle_time, l.executor_address, LEFT(IF(l.handle_code <> 0, l.handle_msg, l.trigger_msg), "    \
    "8000), a.who, a.action, a.target_name, a.before_json, a.after_json, f.name, r.message, r.state, r.started_ms, "   \
    "r.ended_ms FROM "
#define EVENT_FACTS                                                                                                    \
    " LEFT JOIN xxl_job_log l ON l.id = d.log_id LEFT JOIN shardwheel_audit a ON a.id = d.audit_id LEFT JOIN "         \
    "xxl_job_info j ON j.id = d.line LEFT JOIN xxl_job_group g ON g.id = COALESCE(l.job_group, a.job_group) LEFT "     \
    "JOIN shardwheel_flow_run r ON r.id = d.run_id LEFT JOIN shardwheel_flow f ON f.id = -d.line "

static enum err read_events(struct store_session *s, struct hook_events *out, struct errctx *ec)
{
    static const struct row_type rows =
        ROWS(struct hook_event,
             FIELDS(struct hook_event, id, hook_id, kind, code, tries, line, log_id, run_id, made_ms, job_name,
                    app_name, has_run, trigger_code, handle_code, retries_left, retries),
             TIME(struct hook_event, triggered_s, 0), TIME(struct hook_event, ended_s, 0),
             FIELDS(struct hook_event, address, message, who, action, audit_name),
             NULL_TEXTS(struct hook_event, before, after),
             FIELDS(struct hook_event, flow_name, flow_message, flow_state, started_ms, ended_ms));

    return store_read_list(s, &rows, out, ec);
}

enum err store_load_hook_event(struct store_session *s, int64_t id, struct hook_events *out, struct errctx *ec)
{
    store_sql(s, EVENT_COLUMNS "shardwheel_delivery d" EVENT_FACTS "WHERE d.id = ?", id);
    enum err e = read_events(s, out, ec);
    return e ? err_wrap(ec, e, "read event %" PRId64, id) : ERR_OK;
}

enum err store_load_due_events(struct store_session *s, int64_t hook_id, const int64_t *busy, size_t busy_count,
                               size_t max, struct hook_events *out, struct errctx *ec)
{
    /* Of the oldest ones alone: there may be very many. A line is left out while one of it waits for its time. */
    struct sqlbuf *q = store_sql(
        s,
        EVENT_COLUMNS
        "(SELECT MIN(w.id) AS id FROM (SELECT id, line FROM shardwheel_delivery FORCE INDEX (shardwheel_delivery_wait) "
        "WHERE hook_id = ? AND state = 0 AND line NOT IN (SELECT line FROM shardwheel_delivery WHERE hook_id = ? AND "
        "state = 0 AND next_ms > " STORE_NOW_MS ") ORDER BY id LIMIT ?) w GROUP BY w.line) oldest JOIN "
        "shardwheel_delivery d ON d.id = oldest.id" EVENT_FACTS "WHERE d.state = 0",
        hook_id, hook_id, LOOK_MAX);

    if (busy_count)
        sql_put(q, " AND d.id NOT IN (?)", sql_list(busy, busy_count));
    sql_put(q, " ORDER BY d.id LIMIT ?", max);
    enum err e = read_events(s, out, ec);
    return e ? err_wrap(ec, e, "look for events of webhook %" PRId64, hook_id) : ERR_OK;
}
