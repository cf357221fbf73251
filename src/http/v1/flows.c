/* SPDX-License-Identifier: MIT */
/* Flows, their versions, and how a run is started. */
#include "http/v1/flow_boxes.h"

#include <string.h>

#define LIST "flows"
#define LIST_VERSIONS "flow-versions"

/* ---- faults ------------------------------------------------------------------------------------------------------ */

static void put_fault(struct buf *out, const struct flow_fault *fault)
{
    member_text(out, "where", fault->where);
    member_text(out, "text", fault->text);
}

static void put_faults(struct buf *out, const struct flow_faults *faults)
{
    size_t count = faults->count < FLOW_FAULTS_MAX ? faults->count : FLOW_FAULTS_MAX;

    V1_PUT_LIST(out, "faults", faults->list, count, put_fault);
}

/* A problem of a document has all of its faults. */
static bool has_failed(struct v1_call *c, enum err e, const struct flow_faults *faults)
{
    bool failed = v1_has_failed(c, e);

    if (failed && faults->count)
        put_faults(&c->r->body, faults);
    return failed;
}

static void answer_validate(struct v1_call *c)
{
    const char *document = flow_take_document(c);
    struct flow_verdict *verdict = v1_keep(c, sizeof *verdict);

    if (V1_FAILS(c, admin_check_flow, document, verdict))
        return;
    put_faults(&c->r->body, &verdict->faults);
    v1_put_ints(&c->r->body, "groups", verdict->groups, verdict->group_count);
    flow_verdict_fini(verdict);
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

static void put_tick(struct buf *out, const struct flow_tick *tick)
{
    member_int(out, "id", tick->id);
    member_text(out, "state", flow_run_state_name(tick->state));
    v1_put_instant(out, "startedAt", tick->started_ms);
    v1_put_instant(out, "endedAt", tick->ended_ms);
}

static void put_flow(struct buf *out, const struct flow_card *card)
{
    member_int(out, "id", card->row.id);
    member_text(out, "name", card->row.name);
    flow_put_member(out, card->row.document, "description", NULL);
    member_text(out, "state", card->row.started ? "started" : "stopped");
    member_int(out, "version", card->row.version);
    flow_put_member(out, card->row.document, "tags", "[]");
    flow_put_member(out, card->row.document, "schedule", NULL);
    v1_put_instant(out, "nextAt", card->row.next_s * 1000);
    v1_put_instant(out, "changedAt", card->row.changed_ms);
    member_int(out, "steps", (int64_t)card->step_count);
    v1_put_ints(out, "groups", card->groups, card->group_count);
    member_int(out, "openRuns", card->open_runs);
    V1_PUT_LIST(out, "lastRuns", card->ticks, card->tick_count, put_tick);
    member_bool(out, "canChange", card->can_change);
    member_bool(out, "canRun", card->can_run);
}

static void answer_list(struct v1_call *c)
{
    struct v1_page page = v1_query_page(c, LIST, 0, /*text=*/true);
    struct flow_query query = {.after = page.after ? page.from.text : "", .limit = page.limit};
    struct flow_cards cards;

    v1_refuse_count(c, &page);
    query.filter.name = v1_pattern(c, v1_query_text(c, "name", FLOW_NAME_MAX));
    query.filter.started = v1_query_choice(c, "state", (const char *const[]){"stopped", "started", NULL}, -1);
    query.tag = v1_query_text(c, "tag", 255);
    if (V1_FAILS(c, admin_list_flows, &query, &cards))
        return;
    V1_PUT_LIST(&c->r->body, "items", cards.items, cards.count, put_flow);
    v1_end_page(c, &page, cards.is_end ? NULL : &(struct v1_cursor){.text = cards.last});
    flow_cards_fini(&cards);
}

/* As GET gives it. False: it could not be read, and the answer says so. */
static bool write_flow(struct v1_call *c, int64_t id)
{
    struct flow_box *boxes = NULL;
    struct flow_cards cards;

    if (v1_has_failed(c, admin_load_flow(c->admin, c->actor, id, &cards, &boxes, &c->why)))
        return false;
    put_flow(&c->r->body, &cards.items[0]);
    flow_put_document(&c->r->body, "document", cards.items[0].row.document, boxes, cards.items[0].step_count);
    flow_boxes_destroy(boxes, cards.items[0].step_count);
    flow_cards_fini(&cards);
    return true;
}

static void answer_load(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);

    if (!v1_is_refused(c))
        write_flow(c, id);
}

static void answer_chain(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct buf document = {0};

    if (!V1_FAILS(c, admin_put_chain, id, &document)) {
        flow_put_document(&c->r->body, "document", document.data, NULL, 0);
        c->r->body.failed |= buf_failed(&document);
    }
    buf_fini(&document);
}

/* ---- changing ---------------------------------------------------------------------------------------------------- */

static void answer_add(struct v1_call *c)
{
    const char *document = flow_take_document(c);
    struct flow_faults *faults = v1_keep(c, sizeof *faults);
    int64_t id = 0;

    if (!v1_is_refused(c) &&
        !has_failed(c, admin_add_flow(c->admin, c->actor, document, &id, faults, &c->why), faults) && write_flow(c, id))
        v1_set_created(c, "/flows/", id);
}

static void answer_update(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0), version = v1_int(&c->body, "version", 1, INT32_MAX, 0);
    const char *document = flow_take_document(c);
    struct flow_faults *faults = v1_keep(c, sizeof *faults);

    v1_require(&c->body, "version");
    if (!v1_is_refused(c) &&
        !has_failed(c, admin_update_flow(c->admin, c->actor, id, version, document, faults, &c->why), faults))
        write_flow(c, id);
}

V1_ID_ANSWER(answer_remove, admin_remove_flow)

static void set_started(struct v1_call *c, bool started)
{
    int64_t id = v1_path_id(c, 0);

    if (!V1_FAILS(c, admin_set_flow_started, id, started))
        write_flow(c, id);
}

static void answer_start(struct v1_call *c)
{
    set_started(c, true);
}

static void answer_stop(struct v1_call *c)
{
    set_started(c, false);
}

/* ---- versions ---------------------------------------------------------------------------------------------------- */

static void put_version(struct buf *out, const struct flow_version_row *row)
{
    member_int(out, "version", row->version);
    v1_put_instant(out, "at", row->at_ms);
    member_text(out, "who", row->who);
}

static void answer_versions(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0);
    struct v1_page page = v1_query_ids(c, LIST_VERSIONS, /*counted=*/false);
    struct flow_version_rows list = {0};

    if (V1_FAILS(c, admin_list_flow_versions, id, page.after ? page.from.keys[0] : INT64_MAX, page.want, &list))
        return;
    V1_PUT_PAGE(c, &page, list.rows, list.count, put_version, version);
    flow_version_rows_fini(&list);
}

static void answer_version(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0), version = v1_path_id(c, 1);
    struct flow_version_rows list = {0};
    struct flow_box *boxes = NULL;
    size_t box_count = 0;

    if (V1_FAILS(c, admin_load_flow_version, id, version, &list, &boxes, &box_count))
        return;
    put_version(&c->r->body, &list.rows[0]);
    flow_put_document(&c->r->body, "document", list.rows[0].document, boxes, box_count);
    flow_boxes_destroy(boxes, box_count);
    flow_version_rows_fini(&list);
}

/* As the caller sees it: closed steps are boxes. */
static bool take_version(struct v1_call *c, int64_t id, int64_t version, struct buf *out)
{
    struct flow_version_rows list = {0};
    struct flow_box *boxes = NULL;
    size_t box_count = 0;

    if (v1_has_failed(c, admin_load_flow_version(c->admin, c->actor, id, version, &list, &boxes, &box_count, &c->why)))
        return false;
    flow_put_document(out, NULL, list.rows[0].document, boxes, box_count);
    flow_boxes_destroy(boxes, box_count);
    flow_version_rows_fini(&list);
    return true;
}

static void put_lines(struct buf *out, struct buf *lines)
{
    char *rest = lines->data;

    member_list(out, "lines");
    for (char *line; (line = strsep(&rest, "\n")) != NULL;)
        if (line[0])
            member_text(out, NULL, line);
    member_list_end(out);
}

static void answer_diff(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0), version = v1_path_id(c, 1);
    int64_t from = v1_query_int(c, "from", 1, INT32_MAX, version - 1);
    struct buf old = {0}, new = {0}, lines = {0};

    if (!v1_is_refused(c) && from < 1)
        v1_note(c, REFUSED_INVALID, "from", "from must be a version: there is none before the first one");
    if (!v1_is_refused(c) && take_version(c, id, from, &old) && take_version(c, id, version, &new) &&
        !v1_has_failed(c, flow_put_diff(&lines, old.data, old.len, new.data, new.len, &c->why.text))) {
        member_int(&c->r->body, "from", from);
        member_int(&c->r->body, "version", version);
        put_lines(&c->r->body, &lines);
    }
    c->r->body.failed |= buf_failed(&old) || buf_failed(&new) || buf_failed(&lines);
    buf_fini(&old);
    buf_fini(&new);
    buf_fini(&lines);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static void answer_run(struct v1_call *c)
{
    int64_t id = v1_path_id(c, 0), run_id = 0;
    struct flow_run_order order = {.parameters = flow_take_object(c, "parameters", 2 * FLOW_PARAMETERS_BYTES_MAX),
                                   .key = v1_text(&c->body, "key", FLOW_KEY_MAX),
                                   .by_program = c->who->token_id != 0};
    struct flow_run_cards cards;
    bool is_new = false;

    if (V1_FAILS(c, admin_start_flow_run, id, &order, &run_id, &is_new) ||
        v1_has_failed(c, admin_show_started_run(c->admin, c->actor, run_id, &cards, &c->why)))
        return;
    flow_put_run(&c->r->body, &cards.items[0]);
    flow_run_cards_fini(&cards);
    if (is_new)
        v1_set_created(c, "/flow-runs/", run_id);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/flows", ROUTE_LOGIN), V1_NO_BODY, 0, answer_list},
    {V1_ROUTE(ROUTE_POST, "/flows", ROUTE_SIGHT), V1_JSON_BODY, BODY_MAX_SOURCE, answer_add},
    {V1_ROUTE(ROUTE_POST, "/flows/validate", ROUTE_LOGIN), V1_JSON_BODY, BODY_MAX_SOURCE, answer_validate},
    {V1_ROUTE(ROUTE_GET, "/jobs/{id}/flow", ROUTE_LOGIN), V1_NO_BODY, 0, answer_chain},
    {V1_ROUTE(ROUTE_GET, "/flows/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_load},
    {V1_ROUTE(ROUTE_PUT, "/flows/{id}", ROUTE_SIGHT), V1_JSON_BODY, BODY_MAX_SOURCE, answer_update},
    {V1_ROUTE(ROUTE_DELETE, "/flows/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_remove},
    {V1_ROUTE(ROUTE_POST, "/flows/{id}/start", ROUTE_SIGHT), V1_NO_BODY, 0, answer_start},
    {V1_ROUTE(ROUTE_POST, "/flows/{id}/stop", ROUTE_SIGHT), V1_NO_BODY, 0, answer_stop},
    {V1_ROUTE(ROUTE_GET, "/flows/{id}/versions", ROUTE_LOGIN), V1_NO_BODY, 0, answer_versions},
    {V1_ROUTE(ROUTE_GET, "/flows/{id}/versions/{version}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_version},
    {V1_ROUTE(ROUTE_GET, "/flows/{id}/versions/{version}/diff", ROUTE_LOGIN), V1_NO_BODY, 0, answer_diff},
    {V1_ROUTE(ROUTE_POST, "/flows/{id}/runs", ROUTE_LOGIN), V1_MAY_BODY, 0, answer_run},
};

const struct v1_topic v1_flows = {routes, ARRAY_LEN(routes)};
