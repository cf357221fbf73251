/* SPDX-License-Identifier: MIT */
/* flow/values: the states and values of one run. */
#include "flow/impl.h"

#include <stdlib.h>
#include <string.h>

static bool has_type(struct json_object *value, enum flow_type type)
{
    switch (type) {
    case FLOW_TYPE_TEXT: return json_object_is_type(value, json_type_string);
    case FLOW_TYPE_NUMBER:
        return json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
    case FLOW_TYPE_BOOLEAN: return json_object_is_type(value, json_type_boolean);
    case FLOW_TYPE_JSON: return true;
    }
    return false;
}

static const char *const types[] = {"a text", "a number", "true or false", "JSON"};

/* One parameter into the run's own object. */
static enum err take_parameter(const struct flow_parameter *parameter, struct json_object *given,
                               struct json_object *into, struct errctx *ec)
{
    struct json_object *value = NULL;
    bool found = given && json_object_object_get_ex(given, parameter->name, &value);

    if (!found && parameter->required && !parameter->has_default)
        return err_set(ec, ERR_INPUT, "the parameter \"%s\" is missing", parameter->name);
    if (found && !has_type(value, parameter->type))
        return err_set(ec, ERR_INPUT, "the parameter \"%s\" must be %s", parameter->name, types[parameter->type]);
    if (!found && !parameter->has_default)
        return ERR_OK; /* a path to it leads to nothing */
    if (!found)
        value = parameter->value;
    if (json_object_object_add(into, parameter->name, json_object_get(value)) == 0)
        return ERR_OK;
    json_object_put(value);
    return err_set(ec, ERR_NOMEM, "out of memory");
}

enum err flow_put_parameter(struct buf *out, const struct flow *flow, const char *name, size_t name_len,
                            const char *value, struct errctx *ec)
{
    const struct flow_parameter *parameter = NULL;
    struct json_object *json = NULL;
    enum err e = ERR_OK;

    for (size_t i = 0; i < flow->parameter_count; i++)
        if (strlen(flow->parameters[i].name) == name_len && memcmp(flow->parameters[i].name, name, name_len) == 0)
            parameter = &flow->parameters[i];
    if (!parameter)
        return err_set(ec, ERR_INPUT, "the flow has no parameter \"%.*s\"", (int)(name_len < 100 ? name_len : 100),
                       name);
    if (parameter->type != FLOW_TYPE_TEXT)
        e = flow_parse_json(value, strlen(value), &json, ec);
    if (e == ERR_NOMEM)
        return e;
    if (e || (parameter->type != FLOW_TYPE_TEXT && !has_type(json, parameter->type))) {
        json_object_put(json);
        return err_set(ec, ERR_INPUT, "the parameter \"%s\" must be %s", parameter->name, types[parameter->type]);
    }
    json_object_put(json);
    buf_printf(out, "\"%s\":", parameter->name);
    if (parameter->type == FLOW_TYPE_TEXT)
        buf_put_json(out, value);
    else
        buf_puts(out, value);
    return ERR_OK;
}

static enum err refuse_unknown(const struct flow *flow, struct json_object *given, struct errctx *ec)
{
    json_object_object_foreach(given, name, value)
    {
        size_t i = 0;
        (void)value;
        while (i < flow->parameter_count && strcmp(flow->parameters[i].name, name) != 0)
            i++;
        if (i == flow->parameter_count)
            return err_set(ec, ERR_INPUT, "the flow has no parameter \"%.100s\"", name);
    }
    return ERR_OK;
}

static enum err take_parameters(struct flow_values *values, const char *parameters, struct errctx *ec)
{
    const struct flow *flow = values->flow;
    struct json_object *given = NULL;
    enum err e = ERR_OK;

    values->parameters = json_object_new_object();
    if (!values->parameters)
        return err_set(ec, ERR_NOMEM, "out of memory");
    if (parameters)
        e = flow_parse_json(parameters, strlen(parameters), &given, ec);
    if (!e && parameters && !json_object_is_type(given, json_type_object))
        e = err_set(ec, ERR_INPUT, "the parameters must be a JSON object");
    if (!e && given)
        e = refuse_unknown(flow, given, ec);
    for (size_t i = 0; i < flow->parameter_count && !e; i++)
        e = take_parameter(&flow->parameters[i], given, values->parameters, ec);
    json_object_put(given);
    return e;
}

enum err flow_create_values(const struct flow *flow, const char *parameters, int64_t run_id, int64_t due_s,
                            const struct zone *zone, struct flow_values **out, struct errctx *ec)
{
    struct flow_values *values = calloc(1, sizeof *values);
    enum err e;

    if (!values)
        return err_set(ec, ERR_NOMEM, "out of memory");
    *values = (struct flow_values){.flow = flow, .zone = zone, .run_id = run_id, .due_s = due_s};
    values->steps = calloc(flow->step_count, sizeof *values->steps);
    e = values->steps ? take_parameters(values, parameters, ec) : err_set(ec, ERR_NOMEM, "out of memory");
    if (e)
        flow_destroy_values(values);
    else
        *out = values;
    return e;
}

static void forget_end(struct flow_values *values, struct flow_step_values *step)
{
    values->result_bytes -= step->result_len;
    json_object_put(step->result);
    free(step->address);
    *step = (struct flow_step_values){.state = step->state};
}

void flow_destroy_values(struct flow_values *values)
{
    if (!values)
        return;
    for (size_t i = 0; values->steps && i < values->flow->step_count; i++)
        forget_end(values, &values->steps[i]);
    free(values->steps);
    json_object_put(values->parameters);
    free(values);
}

void flow_set_state(struct flow_values *values, size_t step, enum flow_state state)
{
    if (state != FLOW_SUCCEEDED && state != FLOW_FAILED)
        forget_end(values, &values->steps[step]);
    values->steps[step].state = state;
}

enum flow_state flow_get_state(const struct flow_values *values, size_t step)
{
    return values->steps[step].state;
}

/* JSON if it is JSON, else a text. */
static enum err read_result(const struct flow_end *end, struct flow_step_values *step, struct errctx *ec)
{
    enum err e = flow_parse_json(end->result, end->result_len, &step->result, ec);

    if (e == ERR_NOMEM)
        return e;
    if (e) {
        errctx_clear(ec);
        step->result = json_object_new_string_len(end->result, (int)end->result_len);
        if (!step->result)
            return err_set(ec, ERR_NOMEM, "out of memory");
    }
    step->has_result = true;
    step->result_len = end->result_len;
    return ERR_OK;
}

enum err flow_end_step(struct flow_values *values, size_t step, enum flow_state state, const struct flow_end *end,
                       struct errctx *ec)
{
    struct flow_step_values *at = &values->steps[step];
    enum err e = ERR_OK;

    forget_end(values, at);
    at->state = state;
    at->has_end = true;
    at->code = end->code;
    at->started_ms = end->started_ms;
    at->ended_ms = end->ended_ms;
    at->address = str_copy(end->address);
    if (end->address && !at->address)
        e = err_set(ec, ERR_NOMEM, "out of memory");
    if (!e && end->result && end->result_len > FLOW_RESULT_MAX)
        e = err_set(ec, ERR_INPUT, "the result has %zu bytes; %d are allowed", end->result_len, FLOW_RESULT_MAX);
    else if (!e && end->result && values->result_bytes + end->result_len > FLOW_VALUES_MAX)
        e = err_set(ec, ERR_INPUT, "the results of this run have more than %d bytes", FLOW_VALUES_MAX);
    else if (!e && end->result)
        e = read_result(end, at, ec);
    values->result_bytes += at->result_len;
    if (e)
        at->state = FLOW_FAILED;
    return e;
}

static bool is_last(const struct flow *flow, size_t step)
{
    for (size_t i = 0; i < flow->edge_count; i++)
        if (flow->edges[i].from == step)
            return false;
    return true;
}

enum err flow_put_results(struct buf *out, const struct flow_values *values, struct errctx *ec)
{
    struct json_object *results = json_object_new_object();

    if (!results)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < values->flow->step_count; i++)
        if (values->steps[i].has_result && is_last(values->flow, i))
            json_object_object_add(results, values->flow->steps[i].name, json_object_get(values->steps[i].result));
    buf_puts(out, json_object_to_json_string_ext(results, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(results);
    return buf_failed(out) ? err_set(ec, ERR_NOMEM, "out of memory") : ERR_OK;
}

static enum err put_item(struct buf *out, const char *result, struct errctx *ec)
{
    struct json_object *value = NULL;
    struct errctx no_json = {""};
    enum err e = result ? flow_parse_json(result, strlen(result), &value, &no_json) : ERR_OK;

    if (e == ERR_NOMEM)
        return err_set(ec, e, "out of memory");
    if (e)
        buf_put_json(out, result);
    else
        buf_puts(out, json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(value);
    return ERR_OK;
}

enum err flow_put_array(struct buf *out, const char *const *results, size_t count, struct errctx *ec)
{
    enum err e = ERR_OK;

    buf_putc(out, '[');
    for (size_t i = 0; i < count && !e; i++) {
        if (i)
            buf_putc(out, ',');
        e = put_item(out, results[i], ec);
    }
    buf_putc(out, ']');
    return e || !buf_failed(out) ? e : err_set(ec, ERR_NOMEM, "out of memory");
}
