/* SPDX-License-Identifier: MIT */
/* Steps at work: their fires, the ends of these, further tries, items of maps and broadcasts, waits. */
#include "flowrun/work.h"

#include "shardwheel/job/codes.h"
#include "shardwheel/route.h"
#include "shardwheel/store/lost.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400
#define NO_ITEM (-1)

/* ---- fires ------------------------------------------------------------------------------------------------------- */

static void append_fire(struct work *w, struct fire *fire, size_t step, int item)
{
    fire->next = NULL;
    fire->flow_run = w->run->id;
    fire->flow_step = (int)step;
    fire->flow_item = item;
    *w->out->fires_end = fire;
    w->out->fires_end = &fire->next;
}

/* Of a broadcast the one for that address, of as many as there were when the step began. */
static struct fire *choose_fire(struct fire *list, const struct flow_step_row *row, int item)
{
    struct fire *chosen = NULL;
    int count = 0;

    for (struct fire *f = list; f; f = f->next)
        count++;
    item = item < 0 ? 0 : item; /* as strangers may have written it */
    while (list) {
        struct fire *next = list->next;
        if (!chosen && list->shard_index == item % count) {
            chosen = list;
        } else {
            list->next = NULL;
            fire_destroy(list);
        }
        list = next;
    }
    chosen->shard_index = item;
    chosen->shard_total = row->items;
    return chosen;
}

/* One more try of a step or of an item; `param` is that of its run. */
static enum err fire_try(struct work *w, size_t step, int item, struct flow_try *t, const char *param,
                         struct errctx *ec)
{
    const struct flow_step *s = flow_get_step(w->flow, step);
    const struct advance_job *job = w->a->find_job(w->a->arg, s->job_id);
    struct job_spec *copy = job_spec_copy(job->spec, param, /*retry_count=*/0);
    struct fire *list = NULL;
    enum err e;

    if (!copy)
        return err_set(ec, ERR_NOMEM, "out of memory");
    e = fires_make_direct(
        &(struct direct_order){
            .job = copy, .group = job->group, .kind = TRIGGER_FLOW, .now_s = time_floor_div(w->now_ms, 1000)},
        &list, ec);
    job_spec_unref(copy);
    if (e)
        return e;
    if (s->kind == FLOW_BROADCAST)
        list = choose_fire(list, w->rows[step], item);
    append_fire(w, list, step, item);
    w->fired[step] += item >= 0;
    t->state = FLOW_RUNNING;
    t->fire = list;
    t->started_ms = t->started_ms ? t->started_ms : w->now_ms;
    t->ended_ms = 0;
    t->wake_ms = 0;
    t->tries++;
    t->message = NULL;
    w->tally->tries++;
    return ERR_OK;
}

/* What stands against firing the job of the step; `why` is empty otherwise. */
static void check_job(const struct work *w, size_t step, struct errctx *why)
{
    const struct flow_step *s = flow_get_step(w->flow, step);
    const struct advance_job *job = w->a->find_job(w->a->arg, s->job_id);
    bool broadcast;

    errctx_clear(why);
    if (!job || !job->spec) {
        (void)err_set(why, ERR_NOTFOUND, "there is no job %" PRId64, s->job_id);
        return;
    }
    broadcast = route_is_broadcast(job->spec->route);
    if (broadcast && s->kind != FLOW_BROADCAST)
        (void)err_set(why, ERR_INPUT, "job %" PRId64 " is a broadcast job: its step must be of type broadcast",
                      s->job_id);
    else if (!broadcast && s->kind == FLOW_BROADCAST)
        (void)err_set(why, ERR_INPUT, "job %" PRId64 " is no broadcast job", s->job_id);
}

/* The parameter of the step's run, or that of its job. ERR_INPUT: a path leads to nothing. */
static enum err find_param(struct work *w, size_t step, const struct flow_item *item, const char **out,
                           struct errctx *ec)
{
    const struct flow_step *s = flow_get_step(w->flow, step);
    struct buf text = {0};
    enum err e;

    if (!s->param) {
        *out = w->a->find_job(w->a->arg, s->job_id)->spec->param;
        return ERR_OK;
    }
    e = flow_put_text(&text, w->values, s->param, w->a->param_max, item, ec);
    if (!e)
        *out = work_keep_buf(w, &text, &e, ec);
    buf_fini(&text);
    return e;
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static enum err start_job(struct work *w, size_t step, struct errctx *ec)
{
    const char *param = NULL;
    struct errctx why = {""};
    enum err e;

    check_job(w, step, &why);
    if (why.text[0])
        return work_fail_step(w, step, why.text, ec);
    e = find_param(w, step, NULL, &param, &why);
    if (e == ERR_INPUT)
        return work_fail_step(w, step, why.text, ec);
    return e ? err_set(ec, e, "%s", why.text) : fire_try(w, step, NO_ITEM, &w->rows[step]->now, param, ec);
}

/* How many items it has. ERR_INPUT with a sentence. */
static enum err count_items(struct work *w, size_t step, int *out, struct errctx *ec)
{
    const struct flow_step *s = flow_get_step(w->flow, step);
    const struct advance_job *job = w->a->find_job(w->a->arg, s->job_id);
    char **items = NULL;
    size_t count = 0;
    enum err e;

    if (s->kind == FLOW_BROADCAST) {
        *out = job->group && job->group->count > 0 ? (int)job->group->count : 1;
        return ERR_OK;
    }
    e = flow_load_items(w->values, step, &items, &count, ec);
    if (!e)
        flow_free_items(items, count);
    *out = (int)count;
    return e;
}

static enum err start_items(struct work *w, size_t step, struct errctx *ec)
{
    struct flow_step_row *row = w->rows[step];
    struct errctx why = {""};
    int count = 0;
    enum err e;

    check_job(w, step, &why);
    if (why.text[0])
        return work_fail_step(w, step, why.text, ec);
    e = count_items(w, step, &count, &why);
    if (e == ERR_INPUT)
        return work_fail_step(w, step, why.text, ec);
    if (e)
        return err_set(ec, e, "%s", why.text);
    row->now.started_ms = w->now_ms;
    if (count == 0) {
        row->now.result = "[]";
        row->now.code = CODE_OK;
        return work_end_step(w, step, FLOW_SUCCEEDED, ec);
    }
    if (row->items_begun > 0 && (row->items == count || flow_get_step(w->flow, step)->kind == FLOW_BROADCAST)) {
        work_look_at(w, w->now_ms); /* when its items are due again */
        return work_add_place(&w->out->again, &w->out->again_count, w->run->id, (int)step, ec);
    }
    if (row->items_begun > 0)
        e = work_add_place(&w->out->forgotten, &w->out->forgotten_count, w->run->id, (int)step, ec);
    row->items = count;
    row->items_begun = row->items_ended = row->items_failed = 0;
    return e;
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
        e = err_set(&why, ERR_INPUT, "flows of flows are %d deep at most", FLOW_DEPTH_MAX);
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
    w->tally->steps_started++;
    switch (flow_get_step(w->flow, step)->kind) {
    case FLOW_JOB: return start_job(w, step, ec);
    case FLOW_MAP:
    case FLOW_BROADCAST: return start_items(w, step, ec);
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

/* Why it did not end well, for people. */
static const char *find_why(const struct flow_fire_end *end)
{
    if (end->gone)
        return "its row of the log was deleted";
    if (end->handle_code == CODE_OPEN)
        return "it could not be sent; its log says why";
    if (!end->said || !end->said[0])
        return "its executor reported a failure";
    if (is_lost(end))
        return end->said + strlen(LOST_MARK);
    return end->said;
}

/* Takes the end of a try in. True: it is the end of the whole; false: another try comes at wake_ms. */
static bool take_end(struct work *w, size_t step, struct flow_try *t, const struct flow_fire_end *end)
{
    const struct advance_job *job = w->a->find_job(w->a->arg, flow_get_step(w->flow, step)->job_id);
    bool good = end->handle_code == CODE_OK;

    t->code = end->handle_code ? end->handle_code : end->trigger_code;
    t->address = end->address && end->address[0] ? end->address : NULL;
    t->result = end->handle_code ? end->said : NULL;
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

/* Its fires whose ends are not taken in. */
static int count_in_flight(const struct work *w, size_t step)
{
    int count = w->fired[step];

    for (size_t i = 0; i < w->run->flight_count; i++)
        if (w->run->flights[i].step == (int)step)
            count += w->run->flights[i].count;
    for (size_t i = 0; i < w->run->end_count; i++)
        count -= w->run->ends[i].step == (int)step && w->run->ends[i].item >= 0;
    return count;
}

struct items {
    char **texts; /* of a map; NULL: a broadcast has none */
    size_t count;
};

/* One try of an item; what cannot be sent at all ends it. */
static enum err try_item(struct work *w, size_t step, struct flow_item_row *item, const struct items *items,
                         struct errctx *ec)
{
    struct flow_step_row *row = w->rows[step];
    const struct flow_item value = {.json = items->texts && (size_t)item->item < items->count ? items->texts[item->item]
                                                                                              : "null",
                                    .number = item->item};
    const char *param = NULL;
    struct errctx why = {""};
    enum err e = ERR_OK;

    check_job(w, step, &why);
    if (!why.text[0])
        e = find_param(w, step, items->texts ? &value : NULL, &param, &why);
    if (!e && !why.text[0])
        e = fire_try(w, step, item->item, &item->now, param, ec);
    else if (!e || e == ERR_INPUT) {
        e = ERR_OK;
        item->now.state = FLOW_FAILED;
        item->now.wake_ms = 0;
        item->now.ended_ms = w->now_ms;
        item->now.message = work_keep(w, why.text, &e, ec);
        row->items_ended++;
        row->items_failed++;
    }
    return e ? e : work_add_item(w, item, ec);
}

static enum err begin_item(struct work *w, size_t step, const struct items *items, struct errctx *ec)
{
    struct flow_step_row *row = work_change(w, step, ec);
    struct flow_item_row *item = calloc(1, sizeof *item);
    void **more = item ? realloc(w->out->memory, (w->out->memory_count + 1) * sizeof *more) : NULL;

    if (!row || !more) {
        free(item);
        return err_set(ec, ERR_NOMEM, "out of memory");
    }
    w->out->memory = more;
    more[w->out->memory_count++] = item;
    *item = (struct flow_item_row){.run_id = w->run->id, .step = (int)step, .item = row->items_begun++};
    return try_item(w, step, item, items, ec);
}

/* What cannot be sent takes no room: nothing would end, and give it back. */
static enum err fill_room(struct work *w, size_t step, int room, struct errctx *ec)
{
    struct flow_step_row *row = w->rows[step];
    struct items items = {0};
    int sent = w->fired[step], due = 0;
    enum err e = ERR_OK;

    if (flow_get_step(w->flow, step)->kind == FLOW_MAP)
        e = flow_load_items(w->values, step, &items.texts, &items.count, ec);
    for (size_t i = 0; i < w->run->item_count && !e; i++) {
        struct flow_item_row *item = &w->run->items[i];
        if (item->step != (int)step || item->now.state != FLOW_RUNNING || !item->now.wake_ms ||
            item->now.wake_ms > w->now_ms)
            continue;
        due++;
        if (w->fired[step] - sent >= room) {
            work_look_at(w, w->now_ms + 1000);
            continue;
        }
        e = work_change(w, step, ec) ? try_item(w, step, item, &items, ec) : ERR_NOMEM;
    }
    if (due >= FLOW_DUE_ITEMS_MAX) /* there may be more */
        work_look_at(w, w->now_ms + (w->fired[step] - sent >= room ? 1000 : 0));
    while (w->fired[step] - sent < room && row->items_begun < row->items && !e)
        e = begin_item(w, step, &items, ec);
    flow_free_items(items.texts, items.count);
    return e == ERR_INPUT ? work_fail_step(w, step, ec->text, ec) : e;
}

/* All items have ended: their results are read in the next move. */
static enum err end_items(struct work *w, size_t step, struct errctx *ec)
{
    struct flow_step_row *row = w->rows[step];
    const char **results = NULL;
    struct buf text = {0};
    size_t n = 0;
    enum err e = ERR_OK;

    for (size_t i = 0; i < w->run->result_count; i++)
        n += w->run->results[i].step == (int)step;
    if (n == 0) {
        work_look_at(w, w->now_ms);
        return ERR_OK;
    }
    results = calloc(n, sizeof *results);
    row = results ? work_change(w, step, ec) : NULL;
    if (!row) {
        free(results);
        return err_set(ec, ERR_NOMEM, "out of memory");
    }
    n = 0;
    for (size_t i = 0; i < w->run->result_count; i++)
        if (w->run->results[i].step == (int)step)
            results[n++] = w->run->results[i].result;
    e = flow_put_array(&text, results, n, ec);
    free(results);
    row->now.code = row->items_failed ? CODE_FAILED : CODE_OK;
    row->now.message = NULL;
    if (!e && row->items_failed) {
        char why[80];
        snprintf(why, sizeof why, "%d of %d items failed", row->items_failed, row->items);
        row->now.message = work_keep(w, why, &e, ec);
    }
    if (!e && text.len > FLOW_RESULT_MAX)
        row->now.message =
            row->now.message ? row->now.message : "the results of its items are too large to be its result";
    else if (!e)
        row->now.result = work_keep_buf(w, &text, &e, ec);
    buf_fini(&text);
    return e ? e : work_end_step(w, step, row->items_failed ? FLOW_FAILED : FLOW_SUCCEEDED, ec);
}

static enum err go_on_items(struct work *w, size_t step, struct errctx *ec)
{
    const struct flow_step *s = flow_get_step(w->flow, step);
    struct flow_step_row *row = w->rows[step];
    int room = s->kind == FLOW_BROADCAST ? row->items : (int)s->parallel;
    enum err e;

    for (size_t i = 0; i < w->out->again_count; i++)
        if (w->out->again[i].run_id == w->run->id && w->out->again[i].step == (int)step)
            return ERR_OK; /* in the next move */
    if (row->items_ended >= row->items)
        return end_items(w, step, ec);
    e = fill_room(w, step, room - count_in_flight(w, step), ec);
    if (!e && flow_get_state(w->values, step) == FLOW_RUNNING && row->items_ended >= row->items)
        work_look_at(w, w->now_ms);
    return e;
}

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
        case FLOW_BROADCAST: e = go_on_items(w, i, ec); break;
        case FLOW_WAIT: e = go_on_wait(w, i, ec); break;
        case FLOW_FLOW: e = go_on_flow(w, i, ec); break;
        case FLOW_APPROVAL: break;
        }
    }
    return e;
}
