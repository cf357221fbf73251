/* SPDX-License-Identifier: MIT */
/* Values of a run: parameters, results, templates, items; and what running a step again resets. */
#include "shardwheel/flow.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

#define DUE_S 1774828800 /* 2026-03-30 00:00:00 UTC, a Monday; 08:00 in Shanghai */

static const char document[] =
    "{\"name\":\"f\",\"parameters\":[{\"name\":\"text\",\"default\":\"cn\"},"
    "{\"name\":\"count\",\"type\":\"number\",\"required\":true},{\"name\":\"flag\",\"type\":\"boolean\"},"
    "{\"name\":\"any\",\"type\":\"json\",\"default\":{\"a\":[1,null]}}],"
    "\"steps\":[{\"name\":\"first\",\"type\":\"job\",\"jobId\":1},"
    "{\"name\":\"each\",\"type\":\"map\",\"jobId\":2,\"items\":\"steps.first.result/list\",\"param\":\"${item/id}\"},"
    "{\"name\":\"alarm\",\"type\":\"job\",\"jobId\":3},"
    "{\"name\":\"sub\",\"type\":\"flow\",\"flow\":\"other\",\"parameters\":{\"n\":\"${flow.count}\","
    "\"t\":\"n=${flow.count}\",\"all\":\"${steps.first.result}\",\"fixed\":[\"${flow.count}\"]}},"
    "{\"name\":\"last\",\"type\":\"job\",\"jobId\":4,\"join\":\"any\"}],"
    "\"edges\":[{\"from\":\"first\",\"to\":\"each\"},{\"from\":\"first\",\"to\":\"alarm\",\"on\":\"failure\"},"
    "{\"from\":\"each\",\"to\":\"sub\"},{\"from\":\"sub\",\"to\":\"last\"},{\"from\":\"alarm\",\"to\":\"last\"}]}";

enum { FIRST, EACH, ALARM, SUB, LAST, STEPS };

static struct flow *flow;
static struct zone *zone;
static struct flow_values *values;
static struct errctx ec;

static int begin(void **state)
{
    static struct flow_faults faults;

    (void)state;
    assert_int_equal(zone_load("Asia/Shanghai", &zone, &ec), ERR_OK);
    if (flow_load(document, strlen(document), &flow, &faults, &ec))
        fail_msg("%s", ec.text);
    assert_int_equal(flow_create_values(flow, "{\"count\":7}", 42, DUE_S, zone, &values, &ec), ERR_OK);
    return 0;
}

static int end(void **state)
{
    (void)state;
    flow_destroy_values(values);
    flow_destroy(flow);
    zone_destroy(zone);
    values = NULL;
    return 0;
}

static void end_step(size_t step, enum flow_state how, const char *result)
{
    struct flow_end told = {.result = result,
                            .result_len = result ? strlen(result) : 0,
                            .code = how == FLOW_SUCCEEDED ? 200 : 500,
                            .address = "http://a:9999/",
                            .started_ms = 1774828800123,
                            .ended_ms = 1774828801000};

    flow_set_state(values, step, FLOW_RUNNING);
    assert_int_equal(flow_end_step(values, step, how, &told, &ec), ERR_OK);
}

static void assert_text(const char *template, const char *expected)
{
    struct buf out = {0};

    if (flow_put_text(&out, values, template, 1000, NULL, &ec))
        fail_msg("%s: %s", template, ec.text);
    assert_string_equal(out.len ? out.data : "", expected);
    buf_fini(&out);
}

static void assert_no_text(const char *template, const char *why)
{
    struct buf out = {0};

    assert_int_equal(flow_put_text(&out, values, template, 1000, NULL, &ec), ERR_INPUT);
    if (!strstr(ec.text, why))
        fail_msg("%s: %s", template, ec.text);
    buf_fini(&out);
}

static void parameters_are_checked(void **state)
{
    static const char *const wrong[][2] = {
        {NULL, "\"count\" is missing"},
        {"{}", "\"count\" is missing"},
        {"[]", "must be a JSON object"},
        {"null", "must be a JSON object"},
        {"{\"count\":\"7\"}", "must be a number"},
        {"{\"count\":null}", "must be a number"},
        {"{\"count\":1,\"x\":1}", "no parameter \"x\""},
        {"{\"count\":1,\"flag\":0}", "must be true or false"},
        {"{\"count\":1", "not JSON"},
    };
    struct flow_values *other = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(flow_create_values(flow, wrong[i][0], 1, 0, zone, &other, &ec), ERR_INPUT);
        if (!strstr(ec.text, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], ec.text);
    }
    assert_text("${flow.text} ${flow.count} ${flow.any} ${flow.any/a/1} ${run.id}", "cn 7 {\"a\":[1,null]} null 42");
    assert_no_text("${flow.flag}", "flow.flag");
    assert_no_text("${flow.any/b}", "there is no \"b\"");
    assert_no_text("${flow.any/a/2}", "there is no \"2\"");
    assert_no_text("${flow.any/a/01}", "there is no \"01\"");
    assert_no_text("${flow.any/a/-}", "there is no \"-\"");
}

static void due_times(void **state)
{
    (void)state;
    assert_text("${due}", "2026-03-30 08:00:00");
    assert_text("${due:yyyyMMdd}-${due:HH:mm:ss}", "20260330-08:00:00");
    assert_text("${due-1d:yyyy-MM-dd}", "2026-03-29");
    assert_text("${due-1M:yyyy-MM-dd}", "2026-02-28"); /* there is no 30th */
    assert_text("${due-1M+1d:d.M.yy}", "1.3.26");
    assert_text("${due-2y:yyyy}", "2024");
    assert_text("${due-1y-1M:yyyy-MM-dd}", "2025-02-28");
    assert_text("${due+1w:MMdd} ${due-9h:dd HH}", "0406 29 23");
    assert_text("${due+90m:HH:mm} ${due-1s:ss}", "09:30 59");
    assert_text("${due:yyyy'T''x'}", "2026T'x");
    assert_text("${due-15M:yyyy-MM}", "2024-12");
    assert_text("${due-1000y-1000y:yyyy-MM-dd} ${due+1000y+1000y:yyyy}", "0026-03-30 4026");
    assert_no_text("${due-1000000M}", "leads to a year that is not within");
    assert_no_text("${due-1000y-1000y-1000y:yyyy}", "leads to a year that is not within");
    assert_no_text("${due+1000000w+1000000w}", "leads to a year that is not within");
    assert_no_text("${due-3000y}", "too large");
}

static void results_are_values(void **state)
{
    (void)state;
    assert_no_text("${steps.first.result}", "has not ended");
    assert_text("${steps.first.state}", "waiting");
    end_step(FIRST, FLOW_SUCCEEDED, "{\"a/b\":{\"~\":\"${flow.text}\"},\"list\":[1,\"x\"],\"n\":0.10}");
    assert_text("${steps.first.result/a~1b/~0}", "${flow.text}"); /* is not looked at again */
    assert_text("${steps.first.result/list} ${steps.first.result/n}", "[1,\"x\"] 0.10");
    assert_text("${steps.first.state} ${steps.first.code} ${steps.first.address}", "succeeded 200 http://a:9999/");
    assert_text("${steps.first.startedAt}", "2026-03-30T00:00:00.123Z");
    end_step(FIRST, FLOW_FAILED, "done: {");
    assert_text("${steps.first.result}", "done: {");
    end_step(FIRST, FLOW_FAILED, NULL);
    assert_no_text("${steps.first.result}", "has none");
    flow_set_state(values, FIRST, FLOW_SKIPPED);
    assert_no_text("${steps.first.code}", "was skipped");
}

static void results_are_bounded(void **state)
{
    char *large = malloc(FLOW_RESULT_MAX + 1);
    struct flow_end told = {.result = large, .result_len = FLOW_RESULT_MAX};
    size_t kept = FLOW_VALUES_MAX / FLOW_RESULT_MAX;

    (void)state;
    memset(large, 'x', FLOW_RESULT_MAX + 1);
    for (size_t i = 0; i < 100; i++) /* the same step again and again counts once */
        assert_int_equal(flow_end_step(values, FIRST, FLOW_SUCCEEDED, &told, &ec), ERR_OK);
    assert_true(kept > STEPS);
    told.result_len = FLOW_RESULT_MAX + 1;
    assert_int_equal(flow_end_step(values, FIRST, FLOW_SUCCEEDED, &told, &ec), ERR_INPUT);
    assert_int_equal(flow_get_state(values, FIRST), FLOW_FAILED);
    assert_no_text("${steps.first.result}", "has none");
    free(large);
    assert_no_text("${steps.first.result}", "has none");
}

static void long_texts_and_nul(void **state)
{
    struct buf out = {0};

    (void)state;
    assert_int_equal(flow_put_text(&out, values, "${flow.text}${flow.text}", 4, NULL, &ec), ERR_OK);
    buf_clear(&out);
    assert_int_equal(flow_put_text(&out, values, "${flow.text}${flow.text}!", 4, NULL, &ec), ERR_INPUT);
    buf_fini(&out);
    end_step(FIRST, FLOW_SUCCEEDED, "\"a\\u0000b\"");
    assert_no_text("${steps.first.result}", "NUL");
}

static void items_of_a_map(void **state)
{
    struct flow_item item = {"{\"id\":\"s-1\"}", 3};
    struct buf out = {0};
    char **items = NULL;
    size_t count = 0;

    (void)state;
    assert_int_equal(flow_load_items(values, EACH, &items, &count, &ec), ERR_INPUT);
    end_step(FIRST, FLOW_SUCCEEDED, "{\"list\":5}");
    assert_int_equal(flow_load_items(values, EACH, &items, &count, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, "is not an array"));
    end_step(FIRST, FLOW_SUCCEEDED, "{\"list\":[]}");
    assert_int_equal(flow_load_items(values, EACH, &items, &count, &ec), ERR_OK);
    assert_int_equal(count, 0);
    flow_free_items(items, count);
    end_step(FIRST, FLOW_SUCCEEDED, "{\"list\":[{\"id\":1},null,\"a/b\"]}");
    assert_int_equal(flow_load_items(values, EACH, &items, &count, &ec), ERR_OK);
    assert_int_equal(count, 3);
    assert_string_equal(items[0], "{\"id\":1}");
    assert_string_equal(items[1], "null");
    assert_string_equal(items[2], "\"a/b\"");
    flow_free_items(items, count);
    assert_int_equal(flow_put_text(&out, values, "${item/id} ${index} ${item}", 100, &item, &ec), ERR_OK);
    assert_string_equal(out.data, "s-1 3 {\"id\":\"s-1\"}");
    buf_fini(&out);
}

static void parameters_of_a_flow_keep_their_types(void **state)
{
    struct buf out = {0};

    (void)state;
    assert_int_equal(flow_put_parameters(&out, values, SUB, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, "parameter \"all\""));
    end_step(FIRST, FLOW_SUCCEEDED, "[true]");
    buf_clear(&out);
    assert_int_equal(flow_put_parameters(&out, values, SUB, &ec), ERR_OK);
    assert_string_equal(out.data, "{\"n\":7,\"t\":\"n=7\",\"all\":[true],\"fixed\":[\"${flow.count}\"]}");
    buf_fini(&out);
}

static void assert_states(const char *expected)
{
    char is[STEPS + 1] = "";

    for (size_t i = 0; i < STEPS; i++)
        is[i] = "WRSFKC"[flow_get_state(values, i)];
    assert_string_equal(is, expected);
}

/* Takes the moves: what starts is running. */
static void move(void)
{
    enum flow_move moves[STEPS];

    flow_decide(values, moves);
    for (size_t i = 0; i < STEPS; i++)
        if (moves[i] != FLOW_STAY)
            flow_set_state(values, i, moves[i] == FLOW_START ? FLOW_RUNNING : FLOW_SKIPPED);
}

static void running_again_keeps_what_was_good(void **state)
{
    struct buf reason = {0};

    (void)state;
    move();
    assert_states("RWWWW");
    flow_put_reason(&reason, values, LAST);
    assert_string_equal(reason.data, "It waits for one of: the success of sub, the success of alarm.");
    buf_fini(&reason);
    end_step(FIRST, FLOW_FAILED, NULL);
    move();
    assert_states("FKRKW");
    assert_int_equal(flow_find_outcome(values), FLOW_OPEN);
    end_step(ALARM, FLOW_SUCCEEDED, "\"told\"");
    move();
    end_step(LAST, FLOW_FAILED, NULL);
    assert_states("FKSKF");
    assert_int_equal(flow_find_outcome(values), FLOW_BAD); /* of the last; the first one's failure had a step for it */

    flow_reset_step(values, LAST);
    move();
    end_step(LAST, FLOW_SUCCEEDED, NULL);
    assert_int_equal(flow_find_outcome(values), FLOW_GOOD);

    flow_reset_step(values, FIRST);
    assert_states("WWSWS");
    assert_text("${steps.alarm.result}", "told");
    move();
    end_step(FIRST, FLOW_SUCCEEDED, NULL);
    move();
    assert_states("SRSWS");
    flow_set_state(values, EACH, FLOW_CANCELLED);
    move();
    assert_states("SCSKS");
    assert_int_equal(flow_find_outcome(values), FLOW_BAD);
}

static void parameters_are_written(void **state)
{
    static const struct {
        const char *name, *value, *expected; /* NULL: refused */
    } cases[] = {
        {"text", "5", "\"text\":\"5\""},
        {"text", "a\"b", "\"text\":\"a\\\"b\""},
        {"text", "", "\"text\":\"\""},
        {"count", "1.5", "\"count\":1.5"},
        {"count", "x", NULL},
        {"count", "true", NULL},
        {"count", "", NULL},
        {"flag", "false", "\"flag\":false"},
        {"flag", "0", NULL},
        {"any", "{\"a\":[1]}", "\"any\":{\"a\":[1]}"},
        {"any", "null", "\"any\":null"},
        {"any", "1 2", NULL},
        {"tex", "5", NULL},
        {"texts", "5", NULL},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct errctx why = {""};
        struct buf out = {0};
        enum err e = flow_put_parameter(&out, flow, cases[i].name, strlen(cases[i].name), cases[i].value, &why);

        assert_int_equal(e, cases[i].expected ? ERR_OK : ERR_INPUT);
        if (cases[i].expected)
            assert_string_equal(out.data, cases[i].expected);
        else
            assert_true(why.text[0] && !out.len);
        buf_fini(&out);
    }
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(parameters_are_checked),
        TEST(parameters_are_written),
        TEST(due_times),
        TEST(results_are_values),
        TEST(results_are_bounded),
        TEST(long_texts_and_nul),
        TEST(items_of_a_map),
        TEST(parameters_of_a_flow_keep_their_types),
        TEST(running_again_keeps_what_was_good),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
