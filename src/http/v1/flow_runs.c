/* SPDX-License-Identifier: MIT */
/* Runs of flows: lists, steps, items, and what people ask of them. */
#include "http/v1/flow_boxes.h"

#define LIST "flow-runs"
#define LIST_ITEMS "flow-items"
#define SUCH "failed,cancelled"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const char *name_step_state(int64_t state)
{
    return flow_state_name((enum flow_state)state);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static void answer_list(struct v1_call *c)
{
    struct v1_page page = v1_query_ids(c, LIST, /*counted=*/false);
    const struct flow_run_filter filter = {.flow_id = v1_query_int(c, "flow", 1, INT32_MAX, 0),
                                           .states =
                                               v1_query_states(c, "state", flow_run_state_name, FLOW_RUN_STATES, SUCH),
                                           .before = page.after ? page.from.keys[0] : INT64_MAX};
    struct flow_run_cards cards;

    if (V1_FAILS(c, admin_list_flow_runs, &filter, page.limit, &cards))
        return;
    V1_PUT_LIST(&c->r->body, "items", cards.items, cards.count, flow_put_run);
    v1_end_page(c, &page, cards.is_end ? NULL : &(struct v1_cursor){.keys = {cards.last}, .count = 1});
    flow_run_cards_fini(&cards);
}

/* Of a step without a row: it waits, or the run ended before it. */
static const char *find_state(const struct flow_run_whole *run, const struct flow_step_view *row)
{
    int64_t state = run->card.items[0].row.state;

    if (row)
        return flow_state_name((enum flow_state)row->state);
    if (FLOW_RUN_OPEN & 1u << state)
        return flow_state_name(FLOW_WAITING);
    return flow_state_name(state == FLOW_RUN_CANCELLED ? FLOW_CANCELLED : FLOW_SKIPPED);
}

static void put_number(struct buf *out, const char *name, int64_t number)
{
    member_int_if(out, name, number != FLOW_NO_NUMBER, number);
}

static void put_items(struct buf *out, const struct flow_step_view *row)
{
    if (!member_object_if(out, "items", row->items != FLOW_NO_NUMBER))
        return;
    member_int(out, "total", row->items);
    member_int(out, "begun", row->items_begun == FLOW_NO_NUMBER ? 0 : row->items_begun);
    member_int(out, "ended", row->items_ended == FLOW_NO_NUMBER ? 0 : row->items_ended);
    member_int(out, "failed", row->items_failed == FLOW_NO_NUMBER ? 0 : row->items_failed);
    member_object_end(out);
}

static void put_step(struct buf *out, const struct flow_box *box, const struct flow_run_whole *run)
{
    static const struct flow_step_view none = {.code = FLOW_NO_NUMBER, .items = FLOW_NO_NUMBER};
    size_t i = (size_t)(box - run->boxes);
    const struct flow_step_view *row = run->steps[i] ? run->steps[i] : &none;

    member_text(out, "name", box->name);
    member_text(out, "type", flow_step_kind_name(box->kind));
    member_text(out, "state", find_state(run, run->steps[i]));
    member_bool(out, "closed", box->closed);
    v1_put_instant(out, "startedAt", row->started_ms);
    v1_put_instant(out, "endedAt", row->ended_ms);
    if (!box->closed) {
        member_int_or_null(out, "jobId", box->job_id);
        member_text(out, "jobName", box->job_name);
        member_text(out, "param", row->param);
        member_int_or_null(out, "logId", row->log_id);
        member_int_or_null(out, "childRun", row->child_run);
        member_int(out, "tries", row->tries);
        v1_put_instant(out, "wakeAt", row->wake_ms);
        put_number(out, "code", row->code);
        member_text(out, "address", row->address);
        member_text(out, "result", row->result);
        member_text(out, "message", row->message);
        member_text(out, "reason", run->reasons[i]);
        put_items(out, row);
        member_text(out, "who", row->who);
        member_text(out, "remark", row->remark);
    }
}

static void answer_one(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct buf *out = &c->r->body;
    struct flow_run_whole run;

    if (V1_FAILS(c, admin_load_flow_run, id, &run))
        return;
    flow_put_run(out, &run.card.items[0]);
    flow_put_document(out, "document", run.version.rows[0].document, run.boxes, run.box_count);
    V1_PUT_LIST(out, "steps", run.boxes, run.box_count, put_step, &run);
    flow_run_whole_fini(&run);
}

/* ---- items ------------------------------------------------------------------------------------------------------- */

static void put_item(struct buf *out, const struct flow_item_view *row)
{
    member_int(out, "item", row->item);
    member_text(out, "state", flow_state_name((enum flow_state)row->state));
    member_int_or_null(out, "logId", row->log_id);
    member_int(out, "tries", row->tries);
    v1_put_instant(out, "wakeAt", row->wake_ms);
    v1_put_instant(out, "startedAt", row->started_ms);
    v1_put_instant(out, "endedAt", row->ended_ms);
    put_number(out, "code", row->code);
    member_text(out, "address", row->address);
    member_text(out, "result", row->result);
    member_text(out, "message", row->message);
}

static void answer_items(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    const char *name = v1_path_text(c, 1);
    struct v1_page page = v1_query_ids(c, LIST_ITEMS, /*counted=*/false);
    unsigned states = v1_query_states(c, "state", name_step_state, FLOW_STATES, SUCH);
    int64_t from = page.after ? page.from.keys[0] + 1 : 0;
    struct flow_item_views list = {0};

    if (V1_FAILS(c, admin_list_flow_items, id, name, states, from, page.want, &list))
        return;
    V1_PUT_PAGE(c, &page, list.rows, list.count, put_item, item);
    flow_item_views_fini(&list);
}

/* ---- what people ask --------------------------------------------------------------------------------------------- */

static void ask(struct v1_call *c, enum flow_action action, bool of_step)
{
    int64_t id = v1_path_id(c, 0);
    const char *name = of_step ? v1_path_text(c, 1) : NULL;
    const char *remark = v1_text(&c->body, "remark", FLOW_REMARK_MAX);

    if (V1_FAILS(c, admin_ask_flow_run, id, name, action, remark))
        return;
    c->r->status = 202;
}

#define ANSWER(function, action, of_step)                                                                              \
    static void function(struct v1_call *c)                                                                            \
    {                                                                                                                  \
        ask(c, action, of_step);                                                                                       \
    }
ANSWER(answer_cancel, FLOW_ASK_CANCEL, false)
ANSWER(answer_rerun, FLOW_ASK_RERUN, false)
ANSWER(answer_retry, FLOW_ASK_RETRY, true)
ANSWER(answer_skip, FLOW_ASK_SKIP, true)
ANSWER(answer_done, FLOW_ASK_DONE, true)
ANSWER(answer_approve, FLOW_ASK_APPROVE, true)
ANSWER(answer_reject, FLOW_ASK_REJECT, true)
#undef ANSWER

#define STEP "/flow-runs/{id}/steps/{name}"
static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/flow-runs", ROUTE_LOGIN), V1_NO_BODY, 0, answer_list},
    {V1_ROUTE(ROUTE_GET, "/flow-runs/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_one},
    {V1_ROUTE(ROUTE_GET, "/flow-runs/{id}/events", ROUTE_LOGIN), V1_NO_BODY, 0, flow_answer_events},
    {V1_ROUTE(ROUTE_POST, "/flow-runs/{id}/cancel", ROUTE_LOGIN), V1_MAY_BODY, 0, answer_cancel},
    {V1_ROUTE(ROUTE_POST, "/flow-runs/{id}/rerun", ROUTE_LOGIN), V1_MAY_BODY, 0, answer_rerun},
    {V1_ROUTE(ROUTE_GET, STEP "/items", ROUTE_LOGIN), V1_NO_BODY, 0, answer_items},
    {V1_ROUTE(ROUTE_POST, STEP "/retry", ROUTE_LOGIN), V1_MAY_BODY, 0, answer_retry},
    {V1_ROUTE(ROUTE_POST, STEP "/skip", ROUTE_LOGIN), V1_MAY_BODY, 0, answer_skip},
    {V1_ROUTE(ROUTE_POST, STEP "/done", ROUTE_LOGIN), V1_MAY_BODY, 0, answer_done},
    {V1_ROUTE(ROUTE_POST, STEP "/approve", ROUTE_LOGIN), V1_MAY_BODY, 0, answer_approve},
    {V1_ROUTE(ROUTE_POST, STEP "/reject", ROUTE_LOGIN), V1_MAY_BODY, 0, answer_reject},
};

const struct v1_topic v1_flow_runs = {routes, ARRAY_LEN(routes)};
