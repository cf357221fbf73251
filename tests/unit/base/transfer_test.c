/* SPDX-License-Identifier: MIT */
/* Transfers from a server of this machine. Names, mails and certificates: alarm/client_test.c, and
 * tests/integration/test_failures.py, test_alarms.py and test_oidc.py. */
#include "shardwheel/transfer.h"
#include "test.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX 10

/* Answers each request with `answer`; NULL: with nothing. */
struct server {
    int fd;
    char url[64];
    const char *answer;
    pthread_t thread;
};

static void *serve(void *arg)
{
    const struct server *s = arg;
    char request[1000];
    int fd;

    while ((fd = accept(s->fd, NULL, NULL)) >= 0) {
        while (recv(fd, request, sizeof request, 0) > 0)
            if (s->answer) {
                (void)!send(fd, s->answer, strlen(s->answer), MSG_NOSIGNAL);
                break;
            }
        close(fd);
    }
    return NULL;
}

static void server_start(struct server *s, const char *answer)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;

    s->answer = answer;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s->fd, 5), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&at, &len), 0);
    snprintf(s->url, sizeof s->url, "http://127.0.0.1:%d/", ntohs(at.sin_port));
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void server_stop(struct server *s)
{
    shutdown(s->fd, SHUT_RDWR);
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    close(s->fd);
}

static struct transfer usual(const char *url, const struct transfer_host *host, struct buf *answer,
                             const _Atomic bool *stopped)
{
    return (struct transfer){.easy = curl_easy_init(),
                             .host = host,
                             .url = url,
                             .protocols = "http,https",
                             .clock = clock_system(),
                             .stopped = stopped,
                             .ca = "",
                             .verify = true,
                             .answer = answer,
                             .answer_max = MAX};
}

static void hosts_are_those_of_libcurl(void **state)
{
    struct transfer_host host;

    (void)state;
    assert_int_equal(transfer_learn_host("HTTPS://a.test/x", &host), ERR_OK);
    assert_string_equal(host.scheme, "https");
    assert_string_equal(host.name, "a.test");
    assert_int_equal(host.port, 443);
    assert_false(host.is_ip);
    transfer_host_fini(&host);
    assert_int_equal(transfer_learn_host("http://[::1]:8080", &host), ERR_OK);
    assert_int_equal(host.port, 8080);
    assert_true(host.is_ip);
    transfer_host_fini(&host);
    assert_int_equal(transfer_learn_host("", &host), ERR_INPUT);
    assert_int_equal(transfer_learn_host("http://a:99999", &host), ERR_INPUT);
    assert_int_equal(transfer_learn_host("a.test/x", &host), ERR_INPUT);
}

/* A kept connection, and what came of the transfer before, count for nothing in the next one. */
static void what_is_beyond_the_bound_is_left_out(void **state)
{
    _Atomic bool stopped = false;
    struct transfer_host host;
    struct buf answer = {0};
    struct server s;

    (void)state;
    server_start(&s, "HTTP/1.1 201 Made\r\nContent-Length: 12\r\n\r\n0123456789ab");
    assert_int_equal(transfer_learn_host(s.url, &host), ERR_OK);
    struct transfer t = usual(s.url, &host, &answer, &stopped);
    assert_int_equal(transfer_run(&t, 60000), CURLE_OK);
    assert_true(t.too_long);
    assert_int_equal(t.status, 201);
    assert_string_equal(answer.data, "0123456789");
    server_stop(&s);
    buf_clear(&answer);
    assert_int_not_equal(transfer_run(&t, 60000), CURLE_OK); /* nobody listens there any more */
    assert_false(t.too_long);
    assert_int_not_equal(t.reason[0], 0);
    curl_easy_cleanup(t.easy);
    transfer_fini(&t);
    transfer_host_fini(&host);
    buf_fini(&answer);
}

/* The server says nothing: without the stop it would be waited for. */
static void a_stop_ends_it(void **state)
{
    _Atomic bool stopped = true;
    struct transfer_host host;
    struct buf answer = {0};
    struct server s;

    (void)state;
    server_start(&s, NULL);
    assert_int_equal(transfer_learn_host(s.url, &host), ERR_OK);
    struct transfer t = usual(s.url, &host, &answer, &stopped);
    assert_int_equal(transfer_run(&t, 3600000), CURLE_ABORTED_BY_CALLBACK);
    curl_easy_cleanup(t.easy);
    transfer_fini(&t);
    transfer_host_fini(&host);
    buf_fini(&answer);
    server_stop(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_those_of_libcurl),
        cmocka_unit_test(what_is_beyond_the_bound_is_left_out),
        cmocka_unit_test(a_stop_ends_it),
    };

    curl_global_init(CURL_GLOBAL_DEFAULT);
    int failed = cmocka_run_group_tests_name("base.transfer", tests, NULL, NULL);
    curl_global_cleanup();
    return failed;
}
