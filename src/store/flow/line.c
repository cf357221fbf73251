/* SPDX-License-Identifier: MIT */
#include "store/flow/line.h"

#include "shardwheel/store/flow_move.h"

enum err line_decide(struct store_session *s, int64_t flow_id, enum flow_policy policy, int64_t queue_max,
                     enum line_verdict *out, struct errctx *ec)
{
    struct db_rows *rows = NULL;
    int64_t waiting = 0, running = 0;

    *out = LINE_BEGINS;
    if (policy == FLOW_PARALLEL)
        return ERR_OK;
    enum err e = store_query(s, &rows, ec,
                             "SELECT SUM(state = ?), SUM(state = ?) FROM shardwheel_flow_run WHERE flow_id = ? AND "
                             "state IN (?, ?)",
                             FLOW_RUN_QUEUED, FLOW_RUN_RUNNING, flow_id, FLOW_RUN_QUEUED, FLOW_RUN_RUNNING);
    if (!e && db_rows_next(rows)) {
        waiting = db_int(rows, 0);
        running = db_int(rows, 1);
    }
    db_rows_destroy(rows);
    if (e || waiting + running == 0)
        return e;
    *out = policy == FLOW_SKIP_IF_RUNNING ? LINE_IS_OPEN : waiting >= queue_max ? LINE_IS_FULL : LINE_WAITS;
    return ERR_OK;
}

enum err line_insert_run(struct store_session *s, const struct flow_run_start *run, enum flow_run_state state,
                         int64_t due_s, const char *message, int64_t *id, struct errctx *ec)
{
    bool ended = state == FLOW_RUN_SKIPPED;
    struct db_effect effect = {0};
    enum err e = store_exec(
        s, &effect, ec,
        "INSERT INTO shardwheel_flow_run (flow_id, version, state, kind, due_s, parameters, request_key, depth, who, "
        "created_ms, started_ms, ended_ms, look_ms, late_told, message) VALUES (?, ?, ?, ?, ?, ?, ?, 0, "
        "?, " STORE_NOW_MS ", ?, ?, ?, 0, ?)",
        run->flow_id, run->version, (int64_t)state, run->kind,
        due_s ? sql_of_int(due_s) : sql_word(STORE_NOW_MS " DIV 1000"), sql_or_null(run->parameters),
        sql_or_null(run->key), sql_fitted(run->who, 100, TEXT_AS_IS),
        sql_word(state == FLOW_RUN_RUNNING ? STORE_NOW_MS : "NULL"), sql_word(ended ? STORE_NOW_MS : "NULL"),
        sql_word(ended ? "NULL" : "0"), sql_or_null(message));

    *id = effect.first_id;
    return e;
}
