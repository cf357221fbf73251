/* SPDX-License-Identifier: MIT */
/* Items of maps and broadcasts: how many there are, which have room, and the end of all. */
#include "flowrun/work.h"

#include "shardwheel/job/codes.h"

#include <stdio.h>
#include <stdlib.h>

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

enum err items_start(struct work *w, size_t step, struct errctx *ec)
{
    struct flow_step_row *row = w->rows[step];
    struct errctx why = {""};
    int count = 0;
    enum err e;

    fires_check_job(w, step, &why);
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

    fires_check_job(w, step, &why);
    if (!why.text[0])
        e = fires_find_param(w, step, items->texts ? &value : NULL, &param, &why);
    if (!e && !why.text[0])
        e = fires_try(w, step, item->item, &item->now, param, ec);
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

    if (!work_own(w, item) || !row)
        return err_set(ec, ERR_NOMEM, "out of memory");
    *item = (struct flow_item_row){.run_id = w->run->id, .step = (int)step, .item = row->items_begun++};
    return try_item(w, step, item, items, ec);
}

static bool is_due(const struct work *w, size_t step, const struct flow_item_row *item)
{
    return item->step == (int)step && item->now.state == FLOW_RUNNING && item->now.wake_ms &&
           item->now.wake_ms <= w->now_ms;
}

/* Whether a try could be made now: else the items need not be looked at. */
static bool has_work(const struct work *w, size_t step, int room)
{
    bool due = false;

    for (size_t i = 0; i < w->run->item_count && !due; i++)
        due = is_due(w, step, &w->run->items[i]);
    return due || (room > 0 && w->rows[step]->items_begun < w->rows[step]->items);
}

/* What cannot be sent takes no room: nothing would end, and give it back. */
static enum err fill_room(struct work *w, size_t step, int room, struct errctx *ec)
{
    struct flow_step_row *row = w->rows[step];
    struct items items = {0};
    int sent = w->fired[step], due = 0;
    enum err e = ERR_OK;

    if (!has_work(w, step, room))
        return ERR_OK;
    if (flow_get_step(w->flow, step)->kind == FLOW_MAP)
        e = flow_load_items(w->values, step, &items.texts, &items.count, ec);
    for (size_t i = 0; i < w->run->item_count && !e; i++) {
        struct flow_item_row *item = &w->run->items[i];
        if (!is_due(w, step, item))
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

enum err items_go_on(struct work *w, size_t step, struct errctx *ec)
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
