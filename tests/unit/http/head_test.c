/* SPDX-License-Identifier: MIT */
#include "http/head.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[HEAD_MAX + 100];
static struct http_head head;
static const char *why;

/* The status of the refusal; 0 when it was read. 400 too for what has no end. */
static int read_head(const char *request, size_t len)
{
    size_t scanned = 0, end = 0;

    switch (head_find_end(request, len, &scanned, &end)) {
    case HEAD_MORE: return -1;
    case HEAD_BAD: return 400;
    case HEAD_TOO_LONG: return 431;
    case HEAD_WHOLE: break;
    }
    assert_int_equal(end, len);
    memcpy(text, request, len);
    text[len] = '\0';
    why = NULL;
    int status = head_read(text, len, &head, &why);
    assert_int_equal(status != 0, why != NULL);
    return status;
}

static int read_fields(const char *fields)
{
    char request[2000];

    snprintf(request, sizeof request, "POST /a HTTP/1.1\r\nHost: x\r\n%s\r\n", fields);
    return read_head(request, strlen(request));
}

static void a_request_is_taken_apart(void **state)
{
    static const char request[] =
        "GET /a%20b/%C3%A9?x=%201&y HTTP/1.1\r\nHost: x:80\r\nConnection: Upgrade,  Keep-Alive\r\n"
        "X-Empty:\r\nx-BLANK: \t a b \t\r\nCookie: a\r\ncookie: b\r\n\r\n";
    (void)state;
    assert_int_equal(read_head(request, sizeof request - 1), 0);
    assert_string_equal(head.method, "GET");
    assert_string_equal(head.path, "/a b/\xc3\xa9");
    assert_string_equal(head.query, "x=%201&y");
    assert_true(head.keep);
    assert_false(head.old || head.chunked || head.has_length || head.expects_continue);
    assert_string_equal(head_get_field(&head, "host"), "x:80");
    assert_string_equal(head_get_field(&head, "X-Empty"), "");
    assert_string_equal(head_get_field(&head, "X-Blank"), "a b");
    assert_null(head_get_field(&head, "X-Blan"));
    const char *first = head_get_field(&head, "COOKIE");
    assert_string_equal(first, "a");
    const char *second = head_get_next_field(first, "COOKIE");
    assert_string_equal(second, "b");
    assert_null(head_get_next_field(second, "COOKIE"));
}

static void what_the_server_needs_is_noted(void **state)
{
    (void)state;
    assert_int_equal(read_fields("Content-Length: 0123\r\nExpect: 100-Continue\r\n"), 0);
    assert_true(head.has_length && head.length == 123 && head.expects_continue && !head.keep && head.may_keep);
    assert_int_equal(read_fields("Transfer-Encoding: Chunked\r\nConnection: keep-alive\r\nConnection: close\r\n"), 0);
    assert_true(head.chunked && !head.keep && !head.may_keep);
    assert_int_equal(read_head("GET / HTTP/1.0\r\n\r\n", 18), 0);
    assert_true(head.old);
    assert_string_equal(head.query, "");
    assert_int_equal(read_head("GET http://a.b:1/c?d HTTP/1.1\r\nHost: x\r\n\r\n", 42), 0);
    assert_string_equal(head.path, "/c");
    assert_string_equal(head.query, "d");
}

/* Each of these is read in another way by somebody else, who may stand between the client and us. */
static void doubtful_framing_is_refused(void **state)
{
    static const char *const fields[] = {
        "Content-Length: 2\r\nContent-Length: 2\r\n",
        "Content-Length: 2\r\nContent-Length: 43\r\n",
        "Content-Length: 2, 300\r\n",
        "Content-Length: 2, 2\r\n",
        "Content-Length: +2\r\n",
        "Content-Length: -2\r\n",
        "Content-Length: 0x2\r\n",
        "Content-Length: 2 2\r\n",
        "Content-Length:\r\n",
        "Content-Length: 1234567890123456789\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding:\r\n",
        "Content-Length : 2\r\n",
        " Content-Length: 2\r\n",
        "X: a\r\n Content-Length: 2\r\n",
        "X: a\r\n\tContent-Length: 2\r\n",
        "X: a\rContent-Length: 2\r\n",
        "X: a\nContent-Length: 2\r\n",
        "X: a\x01\r\n",
        "X\r\n",
        ": a\r\n",
        "Host: y\r\n",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (read_fields(fields[i]) != 400)
            fail_msg("taken: %s", fields[i]);
    }
    static const char nul[] = "GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n";
    assert_int_equal(read_head(nul, sizeof nul - 1), 400);
    static const char old[] = "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_int_equal(read_head(old, sizeof old - 1), 400);
}

static void other_lines_are_refused(void **state)
{
    static const struct {
        const char *line;
        int status;
    } lines[] = {
        {"GET /", 400},
        {"GET  / HTTP/1.1", 400},
        {"GET / HTTP/1.1 ", 400},
        {"GET / HTTP/1.10", 400},
        {"GET / HTTP/11", 400},
        {"GET / http/1.1", 400},
        {"GET / HTTP/2.0", 505},
        {"G(T / HTTP/1.1", 400},
        {"FOO /a HTTP/1.1", 501},
        {"PROPFIND / HTTP/1.1", 501},
        {"get / HTTP/1.1", 501},
        {"GETS / HTTP/1.1", 501},
        {"TRACE / HTTP/1.1", 0},
        {"CONNECT / HTTP/1.1", 0},
        {"PATCH / HTTP/1.1", 0},
        {"QUERY / HTTP/1.1", 0},
        {"GET * HTTP/1.1", 400},
        {"GET a HTTP/1.1", 400},
        {"GET http://a HTTP/1.1", 400},
        {"GET /a#b HTTP/1.1", 400},
        {"GET /%0 HTTP/1.1", 400},
        {"GET /%00 HTTP/1.1", 400},
        {"GET /%zz HTTP/1.1", 400},
        {"GET /\x01 HTTP/1.1", 400},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        char request[200];
        snprintf(request, sizeof request, "%s\r\nHost: x\r\n\r\n", lines[i].line);
        if (read_head(request, strlen(request)) != lines[i].status)
            fail_msg("not %d: %s", lines[i].status, lines[i].line);
    }
    assert_int_equal(read_head("GET / HTTP/1.1\r\n\r\n", 18), 400); /* no host */
    assert_int_equal(read_head("GET / HTTP/1.1\n\n", 16), 400);
    assert_int_equal(read_head("\x16\x03\x01", 3), 400); /* TLS: refused before any line ends */
}

static void the_end_is_found_however_it_comes(void **state)
{
    static const char request[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    size_t scanned = 0, end = 0, len = sizeof request - 1;

    (void)state;
    for (size_t i = 0; i < len; i++)
        assert_int_equal(head_find_end(request, i, &scanned, &end), HEAD_MORE);
    assert_int_equal(head_find_end(request, len, &scanned, &end), HEAD_WHOLE);
    assert_int_equal(end, len);
    scanned = 0;
    memset(text, 'a', sizeof text);
    assert_int_equal(head_find_end(text, HEAD_MAX - 1, &scanned, &end), HEAD_MORE);
    assert_int_equal(head_find_end(text, HEAD_MAX, &scanned, &end), HEAD_TOO_LONG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_taken_apart),          cmocka_unit_test(what_the_server_needs_is_noted),
        cmocka_unit_test(doubtful_framing_is_refused),       cmocka_unit_test(other_lines_are_refused),
        cmocka_unit_test(the_end_is_found_however_it_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
