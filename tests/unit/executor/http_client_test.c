/* SPDX-License-Identifier: MIT */
/* What every request may count on. */
#include "executor/http_fixture.h"

#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The program's own functions stand before the library's, for libcurl too. */

static _Atomic int64_t stopped_at_ms; /* where clocks stand but that of the wall; 0: they run */

int clock_gettime(clockid_t id, struct timespec *out)
{
    int64_t at_ms = stopped_at_ms;

    if (!at_ms || id == CLOCK_REALTIME)
        return (int)syscall(SYS_clock_gettime, id, out);
    *out = (struct timespec){at_ms / 1000, at_ms % 1000 * 1000000};
    return 0;
}

static _Thread_local int waits_ended; /* by an event */

int epoll_wait(int fd, struct epoll_event *events, int max, int timeout_ms)
{
    int found = epoll_pwait(fd, events, max, timeout_ms, NULL);

    waits_ended += found > 0;
    return found;
}

static void answers_come_back_and_the_connection_is_kept(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    for (int i = 0; i < 5; i++) {
        start(f->client, &a, f->peer, DEADLINE_MS);
        finish(f->client, &a);
        assert_int_equal(a.answer.outcome, HTTP_ANSWERED);
        assert_int_equal(a.answer.status, 200);
        assert_string_equal(a.body, "{\"code\":200}");
        assert_int_equal(a.times, 1);
    }
    assert_int_equal(fake_server_arrivals(f->server), 5);
    assert_int_equal(atomic_load(&f->server->connections), 1);
    assert_int_equal(http_client_count(f->client), 0);
}

static void the_request_has_our_headers_and_no_others(void **state)
{
    struct fixture *f = *state;
    struct asked a;
    char expected[400];

    start(f->client, &a, f->peer, DEADLINE_MS);
    finish(f->client, &a);
    snprintf(expected, sizeof expected,
             "POST /run HTTP/1.1\r\nHost: %s:%d\r\nContent-Type: application/json;charset=UTF-8\r\n"
             "XXL-JOB-APPNAME: app\r\nContent-Length: 11\r\n\r\n{\"logId\":7}",
             f->host, f->server->ports[0]);
    assert_ptr_equal(fake_server_find(f->server, expected), f->server->last_request); /* from its start */
    assert_int_equal(strlen(f->server->last_request), strlen(expected));
}

/* libcurl by itself sends the request again when a connection that it had kept ends without an answer. */
static void a_kept_connection_that_dies_gets_no_second_post(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    fake_server_set(f->server, FAKE_CLOSE_SECOND, 200, "{\"code\":200}");
    start(f->client, &a, f->peer, DEADLINE_MS);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_ANSWERED);

    start(f->client, &a, f->peer, DEADLINE_MS);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_CLOSED);
    assert_true(a.answer.written);
    assert_int_equal(a.times, 1);

    /* A third request on a new connection comes after whatever a repeat of the second could have sent. */
    start(f->client, &a, f->peer, DEADLINE_MS);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_ANSWERED);
    assert_int_equal(fake_server_arrivals(f->server), 3);
}

static void a_new_connection_that_closes_is_one_post_too(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    fake_server_set(f->server, FAKE_CLOSE, 0, "");
    start(f->client, &a, f->peer, DEADLINE_MS);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_CLOSED);
    assert_int_equal(fake_server_arrivals(f->server), 1);
}

static void a_refused_write_sends_nothing(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    start(f->client, &a, f->peer, DEADLINE_MS);
    a.allow = false;
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_REFUSED);
    assert_false(a.answer.written);
    start(f->client, &a, f->peer, DEADLINE_MS);
    finish(f->client, &a);
    assert_int_equal(fake_server_arrivals(f->server), 1);
}

#define SAYS(keep_alive) "HTTP/1.1 200 OK\r\nKeep-Alive: " keep_alive "\r\nContent-Length: 12\r\n\r\n{\"code\":200}"

/* Its next request would cross the closing, and be lost. */
static void a_connection_of_a_hurried_peer_is_not_kept(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    fake_server_set(f->server, FAKE_RAW_KEEP, 0, SAYS("timeout=100"));
    for (int i = 0; i < 3; i++) {
        ask(f, &a);
        assert_answered(&a);
    }
    assert_int_equal(atomic_load(&f->server->connections), 1);
    fake_server_set(f->server, FAKE_RAW_KEEP, 0, SAYS("timeout=1, max=100"));
    ask(f, &a);
    for (int i = 0; i < 3; i++) {
        ask(f, &a);
        assert_answered(&a);
        assert_int_equal(atomic_load(&f->server->connections), 2 + i);
    }
}

static void a_silent_server_ends_by_the_timeout(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    fake_server_set(f->server, FAKE_SILENT, 0, "");
    stopped_at_ms = clock_mono_ms(clock_system());
    start(f->client, &a, f->peer, 200000);
    for (int i = 0; i < 10000 && fake_server_arrivals(f->server) == 0; i++)
        http_client_turn(f->client, 1000);
    assert_int_equal(fake_server_arrivals(f->server), 1);
    stopped_at_ms += 199999;
    for (int i = 0; i < 20; i++)
        http_client_turn(f->client, 1000);
    assert_int_equal(a.ends, 0);
    stopped_at_ms += 2; /* libcurl is asked a millisecond later */
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_TIMEOUT);
    assert_true(a.answer.written);
}

static void a_port_without_listener_is_unreached(void **state)
{
    struct fixture *f = *state;
    struct asked a;
    struct http_peer *peer;
    char url[64];
    int fd, port = fake_listen(/*listening=*/false, &fd); /* bound, so that nobody else gets it */

    snprintf(url, sizeof url, "http://%s:%d", f->host, port);
    assert_int_equal(http_client_add_peer(f->client, url, &peer), ERR_OK);
    start(f->client, &a, peer, DEADLINE_MS);
    finish(f->client, &a);
    close(fd);
    assert_int_equal(a.answer.outcome, HTTP_UNREACHED);
    assert_false(a.answer.written);
    assert_string_equal(a.reason, "Connection refused");
    assert_int_equal(a.times, 0);
}

static void nonsense_urls_are_unreached(void **state)
{
    struct fixture *f = *state;
    static const char *const urls[] = {"http://127.0.0.1:99999", "gopher://127.0.0.1", "http://[", "http://a b"};
    struct http_peer *peer;
    struct asked a;

    for (size_t i = 0; i < ARRAY_LEN(urls); i++) {
        assert_int_equal(http_client_add_peer(f->client, urls[i], &peer), ERR_OK);
        start(f->client, &a, peer, DEADLINE_MS);
        finish(f->client, &a);
        assert_int_equal(a.answer.outcome, HTTP_UNREACHED);
        assert_true(a.reason[0]);
    }
}

static void broken_answers_are_told_apart(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    fake_server_set(f->server, FAKE_HALF, 0, "");
    start(f->client, &a, f->peer, DEADLINE_MS);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_CLOSED);
    fake_server_set(f->server, FAKE_RAW, 0, "hello, I am not HTTP\n");
    start(f->client, &a, f->peer, DEADLINE_MS);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_BAD_ANSWER);
    assert_int_equal(fake_server_arrivals(f->server), 2);
}

static void answers_are_bounded(void **state)
{
    struct fixture *f = *state;
    struct asked a;
    char *body = malloc(HTTP_ANSWER_MAX + 2);

    memset(body, 'x', HTTP_ANSWER_MAX + 1);
    body[HTTP_ANSWER_MAX] = '\0';
    fake_server_set(f->server, FAKE_ANSWER, 200, body);
    start(f->client, &a, f->peer, DEADLINE_MS);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_ANSWERED);
    assert_int_equal(a.answer.len, HTTP_ANSWER_MAX);

    body[HTTP_ANSWER_MAX] = 'x';
    body[HTTP_ANSWER_MAX + 1] = '\0';
    fake_server_set(f->server, FAKE_ANSWER, 200, body);
    start(f->client, &a, f->peer, DEADLINE_MS);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_BAD_ANSWER);
    assert_string_equal(a.reason, "the answer is longer than 1 MiB");

    start_taking(f->client, &a, f->peer);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_ANSWERED);
    assert_int_equal(a.answer.status, 200);
    assert_true(a.answer.cut);
    assert_int_equal(a.answer.len, HTTP_ANSWER_MAX);
    body[HTTP_ANSWER_MAX] = '\0';
    fake_server_set(f->server, FAKE_ANSWER, 200, body);
    start_taking(f->client, &a, f->peer);
    finish(f->client, &a);
    assert_int_equal(a.answer.len, HTTP_ANSWER_MAX);
    assert_false(a.answer.cut);
    http_client_destroy(f->client); /* before the body goes, that the server may still be sending */
    f->client = NULL;
    fake_server_set(f->server, FAKE_CLOSE, 0, "");
    fake_server_stop(f->server);
    f->server = fake_server_start(1);
    free(body);
}

static void redirects_are_not_followed(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    fake_server_set(f->server, FAKE_RAW, 0, "HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\ncontent-length: 0\r\n\r\n");
    start(f->client, &a, f->peer, DEADLINE_MS);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_ANSWERED);
    assert_int_equal(a.answer.status, 302);
    assert_int_equal(fake_server_arrivals(f->server), 1);
}

static void abort_ends_everything_once(void **state)
{
    struct fixture *f = *state;
    struct asked a[3];
    int64_t deadline = clock_mono_ms(clock_system()) + DEADLINE_MS;

    fake_server_set(f->server, FAKE_SILENT, 0, "");
    for (int i = 0; i < 3; i++)
        start(f->client, &a[i], f->peer, 60000);
    while (fake_server_arrivals(f->server) < 3 && clock_mono_ms(clock_system()) < deadline)
        http_client_turn(f->client, 1000);
    http_client_abort(f->client);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(a[i].ends, 1);
        assert_int_equal(a[i].answer.outcome, HTTP_ABORTED);
        assert_true(a[i].answer.written);
    }
    assert_int_equal(http_client_count(f->client), 0);
}

static void *wake_later(void *arg)
{
    http_client_wake(arg);
    return NULL;
}

static void a_wake_up_ends_the_wait(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;

    pthread_create(&thread, NULL, wake_later, f->client);
    http_client_turn(f->client, INT64_C(3600) * 1000000);
    pthread_join(thread, NULL);
}

static void short_waits_are_kept(void **state)
{
    struct fixture *f = *state;

    waits_ended = 0;
    for (int i = 0; i < 20; i++)
        http_client_turn(f->client, 300);
    assert_int_equal(waits_ended, 20); /* by the timer: epoll alone would wait for nothing, or for whole milliseconds */
}

static int tear_down_clock(void **state)
{
    stopped_at_ms = 0;
    return tear_down(state);
}

static int set_up_by_name(void **state)
{
    return set_up_at(state, "localhost");
}

int main(void)
{
/* The same promises whether it is our client that speaks or libcurl, as for a host name. */
#define T(f)                                                                                                           \
    cmocka_unit_test_setup_teardown(f, set_up, tear_down_clock),                                                       \
    {                                                                                                                  \
#f " (by name)", f, set_up_by_name, tear_down_clock, NULL                                                      \
    }
    const struct CMUnitTest tests[] = {
        T(answers_come_back_and_the_connection_is_kept),
        T(the_request_has_our_headers_and_no_others),
        T(a_kept_connection_that_dies_gets_no_second_post),
        T(a_new_connection_that_closes_is_one_post_too),
        T(a_refused_write_sends_nothing),
        T(a_connection_of_a_hurried_peer_is_not_kept),
        T(a_silent_server_ends_by_the_timeout),
        T(a_port_without_listener_is_unreached),
        T(nonsense_urls_are_unreached),
        T(broken_answers_are_told_apart),
        T(answers_are_bounded),
        T(redirects_are_not_followed),
        T(abort_ends_everything_once),
        T(a_wake_up_ends_the_wait),
        T(short_waits_are_kept),
    };
    return cmocka_run_group_tests_name("dispatch.http_client", tests, NULL, NULL);
}
