/* SPDX-License-Identifier: MIT */
/* flow/condition: whether an edge is true. */
#include "flow/impl.h"

#include <string.h>

static bool is_number(struct json_object *value)
{
    return json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double);
}

static bool is_text(struct json_object *value)
{
    return json_object_is_type(value, json_type_string);
}

static int order_numbers(struct json_object *a, struct json_object *b)
{
    if (json_object_is_type(a, json_type_int) && json_object_is_type(b, json_type_int)) {
        int64_t x = json_object_get_int64(a), y = json_object_get_int64(b);
        uint64_t x_above = json_object_get_uint64(a), y_above = json_object_get_uint64(b);
        /* 0 for what is negative, and exact where int64_t is not enough. */
        return x != y ? (x > y) - (x < y) : (x_above > y_above) - (x_above < y_above);
    }
    double x = json_object_get_double(a), y = json_object_get_double(b);
    return (x > y) - (x < y);
}

/* By characters, which in UTF-8 is by bytes. */
static int order_texts(struct json_object *a, struct json_object *b)
{
    size_t a_len = (size_t)json_object_get_string_len(a), b_len = (size_t)json_object_get_string_len(b);
    int order = memcmp(json_object_get_string(a), json_object_get_string(b), a_len < b_len ? a_len : b_len);

    return order ? order : (a_len > b_len) - (a_len < b_len);
}

/* 1 and 1.0 are equal, 1 and "1" are not. */
static bool is_equal(struct json_object *a, struct json_object *b)
{
    struct json_object *other;

    if (is_number(a) && is_number(b))
        return order_numbers(a, b) == 0;
    if (json_object_get_type(a) != json_object_get_type(b))
        return false;
    if (json_object_is_type(a, json_type_array)) {
        size_t count = json_object_array_length(a);
        if (count != json_object_array_length(b))
            return false;
        for (size_t i = 0; i < count; i++)
            if (!is_equal(json_object_array_get_idx(a, i), json_object_array_get_idx(b, i)))
                return false;
        return true;
    }
    if (json_object_is_type(a, json_type_object)) {
        if (json_object_object_length(a) != json_object_object_length(b))
            return false;
        json_object_object_foreach(a, name, value)
        {
            if (!json_object_object_get_ex(b, name, &other) || !is_equal(value, other))
                return false;
        }
        return true;
    }
    return json_object_equal(a, b);
}

static bool has_order(struct json_object *a, struct json_object *b, int *order)
{
    if (is_number(a) && is_number(b))
        *order = order_numbers(a, b);
    else if (is_text(a) && is_text(b))
        *order = order_texts(a, b);
    else
        return false;
    return true;
}

static bool does_contain(struct json_object *value, struct json_object *part)
{
    if (is_text(value) && is_text(part))
        return memmem(json_object_get_string(value), (size_t)json_object_get_string_len(value),
                      json_object_get_string(part), (size_t)json_object_get_string_len(part)) != NULL;
    if (json_object_is_type(value, json_type_array))
        for (size_t i = 0; i < json_object_array_length(value); i++)
            if (is_equal(json_object_array_get_idx(value, i), part))
                return true;
    return false;
}

static bool does_start_with(struct json_object *value, struct json_object *part)
{
    return is_text(value) && is_text(part) && json_object_get_string_len(value) >= json_object_get_string_len(part) &&
           memcmp(json_object_get_string(value), json_object_get_string(part),
                  (size_t)json_object_get_string_len(part)) == 0;
}

static bool compare(struct json_object *value, enum flow_operator op, struct json_object *with)
{
    int order = 0;
    bool ordered = has_order(value, with, &order);

    switch (op) {
    case FLOW_EQ: return is_equal(value, with);
    case FLOW_NE: return !is_equal(value, with);
    case FLOW_LT: return ordered && order < 0;
    case FLOW_LE: return ordered && order <= 0;
    case FLOW_GT: return ordered && order > 0;
    case FLOW_GE: return ordered && order >= 0;
    case FLOW_CONTAINS: return does_contain(value, with);
    case FLOW_STARTS: return does_start_with(value, with);
    case FLOW_EXISTS: return true;
    }
    return false;
}

/* By `states`, in which more may be skipped than in the values. */
static bool find(const struct flow_values *values, const struct flow_condition *condition,
                 const enum flow_state *states, struct json_object **out)
{
    const struct flow_path *path = &condition->path;

    if (path->root == FLOW_AT_STATE) {
        *out = json_object_new_string(flow_state_name(states[path->number]));
        return *out != NULL;
    }
    return flow_find_value(values, path, condition->text, strlen(condition->text), NULL, out, NULL) == ERR_OK;
}

/* Of a value that is not there nothing is true; "exists": false is true of that alone. */
static bool is_true(const struct flow_values *values, const struct flow_condition *condition,
                    const enum flow_state *states)
{
    struct json_object *value = NULL;
    bool found = find(values, condition, states, &value);
    bool result = condition->op == FLOW_EXISTS ? found == json_object_get_boolean(condition->value)
                                               : found && compare(value, condition->op, condition->value);

    json_object_put(value);
    return result;
}

static bool has_ended(enum flow_state state)
{
    return state != FLOW_WAITING && state != FLOW_RUNNING;
}

/* docs/flows.md, "When an edge is true". */
enum flow_verdict flow_judge_edge(const struct flow_values *values, const struct flow_edge *edge,
                                  const enum flow_state *states)
{
    static const enum flow_verdict table[FLOW_STATES][3] = {
        /*                   success         failure         end */
        [FLOW_WAITING] = {FLOW_UNDECIDED, FLOW_UNDECIDED, FLOW_UNDECIDED},
        [FLOW_RUNNING] = {FLOW_UNDECIDED, FLOW_UNDECIDED, FLOW_UNDECIDED},
        [FLOW_SUCCEEDED] = {FLOW_TRUE, FLOW_FALSE, FLOW_TRUE},
        [FLOW_FAILED] = {FLOW_FALSE, FLOW_TRUE, FLOW_TRUE},
        [FLOW_SKIPPED] = {FLOW_FALSE, FLOW_FALSE, FLOW_FALSE},
        [FLOW_CANCELLED] = {FLOW_FALSE, FLOW_FALSE, FLOW_FALSE},
    };
    enum flow_verdict verdict = table[states[edge->from]][edge->on];
    size_t count = 0;

    if (verdict != FLOW_TRUE || edge->condition_count == 0)
        return verdict;
    for (size_t i = 0; i < edge->condition_count; i++) {
        const struct flow_path *path = &edge->conditions[i].path;
        if (flow_path_has_step(path) && !has_ended(states[path->number]))
            return FLOW_UNDECIDED;
        count += is_true(values, &edge->conditions[i], states);
    }
    return (edge->any ? count > 0 : count == edge->condition_count) ? FLOW_TRUE : FLOW_FALSE;
}
