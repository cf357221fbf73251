/* SPDX-License-Identifier: MIT */
#include "http/form.h"

#include "http/message.h"
#include "test.h"

#include <string.h>

static struct errctx ec;

static void fields_are_decoded(void **state)
{
    static const char text[] = "a=1&b=x+y%2B%26%3d%C3%A9&&c&=d&a=2&e=%E4&f=g=h";
    struct form form;
    (void)state;
    assert_int_equal(form_parse(text, sizeof text - 1, &form, &ec), ERR_OK);
    assert_int_equal(form.count, 7);
    assert_string_equal(form_get(&form, "a"), "1");
    assert_string_equal(form_get(&form, "b"), "x y+&=\xc3\xa9");
    assert_string_equal(form_get(&form, "c"), "");
    assert_string_equal(form_get(&form, ""), "d");
    assert_string_equal(form_get(&form, "e"), "\xe4");
    assert_string_equal(form_get(&form, "f"), "g=h");
    assert_string_equal(form.fields[4].value, "2");
    assert_null(form_get(&form, "A"));
    form_fini(&form);
    assert_int_equal(form_parse("", 0, &form, &ec), ERR_OK);
    assert_int_equal(form.count, 0);
    assert_null(form_get(&form, "a"));
    form_fini(&form);
}

static void bad_fields_are_named(void **state)
{
    static const char *const bad[] = {"a=1&b=%", "a=1&b=%4", "a=1&b=%4g", "a=1&b=%00", "a=1&%zz=b"};
    struct form form;
    struct buf many = {0};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(form_parse(bad[i], strlen(bad[i]), &form, &ec), ERR_INPUT);
        assert_non_null(strstr(ec.text, "field 2"));
    }
    assert_int_equal(form_parse("a=1&b=%00", 9, &form, &ec), ERR_INPUT);
    assert_string_equal(ec.text, "field 2, b: a % must be followed by two hex digits that are not 00");
    assert_int_equal(form_parse("%3Cb%3E=%zz", 11, &form, &ec), ERR_INPUT);
    assert_string_equal(ec.text, "field 1: a % must be followed by two hex digits that are not 00");
    assert_int_equal(form_parse("a=\0b", 4, &form, &ec), ERR_INPUT);
    for (int i = 0; i < FORM_FIELDS_MAX; i++)
        buf_puts(&many, "a&");
    assert_int_equal(form_parse(many.data, many.len - 1, &form, &ec), ERR_OK);
    assert_int_equal(form.count, FORM_FIELDS_MAX);
    form_fini(&form);
    buf_puts(&many, "a");
    assert_int_equal(form_parse(many.data, many.len, &form, &ec), ERR_INPUT);
    assert_string_equal(ec.text, "more than 1000 fields");
    buf_fini(&many);
}

static void cookies_are_found(void **state)
{
    static const char header[] = "aa=1;a=2; b=\"x y\" ;c=;d ; a=3";
    char out[8];
    (void)state;
    assert_true(cookie_find(header, "a", out, sizeof out));
    assert_string_equal(out, "2");
    assert_true(cookie_find(header, "b", out, sizeof out));
    assert_string_equal(out, "x y");
    assert_true(cookie_find(header, "c", out, sizeof out));
    assert_string_equal(out, "");
    assert_false(cookie_find(header, "d", out, sizeof out));
    assert_false(cookie_find(header, "A", out, sizeof out));
    assert_false(cookie_find("a=12345678", "a", out, sizeof out));
    assert_true(cookie_find("a=1234567", "a", out, sizeof out));
    assert_false(cookie_find("", "a", out, sizeof out));
}

static void an_answer_is_written_in_one_piece(void **state)
{
    struct http_response r = {.status = 303, .content_type = "text/plain"};
    struct buf out = {0};
    (void)state;
    assert_int_equal(response_add_header(&r, "Location", "/a\r\nX: y", &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, "Location"));
    assert_int_equal(response_add_header(&r, "Location", "/a", &ec), ERR_OK);
    buf_puts(&r.body, "there");
    response_write(&r, true, false, &out);
    assert_string_equal(out.data,
                        "HTTP/1.1 303 See Other\r\nContent-Type: text/plain\r\nContent-Length: 5\r\nLocation: /a\r\n"
                        "Connection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\nthere");
    buf_clear(&out);
    r.status = 304;
    response_write(&r, false, false, &out);
    assert_string_equal(out.data, "HTTP/1.1 304 Not Modified\r\nLocation: /a\r\nConnection: close\r\n\r\n");
    response_fini(&r);
    buf_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_are_decoded),
        cmocka_unit_test(bad_fields_are_named),
        cmocka_unit_test(cookies_are_found),
        cmocka_unit_test(an_answer_is_written_in_one_piece),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
