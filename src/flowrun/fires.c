/* SPDX-License-Identifier: MIT */
/* Fires of steps and of items: what stands against one, its parameter, and one more try. */
#include "flowrun/work.h"

#include "shardwheel/route.h"

#include <inttypes.h>

static void append_fire(struct work *w, struct fire *fire, size_t step, int item)
{
    fire->next = NULL;
    fire->flow_run = w->run->id;
    fire->flow_step = (int)step;
    fire->flow_item = item;
    fire->flow_items = item >= 0 ? w->rows[step]->items : 0;
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
enum err fires_try(struct work *w, size_t step, int item, struct flow_try *t, const char *param, struct errctx *ec)
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
void fires_check_job(const struct work *w, size_t step, struct errctx *why)
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
        (void)err_set(why, ERR_INPUT, "job %" PRId64 " is not a broadcast job", s->job_id);
}

/* The parameter of the step's run, or that of its job. ERR_INPUT: a path leads to nothing. */
enum err fires_find_param(struct work *w, size_t step, const struct flow_item *item, const char **out,
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
