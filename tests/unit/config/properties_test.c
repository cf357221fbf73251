/* SPDX-License-Identifier: MIT */
/* The form of properties files: each rule of java.util.Properties, and what is refused beyond it. */
#include "config/properties.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static enum err add_line(void *arg, const char *key, const char *value, int line, struct errctx *ec)
{
    (void)ec;
    buf_printf(arg, "%d<%s><%s>\n", line, key, value);
    return ERR_OK;
}

static enum err parse(const char *text, size_t len, struct buf *seen, struct errctx *ec)
{
    struct properties_sink sink = {.add = add_line, .arg = seen};
    /* A copy of exactly this length, so that the sanitizer sees a step beyond it. */
    char *copy = malloc(len ? len : 1);
    enum err e;

    assert_non_null(copy);
    memcpy(copy, text, len);
    e = properties_parse("f", copy, len, &sink, ec);
    free(copy);
    return e;
}

static void check(const char *text, const char *expected)
{
    struct buf seen = {0};
    struct errctx ec = {{0}};

    buf_puts(&seen, "");
    if (parse(text, strlen(text), &seen, &ec))
        fail_msg("%s: %s", text, ec.text);
    assert_string_equal(seen.data, expected);
    buf_fini(&seen);
}

static void check_refused_bytes(const char *text, size_t len, const char *expected)
{
    struct buf seen = {0};
    struct errctx ec = {{0}};

    assert_int_equal(parse(text, len, &seen, &ec), ERR_INPUT);
    if (!strstr(ec.text, expected))
        fail_msg("\"%s\" is not in \"%s\"", expected, ec.text);
    buf_fini(&seen);
}

static void check_refused(const char *text, const char *expected)
{
    check_refused_bytes(text, strlen(text), expected);
}

static void key_and_value_are_parted_by_equals_colon_or_blank(void **state)
{
    (void)state;
    check("a=1\nb:2\nc 3\nd\t4\ne\f5", "1<a><1>\n2<b><2>\n3<c><3>\n4<d><4>\n5<e><5>\n");
    check("  a  =  1", "1<a><1>\n");
    check("a : = 1", "1<a><= 1>\n");
    check("a == 1", "1<a><= 1>\n");
    check("a b=1", "1<a><b=1>\n");
    check("a", "1<a><>\n");
    check("a=", "1<a><>\n");
    check("a = b c  ", "1<a><b c  >\n"); /* blanks at the end count */
    check("u=jdbc:mysql://h:1/d?a=b&c=d", "1<u><jdbc:mysql://h:1/d?a=b&c=d>\n");
}

static void blank_and_comment_lines_are_skipped(void **state)
{
    (void)state;
    check("", "");
    check("\n \t\f\n#a=1\n  ! b=2\nc=3", "5<c><3>\n");
    check("# ends in a backslash \\\na=1", "2<a><1>\n");
    check("a=1 # part of it", "1<a><1 # part of it>\n");
    check("#\xff\xfe is not UTF-8\na=1", "2<a><1>\n");
}

static void lines_end_in_lf_cr_or_both(void **state)
{
    (void)state;
    check("a=1\rb=2\r\nc=3\n\rd=4", "1<a><1>\n2<b><2>\n3<c><3>\n5<d><4>\n");
}

static void a_backslash_continues_a_line(void **state)
{
    (void)state;
    check("a=1\\\n  2\\\r\n\t3\nb=4", "1<a><123>\n4<b><4>\n");
    check("a\\\n  b = \\\n  c", "1<ab><c>\n");
    check("a=1\\\n#2", "1<a><1#2>\n");
    check("a=1\\\n\nb=2", "1<a><1>\n3<b><2>\n");
    check("a=1\\\\\nb=2", "1<a><1\\>\n2<b><2>\n"); /* an escaped one does not */
    check("a=1\\\\\\\n2", "1<a><1\\2>\n");
    check("a=1\\", "1<a><1>\n");
    check("\\\n\na=1", "3<a><1>\n");
    check("a \\\n = \\\n 1", "1<a><1>\n");
}

static void escapes_are_replaced(void **state)
{
    (void)state;
    check("a\\ b\\=c\\:d = \\t\\n\\r\\f\\q\\\"\\\\", "1<a b=c:d><\t\n\r\fq\"\\>\n");
    check("\\#a=\\ 1", "1<#a>< 1>\n");
    check("a=\\u0041\\u00e9\\u20AC\\ud83d\\uDE00", "1<a><A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80>\n");
    check("\\u0061=x\\u000ay", "1<a><x\ny>\n");
    check("a=x\\&y", "1<a><x&y>\n");
}

static void utf8_is_taken_as_it_is(void **state)
{
    (void)state;
    check("\xef\xbb\xbf"
          "a=\xe4\xb8\xad\xf0\x9f\x98\x80",
          "1<a><\xe4\xb8\xad\xf0\x9f\x98\x80>\n");
    check("a=\xf4\x8f\xbf\xbf", "1<a><\xf4\x8f\xbf\xbf>\n");
}

static void what_nobody_can_mean_is_refused_with_its_line(void **state)
{
    (void)state;
    check_refused("a=1\n=2", "f:2: a key is missing");
    check_refused("\n\n:", "f:3: a key is missing");
    check_refused("a=\\u12", "f:1: \\u must be followed by four hex digits");
    check_refused("a=\\u12G4", "f:1: \\u must be followed");
    check_refused("\na=\\u", "f:2: \\u must be followed");
    check_refused("a=\\u0000", "f:1: \\u0000");
    check_refused("a=\\ud83d", "f:1: \\uD800 to \\uDFFF");
    check_refused("a=\\ud83d\\u0041", "f:1: \\uD800 to \\uDFFF");
    check_refused("a=\\ud83d\\ud83d", "f:1: \\uD800 to \\uDFFF");
    check_refused("a=\\ude00\\ud83d", "f:1: \\uD800 to \\uDFFF");
    check_refused("a=1\\\n2\\\n3\xff", "f:1: the line is not UTF-8");
    check_refused("b\xe4=1", "f:1: the line is not UTF-8");
    check_refused("a=\xc0\x80", "not UTF-8");
    check_refused("a=\xe0\x80\x80", "not UTF-8");
    check_refused("a=\xed\xa0\x80", "not UTF-8");
    check_refused("a=\xf0\x80\x80\x80", "not UTF-8");
    check_refused("a=\xf4\x90\x80\x80", "not UTF-8");
    check_refused("a=\xf5\x80\x80\x80", "not UTF-8");
    check_refused("a=\xe4\xb8", "not UTF-8");
    check_refused_bytes("a=1\nb=\0", 7, "f:2: a NUL byte");
    check_refused_bytes("a=1\nb=\\\0", 8, "f:2: a NUL byte");
}

static enum err refuse(void *arg, const char *key, const char *value, int line, struct errctx *ec)
{
    (void)key;
    (void)value;
    (*(int *)arg)++;
    return err_set(ec, ERR_BUSY, "line %d", line);
}

static void an_error_of_the_sink_ends_the_reading(void **state)
{
    int calls = 0;
    struct properties_sink sink = {.add = refuse, .arg = &calls};
    struct errctx ec = {{0}};

    (void)state;
    assert_int_equal(properties_parse("f", "a=1\nb=2", 7, &sink, &ec), ERR_BUSY);
    assert_string_equal(ec.text, "line 1");
    assert_int_equal(calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(key_and_value_are_parted_by_equals_colon_or_blank),
        cmocka_unit_test(blank_and_comment_lines_are_skipped),
        cmocka_unit_test(lines_end_in_lf_cr_or_both),
        cmocka_unit_test(a_backslash_continues_a_line),
        cmocka_unit_test(escapes_are_replaced),
        cmocka_unit_test(utf8_is_taken_as_it_is),
        cmocka_unit_test(what_nobody_can_mean_is_refused_with_its_line),
        cmocka_unit_test(an_error_of_the_sink_ends_the_reading),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
