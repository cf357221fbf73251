/* SPDX-License-Identifier: MIT */
#include "ctl/doctor/words.h"

#include "test.h"

#include <string.h>

static void words_are_found_in_any_case_and_order(void **state)
{
    (void)state;
    assert_true(words_have("STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION", "strict_trans_tables"));
    assert_true(words_have("A,B", "B"));
    assert_false(words_have("STRICT_TRANS_TABLES", "STRICT_TRANS"));
    assert_false(words_have("", "A"));
    assert_true(words_are_same("A,B", "b,a"));
    assert_false(words_are_same("A,B", "A"));
    assert_false(words_are_same("A", "A,B"));
    assert_true(words_are_same("", ""));
}

static void long_lists_are_cut(void **state)
{
    struct words w = {0};

    (void)state;
    assert_string_equal(words_end(&w), "");
    words_add(&w, "a");
    words_add(&w, "b");
    assert_string_equal(words_end(&w), "a, b");
    for (int i = 0; i < 100; i++)
        words_add(&w, "c");
    assert_string_equal(words_end(&w), "a, b, c, c, c, c, c, c, c, c and 92 more");
    w = (struct words){0};
    for (int i = 0; i < 100; i++)
        words_add(&w, "a name that is so long that a list of ten of its kind is more than will fit into a sentence");
    assert_non_null(strstr(words_end(&w), " and 90 more"));
}

static void spans_and_sizes_are_round(void **state)
{
    (void)state;
    assert_string_equal(span_of_s(0).text, "0 s");
    assert_string_equal(span_of_s(-119).text, "119 s");
    assert_string_equal(span_of_s(120).text, "2 min");
    assert_string_equal(span_of_s(8 * 3600 + 59).text, "8 h");
    assert_string_equal(span_of_s(60 * 86400).text, "60 days");
    assert_string_equal(size_of_bytes(1499999).text, "1 MB");
    assert_string_equal(size_of_bytes(1250000000).text, "1.2 GB");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_found_in_any_case_and_order),
        cmocka_unit_test(long_lists_are_cut),
        cmocka_unit_test(spans_and_sizes_are_round),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
