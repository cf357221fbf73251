/* SPDX-License-Identifier: MIT */
/* What is read of a node's health, and addresses taken apart. */
#include "ctl/doctor/dial.h"
#include "ctl/doctor/page_text.h"

#include "test.h"

#include <string.h>

static const char health[] =
    "{\"status\":\"DOWN\",\"components\":{\"db\":{\"status\":\"UP\"},\"coordination\":{\"status\":\"DEGRADED\"},"
    "\"schedule\":{\"status\":\"DOWN\",\"reason\":\"it is {late}, \\\"5 s\\\"\"}},\"node\":\"a\","
    "\"settings\":{\"javaGuard\":true,\"logRetentionDays\":30,\"glue\":\"on\"}}";

static void members_are_found(void **state)
{
    char text[200];

    (void)state;
    assert_true(page_find_text(health, "coordination", "status", text, sizeof text));
    assert_string_equal(text, "DEGRADED");
    assert_true(page_find_text(health, "schedule", "reason", text, sizeof text));
    assert_string_equal(text, "it is {late}, \\\"5 s\\\"");
    assert_false(page_find_text(health, "db", "reason", text, sizeof text));
    assert_false(page_find_text(health, "nothing", "status", text, sizeof text));
    assert_false(page_find_text("", "db", "status", text, sizeof text));
    assert_true(page_find_object(health, "settings", text, sizeof text));
    assert_string_equal(text, "\"javaGuard\":true,\"logRetentionDays\":30,\"glue\":\"on\"");
    assert_false(page_find_object(health, "settings", text, 10));
    assert_false(page_find_object("{\"settings\":{\"a\":1", "settings", text, sizeof text));
}

static void settings_are_compared_by_name(void **state)
{
    char differ[200];

    (void)state;
    assert_false(page_compare("\"a\":1,\"b\":\"x,y\"", "\"b\":\"x,y\",\"a\":1", differ, sizeof differ));
    assert_false(page_compare("\"a\":1", "\"c\":2", differ, sizeof differ));
    assert_false(page_compare("", "\"c\":2", differ, sizeof differ));
    assert_false(page_compare("nonsense", "\"c\":2", differ, sizeof differ));
    assert_true(page_compare("\"a\":1,\"b\":\"x,y\",\"c\":0", "\"a\":12,\"b\":\"x\",\"c\":0", differ, sizeof differ));
    assert_string_equal(differ, "a is 1 there and 12 here, b is \"x,y\" there and \"x\" here");
    assert_true(page_compare("\"a\":1,\"b\":2", "\"a\":3,\"b\":4", differ, 12));
    assert_string_equal(differ, "a is 1 ther");
}

static bool split(const char *text, char host[280], char port[8])
{
    return dial_split(text, strlen(text), host, port);
}

static void addresses_are_taken_apart(void **state)
{
    char host[280], port[8];

    (void)state;
    assert_true(split("zk1:2181", host, port));
    assert_string_equal(host, "zk1");
    assert_string_equal(port, "2181");
    assert_true(split("[fd00::1]:80", host, port));
    assert_string_equal(host, "fd00::1");
    assert_false(split("zk1", host, port));
    assert_false(split(":80", host, port));
    assert_false(split("zk1:", host, port));
    assert_false(split("zk1:123456", host, port));
    assert_false(split("[]:80", host, port));
    assert_false(split("", host, port));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_are_found),
        cmocka_unit_test(settings_are_compared_by_name),
        cmocka_unit_test(addresses_are_taken_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
