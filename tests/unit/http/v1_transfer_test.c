/* SPDX-License-Identifier: MIT */
/* The form of a document for version control. */
#include "http/v1/transfer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

static void expect(const char *json, const char *indented)
{
    struct json_lines lines = {0};
    struct buf out = {0};

    json_put_lines(&lines, json, strlen(json), &out);
    assert_string_equal(out.data, indented);
    buf_fini(&out);
}

static void a_document_may_come_in_parts(void **state)
{
    (void)state;
    const char *json = "[[],[{},[-1.5e3],{}],[[1,2],null]]"; /* has no texts: any byte may be the last */
    struct json_lines whole = {0};
    struct buf expected = {0};

    json_put_lines(&whole, json, strlen(json), &expected);
    for (size_t i = 0; i <= strlen(json); i++) {
        struct json_lines lines = {0};
        struct buf out = {0};

        json_put_lines(&lines, json, i, &out);
        json_put_lines(&lines, json + i, strlen(json) - i, &out);
        assert_string_equal(out.data, expected.data);
        buf_fini(&out);
    }
    buf_fini(&expected);
}

static void a_member_has_a_line_of_its_own(void **state)
{
    (void)state;
    expect("{\"a\":1,\"b\":[{\"c\":null},2]}",
           "{\n  \"a\": 1,\n  \"b\": [\n    {\n      \"c\": null\n    },\n    2\n  ]\n}");
}

static void what_is_empty_stays_on_its_line(void **state)
{
    (void)state;
    expect("{\"a\":[],\"b\":{}}", "{\n  \"a\": [],\n  \"b\": {}\n}");
}

static void texts_stay_as_they_are(void **state)
{
    (void)state;
    expect("[\"a\\u000ab\\u0009\\u000d\\u0001\\\\u000a\"]", "[\n  \"a\\nb\\t\\r\\u0001\\\\u000a\"\n]");
    expect("[\"{,:[\\\"}\\\\\",\"x\"]", "[\n  \"{,:[\\\"}\\\\\",\n  \"x\"\n]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_member_has_a_line_of_its_own),
        cmocka_unit_test(what_is_empty_stays_on_its_line),
        cmocka_unit_test(a_document_may_come_in_parts),
        cmocka_unit_test(texts_stay_as_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
