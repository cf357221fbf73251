/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "http/multipart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE "multipart/form-data; boundary=XX"
#define FIELD(name) "--XX\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n"

static struct errctx ec;

/* "name=value|..." of a body of that type, or the error. */
static const char *read_as(const char *type, const char *body, size_t len)
{
    static char out[2000];
    struct multipart_field fields[4];
    size_t count = 0, n = 0;
    char *copy = malloc(len ? len : 1); /* so that AddressSanitizer sees its end */

    memcpy(copy, body, len);
    out[0] = '\0';
    if (multipart_parse(type, copy, len, fields, ARRAY_LEN(fields), &count, &ec))
        snprintf(out, sizeof out, "%s", ec.text);
    for (size_t i = 0; i < count; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%.*s=%.*s|", (int)fields[i].name_len, fields[i].name,
                              (int)fields[i].value_len, fields[i].value);
    free(copy);
    return out;
}

static const char *read(const char *body)
{
    return read_as(TYPE, body, strlen(body));
}

static void fields_come_in_their_order(void **state)
{
    (void)state;
    assert_string_equal(read(FIELD("a") "1\r\n" FIELD("b") "\r\n" FIELD("a") "x\r\n--X\r\ny\r\n--XX--\r\n"),
                        "a=1|b=|a=x\r\n--X\r\ny|");
    assert_string_equal(read("preamble\r\n" FIELD("a") "1\r\n--XX-- \r\nwhat follows"), "a=1|");
    assert_string_equal(read("--XX--"), "");
    assert_string_equal(read(FIELD("a") "--XX--"), "a=|"); /* the line end is that of the blank line */
    assert_string_equal(read("--XX \t\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--XX--"), "a=1|");
}

static void names_stand_among_other_parameters(void **state)
{
    static const char *const lines[][2] = {
        {"content-disposition:form-data;NAME=a", "a=1|"},
        {"Content-Disposition: form-data; filename=\"x; name=y\"; name=\"a b\"", "a b=1|"},
        {"Content-Type: text/plain\r\nContent-Disposition: form-data; name=\"a\"; filename=\"f\"", "a=1|"},
        {"Content-Disposition: form-data; x; name=\"a\\\"b\"", "a\\\"b=1|"},
        {"Content-Disposition: form-data; name=\"\"", "=1|"},
        {"Content-Disposition: form-data; name=\"a\"\r\nContent-Transfer-Encoding: 8BIT ", "a=1|"},
        {"Content-Disposition: form-data; filename=a", "field 1 of the body has no name"},
        {"Content-Disposition: form-data; name=\"a", "field 1 of the body has no name"},
        {"Content-Disposition: form-data; name=\"a\\", "field 1 of the body has no name"},
        {"X-Disposition: form-data; name=\"a\"", "field 1 of the body has no name"},
        {"Content-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64",
         "field 1 of the body is encoded"},
    };
    char body[500];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        snprintf(body, sizeof body, "--XX\r\n%s\r\n\r\n1\r\n--XX--\r\n", lines[i][0]);
        assert_string_equal(read(body), lines[i][1]);
    }
}

static void a_body_must_be_whole(void **state)
{
    static const char whole[] = FIELD("a") "1\r\n" FIELD("b") "2\r\n--XX--";

    (void)state;
    assert_string_equal(read(whole), "a=1|b=2|");
    for (size_t len = 0; len < sizeof whole - 1; len++) {
        struct multipart_field fields[4];
        size_t count;
        char *start = malloc(len ? len : 1);
        memcpy(start, whole, len);
        if (multipart_parse(TYPE, start, len, fields, 4, &count, &ec) != ERR_INPUT)
            fail_msg("taken after %zu bytes", len);
        free(start);
    }
    assert_string_equal(read("--XXX\r\n"), "field 1 of the body does not begin on its own line");
    assert_string_equal(read("--XX\r\n\r\n1\r\n--XX--"), "field 1 of the body has no name");
    assert_string_equal(read("a=1&b=2"), "the body does not have the boundary");
}

static void bytes_of_a_value_are_kept(void **state)
{
    static const char body[] = FIELD("a") "x\0y\r\n\r\n\xff\r\n--XX--";
    struct multipart_field fields[1];
    size_t count = 0;

    (void)state;
    assert_int_equal(multipart_parse(TYPE, body, sizeof body - 1, fields, 1, &count, &ec), ERR_OK);
    assert_int_equal(count, 1);
    assert_int_equal(fields[0].value_len, 8);
    assert_memory_equal(fields[0].value, "x\0y\r\n\r\n\xff", 8);
}

static void there_are_limits(void **state)
{
    struct buf body = {0};

    (void)state;
    for (int i = 0; i < 5; i++)
        buf_puts(&body, FIELD("a") "1\r\n");
    buf_puts(&body, "--XX--");
    assert_string_equal(read(body.data), "more than 4 fields");
    buf_clear(&body);
    buf_puts(&body, "--XX\r\nContent-Disposition: form-data; name=a\r\nX: ");
    for (size_t i = 0; i < MULTIPART_HEAD_MAX; i++)
        buf_putc(&body, 'x');
    buf_puts(&body, "\r\n\r\n1\r\n--XX--");
    assert_string_equal(read(body.data), "field 1 of the body has no value, or too much before it");
    buf_fini(&body);
}

static void the_boundary_is_found_in_the_type(void **state)
{
    static const char body[] = "--a b\r\nContent-Disposition: form-data; name=n\r\n\r\n1\r\n--a b--";
    static const char *const none[] = {
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "multipart/form-data; boundary=\"a b",
        "multipart/mixed; boundary=\"a b\"",
        "multipart/form-data; boundary=0123456789012345678901234567890123456789012345678901234567890123456789X",
    };

    (void)state;
    assert_string_equal(read_as("Multipart/Form-Data; charset=utf-8; Boundary=\"a b\"", body, sizeof body - 1), "n=1|");
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        assert_string_equal(read_as(none[i], body, sizeof body - 1), "the content type has no boundary");
    assert_true(multipart_is("multipart/form-data"));
    assert_false(multipart_is("multipart/form-data-x"));
    assert_false(multipart_is(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_come_in_their_order), cmocka_unit_test(names_stand_among_other_parameters),
        cmocka_unit_test(a_body_must_be_whole),       cmocka_unit_test(bytes_of_a_value_are_kept),
        cmocka_unit_test(there_are_limits),           cmocka_unit_test(the_boundary_is_found_in_the_type),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
