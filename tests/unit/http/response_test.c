/* SPDX-License-Identifier: MIT */
/* The head of answers: what browsers are told, and what is compressed. */
#include "http/message.h"
#include "test.h"

#include <stdlib.h>
#include <string.h>

static struct errctx ec;

/* The head as it goes out, and the body behind it. */
static const char *write_answer(struct http_response *r)
{
    static char text[9000];
    struct buf out = {0};

    response_write(r, true, false, &out);
    assert_in_range(out.len, 1, sizeof text - 1);
    memcpy(text, out.data, out.len + 1);
    buf_fini(&out);
    response_fini(r);
    return text;
}

static struct http_response make(const char *type, size_t len)
{
    struct http_response r = {.status = 200, .content_type = type, .guarded = true, .may_gzip = true};

    while (r.body.len < len)
        buf_putc(&r.body, 'x');
    return r;
}

static void browsers_are_told_what_they_may(void **state)
{
    struct http_response r = make("application/json", 2);

    (void)state;
    assert_string_equal(write_answer(&r), "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
                                          "X-Content-Type-Options: nosniff\r\nReferrer-Policy: same-origin\r\n"
                                          "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
                                          "Cache-Control: no-store\r\n"
                                          "Connection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\nxx");
    r = make("text/html; charset=utf-8", 2);
    r.cache_control = "public, max-age=60";
    const char *text = write_answer(&r);
    assert_non_null(strstr(text, "\r\nContent-Security-Policy: default-src 'none'; style-src 'self'; "));
    assert_non_null(strstr(text, "; frame-ancestors 'self'\r\n"));
    assert_non_null(strstr(text, "\r\nCache-Control: public, max-age=60\r\n"));
    r = make("application/json", 2);
    assert_int_equal(response_add_header(&r, "X-A", "1", &ec), ERR_OK);
    assert_int_equal(response_add_header(&r, "cache-control", "private", &ec), ERR_OK);
    text = write_answer(&r);
    assert_null(strstr(text, "no-store"));
    r = make("application/json", 2);
    r.guarded = false; /* executors */
    assert_string_equal(write_answer(&r), "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n"
                                          "Connection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\nxx");
}

static void expect_coding(struct http_response r, bool gzip, bool vary)
{
    const char *type = r.content_type;
    const char *text = write_answer(&r);
    static const char length[] = "\r\nContent-Length: ";

    if (gzip != !!strstr(text, "\r\nContent-Encoding: gzip\r\n"))
        fail_msg("%s: %s", type, text);
    if (vary != !!strstr(text, "\r\nVary: Accept-Encoding\r\n"))
        fail_msg("%s: %s", type, text);
    if (gzip) {
        const char *body = strstr(text, "\r\n\r\n") + 4;
        assert_memory_equal(body, "\x1f\x8b", 2);
        assert_in_range(atoi(strstr(text, length) + strlen(length)), 20, 100);
    }
}

static void large_text_is_compressed_for_who_takes_it(void **state)
{
    static const char *const yes[] = {"application/json", "application/json;charset=UTF-8", "text/html",
                                      "text/plain; charset=utf-8", "application/problem+json"};
    struct http_response r;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        expect_coding(make(yes[i], 1024), true, true);
    expect_coding(make("application/json", 1023), false, false);
    expect_coding(make("image/png", 5000), false, false);
    r = make("application/json", 5000);
    r.may_gzip = false;
    expect_coding(r, false, true);
    r = make("application/json", 5000);
    r.guarded = false;
    expect_coding(r, false, false);
    r = make("text/plain", 5000);
    assert_int_equal(response_add_header(&r, "Content-Encoding", "br", &ec), ERR_OK);
    expect_coding(r, false, false);
    r = make("application/json", 5000);
    r.status = 304;
    expect_coding(r, false, false);
}

static void what_does_not_become_shorter_goes_as_it_is(void **state)
{
    struct http_response r = {.status = 200, .content_type = "text/plain", .guarded = true, .may_gzip = true};
    uint32_t seed = 1;

    (void)state;
    while (r.body.len < 2000)
        buf_putc(&r.body, (char)((seed = seed * 1664525 + 1013904223) >> 24));
    const char *text = write_answer(&r);
    assert_null(strstr(text, "Content-Encoding"));
    assert_non_null(strstr(text, "\r\nContent-Length: 2000\r\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(browsers_are_told_what_they_may),
        cmocka_unit_test(large_text_is_compressed_for_who_takes_it),
        cmocka_unit_test(what_does_not_become_shorter_goes_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
