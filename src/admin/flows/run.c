/* SPDX-License-Identifier: MIT */
/* One run of a flow: its steps as somebody may see them, and why each waits. */
#include "admin/flows/flows_impl.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASKED_MS 2000

void flow_run_whole_fini(struct flow_run_whole *whole)
{
    for (size_t i = 0; whole->reasons && i < whole->box_count; i++)
        free(whole->reasons[i]);
    free(whole->reasons);
    free(whole->steps);
    flow_boxes_destroy(whole->boxes, whole->box_count);
    flow_step_views_fini(&whole->rows);
    flow_version_rows_fini(&whole->version);
    flow_run_cards_fini(&whole->card);
    *whole = (struct flow_run_whole){0};
}

/* ---- why a step waits -------------------------------------------------------------------------------------------- */

static enum err put_step(struct flow_values *values, const struct flow_step_view *row, struct errctx *ec)
{
    enum flow_state state = (enum flow_state)row->state;
    const struct flow_end end = {.result = row->result,
                                 .result_len = row->result ? strlen(row->result) : 0,
                                 .code = row->code == FLOW_NO_NUMBER ? 0 : row->code,
                                 .address = row->address,
                                 .started_ms = row->started_ms,
                                 .ended_ms = row->ended_ms};
    enum err e = ERR_OK;

    if (state == FLOW_SUCCEEDED || state == FLOW_FAILED)
        e = flow_end_step(values, (size_t)row->step, state, &end, ec);
    else
        flow_set_state(values, (size_t)row->step, state);
    return e == ERR_INPUT ? ERR_OK : e; /* more than a run may have: no condition looks at it */
}

static enum err put_reasons(const struct flow_values *values, struct flow_run_whole *out, struct errctx *ec)
{
    bool in_line = out->card.items[0].row.state == FLOW_RUN_QUEUED;

    for (size_t i = 0; i < out->box_count; i++) {
        const struct flow_step_view *row = out->steps[i];
        struct buf reason = {0};

        if (out->boxes[i].closed || (row && row->state != FLOW_WAITING))
            continue;
        if (row && row->message)
            buf_puts(&reason, row->message);
        else if (in_line)
            buf_puts(&reason, "The run waits until the runs before it have ended.");
        else
            flow_put_reason(&reason, values, i);
        out->reasons[i] = buf_failed(&reason) ? NULL : str_copy(reason.data);
        buf_fini(&reason);
        if (!out->reasons[i])
            return err_set(ec, ERR_NOMEM, "out of memory");
    }
    return ERR_OK;
}

/* Of a run that is open. Parameters that do not go with the document any more leave them out. */
static enum err find_reasons(const struct admin *a, struct flow_run_whole *out, struct errctx *ec)
{
    const struct flow_run_row *run = &out->card.items[0].row;
    struct flow_values *values = NULL;
    const struct zone *zone = NULL;
    struct zone *own = NULL;
    struct flow *flow = NULL;
    struct refusal why = {0};
    enum err e;

    if (flow_load_saved(out->version.rows[0].document, &flow, &why))
        return ERR_OK;
    e = admin_take_zone(a, flow_get_settings(flow)->zone, &own, &zone, ec);
    if (!e)
        e = flow_create_values(flow, run->parameters, run->id, run->due_s, zone, &values, ec);
    for (size_t i = 0; i < out->box_count && !e; i++)
        if (out->steps[i])
            e = put_step(values, out->steps[i], ec);
    if (!e)
        e = put_reasons(values, out, ec);
    flow_destroy_values(values);
    zone_destroy(own);
    flow_destroy(flow);
    return e == ERR_INPUT ? ERR_OK : e;
}

/* ---- one run ----------------------------------------------------------------------------------------------------- */

static enum err take_card(struct reach *reach, const struct actor *actor, const struct reach_flow *flow, int64_t now_ms,
                          struct flow_run_cards *out, struct errctx *ec)
{
    out->items = calloc(1, sizeof *out->items);
    if (!out->items)
        return err_set(ec, ERR_NOMEM, "out of memory");
    out->count = 1;
    out->is_end = true;
    out->items[0].row = out->batches[0].rows[0];
    enum err e = flow_fill_run_card(reach, flow, actor, now_ms, &out->items[0], ec);
    return e ? e : flow_fill_parents(reach, actor, out->items, 1, ec);
}

static enum err load_steps(struct admin *a, struct reach *reach, const struct actor *actor,
                           const struct reach_flow *flow, struct flow_run_whole *out, struct errctx *ec)
{
    enum err e = reach_load_boxes(reach, flow, actor, &out->boxes, ec);

    if (e)
        return e;
    out->box_count = flow->step_count;
    out->steps = calloc(out->box_count + 1, sizeof(void *));
    out->reasons = calloc(out->box_count + 1, sizeof *out->reasons);
    if (!out->steps || !out->reasons)
        return err_set(ec, ERR_NOMEM, "out of memory");
    e = store_load_flow_steps(reach->s, out->card.items[0].row.id, &out->rows, ec);
    for (size_t i = 0; i < out->rows.count && !e; i++)
        if (out->rows.rows[i].step >= 0 && out->rows.rows[i].step < (int64_t)out->box_count)
            out->steps[out->rows.rows[i].step] = &out->rows.rows[i];
    if (!e && FLOW_RUN_OPEN & 1u << out->card.items[0].row.state)
        e = find_reasons(a, out, ec);
    return e;
}

static enum err load_whole(struct admin *a, const struct actor *actor, int64_t id, bool unseen,
                           struct flow_run_whole *out, struct refusal *r)
{
    struct flow_view v;
    enum err e = flow_open_run(a, id, &v, r);

    *out = (struct flow_run_whole){.card = {.batches = {v.runs}, .batch_count = 1}, .version = v.version};
    v.runs = (struct flow_run_rows){0};
    v.version = (struct flow_version_rows){0};
    if (!e && !unseen)
        e = reach_refuse_unless_sees(&v.reach, v.flow, actor, r);
    if (!e)
        e = take_card(&v.reach, actor, v.flow, clock_wall_ms(a->clock), &out->card, &r->text);
    if (!e && !unseen)
        e = load_steps(a, &v.reach, actor, v.flow, out, &r->text);
    if (e)
        flow_run_whole_fini(out);
    return flow_close(a, &v, e, r);
}

enum err admin_load_flow_run(struct admin *a, const struct actor *actor, int64_t id, struct flow_run_whole *out,
                             struct refusal *r)
{
    return load_whole(a, actor, id, /*unseen=*/false, out, r);
}

enum err admin_show_started_run(struct admin *a, const struct actor *actor, int64_t id, struct flow_run_cards *out,
                                struct refusal *r)
{
    struct flow_run_whole whole = {0};
    enum err e = load_whole(a, actor, id, /*unseen=*/true, &whole, r);

    if (e)
        return e;
    *out = whole.card;
    whole.card = (struct flow_run_cards){0};
    flow_run_whole_fini(&whole);
    return ERR_OK;
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

static enum err list_items(struct reach *reach, const struct actor *actor, const struct reach_flow *flow,
                           int64_t run_id, const char *name, unsigned states, int64_t from, int64_t limit,
                           struct flow_item_views *out, struct refusal *r)
{
    size_t step = flow_find_step_named(flow, name);
    struct flow_box *boxes = NULL;
    bool closed = false;
    enum err e;

    if (step == flow->step_count)
        return refuse(r, REFUSED_UNKNOWN, "name", "the run has no step \"%s\"", name);
    e = refuse_error(r, reach_load_boxes(reach, flow, actor, &boxes, &r->text));
    if (!e)
        closed = boxes[step].closed;
    flow_boxes_destroy(boxes, flow->step_count);
    if (!e && closed)
        return refuse(r, REFUSED_RIGHT, NULL, "%s may not see the job of the step", actor->name);
    return e ? e : store_list_flow_items(reach->s, run_id, (int64_t)step, states, from, limit, out, &r->text);
}

enum err admin_list_flow_items(struct admin *a, const struct actor *actor, int64_t run_id, const char *step,
                               unsigned states, int64_t from, int64_t limit, struct flow_item_views *out,
                               struct refusal *r)
{
    struct flow_view v;
    enum err e = flow_open_run(a, run_id, &v, r);

    if (!e)
        e = reach_refuse_unless_sees(&v.reach, v.flow, actor, r);
    if (!e)
        e = list_items(&v.reach, actor, v.flow, run_id, step, states, from, limit, out, r);
    return flow_close(a, &v, e, r);
}

/* ---- what was asked of it ---------------------------------------------------------------------------------------- */

static bool is_of_run(const struct audit_row *row, int64_t run_id)
{
    char head[40];
    int len = snprintf(head, sizeof head, "{\"run\":%" PRId64, run_id);

    return row->after && strncmp(row->after, head, (size_t)len) == 0 &&
           (row->after[len] == ',' || row->after[len] == '}');
}

enum err admin_load_flow_asked(struct admin *a, const struct flow_run_row *run, struct audit_page *out, bool *cut,
                               struct refusal *r)
{
    const struct audit_filter filter = {
        .action = "flow.", .target = run->flow_id, .from_ms = run->created_ms, .scope = AUDIT_OF_ALL};
    struct store_session *s = NULL;
    size_t kept = 0;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = store_load_audit(s, &filter, (struct history_place){INT64_MAX, INT64_MAX}, FLOW_ASKED_MAX, ASKED_MS, out,
                             &r->text);
    *cut = !e && out->count == FLOW_ASKED_MAX;
    for (size_t i = 0; i < out->count && !e; i++)
        if (is_of_run(&out->items[i].row, run->id))
            out->items[kept++] = out->items[i];
    out->count = e ? out->count : kept;
    for (size_t i = 0; i < kept / 2; i++) { /* newest first */
        struct audit_entry entry = out->items[i];
        out->items[i] = out->items[kept - 1 - i];
        out->items[kept - 1 - i] = entry;
    }
    return admin_end(a, s, e, r);
}
