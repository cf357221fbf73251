/* SPDX-License-Identifier: MIT */
/* shardwheel_flow_alarm: what people are to be told of flows. */
#include <inttypes.h>

#include "shardwheel/store/alarm.h"
#include "store/flow/move.h"

#define KEPT_MS "86400000" /* what nobody could be told of for a day is no news any more */

/* ---- in a move --------------------------------------------------------------------------------------------------- */

static enum err insert(struct store_session *s, const struct flow_moving *run, const char *event, int64_t now_ms,
                       struct errctx *ec)
{
    return store_exec(s, NULL, ec,
                      "INSERT INTO shardwheel_flow_alarm (flow_id, run_id, event, at_ms) VALUES (?, ?, ?, ?)",
                      run->flow_id, run->id, event, now_ms);
}

/* Many runs of a flow end at once, and few change this: the row is read without a lock, and locked where it differs. */
static enum err note_end(struct store_session *s, const struct flow_moving *run, int64_t now_ms, struct errctx *ec)
{
    bool failed = run->news == FLOW_NEWS_FAILED;
    struct db_effect effect = {0};
    int64_t failing = failed;
    enum err e =
        store_number(s, failed, &failing, ec, "SELECT failing FROM shardwheel_flow WHERE id = ?", run->flow_id);

    if (e || (failing != 0) == failed)
        return e;
    e = store_exec(s, &effect, ec, "UPDATE shardwheel_flow SET failing = ? WHERE id = ? AND failing = ?", (int)failed,
                   run->flow_id, (int)!failed);
    return e || effect.matched == 0 ? e : insert(s, run, failed ? "failed" : "recovered", now_ms, ec);
}

enum err flow_news_write(struct store_session *s, const struct flow_batch *batch, int64_t now_ms, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < batch->runs.count && !e; i++) {
        const struct flow_moving *run = &batch->runs.items[i];

        switch (run->news) {
        case FLOW_NEWS_NONE: break;
        case FLOW_NEWS_LATE: e = insert(s, run, "late", now_ms, ec); break;
        case FLOW_NEWS_FAILED:
        case FLOW_NEWS_GOOD: e = note_end(s, run, now_ms, ec); break;
        }
    }
    return e;
}

/* ---- telling ----------------------------------------------------------------------------------------------------- */

enum err store_find_flow_alarms(struct store_session *s, int64_t *ids, size_t max, size_t *count, struct errctx *ec)
{
    store_sql(s, "SELECT id FROM shardwheel_flow_alarm ORDER BY id LIMIT ?", max);
    enum err e = store_read_ids(s, ids, max, count, ec);
    return e ? err_wrap(ec, e, "look for alarms of flows") : ERR_OK;
}

enum err store_load_flow_alarm(struct store_session *s, int64_t id, struct flow_alarm *out, struct errctx *ec)
{
    static const struct row_type alarms =
        ROWS(struct flow_alarm, FIELDS(struct flow_alarm, id, flow_id, run_id, event, name),
             NULL_TEXTS(struct flow_alarm, document), FIELDS(struct flow_alarm, started_ms, why, step, step_why));

    /* Of the steps that failed the one that ended last: the others before it were handled, perhaps. */
    store_sql(s,
              "SELECT a.id, a.flow_id, a.run_id, a.event, f.name, v.document, COALESCE(r.started_ms, 0), "
              "COALESCE(r.message, ''), COALESCE(t.step, -1), COALESCE(t.message, '') FROM shardwheel_flow_alarm a "
              "LEFT JOIN shardwheel_flow f ON f.id = a.flow_id LEFT JOIN shardwheel_flow_run r ON r.id = a.run_id LEFT "
              "JOIN shardwheel_flow_version v ON v.flow_id = a.flow_id AND v.version = COALESCE(r.version, f.version) "
              "LEFT JOIN shardwheel_flow_step t ON t.run_id = a.run_id AND t.state = ? WHERE a.id = ? ORDER BY "
              "t.ended_ms DESC, t.step LIMIT 1",
              FLOW_FAILED, id);
    enum err e = store_read_row(s, &alarms, out, &out->memory, ec);
    return e && e != ERR_NOTFOUND ? err_wrap(ec, e, "read an alarm of a flow") : e;
}

FINI_BY(store_free_memory, flow_alarm, memory)

enum err store_load_app_names(struct store_session *s, const int64_t *job_ids, size_t count, struct app_names *out,
                              struct errctx *ec)
{
    static const struct row_type names = {.size = sizeof(const char *), .fields = {{.kind = FIELD_TEXT}}};

    store_sql(s,
              "SELECT DISTINCT g.app_name FROM xxl_job_info j JOIN xxl_job_group g ON g.id = j.job_group WHERE j.id IN "
              "(?) ORDER BY g.app_name",
              sql_list(job_ids, count));
    enum err e = store_read_list(s, &names, out, ec);
    return e ? err_wrap(ec, e, "read the groups of a flow") : ERR_OK;
}

enum err store_end_flow_alarm(struct store_session *s, int64_t id, struct errctx *ec)
{
    enum err e = store_write(s, NULL, ec, "DELETE FROM shardwheel_flow_alarm WHERE id = ?", id);

    return e ? err_wrap(ec, e, "end an alarm of a flow") : ERR_OK;
}

enum err store_forget_flow_alarms(struct store_session *s, struct errctx *ec)
{
    enum err e =
        store_write(s, NULL, ec, "DELETE FROM shardwheel_flow_alarm WHERE at_ms < " STORE_NOW_MS " - " KEPT_MS);

    return e ? err_wrap(ec, e, "delete old alarms of flows") : ERR_OK;
}
