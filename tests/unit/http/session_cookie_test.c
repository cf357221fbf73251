/* SPDX-License-Identifier: MIT */
/* Cookies of logins, those of Java admins among them. */
#include "http/session_cookie.h"
#include "test.h"

#include <stdio.h>
#include <string.h>

/* As a Java admin of 2.5.0 and one of 3.2.0 send them. */
#define HASH "e10adc3949ba59abbe56e057f20f883e"
#define TOKEN "eyJ1c2VySWQiOiIxIiwiZXhwaXJlVGltZSI6MCwic2lnbmF0dXJlIjoiNzNhNWU1ZjZkMzg1ZDIyMzNlYmY4YjI2YTYxZTkzYzIifQ"

static void to_hex(const char *text, char *out)
{
    for (; *text; text++, out += 2)
        sprintf(out, "%02x", (unsigned char)*text);
}

static enum cookie_verdict read_row(const char *json, struct session_cookie *out)
{
    static char hex[4096];

    to_hex(json, hex);
    return row_cookie_read(hex, out);
}

static void the_row_of_a_java_admin_is_read(void **state)
{
    struct session_cookie read;
    char hex[400];

    (void)state;
    to_hex("{\"id\":1,\"username\":\"admin\",\"password\":\"" HASH "\",\"role\":1,\"permission\":null}", hex);
    assert_int_equal(row_cookie_read(hex, &read), COOKIE_GOOD);
    assert_string_equal(read.name, "admin");
    assert_string_equal(read.secret, HASH);
    assert_int_equal(read.user_id, 0);
    for (char *c = hex; *c; c++)
        *c = *c >= 'a' ? (char)(*c - 32) : *c;
    assert_int_equal(row_cookie_read(hex, &read), COOKIE_GOOD); /* a number has no case */
    assert_int_equal(read_row("{\"username\":\"\xe7\x8e\x8b\",\"password\":\"x\"}", &read), COOKIE_GOOD);
    assert_string_equal(read.name, "\xe7\x8e\x8b");
}

static void what_is_no_row_is_refused(void **state)
{
    static const char *const others[] = {
        "{\"username\":\"admin\"}",
        "{\"password\":\"" HASH "\"}",
        "{\"username\":\"admin\",\"password\":\"\"}",
        "{\"username\":\"admin\",\"password\":null}",
        "{\"username\":\"admin\",\"password\":\"" HASH "\",\"more\":1}", /* a Java admin takes no such field */
        "{\"username\":\"ad\\u0000min\",\"password\":\"" HASH "\"}",
        "[1]",
        "{",
        "admin",
    };
    static const char *const broken[] = {"", "0", "xyz", "7b2", "7b 22", "-7b", "%37%62"};
    struct session_cookie read;
    static char longest[COOKIE_VALUE_MAX + 100];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_int_equal(read_row(others[i], &read), COOKIE_OTHER);
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        enum cookie_verdict verdict = row_cookie_read(broken[i], &read);
        if (verdict == COOKIE_GOOD)
            fail_msg("'%s' is good", broken[i]);
    }
    assert_int_equal(row_cookie_read("", &read), COOKIE_BROKEN);
    assert_int_equal(row_cookie_read("xyz", &read), COOKIE_BROKEN);
    memset(longest, '7', sizeof longest - 1);
    assert_int_equal(row_cookie_read(longest, &read), COOKIE_BROKEN);
}

static void a_row_comes_back_as_it_was_written(void **state)
{
    char name[] = "a\"b\\\xe7\x8e\x8b", permission[] = "1,2";
    struct user u = {.id = 7, .name = name, .role = 0, .permission = permission, .password = HASH};
    struct session_cookie read;
    struct buf out = {0};

    (void)state;
    row_cookie_put(&out, &u, NULL);
    assert_int_equal(row_cookie_read(out.data, &read), COOKIE_GOOD);
    assert_string_equal(read.name, name);
    assert_string_equal(read.secret, HASH);
    buf_clear(&out);
    row_cookie_put(&out, &u, "s3cret");
    assert_int_equal(row_cookie_read(out.data, &read), COOKIE_GOOD);
    assert_string_equal(read.secret, "s3cret");
    buf_fini(&out);
}

static void the_token_of_a_java_admin_is_read_and_written(void **state)
{
    struct session_cookie read;
    struct buf out = {0};

    (void)state;
    assert_int_equal(token_cookie_read(TOKEN, &read), COOKIE_GOOD);
    assert_int_equal(read.user_id, 1);
    assert_string_equal(read.secret, "73a5e5f6d385d2233ebf8b26a61e93c2");
    token_cookie_put(&out, 1, read.secret);
    assert_string_equal(out.data, TOKEN);
    buf_puts(&out, "%3D%3D");
    assert_int_equal(token_cookie_read(out.data, &read), COOKIE_GOOD); /* padded, and encoded for a URL */
    buf_fini(&out);
}

static void what_is_no_token_is_refused(void **state)
{
    static const char *const cases[] = {
        "",
        "=",
        "x",
        "%zz",
        "eyJ1c2VySWQiOiIxIn0",                      /* no signature */
        "eyJzaWduYXR1cmUiOiJ4In0",                  /* no user */
        "eyJ1c2VySWQiOiIwIiwic2lnbmF0dXJlIjoieCJ9", /* user 0 */
        "eyJ1c2VySWQiOiJ4Iiwic2lnbmF0dXJlIjoieCJ9", /* user x */
        "eyJ1c2VySWQiOiIxIiwic2lnbmF0dXJlIjoiIn0",  /* an empty one */
        "W10",                                      /* [] */
        "eyJ1c2VySWQiOiIxIiwic2lnbmF0dXJlIjoieCJ",  /* cut off */
    };
    struct session_cookie read;
    static char longest[COOKIE_VALUE_MAX + 100];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        if (token_cookie_read(cases[i], &read) != COOKIE_BROKEN)
            fail_msg("'%s' is good", cases[i]);
    }
    memset(longest, 'A', sizeof longest - 1);
    assert_int_equal(token_cookie_read(longest, &read), COOKIE_BROKEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_row_of_a_java_admin_is_read),
        cmocka_unit_test(what_is_no_row_is_refused),
        cmocka_unit_test(a_row_comes_back_as_it_was_written),
        cmocka_unit_test(the_token_of_a_java_admin_is_read_and_written),
        cmocka_unit_test(what_is_no_token_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
