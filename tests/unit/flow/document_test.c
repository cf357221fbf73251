/* SPDX-License-Identifier: MIT */
/* Documents of flows: what is refused, with its place, and what is read. */
#include "shardwheel/flow.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct flow_faults faults;

#define STEP(name) "{\"name\":\"" name "\",\"type\":\"job\",\"jobId\":1}"
#define FLOW(rest) "{\"name\":\"f\"," rest "}"

/* The document has this fault at this place, whatever else it has. */
static void assert_fault(const char *text, const char *where, const char *what)
{
    struct flow *flow = NULL;
    struct errctx ec = {""};

    if (flow_load(text, strlen(text), &flow, &faults, &ec) != ERR_INPUT)
        fail_msg("%s: no fault", text);
    assert_null(flow);
    for (size_t i = 0; i < faults.count && i < FLOW_FAULTS_MAX; i++)
        if (strcmp(faults.list[i].where, where) == 0 && strstr(faults.list[i].text, what))
            return;
    fail_msg("%s: no \"%s\" at %s; first is %s", text, what, where, ec.text);
}

static struct flow *load(const char *text)
{
    struct flow *flow = NULL;
    struct errctx ec = {""};

    if (flow_load(text, strlen(text), &flow, &faults, &ec))
        fail_msg("%s: %s", text, ec.text);
    return flow;
}

static void text_is_no_document(void **state)
{
    (void)state;
    assert_fault("", "", "not JSON");
    assert_fault("{\"name\":", "", "the end is missing");
    assert_fault("{} x", "", "text after the end");
    assert_fault("[1]", "", "an object is expected");
    assert_fault("null", "", "an object is expected");
    assert_fault("{'name':'f'}", "", "not JSON");
    assert_fault("{\"name\":\"\xff\"}", "", "not JSON");
    assert_fault("{}", "", "\"name\" is missing");
    assert_fault("{}", "", "\"steps\" is missing");
    assert_fault("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[1", "", "not JSON");
}

static void members_are_checked(void **state)
{
    (void)state;
    assert_fault(FLOW("\"steps\":[],\"edges\":[]"), "/steps", "at least one");
    assert_fault(FLOW("\"steps\":{}"), "/steps", "an array is expected");
    assert_fault(FLOW("\"step\":[]"), "", "\"step\" is unknown");
    assert_fault(FLOW("\"steps\":[7]"), "/steps/0", "an object is expected");
    assert_fault(FLOW("\"steps\":[{\"type\":\"job\",\"jobId\":1}]"), "/steps/0", "\"name\" is missing");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a b\",\"type\":\"job\",\"jobId\":1}]"), "/steps/0/name", "letters");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a\\u0000\",\"type\":\"job\",\"jobId\":1}]"), "/steps/0/name", "NUL");
    assert_fault(FLOW("\"steps\":[" STEP("a") "," STEP("a") "]"), "/steps/1/name", "twice");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a\",\"type\":\"jobs\"}]"), "/steps/0/type", "job, map, broadcast");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a\",\"type\":\"job\"}]"), "/steps/0", "\"jobId\" is missing");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a\",\"type\":\"job\",\"jobId\":0}]"), "/steps/0/jobId", "from 1 to");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a\",\"type\":\"job\",\"jobId\":\"1\"}]"), "/steps/0/jobId", "number");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a\",\"type\":\"job\",\"jobId\":1,\"items\":\"flow.x\"}]"), "/steps/0",
                 "\"items\" is unknown");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a\",\"type\":\"map\",\"jobId\":1}]"), "/steps/0", "\"items\" is missing");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a\",\"type\":\"map\",\"jobId\":1,\"items\":\"${flow.x}\"}]"),
                 "/steps/0/items", "without ${ and }");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a\",\"type\":\"wait\"}]"), "/steps/0", "\"until\" is needed");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a\",\"type\":\"wait\",\"seconds\":1,\"until\":\"06:00\"}]"), "/steps/0",
                 "\"until\" is needed");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a\",\"type\":\"wait\",\"until\":\"24:00\"}]"), "/steps/0/until", "06:30");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a\",\"type\":\"wait\",\"until\":\"6:00\"}]"), "/steps/0/until", "06:30");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a\",\"type\":\"approval\"}]"), "/steps/0", "\"text\" is missing");
    assert_fault(FLOW("\"steps\":[{\"name\":\"a\",\"type\":\"flow\"}]"), "/steps/0", "\"flow\" is missing");
    assert_fault(
        FLOW("\"parameters\":[{\"name\":\"p\",\"type\":\"number\",\"default\":\"x\"}],\"steps\":[" STEP("a") "]"),
        "/parameters/0/default", "type \"number\"");
    assert_fault(FLOW("\"parameters\":[{\"name\":\"p\"},{\"name\":\"p\"}],\"steps\":[" STEP("a") "]"),
                 "/parameters/1/name", "twice");
}

static void edges_are_checked(void **state)
{
    (void)state;
    assert_fault(FLOW("\"steps\":[" STEP("a") "],\"edges\":[{\"from\":\"a\",\"to\":\"b\"}]"), "/edges/0/to",
                 "no step \"b\"");
    assert_fault(FLOW("\"steps\":[" STEP("a") "],\"edges\":[{\"from\":\"a\",\"to\":\"a\"}]"), "/edges",
                 "circle: a <- a");
    assert_fault(FLOW("\"steps\":[" STEP("a") "," STEP("b") "," STEP(
                     "c") "],\"edges\":[{\"from\":\"a\",\"to\":\"b\"},"
                          "{\"from\":\"b\",\"to\":\"c\"},{\"from\":\"c\",\"to\":\"b\"}]"),
                 "/edges", "circle: b <- c <- b");
    assert_fault(
        FLOW("\"steps\":[" STEP("a") "," STEP("b") "],\"edges\":[{\"from\":\"a\",\"to\":\"b\"},{\"from\":\"a\","
                                                   "\"to\":\"b\",\"on\":\"failure\"}]"),
        "/edges/1", "\"b\" can never start");
    assert_fault(FLOW("\"steps\":[" STEP("a") "," STEP("b") "],\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"when\":{}}]"),
                 "/edges/0/when", "\"any\" is needed");
    assert_fault(
        FLOW("\"steps\":[" STEP("a") "," STEP("b") "],\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"when\":{\"all\":["
                                                   "{\"path\":\"steps.b.result\",\"is\":\"=\",\"value\":1}]}}]"),
        "/edges/0/when/all/0/path", "\"b\" does not come before \"a\"");
    assert_fault(
        FLOW("\"steps\":[" STEP("a") "," STEP("b") "],\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"when\":{\"all\":["
                                                   "{\"path\":\"steps.a.result\",\"is\":\"==\",\"value\":1}]}}]"),
        "/edges/0/when/all/0/is", "one of these");
    assert_fault(
        FLOW("\"steps\":[" STEP("a") "," STEP("b") "],\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"when\":{\"all\":["
                                                   "{\"path\":\"steps.a.result\",\"is\":\"exists\",\"value\":1}]}}]"),
        "/edges/0/when/all/0", "true or false");
}

static void paths_in_texts_are_checked(void **state)
{
#define WITH(param)                                                                                                    \
    FLOW("\"parameters\":[{\"name\":\"p\"}],\"steps\":[" STEP(                                                         \
        "a") ",{\"name\":\"b\",\"type\":\"job\",\"jobId\":1,"                                                          \
             "\"param\":\"" param "\"}," STEP("c") "],\"edges\":[{\"from\":\"a\",\"to\":\"b\"}]")
    (void)state;
    flow_destroy(load(WITH("${flow.p} ${steps.a.result/x~1y} ${run.id} ${due-1d:yyyyMMdd} $${x} $")));
    assert_fault(WITH("${flow.q}"), "/steps/1/param", "no parameter \"q\"");
    assert_fault(WITH("${steps.d.result}"), "/steps/1/param", "no step \"d\"");
    assert_fault(WITH("${steps.a}"), "/steps/1/param", "is missing");
    assert_fault(WITH("${steps.a.results}"), "/steps/1/param", "no value \"results\"");
    assert_fault(WITH("${steps.a.code/x}"), "/steps/1/param", "text after its end");
    assert_fault(WITH("${steps.a.result/~2}"), "/steps/1/param", "is not a JSON Pointer");
    assert_fault(WITH("${steps.c.result}"), "/steps/1/param", "\"c\" does not come before \"b\"");
    assert_fault(WITH("${steps.b.result}"), "/steps/1/param", "\"b\" does not come before \"b\"");
    assert_fault(WITH("${item}"), "/steps/1/param", "is not a value");
    assert_fault(WITH("${}"), "/steps/1/param", "is not a value");
    assert_fault(WITH("${flow.p"), "/steps/1/param", "} is missing");
    assert_fault(WITH("${due-d}"), "/steps/1/param", "is not an offset");
    assert_fault(WITH("${due-1q}"), "/steps/1/param", "is not an offset");
    assert_fault(WITH("${due-9999999d}"), "/steps/1/param", "too large");
    assert_fault(WITH("${due+2000y}"), "/steps/1/param", "too large");
    assert_fault(WITH("${due:yyyy-QQ}"), "/steps/1/param", "has \"QQ\"");
    assert_fault(WITH("${due:'x}"), "/steps/1/param", "no end");
}

#define SET(settings) FLOW(settings ",\"steps\":[" STEP("a") "]")

static void settings_are_read(void **state)
{
    struct flow *flow = load(FLOW("\"steps\":[" STEP("a") "]"));
    const struct flow_settings *s = flow_get_settings(flow);

    (void)state;
    assert_null(s->cron);
    assert_null(s->zone);
    assert_int_equal(s->every_s + s->delay_s + s->from_s + s->until_s + s->deadline_s + s->retention_days, 0);
    assert_int_equal(s->policy, FLOW_SKIP_IF_RUNNING);
    assert_int_equal(s->queue_max, 10);
    assert_false(s->misfire_once);
    assert_string_equal(s->tags, "");
    assert_string_equal(s->mails, "");
    flow_destroy(flow);

    flow = load(SET(
        "\"schedule\":{\"cron\":\"0 0 2 * * ?\",\"zone\":\"Asia/Shanghai\",\"from\":\"2026-12-01T00:00:00Z\","
        "\"until\":\"2026-12-02T08:00:00+08:00\",\"misfire\":\"once\"},\"whenRunning\":\"queue\",\"queueMax\":3,"
        "\"deadline\":3600,\"retentionDays\":30,\"tags\":[\"etl\",\"\u65e5\u62a5\"],\"alarm\":[\"a@b.c\",\"d@e\"]"));
    s = flow_get_settings(flow);
    assert_string_equal(s->cron, "0 0 2 * * ?");
    assert_string_equal(s->zone, "Asia/Shanghai");
    assert_int_equal(s->from_s, 1796083200);
    assert_int_equal(s->until_s, 1796169600);
    assert_true(s->misfire_once);
    assert_int_equal(s->policy, FLOW_QUEUE);
    assert_int_equal(s->queue_max, 3);
    assert_int_equal(s->deadline_s, 3600);
    assert_int_equal(s->retention_days, 30);
    assert_string_equal(s->tags, "etl,\u65e5\u62a5");
    assert_string_equal(s->mails, "a@b.c,d@e");
    flow_destroy(flow);

    flow = load(SET("\"schedule\":{\"every\":60},\"whenRunning\":\"parallel\""));
    assert_int_equal(flow_get_settings(flow)->every_s, 60);
    assert_int_equal(flow_get_settings(flow)->policy, FLOW_PARALLEL);
    flow_destroy(flow);
    flow = load(SET("\"schedule\":{\"delay\":5},\"whenRunning\":\"skip\""));
    assert_int_equal(flow_get_settings(flow)->delay_s, 5);
    flow_destroy(flow);
    flow_destroy(load(SET("\"schedule\":null,\"tags\":[],\"alarm\":null")));
}

static void settings_are_checked(void **state)
{
    (void)state;
    assert_fault(SET("\"schedule\":7"), "/schedule", "an object is expected");
    assert_fault(SET("\"schedule\":{}"), "/schedule", "exactly one of");
    assert_fault(SET("\"schedule\":{\"zone\":\"UTC\"}"), "/schedule", "exactly one of");
    assert_fault(SET("\"schedule\":{\"every\":1,\"delay\":1}"), "/schedule", "exactly one of");
    assert_fault(SET("\"schedule\":{\"cron\":\"0 0 2 * * ?\",\"every\":1}"), "/schedule", "exactly one of");
    assert_fault(SET("\"schedule\":{\"rate\":1}"), "/schedule", "\"rate\" is unknown");
    assert_fault(SET("\"schedule\":{\"cron\":\"0 0 25 * * ?\"}"), "/schedule/cron", "");
    assert_fault(SET("\"schedule\":{\"cron\":\"\"}"), "/schedule/cron", "");
    assert_fault(SET("\"schedule\":{\"cron\":\"0 0 2 1 1 ? 2101/1\"}"), "/schedule/cron", "2100");
    assert_fault(SET("\"schedule\":{\"cron\":5}"), "/schedule/cron", "a text is expected");
    assert_fault(SET("\"schedule\":{\"every\":0}"), "/schedule/every", "from 1 to");
    assert_fault(SET("\"schedule\":{\"delay\":1.5}"), "/schedule/delay", "from 1 to");
    assert_fault(SET("\"schedule\":{\"every\":1,\"zone\":\"Asia/Nowhere\"}"), "/schedule/zone", "Asia/Nowhere");
    assert_fault(SET("\"schedule\":{\"every\":1,\"from\":\"2026-12-01\"}"), "/schedule/from", "an instant");
    assert_fault(SET("\"schedule\":{\"every\":1,\"from\":\"2026-12-01T00:00:00.5Z\"}"), "/schedule/from", "an instant");
    assert_fault(SET("\"schedule\":{\"every\":1,\"until\":\"1970-01-01T00:00:00Z\"}"), "/schedule/until", "an instant");
    assert_fault(SET("\"schedule\":{\"every\":1,\"from\":\"2026-12-01T00:00:00Z\",\"until\":\"2026-12-01T00:00:00Z\"}"),
                 "/schedule/until", "later than");
    assert_fault(SET("\"schedule\":{\"every\":1,\"misfire\":\"twice\"}"), "/schedule/misfire", "skip, once");
    assert_fault(SET("\"whenRunning\":\"wait\""), "/whenRunning", "skip, queue, parallel");
    assert_fault(SET("\"queueMax\":0"), "/queueMax", "from 1 to 1000");
    assert_fault(SET("\"queueMax\":1001"), "/queueMax", "from 1 to 1000");
    assert_fault(SET("\"deadline\":0"), "/deadline", "from 1 to");
    assert_fault(SET("\"retentionDays\":3651"), "/retentionDays", "from 1 to 3650");
    assert_fault(SET("\"tags\":\"etl\""), "/tags", "an array is expected");
    assert_fault(SET("\"tags\":[\"a\",7]"), "/tags/1", "a text is expected");
    assert_fault(SET("\"tags\":[\"a\",\"\"]"), "/tags/1", "must not be empty");
    assert_fault(SET("\"tags\":[\"a \"]"), "/tags/0", "begin or end with a space");
    assert_fault(SET("\"tags\":[\"a,b\"]"), "/tags/0", "must not have commas");
    assert_fault(SET("\"tags\":[\"a\\u0000\"]"), "/tags/0", "control");
    assert_fault(SET("\"tags\":[\"a\",\"b\",\"a\"]"), "/tags/2", "twice");
    assert_fault(SET("\"tags\":[0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,0]"), "/tags",
                 "there are 21; at most 20 are allowed");
    assert_fault(SET("\"alarm\":[\"a@b\",\"ops\"]"), "/alarm/1", "a mail address");
    assert_fault(SET("\"alarm\":[\"a@b\\u0000\"]"), "/alarm/0", "a mail address");
}

static void settings_are_told_with_all_else(void **state)
{
    struct buf b = {0};

    (void)state;
    assert_fault(FLOW("\"deadline\":0,\"steps\":[7]"), "/steps/0", "an object");
    assert_int_equal(faults.count, 2);
    assert_string_equal(faults.list[0].where, "/deadline");

    buf_puts(&b, "{\"name\":\"f\",\"steps\":[" STEP("a") "],\"tags\":[\"");
    for (int i = 0; i < 513; i++)
        buf_puts(&b, "\u65e5");
    buf_puts(&b, "\"]}");
    assert_fault(b.data, "/tags", "more than 512 characters");
    buf_clear(&b);
    buf_puts(&b, "{\"name\":\"f\",\"steps\":[" STEP("a") "],\"schedule\":{\"cron\":\"0 0 0,1");
    for (int i = 0; i < 64; i++)
        buf_puts(&b, ",1");
    buf_puts(&b, " * * ?\"}}");
    assert_fault(b.data, "/schedule/cron", "128 are allowed");
    buf_fini(&b);
}

static void limits_hold(void **state)
{
    struct flow *flow = NULL;
    struct errctx ec;
    struct buf b = {0};

    (void)state;
    buf_puts(&b, "{\"name\":\"f\",\"steps\":[");
    for (int i = 0; i < FLOW_STEPS_MAX; i++)
        buf_printf(&b, "%s{\"name\":\"s%d\",\"type\":\"job\",\"jobId\":1}", i ? "," : "", i);
    buf_puts(&b, "],\"edges\":[");
    for (int i = FLOW_STEPS_MAX - 1; i > 0; i--)
        buf_printf(&b, "{\"from\":\"s%d\",\"to\":\"s%d\"}%s", i - 1, i, i > 1 ? "," : "]}");
    assert_int_equal(flow_load(b.data, b.len, &flow, &faults, &ec), ERR_OK);
    assert_int_equal(flow_count_steps(flow), FLOW_STEPS_MAX);
    flow_destroy(flow);

    buf_clear(&b);
    buf_puts(&b, "{\"name\":\"f\",\"steps\":[");
    for (int i = 0; i <= FLOW_STEPS_MAX; i++)
        buf_puts(&b, i ? ",7" : "7");
    buf_puts(&b, "]}");
    assert_fault(b.data, "/steps", "there are 201; at most 200 are allowed");

    buf_clear(&b);
    buf_puts(&b, "{\"name\":\"f\",\"steps\":[");
    for (int i = 0; i < FLOW_STEPS_MAX; i++)
        buf_puts(&b, i ? ",7" : "7");
    buf_puts(&b, "]}");
    assert_fault(b.data, "/steps/0", "an object");
    assert_int_equal(faults.count, FLOW_STEPS_MAX); /* of which as many are told as there is room for */

    buf_clear(&b);
    for (int i = 0; i <= FLOW_DOCUMENT_MAX; i++)
        buf_putc(&b, ' ');
    assert_fault(b.data, "", "1000000 are allowed");
    buf_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_no_document),  cmocka_unit_test(members_are_checked),
        cmocka_unit_test(edges_are_checked),    cmocka_unit_test(paths_in_texts_are_checked),
        cmocka_unit_test(limits_hold),          cmocka_unit_test(settings_are_read),
        cmocka_unit_test(settings_are_checked), cmocka_unit_test(settings_are_told_with_all_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
