/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "http/head.h"
#include "http/message.h"

#include <stdio.h>
#include <string.h>

static struct errctx ec;
static char text[2000];
static struct http_head head;

static const char *get_header(const void *connection, const char *name)
{
    return head_get_field(connection, name);
}

/* A request with these lines of a head, "\r\n" behind each. */
static struct http_request request(const char *peer, const struct networks *trusted, const char *lines)
{
    struct http_request q = {
        .trusted = trusted, .get_header = get_header, .get_next_header = head_get_next_field, .connection = &head};
    const char *why;

    snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: own:8080\r\n%s\r\n", lines);
    assert_int_equal(head_read(text, strlen(text), &head, &why), 0);
    assert_true(ip_parse(peer, &q.peer));
    return q;
}

static struct networks *proxies(void)
{
    struct networks *n = NULL;
    assert_int_equal(networks_parse("10.0.0.0/8", &n, &ec), ERR_OK);
    return n;
}

static void a_strangers_word_does_not_count(void **state)
{
    struct http_request q = request("192.0.2.1", NULL,
                                    "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Proto: https\r\n"
                                    "X-Forwarded-Host: other\r\n");
    char out[IP_TEXT_MAX];

    (void)state;
    request_get_client_address(&q, out);
    assert_string_equal(out, "192.0.2.1");
    assert_false(request_is_tls(&q));
    assert_true(request_get_host(&q, out, sizeof out));
    assert_string_equal(out, "own:8080");
}

static void the_last_address_that_is_no_proxy_is_the_client(void **state)
{
    static const char *const cases[][2] = {
        {"", "10.0.0.9"},
        {"X-Forwarded-For: 1.2.3.4\r\n", "1.2.3.4"},
        {"X-Forwarded-For: 6.6.6.6, 1.2.3.4\r\n", "1.2.3.4"}, /* 6.6.6.6 is what the client claimed */
        {"X-Forwarded-For: 6.6.6.6, 1.2.3.4, 10.0.0.8\r\n", "1.2.3.4"},
        {"X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 1.2.3.4,10.0.0.8\r\nX-Forwarded-For: 10.0.0.7\r\n", "1.2.3.4"},
        {"X-Forwarded-For: 10.0.0.5, 10.0.0.8\r\n", "10.0.0.5"},
        {"X-Forwarded-For: 1.2.3.4, unknown\r\n", "10.0.0.9"},
        {"X-Forwarded-For: 1.2.3.4, unknown, 10.0.0.8\r\n", "10.0.0.8"},
        {"X-Forwarded-For: 1.2.3.4,,\r\n", "10.0.0.9"},
        {"X-Forwarded-For: 1.2.3.4:4711\r\n", "1.2.3.4"},
        {"X-Forwarded-For: [2001:db8::1]:4711\r\n", "2001:db8::1"},
        {"X-Forwarded-For: 2001:db8::1\r\n", "2001:db8::1"},
        {"X-Forwarded-For:\r\n", "10.0.0.9"},
    };
    struct networks *n = proxies();
    char out[IP_TEXT_MAX];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct http_request q = request("10.0.0.9", n, cases[i][0]);
        request_get_client_address(&q, out);
        if (strcmp(out, cases[i][1]))
            fail_msg("%s gave %s", cases[i][0], out);
    }
    networks_destroy(n);
}

static void a_proxy_names_scheme_and_host(void **state)
{
    struct networks *n = proxies();
    struct http_request q =
        request("10.0.0.9", n, "X-Forwarded-Proto: HTTPS, http\r\nX-Forwarded-Host: a.example:444\r\n");
    char out[100];

    (void)state;
    assert_true(request_is_tls(&q));
    assert_true(request_get_host(&q, out, sizeof out));
    assert_string_equal(out, "a.example:444");
    q = request("10.0.0.9", n, "X-Forwarded-Proto: http\r\nX-Forwarded-Host: a b\r\n");
    assert_false(request_is_tls(&q));
    assert_true(request_get_host(&q, out, sizeof out));
    assert_string_equal(out, "own:8080");
    assert_false(request_get_host(&q, out, 8));
    networks_destroy(n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_strangers_word_does_not_count),
        cmocka_unit_test(the_last_address_that_is_no_proxy_is_the_client),
        cmocka_unit_test(a_proxy_names_scheme_and_host),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
