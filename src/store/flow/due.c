/* SPDX-License-Identifier: MIT */
/* Flows that are due by their schedule. */
#include "shardwheel/store/flow_move.h"
#include "store/conn/rows.h"
#include "store/flow/line.h"

#include <inttypes.h>

#define NOW_S "(" STORE_NOW_MS " DIV 1000)"

/* The end of a run gives a flow with a delay its next due time, by this clock: by another one that is ahead the flow
 * would be due at once, again and again. */
enum err store_find_due_flows(struct store_session *s, const int *shards, size_t shard_count, int n, size_t max,
                              struct due_flow **out, size_t *count, struct errctx *ec)
{
    static const struct row_type flows =
        ROWS(struct due_flow, FIELDS(struct due_flow, id, version, at_ms, next_s, now_s));
    struct sqlbuf *q = store_sql(s, "SELECT f.id, f.version, v.at_ms, f.next_s, " NOW_S " FROM shardwheel_flow f LEFT "
                                    "JOIN shardwheel_flow_version v ON v.flow_id = f.id AND v.version = f.version "
                                    "WHERE f.next_s <= " NOW_S " AND f.started = 1");

    sql_and_shards(q, "f.id", shards, shard_count, n);
    sql_put(q, " ORDER BY f.next_s, f.id LIMIT ?", (int64_t)max);
    enum err e = store_read_array(s, &flows, out, count, ec);
    return e ? err_wrap(ec, e, "look for flows that are due") : ERR_OK;
}

static enum err insert_run(struct store_session *s, const struct flow_start *start, enum flow_run_state state,
                           char kind, const char *message, struct errctx *ec)
{
    const struct flow_run_start run = {
        .flow_id = start->flow.id, .version = start->flow.version, .kind = (const char[]){kind, '\0'}, .who = ""};
    int64_t id;

    return line_insert_run(s, &run, state, start->flow.next_s, message, &id, ec);
}

/* A flow whose next due time comes with the end of its run would never be due again. */
static enum err skip_run(struct store_session *s, const struct flow_start *start, const char *why, struct errctx *ec)
{
    enum err e = insert_run(s, start, FLOW_RUN_SKIPPED, start->kind, why, ec);

    if (e || !start->skipped_next_s)
        return e;
    return store_exec(s, NULL, ec, "UPDATE shardwheel_flow SET next_s = ? WHERE id = ?", start->skipped_next_s,
                      start->flow.id);
}

static enum err write_run(struct store_session *s, const struct flow_start *start, struct errctx *ec)
{
    enum line_verdict verdict;
    enum err e = line_decide(s, start->flow.id, start->policy, start->queue_max, &verdict, ec);

    if (e)
        return e;
    switch (verdict) {
    case LINE_BEGINS: return insert_run(s, start, FLOW_RUN_RUNNING, start->kind, NULL, ec);
    case LINE_WAITS: return insert_run(s, start, FLOW_RUN_QUEUED, start->kind, NULL, ec);
    case LINE_IS_OPEN: return skip_run(s, start, "the previous run was still open", ec);
    case LINE_IS_FULL: return skip_run(s, start, "too many runs wait in the queue", ec);
    }
    return ERR_OK;
}

static enum err start_in_txn(struct store_session *s, struct flow_epoch epoch, const struct flow_start *start,
                             struct errctx *ec)
{
    int64_t found = 0, same = 0;
    enum err e = store_number(s, -1, &found, ec,
                              "SELECT epoch FROM shardwheel_shard WHERE shard = ? LOCK IN SHARE MODE", epoch.shard);

    if (!e && found != epoch.epoch)
        return err_set(ec, ERR_STATE, "fenced: the shard is at epoch %" PRId64 ", ours is %" PRId64, found,
                       epoch.epoch);
    if (!e)
        e = store_number(s, 0, &same, ec,
                         "SELECT COUNT(*) FROM (SELECT id FROM shardwheel_flow WHERE id = ? AND version = ? AND "
                         "started = 1 AND next_s = ? FOR UPDATE) f",
                         start->flow.id, start->flow.version, start->flow.next_s);
    if (e || !same)
        return e;
    e = store_exec(s, NULL, ec, "UPDATE shardwheel_flow SET next_s = ? WHERE id = ?",
                   sql_int_or_null(start->new_next_s), start->flow.id);
    if (!e && start->missed)
        e = insert_run(s, start, FLOW_RUN_SKIPPED, 'C', start->missed, ec);
    if (!e && start->run)
        e = write_run(s, start, ec);
    return e ? e : store_commit_txn(s, ec);
}

enum err store_start_due_flow(struct store_session *s, struct flow_epoch epoch, const struct flow_start *start,
                              struct errctx *ec)
{
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = start_in_txn(s, epoch, start, ec);
    store_end_txn(s);
    return e ? err_wrap(ec, e, "start flow %" PRId64, start->flow.id) : ERR_OK;
}
