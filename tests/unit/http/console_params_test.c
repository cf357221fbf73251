/* SPDX-License-Identifier: MIT */
/* Parameters as lenient as the original's, and none that would do harm. */
#include "http/console/params.h"
#include "cron/alloc_fail.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static struct console_params load(const char *query, const char *form)
{
    struct console_params params;
    struct errctx ec;

    assert_int_equal(params_load(query, form, form ? strlen(form) : 0, NULL, 0, &params, &ec), ERR_OK);
    return params;
}

static void expect(const char *query, const char *form, const char *name, const char *joined, const char *first)
{
    struct console_params params = load(query, form);
    const char *text = params_get(&params, name), *one = params_get_first(&params, name);

    if (!joined) {
        assert_null(text);
    } else {
        assert_non_null(text);
        assert_string_equal(text, joined);
        assert_string_equal(one, first ? first : joined);
    }
    params_fini(&params);
}

static void texts(void **state)
{
    (void)state;
    expect("a=1", NULL, "a", "1", NULL);
    expect("a=1", "b=2", "b", "2", NULL);
    expect("a", NULL, "a", "", NULL);
    expect("", NULL, "a", NULL, NULL);
    expect("&&a=x&", NULL, "a", "x", NULL);
    expect("a=b=c", NULL, "a", "b=c", NULL);
    expect("a=x+y%20z%2B", NULL, "a", "x y z+", NULL);
    expect("a=\xe4\xb8\xad%E6%96%87", NULL, "a", "\xe4\xb8\xad\xe6\x96\x87", NULL);
    expect("A=1", NULL, "a", NULL, NULL);
    expect("a=1;b=2", NULL, "a", "1;b=2", NULL);
    /* query first, then form; joined */
    expect("p=1", "p=2&p=3", "p", "1,2,3", "1");
    expect("p=&p=", NULL, "p", ",", "");
    /* brackets, and the plain name before them */
    expect("p[]=1&p%5B%5D=2", NULL, "p", "1,2", "1");
    expect("p[]=1", "p=9", "p", "9", NULL);
    expect("p=9", NULL, "p[]", NULL, NULL);
    /* what is broken is dropped, the rest counts */
    expect("a=%zz&b=1", NULL, "b", "1", NULL);
    expect("a=%zz&b=1", NULL, "a", NULL, NULL);
    expect("a=%4", NULL, "a", NULL, NULL);
    expect("a=%41", NULL, "a", "A", NULL);
}

static void bad_texts_are_named(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"a=1&b=%ff", "b"},    {"b=%00", "b"},          {"b=x%00y", "b"},
        {"b=\xc3", "b"},       {"b=%ED%A0%80", "b"},    {"%ff=1", "\xef\xbf\xbd"},
        {"a=\xc3\xa9%20", ""}, {"x=%c0%80&y=%ff", "x"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct console_params params = load("", cases[i][0]);
        assert_string_equal(params.bad, cases[i][1]);
        params_fini(&params);
    }
}

static void numbers(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool good;
        int64_t value;
    } cases[] = {
        {"7", true, 7},
        {" 7\t", true, 7},
        {"+7", true, 7},
        {"-7", true, -7},
        {"007", true, 7},
        {"0x1F", true, 31},
        {"0X1f", true, 31},
        {"#1f", true, 31},
        {"-0x10", true, -16},
        {"\xef\xbc\x97\xef\xbc\x90", true, 70},
        {"2147483647", true, INT32_MAX},
        {"-2147483648", true, INT32_MIN},
        {"2147483648", false, 0},
        {"99999999999999999999", false, 0},
        {"", false, 0},
        {"-", false, 0},
        {"0x", false, 0},
        {"1.0", false, 0},
        {"1e3", false, 0},
        {"7x", false, 0},
        {"7 8", false, 0},
        {"--7", false, 0},
        {"null", false, 0},
        {"7;DROP TABLE", false, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t value = -99;
        if (number_parse(cases[i].text, INT32_MIN, INT32_MAX, &value) != cases[i].good)
            fail_msg("%s", cases[i].text);
        assert_int_equal(value, cases[i].good ? cases[i].value : -99);
    }
    int64_t value;
    assert_true(number_parse("-9223372036854775808", INT64_MIN, INT64_MAX, &value));
    assert_int_equal(value, INT64_MIN);
    assert_false(number_parse("9223372036854775808", INT64_MIN, INT64_MAX, &value));
}

static void numbers_are_found_by_name(void **state)
{
    (void)state;
    struct console_params params = load("a=5&a=6&b=&c=x&d=+&e[]=3", NULL);
    int64_t value = 0;

    assert_int_equal(params_get_number(&params, "a", 0, 9, &value), PARAM_NUMBER);
    assert_int_equal(value, 5);
    assert_int_equal(params_get_number(&params, "a", 6, 9, &value), PARAM_BROKEN);
    assert_int_equal(params_get_number(&params, "b", 0, 9, &value), PARAM_EMPTY);
    assert_int_equal(params_get_number(&params, "c", 0, 9, &value), PARAM_BROKEN);
    assert_int_equal(params_get_number(&params, "d", 0, 9, &value), PARAM_EMPTY);
    assert_int_equal(params_get_number(&params, "e", 0, 9, &value), PARAM_NUMBER);
    assert_int_equal(params_get_number(&params, "f", 0, 9, &value), PARAM_ABSENT);
    params_fini(&params);
}

static void pairs_may_have_anything_in_them(void **state)
{
    (void)state;
    static const struct multipart_field pairs[] = {{"a", "x&y=%41", 1, 7}, {"b", "1", 1, 1}, {"b", "2", 1, 1}};
    static const struct multipart_field bad = {"c", "x\0y", 1, 3};
    struct console_params params;
    struct errctx ec;

    assert_int_equal(params_load("b=0", NULL, 0, pairs, ARRAY_LEN(pairs), &params, &ec), ERR_OK);
    assert_string_equal(params_get(&params, "a"), "x&y=%41");
    assert_string_equal(params_get(&params, "b"), "0,1,2");
    params_fini(&params);
    assert_int_equal(params_load("", NULL, 0, &bad, 1, &params, &ec), ERR_OK);
    assert_string_equal(params.bad, "c");
    params_fini(&params);
}

static void there_are_not_too_many(void **state)
{
    (void)state;
    static char query[4 * (PARAMS_MAX + 10)];
    struct console_params params;

    for (int i = 0; i < PARAMS_MAX; i++)
        strcat(query, "a=1&");
    params = load(query, NULL);
    assert_false(params.too_many);
    assert_int_equal(strlen(params_get(&params, "a")), 2 * PARAMS_MAX - 1);
    params_fini(&params);
    strcat(query, "b=1");
    params = load(query, NULL);
    assert_true(params.too_many);
    params_fini(&params);
}

static long count_allocations(const char *form)
{
    const long many = 1000000;
    struct console_params params;

    alloc_fail_start(many);
    params = load("", form);
    long used = many - alloc_until_fail;
    alloc_fail_stop();
    params_fini(&params);
    return used;
}

/* The values of a name that came many times are joined once, not one by one. */
static void a_name_that_repeats_costs_one_allocation(void **state)
{
    (void)state;
    static char same[5 * 101], distinct[5 * 101];

    for (int i = 0; i < 100; i++) {
        snprintf(same + 5 * i, 6, "aa=%d&", i % 10);
        snprintf(distinct + 5 * i, 6, "%c%c=%d&", 'a' + i / 10, 'a' + i % 10, i % 10);
    }
    if (alloc_fail_works)
        assert_int_equal(count_allocations(same), count_allocations(distinct) + 1);
    struct console_params params = load("b=x&aa=y", same);
    const char *joined = params_get(&params, "aa");
    assert_int_equal(strlen(joined), 201);
    assert_memory_equal(joined, "y,0,1,2,", 8);
    assert_string_equal(params_get(&params, "b"), "x");
    params_fini(&params);
}

static void any_allocation_may_fail(void **state)
{
    (void)state;
    struct console_params params;
    struct errctx ec;

    for (long n = 1; alloc_fail_works; n++) {
        long live = alloc_live;
        alloc_fail_start(n);
        enum err e = params_load("a=1&a=2&a=3&b=%ff", "c=x", 3, NULL, 0, &params, &ec);
        bool failed = alloc_fail_stop();
        if (!e)
            params_fini(&params);
        else
            assert_int_equal(e, ERR_NOMEM);
        assert_int_equal(alloc_live, live);
        if (!failed)
            return;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),
        cmocka_unit_test(bad_texts_are_named),
        cmocka_unit_test(numbers),
        cmocka_unit_test(numbers_are_found_by_name),
        cmocka_unit_test(pairs_may_have_anything_in_them),
        cmocka_unit_test(there_are_not_too_many),
        cmocka_unit_test(a_name_that_repeats_costs_one_allocation),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
