/* SPDX-License-Identifier: MIT */
/* The front by itself, on real sockets, plain and by TLS: what it takes, what it refuses, and who waits for whom. */
#include "http/certificates.h"
#include "http/client.h"
#include "http/caller.h"
#include "test.h"

#include <sys/resource.h>

#define MAX_BODY ((size_t)1 << 20)
#define MAX_ANSWERS ((size_t)100000000) /* a dozen of /large */
#define PROBE "GET /probe HTTP/1.1\r\nHost: x\r\n\r\n"

/* Time stands still but where a test moves it: no deadline comes by itself, however slow the machine is. */
static _Atomic int64_t ahead_ms;

static int64_t test_mono_ms(const struct clock *clock)
{
    (void)clock;
    return 1000000 + atomic_load(&ahead_ms);
}
static const struct clock test_clock = {NULL, test_mono_ms, NULL};

static struct counters counters;
static struct errctx ec;
static struct tls_server *tls; /* of the present group; NULL: plain */

struct fixture {
    struct front *front;
    int port;
    struct mutex lock;
    struct cond changed;
    bool closed;   /* [lock] handlers of /wait wait until it is opened */
    int waiting;   /* [lock] */
    int handled;   /* [lock] requests that a handler had */
    int overloads; /* [lock] */
    bool stopped;
    struct networks *trusted;
};

/* Paths say what shall happen. */
static enum http_lane admit(void *arg, const struct http_request *head, size_t *max_body, struct http_response *r)
{
    (void)arg;
    assert_int_equal(*max_body, MAX_BODY);
    if (!strcmp(head->path, "/small"))
        *max_body = 5;
    if (!strncmp(head->path, "/refuse", 7)) {
        response_set_error(r, 401, "not you");
        return HTTP_LANE_REFUSED;
    }
    if (!strncmp(head->path, "/console", 8))
        return HTTP_LANE_CONSOLE;
    return !strcmp(head->path, "/probe") ? HTTP_LANE_AT_ONCE : HTTP_LANE_EXECUTOR;
}

static void wait_at_gate(struct fixture *f)
{
    f->waiting++;
    cond_broadcast(&f->changed);
    while (f->closed)
        cond_wait(&f->changed, &f->lock);
    f->waiting--;
}

/* 32 MB and more, some 64 KiB at a time. */
static void write_pieces(struct http_response *r)
{
    struct errctx why;

    if (response_begin_stream(r, &why)) {
        response_set_error(r, 503, why.text);
        return;
    }
    for (int i = 0; i < 2000000; i++) {
        buf_puts(&r->body, "0123456789abcdef");
        if (response_push(r, &why))
            return;
    }
}

static void handle(void *arg, const struct http_request *q, struct http_response *r)
{
    struct fixture *f = arg;

    mutex_lock(&f->lock);
    f->handled++;
    if (strstr(q->path, "/wait"))
        wait_at_gate(f);
    cond_broadcast(&f->changed);
    mutex_unlock(&f->lock);
    r->status = 200;
    r->content_type = "text/plain";
    buf_printf(&r->body, "%s %s %zu %d", q->method, q->path, q->body_len, (int)q->body_state);
    if (!strcmp(q->path, "/console/pieces"))
        write_pieces(r);
    if (!strcmp(q->path, "/who")) {
        char peer[IP_TEXT_MAX], client[IP_TEXT_MAX];
        ip_write(&q->peer, peer);
        request_get_client_address(q, client);
        buf_printf(&r->body, " %s for %s", peer, client);
    }
    if (!strcmp(q->path, "/large")) {
        static const char text[8000000];
        buf_append(&r->body, text, sizeof text);
    }
}

static void write_busy(void *arg, const struct http_request *q, struct http_response *r)
{
    (void)arg;
    response_set_error(r, 503, q->path);
}

static void on_overload(void *arg)
{
    struct fixture *f = arg;
    mutex_lock(&f->lock);
    f->overloads++;
    cond_broadcast(&f->changed);
    mutex_unlock(&f->lock);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct front_opts opts = {.bind = "127.0.0.1",
                              .threads = 4,
                              .max_body = MAX_BODY,
                              .max_answers = MAX_ANSWERS,
                              .tls = tls,
                              .admit = admit,
                              .handle = handle,
                              .write_busy = write_busy,
                              .on_overload = on_overload,
                              .arg = f};
    memset(&counters, 0, sizeof counters);
    atomic_store(&ahead_ms, 0);
    mutex_init(&f->lock, LOCK_LEAF);
    cond_init(&f->changed);
    f->closed = true;
    if (networks_parse("127.0.0.1", &f->trusted, &ec))
        return 1;
    opts.trusted = f->trusted;
    *state = f;
    if (front_start(&opts, &test_clock, &counters, &f->front, &ec)) {
        fprintf(stderr, "%s\n", ec.text);
        return 1;
    }
    f->port = front_get_port(f->front);
    return 0;
}

static void open_gate(struct fixture *f)
{
    mutex_lock(&f->lock);
    f->closed = false;
    cond_broadcast(&f->changed);
    mutex_unlock(&f->lock);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    open_gate(f);
    if (!f->stopped)
        front_stop(f->front, 2000);
    front_destroy(f->front);
    networks_destroy(f->trusted);
    assert_int_equal(counters_get(&counters, COUNTER_HTTP_CONNECTIONS), 0);
    cond_fini(&f->changed);
    mutex_fini(&f->lock);
    free(f);
    return 0;
}

/* Waits for *count of the fixture, at most 20 s. */
static void wait_for(struct fixture *f, const int *count, int least)
{
    int64_t until = clock_mono_ms(clock_system()) + 20000;
    mutex_lock(&f->lock);
    while (*count < least && clock_mono_ms(clock_system()) < until)
        cond_wait_until(&f->changed, &f->lock, until);
    int got = *count;
    mutex_unlock(&f->lock);
    assert_true(got >= least);
}

static bool open_client(struct fixture *f, struct client *k)
{
    return tls ? client_open_tls(k, f->port) : client_open(k, f->port);
}

static void open_and_send(struct fixture *f, struct client *k, const char *text)
{
    assert_true(open_client(f, k));
    assert_true(client_send(k, text, strlen(text)));
}

static void expect(struct client *k, int status, const char *body)
{
    struct answer a;
    assert_true(client_read(k, true, &a));
    assert_int_equal(a.status, status);
    if (body)
        assert_string_equal(a.body, body);
    free(a.body);
}

/* The server ended the connection and sent nothing more. */
static void expect_end(struct client *k)
{
    assert_false(client_fill(k));
    assert_int_equal(k->in.len, 0);
    client_close(k);
}

static void probe(struct fixture *f)
{
    struct client k;
    open_and_send(f, &k, PROBE);
    expect(&k, 200, "GET /probe 0 0");
    expect_end(&k);
}

/* Whatever follows a request whose end is doubtful is never looked at. */
static void doubtful_framing_ends_the_connection(void **state)
{
    struct fixture *f = *state;
    static const char *const fields[] = {
        "Content-Length: 2\r\nContent-Length: 43\r\n\r\n[]",
        "Content-Length: 2\r\nContent-Length: 2\r\n\r\n[]",
        "Content-Length: 2, 300\r\n\r\n[]",
        "Content-Length: +2\r\n\r\n[]",
        "Content-Length: 0x2\r\n\r\n[]",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n0x2\r\n[]\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n+2\r\n[]\r\n0\r\n\r\n",
        "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n[]\r\n0\r\n\r\n",
        "Content-Length : 2\r\n\r\n[]",
        "X: a\r\n Content-Length: 2\r\n\r\n[]",
    };
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        struct client k;
        char request[600];
        snprintf(request, sizeof request, "POST /a HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n%s%s%s", fields[i],
                 PROBE, PROBE);
        open_and_send(f, &k, request);
        struct answer a;
        assert_true(client_read(&k, true, &a));
        if (a.status != 400 || a.keep)
            fail_msg("not refused: %s", fields[i]);
        assert_non_null(strstr(a.body, "{\"code\":400,\"msg\":\""));
        free(a.body);
        expect_end(&k);
    }
    assert_int_equal(f->handled, 0);
}

/* Clients that send nothing, or half a head, or half a body, cost no worker: there are four. */
static void slow_clients_keep_nobody_out(void **state)
{
    struct fixture *f = *state;
    enum { EACH = 300 };
    static struct client k[3 * EACH];
    static const char *const parts[] = {"", "POST /a HTTP/1.1\r\nHo",
                                        "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nab"};
    for (int i = 0; i < 3 * EACH; i++)
        open_and_send(f, &k[i], parts[i % 3]);
    for (int i = 0; i < 20; i++) {
        struct client good;
        probe(f);
        open_and_send(f, &good, "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n[]");
        expect(&good, 200, "POST /b 2 0");
        client_close(&good);
    }
    assert_int_equal(counters_get(&counters, COUNTER_HTTP_CONNECTIONS) >= 3 * EACH, 1);
    assert_int_equal(f->overloads, 0);
    /* And each of them is answered when it goes on. */
    for (int i = 0; i < 3; i++) {
        static const char *const rests[] = {PROBE, "st: x\r\n\r\n", "cdefghi"};
        static const char *const answers[] = {"GET /probe 0 0", "POST /a 0 0", "POST /a 9 0"};
        assert_true(client_send(&k[i], rests[i], strlen(rests[i])));
        expect(&k[i], 200, answers[i]);
    }
    for (int i = 0; i < 3 * EACH; i++)
        client_close(&k[i]);
}

/* However often a slow client sends a byte. */
static void every_state_has_a_deadline(void **state)
{
    struct fixture *f = *state;
    static const char keeping[] = "GET /probe HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n";
    struct client idle, head, body, kept, dropping;
    open_and_send(f, &idle, "");
    open_and_send(f, &head, "POST /a HTTP/1.1\r\n");
    open_and_send(f, &body, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n");
    open_and_send(f, &kept, keeping);
    expect(&kept, 200, NULL);
    open_and_send(f, &dropping, "POST /refuse HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n");
    expect(&dropping, 401, NULL);
    probe(f);
    atomic_store(&ahead_ms, 9000);
    assert_true(client_send(&head, "X", 1));
    probe(f);
    atomic_store(&ahead_ms, 12000);
    expect_end(&head);
    atomic_store(&ahead_ms, 32000);
    expect_end(&idle);
    expect_end(&dropping);
    assert_true(client_send(&body, "1", 1));
    probe(f);
    atomic_store(&ahead_ms, 54000);
    assert_true(client_send(&kept, keeping, strlen(keeping)));
    expect(&kept, 200, NULL);
    atomic_store(&ahead_ms, 62000);
    expect_end(&body);
    atomic_store(&ahead_ms, 54000 + 66000);
    expect_end(&kept);
    assert_int_equal(counters_get(&counters, COUNTER_HTTP_TURNED_AWAY_SLOW), 2);
}

/* Who is refused by his head is answered before his body, which no handler and no memory ever sees. */
static void refusals_come_before_the_body(void **state)
{
    struct fixture *f = *state;
    struct client k;
    open_and_send(f, &k,
                  "POST /refuse HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 900000\r\n\r\n");
    struct answer a;
    assert_true(client_read(&k, true, &a));
    assert_int_equal(a.status, 401);
    assert_false(a.keep);
    free(a.body);
    for (int i = 0; i < 100; i++) /* a client that writes before it reads can go on */
        assert_true(client_send(&k, a.head, 100));
    client_close(&k);
    open_and_send(f, &k, "POST /refuse HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n");
    assert_true(client_fill(&k));
    assert_int_equal(strncmp(k.in.data, "HTTP/1.1 401 ", 13), 0); /* and not 100 */
    client_close(&k);
    /* What came with the head is no reason to close. */
    open_and_send(f, &k,
                  "POST /refuse HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n[]" PROBE);
    expect(&k, 401, NULL);
    expect(&k, 200, "GET /probe 0 0");
    client_close(&k);
    /* A body that is too large is answered by the handler, unread. */
    open_and_send(f, &k, "POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n");
    expect(&k, 200, "POST /a 0 1");
    client_close(&k);
    assert_int_equal(f->handled, 2);
}

/* More requests for the console than there are workers and places: 503, and executors do not notice. */
static void the_console_keeps_no_executor_waiting(void **state)
{
    struct fixture *f = *state;
    struct client k[7], good, waiting[3];
    static const char console[] = "GET /console/wait HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n";
    for (int i = 0; i < 2; i++) { /* its one worker, and the one for answers in pieces */
        open_and_send(f, &k[i], console);
        wait_for(f, &f->waiting, i + 1);
    }
    for (int i = 2; i < 6; i++) { /* four places; the front takes them in their order */
        open_and_send(f, &k[i], console);
        probe(f);
    }
    open_and_send(f, &k[6], console);
    struct answer a;
    assert_true(client_read(&k[6], true, &a));
    assert_int_equal(a.status, 503);
    assert_string_equal(a.body, "{\"code\":503,\"msg\":\"/console/wait\",\"content\":null,\"data\":null}");
    assert_true(a.keep);
    assert_string_equal(find_header(a.head, "Retry-After") ? "there" : "", "there");
    free(a.body);
    open_and_send(f, &good, "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n[]");
    expect(&good, 200, "POST /b 2 0");
    client_close(&good);
    assert_int_equal(counters_get(&counters, COUNTER_HTTP_TURNED_AWAY_REQUESTS), 1);
    /* Nor does who waits for the database keep heartbeats and liveness waiting. */
    for (int i = 0; i < 3; i++)
        open_and_send(f, &waiting[i], "POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n[]");
    wait_for(f, &f->waiting, 5);
    probe(f);
    open_gate(f);
    for (int i = 0; i < 6; i++) {
        expect(&k[i], 200, "GET /console/wait 0 0");
        client_close(&k[i]);
    }
    for (int i = 0; i < 3; i++) {
        expect(&waiting[i], 200, "POST /wait 2 0");
        client_close(&waiting[i]);
    }
    client_close(&k[6]);
}

static int count_overloads(struct fixture *f)
{
    mutex_lock(&f->lock);
    int count = f->overloads;
    mutex_unlock(&f->lock);
    return count;
}

/* Requests that wait for long say so: heartbeats may be among them. */
static void long_waits_are_told(void **state)
{
    struct fixture *f = *state;
    struct client k[4];
    for (int i = 0; i < 4; i++)
        open_and_send(f, &k[i], "POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n[]");
    wait_for(f, &f->waiting, 3);
    assert_int_equal(f->overloads, 0);
    /* The fourth may come to the queue after the first step. */
    for (int i = 0; i < 100 && !count_overloads(f); i++) {
        atomic_fetch_add(&ahead_ms, 3000);
        clock_sleep_ms(200);
    }
    wait_for(f, &f->overloads, 1);
    for (int i = 0; i < 4; i++)
        client_close(&k[i]);
}

/* With all of the room taken large bodies are told so, and small ones go on. */
static void large_bodies_need_room(void **state)
{
    struct fixture *f = *state;
    struct client k;
    char *text = calloc(1, MAX_BODY);
    memset(text, 'x', MAX_BODY);
    struct buf out = {0};
    write_post(&out, "/whole", "", text, MAX_BODY);
    assert_true(open_client(f, &k));
    assert_true(client_send(&k, out.data, out.len));
    expect(&k, 200, "POST /whole 1048576 0");
    assert_true(room_take(&f->front->room, f->front->room.max));
    assert_true(client_send(&k, out.data, out.len));
    expect(&k, 200, "POST /whole 0 2");
    client_close(&k);
    open_and_send(f, &k, "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n[]");
    expect(&k, 200, "POST /b 2 0");
    client_close(&k);
    room_give(&f->front->room, f->front->room.max);
    buf_fini(&out);
    free(text);
}

/* Beyond the limit who has sent nothing for longest gives way, and the overload is told. */
static void the_oldest_idle_connection_gives_way(void **state)
{
    struct fixture *f = *state;
    struct client *k = calloc(f->front->callers_max, sizeof *k);
    size_t max = f->front->callers_max;
    for (size_t i = 0; i < max; i++)
        open_and_send(f, &k[i], i == 1 ? "POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n[]" : "");
    wait_for(f, &f->waiting, 1);
    atomic_store(&ahead_ms, 2000);
    probe(f);
    probe(f);
    expect_end(&k[0]);
    wait_for(f, &f->overloads, 1);
    assert_int_equal(counters_get(&counters, COUNTER_HTTP_TURNED_AWAY_CONNECTIONS), 1);
    open_gate(f);
    expect(&k[1], 200, NULL);
    for (size_t i = 1; i < max; i++)
        client_close(&k[i]);
    free(k);
}

/* The clock stands still: nobody waits for the next try. */
static void who_idles_gives_way_when_no_descriptor_is_left(void **state)
{
    struct fixture *f = *state;
    struct client idle, k;
    struct rlimit files, few;
    int next;

    if (tls)
        return; /* a client's side of it may open files */
    assert_true(client_open(&idle, f->port));
    while (counters_get(&counters, COUNTER_HTTP_CONNECTIONS) < 1)
        clock_sleep_ms(1);
    atomic_store(&ahead_ms, 2000);
    next = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    close(next);
    getrlimit(RLIMIT_NOFILE, &files);
    few = files;
    few.rlim_cur = (rlim_t)next + 1; /* the client has the last one */
    setrlimit(RLIMIT_NOFILE, &few);
    open_and_send(f, &k, PROBE);
    expect(&k, 200, "GET /probe 0 0");
    setrlimit(RLIMIT_NOFILE, &files);
    expect_end(&k);
    expect_end(&idle);
    wait_for(f, &f->overloads, 1);
    assert_int_equal(counters_get(&counters, COUNTER_HTTP_TURNED_AWAY_CONNECTIONS), 1);
}

/* 150 connections are possible: those that idle after an answer are half of them at most, and the others serve all. */
static void kept_connections_leave_room_for_others(void **state)
{
    struct fixture *f = *state;
    struct client k[100];
    int kept = 0;

    open_gate(f);
    for (size_t i = 0; i < ARRAY_LEN(k); i++) {
        struct answer a;
        open_and_send(f, &k[i], "GET /probe HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n");
        assert_true(client_read(&k[i], true, &a));
        assert_int_equal(a.status, 200);
        kept += a.keep;
        free(a.body);
    }
    assert_int_equal(kept, 75);
    atomic_store(&ahead_ms, 50000);
    for (int i = 0; i < 100; i++)
        probe(f);
    assert_true(client_send(&k[0], PROBE, strlen(PROBE)));
    expect(&k[0], 200, NULL);
    for (size_t i = 0; i < ARRAY_LEN(k); i++)
        client_close(&k[i]);
    assert_int_equal(counters_get(&counters, COUNTER_HTTP_TURNED_AWAY_CONNECTIONS), 0);
}

static void the_console_keeps_connections_unasked(void **state)
{
    static const struct {
        const char *request;
        bool kept;
    } cases[] = {
        {"GET /console HTTP/1.1\r\nHost: x\r\n\r\n", true},
        {"GET /console HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", false},
        {"GET /console HTTP/1.0\r\n\r\n", false},
        {"GET /console HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true},
        {"GET /a HTTP/1.1\r\nHost: x\r\n\r\n", false},
    };
    struct fixture *f = *state;

    open_gate(f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct client k;
        struct answer a;
        open_and_send(f, &k, cases[i].request);
        assert_true(client_read(&k, true, &a));
        if (a.keep != cases[i].kept)
            fail_msg("%s", cases[i].request);
        free(a.body);
        client_close(&k);
    }
}

/* An answer that the client takes slowly is nobody's but the front's. */
static void large_answers_go_out_in_pieces(void **state)
{
    struct fixture *f = *state;
    struct client k[8];
    for (int i = 0; i < 8; i++)
        open_and_send(f, &k[i], "GET /large HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n" PROBE);
    wait_for(f, &f->handled, 8);
    probe(f);
    for (int i = 0; i < 8; i++) {
        struct answer a;
        assert_true(client_read(&k[i], true, &a));
        assert_int_equal(a.body_len, 8000000 + strlen("GET /large 0 0"));
        free(a.body);
        expect(&k[i], 200, "GET /probe 0 0");
        expect_end(&k[i]);
    }
}

/* No more of them wait for their clients than there is room for. What was taken, or left, gives its room back. */
static void large_answers_have_a_bound(void **state)
{
    enum { N = 20, FIT = 12, WORKERS = 3 };
    struct fixture *f = *state;
    struct client k[N];

    for (int round = 0; round < 2; round++) {
        int good = 0, busy = 0;
        for (int i = 0; i < N; i++)
            open_and_send(f, &k[N - 1 - i], "GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
        wait_for(f, &f->handled, (round + 1) * N);
        for (int i = 0; i < N; i++) {
            struct answer a;
            if (i == N - 1) { /* who goes away without it */
                client_close(&k[i]);
                continue;
            }
            assert_true(client_read(&k[i], true, &a));
            good += a.status == 200;
            busy += a.status == 503 && find_header(a.head, "Retry-After");
            free(a.body);
            client_close(&k[i]);
        }
        assert_int_equal(good + busy, N - 1);
        assert_in_range(good, FIT - 1, FIT + WORKERS); /* the first may be read while the last are made */
    }
}

/* Reads chunks up to the last; how many bytes they had. */
static size_t read_chunks(struct client *k)
{
    struct chunks chunks = {0};
    size_t total = 0;

    while (!k->in.len || !memmem(k->in.data, k->in.len, "\r\n\r\n", 4))
        assert_true(client_fill(k));
    char *at = (char *)memmem(k->in.data, k->in.len, "\r\n\r\n", 4) + 4;
    size_t left = k->in.len - (size_t)(at - k->in.data);
    for (;;) {
        size_t used, len;
        const char *data;
        enum chunks_state state = chunks_step(&chunks, at, left, &used, &data, &len);
        total += len;
        at += used;
        left -= used;
        if (state == CHUNKS_WHOLE) {
            assert_int_equal(left, 0);
            buf_clear(&k->in);
            return total;
        }
        assert_int_equal(state, CHUNKS_MORE);
        if (!left) {
            buf_clear(&k->in);
            assert_true(client_fill(k));
            at = k->in.data;
            left = k->in.len;
        }
    }
}

/* The only place for answers in pieces is taken by a client that does not read: others still get theirs. */
static void an_answer_in_pieces_holds_nobody_up(void **state)
{
    static const char request[] = "GET /console/pieces HTTP/1.1\r\nHost: x\r\n\r\n";
    static const char plain[] = "GET /console HTTP/1.1\r\nHost: x\r\n\r\n";
    struct fixture *f = *state;
    struct client slow, k;

    open_gate(f);
    open_and_send(f, &slow, request);
    assert_true(client_fill(&slow));
    open_and_send(f, &k, request);
    struct answer a;
    assert_true(client_read(&k, true, &a));
    assert_int_equal(a.status, 503);
    assert_non_null(strstr(a.body, "1 large answers"));
    free(a.body);
    for (int i = 0; i < 5; i++) {
        assert_true(client_send(&k, plain, sizeof plain - 1));
        expect(&k, 200, "GET /console 0 0");
    }
    assert_true(read_chunks(&slow) > 32000000);
    assert_true(client_send(&slow, PROBE, strlen(PROBE))); /* the connection can be used again */
    expect(&slow, 200, "GET /probe 0 0");
    expect_end(&slow);
    open_and_send(f, &slow, request);
    assert_true(client_fill(&slow));
    front_stop(f->front, 0); /* and does not wait for it for ever */
    f->stopped = true;
    client_close(&slow);
    client_close(&k);
}

static void a_path_may_have_a_limit_of_its_own(void **state)
{
    struct fixture *f = *state;
    struct client k;

    open_gate(f);
    open_and_send(f, &k, "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabcde");
    expect(&k, 200, "POST /small 5 0");
    expect_end(&k);
    open_and_send(f, &k, "POST /small HTTP/1.1\r\nHost: x\r\nContent-Length: 6\r\n\r\n");
    expect(&k, 200, "POST /small 0 1"); /* before it came */
    expect_end(&k);
    open_and_send(f, &k,
                  "POST /small HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3\r\nabc\r\n");
    expect(&k, 200, "POST /small 0 1");
    expect_end(&k);
}

static void a_request_knows_its_peer_and_whom_he_speaks_for(void **state)
{
    struct fixture *f = *state;
    struct client k;

    open_gate(f);
    open_and_send(f, &k, "GET /who HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 1.2.3.4, 192.0.2.7\r\n\r\n");
    expect(&k, 200, "GET /who 0 0 127.0.0.1 for 192.0.2.7");
    expect_end(&k);
}

static void many_refusals_in_one_piece(void **state)
{
    struct fixture *f = *state;
    struct client k;
    struct buf out = {0};
    for (int i = 0; i < 1000; i++)
        buf_puts(&out, "\r\nGET /refuse HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n");
    assert_true(open_client(f, &k));
    assert_true(client_send(&k, out.data, out.len));
    for (int i = 0; i < 1000; i++)
        expect(&k, 401, NULL);
    client_close(&k);
    buf_fini(&out);
}

static void run_stop(void *arg)
{
    struct fixture *f = arg;
    front_stop(f->front, INT64_C(24) * 3600 * 1000); /* the test would not end */
}

/* What is under way is answered, also when half of it came before the stop; what has not begun is not waited for. */
static void stop_ends_what_is_under_way(void **state)
{
    struct fixture *f = *state;
    struct client idle, slow, good, half;
    struct thread stopper = {0};
    open_and_send(f, &idle, "");
    open_and_send(f, &slow, "POST /a HTTP/1.1\r\nHo");
    open_and_send(f, &good, "GET /wait HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n\r\n");
    wait_for(f, &f->waiting, 1);
    open_and_send(f, &half, "POST /b HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    assert_true(client_fill(&half)); /* it was told to go on */
    open_gate(f);
    expect(&good, 200, "GET /wait 0 0");
    assert_int_equal(thread_start(&stopper, "stopper", run_stop, f, &ec), ERR_OK);
    while (!front_is_stopping(f->front))
        clock_sleep_ms(1);
    probe(f);
    assert_true(client_send(&half, "[]", 2));
    expect(&half, 200, "POST /b 2 0");
    thread_join(&stopper);
    f->stopped = true;
    front_destroy(f->front);
    f->front = NULL;
    expect_end(&idle);
    expect_end(&slow);
    client_close(&good);
    client_close(&half);
}

static int set_up_small(void **state)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    rlim_t before = files.rlim_cur;
    files.rlim_cur = 200;
    setrlimit(RLIMIT_NOFILE, &files);
    int rc = set_up(state);
    files.rlim_cur = before;
    setrlimit(RLIMIT_NOFILE, &files);
    return rc;
}

static struct certificates dir;

static int set_up_tls(void **state)
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

static int tear_down_tls(void **state)
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
        T(doubtful_framing_ends_the_connection),
        T(slow_clients_keep_nobody_out),
        T(every_state_has_a_deadline),
        T(refusals_come_before_the_body),
        T(the_console_keeps_no_executor_waiting),
        T(long_waits_are_told),
        T(large_bodies_need_room),
        cmocka_unit_test_setup_teardown(the_oldest_idle_connection_gives_way, set_up_small, tear_down),
        T(who_idles_gives_way_when_no_descriptor_is_left),
        cmocka_unit_test_setup_teardown(kept_connections_leave_room_for_others, set_up_small, tear_down),
        T(the_console_keeps_connections_unasked),
        T(large_answers_go_out_in_pieces),
        T(large_answers_have_a_bound),
        T(an_answer_in_pieces_holds_nobody_up),
        T(a_path_may_have_a_limit_of_its_own),
        T(a_request_knows_its_peer_and_whom_he_speaks_for),
        T(many_refusals_in_one_piece),
        T(stop_ends_what_is_under_way),
    };
    int plain = cmocka_run_group_tests_name("plain", tests, NULL, NULL);
    return plain + cmocka_run_group_tests_name("TLS", tests, set_up_tls, tear_down_tls);
}
