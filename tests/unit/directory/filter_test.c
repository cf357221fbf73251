/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "directory/filter.h"

#include <string.h>

static void check_filter(const char *template, const char *user, const char *dn, const char *expected)
{
    struct buf out = {0};

    filter_put(&out, template, user, dn);
    assert_string_equal(out.data, expected);
    buf_fini(&out);
}

static void what_a_user_types_is_a_value_and_nothing_else(void **state)
{
    (void)state;
    check_filter("(uid={user})", "alice", NULL, "(uid=alice)");
    check_filter("(uid={user})", "*", NULL, "(uid=\\2a)");
    check_filter("(uid={user})", "a)(uid=*", NULL, "(uid=a\\29\\28uid=\\2a)");
    check_filter("(uid={user})", "a\\2a", NULL, "(uid=a\\5c2a)");
    check_filter("(uid={user})", "z\xc3\xbc & co", NULL, "(uid=z\\c3\\bc\\20\\26\\20co)");
    check_filter("(uid={user})", "{dn}", "cn=x", "(uid=\\7bdn\\7d)"); /* is not filled in again */
    check_filter("(|(uid={user})(mail={user}))", "a@b.org", NULL, "(|(uid=a@b.org)(mail=a@b.org))");
    check_filter("(|(member={dn})(memberUid={user}))", "a", "cn=A (x),dc=b",
                 "(|(member=cn=A\\20\\28x\\29,dc=b)(memberUid=a))");
    check_filter("(&(objectClass=person)(uid={user}))", NULL, NULL, "(&(objectClass=person)(uid=*))");
    check_filter("(uid={use})", "a", NULL, "(uid={use})");
}

static void a_filter_is_one_pair_of_parentheses(void **state)
{
    (void)state;
    assert_true(filter_is_whole("(uid={user})"));
    assert_true(filter_is_whole("(&(a=b)(!(c=d)))"));
    static const char *const wrong[] = {"",           "()",    "uid=a",  "(uid=a", "uid=a)",
                                        "(a=b)(c=d)", ")a=b(", "(a=b))", " (a=b)"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_false(filter_is_whole(wrong[i]));
}

static void urls_name_scheme_host_and_port(void **state)
{
    struct directory_url urls[DIRECTORY_URLS_MAX];
    struct errctx ec;
    size_t count = 0;

    (void)state;
    assert_int_equal(
        urls_parse(" ldaps://ldap.example.org/, LDAP://[fd00::1]:3389\tldap://10.0.0.1 ", urls, &count, &ec), 0);
    assert_int_equal(count, 3);
    assert_true(urls[0].tls && !urls[1].tls && !urls[2].tls);
    assert_string_equal(urls[0].host, "ldap.example.org");
    assert_string_equal(urls[0].port, "636");
    assert_string_equal(urls[1].host, "fd00::1");
    assert_string_equal(urls[1].port, "3389");
    assert_string_equal(urls[2].host, "10.0.0.1");
    assert_string_equal(urls[2].port, "389");
}

static void a_url_that_is_none_is_named(void **state)
{
    static const char *const wrong[] = {
        "ldap.example.org",    "ldap://",          "ldaps://",       "ldaps://:636",    "http://a",
        "ldapi:///run/ldapi",  "ldap://a:0",       "ldap://a:65536", "ldap://a:",       "ldap://a:1x",
        "ldap://a/dc=b",       "ldap://a?uid",     "ldap://u@a",     "ldap://[fd00::1", "ldap://fd00::1",
        "ldap://[fd00::1]x:1", "ldap://a:389:389",
    };
    struct directory_url urls[DIRECTORY_URLS_MAX];
    char huge[1000] = "ldap://";
    struct errctx ec;
    size_t count = 7;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        assert_int_equal(urls_parse(wrong[i], urls, &count, &ec), ERR_INPUT);
        assert_non_null(strstr(ec.text, wrong[i]));
    }
    memset(huge + 7, 'a', sizeof huge - 8);
    assert_int_equal(urls_parse(huge, urls, &count, &ec), ERR_INPUT);
    assert_int_equal(urls_parse(" , ", urls, &count, &ec), ERR_INPUT);
    assert_int_equal(urls_parse("ldap://a ldap://a ldap://a ldap://a ldap://a ldap://a ldap://a ldap://a ldap://a",
                                urls, &count, &ec),
                     ERR_INPUT);
    assert_int_equal(count, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_user_types_is_a_value_and_nothing_else),
        cmocka_unit_test(a_filter_is_one_pair_of_parentheses),
        cmocka_unit_test(urls_name_scheme_host_and_port),
        cmocka_unit_test(a_url_that_is_none_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
