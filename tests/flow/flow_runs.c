/* SPDX-License-Identifier: MIT */
/*
 * flow_runs: goes through flows as a node does, for tests/flow/random_flows.py. Each line of the input is a JSON
 * object: the flow, of each step how it ends and with which result if it starts, and the order in which running steps
 * end. Each line of the output has the states of the steps, and the outcome; or ERROR and what is wrong.
 */
#include "shardwheel/flow.h"

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct json_object *get(struct json_object *object, const char *name)
{
    struct json_object *value = NULL;

    json_object_object_get_ex(object, name, &value);
    return value;
}

/* The running step that ends next: the number `turn` of those that run. False: none runs. */
static bool choose(const struct flow_values *values, size_t count, size_t turn, size_t *out)
{
    size_t running[FLOW_STEPS_MAX], n = 0;

    for (size_t i = 0; i < count; i++)
        if (flow_get_state(values, i) == FLOW_RUNNING)
            running[n++] = i;
    if (n > 0)
        *out = running[turn % n];
    return n > 0;
}

static void go_through(const struct flow *flow, struct flow_values *values, struct json_object *ends,
                       struct json_object *order)
{
    size_t count = flow_count_steps(flow), turn = 0, step;
    enum flow_move moves[FLOW_STEPS_MAX];
    struct errctx ec;

    do {
        flow_decide(values, moves);
        for (size_t i = 0; i < count; i++)
            if (moves[i] != FLOW_STAY)
                flow_set_state(values, i, moves[i] == FLOW_START ? FLOW_RUNNING : FLOW_SKIPPED);
        size_t at = (size_t)json_object_get_int(json_object_array_get_idx(order, turn++));
        if (!choose(values, count, at, &step))
            break;
        struct json_object *end = get(ends, flow_get_step(flow, step)->name);
        const char *result = json_object_get_string(get(end, "result"));
        struct flow_end told = {.result = result, .result_len = result ? strlen(result) : 0, .code = 200};
        if (flow_end_step(values, step, json_object_get_boolean(get(end, "good")) ? FLOW_SUCCEEDED : FLOW_FAILED, &told,
                          &ec))
            abort();
    } while (true);
}

static void print_states(const struct flow_values *values, size_t count)
{
    static const char letters[FLOW_STATES + 1] = "WRSFKC";

    for (size_t i = 0; i < count; i++)
        putchar(letters[flow_get_state(values, i)]);
    printf(" %s\n", flow_find_outcome(values) == FLOW_GOOD  ? "good"
                    : flow_find_outcome(values) == FLOW_BAD ? "bad"
                                                            : "open");
}

static void run_line(const char *line, const struct zone *utc)
{
    struct json_object *input = json_tokener_parse(line);
    const char *document = json_object_to_json_string(get(input, "flow"));
    static struct flow_faults faults;
    struct flow_values *values = NULL;
    struct flow *flow = NULL;
    struct errctx ec = {""};

    if (flow_load(document, strlen(document), &flow, &faults, &ec) ||
        flow_create_values(flow, NULL, 1, 0, utc, &values, &ec)) {
        printf("ERROR %s\n", ec.text);
    } else {
        go_through(flow, values, get(input, "ends"), get(input, "order"));
        print_states(values, flow_count_steps(flow));
    }
    flow_destroy_values(values);
    flow_destroy(flow);
    json_object_put(input);
}

int main(void)
{
    struct zone *utc = NULL;
    struct errctx ec;
    char *line = NULL;
    size_t cap = 0;

    if (zone_load("UTC", &utc, &ec))
        return 1;
    while (getline(&line, &cap, stdin) > 0)
        run_line(line, utc);
    free(line);
    zone_destroy(utc);
    return 0;
}
