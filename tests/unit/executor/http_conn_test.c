/* SPDX-License-Identifier: MIT */
/* What becomes of a request when connections do what they should not. */
#include "executor/http_fixture.h"

static void a_reset_without_an_answer_is_closed(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    fake_server_set(f->server, FAKE_RESET, 0, "");
    ask(f, &a);
    assert_int_equal(a.answer.outcome, HTTP_CLOSED);
    assert_true(a.answer.written);
    assert_string_equal(a.reason, "the connection ended without an answer");
    fake_server_set(f->server, FAKE_ANSWER, 200, "{\"code\":200}");
    ask(f, &a); /* on a kept-alive connection */
    fake_server_set(f->server, FAKE_RESET, 0, "");
    ask(f, &a);
    assert_int_equal(a.answer.outcome, HTTP_CLOSED);
    assert_int_equal(a.times, 1);
    assert_int_equal(fake_server_arrivals(f->server), 3);
    assert_int_equal(atomic_load(&f->server->connections), 2);
}

static void a_reset_within_an_answer_is_closed(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    fake_server_set(f->server, FAKE_HALF_RESET, 0, "");
    ask(f, &a);
    assert_int_equal(a.answer.outcome, HTTP_CLOSED);
    assert_true(a.answer.written);
    assert_int_equal(fake_server_arrivals(f->server), 1);
}

static void a_connection_that_its_server_closed_is_replaced(void **state)
{
    struct fixture *f = *state;
    struct asked a;
    int64_t begin;

    fake_server_set(f->server, FAKE_ANSWER_CLOSE, 200, "{\"code\":200}");
    ask(f, &a);
    assert_answered(&a);
    WAIT_UNTIL(atomic_load(&f->server->closed) == 1);
    ask(f, &a); /* seen right before the write */
    assert_answered(&a);
    WAIT_UNTIL(atomic_load(&f->server->closed) == 2);
    http_client_turn(f->client, 0);
    begin = clock_mono_ms(clock_system());
    http_client_turn(f->client, 50000); /* it is gone: nothing is left to be told of it */
    assert_true(clock_mono_ms(clock_system()) - begin >= 40);
    ask(f, &a); /* seen before, by its event */
    assert_answered(&a);
    assert_int_equal(fake_server_arrivals(f->server), 3);
    assert_int_equal(atomic_load(&f->server->connections), 3);
}

static void reset_all(void *arg)
{
    struct fake_server *s = arg;
    long closed = atomic_load(&s->closed);

    WAIT_UNTIL(atomic_load(&s->connections) > closed);
    fake_server_reset(s);
    WAIT_UNTIL(atomic_load(&s->closed) == closed + 1);
}

/* Between the look at the connection and the write: no byte can be written, so another connection is allowed. */
static void a_kept_connection_that_takes_no_byte_is_replaced(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    ask(f, &a);
    a = (struct asked){.before_write = reset_all, .before_write_arg = f->server};
    start_body(f->client, &a, f->peer, DEADLINE_MS, "{}", 2);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_ANSWERED);
    assert_int_equal(a.times, 2); /* asked again before the other write */
    assert_int_equal(fake_server_arrivals(f->server), 2);
    assert_int_equal(atomic_load(&f->server->connections), 2);
}

/* The connection stays, but nothing of the request that was not sent on it. */
static void what_was_refused_leaves_nothing_behind(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    start(f->client, &a, f->peer, DEADLINE_MS); /* its head is kept until the connection stands */
    a.allow = false;
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_REFUSED);
    a = (struct asked){0};
    start_body(f->client, &a, f->peer, DEADLINE_MS, "{}",
               2); /* with the longer length of the other it would wait for more */
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_ANSWERED);
    assert_int_equal(fake_server_arrivals(f->server), 1);
    assert_int_equal(atomic_load(&f->server->connections), 1);
}

static void a_new_connection_that_takes_no_byte_is_not(void **state)
{
    struct fixture *f = *state;
    struct asked a = {.before_write = reset_all, .before_write_arg = f->server};

    start_body(f->client, &a, f->peer, DEADLINE_MS, "{}", 2);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_UNREACHED);
    assert_false(a.answer.written);
    assert_int_equal(a.times, 1);
    assert_int_equal(fake_server_arrivals(f->server), 0);
}

static void a_second_answer_is_nobodys(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    fake_server_set(f->server, FAKE_RAW_KEEP, 0,
                    "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\noneHTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\ntwo");
    ask(f, &a);
    assert_string_equal(a.body, "one");
    fake_server_set(f->server, FAKE_ANSWER_TWICE, 200, "{\"code\":500}");
    ask(f, &a);
    assert_string_equal(a.body, "{\"code\":500}");
    assert_int_equal(atomic_load(&f->server->connections), 2);
    fake_server_set(f->server, FAKE_ANSWER, 200, "{\"code\":201}");
    fake_server_release(f->server);
    WAIT_UNTIL(atomic_load(&f->server->release) == 0);
    ask(f, &a);
    assert_string_equal(a.body, "{\"code\":201}");
    assert_int_equal(atomic_load(&f->server->connections), 3);
}

static void an_answer_in_pieces_is_one(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    fake_server_set(f->server, FAKE_DRIP, 0,
                    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                    "5\r\n{\"cod\r\n7\r\ne\":200}\r\n0\r\nTrailer: x\r\n\r\n");
    for (int i = 0; i < 2; i++) {
        ask(f, &a);
        assert_answered(&a);
    }
    assert_int_equal(atomic_load(&f->server->connections), 1);
}

static void answers_that_end_the_connection_are_whole(void **state)
{
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\n\r\n{\"code\":200}",
        "HTTP/1.0 200 OK\r\n\r\n{\"code\":200}",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 12\r\n\r\n{\"code\":200}",
    };
    struct fixture *f = *state;
    struct asked a;

    for (size_t i = 0; i < ARRAY_LEN(answers); i++) {
        fake_server_set(f->server, FAKE_RAW, 0, answers[i]);
        ask(f, &a);
        assert_answered(&a);
        assert_int_equal(atomic_load(&f->server->connections), i + 1);
    }
}

static const size_t LARGE = (size_t)24 * 1024 * 1024; /* more than the buffers of both sides take */

static void a_large_request_to_a_slow_reader_arrives_whole(void **state)
{
    struct fixture *f = *state;
    char *body = malloc(LARGE);
    struct asked a = {0};

    memset(body, 'x', LARGE);
    fake_server_set(f->server, FAKE_DEAF, 0, "");
    start_body(f->client, &a, f->peer, DEADLINE_MS, body, LARGE);
    TURN_UNTIL(f->client, a.times == 1);
    for (int i = 0; i < 20; i++)
        http_client_turn(f->client, 1000);
    assert_int_equal(a.ends, 0);
    fake_server_set(f->server, FAKE_ANSWER, 200, "{\"code\":200}");
    fake_server_release(f->server);
    finish(f->client, &a);
    assert_answered(&a);
    assert_int_equal(fake_server_arrivals(f->server), 1);
    ask(f, &a); /* the connection is as good as before */
    assert_answered(&a);
    assert_int_equal(atomic_load(&f->server->connections), 1);
    free(body);
}

static void half_a_request_counts_as_written(void **state)
{
    struct fixture *f = *state;
    char *body = malloc(LARGE);
    struct asked a = {0};

    memset(body, 'x', LARGE);
    fake_server_set(f->server, FAKE_DEAF, 0, "");
    start_body(f->client, &a, f->peer, 200, body, LARGE);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_TIMEOUT);
    assert_true(a.answer.written);
    a = (struct asked){0};
    start_body(f->client, &a, f->peer, DEADLINE_MS, body, LARGE);
    TURN_UNTIL(f->client, a.times == 1);
    http_client_turn(f->client, 0);
    fake_server_reset(f->server);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_CLOSED);
    assert_true(a.answer.written);
    assert_int_equal(a.times, 1);
    assert_int_equal(fake_server_arrivals(f->server), 0);
    free(body);
}

static void an_answer_to_half_a_request_counts_and_costs_the_connection(void **state)
{
    struct fixture *f = *state;
    char *body = malloc(LARGE);
    struct asked a = {0};

    memset(body, 'x', LARGE);
    fake_server_set(f->server, FAKE_EARLY, 0, "");
    start_body(f->client, &a, f->peer, DEADLINE_MS, body, LARGE);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_ANSWERED);
    assert_int_equal(a.answer.status, 413);
    fake_server_set(f->server, FAKE_ANSWER, 200, "{\"code\":200}");
    ask(f, &a);
    assert_answered(&a);
    assert_int_equal(atomic_load(&f->server->connections), 2);
    free(body);
}

/* Linux lets one connection more than the backlog wait to be accepted and ignores further ones. */
static void a_connection_that_does_not_come_about_is_unreached(void **state)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct fixture *f = *state;
    struct http_peer *peer;
    struct asked a;
    char url[64];
    int listener, waiting, port = fake_listen(/*listening=*/false, &listener);

    assert_int_equal(listen(listener, 0), 0);
    to.sin_port = htons((uint16_t)port);
    waiting = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(connect(waiting, (struct sockaddr *)&to, sizeof to), 0);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    assert_int_equal(http_client_add_peer(f->client, url, &peer), ERR_OK);
    start(f->client, &a, peer, 200);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_UNREACHED);
    assert_false(a.answer.written);
    assert_string_equal(a.reason, "cannot connect: no answer in time");
    assert_int_equal(a.times, 0);
    close(waiting);
    close(listener);
}

static void a_shorter_timeout_behind_a_longer_one_is_kept(void **state)
{
    struct fixture *f = *state;
    struct asked slow, quick;

    fake_server_set(f->server, FAKE_SILENT, 0, "");
    start(f->client, &slow, f->peer, 60000);
    start(f->client, &quick, f->peer, 100);
    finish(f->client, &quick);
    assert_int_equal(quick.answer.outcome, HTTP_TIMEOUT);
    assert_int_equal(slow.ends, 0);
    assert_int_equal(http_client_count(f->client), 1);
    http_client_abort(f->client);
}

static void a_warm_peer_is_written_to_at_once(void **state)
{
    struct fixture *f = *state;
    struct asked a[4];

    http_client_warm_peer(f->client, f->peer, 3);
    http_client_warm_peer(f->client, f->peer, 3); /* those that open already count */
    TURN_UNTIL(f->client, atomic_load(&f->server->connections) == 3);
    for (int i = 0; i < 5; i++) /* now the client sees them too */
        http_client_turn(f->client, 1000);
    http_client_warm_peer(f->client, f->peer, 3);
    assert_int_equal(http_client_count(f->client), 0);
    for (int i = 0; i < 4; i++) {
        start(f->client, &a[i], f->peer, DEADLINE_MS);
        assert_int_equal(a[i].times, i < 3); /* the fourth has to wait for a connection of its own */
    }
    for (int i = 0; i < 4; i++) {
        finish(f->client, &a[i]);
        assert_answered(&a[i]);
    }
    assert_int_equal(atomic_load(&f->server->connections), 4);
}

static void a_request_takes_the_connection_that_opens_already(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    http_client_warm_peer(f->client, f->peer, 1);
    ask(f, &a);
    assert_answered(&a);
    assert_int_equal(atomic_load(&f->server->connections), 1);
}

static void warming_what_is_away_does_no_harm(void **state)
{
    struct fixture *f = *state;
    struct http_peer *peer;
    struct asked a;
    char url[64];
    int fd, port = fake_listen(/*listening=*/false, &fd);

    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    assert_int_equal(http_client_add_peer(f->client, url, &peer), ERR_OK);
    http_client_warm_peer(f->client, peer, 8);
    for (int i = 0; i < 5; i++)
        http_client_turn(f->client, 1000);
    start(f->client, &a, peer, DEADLINE_MS);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_UNREACHED);
    http_client_warm_peer(f->client, peer, 8);
    http_client_drop_peer(f->client, peer); /* while they open */
    close(fd);
}

static int64_t ahead_ms;

static int64_t mono_ahead_ms(const struct clock *clock)
{
    (void)clock;
    return clock_mono_ms(clock_system()) + ahead_ms;
}

static void connections_idle_for_a_minute_are_closed(void **state)
{
    struct clock clock = *clock_system();
    struct fixture *f = *state;
    struct http_client *client;
    struct http_peer *peer;
    struct errctx ec;
    struct asked a;
    char url[64];

    ahead_ms = 0;
    clock.mono_ms = mono_ahead_ms;
    assert_int_equal(http_client_create(&clock, f->resolver, &client, &ec), ERR_OK);
    fake_server_url(f->server, 0, "/", url);
    assert_int_equal(http_client_add_peer(client, url, &peer), ERR_OK);
    start(client, &a, peer, DEADLINE_MS);
    finish(client, &a);
    ahead_ms = 59000;
    http_client_turn(client, 0);
    start(client, &a, peer, DEADLINE_MS);
    finish(client, &a);
    assert_int_equal(atomic_load(&f->server->connections), 1);
    ahead_ms = 59000 + 60001;
    http_client_turn(client, 0);
    WAIT_UNTIL(atomic_load(&f->server->closed) == 1);
    start(client, &a, peer, DEADLINE_MS);
    finish(client, &a);
    assert_answered(&a);
    assert_int_equal(atomic_load(&f->server->connections), 2);
    http_client_destroy(client);
}

static void a_connection_is_left_before_its_peer_ends_it(void **state)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5\r\nContent-Length: 12\r\n\r\n{\"code\":200}";
    struct clock clock = *clock_system();
    struct fixture *f = *state;
    struct http_client *client;
    struct http_peer *peer;
    struct errctx ec;
    struct asked a;
    char url[64];

    ahead_ms = 0;
    clock.mono_ms = mono_ahead_ms;
    fake_server_set(f->server, FAKE_RAW_KEEP, 0, answer);
    assert_int_equal(http_client_create(&clock, f->resolver, &client, &ec), ERR_OK);
    fake_server_url(f->server, 0, "/", url);
    assert_int_equal(http_client_add_peer(client, url, &peer), ERR_OK);
    start(client, &a, peer, DEADLINE_MS);
    finish(client, &a);
    ahead_ms += 2000;
    start(client, &a, peer, DEADLINE_MS);
    finish(client, &a);
    assert_answered(&a);
    assert_int_equal(atomic_load(&f->server->connections), 1);
    ahead_ms += 4000;
    start(client, &a, peer, DEADLINE_MS);
    finish(client, &a);
    assert_answered(&a);
    assert_int_equal(atomic_load(&f->server->connections), 2);

    ahead_ms += 2000; /* what is good now, but will not be when it is needed, is replaced ahead */
    http_client_warm_peer(client, peer, 1);
    http_client_turn(client, 0);
    assert_int_equal(atomic_load(&f->server->connections), 2);
    ahead_ms += 1000;
    http_client_warm_peer(client, peer, 1);
    TURN_UNTIL(client, atomic_load(&f->server->connections) == 3);
    http_client_destroy(client);
}

static void names_and_paths_work_too(void **state)
{
    struct fixture *f = *state;
    struct http_peer *peer;
    struct asked a;
    char url[64], expected[400];

    snprintf(url, sizeof url, "http://localhost:%d/", f->server->ports[0]);
    assert_int_equal(http_client_add_peer(f->client, url, &peer), ERR_OK);
    start(f->client, &a, peer, DEADLINE_MS);
    finish(f->client, &a);
    assert_answered(&a);
    snprintf(expected, sizeof expected,
             "POST /run HTTP/1.1\r\nHost: localhost:%d\r\nContent-Type: application/json;charset=UTF-8\r\n"
             "XXL-JOB-APPNAME: app\r\nContent-Length: 11\r\n\r\n{",
             f->server->ports[0]);
    assert_ptr_equal(fake_server_find(f->server, expected), f->server->last_request);
    fake_server_url(f->server, 0, "/base/", url);
    assert_int_equal(http_client_add_peer(f->client, url, &peer), ERR_OK);
    start(f->client, &a, peer, DEADLINE_MS);
    finish(f->client, &a);
    assert_answered(&a);
    assert_non_null(fake_server_find(f->server, "POST /base/run HTTP/1.1\r\n"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(a_reset_without_an_answer_is_closed),
        T(a_reset_within_an_answer_is_closed),
        T(a_connection_that_its_server_closed_is_replaced),
        T(a_kept_connection_that_takes_no_byte_is_replaced),
        T(a_new_connection_that_takes_no_byte_is_not),
        T(a_second_answer_is_nobodys),
        T(an_answer_in_pieces_is_one),
        T(answers_that_end_the_connection_are_whole),
        T(a_large_request_to_a_slow_reader_arrives_whole),
        T(half_a_request_counts_as_written),
        T(an_answer_to_half_a_request_counts_and_costs_the_connection),
        T(a_connection_that_does_not_come_about_is_unreached),
        T(a_shorter_timeout_behind_a_longer_one_is_kept),
        T(a_warm_peer_is_written_to_at_once),
        T(what_was_refused_leaves_nothing_behind),
        T(a_request_takes_the_connection_that_opens_already),
        T(warming_what_is_away_does_no_harm),
        T(connections_idle_for_a_minute_are_closed),
        T(a_connection_is_left_before_its_peer_ends_it),
        T(names_and_paths_work_too),
    };
    return cmocka_run_group_tests_name("dispatch.http_conn", tests, NULL, NULL);
}
