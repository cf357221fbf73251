/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for flows. Byte 0 chooses what the rest is: a document, a template of a flow that is there, or the result
 * of a step that a path leads into. What is refused has a reason and a place; a run of what is not comes to an end,
 * and how it differs from another document can be told. A document comes back the same from another cluster.
 * Run: flow_fuzz -max_len=4000 -max_total_time=60
 */
#include "shardwheel/flow.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char usual[] =
    "{\"name\":\"f\",\"parameters\":[{\"name\":\"p\",\"type\":\"json\",\"default\":{\"a\":[1,null]}}],\"steps\":["
    "{\"name\":\"s\",\"type\":\"job\",\"jobId\":1},"
    "{\"name\":\"m\",\"type\":\"map\",\"jobId\":2,\"items\":\"steps.s.result\",\"param\":\"${item}\"},"
    "{\"name\":\"t\",\"type\":\"job\",\"jobId\":3,\"param\":\"${steps.s.result/a/0}\"}],"
    "\"edges\":[{\"from\":\"s\",\"to\":\"m\"},{\"from\":\"s\",\"to\":\"t\",\"on\":\"end\",\"when\":{\"any\":["
    "{\"path\":\"steps.s.result/a\",\"is\":\"contains\",\"value\":1},"
    "{\"path\":\"steps.s.result\",\"is\":\">=\",\"value\":\"a\"}]}}]}";

static struct flow_faults faults;

static void require(bool holds)
{
    if (!holds)
        abort();
}

static struct zone *get_zone(void)
{
    static struct zone *zone; /* loaded once: the process of a fuzzer lives long */

    if (!zone)
        require(zone_load("America/New_York", &zone, NULL) == ERR_OK);
    return zone;
}

/* NULL: it is refused, which says where and why. */
static struct flow *load(const char *text, size_t len)
{
    struct errctx ec = {""};
    struct flow *flow = NULL;
    enum err e = flow_load(text, len, &flow, &faults, &ec);

    require((e == ERR_OK) == (flow != NULL));
    if (flow)
        return flow;
    require(e == ERR_INPUT && faults.count > 0 && ec.text[0]);
    for (size_t i = 0; i < faults.count && i < FLOW_FAULTS_MAX; i++)
        require(faults.list[i].text[0] && (!faults.list[i].where[0] || faults.list[i].where[0] == '/'));
    return NULL;
}

static struct flow_values *create_values(const struct flow *flow)
{
    struct flow_values *values = NULL;
    struct errctx ec = {""};

    if (flow_create_values(flow, NULL, 1, 1774828800, get_zone(), &values, &ec))
        require(ec.text[0]); /* a parameter is required */
    return values;
}

static void fill_in(const struct flow_values *values, const char *template, const struct flow_item *item)
{
    struct errctx ec = {""};
    struct buf out = {0};
    enum err e = template ? flow_put_text(&out, values, template, 1000, item, &ec) : ERR_OK;

    require(e == ERR_OK ? out.len <= 1000 : e == ERR_INPUT && ec.text[0]);
    buf_fini(&out);
}

/* What the node asks for when the step starts. */
static void prepare(const struct flow *flow, const struct flow_values *values, size_t i)
{
    const struct flow_step *step = flow_get_step(flow, i);
    const struct flow_item item = {"{\"id\":[1]}", 3};
    struct buf out = {0};
    struct errctx ec = {""};
    char **items = NULL;
    size_t count = 0;

    fill_in(values, step->param, step->kind == FLOW_MAP ? &item : NULL);
    fill_in(values, step->text, NULL);
    if (step->kind == FLOW_MAP && flow_load_items(values, i, &items, &count, &ec))
        require(ec.text[0]);
    else
        flow_free_items(items, count);
    if (step->kind == FLOW_FLOW && flow_put_parameters(&out, values, i, &ec))
        require(ec.text[0]);
    buf_fini(&out);
}

/* Every step that starts ends, with this result, in the order of the document; every third one badly. */
static void go_through(const struct flow *flow, const char *result, size_t len)
{
    struct flow_values *values = create_values(flow);
    enum flow_move moves[FLOW_STEPS_MAX];
    struct buf reason = {0};
    struct errctx ec;

    while (values && flow_decide(values, moves) > 0) {
        for (size_t i = 0; i < flow_count_steps(flow); i++) {
            struct flow_end end = {.result = result, .result_len = len, .code = 200, .address = "http://a/"};

            if (moves[i] == FLOW_SKIP) {
                flow_set_state(values, i, FLOW_SKIPPED);
            } else if (moves[i] == FLOW_START) {
                prepare(flow, values, i);
                if (flow_end_step(values, i, i % 3 == 2 ? FLOW_FAILED : FLOW_SUCCEEDED, &end, &ec))
                    require(flow_get_state(values, i) == FLOW_FAILED);
            } else if (flow_get_state(values, i) == FLOW_WAITING) {
                flow_put_reason(&reason, values, i);
            }
        }
    }
    require(!values || flow_find_outcome(values) != FLOW_OPEN);
    buf_fini(&reason);
    flow_destroy_values(values);
}

/* Of any two documents the difference can be told; a document has none from itself. */
static void compare(const char *text, size_t len)
{
    struct errctx ec = {""};
    struct buf out = {0};

    require(flow_put_diff(&out, text, len, text, len, &ec) == ERR_OK && out.len == 0);
    require(flow_put_diff(&out, text, len, usual, sizeof usual - 1, &ec) == ERR_OK);
    require(flow_put_diff(&out, usual, sizeof usual - 1, text, len, &ec) == ERR_OK && !buf_failed(&out));
    buf_fini(&out);
}

/* Any text; all jobs get the id 1, which is all that may be wrong with it then. */
static struct buf put_with_ids(const char *text)
{
    struct flow_portable *portable = NULL;
    struct flow_job_name *names;
    struct errctx ec = {""};
    struct buf out = {0};
    size_t count;

    require(flow_load_portable(text, &portable, &faults, &ec) == ERR_OK);
    names = flow_get_job_names(portable, &count);
    for (size_t i = 0; i < count; i++) {
        require(names[i].app_name && names[i].name);
        names[i].id = 1;
    }
    require(flow_put_with_ids(&out, portable, &ec) == ERR_OK && !buf_failed(&out));
    flow_destroy_portable(portable);
    return out;
}

/* There and back: where its only job has the id 1. */
static void go_to_another_cluster(const struct flow *flow, const char *text)
{
    const struct flow_job_name name = {.id = 1, .app_name = "app", .name = "job"};
    struct buf there = {0}, back;
    struct errctx ec = {""};
    bool others = false;

    for (size_t i = 0; i < flow_count_steps(flow); i++)
        others |= flow_get_step(flow, i)->job_id > 1;
    require(flow_put_with_names(&there, text, &name, 1, &ec) == ERR_OK);
    back = put_with_ids(there.data);
    require((faults.count > 0) == others && flow_is_same_document(text, back.data));
    buf_fini(&there);
    buf_fini(&back);
}

static void try_template(const struct flow *flow, const uint8_t *data, size_t size)
{
    struct flow_values *values = create_values(flow);
    char *text = strndup((const char *)data, size);

    require(text != NULL);
    fill_in(values, text, NULL);
    free(text);
    flow_destroy_values(values);
}

static void try_portable(const struct flow *flow, const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size);
    struct buf out;

    require(text != NULL);
    out = put_with_ids(text);
    if (flow && strlen(text) == size)
        go_to_another_cluster(flow, text);
    buf_fini(&out);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bool own = size > 0 && data[0] % 3 == 0;
    struct flow *flow = own ? load((const char *)data + 1, size - 1) : load(usual, sizeof usual - 1);

    if (own)
        try_portable(flow, data + 1, size - 1);
    if (size == 0 || !flow) {
        flow_destroy(flow);
        return 0;
    }
    if (own)
        compare((const char *)data + 1, size - 1);
    if (data[0] % 3 == 1)
        try_template(flow, data + 1, size - 1);
    else
        go_through(flow, own ? "{\"a\":[1]}" : (const char *)data + 1, own ? 9 : size - 1);
    flow_destroy(flow);
    return 0;
}
