/* SPDX-License-Identifier: MIT */
/*
 * http_fixture: a client and a server of one port, and a request to it, for the tests of http_client.
 */
#ifndef TEST_HTTP_FIXTURE_H
#define TEST_HTTP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "executor/fake_server.h"
#include "shardwheel/executor/http_client.h"
#include "shardwheel/resolver.h"

#define DEADLINE_MS 120000

struct asked {
    bool allow;
    void (*before_write)(void *arg); /* called by may_send the first time */
    void *before_write_arg;
    int times; /* may_send */
    int ends;  /* done */
    struct http_answer answer;
    char body[256];
    char reason[256];
};

static inline bool may_send(void *arg)
{
    struct asked *a = arg;

    if (a->times++ == 0 && a->before_write)
        a->before_write(a->before_write_arg);
    return a->allow;
}

static inline void done(void *arg, const struct http_answer *answer)
{
    struct asked *a = arg;

    a->ends++;
    a->answer = *answer;
    snprintf(a->body, sizeof a->body, "%s", answer->body);
    snprintf(a->reason, sizeof a->reason, "%s", answer->reason ? answer->reason : "");
}

static const char headers[] = "Content-Type: application/json;charset=UTF-8\r\nXXL-JOB-APPNAME: app\r\n";

static inline struct http_request make_request(struct asked *a, struct http_peer *peer, int64_t timeout_ms,
                                               const char *body, size_t body_len)
{
    a->allow = true;
    a->times = a->ends = 0;
    return (struct http_request){
        .peer = peer,
        .path = "/run",
        .headers = headers,
        .headers_len = sizeof headers - 1,
        .body = body,
        .body_len = body_len,
        .timeout_ms = timeout_ms,
        .may_send = may_send,
        .done = done,
        .arg = a,
    };
}

static inline void start_body(struct http_client *c, struct asked *a, struct http_peer *peer, int64_t timeout_ms,
                              const char *body, size_t body_len)
{
    struct http_request r = make_request(a, peer, timeout_ms, body, body_len);

    assert_int_equal(http_client_start(c, &r), ERR_OK);
}

/* A request whose answer may be cut. */
static inline void start_taking(struct http_client *c, struct asked *a, struct http_peer *peer)
{
    struct http_request r;

    *a = (struct asked){0};
    r = make_request(a, peer, 5000, "", 0);
    r.takes_start = true;
    assert_int_equal(http_client_start(c, &r), ERR_OK);
}

static inline void start(struct http_client *c, struct asked *a, struct http_peer *peer, int64_t timeout_ms)
{
    *a = (struct asked){0};
    start_body(c, a, peer, timeout_ms, "{\"logId\":7}", 11);
}

static inline void finish(struct http_client *c, struct asked *a)
{
    int64_t deadline = clock_mono_ms(clock_system()) + DEADLINE_MS;

    while (!a->ends && clock_mono_ms(clock_system()) < deadline)
        http_client_turn(c, 100000);
    assert_int_equal(a->ends, 1);
}

struct fixture {
    const char *host;
    struct resolver *resolver;
    struct http_client *client;
    struct fake_server *server;
    struct http_peer *peer;
};

static inline int set_up_at(void **state, const char *host)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct errctx ec;
    char url[64];

    f->host = host;
    f->server = fake_server_start(1);
    snprintf(url, sizeof url, "http://%s:%d/", host, f->server->ports[0]);
    assert_int_equal(resolver_create(clock_system(), &f->resolver, &ec), ERR_OK);
    assert_int_equal(http_client_create(clock_system(), f->resolver, &f->client, &ec), ERR_OK);
    assert_int_equal(http_client_add_peer(f->client, url, &f->peer), ERR_OK);
    *state = f;
    return 0;
}

static inline int set_up(void **state)
{
    return set_up_at(state, "127.0.0.1");
}

static inline int tear_down(void **state)
{
    struct fixture *f = *state;

    http_client_destroy(f->client);
    resolver_destroy(f->resolver);
    fake_server_stop(f->server);
    free(f);
    return 0;
}

/* Turns the client until the condition holds. */
#define TURN_UNTIL(client, condition)                                                                                  \
    do {                                                                                                               \
        int64_t turn_end = clock_mono_ms(clock_system()) + DEADLINE_MS;                                                \
        while (!(condition) && clock_mono_ms(clock_system()) < turn_end)                                               \
            http_client_turn(client, 1000);                                                                            \
        assert_true(condition);                                                                                        \
    } while (0)
/* The same without the client's doing anything. */
#define WAIT_UNTIL(condition)                                                                                          \
    do {                                                                                                               \
        int64_t wait_end = clock_mono_ms(clock_system()) + DEADLINE_MS;                                                \
        while (!(condition) && clock_mono_ms(clock_system()) < wait_end)                                               \
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);                                                   \
        assert_true(condition);                                                                                        \
    } while (0)

static inline void ask(struct fixture *f, struct asked *a)
{
    start(f->client, a, f->peer, 3000);
    finish(f->client, a);
}

static inline void assert_answered(const struct asked *a)
{
    assert_int_equal(a->answer.outcome, HTTP_ANSWERED);
    assert_int_equal(a->answer.status, 200);
    assert_string_equal(a->body, "{\"code\":200}");
    assert_int_equal(a->times, 1);
}

#endif
