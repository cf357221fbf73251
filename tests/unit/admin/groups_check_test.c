/* SPDX-License-Identifier: MIT */
/* What makes a group, and what is script. */
#include "admin/groups/check.h"
#include "admin/admin_impl.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

static void script_is_told_from_text(void **state)
{
    (void)state;
    static const char *const script[] = {
        "<script>",       "x<SCRIPT src=",       "</script >",       "<noscript>", "<iframe",      "a<object",
        "<Embed",         "javascript:alert(1)", "VBScript:x",       "eval(1)",    "expression(x", "url(x",
        "<img onerror=1", "onclick =x",          "x onmouseover\t=", "\"onload=",
    };
    static const char *const text[] = {"a < b > c",  "",         "<b>",          "java script:", "evaluation",
                                       "conclick=1", "on click", "online = yes", "only",         "http://onload/",
                                       "描述"};
    for (size_t i = 0; i < ARRAY_LEN(script); i++) {
        if (!text_has_script(script[i]))
            fail_msg("%s", script[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(text); i++) {
        if (text_has_script(text[i]))
            fail_msg("%s", text[i]);
    }
}

static const struct group_columns columns = {.title_chars = 12, .has_token = true};

/* "kind field item", or "" when nothing is wrong. */
static const char *check(const struct group_info *values, const struct group_info *now, const struct group_rules *rules)
{
    static char out[200];
    struct admin a = {0};
    struct refusal r = {0};

    if (!group_check(&a, values, now, rules, &columns, &r))
        return "";
    snprintf(out, sizeof out, "%s %s %s", refusal_name(r.kind), r.field, r.item);
    return out;
}

#define AUTO(name, text)                                                                                               \
    {                                                                                                                  \
        .app_name = name, .title = text                                                                                \
    }
#define BY_HAND(list)                                                                                                  \
    {                                                                                                                  \
        .app_name = "some-app", .title = "x", .address_type = 1, .address_list = list                                  \
    }

static void values_are_checked_in_their_order(void **state)
{
    (void)state;
    static const struct group_rules plain = {0}, angles = {.angles = true}, scheme = {.scheme = true};
    static const struct {
        const struct group_rules *rules;
        struct group_info values;
        const char *expected;
    } cases[] = {
        {&plain, AUTO("", ""), "required appname "},
        {&plain, AUTO(NULL, NULL), "required appname "},
        {&plain, AUTO("abc", ""), "length appname "},
        {&plain, AUTO("中文中文", "x"), ""},
        {&plain, AUTO("\xf0\x9f\x98\x80\xf0\x9f\x98\x80", "x"), ""}, /* four units of UTF-16 */
        {&plain, AUTO("a<script", "x"), "invalid appname "},
        {&plain, AUTO("a<bc", "x"), ""},
        {&angles, AUTO("a<bc", "x"), "invalid appname "},
        {&plain, AUTO("some-app", " "), "required title "},
        {&plain, AUTO("some-app", "123456789012"), ""},
        {&plain, AUTO("some-app", "一二三四五六七八九十一二"), ""},
        {&plain, AUTO("some-app", "1234567890123"), "length title "},
        {&plain, BY_HAND(NULL), "required addressList "},
        {&plain, BY_HAND("  "), "required addressList "},
        {&angles, BY_HAND("http://<"), "invalid addressList "},
        {&plain, BY_HAND("a, ,b"), "required addressList 2"},
        {&plain, BY_HAND(",a"), "required addressList 1"},
        {&plain, BY_HAND("a,,"), ""}, /* at the end they do not count */
        {&plain, BY_HAND(","), ""},
        {&plain, BY_HAND("10.0.0.1:9999"), ""},
        {&scheme, BY_HAND("http://a,10.0.0.1:9999"), "invalid addressList 10.0.0.1:9999"},
        {&scheme, BY_HAND("https://a/"), ""},
        {&plain, BY_HAND("http://169.254.169.254/"), "invalid addressList http://169.254.169.254/"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (strcmp(check(&cases[i].values, NULL, cases[i].rules), cases[i].expected))
            fail_msg("%zu: %s", i, check(&cases[i].values, NULL, cases[i].rules));
    }
}

/* What has been there for years stays possible where only something else is changed. */
static void what_stays_is_not_checked_anew(void **state)
{
    (void)state;
    const struct group_info now = {
        .id = 1, .app_name = "x", .title = "much too long a title", .address_type = 1, .address_list = "10.0.0.1"};
    struct group_info values = {
        .app_name = now.app_name, .title = now.title, .address_type = 1, .address_list = now.address_list};
    const struct group_rules changed = {.scheme = true, .only_changed = true}, all = {.scheme = true},
                             keeps = {.keeps_name = true};

    assert_string_equal(check(&values, &now, &changed), "");
    assert_string_equal(check(&values, &now, &all), "length appname ");
    assert_string_equal(check(&values, &now, &keeps), "length title ");
    values.title = "<iframe";
    assert_string_equal(check(&values, &now, &changed), "invalid title ");
    values.title = now.title;
    values.address_list = "10.0.0.2";
    assert_string_equal(check(&values, &now, &changed), "invalid addressList 10.0.0.2");
}

static void bounds_of_the_rest(void **state)
{
    (void)state;
    static char list[ADDRESS_LIST_BYTES + 10], token[300];
    static const struct group_rules plain = {0};
    struct group_info values = {.app_name = "some-app", .title = "x", .address_type = 1, .address_list = list};

    memset(list, 'a', ADDRESS_LIST_BYTES + 1);
    memset(token, 't', 256);
    assert_string_equal(check(&values, NULL, &plain), "length addressList ");
    values.address_type = 0;
    assert_string_equal(check(&values, NULL, &plain), "length addressList ");
    list[ADDRESS_LIST_BYTES] = '\0';
    assert_string_equal(check(&values, NULL, &plain), "");
    values.access_token = token;
    assert_string_equal(check(&values, NULL, &plain), "length accessToken ");
    values.access_token = "";
    values.address_type = 128;
    values.address_list = "a";
    assert_string_equal(check(&values, NULL, &plain), "invalid addressType ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(script_is_told_from_text),
        cmocka_unit_test(values_are_checked_in_their_order),
        cmocka_unit_test(what_stays_is_not_checked_anew),
        cmocka_unit_test(bounds_of_the_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
