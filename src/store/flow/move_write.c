/* SPDX-License-Identifier: MIT */
/* What a move writes, in its transaction. */
#include "store/flow/move.h"
#include "store/hook/put.h"
#include "store/run/direct.h"

#include <stdlib.h>

#define MESSAGE_CHARS 1000
#define RUN_MESSAGE_CHARS 500
#define ADDRESS_CHARS 255

void flow_changes_fini(struct flow_changes *c)
{
    fire_destroy_list(c->fires);
    for (struct flow_new_run *run = c->new_runs, *next; run; run = next) {
        next = run->next;
        free(run->parameters);
        free(run);
    }
    free(c->steps);
    free(c->items);
    free(c->ended);
    free(c->closed);
    free(c->forgotten);
    free(c->again);
    free(c->asks);
    free(c->cancelled);
    free(c->notes);
    free(c->kills);
    for (size_t i = 0; i < c->memory_count; i++)
        free(c->memory[i]);
    free(c->memory);
    *c = (struct flow_changes){0};
}

/* ---- fires ------------------------------------------------------------------------------------------------------- */

static enum err write_fires(struct store_session *s, struct flow_changes *c, const char *incarnation, struct errctx *ec)
{
    size_t n = 0;
    enum err e = c->fires ? store_insert_direct(s, c->fires, incarnation, ec) : ERR_OK;
    struct sqlbuf *q = &s->sql;

    for (const struct fire *f = c->fires; f && !e; f = f->next) {
        if (n == 0)
            q = store_start_sql(s, "INSERT INTO shardwheel_flow_fire (log_id, run_id, step, item) VALUES ");
        sql_put(q, "?(?,?,?,?)", sql_word(n ? "," : ""), f->log_id, f->flow_run, f->flow_step, f->flow_item);
        if (++n < STORE_LIST_MAX && f->next)
            continue;
        e = store_exec_sql(s, NULL, ec);
        n = 0;
    }
    return e;
}

static enum err delete_ids(struct store_session *s, const char *table, const char *column, const int64_t *ids,
                           size_t count, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; at < count && !e; at += STORE_LIST_MAX)
        e = store_exec(s, NULL, ec, "DELETE FROM ? WHERE ? IN (?)", sql_word(table), sql_word(column),
                       sql_part(ids, count, at));
    return e;
}

/* What they waited for is to be stopped at its executors. */
static enum err close_runs(struct store_session *s, struct flow_changes *c, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t at = 0; at < c->closed_count && !e; at += STORE_LIST_MAX) {
        struct db_rows *rows = NULL;
        e = store_query(s, &rows, ec, "SELECT log_id FROM shardwheel_flow_fire WHERE run_id IN (?)",
                        sql_part(c->closed, c->closed_count, at));
        while (!e && db_rows_next(rows)) {
            if (list_grow(&c->kills, c->kill_count, sizeof *c->kills))
                c->kills[c->kill_count++] = db_int(rows, 0);
            else
                e = err_set(ec, ERR_NOMEM, "out of memory");
        }
        db_rows_destroy(rows);
    }
    for (size_t i = 0; i < c->closed_count && !e; i++)
        e = store_exec(s, NULL, ec,
                       "UPDATE shardwheel_flow_item SET state = ?, wake_ms = NULL WHERE run_id = ? AND state = ?",
                       FLOW_CANCELLED, c->closed[i], FLOW_RUNNING);
    return e ? e : delete_ids(s, "shardwheel_flow_fire", "run_id", c->closed, c->closed_count, ec);
}

/* ---- steps and items --------------------------------------------------------------------------------------------- */

#define TRY_COLUMNS "state, log_id, tries, lost, wake_ms, started_ms, ended_ms, code, address, result, message"
#define NEW(column) column " = VALUES(" column ")"
#define TRY_NEW                                                                                                        \
    NEW("state")                                                                                                       \
    ", " NEW("log_id") ", " NEW("tries") ", " NEW("lost") ", " NEW("wake_ms") ", " NEW("started_ms") ", " NEW(         \
        "ended_ms") ", " NEW("code") ", " NEW("address") ", " NEW("result") ", " NEW("message")

static void put_try(struct sqlbuf *q, const struct flow_try *t)
{
    sql_put(q, "?,?,?,?,?,?,?,?,?,?,?", (int64_t)t->state, sql_int_or_null(t->fire ? t->fire->log_id : t->log_id),
            t->tries, sql_int_or_null(t->lost), sql_int_or_null(t->wake_ms), sql_int_or_null(t->started_ms),
            sql_int_or_null(t->ended_ms), sql_int_or_null(t->code), sql_fitted(t->address, ADDRESS_CHARS, TEXT_AS_IS),
            sql_or_null(t->result), sql_fitted(t->message, MESSAGE_CHARS, TEXT_AS_IS));
}

static struct sql_value of_items(const struct flow_step_row *row, int number)
{
    return row->items ? sql_of_int(number) : sql_word("NULL");
}

static enum err write_steps(struct store_session *s, const struct flow_changes *c, struct errctx *ec)
{
    enum err e = ERR_OK;
    size_t n = 0;
    struct sqlbuf *q = &s->sql;

    for (size_t i = 0; i < c->step_count && !e; i++) {
        const struct flow_step_row *row = c->steps[i];
        if (n++ == 0)
            q = store_start_sql(s, "INSERT INTO shardwheel_flow_step (run_id, step, " TRY_COLUMNS
                                   ", child_run, items, items_begun, items_ended, items_failed, who, remark) VALUES ");
        sql_put(q, "?(?,?,", sql_word(n > 1 ? "," : ""), row->run_id, row->step);
        put_try(q, &row->now);
        sql_put(q, ",?,?,?,?,?,?,?)", sql_int_or_null(row->child ? row->child->id : row->child_run),
                sql_int_or_null(row->items), of_items(row, row->items_begun), of_items(row, row->items_ended),
                of_items(row, row->items_failed), sql_fitted(row->who, 100, TEXT_AS_IS),
                sql_fitted(row->remark, 500, TEXT_AS_IS));
        if (n < STORE_LIST_MAX && i + 1 < c->step_count && !store_is_sql_long(s))
            continue;
        sql_puts(q, " ON DUPLICATE KEY UPDATE " TRY_NEW
                    ", " NEW("child_run") ", " NEW("items") ", " NEW("items_begun") ", " NEW("items_ended") ", " NEW(
                        "items_failed") ", " NEW("who") ", " NEW("remark"));
        e = store_exec_sql(s, NULL, ec);
        n = 0;
    }
    return e;
}

static enum err write_items(struct store_session *s, const struct flow_changes *c, struct errctx *ec)
{
    enum err e = ERR_OK;
    size_t n = 0;
    struct sqlbuf *q = &s->sql;

    for (size_t i = 0; i < c->item_count && !e; i++) {
        const struct flow_item_row *row = c->items[i];
        if (n++ == 0)
            q = store_start_sql(s, "INSERT INTO shardwheel_flow_item (run_id, step, item, " TRY_COLUMNS ") VALUES ");
        sql_put(q, "?(?,?,?,", sql_word(n > 1 ? "," : ""), row->run_id, row->step, row->item);
        put_try(q, &row->now);
        sql_puts(q, ")");
        if (n < STORE_LIST_MAX && i + 1 < c->item_count && !store_is_sql_long(s))
            continue;
        sql_puts(q, " ON DUPLICATE KEY UPDATE " TRY_NEW);
        e = store_exec_sql(s, NULL, ec);
        n = 0;
    }
    return e;
}

/* Items that ended well stay; the others that have begun are due at once. */
static enum err again(struct store_session *s, const struct flow_place *place, struct errctx *ec)
{
    enum err e = store_exec(
        s, NULL, ec,
        "UPDATE shardwheel_flow_item SET state = ?, wake_ms = 1, tries = 0, lost = NULL, ended_ms = NULL WHERE "
        "run_id = ? AND step = ? AND state <> ?",
        FLOW_RUNNING, place->run_id, place->step, FLOW_SUCCEEDED);

    if (e)
        return e;
    return store_exec(s, NULL, ec,
                      "UPDATE shardwheel_flow_step SET items_failed = 0, items_ended = (SELECT COUNT(*) FROM "
                      "shardwheel_flow_item WHERE run_id = ? AND step = ? AND state = ?) WHERE run_id = ? AND step = ?",
                      place->run_id, place->step, FLOW_SUCCEEDED, place->run_id, place->step);
}

/* Behind the steps, whose counts it corrects; before the items: a step that begins anew in this move has new ones. */
static enum err reset_items(struct store_session *s, const struct flow_changes *c, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < c->forgotten_count && !e; i++)
        e = store_exec(s, NULL, ec, "DELETE FROM shardwheel_flow_item WHERE run_id = ? AND step = ?",
                       c->forgotten[i].run_id, c->forgotten[i].step);
    for (size_t i = 0; i < c->again_count && !e; i++)
        e = again(s, &c->again[i], ec);
    return e;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static enum err write_runs(struct store_session *s, const struct flow_batch *batch, struct errctx *ec)
{
    const struct flow_moving *list[STORE_CASE_MAX];
    enum err e = ERR_OK;
    size_t n = 0;

    for (size_t i = 0; i < batch->runs.count && !e; i++) {
        if (batch->runs.items[i].changed)
            list[n++] = &batch->runs.items[i];
        if (n == 0 || (n < STORE_CASE_MAX && i + 1 < batch->runs.count))
            continue;
        struct sqlbuf *q = store_start_sql(s, "UPDATE shardwheel_flow_run FORCE INDEX (PRIMARY) SET state = CASE id");
        for (size_t k = 0; k < n; k++)
            sql_put(q, " WHEN ? THEN ?", list[k]->id, (int64_t)list[k]->state);
        sql_puts(q, " END, started_ms = CASE id");
        for (size_t k = 0; k < n; k++)
            sql_put(q, " WHEN ? THEN ?", list[k]->id, sql_int_or_null(list[k]->started_ms));
        sql_puts(q, " END, ended_ms = CASE id");
        for (size_t k = 0; k < n; k++)
            sql_put(q, " WHEN ? THEN ?", list[k]->id, sql_int_or_null(list[k]->ended_ms));
        sql_puts(q, " END, look_ms = CASE id");
        for (size_t k = 0; k < n; k++)
            sql_put(q, " WHEN ? THEN ?", list[k]->id,
                    list[k]->ended_ms ? sql_word("NULL") : sql_of_int(list[k]->look_ms));
        sql_puts(q, " END, late_told = CASE id");
        for (size_t k = 0; k < n; k++)
            sql_put(q, " WHEN ? THEN ?", list[k]->id, (int64_t)list[k]->late_told);
        sql_puts(q, " END, message = CASE id");
        for (size_t k = 0; k < n; k++)
            sql_put(q, " WHEN ? THEN ?", list[k]->id, sql_fitted(list[k]->message, RUN_MESSAGE_CHARS, TEXT_AS_IS));
        sql_put(q, " END WHERE id IN (?)", sql_each_at(list, n, id));
        e = store_exec_sql(s, NULL, ec);
        n = 0;
    }
    return e;
}

static enum err write_new_runs(struct store_session *s, struct flow_changes *c, int64_t now_ms, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (struct flow_new_run *run = c->new_runs; run && !e; run = run->next) {
        struct db_effect effect = {0};
        e = store_exec(s, &effect, ec,
                       "INSERT INTO shardwheel_flow_run (flow_id, version, state, kind, due_s, parameters, parent_run, "
                       "parent_step, depth, who, created_ms, look_ms, late_told) VALUES (?,?,?,'P',?,?,?,?,?,'',?,0,0)",
                       run->flow_id, run->version, FLOW_RUN_RUNNING, run->due_s, sql_or_null(run->parameters),
                       run->parent_run, run->parent_step, run->depth, now_ms);
        run->id = effect.first_id;
    }
    return e;
}

/* The run that is a step has ended: its parent is looked at. The step may have begun again, with another run. The row
 * of the parent is not locked first: who has it locked seldom wants anything of the child; then it is a deadlock. */
static enum err write_notes(struct store_session *s, const struct flow_changes *c, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < c->note_count && !e; i++) {
        const struct flow_parent_note *note = &c->notes[i];
        e = store_exec(s, NULL, ec, "UPDATE shardwheel_flow_run SET look_ms = 0 WHERE id = ?", note->run_id);
        if (!e)
            e = store_exec(s, NULL, ec,
                           "UPDATE shardwheel_flow_step SET code = ?, result = ? WHERE run_id = ? AND step = ? AND "
                           "state = ? AND child_run = ?",
                           note->code, sql_or_null(note->result), note->run_id, note->step, FLOW_RUNNING,
                           note->child_run);
    }
    return e;
}

static enum err cancel_children(struct store_session *s, const struct flow_changes *c, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < c->cancelled_count && !e; i++) {
        e = store_exec(s, NULL, ec, "UPDATE shardwheel_flow_run SET look_ms = 0 WHERE id = ?", c->cancelled[i]);
        if (!e)
            e = store_exec(s, NULL, ec,
                           "INSERT INTO shardwheel_flow_request (run_id, step, action, who, remark) VALUES (?, -1, "
                           "'cancel', '', '')",
                           c->cancelled[i]);
    }
    return e;
}

/* The next one in line begins, unless another one runs: one that somebody began again, or one before this, which was in
 * line itself. Who puts a run in line, and who else ends one, has the flow's row locked: it is seen here, or sees our
 * end. */
static enum err start_waiting(struct store_session *s, const struct flow_moving *run, struct errctx *ec)
{
    int64_t running = 0;
    enum err e = store_exec(s, NULL, ec, "UPDATE shardwheel_flow SET id = id WHERE id = ?", run->flow_id);

    if (!e)
        e = store_number(s, 0, &running, ec, "SELECT COUNT(*) FROM shardwheel_flow_run WHERE flow_id = ? AND state = ?",
                         run->flow_id, FLOW_RUN_RUNNING);
    if (e || running)
        return e;
    return store_exec(s, NULL, ec,
                      "UPDATE shardwheel_flow_run SET state = ?, look_ms = 0 WHERE flow_id = ? AND state = ? ORDER BY "
                      "id LIMIT 1",
                      FLOW_RUN_RUNNING, run->flow_id, FLOW_RUN_QUEUED);
}

static enum err write_flows(struct store_session *s, const struct flow_batch *batch, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < batch->runs.count && !e; i++) {
        const struct flow_moving *run = &batch->runs.items[i];
        bool known = i > 0 && batch->runs.items[i - 1].frees_line && batch->runs.items[i - 1].flow_id == run->flow_id;
        if (run->frees_line && !known)
            e = start_waiting(s, run, ec);
        if (!e && run->flow_next_s)
            e = store_exec(s, NULL, ec,
                           "UPDATE shardwheel_flow SET next_s = ? WHERE id = ? AND started = 1 AND next_s IS NULL",
                           run->flow_next_s, run->flow_id);
    }
    return e;
}

enum err flow_changes_write(struct store_session *s, const struct flow_batch *batch, struct flow_changes *c,
                            const char *incarnation, int64_t now_ms, struct errctx *ec)
{
    enum err e = write_fires(s, c, incarnation, ec);

    if (!e)
        e = delete_ids(s, "shardwheel_flow_fire", "log_id", c->ended, c->ended_count, ec);
    if (!e)
        e = close_runs(s, c, ec);
    if (!e)
        e = write_new_runs(s, c, now_ms, ec);
    if (!e)
        e = write_steps(s, c, ec);
    if (!e)
        e = reset_items(s, c, ec);
    if (!e)
        e = write_items(s, c, ec);
    if (!e)
        e = write_runs(s, batch, ec);
    if (!e)
        e = write_notes(s, c, ec);
    if (!e)
        e = cancel_children(s, c, ec);
    if (!e)
        e = delete_ids(s, "shardwheel_flow_request", "id", c->asks, c->ask_count, ec);
    if (!e)
        e = write_flows(s, batch, ec);
    if (!e)
        e = hook_put_flows(s, batch, ec);
    return e ? e : flow_news_write(s, batch, now_ms, ec);
}
