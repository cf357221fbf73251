/* SPDX-License-Identifier: MIT */
/* What people ask of a run. What makes no sense any more when its turn comes does nothing. */
#include "flowrun/work.h"
#include "shardwheel/job/codes.h"

#include <string.h>

static bool is_open(const struct flow_moving *run)
{
    return run->state == FLOW_RUN_QUEUED || run->state == FLOW_RUN_RUNNING;
}

/* It has ended, and goes on. */
static void revive(struct flow_moving *run)
{
    if (is_open(run))
        return;
    run->state = FLOW_RUN_RUNNING;
    run->ended_ms = 0;
    run->message = NULL;
    run->changed = true;
}

static enum err cancel(struct work *w, struct errctx *ec)
{
    enum err e = ERR_OK;

    if (!is_open(w->run))
        return ERR_OK;
    for (size_t i = 0; i < w->count && !e; i++) {
        enum flow_state state = flow_get_state(w->values, i);
        if (state != FLOW_WAITING && state != FLOW_RUNNING)
            continue;
        struct flow_step_row *row = work_change(w, i, ec);
        if (!row)
            return ERR_NOMEM;
        if (state == FLOW_RUNNING && row->child_run)
            e = work_add_id(&w->out->cancelled, &w->out->cancelled_count, row->child_run, ec);
        row->now.state = FLOW_CANCELLED;
        row->now.ended_ms = w->now_ms;
        row->now.wake_ms = 0;
        flow_set_state(w->values, i, FLOW_CANCELLED);
    }
    w->closed = true;
    return e ? e : work_add_id(&w->out->closed, &w->out->closed_count, w->run->id, ec);
}

/* The step, and what comes after it and did not end well, waits again. Items of the step itself that ended well
 * stay. */
static enum err reset(struct work *w, size_t step, struct errctx *ec)
{
    enum err e = ERR_OK;

    flow_reset_step(w->values, step);
    for (size_t i = 0; i < w->count && !e; i++) {
        if (flow_get_state(w->values, i) != FLOW_WAITING || !w->rows[i] || w->rows[i]->now.state == FLOW_WAITING)
            continue;
        e = work_reset_step(w, i, ec);
        if (!e && w->rows[i]->items > 0 && i != step) {
            w->rows[i]->items = w->rows[i]->items_begun = w->rows[i]->items_ended = w->rows[i]->items_failed = 0;
            e = work_add_place(&w->out->forgotten, &w->out->forgotten_count, w->run->id, (int)i, ec);
        }
    }
    revive(w->run);
    return e;
}

/* All steps that did not end well, but for failures that an edge handles: those before which none of the others comes
 * begin again, and the others after them. */
static enum err rerun(struct work *w, struct errctx *ec)
{
    bool again[FLOW_STEPS_MAX];
    enum err e = ERR_OK;

    if (is_open(w->run))
        return ERR_OK;
    for (size_t i = 0; i < w->count; i++) {
        enum flow_state state = flow_get_state(w->values, i);
        again[i] = state == FLOW_CANCELLED || (state == FLOW_FAILED && !flow_is_handled(w->values, i));
    }
    for (size_t i = 0; i < w->count && !e; i++) {
        bool first = again[i];
        for (size_t other = 0; other < w->count && first; other++)
            first = !(again[other] && flow_comes_before(w->flow, other, i));
        if (first)
            e = reset(w, i, ec);
    }
    return e;
}

/* A state that somebody gives the step; what was decided by the old one is decided again. */
static enum err set(struct work *w, size_t step, enum flow_state state, const struct flow_ask *ask, const char *message,
                    struct errctx *ec)
{
    struct flow_step_row *row;
    int64_t started_ms = w->rows[step] ? w->rows[step]->now.started_ms : 0; /* it ran, whoever says what came of it */
    enum err e = ERR_OK;

    if (flow_get_state(w->values, step) == FLOW_FAILED || flow_get_state(w->values, step) == FLOW_CANCELLED)
        e = reset(w, step, ec);
    row = e ? NULL : work_change(w, step, ec);
    if (!row)
        return ERR_NOMEM;
    row->now.started_ms = started_ms ? started_ms : w->now_ms;
    row->now.message = message;
    row->who = ask->who;
    row->remark = ask->remark;
    row->now.code = state == FLOW_SUCCEEDED ? CODE_OK : state == FLOW_FAILED ? CODE_FAILED : 0;
    if (state == FLOW_SUCCEEDED || state == FLOW_FAILED)
        return work_end_step(w, step, state, ec);
    row->now.state = state;
    row->now.wake_ms = 0;
    row->now.ended_ms = w->now_ms;
    flow_set_state(w->values, step, state);
    return ERR_OK;
}

/* Nothing runs at an executor for it. */
static bool may_be_set(const struct work *w, size_t step)
{
    enum flow_step_kind kind = flow_get_step(w->flow, step)->kind;
    enum flow_state state = flow_get_state(w->values, step);

    if (state == FLOW_RUNNING)
        return kind == FLOW_WAIT || kind == FLOW_APPROVAL;
    return state == FLOW_WAITING || state == FLOW_FAILED || state == FLOW_CANCELLED;
}

static enum err do_one(struct work *w, const struct flow_ask *ask, struct errctx *ec)
{
    size_t step = (size_t)ask->step;

    if (strcmp(ask->action, "cancel") == 0)
        return cancel(w, ec);
    if (strcmp(ask->action, "rerun") == 0)
        return rerun(w, ec);
    if (ask->step < 0 || step >= w->count || w->closed)
        return ERR_OK;
    if (strcmp(ask->action, "retry") == 0) {
        enum flow_state state = flow_get_state(w->values, step);
        return state == FLOW_FAILED || state == FLOW_CANCELLED ? reset(w, step, ec) : ERR_OK;
    }
    if (!may_be_set(w, step))
        return ERR_OK;
    if (strcmp(ask->action, "skip") == 0)
        return set(w, step, FLOW_SKIPPED, ask, NULL, ec);
    if (strcmp(ask->action, "done") == 0)
        return set(w, step, FLOW_SUCCEEDED, ask, NULL, ec);
    if (flow_get_step(w->flow, step)->kind != FLOW_APPROVAL || flow_get_state(w->values, step) != FLOW_RUNNING)
        return ERR_OK;
    if (strcmp(ask->action, "approve") == 0)
        return set(w, step, FLOW_SUCCEEDED, ask, w->rows[step]->now.message, ec);
    if (strcmp(ask->action, "reject") == 0)
        return set(w, step, FLOW_FAILED, ask, w->rows[step]->now.message, ec);
    return ERR_OK;
}

enum err asks_do(struct work *w, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < w->run->ask_count && !e; i++) {
        e = do_one(w, &w->run->asks[i], ec);
        if (!e)
            e = work_add_id(&w->out->asks, &w->out->ask_count, w->run->asks[i].id, ec);
    }
    return e;
}
