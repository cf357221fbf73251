/* SPDX-License-Identifier: MIT */
/* Flows out of jobs and their children. */
#include "shardwheel/flow.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

#define CHILDREN(...)                                                                                                  \
    .children = (const int64_t[]){__VA_ARGS__}, .child_count = ARRAY_LEN(((const int64_t[]){__VA_ARGS__}))

static void check(const char *name, const struct flow_chain_job *jobs, size_t count, const char *expected)
{
    struct errctx ec = {""};
    struct buf out = {0};

    if (flow_put_chain(&out, name, jobs, count, &ec))
        fail_msg("%s", ec.text);
    assert_string_equal(out.data, expected);
    buf_fini(&out);
}

static void check_refused(const struct flow_chain_job *jobs, size_t count, const char *why)
{
    struct errctx ec = {""};
    struct buf out = {0};

    assert_int_equal(flow_put_chain(&out, NULL, jobs, count, &ec), ERR_INPUT);
    if (!strstr(ec.text, why))
        fail_msg("%s: no \"%s\"", ec.text, why);
    assert_null(out.data);
}

static void children_are_edges(void **state)
{
    const struct flow_chain_job jobs[] = {
        {.id = 3, .name = "Load orders", CHILDREN(5, 4, 3, 5)},
        {.id = 4, .name = "\xe6\x97\xa5\xe6\x8a\xa5", .broadcast = true, CHILDREN(6)},
        {.id = 5, .name = "mail", CHILDREN(6)},
        {.id = 6, .name = NULL},
    };

    (void)state;
    check(NULL, jobs, 4,
          "{\n  \"name\": \"Load-orders\",\n  \"steps\": [\n"
          "    {\"name\": \"Load-orders\", \"type\": \"job\", \"jobId\": 3, \"description\": \"Load orders\"},\n"
          "    {\"name\": \"job-4\", \"type\": \"broadcast\", \"jobId\": 4, \"description\": "
          "\"\xe6\x97\xa5\xe6\x8a\xa5\"},\n"
          "    {\"name\": \"mail\", \"type\": \"job\", \"jobId\": 5},\n"
          "    {\"name\": \"job-6\", \"type\": \"job\", \"jobId\": 6, \"join\": \"any\"}\n"
          "  ],\n  \"edges\": [\n"
          "    {\"from\": \"Load-orders\", \"to\": \"mail\"},\n    {\"from\": \"Load-orders\", \"to\": \"job-4\"},\n"
          "    {\"from\": \"job-4\", \"to\": \"job-6\"},\n    {\"from\": \"mail\", \"to\": \"job-6\"}\n  ]\n}\n");
}

static void names_are_made_different(void **state)
{
    char longest[100];
    const struct flow_chain_job jobs[] = {
        {.id = 1, .name = "a-6", CHILDREN(2, 6)},
        {.id = 2, .name = " a! "},
        {.id = 6, .name = "a"},
        {.id = 7, .name = longest},
        {.id = 8, .name = longest},
    };

    (void)state;
    memset(longest, 'x', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    check("my flow", jobs, 3,
          "{\n  \"name\": \"my-flow\",\n  \"steps\": [\n    {\"name\": \"a-6\", \"type\": \"job\", \"jobId\": 1},\n"
          "    {\"name\": \"a\", \"type\": \"job\", \"jobId\": 2, \"description\": \" a! \"},\n"
          "    {\"name\": \"a-6-1\", \"type\": \"job\", \"jobId\": 6, \"description\": \"a\"}\n  ],\n  \"edges\": [\n"
          "    {\"from\": \"a-6\", \"to\": \"a\"},\n    {\"from\": \"a-6\", \"to\": \"a-6-1\"}\n  ]\n}\n");
    longest[66] = '\0';
    check("f", &jobs[3], 2,
          "{\n  \"name\": \"f\",\n  \"steps\": [\n"
          "    {\"name\": \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\", \"type\": \"job\", "
          "\"jobId\": 7, \"description\": \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"},\n"
          "    {\"name\": \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-8\", \"type\": \"job\", "
          "\"jobId\": 8, \"description\": \"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\"}\n"
          "  ],\n  \"edges\": [\n  ]\n}\n");
}

static void what_is_no_flow_is_refused(void **state)
{
    struct flow_chain_job many[FLOW_STEPS_MAX + 1];
    const struct flow_chain_job circle[] = {{.id = 1, .name = "a", CHILDREN(2)}, {.id = 2, .name = "b", CHILDREN(1)}};
    const struct flow_chain_job gone[] = {{.id = 1, .name = "a", CHILDREN(9)}};
    struct errctx ec = {""};
    struct buf out = {0};

    (void)state;
    check_refused(circle, 2, "circle: a <- b <- a");
    check_refused(gone, 1, "job 1 has the child 9, which does not exist");
    check_refused(gone, 0, "there are 0 jobs");
    for (size_t i = 0; i <= FLOW_STEPS_MAX; i++)
        many[i] = (struct flow_chain_job){.id = (int64_t)i + 1, .name = "j"};
    check_refused(many, FLOW_STEPS_MAX + 1, "there are 201 jobs");
    assert_int_equal(flow_put_chain(&out, NULL, many, FLOW_STEPS_MAX, &ec), ERR_OK);
    buf_fini(&out);
    assert_int_equal(flow_put_chain(&out, "\xe6\x97\xa5", many, 1, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, "a name must have"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(children_are_edges),
        cmocka_unit_test(names_are_made_different),
        cmocka_unit_test(what_is_no_flow_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
