/* SPDX-License-Identifier: MIT */
/* What a move reads of its runs, in its transaction. */
#include "shardwheel/job/codes.h"
#include "store/flow/move.h"

#include <stdlib.h>

#define DUE_AT_ONCE 50 /* steps in one statement */

/* Rows are read in the order of their runs: of each run they are a slice. */
#define SLICES(batch, list, member, counter)                                                                           \
    do {                                                                                                               \
        size_t at_ = 0;                                                                                                \
        for (size_t r_ = 0; r_ < (batch)->runs.count; r_++) {                                                          \
            struct flow_moving *run_ = &(batch)->runs.items[r_];                                                       \
            while (at_ < (list).count && (list).items[at_].run_id < run_->id)                                          \
                at_++;                                                                                                 \
            run_->member = (list).items ? (list).items + at_ : NULL;                                                   \
            while (at_ < (list).count && (list).items[at_].run_id == run_->id)                                         \
                at_++, run_->counter++;                                                                                \
        }                                                                                                              \
    } while (0)

static enum err lock_runs(struct store_session *s, const struct flow_move_order *order, struct flow_batch *batch,
                          struct errctx *ec)
{
    static const struct row_type runs =
        ROWS(struct flow_moving, FIELDS(struct flow_moving, id, flow_id, version, state, kind, due_s),
             NULL_TEXTS(struct flow_moving, parameters),
             FIELDS(struct flow_moving, parent_run, parent_step, depth, started_ms, ended_ms, look_ms, late_told),
             NULL_TEXTS(struct flow_moving, message));
    enum err e = ERR_OK;

    for (size_t at = 0; at < order->run_count && !e; at += STORE_LIST_MAX) {
        struct sqlbuf *q = store_sql(
            s,
            "SELECT id, flow_id, version, state, kind, due_s, parameters, parent_run, parent_step, depth, started_ms, "
            "ended_ms, look_ms, late_told, message FROM shardwheel_flow_run FORCE INDEX (PRIMARY) WHERE id "
            "IN (?)",
            sql_part(order->run_ids, order->run_count, at));
        sql_and_shards(q, "id", batch->shards, batch->shard_count, order->n);
        sql_puts(q, " ORDER BY id FOR UPDATE");
        e = store_append_list(s, &runs, &batch->runs, ec);
    }
    return e;
}

#define TRY(type)                                                                                                      \
    FIELDS(type, now.state, now.log_id, now.tries, now.lost, now.wake_ms, now.started_ms, now.ended_ms, now.code),     \
        NULL_TEXTS(type, now.address, now.result, now.message)
#define TRY_COLUMNS "state, log_id, tries, lost, wake_ms, started_ms, ended_ms, code, address, result, message"

static enum err read_steps(struct store_session *s, struct flow_batch *batch, struct errctx *ec)
{
    static const struct row_type steps =
        ROWS(struct flow_step_row, FIELDS(struct flow_step_row, run_id, step), TRY(struct flow_step_row),
             FIELDS(struct flow_step_row, child_run, items, items_begun, items_ended, items_failed),
             NULL_TEXTS(struct flow_step_row, who, remark));

    store_sql(s,
              "SELECT run_id, step, " TRY_COLUMNS ", child_run, items, items_begun, items_ended, items_failed, who, "
              "remark FROM shardwheel_flow_step WHERE run_id IN (?) ORDER BY run_id, step",
              sql_each(batch->runs.items, batch->runs.count, id));
    enum err e = store_append_list(s, &steps, &batch->steps, ec);
    SLICES(batch, batch->steps, steps, step_count);
    return e;
}

COMPARE_BY_TWO(compare_ends, struct flow_fire_end, run_id, log_id)

/* Who has ended between the look and this, and who is open after all, tells the row alone. */
static enum err read_ends(struct store_session *s, const struct flow_move_order *order, struct flow_batch *batch,
                          struct errctx *ec)
{
    static const struct row_type ends = ROWS(
        struct flow_fire_end, FIELDS(struct flow_fire_end, run_id, log_id, step, item, gone, trigger_code, handle_code),
        NULL_TEXTS(struct flow_fire_end, address, said));
    enum err e = ERR_OK;

    for (size_t at = 0; at < order->ended_count && !e; at += STORE_LIST_MAX) {
        store_sql(s,
                  "SELECT f.run_id, f.log_id, f.step, f.item, l.id IS NULL, l.trigger_code, l.handle_code, "
                  "l.executor_address, l.handle_msg FROM shardwheel_flow_fire f LEFT JOIN xxl_job_log l ON "
                  "l.id = f.log_id WHERE f.log_id IN (?) AND (l.id IS NULL OR l.handle_code <> ? "
                  "OR l.trigger_code NOT IN (?, ?))",
                  sql_part(order->ended_logs, order->ended_count, at), CODE_OPEN, CODE_OPEN, CODE_OK);
        e = store_append_list(s, &ends, &batch->ends, ec);
    }
    if (batch->ends.count > 0)
        qsort(batch->ends.items, batch->ends.count, sizeof *batch->ends.items, compare_ends);
    SLICES(batch, batch->ends, ends, end_count);
    return e;
}

static const struct row_type rows_of_items =
    ROWS(struct flow_item_row, FIELDS(struct flow_item_row, run_id, step, item), TRY(struct flow_item_row));
#define ITEM_COLUMNS                                                                                                   \
    "i.run_id, i.step, i.item, i.state, i.log_id, i.tries, i.lost, i.wake_ms, i.started_ms, i.ended_ms, i.code, "      \
    "i.address, i.result, i.message"

/* By their keys: a map has many others. */
static enum err read_ended_items(struct store_session *s, struct flow_batch *batch, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0, some; at < batch->ends.count && !e; at += some) {
        some = batch->ends.count - at < STORE_LIST_MAX ? batch->ends.count - at : STORE_LIST_MAX;
        store_sql(s,
                  "SELECT " ITEM_COLUMNS " FROM shardwheel_flow_fire f STRAIGHT_JOIN shardwheel_flow_item i ON "
                  "i.run_id = f.run_id AND i.step = f.step AND i.item = f.item WHERE f.log_id IN (?)",
                  sql_each(batch->ends.items + at, some, log_id));
        e = store_append_list(s, &rows_of_items, &batch->items, ec);
    }
    return e;
}

/* Of each step as many as may run at a time: all of a map may be due. */
static enum err read_due_items(struct store_session *s, struct flow_batch *batch, int64_t now_ms, struct errctx *ec)
{
    struct sqlbuf *q = &s->sql;
    enum err e = ERR_OK;
    size_t n = 0;

    for (size_t i = 0; i <= batch->steps.count && !e; i++) {
        const struct flow_step_row *step = &batch->steps.items[i];
        bool is_one = i < batch->steps.count && step->items > 0 && step->now.state == FLOW_RUNNING;

        if (is_one) {
            if (n == 0)
                q = store_start_sql(s, "");
            sql_put(q,
                    "?(SELECT " ITEM_COLUMNS
                    " FROM shardwheel_flow_item i FORCE INDEX (shardwheel_flow_item_wake) WHERE "
                    "run_id = ? AND step = ? AND wake_ms <= ? ORDER BY item LIMIT ?)",
                    sql_word(n ? " UNION ALL " : ""), step->run_id, step->step, now_ms, (int64_t)FLOW_DUE_ITEMS_MAX);
            n++;
        }
        if (n == 0 || (n < DUE_AT_ONCE && i < batch->steps.count))
            continue;
        e = store_append_list(s, &rows_of_items, &batch->items, ec);
        n = 0;
    }
    return e;
}

static int compare_items(const void *a, const void *b)
{
    const struct flow_item_row *x = a, *y = b;
    int c = compare_numbers(x->run_id, y->run_id);

    if (!c)
        c = compare_numbers(x->step, y->step);
    return c ? c : compare_numbers(x->item, y->item);
}

/* Each once. */
static size_t sort_items(struct flow_item_row *items, size_t count)
{
    size_t kept = 0;

    if (count > 0)
        qsort(items, count, sizeof *items, compare_items);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || compare_items(&items[kept - 1], &items[i]) != 0)
            items[kept++] = items[i];
    return kept;
}

static enum err read_items(struct store_session *s, struct flow_batch *batch, int64_t now_ms, struct errctx *ec)
{
    bool some = false;
    enum err e;

    for (size_t i = 0; i < batch->steps.count; i++)
        some |= batch->steps.items[i].items > 0 && batch->steps.items[i].now.state == FLOW_RUNNING;
    if (!some)
        return ERR_OK;
    e = read_ended_items(s, batch, ec);
    if (!e)
        e = read_due_items(s, batch, now_ms, ec);
    batch->items.count = sort_items(batch->items.items, batch->items.count);
    SLICES(batch, batch->items, items, item_count);
    if (e)
        return e;

    static const struct row_type flights = ROWS(struct flow_flight, FIELDS(struct flow_flight, run_id, step, count));
    store_sql(s,
              "SELECT run_id, step, COUNT(*) FROM shardwheel_flow_fire WHERE run_id IN (?) AND item >= 0 GROUP BY "
              "run_id, step ORDER BY run_id, step",
              sql_each(batch->runs.items, batch->runs.count, id));
    e = store_append_list(s, &flights, &batch->flights, ec);
    SLICES(batch, batch->flights, flights, flight_count);
    if (e)
        return e;

    static const struct row_type wakes = ROWS(struct flow_wake, FIELDS(struct flow_wake, run_id, wake_ms));
    store_sql(s,
              "SELECT run_id, MIN(wake_ms) FROM shardwheel_flow_item FORCE INDEX (shardwheel_flow_item_wake) WHERE "
              "run_id IN (?) AND wake_ms > ? GROUP BY run_id ORDER BY run_id",
              sql_each(batch->runs.items, batch->runs.count, id), now_ms);
    e = store_append_list(s, &wakes, &batch->wakes, ec);
    SLICES(batch, batch->wakes, wakes, wake_count);
    return e;
}

/* Results of items are read when all of them have ended: once. */
static enum err read_results(struct store_session *s, struct flow_batch *batch, struct errctx *ec)
{
    static const struct row_type results =
        ROWS(struct flow_item_result, FIELDS(struct flow_item_result, run_id, step, item),
             NULL_TEXTS(struct flow_item_result, result));
    enum err e = ERR_OK;

    for (size_t i = 0; i < batch->steps.count && !e; i++) {
        const struct flow_step_row *step = &batch->steps.items[i];
        if (step->items == 0 || step->now.state != FLOW_RUNNING || step->items_ended < step->items)
            continue;
        store_sql(s,
                  "SELECT run_id, step, item, result FROM shardwheel_flow_item WHERE run_id = ? AND step = ? ORDER BY "
                  "item",
                  step->run_id, step->step);
        e = store_append_list(s, &results, &batch->results, ec);
    }
    SLICES(batch, batch->results, results, result_count);
    return e;
}

/* Whoever asks sets look_ms to 0. */
static enum err read_asks(struct store_session *s, struct flow_batch *batch, struct errctx *ec)
{
    static const struct row_type asks =
        ROWS(struct flow_ask, FIELDS(struct flow_ask, id, run_id, step, action, who, remark));

    struct sqlbuf *q = store_start_sql(
        s, "SELECT id, run_id, step, action, who, remark FROM shardwheel_flow_request WHERE run_id IN (");
    size_t n = 0;

    for (size_t i = 0; i < batch->runs.count; i++)
        if (batch->runs.items[i].look_ms == 0)
            sql_put(q, "??", sql_word(n++ ? "," : ""), batch->runs.items[i].id);
    if (n == 0)
        return ERR_OK;
    sql_puts(q, ") ORDER BY run_id, id");
    enum err e = store_append_list(s, &asks, &batch->asks, ec);
    SLICES(batch, batch->asks, asks, ask_count);
    return e;
}

enum err flow_batch_read(struct store_session *s, const struct flow_move_order *order, struct flow_batch *batch,
                         int64_t now_ms, struct errctx *ec)
{
    enum err e = lock_runs(s, order, batch, ec);

    if (!e && order->ended_count > 0) /* also of runs that are gone */
        e = read_ends(s, order, batch, ec);
    if (e || batch->runs.count == 0)
        return e;
    e = read_steps(s, batch, ec);
    if (!e)
        e = read_items(s, batch, now_ms, ec);
    if (!e)
        e = read_results(s, batch, ec);
    if (!e)
        e = read_asks(s, batch, ec);
    return e;
}

void flow_batch_fini(struct flow_batch *batch)
{
    store_free_list(batch->runs.items, batch->runs.memory);
    store_free_list(batch->steps.items, batch->steps.memory);
    store_free_list(batch->items.items, batch->items.memory);
    store_free_list(batch->ends.items, batch->ends.memory);
    store_free_list(batch->asks.items, batch->asks.memory);
    store_free_list(batch->flights.items, batch->flights.memory);
    store_free_list(batch->wakes.items, batch->wakes.memory);
    store_free_list(batch->results.items, batch->results.memory);
}
