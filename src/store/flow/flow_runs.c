/* SPDX-License-Identifier: MIT */
/* Runs of flows: lists, their steps, and how one is begun. */
#include "shardwheel/store/flow.h"

#include <inttypes.h>
#include <stdlib.h>

#include "store/flow/line.h"
#include "store/people/audit.h"

const char *flow_run_state_name(int64_t state)
{
    static const char *const names[FLOW_RUN_STATES] = {"queued", "running",   "succeeded",
                                                       "failed", "cancelled", "skipped"};

    return state >= 0 && state < FLOW_RUN_STATES ? names[state] : "running";
}

const char *flow_run_kind_name(const char *letter)
{
    enum trigger_kind kind = TRIGGER_API;

    (void)trigger_kind_of_letter(letter[0], &kind);
    return trigger_kind_name(kind);
}

#define ALL_STATES ((1u << FLOW_RUN_STATES) - 1)
#define TICKS_AT_ONCE 16 /* flows of one statement, each with a part for each state */

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* What a state of a newer release means is not known: the row is left out, as are such steps and items. */
static const struct row_type rows_of_runs =
    ROWS(struct flow_run_row,
         FIELDS(struct flow_run_row, id, flow_id, flow_name, version, state, kind, due_s, parent_run, parent_step,
                depth, who, created_ms, started_ms, ended_ms, late_told),
         NULL_TEXTS(struct flow_run_row, message, parameters));

static enum err load_runs(struct store_session *s, const int64_t *ids, size_t count, size_t parameters_max,
                          struct flow_run_rows *out, struct errctx *ec)
{
    struct sqlbuf *q =
        store_start_sql(s, "SELECT r.id, r.flow_id, f.name, r.version, r.state, r.kind, r.due_s, r.parent_run, "
                           "r.parent_step, r.depth, r.who, r.created_ms, r.started_ms, r.ended_ms, r.late_told, "
                           "r.message, ");

    if (parameters_max)
        sql_put(q, "CASE WHEN LENGTH(r.parameters) <= ? THEN r.parameters END", parameters_max);
    else
        sql_puts(q, "r.parameters");
    sql_put(
        q,
        " FROM shardwheel_flow_run r JOIN shardwheel_flow f ON f.id = r.flow_id WHERE r.id IN (?) AND r.state BETWEEN "
        "0 AND ? ORDER BY r.id DESC",
        sql_list(ids, count), FLOW_RUN_STATES - 1);
    return store_read_list(s, &rows_of_runs, out, ec);
}

enum err store_load_flow_runs(struct store_session *s, const int64_t *ids, size_t count, struct flow_run_rows *out,
                              struct errctx *ec)
{
    enum err e = load_runs(s, ids, count, 0, out, ec);

    return e ? err_wrap(ec, e, "read %zu runs of flows", count) : ERR_OK;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

/* A part for each state, as the index has them. */
static void put_parts(struct sqlbuf *q, const char *columns, int64_t flow_id, unsigned states, int64_t before,
                      int64_t limit, size_t *parts)
{
    for (int64_t state = 0; state < FLOW_RUN_STATES; state++) {
        if (!(states & 1u << state))
            continue;
        sql_put(q,
                "?(SELECT ? FROM shardwheel_flow_run WHERE flow_id = ? AND state = ? AND id < ? ORDER BY id DESC "
                "LIMIT ?)",
                sql_word((*parts)++ ? " UNION ALL " : ""), sql_word(columns), flow_id, state, before, limit);
    }
}

static enum err find_ids(struct store_session *s, const struct flow_run_filter *filter, size_t limit, int limit_ms,
                         int64_t *ids, size_t *count, struct errctx *ec)
{
    unsigned states = filter->states ? filter->states : ALL_STATES;
    struct sqlbuf *q = store_start_limited(s, limit_ms, "id FROM ");
    size_t parts = 0;

    if (filter->flow_id) {
        sql_puts(q, "(");
        put_parts(q, "id", filter->flow_id, states, filter->before, (int64_t)limit, &parts);
        sql_puts(q, ") AS u");
    } else {
        sql_put(q,
                "shardwheel_flow_run r WHERE id < ? AND EXISTS (SELECT 1 FROM shardwheel_flow f WHERE f.id = "
                "r.flow_id) AND state IN (-1",
                filter->before);
        for (int64_t state = 0; state < FLOW_RUN_STATES; state++)
            if (states & 1u << state)
                sql_put(q, ", ?", state);
        /* There are few that are open, and an index has them. */
        sql_puts(q, states & ~FLOW_RUN_OPEN ? ")" : ") AND look_ms IS NOT NULL");
    }
    sql_put(q, " ORDER BY id DESC LIMIT ?", limit);
    return store_read_ids(s, ids, limit, count, ec);
}

enum err store_list_flow_runs(struct store_session *s, const struct flow_run_filter *filter, size_t limit, int limit_ms,
                              struct flow_run_rows *out, struct errctx *ec)
{
    int64_t *ids = calloc(limit + 1, sizeof *ids);
    size_t count = 0;
    enum err e = ids ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");

    if (!e)
        e = find_ids(s, filter, limit, limit_ms, ids, &count, ec);
    if (!e)
        e = load_runs(s, ids, count, FLOW_LISTED_PARAMETERS_MAX, out, ec);
    free(ids);
    return e ? err_wrap(ec, e, "list runs of flows") : ERR_OK;
}

/* ---- ticks ------------------------------------------------------------------------------------------------------- */

static int compare_ticks(const void *a, const void *b)
{
    const struct flow_tick *x = a, *y = b;
    int by_flow = compare_numbers(x->flow_id, y->flow_id);

    return by_flow ? by_flow : compare_numbers(y->id, x->id);
}

/* Of each flow the first FLOW_TICKS_MAX; sorted. */
static size_t keep_newest(struct flow_tick *ticks, size_t count)
{
    size_t kept = 0, of_flow = 0;

    for (size_t i = 0; i < count; i++) {
        of_flow = i > 0 && ticks[i].flow_id == ticks[i - 1].flow_id ? of_flow + 1 : 0;
        if (of_flow < FLOW_TICKS_MAX)
            ticks[kept++] = ticks[i];
    }
    return kept;
}

enum err store_load_flow_ticks(struct store_session *s, const int64_t *flow_ids, size_t count, struct flow_tick **out,
                               size_t *out_count, struct errctx *ec)
{
    static const struct row_type ticks =
        ROWS(struct flow_tick, FIELDS(struct flow_tick, flow_id, id, state, started_ms, ended_ms));
    struct row_list list = {0};
    enum err e = ERR_OK;

    for (size_t at = 0; at < count && !e; at += TICKS_AT_ONCE) {
        struct sqlbuf *q = store_start_sql(s, "");
        size_t parts = 0;

        for (size_t i = at; i < count && i < at + TICKS_AT_ONCE; i++)
            put_parts(q, "flow_id, id, state, started_ms, ended_ms", flow_ids[i], ALL_STATES, INT64_MAX, FLOW_TICKS_MAX,
                      &parts);
        e = store_append_list(s, &ticks, &list, ec);
    }
    if (!e && list.count > 0) {
        qsort(list.items, list.count, sizeof(struct flow_tick), compare_ticks);
        list.count = keep_newest(list.items, list.count);
    }
    e = store_end_array(&list, e, out, out_count);
    return e ? err_wrap(ec, e, "read the last runs of %zu flows", count) : ERR_OK;
}

enum err store_count_open_flow_runs(struct store_session *s, const int64_t *flow_ids, size_t count, int64_t *out,
                                    struct errctx *ec)
{
    struct db_rows *rows = NULL;

    for (size_t i = 0; i < count; i++)
        out[i] = 0;
    if (count == 0)
        return ERR_OK;
    enum err e = store_query(s, &rows, ec,
                             "SELECT flow_id, COUNT(*) FROM shardwheel_flow_run WHERE flow_id IN (?) AND state IN "
                             "(0, 1) GROUP BY flow_id",
                             sql_list(flow_ids, count));
    while (!e && db_rows_next(rows))
        for (size_t i = 0; i < count; i++)
            if (flow_ids[i] == db_int(rows, 0))
                out[i] = db_int(rows, 1);
    db_rows_destroy(rows);
    return e ? err_wrap(ec, e, "count open runs of %zu flows", count) : ERR_OK;
}

/* ---- steps, items ------------------------------------------------------------------------------------------------ */

enum err store_load_flow_steps(struct store_session *s, int64_t run_id, struct flow_step_views *out, struct errctx *ec)
{
    static const struct row_type steps =
        ROWS(struct flow_step_view,
             FIELDS(struct flow_step_view, step, state, log_id, child_run, tries, wake_ms, started_ms, ended_ms),
             SECONDS(struct flow_step_view, code, FLOW_NO_NUMBER),
             NULL_TEXTS(struct flow_step_view, address, result, message),
             SECONDS(struct flow_step_view, items, FLOW_NO_NUMBER),
             SECONDS(struct flow_step_view, items_begun, FLOW_NO_NUMBER),
             SECONDS(struct flow_step_view, items_ended, FLOW_NO_NUMBER),
             SECONDS(struct flow_step_view, items_failed, FLOW_NO_NUMBER),
             NULL_TEXTS(struct flow_step_view, who, remark, param));

    store_sql(s,
              "SELECT t.step, t.state, t.log_id, t.child_run, t.tries, t.wake_ms, t.started_ms, t.ended_ms, t.code, "
              "t.address, t.result, t.message, t.items, t.items_begun, t.items_ended, t.items_failed, t.who, t.remark, "
              "l.executor_param FROM shardwheel_flow_step t LEFT JOIN xxl_job_log l ON l.id = t.log_id WHERE "
              "t.run_id = ? AND t.state BETWEEN 0 AND ? ORDER BY t.step",
              run_id, FLOW_STATES - 1);
    enum err e = store_read_list(s, &steps, out, ec);
    return e ? err_wrap(ec, e, "read the steps of flow run %" PRId64, run_id) : ERR_OK;
}

enum err store_list_flow_items(struct store_session *s, int64_t run_id, int64_t step, unsigned states, int64_t from,
                               int64_t limit, struct flow_item_views *out, struct errctx *ec)
{
    static const struct row_type items = ROWS(
        struct flow_item_view, FIELDS(struct flow_item_view, item, state, log_id, tries, wake_ms, started_ms, ended_ms),
        SECONDS(struct flow_item_view, code, FLOW_NO_NUMBER),
        NULL_TEXTS(struct flow_item_view, address, result, message));
    struct sqlbuf *q = store_sql(
        s,
        "SELECT item, state, log_id, tries, wake_ms, started_ms, ended_ms, code, address, "
        "result, message FROM shardwheel_flow_item WHERE run_id = ? AND step = ? AND item >= ? AND state IN (NULL",
        run_id, step, from);

    for (int64_t state = 0; state < FLOW_STATES; state++)
        if (!states || states & 1u << state)
            sql_put(q, ", ?", state);
    sql_put(q, ") ORDER BY item LIMIT ?", limit);
    enum err e = store_read_list(s, &items, out, ec);
    return e ? err_wrap(ec, e, "list the items of flow run %" PRId64, run_id) : ERR_OK;
}

/* ---- beginning one ----------------------------------------------------------------------------------------------- */

/* PARALLEL: it stays as it is, and others may begin runs too. */
static enum err lock_flow(struct store_session *s, const struct flow_run_start *order, struct errctx *ec)
{
    int64_t version = 0;
    enum err e = store_number(s, 0, &version, ec, "SELECT version FROM shardwheel_flow WHERE id = ? ?", order->flow_id,
                              sql_word(order->policy == FLOW_PARALLEL ? "LOCK IN SHARE MODE" : "FOR UPDATE"));

    if (e)
        return e;
    if (!version)
        return err_set(ec, ERR_NOTFOUND, "there is no flow %" PRId64, order->flow_id);
    if (version != order->version)
        return err_set(ec, ERR_CONFLICT, "flow %" PRId64 " has a new version", order->flow_id);
    return ERR_OK;
}

static enum err find_by_key(struct store_session *s, const struct flow_run_start *order, int64_t *id, struct errctx *ec)
{
    if (!order->key)
        return ERR_OK;
    return store_number(s, 0, id, ec, "SELECT id FROM shardwheel_flow_run WHERE flow_id = ? AND request_key = ?",
                        order->flow_id, order->key);
}

static enum err choose_state(struct store_session *s, const struct flow_run_start *order, enum flow_run_state *out,
                             struct errctx *ec)
{
    enum line_verdict verdict;
    enum err e = line_decide(s, order->flow_id, order->policy, order->queue_max, &verdict, ec);

    if (e)
        return e;
    *out = verdict == LINE_WAITS ? FLOW_RUN_QUEUED : FLOW_RUN_RUNNING;
    if (verdict == LINE_IS_OPEN)
        return err_set(ec, ERR_STATE, "a run of the flow is still open");
    if (verdict == LINE_IS_FULL)
        return err_set(ec, ERR_BUSY, "%" PRId64 " runs of the flow already wait in the queue", order->queue_max);
    return ERR_OK;
}

static enum err end_start(struct store_session *s, enum err e, const struct flow_run_start *order,
                          const struct audit_row *audit, int64_t id, struct errctx *ec)
{
    struct audit_row row = audit ? *audit : (struct audit_row){0};
    struct buf after = {0};

    member_object(&after, NULL);
    member_int(&after, "run", id);
    if (order->parameters)
        member_json(&after, "parameters", order->parameters);
    member_object_end(&after);
    row.after = after.data;
    if (!e && buf_failed(&after))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    e = store_end_audited(s, e, audit ? &row : NULL, ec);
    buf_fini(&after);
    return e;
}

enum err store_start_flow_run(struct store_session *s, const struct flow_run_start *order,
                              const struct audit_row *audit, int64_t *id, bool *is_new, struct errctx *ec)
{
    enum flow_run_state state = FLOW_RUN_RUNNING;
    int64_t known = 0, made = 0;
    struct errctx why;
    enum err e = store_begin_txn(s, ec);

    if (!e)
        e = lock_flow(s, order, ec);
    if (!e)
        e = find_by_key(s, order, &known, ec);
    if (!e && !known)
        e = choose_state(s, order, &state, ec);
    if (!e && !known)
        e = line_insert_run(s, order, state, 0, NULL, &made, ec);
    if (e == ERR_INPUT && !find_by_key(s, order, &known, &why) && known)
        e = ERR_OK; /* by somebody else at the same time */
    if (!e && known)
        store_end_txn(s);
    else
        e = end_start(s, e, order, audit, made, ec);
    if (e)
        return err_wrap(ec, e, "start flow %" PRId64, order->flow_id);
    *id = known ? known : made;
    *is_new = !known;
    return ERR_OK;
}
