/* SPDX-License-Identifier: MIT */
#include "flowrun/schedules.h"
#include "flowrun/work.h"

#include "shardwheel/job/codes.h"

#include <stdlib.h>

#define LINE_LOOK_MS 60000 /* of a run in line, which the end of the one before it starts */

/* ---- what is known of the run ------------------------------------------------------------------------------------ */

static enum err take_row(struct work *w, struct flow_step_row *row, struct errctx *ec)
{
    size_t step = (size_t)row->step;
    struct errctx too_large = {""};
    enum err e;

    if (row->step < 0 || step >= w->count)
        return ERR_OK;
    w->rows[step] = row;
    if (row->now.state != FLOW_SUCCEEDED && row->now.state != FLOW_FAILED) {
        flow_set_state(w->values, step, row->now.state < FLOW_STATES ? row->now.state : FLOW_WAITING);
        return ERR_OK;
    }
    e = work_note_end(w, step, row->now.state, &too_large);
    return e == ERR_NOMEM ? err_set(ec, e, "out of memory") : ERR_OK;
}

static enum err begin(struct work *w, struct errctx *ec)
{
    enum err e = flow_create_values(w->flow, w->run->parameters, w->run->id, w->run->due_s, w->a->zone, &w->values, ec);

    if (e)
        return e;
    w->rows = calloc(w->count, sizeof *w->rows);
    w->changed = calloc(w->count, sizeof *w->changed);
    w->fired = calloc(w->count, sizeof *w->fired);
    if (!w->rows || !w->changed || !w->fired)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < w->run->step_count && !e; i++)
        e = take_row(w, &w->run->steps[i], ec);
    return e;
}

/* ---- steps that start or are skipped ----------------------------------------------------------------------------- */

static enum err skip_step(struct work *w, size_t step, struct errctx *ec)
{
    struct flow_step_row *row = work_change(w, step, ec);

    if (!row)
        return ERR_NOMEM;
    row->now = (struct flow_try){.state = FLOW_SKIPPED, .ended_ms = w->now_ms};
    flow_set_state(w->values, step, FLOW_SKIPPED);
    w->tally->steps_skipped++;
    return ERR_OK;
}

/* What starts may end at once: until nothing more moves. *moved: something has. */
static enum err make_moves(struct work *w, bool *moved, struct errctx *ec)
{
    enum flow_move moves[FLOW_STEPS_MAX];
    enum err e = ERR_OK;

    *moved = false;
    while (!e && flow_decide(w->values, moves) > 0) {
        *moved = true;
        for (size_t i = 0; i < w->count && !e; i++) {
            if (moves[i] == FLOW_SKIP)
                e = skip_step(w, i, ec);
            else if (moves[i] == FLOW_START)
                e = tries_start_step(w, i, ec);
        }
    }
    return e;
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

static enum err tell_parent(struct work *w, struct errctx *ec)
{
    struct buf results = {0};
    enum err e;

    if (!w->run->parent_run)
        return ERR_OK;
    if (!list_grow(&w->out->notes, w->out->note_count, sizeof *w->out->notes))
        return err_set(ec, ERR_NOMEM, "out of memory");
    e = w->values ? flow_put_results(&results, w->values, ec) : ERR_OK;
    w->out->notes[w->out->note_count] =
        (struct flow_parent_note){.run_id = w->run->parent_run,
                                  .step = w->run->parent_step,
                                  .child_run = w->run->id,
                                  .code = w->run->state == FLOW_RUN_SUCCEEDED ? CODE_OK : CODE_FAILED};
    if (!e && w->values)
        w->out->notes[w->out->note_count].result = work_keep_buf(w, &results, &e, ec);
    w->out->note_count++;
    buf_fini(&results);
    return e;
}

static enum err end_run(struct work *w, enum flow_run_state state, const char *message, struct errctx *ec)
{
    enum err e = ERR_OK;

    w->run->state = state;
    w->run->ended_ms = w->now_ms;
    w->run->message = work_keep(w, message, &e, ec);
    w->run->changed = w->run->has_ended = true;
    if (w->flow) {
        const struct flow_settings *settings = flow_get_settings(w->flow);
        w->run->frees_line = settings->policy == FLOW_QUEUE;
        if (w->run->kind[0] == 'C' || w->run->kind[0] == 'F')
            w->run->flow_next_s = schedules_find_delayed(settings, time_floor_div(w->now_ms, 1000));
    }
    if (!w->run->parent_run && state != FLOW_RUN_CANCELLED)
        w->run->news = state == FLOW_RUN_SUCCEEDED ? FLOW_NEWS_GOOD : FLOW_NEWS_FAILED;
    w->tally->runs_succeeded += state == FLOW_RUN_SUCCEEDED;
    w->tally->runs_failed += state == FLOW_RUN_FAILED;
    w->tally->runs_cancelled += state == FLOW_RUN_CANCELLED;
    return e ? e : tell_parent(w, ec);
}

static void check_deadline(struct work *w)
{
    const struct flow_settings *settings = flow_get_settings(w->flow);
    int64_t at_ms = w->run->started_ms + settings->deadline_s * 1000;

    if (!settings->deadline_s || w->run->late_told)
        return;
    if (w->now_ms < at_ms) {
        work_look_at(w, at_ms);
        return;
    }
    w->run->late_told = true;
    w->run->changed = true;
    w->run->news = FLOW_NEWS_LATE;
}

static enum err go_on(struct work *w, struct errctx *ec)
{
    enum flow_outcome outcome;
    bool moved = true;
    enum err e = ERR_OK;

    if (!w->run->started_ms) {
        w->run->started_ms = w->now_ms;
        w->run->changed = true;
    }
    if (w->run->wake_count > 0)
        work_look_at(w, w->run->wakes[0].wake_ms);
    while (moved && !e) { /* also items and waits of steps that have just begun */
        e = tries_go_on(w, ec);
        if (!e)
            e = make_moves(w, &moved, ec);
    }
    outcome = e ? FLOW_OPEN : flow_find_outcome(w->values);
    if (e)
        return e;
    if (outcome != FLOW_OPEN)
        return end_run(w, outcome == FLOW_GOOD ? FLOW_RUN_SUCCEEDED : FLOW_RUN_FAILED, NULL, ec);
    check_deadline(w);
    return ERR_OK;
}

/* Who was before it may have ended without a word: its document is gone, or had another policy. */
static void wait_in_line(struct work *w)
{
    w->run->frees_line = true;
    work_look_at(w, w->now_ms + LINE_LOOK_MS);
}

static enum err advance(struct work *w, struct errctx *ec)
{
    enum err e = tries_take_ends(w, ec);

    if (!e)
        e = asks_do(w, ec);
    if (e)
        return e;
    if (w->closed)
        return end_run(w, FLOW_RUN_CANCELLED, NULL, ec);
    if (w->run->state == FLOW_RUN_RUNNING)
        return go_on(w, ec);
    if (w->run->state == FLOW_RUN_QUEUED)
        wait_in_line(w);
    return ERR_OK;
}

enum err advance_run(const struct advance *a, struct flow_moving *run, int64_t now_ms, struct flow_changes *out,
                     struct advance_tally *tally, struct errctx *ec)
{
    struct work w = {.a = a, .run = run, .now_ms = now_ms, .out = out, .tally = tally, .look_ms = FLOW_NEVER_MS};
    int64_t looked_ms = run->look_ms;
    struct errctx why = {""};
    enum err e = ERR_OK;

    if (a->flow) {
        w.flow = a->flow->flow;
        w.count = flow_count_steps(w.flow);
        e = begin(&w, &why);
    } else {
        e = err_set(&why, ERR_INPUT, "the document of this version cannot be read");
    }
    if (e == ERR_INPUT) {
        flow_destroy_values(w.values);
        w.values = NULL;
        e = run->state <= FLOW_RUN_RUNNING ? end_run(&w, FLOW_RUN_FAILED, why.text, ec) : ERR_OK;
        for (size_t i = 0; i < run->end_count && !e; i++) /* nobody waits for them */
            e = work_add_id(&out->ended, &out->ended_count, run->ends[i].log_id, ec);
    } else if (e) {
        err_set(ec, e, "%s", why.text);
    } else {
        e = advance(&w, ec);
    }
    if (run->ended_ms)
        w.look_ms = 0; /* it is written as NULL */
    if (w.look_ms != looked_ms || (run->ended_ms && looked_ms == 0))
        run->changed = true;
    run->look_ms = w.look_ms;
    flow_destroy_values(w.values);
    free(w.rows);
    free(w.changed);
    free(w.fired);
    return e;
}
