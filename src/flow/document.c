/* SPDX-License-Identifier: MIT */
/* flow/document: reads the document of a flow, and tells all that is wrong with it, each with its place. */
#include "flow/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARALLEL_MAX 1000
#define PARALLEL_USUAL 10
#define WAIT_MAX_S (366 * 86400)

/* ---- parameters -------------------------------------------------------------------------------------------------- */

static void read_parameter(struct place *place, struct flow_parameter *out)
{
    static const char *const members[] = {"name", "type", "required", "default", "description", NULL};
    static const char *const types[] = {"text", "number", "boolean", "json"};
    static const enum json_type wanted[] = {json_type_string, json_type_double, json_type_boolean, json_type_null};
    struct json_object *required;

    if (!reader_open(place, members))
        return;
    out->name = reader_name(place, "name");
    out->type = (enum flow_type)reader_word(place, "type", types, 4, false);
    required = reader_find(place, "required");
    if (required && !json_object_is_type(required, json_type_boolean))
        reader_fault_at(place, "required", "true or false is expected");
    out->required = json_object_get_boolean(required);
    out->has_default = json_object_object_get_ex(place->object, "default", &out->value);
    (void)reader_text(place, "description", false);
    if (!out->has_default || out->type == FLOW_TYPE_JSON || json_object_is_type(out->value, wanted[out->type]) ||
        (out->type == FLOW_TYPE_NUMBER && json_object_is_type(out->value, json_type_int)))
        return;
    reader_fault_at(place, "default", "the default does not have the type \"%s\"", types[out->type]);
}

static void read_parameters(struct place *place)
{
    struct flow *flow = place->r->flow;
    struct json_object *array = reader_array(place, "parameters", FLOW_PARAMETERS_MAX, false, &flow->parameter_count);

    for (size_t i = 0; i < flow->parameter_count; i++) {
        struct place at = reader_enter(place, array, "parameters", i);
        read_parameter(&at, &flow->parameters[i]);
        for (size_t other = 0; flow->parameters[i].name && other < i; other++)
            if (flow->parameters[other].name && strcmp(flow->parameters[other].name, flow->parameters[i].name) == 0)
                reader_fault_at(&at, "name", "the name is used twice");
    }
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static void read_job_step(struct place *place, struct flow_step *out)
{
    out->job_id = reader_number(place, "jobId", 1, INT32_MAX, true, 0);
    out->param = reader_text(place, "param", false);
    if (out->kind == FLOW_MAP) {
        out->items = reader_text(place, "items", true);
        out->parallel = reader_number(place, "parallel", 1, PARALLEL_MAX, false, PARALLEL_USUAL);
    }
}

/* "06:00" or "06:00:30"; -1: neither. */
static int64_t read_time_of_day(const char *text)
{
    static const char pattern[] = "00:00:00";
    size_t len = strlen(text);
    int part[3] = {0};

    if (len != 5 && len != 8)
        return -1;
    for (size_t i = 0; i < len; i++) {
        if (pattern[i] == ':' ? text[i] != ':' : text[i] < '0' || text[i] > '9')
            return -1;
        if (pattern[i] != ':')
            part[i / 3] = part[i / 3] * 10 + (text[i] - '0');
    }
    return part[0] > 23 || part[1] > 59 || part[2] > 59 ? -1 : part[0] * 3600 + part[1] * 60 + part[2];
}

static void read_wait_step(struct place *place, struct flow_step *out)
{
    const char *until = reader_text(place, "until", false);

    out->wait_s = reader_number(place, "seconds", 1, WAIT_MAX_S, false, -1);
    out->until_s = until ? read_time_of_day(until) : -1;
    if (until && out->until_s < 0)
        reader_fault_at(place, "until", "a time of day such as 06:30 or 06:30:00 is expected");
    if ((reader_find(place, "until") != NULL) == (reader_find(place, "seconds") != NULL))
        reader_fault_at(place, NULL, "either \"seconds\" or \"until\" is needed");
}

static void read_flow_step(struct place *place, struct flow_step *out)
{
    struct json_object *members = reader_find(place, "parameters");

    out->flow = reader_name(place, "flow");
    out->members = members;
    if (members && !json_object_is_type(members, json_type_object))
        reader_fault_at(place, "parameters", "an object is expected");
}

#define STEP_MEMBERS "name", "type", "join", "description"

static const char *const kinds[FLOW_STEP_KINDS] = {"job", "map", "broadcast", "wait", "approval", "flow"};

const char *flow_step_kind_name(enum flow_step_kind kind)
{
    return kinds[kind];
}

static void read_step(struct place *place, struct flow_step *out)
{
    static const char *const members[FLOW_STEP_KINDS][9] = {
        {STEP_MEMBERS, "jobId", "param"}, {STEP_MEMBERS, "jobId", "param", "items", "parallel"},
        {STEP_MEMBERS, "jobId", "param"}, {STEP_MEMBERS, "seconds", "until"},
        {STEP_MEMBERS, "text"},           {STEP_MEMBERS, "flow", "parameters"},
    };
    static const char *const joins[] = {"all", "any"};

    *out = (struct flow_step){.name = "", .wait_s = -1, .until_s = -1};
    if (json_object_is_type(place->object, json_type_object))
        out->kind = (enum flow_step_kind)reader_word(place, "type", kinds, FLOW_STEP_KINDS, true);
    if (!reader_open(place, members[out->kind]))
        return;
    out->name = reader_name(place, "name");
    out->name = out->name ? out->name : "";
    out->join_any = reader_word(place, "join", joins, 2, false) == 1;
    (void)reader_text(place, "description", false);
    switch (out->kind) {
    case FLOW_JOB:
    case FLOW_MAP:
    case FLOW_BROADCAST: read_job_step(place, out); break;
    case FLOW_WAIT: read_wait_step(place, out); break;
    case FLOW_APPROVAL: out->text = reader_text(place, "text", true); break;
    case FLOW_FLOW: read_flow_step(place, out); break;
    }
}

static void read_steps(struct place *place, struct json_object *array)
{
    struct flow *flow = place->r->flow;

    for (size_t i = 0; i < flow->step_count; i++) {
        struct place at = reader_enter(place, array, "steps", i);
        read_step(&at, &flow->steps[i]);
        if (flow->steps[i].name[0] && flow_find_step(flow, flow->steps[i].name, strlen(flow->steps[i].name)) < i)
            reader_fault_at(&at, "name", "the name is used twice");
    }
}

/* ---- edges ------------------------------------------------------------------------------------------------------- */

static size_t read_end(struct place *place, const char *member)
{
    const struct flow *flow = place->r->flow;
    const char *name = reader_name(place, member);
    size_t step = name ? flow_find_step(flow, name, strlen(name)) : 0;

    if (name && step == flow->step_count)
        reader_fault_at(place, member, "there is no step \"%s\"", name);
    return step < flow->step_count ? step : 0;
}

static void read_condition(struct place *place, struct flow_condition *out)
{
    static const char *const members[] = {"path", "is", "value", NULL};
    static const char *const operators[FLOW_OPERATORS] = {"=",  "!=",       "<",          "<=",    ">",
                                                          ">=", "contains", "startsWith", "exists"};
    struct errctx ec = {""};
    bool found;

    if (!reader_open(place, members))
        return;
    out->text = reader_text(place, "path", true);
    out->op = (enum flow_operator)reader_word(place, "is", operators, FLOW_OPERATORS, true);
    found = json_object_object_get_ex(place->object, "value", &out->value);
    if (out->text && flow_parse_path(place->r->flow, out->text, strlen(out->text), false, &out->path, &ec))
        reader_fault_at(place, "path", "%s", ec.text);
    if (out->op == FLOW_EXISTS && !json_object_is_type(out->value, json_type_boolean))
        reader_fault_at(place, NULL, "with \"exists\" the value must be true or false");
    else if (!found)
        reader_fault_at(place, NULL, "\"value\" is missing");
}

/* "when": {"all": [...]} or {"any": [...]}. */
static void read_when(struct place *edge, struct flow_edge *out)
{
    static const char *const members[] = {"all", "any", NULL};
    struct place place = {.r = edge->r, .object = reader_find(edge, "when")};
    struct json_object *array;

    if (!place.object)
        return;
    place.where = reader_where(edge, "when");
    if (!reader_open(&place, members))
        return;
    if ((reader_find(&place, "all") != NULL) == (reader_find(&place, "any") != NULL)) {
        reader_fault_at(&place, NULL, "either \"all\" or \"any\" is needed");
        return;
    }
    out->any = reader_find(&place, "any") != NULL;
    array = reader_array(&place, out->any ? "any" : "all", FLOW_CONDITIONS_MAX, true, &out->condition_count);
    out->conditions = calloc(out->condition_count + 1, sizeof *out->conditions);
    if (!out->conditions)
        out->condition_count = 0; /* flow_load looks at this */
    for (size_t i = 0; i < out->condition_count; i++) {
        struct place at = reader_enter(&place, array, out->any ? "any" : "all", i);
        read_condition(&at, &out->conditions[i]);
    }
}

static void read_edge(struct place *place, struct flow_edge *out)
{
    static const char *const members[] = {"from", "to", "on", "when", NULL};
    static const char *const ons[] = {"success", "failure", "end"};

    if (!reader_open(place, members))
        return;
    out->from = read_end(place, "from");
    out->to = read_end(place, "to");
    out->on = (enum flow_on)reader_word(place, "on", ons, 3, false);
    read_when(place, out);
}

/* ---- what only the whole tells ----------------------------------------------------------------------------------- */

/* A path of something that happens when `step` starts, or after it has ended. */
struct use {
    const struct flow *flow;
    size_t step;
    bool itself; /* its own values are there, too */
};

static enum err check_use(const struct flow_path *path, const char *text, size_t len, void *arg, struct errctx *ec)
{
    const struct use *use = arg;

    if (!flow_path_has_step(path) || flow_comes_before(use->flow, path->number, use->step) ||
        (use->itself && path->number == use->step))
        return ERR_OK;
    return err_set(ec, ERR_INPUT, "%.*s: the step \"%s\" does not come before \"%s\"", (int)len, text,
                   use->flow->steps[path->number].name, use->flow->steps[use->step].name);
}

static void check_text(struct place *at, const char *member, const char *text, size_t step, bool item)
{
    struct use use = {at->r->flow, step, false};
    struct errctx ec = {""};

    if (text && flow_check_template(at->r->flow, text, item, check_use, &use, &ec))
        reader_fault_at(at, member, "%s", ec.text);
}

static void check_items(struct place *at, size_t step)
{
    const struct flow *flow = at->r->flow;
    const char *items = flow->steps[step].items;
    struct use use = {flow, step, false};
    struct errctx ec = {""};
    struct flow_path path;
    enum err e;

    if (!items)
        return;
    e = flow_parse_path(flow, items, strlen(items), false, &path, &ec);
    if (!e)
        e = check_use(&path, items, strlen(items), &use, &ec);
    if (e)
        reader_fault_at(at, "items", "%s", ec.text);
}

static void check_step(struct reader *r, size_t step)
{
    const struct flow_step *s = &r->flow->steps[step];
    struct place at = {.r = r};

    snprintf(at.where.text, sizeof at.where.text, "/steps/%zu", step);
    check_text(&at, "param", s->param, step, s->kind == FLOW_MAP);
    check_text(&at, "text", s->text, step, false);
    check_items(&at, step);
    if (!json_object_is_type(s->members, json_type_object))
        return;
    snprintf(at.where.text, sizeof at.where.text, "/steps/%zu/parameters", step);
    json_object_object_foreach(s->members, name, value)
    {
        if (json_object_is_type(value, json_type_string))
            check_text(&at, name, json_object_get_string(value), step, false);
    }
}

static void check_edge(struct reader *r, size_t number)
{
    const struct flow_edge *edge = &r->flow->edges[number];
    struct use use = {r->flow, edge->from, true};
    struct errctx ec = {""};
    char where[80];

    for (size_t i = 0; i < edge->condition_count; i++) {
        const struct flow_condition *c = &edge->conditions[i];
        snprintf(where, sizeof where, "/edges/%zu/when/%s/%zu/path", number, edge->any ? "any" : "all", i);
        if (c->text && check_use(&c->path, c->text, strlen(c->text), &use, &ec))
            reader_fault(r, where, "%s", ec.text);
    }
    for (size_t i = 0; i < number; i++) {
        const struct flow_edge *other = &r->flow->edges[i];
        snprintf(where, sizeof where, "/edges/%zu", number);
        if (other->from == edge->from && other->to == edge->to && !r->flow->steps[edge->to].join_any &&
            other->on != edge->on && other->on != FLOW_ON_END && edge->on != FLOW_ON_END)
            reader_fault(r, where,
                         "\"%s\" can never start: it joins all edges, and \"%s\" cannot both succeed and fail",
                         r->flow->steps[edge->to].name, r->flow->steps[edge->from].name);
    }
}

static enum err check_whole(struct reader *r, struct errctx *ec)
{
    struct errctx why = {""};
    enum err e = flow_sort_steps(r->flow, &why);

    if (e == ERR_NOMEM)
        return err_set(ec, e, "out of memory");
    if (e) {
        reader_fault(r, "/edges", "%s", why.text);
        return ERR_OK;
    }
    for (size_t i = 0; i < r->flow->step_count; i++)
        check_step(r, i);
    for (size_t i = 0; i < r->flow->edge_count; i++)
        check_edge(r, i);
    return ERR_OK;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

void flow_destroy(struct flow *flow)
{
    if (!flow)
        return;
    for (size_t i = 0; flow->edges && i < flow->edge_count; i++)
        free(flow->edges[i].conditions);
    free(flow->edges);
    free(flow->steps);
    free(flow->parameters);
    free(flow->tags);
    free(flow->mails);
    free(flow->order);
    free(flow->before);
    json_object_put(flow->document);
    free(flow);
}

static enum err read_flow(struct reader *r, struct errctx *ec)
{
    static const char *const members[] = {"name",     "description",   "parameters", "steps",       "edges",
                                          "schedule", "tags",          "alarm",      "whenRunning", "queueMax",
                                          "deadline", "retentionDays", NULL};
    struct flow *flow = r->flow;
    struct place place = {.r = r, .object = flow->document};
    struct json_object *steps, *edges;
    enum err e;

    if (!reader_open(&place, members))
        return ERR_OK;
    flow->name = reader_name(&place, "name");
    (void)reader_text(&place, "description", false);
    e = flow_read_settings(&place, ec);
    if (e)
        return e;
    steps = reader_array(&place, "steps", FLOW_STEPS_MAX, true, &flow->step_count);
    edges = reader_array(&place, "edges", FLOW_EDGES_MAX, false, &flow->edge_count);
    flow->parameters = calloc(FLOW_PARAMETERS_MAX, sizeof *flow->parameters);
    flow->steps = calloc(flow->step_count + 1, sizeof *flow->steps);
    flow->edges = calloc(flow->edge_count + 1, sizeof *flow->edges);
    if (!flow->parameters || !flow->steps || !flow->edges)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < flow->step_count; i++)
        flow->steps[i].name = "";
    read_parameters(&place);
    read_steps(&place, steps);
    for (size_t i = 0; i < flow->edge_count; i++) {
        struct place at = reader_enter(&place, edges, "edges", i);
        read_edge(&at, &flow->edges[i]);
    }
    return r->faults->count == 0 ? check_whole(r, ec) : ERR_OK;
}

static enum err load(const char *text, size_t len, struct flow **out, struct flow_faults *faults, struct errctx *ec)
{
    struct flow *flow = calloc(1, sizeof *flow);
    struct reader r = {flow, faults};
    struct errctx why = {""};
    enum err e;

    faults->count = 0;
    if (!flow)
        return err_set(ec, ERR_NOMEM, "out of memory");
    if (len > FLOW_DOCUMENT_MAX)
        e = err_set(&why, ERR_INPUT, "the document has %zu bytes; %d are allowed", len, FLOW_DOCUMENT_MAX);
    else
        e = flow_parse_json(text, len, &flow->document, &why);
    if (e == ERR_INPUT)
        reader_fault(&r, "", "%s", why.text);
    else if (!e)
        e = read_flow(&r, &why);
    if (!e && faults->count > 0)
        e = ERR_INPUT;
    if (e == ERR_INPUT)
        err_set(ec, e, "%s%s%s", faults->list[0].where, faults->list[0].where[0] ? ": " : "", faults->list[0].text);
    else if (e)
        err_set(ec, e, "%s", why.text);
    if (e)
        flow_destroy(flow);
    else
        *out = flow;
    return e;
}

enum err flow_load(const char *text, size_t len, struct flow **out, struct flow_faults *faults, struct errctx *ec)
{
    struct flow_faults *own = faults ? faults : malloc(sizeof *own); /* some 25 KB: too much for a stack */
    enum err e = own ? load(text, len, out, own, ec) : err_set(ec, ERR_NOMEM, "out of memory");

    if (!faults)
        free(own);
    return e;
}

const char *flow_get_name(const struct flow *flow)
{
    return flow->name;
}

size_t flow_count_steps(const struct flow *flow)
{
    return flow->step_count;
}

const struct flow_step *flow_get_step(const struct flow *flow, size_t step)
{
    return &flow->steps[step];
}
