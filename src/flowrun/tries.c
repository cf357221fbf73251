/* SPDX-License-Identifier: MIT */
/* Steps at work: how each kind begins, the ends of fires, further tries, waits. */
#include "flowrun/work.h"

#include "shardwheel/job/codes.h"
#include "shardwheel/store/lost.h"
#include "shardwheel/store/run.h"

#include <stdlib.h>
#include <string.h>

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static enum err start_job(struct work *w, size_t step, struct errctx *ec)
{
    const char *param = NULL;
    struct errctx why = {""};
    enum err e;

    fires_check_job(w, step, &why);
    if (why.text[0])
        return work_fail_step(w, step, why.text, ec);
    e = fires_find_param(w, step, NULL, &param, &why);
    if (e == ERR_INPUT)
        return work_fail_step(w, step, why.text, ec);
    return e ? err_set(ec, e, "%s", why.text) : fires_try(w, step, FIRES_NO_ITEM, &w->rows[step]->now, param, ec);
}

/* The first such time of day after the due time of the run. */
static int64_t find_until_ms(const struct work *w, int64_t second_of_day)
{
    struct civil civil = zone_to_civil(w->a->zone, w->run->due_s);
    int64_t at_s;

    for (int day = 0;; day++) {
        struct civil at = {.year = civil.year,
                           .month = civil.month,
                           .day = civil.day + day,
                           .hour = (int)(second_of_day / 3600),
                           .minute = (int)(second_of_day / 60 % 60),
                           .second = (int)(second_of_day % 60)};
        at_s = zone_from_civil(w->a->zone, &at);
        if (at_s >= w->run->due_s || day > 1)
            return at_s * 1000;
    }
}

static enum err start_wait(struct work *w, size_t step)
{
    const struct flow_step *s = flow_get_step(w->flow, step);
    struct flow_try *now = &w->rows[step]->now;

    now->wake_ms = s->wait_s >= 0 ? w->now_ms + s->wait_s * 1000 : find_until_ms(w, s->until_s);
    return ERR_OK;
}

static enum err start_approval(struct work *w, size_t step, struct errctx *ec)
{
    struct buf text = {0};
    struct errctx why = {""};
    enum err e = flow_put_text(&text, w->values, flow_get_step(w->flow, step)->text, FLOW_TEXT_MAX, NULL, &why);

    if (e == ERR_INPUT) {
        buf_fini(&text);
        return work_fail_step(w, step, why.text, ec);
    }
    if (!e)
        w->rows[step]->now.message = work_keep_buf(w, &text, &e, ec);
    buf_fini(&text);
    return e;
}

static enum err add_child(struct work *w, size_t step, const struct advance_flow *child, struct buf *parameters,
                          struct errctx *ec)
{
    struct flow_new_run *run = calloc(1, sizeof *run);

    if (!run)
        return err_set(ec, ERR_NOMEM, "out of memory");
    run->flow_id = child->version.flow_id;
    run->version = child->version.version;
    run->due_s = w->run->due_s;
    run->parent_run = w->run->id;
    run->parent_step = (int)step;
    run->depth = w->run->depth + 1;
    run->parameters = str_copy(parameters->data);
    run->next = w->out->new_runs;
    w->out->new_runs = run;
    w->rows[step]->child = run;
    return run->parameters ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");
}

static enum err start_flow(struct work *w, size_t step, struct errctx *ec)
{
    const char *name = flow_get_step(w->flow, step)->flow;
    const struct advance_flow *child = w->a->find_flow(w->a->arg, name);
    struct flow_values *values = NULL;
    struct buf parameters = {0};
    struct errctx why = {""};
    enum err e = ERR_OK;

    if (!child)
        e = err_set(&why, ERR_INPUT, "there is no flow \"%s\"", name);
    else if (w->run->depth + 1 >= FLOW_DEPTH_MAX)
        e = err_set(&why, ERR_INPUT, "flows can be nested at most %d levels deep", FLOW_DEPTH_MAX);
    if (!e)
        e = flow_put_parameters(&parameters, w->values, step, &why);
    if (!e)
        e = flow_create_values(child->flow, parameters.data, 0, w->run->due_s, w->a->zone, &values, &why);
    flow_destroy_values(values);
    if (e == ERR_INPUT) {
        buf_fini(&parameters);
        return work_fail_step(w, step, why.text, ec);
    }
    e = e ? err_set(ec, e, "%s", why.text) : add_child(w, step, child, &parameters, ec);
    buf_fini(&parameters);
    return e;
}

enum err tries_start_step(struct work *w, size_t step, struct errctx *ec)
{
    struct flow_step_row *row = work_change(w, step, ec);

    if (!row)
        return ERR_NOMEM;
    row->now = (struct flow_try){.state = FLOW_RUNNING, .started_ms = w->now_ms};
    flow_set_state(w->values, step, FLOW_RUNNING);
    switch (flow_get_step(w->flow, step)->kind) {
    case FLOW_JOB: return start_job(w, step, ec);
    case FLOW_MAP:
    case FLOW_BROADCAST: return items_start(w, step, ec);
    case FLOW_WAIT: return start_wait(w, step);
    case FLOW_APPROVAL: return start_approval(w, step, ec);
    case FLOW_FLOW: return start_flow(w, step, ec);
    }
    return ERR_OK;
}

/* ---- ends -------------------------------------------------------------------------------------------------------- */

static bool is_lost(const struct flow_fire_end *end)
{
    return end->handle_code != CODE_OPEN && end->handle_code != CODE_OK && end->said &&
           strncmp(end->said, LOST_MARK, strlen(LOST_MARK)) == 0;
}

/* Another try is to be made. A lost run of a job whose lost runs are sent again does not count as one. */
static bool may_try_again(const struct advance_job *job, struct flow_try *t, const struct flow_fire_end *end)
{
    if (!job || !job->spec)
        return false;
    if (job->resend_lost && t->lost < LOST_RESENDS_MAX && is_lost(end)) {
        t->lost++;
        return true;
    }
    return t->tries - t->lost <= job->spec->retry_count;
}

/* The database had lost the end: what the executor said with it is gone, and the text is ours. */
static bool is_again(const struct flow_fire_end *end)
{
    return end->said && strncmp(end->said, END_AGAIN_MARK, strlen(END_AGAIN_MARK)) == 0;
}

/* Why it did not end well, for people. */
static const char *find_why(const struct flow_fire_end *end)
{
    if (end->gone)
        return "its log row was deleted";
    if (end->handle_code == CODE_OPEN)
        return "it could not be sent; its log row has the reason";
    if (!end->said || !end->said[0])
        return "its executor reported a failure";
    if (is_lost(end))
        return end->said + strlen(LOST_MARK);
    if (is_again(end))
        return end->said + strlen(END_AGAIN_MARK);
    return end->said;
}

/* Takes the end of a try in. True: it is the end of the whole; false: another try comes at wake_ms. */
static bool take_end(struct work *w, size_t step, struct flow_try *t, const struct flow_fire_end *end)
{
    const struct advance_job *job = w->a->find_job(w->a->arg, flow_get_step(w->flow, step)->job_id);
    bool good = end->handle_code == CODE_OK;

    t->code = end->handle_code ? end->handle_code : end->trigger_code;
    t->address = end->address && end->address[0] ? end->address : NULL;
    t->result = end->handle_code && !is_again(end) ? end->said : NULL;
    t->message = good ? NULL : find_why(end);
    if (good) {
        t->state = FLOW_SUCCEEDED;
    } else if (may_try_again(job, t, end)) {
        int64_t wait_s = job->retry_wait_s;
        for (int n = 1; n < t->tries && wait_s < job->retry_wait_max_s; n++)
            wait_s *= 2;
        if (job->retry_wait_max_s > 0 && wait_s > job->retry_wait_max_s)
            wait_s = job->retry_wait_max_s;
        t->wake_ms = w->now_ms + wait_s * 1000;
        work_look_at(w, t->wake_ms);
        return false;
    } else {
        t->state = FLOW_FAILED;
    }
    t->ended_ms = w->now_ms;
    return true;
}

static struct flow_item_row *find_item(const struct work *w, const struct flow_fire_end *end)
{
    for (size_t i = 0; i < w->run->item_count; i++)
        if (w->run->items[i].step == end->step && w->run->items[i].item == end->item)
            return &w->run->items[i];
    return NULL;
}

static enum err take_item_end(struct work *w, size_t step, const struct flow_fire_end *end, struct errctx *ec)
{
    struct flow_item_row *item = find_item(w, end);

    if (!item || item->now.log_id != end->log_id || item->now.state != FLOW_RUNNING)
        return ERR_OK;
    if (take_end(w, step, &item->now, end)) {
        struct flow_step_row *row = work_change(w, step, ec);
        if (!row)
            return ERR_NOMEM;
        row->items_ended++;
        row->items_failed += item->now.state == FLOW_FAILED;
    }
    return work_add_item(w, item, ec);
}

static enum err take_step_end(struct work *w, size_t step, const struct flow_fire_end *end, struct errctx *ec)
{
    struct flow_step_row *row;

    if (w->rows[step]->now.log_id != end->log_id)
        return ERR_OK;
    row = work_change(w, step, ec);
    if (!row)
        return ERR_NOMEM;
    return take_end(w, step, &row->now, end) ? work_end_step(w, step, row->now.state, ec) : ERR_OK;
}

enum err tries_take_ends(struct work *w, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < w->run->end_count && !e; i++) {
        const struct flow_fire_end *end = &w->run->ends[i];
        size_t step = (size_t)end->step;
        if (end->step >= 0 && step < w->count && w->rows[step] && flow_get_state(w->values, step) == FLOW_RUNNING)
            e = end->item < 0 ? take_step_end(w, step, end, ec) : take_item_end(w, step, end, ec);
        if (!e)
            e = work_add_id(&w->out->ended, &w->out->ended_count, end->log_id, ec);
    }
    return e;
}

/* ---- going on ---------------------------------------------------------------------------------------------------- */

static enum err go_on_job(struct work *w, size_t step, struct errctx *ec)
{
    struct flow_step_row *row = w->rows[step];
    int64_t started_ms = row->now.started_ms;
    int tries = row->now.tries, lost = row->now.lost;
    enum err e;

    if (!row->now.wake_ms)
        return ERR_OK;
    if (row->now.wake_ms > w->now_ms) {
        work_look_at(w, row->now.wake_ms);
        return ERR_OK;
    }
    row = work_change(w, step, ec);
    if (!row)
        return ERR_NOMEM;
    row->now = (struct flow_try){.state = FLOW_RUNNING, .started_ms = started_ms, .tries = tries, .lost = lost};
    e = start_job(w, step, ec);
    return e;
}

static enum err go_on_wait(struct work *w, size_t step, struct errctx *ec)
{
    const struct flow_step_row *row = w->rows[step];

    if (row->now.wake_ms <= w->now_ms)
        return work_end_step(w, step, FLOW_SUCCEEDED, ec);
    work_look_at(w, row->now.wake_ms);
    return ERR_OK;
}

/* The run of the step writes its end into the step's row. */
static enum err go_on_flow(struct work *w, size_t step, struct errctx *ec)
{
    const struct flow_step_row *row = w->rows[step];

    if (!row->now.code)
        return ERR_OK;
    return work_end_step(w, step, row->now.code == CODE_OK ? FLOW_SUCCEEDED : FLOW_FAILED, ec);
}

enum err tries_go_on(struct work *w, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < w->count && !e; i++) {
        if (!w->rows[i] || flow_get_state(w->values, i) != FLOW_RUNNING)
            continue;
        switch (flow_get_step(w->flow, i)->kind) {
        case FLOW_JOB: e = go_on_job(w, i, ec); break;
        case FLOW_MAP:
        case FLOW_BROADCAST: e = items_go_on(w, i, ec); break;
        case FLOW_WAIT: e = go_on_wait(w, i, ec); break;
        case FLOW_FLOW: e = go_on_flow(w, i, ec); break;
        case FLOW_APPROVAL: break;
        }
    }
    return e;
}
