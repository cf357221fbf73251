/* SPDX-License-Identifier: MIT */
/* How two versions of a flow differ. */
#include "shardwheel/flow.h"
#include "test.h"

#include <string.h>

static void check(const char *old, const char *new, const char *expected)
{
    struct errctx ec = {""};
    struct buf out = {0};

    buf_puts(&out, "");
    if (flow_put_diff(&out, old, strlen(old), new, strlen(new), &ec))
        fail_msg("%s", ec.text);
    assert_string_equal(out.data, expected);
    buf_fini(&out);
}

static void equal_documents_have_no_difference(void **state)
{
    (void)state;
    check("{}", "{}", "");
    check("{\"name\":\"f\",\"steps\":[{\"name\":\"a\",\"jobId\":1},{\"name\":\"b\"}],\"tags\":[\"x\"]}",
          "{\"tags\":[\"x\"],\"name\":\"f\",\"steps\":[{\"name\":\"b\"},{\"jobId\":1,\"name\":\"a\"}]}", "");
}

static void documents_are_the_same_by_meaning(void **state)
{
    (void)state;
    assert_true(flow_is_same_document("{\"a\":1,\"b\":[1,2]}", " {\"b\" : [1, 2],\n \"a\":1}"));
    assert_true(flow_is_same_document("{", "{"));
    assert_false(flow_is_same_document("{", "{ "));
    assert_false(flow_is_same_document("{\"b\":[1,2]}", "{\"b\":[2,1]}"));
    assert_false(flow_is_same_document("{\"a\":1}", "{\"a\":\"1\"}"));
    assert_false(flow_is_same_document("{}", "{\"a\":null}"));
}

static void settings_differ(void **state)
{
    (void)state;
    check("{\"name\":\"f\",\"deadline\":1,\"tags\":[\"a\"]}",
          "{\"name\":\"f\",\"deadline\":2,\"schedule\":{\"every\":5},\"alarm\":null}",
          "~ deadline: 1 -> 2\n~ tags: [\"a\"] -> none\n~ schedule: none -> {\"every\":5}\n~ alarm: none -> null\n");
}

static void parts_differ(void **state)
{
    (void)state;
    check("{\"parameters\":[{\"name\":\"p\"}],\"steps\":[{\"name\":\"a\",\"jobId\":1},{\"name\":\"b\",\"jobId\":2}]}",
          "{\"parameters\":[{\"name\":\"p\",\"default\":null},{\"name\":\"q\"}],"
          "\"steps\":[{\"name\":\"c\",\"jobId\":3},{\"name\":\"a\",\"jobId\":4,\"join\":\"any\"}]}",
          "~ parameter p: default: none -> null\n+ parameter q\n~ step a: jobId: 1 -> 4\n"
          "~ step a: join: none -> \"any\"\n- step b\n+ step c\n");
}

static void edges_differ(void **state)
{
    (void)state;
    check("{\"edges\":[{\"from\":\"a\",\"to\":\"b\"},{\"from\":\"a\",\"to\":\"c\",\"on\":\"failure\"}]}",
          "{\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"when\":{\"all\":[]}},{\"from\":\"a\",\"to\":\"c\"}]}",
          "~ edge a -> b: when: none -> {\"all\":[]}\n- edge a -> c on failure\n+ edge a -> c\n");
    /* Of several with one label the one that stayed is its own partner. */
    check("{\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"when\":1},{\"from\":\"a\",\"to\":\"b\",\"when\":2}]}",
          "{\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"when\":2},{\"from\":\"a\",\"to\":\"b\",\"when\":3}]}",
          "~ edge a -> b: when: 1 -> 3\n");
}

static void long_values_are_cut_where_they_differ(void **state)
{
    struct buf old = {0}, new = {0}, expected = {0};

    (void)state;
    buf_puts(&old, "{\"description\":\"");
    buf_puts(&new, "{\"description\":\"");
    for (int i = 0; i < 200; i++) {
        buf_puts(&old, "\xe6\x97\xa5");
        buf_puts(&new, "\xe6\x97\xa5");
    }
    buf_puts(&old, "a\"}");
    buf_puts(&new, "b\"}");
    buf_puts(&expected, "~ description: ");
    for (int i = 0; i < 2; i++) {
        buf_puts(&expected, "...");
        for (int k = 0; k < 7; k++)
            buf_puts(&expected, "\xe6\x97\xa5");
        buf_puts(&expected, i ? "b\"\n" : "a\" -> ");
    }
    check(old.data, new.data, expected.data);
    buf_fini(&old);
    buf_fini(&new);
    buf_fini(&expected);
}

static void strange_documents_do_no_harm(void **state)
{
    struct errctx ec = {""};
    struct buf out = {0};

    (void)state;
    check("{\"steps\":7,\"edges\":[3]}", "{\"steps\":[null,{\"name\":5}],\"edges\":[{}]}", "+ step ?\n+ step ?\n");
    assert_int_equal(flow_put_diff(&out, "[]", 2, "{}", 2, &ec), ERR_INPUT);
    assert_int_equal(flow_put_diff(&out, "{}", 2, "{", 1, &ec), ERR_INPUT);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_documents_have_no_difference),
        cmocka_unit_test(documents_are_the_same_by_meaning),
        cmocka_unit_test(settings_differ),
        cmocka_unit_test(parts_differ),
        cmocka_unit_test(edges_differ),
        cmocka_unit_test(long_values_are_cut_where_they_differ),
        cmocka_unit_test(strange_documents_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
