/* SPDX-License-Identifier: MIT */
#include "http/v1/flow_boxes.h"

#include "http/v1/facts.h"

/* ---- documents --------------------------------------------------------------------------------------------------- */

void flow_put_value(struct buf *out, const char *name, const struct json_value *value)
{
    member_json(out, name, "");
    json_put_value(out, value, value->len * 6 + 1);
}

static void put_named(struct buf *out, const struct json_value *name, const struct json_value *value)
{
    struct buf text = {0};

    buf_append(&text, "", 0);
    json_put_text(&text, name, name->len);
    flow_put_value(out, text.data ? text.data : "", value);
    out->failed |= buf_failed(&text);
    buf_fini(&text);
}

static void put_steps(struct buf *out, const struct json_value *steps, const struct flow_box *boxes, size_t box_count)
{
    struct json_place place = {0};
    struct json_value step;

    member_list(out, "steps");
    for (size_t i = 0; json_next_item(steps, &place, &step); i++) {
        if (i < box_count && !boxes[i].closed) {
            flow_put_value(out, NULL, &step);
            continue;
        }
        if (i >= box_count)
            continue;
        member_object(out, NULL);
        member_text(out, "name", boxes[i].name);
        member_text(out, "type", flow_step_kind_name(boxes[i].kind));
        member_bool(out, "closed", true);
        member_object_end(out);
    }
    member_list_end(out);
}

static void put_edges(struct buf *out, const struct json_value *edges)
{
    struct json_place place = {0};
    struct json_value edge, name, value;

    member_list(out, "edges");
    while (json_next_item(edges, &place, &edge)) {
        struct json_place member = {0};

        member_object(out, NULL);
        while (json_next_member(&edge, &member, &name, &value))
            if (!json_is_text(&name, "when"))
                put_named(out, &name, &value);
        member_object_end(out);
    }
    member_list_end(out);
}

static bool has_closed(const struct flow_box *boxes, size_t box_count)
{
    for (size_t i = 0; i < box_count; i++)
        if (boxes[i].closed)
            return true;
    return false;
}

void flow_put_document(struct buf *out, const char *name, const char *document, const struct flow_box *boxes,
                       size_t box_count)
{
    bool closed = has_closed(boxes, box_count);
    struct json_place place = {0};
    struct json_value root, member, value;

    if (!member_object_if(out, name, v1_read_object(document, &root)))
        return;
    while (json_next_member(&root, &place, &member, &value)) {
        if (closed && json_is_text(&member, "steps"))
            put_steps(out, &value, boxes, box_count);
        else if (closed && json_is_text(&member, "edges"))
            put_edges(out, &value);
        else
            put_named(out, &member, &value);
    }
    member_object_end(out);
}

void flow_put_member(struct buf *out, const char *document, const char *name, const char *absent)
{
    struct json_value root, value = {0};

    if (v1_read_object(document, &root))
        value = v1_find_member(&root, name);
    if (value.kind == JSON_ABSENT)
        member_json(out, name, absent);
    else
        flow_put_value(out, name, &value);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

const char *flow_keep_object(struct v1_call *c, const struct json_value *object, size_t max)
{
    struct buf text = {0};

    if (object->kind != JSON_OBJECT)
        return NULL;
    json_put_value(&text, object, max);
    return v1_keep_buf(c, &text);
}

const char *flow_take_object(struct v1_call *c, const char *name, size_t max)
{
    struct v1_object object = v1_object(&c->body, name);

    return flow_keep_object(c, &object.value, max);
}

const char *flow_take_document(struct v1_call *c)
{
    v1_require(&c->body, "document");
    return flow_take_object(c, "document", 2 * FLOW_DOCUMENT_MAX);
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

void flow_put_run(struct buf *out, const struct flow_run_card *card)
{
    const struct flow_run_row *row = &card->row;

    member_int(out, "id", row->id);
    member_int(out, "flowId", row->flow_id);
    member_text(out, "flowName", row->flow_name);
    member_int(out, "version", row->version);
    member_text(out, "state", flow_run_state_name(row->state));
    member_text(out, "kind", flow_run_kind_name(row->kind));
    v1_put_instant(out, "dueAt", row->due_s * 1000);
    member_json(out, "parameters", row->parameters);
    member_int_or_null(out, "parentRun", card->parent_run);
    member_text(out, "parentStep", card->parent_run ? card->parent_step : NULL);
    member_text(out, "who", row->who[0] ? row->who : NULL);
    v1_put_instant(out, "createdAt", row->created_ms);
    v1_put_instant(out, "startedAt", row->started_ms);
    v1_put_instant(out, "endedAt", row->ended_ms);
    v1_put_instant(out, "deadlineAt", card->deadline_ms);
    member_bool(out, "late", card->late);
    member_text(out, "message", row->message);
    member_bool(out, "canRun", card->can_run);
}
