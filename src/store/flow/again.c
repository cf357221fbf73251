/* SPDX-License-Identifier: MIT */
#include "store/flow/again.h"
#include "shardwheel/store/flow_move.h"
#include "store/conn/rows.h"

#define DUE_AT_ONCE_MS 1

/* What the server knows of a step or of an item. */
struct known {
    int64_t state, log_id, items, items_begun;
};

static enum err read_known(struct store_session *s, struct known *out, struct errctx *ec)
{
    static const struct row_type type = ROWS(struct known, FIELDS(struct known, state, log_id, items, items_begun));
    enum err e = store_read_row(s, &type, out, NULL, ec);

    return e == ERR_NOTFOUND ? ERR_OK : e;
}

/* Ids that are given after a failover are above all that were given before. */
static bool may_begin(const struct known *known, const struct sent_row *row)
{
    return (known->state == FLOW_WAITING || known->state == FLOW_RUNNING) && known->log_id < row->log_id;
}

/* It is locked, and looked at. One in line had begun when the step was sent. */
static enum err hold_run(struct store_session *s, int64_t run, bool *held, struct errctx *ec)
{
    struct db_effect effect = {0};
    enum err e = store_exec(s, &effect, ec,
                            "UPDATE shardwheel_flow_run SET state = ?, look_ms = 0 WHERE id = ? AND state IN (?, ?)",
                            FLOW_RUN_RUNNING, run, FLOW_RUN_QUEUED, FLOW_RUN_RUNNING);

    *held = effect.matched > 0;
    return e;
}

#define NOTHING "wake_ms = NULL, ended_ms = NULL, code = NULL, address = NULL, result = NULL, message = NULL"

static enum err begin_step(struct store_session *s, const struct sent_row *row, struct errctx *ec)
{
    return store_exec(s, NULL, ec,
                      "INSERT INTO shardwheel_flow_step (run_id, step, state, log_id, tries, started_ms) VALUES (?, ?, "
                      "?, ?, 1, ?) ON DUPLICATE KEY UPDATE state = VALUES(state), log_id = VALUES(log_id), tries = "
                      "tries + 1, started_ms = COALESCE(started_ms, VALUES(started_ms)), " NOTHING,
                      row->flow_run, row->flow_step, FLOW_RUNNING, row->log_id, row->due_s * 1000);
}

/* A step with items, as it is when it begins. */
static enum err begin_items(struct store_session *s, const struct sent_row *row, struct errctx *ec)
{
    return store_exec(
        s, NULL, ec,
        "INSERT INTO shardwheel_flow_step (run_id, step, state, tries, started_ms, items, items_begun, items_ended, "
        "items_failed) VALUES (?, ?, ?, 0, ?, ?, 0, 0, 0) ON DUPLICATE KEY UPDATE state = VALUES(state), started_ms = "
        "VALUES(started_ms), items = VALUES(items), items_begun = 0, items_ended = 0, items_failed = 0, " NOTHING,
        row->flow_run, row->flow_step, FLOW_RUNNING, row->due_s * 1000, row->flow_items);
}

/* Those before it had begun, too: what of them was not sent is tried now. */
static enum err begin_items_before(struct store_session *s, const struct sent_row *row, int64_t begun,
                                   struct errctx *ec)
{
    enum err e = ERR_OK;

    for (int64_t at = begun; at < row->flow_item && !e; at += STORE_LIST_MAX) {
        struct sqlbuf *q = store_start_sql(
            s, "INSERT IGNORE INTO shardwheel_flow_item (run_id, step, item, state, tries, wake_ms) VALUES ");
        for (int64_t i = at; i < row->flow_item && i < at + STORE_LIST_MAX; i++)
            sql_put(q, "?(?,?,?,?,0,?)", sql_word(i > at ? "," : ""), row->flow_run, row->flow_step, i, FLOW_RUNNING,
                    DUE_AT_ONCE_MS);
        e = store_exec_sql(s, NULL, ec);
    }
    if (e || begun > row->flow_item)
        return e;
    return store_exec(s, NULL, ec, "UPDATE shardwheel_flow_step SET items_begun = ? WHERE run_id = ? AND step = ?",
                      row->flow_item + 1, row->flow_run, row->flow_step);
}

static enum err begin_item(struct store_session *s, const struct sent_row *row, const struct known *step, bool *begun,
                           struct errctx *ec)
{
    struct known item = {0};
    bool is_new = step->state == FLOW_WAITING || step->items == 0;
    enum err e = ERR_OK;

    if (is_new)
        e = begin_items(s, row, ec);
    else
        store_sql(s,
                  "SELECT state, COALESCE(log_id, 0), 0, 0 FROM shardwheel_flow_item WHERE run_id = ? AND step = ? AND "
                  "item = ? FOR UPDATE",
                  row->flow_run, row->flow_step, row->flow_item);
    if (!is_new)
        e = read_known(s, &item, ec);
    *begun = !e && may_begin(&item, row);
    if (!*begun)
        return e;
    e = begin_items_before(s, row, is_new ? 0 : step->items_begun, ec);
    if (e)
        return e;
    return store_exec(s, NULL, ec,
                      "INSERT INTO shardwheel_flow_item (run_id, step, item, state, log_id, tries, started_ms) VALUES "
                      "(?, ?, ?, ?, ?, 1, ?) ON DUPLICATE KEY UPDATE state = VALUES(state), log_id = VALUES(log_id), "
                      "tries = tries + 1, started_ms = COALESCE(started_ms, VALUES(started_ms)), " NOTHING,
                      row->flow_run, row->flow_step, row->flow_item, FLOW_RUNNING, row->log_id, row->due_s * 1000);
}

enum err flow_begin_again(struct store_session *s, const struct sent_row *row, size_t *begun, struct errctx *ec)
{
    struct known step = {0};
    bool held = false, some = false;
    enum err e = hold_run(s, row->flow_run, &held, ec);

    if (e || !held)
        return e;
    store_sql(s,
              "SELECT state, COALESCE(log_id, 0), COALESCE(items, 0), COALESCE(items_begun, 0) FROM "
              "shardwheel_flow_step WHERE run_id = ? AND step = ? FOR UPDATE",
              row->flow_run, row->flow_step);
    e = read_known(s, &step, ec);
    if (e || !may_begin(&step, row))
        return e;
    some = row->flow_items == 0;
    e = some ? begin_step(s, row, ec) : begin_item(s, row, &step, &some, ec);
    if (e || !some)
        return e;
    *begun += 1;
    return store_exec(s, NULL, ec,
                      "INSERT INTO shardwheel_flow_fire (log_id, run_id, step, item) VALUES (?, ?, ?, ?) ON DUPLICATE "
                      "KEY UPDATE run_id = VALUES(run_id), step = VALUES(step), item = VALUES(item)",
                      row->log_id, row->flow_run, row->flow_step, row->flow_items ? row->flow_item : -1);
}
