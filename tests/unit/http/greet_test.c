/* SPDX-License-Identifier: MIT */
/* How connections to a port with TLS begin, and who is there that never goes on. What follows: front_test.c. */
#include "http/certificates.h"
#include "http/client.h"
#include "http/caller.h"
#include "test.h"

#include <errno.h>

#define REQUEST "GET /probe HTTP/1.1\r\nHost: x\r\n\r\n"
#define HANDSHAKES 1024 /* as many as greet.c lets be at a time */

static struct certificates dir;
static struct tls_server *tls;
static struct counters counters;
static struct errctx ec;
static _Atomic int64_t now_ms; /* time stands still but where a test moves it */

static int64_t test_mono_ms(const struct clock *clock)
{
    (void)clock;
    return 1000000 + atomic_load(&now_ms);
}
static const struct clock test_clock = {NULL, test_mono_ms, NULL};

struct fixture {
    struct front *front;
    int port;
    _Atomic int overloads;
};

static enum http_lane admit(void *arg, const struct http_request *q, size_t *max_body, struct http_response *r)
{
    (void)arg, (void)q, (void)max_body, (void)r;
    return HTTP_LANE_AT_ONCE;
}

static void handle(void *arg, const struct http_request *q, struct http_response *r)
{
    (void)arg;
    r->status = 200;
    r->content_type = "text/plain";
    r->guarded = !strcmp(q->path, "/guarded");
    buf_puts(&r->body, request_is_tls(q) ? "tls" : "plain");
}

static void on_overload(void *arg)
{
    atomic_fetch_add(&((struct fixture *)arg)->overloads, 1);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct front_opts opts = {.bind = "127.0.0.1",
                              .threads = 4,
                              .max_body = 1 << 20,
                              .tls = tls,
                              .hsts_s = 77,
                              .admit = admit,
                              .handle = handle,
                              .on_overload = on_overload,
                              .arg = f};

    memset(&counters, 0, sizeof counters);
    atomic_store(&now_ms, 0);
    *state = f;
    if (front_start(&opts, &test_clock, &counters, &f->front, &ec))
        return 1;
    f->port = front_get_port(f->front);
    return 0;
}

/* No slot of a handshake is lost, or counts twice. */
static void check_count(const struct front *f)
{
    size_t shaking = 0;
    const struct caller *c;

    for (enum caller_state state = 0; state < CALLER_STATES; state++) {
        TAILQ_FOREACH(c, &f->lists[state], in_list)
        shaking += c->shaking;
    }
    assert_int_equal(shaking, f->handshakes);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    front_stop(f->front, 2000);
    check_count(f->front);
    front_destroy(f->front);
    assert_int_equal(counters_get(&counters, COUNTER_HTTP_CONNECTIONS), 0);
    free(f);
    return 0;
}

static void open_plain(struct fixture *f, struct client *k, const void *bytes, size_t len)
{
    assert_true(client_open(k, f->port));
    assert_true(client_send(k, bytes, len));
}

static void expect_end(struct client *k)
{
    errno = 0;
    while (client_fill(k)) /* an alert may come */
        ;
    assert_int_not_equal(errno, EAGAIN); /* it ended, and was not only waited for */
    client_close(k);
}

static bool is_open(const struct client *k)
{
    char byte;
    return recv(k->fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
}

static struct answer ask(struct fixture *f, const char *request)
{
    struct answer a;
    struct client k;

    assert_true(client_open_tls(&k, f->port));
    assert_true(client_send(&k, request, strlen(request)));
    assert_true(client_read(&k, true, &a));
    assert_false(client_fill(&k)); /* and it ends, which is told */
    client_close(&k);
    return a;
}

static void probe(struct fixture *f)
{
    struct answer a = ask(f, REQUEST);

    assert_int_equal(a.status, 200);
    assert_string_equal(a.body, "tls");
    assert_null(find_header(a.head, "Strict-Transport-Security"));
    free(a.body);
}

/* ---------------------------------------------------------------------------------------------------------------- */

static void requests_know_that_they_came_by_tls(void **state)
{
    struct fixture *f = *state;

    probe(f);
    struct answer a = ask(f, "GET /guarded HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_non_null(strstr(a.head, "\r\nStrict-Transport-Security: max-age=77\r\n"));
    free(a.body);
}

static void plain_http_is_told_so(void **state)
{
    struct fixture *f = *state;
    static const char *const requests[] = {REQUEST, "POST /api/registry HTTP/1.1\r\nContent-Length: 9\r\n\r\n{}",
                                           "get it"};

    for (size_t i = 0; i < ARRAY_LEN(requests); i++) {
        struct client k;
        struct answer a;
        open_plain(f, &k, requests[i], strlen(requests[i]));
        assert_true(client_read(&k, true, &a));
        assert_int_equal(a.status, 400);
        assert_non_null(strstr(a.body, "this port speaks HTTPS: the URL must begin with https://"));
        assert_null(find_header(a.head, "Strict-Transport-Security"));
        assert_false(a.keep);
        free(a.body);
        client_close(&k);
    }
}

static void garbage_is_cut_off(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *bytes;
        size_t len;
    } cases[] = {
        {"\0\0\0\0", 4},
        {"\x80\x2e\x01\0\x02", 5},       /* SSL 2 */
        {"\x16\x03\x01\0\x05hello", 10}, /* a record, and no ClientHello in it */
        {"\x16\x03\x01\xff\xff", 5},     /* longer than a record may be */
        {"\x16GET / HTTP/1.1\r\n\r\n", 19},
        {"\x16\x03\x01\0\x04\x01\xff\xff\xff", 9},    /* a ClientHello of 16 MB */
        {"\x16\x03\x01\0\x04\x02\0\0\0", 9},          /* a ServerHello */
        {"\x16\x03\x01\0\x00\x16\x03\x01\0\x00", 10}, /* records without anything */
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct client k;
        open_plain(f, &k, cases[i].bytes, cases[i].len);
        shutdown(k.fd, SHUT_WR);
        expect_end(&k);
    }
    probe(f);
}

/* All of a handshake has ten seconds, however often a byte of it comes. Who has sent nothing has thirty. */
static void handshakes_have_a_deadline(void **state)
{
    struct fixture *f = *state;
    struct client half, silent, slow, later;
    static const char hello[] = "\x16\x03\x01\x01\x00\x01\0\0\xfc\x03\x03";

    open_plain(f, &silent, "", 0);
    open_plain(f, &half, hello, 5);
    open_plain(f, &slow, hello, 5);
    probe(f);
    for (int i = 0; i < 5; i++) {
        atomic_fetch_add(&now_ms, 1800);
        if (i == 3)
            open_plain(f, &later, hello, 5);
        assert_true(client_send(&slow, hello + 5 + i, 1));
        probe(f);
    }
    atomic_store(&now_ms, 11000);
    expect_end(&half);
    expect_end(&slow);
    assert_true(is_open(&later)); /* it began before the last byte of the slow one */
    client_close(&later);
    assert_int_equal(counters_get(&counters, COUNTER_HTTP_TURNED_AWAY_SLOW), 2);
    probe(f);
    atomic_store(&now_ms, 31000);
    expect_end(&silent);
}

/* As many as may be at a time never end: after a second they give way to others, one by one. */
static void half_handshakes_keep_nobody_out(void **state)
{
    struct fixture *f = *state;
    static struct client half[HANDSHAKES];
    struct client waiting, kept;

    assert_true(client_open_tls(&kept, f->port));
    for (int i = 0; i < HANDSHAKES; i++)
        open_plain(f, &half[i], "\x16\x03\x01", 3);
    open_plain(f, &waiting, "\x16", 1); /* all before it are seen to by now, or will be by the next turn */
    assert_true(client_send(&kept, REQUEST, strlen(REQUEST)));
    struct answer a;
    assert_true(client_read(&kept, true, &a)); /* who is there already is answered */
    free(a.body);
    client_close(&kept);
    atomic_store(&now_ms, 1500);
    for (int i = 0; i < 3; i++)
        probe(f);
    assert_true(counters_get(&counters, COUNTER_HTTP_TURNED_AWAY_CONNECTIONS) >= 1);
    assert_true(counters_get(&counters, COUNTER_HTTP_TURNED_AWAY_CONNECTIONS) <= 10);
    assert_true(atomic_load(&f->overloads) > 0); /* heartbeats may have been among those */
    client_close(&waiting);
    for (int i = 0; i < HANDSHAKES; i++)
        client_close(&half[i]);
}

static void a_stop_does_not_wait_for_handshakes(void **state)
{
    struct fixture *f = *state;
    struct client half[20];

    for (size_t i = 0; i < ARRAY_LEN(half); i++)
        open_plain(f, &half[i], "\x16\x03\x01", 3);
    probe(f);
    front_stop(f->front, 60000); /* which never end */
    for (size_t i = 0; i < ARRAY_LEN(half); i++)
        assert_true(is_open(&half[i]));
    check_count(f->front);
    assert_int_equal(f->front->handshakes, ARRAY_LEN(half));
    front_destroy(f->front);
    for (size_t i = 0; i < ARRAY_LEN(half); i++)
        expect_end(&half[i]);
    f->front = NULL;
}

static int tear_down_stopped(void **state)
{
    assert_int_equal(counters_get(&counters, COUNTER_HTTP_CONNECTIONS), 0);
    free(*state);
    return 0;
}

static int begin(void **state)
{
    (void)state;
    if (!certificates_begin(&dir))
        return 1;
    char *key = strdup(certificates_path(&dir, "one.key"));
    struct tls_files files = {.certificate = certificates_path(&dir, "one.pem"), .key = key};
    enum err e = tls_server_create(&files, &tls, &ec);
    free(key);
    return e != ERR_OK;
}

static int end(void **state)
{
    (void)state;
    tls_server_destroy(tls);
    certificates_end(&dir);
    return 0;
}

int main(void)
{
    log_set_level(LOG_ERROR);
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(requests_know_that_they_came_by_tls),
        T(plain_http_is_told_so),
        T(garbage_is_cut_off),
        T(handshakes_have_a_deadline),
        T(half_handshakes_keep_nobody_out),
        cmocka_unit_test_setup_teardown(a_stop_does_not_wait_for_handshakes, set_up, tear_down_stopped),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
