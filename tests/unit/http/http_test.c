/* SPDX-License-Identifier: MIT */
/* The server on real sockets, with a store in memory behind it. */
#include "http/client.h"
#include "record/fake_results.h"
#include "registry/fake_store.h"
#include "shardwheel/executor/access.h"
#include "shardwheel/http.h"
#include "shardwheel/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define SUCCESS "{\"code\":200,\"msg\":\"Success\",\"content\":null,\"data\":null}"
#define FAILURE(msg) "{\"code\":500,\"msg\":\"" msg "\",\"content\":null,\"data\":null}"
#define BEAT "{\"registryGroup\":\"EXECUTOR\",\"registryKey\":\"app\",\"registryValue\":\"http://10.0.0.5:9999/\"}"
#define MAX_BODY (16u << 20)

static struct counters counters;
static _Atomic bool healthy;

struct fixture {
    struct store *st;
    struct registry *r;
    struct complete *c;
    struct access_box access;
    struct http *h;
    int port;
    bool stopped;
};

static void write_metrics(void *arg, struct buf *out)
{
    (void)arg;
    buf_puts(out, "some_metric 1\n");
}

static bool write_health(void *arg, struct buf *out)
{
    (void)arg;
    buf_puts(out, healthy ? "{\"status\":\"UP\"}" : "{\"status\":\"DOWN\"}");
    return healthy;
}

static int set_up_with(void **state, bool own_token, const char *generation)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct errctx ec;
    memset(&counters, 0, sizeof(counters));
    healthy = true;
    f->st = fake_create();
    fake_add_group(f->st, 1, "app", false, "", "");
    if (own_token)
        fake_add_group(f->st, 2, "own", false, "", "own-token");
    *state = f;
    if (registry_create(f->st, clock_system(), &counters, &f->r, &ec) || registry_start(f->r, &ec) ||
        complete_create(&(struct complete_opts){.store = f->st, .is_sending = fake_is_sending}, clock_system(),
                        &counters, &f->c, &ec) ||
        complete_start(f->c, &ec))
        return 1;
    access_box_init(&f->access);
    struct http_opts opts = {
        .bind = "127.0.0.1",
        .port = 0,
        .context_path = "//jobs/",
        .threads = 40,
        .max_body = MAX_BODY,
        .registry = f->r,
        .access = &f->access,
        .complete = f->c,
        .write_metrics = write_metrics,
        .write_health = write_health,
        .generation = generation,
    };
    if (http_create(&opts, clock_system(), &counters, &f->h, &ec) || http_start(f->h, &ec)) {
        fprintf(stderr, "%s\n", ec.text);
        return 1;
    }
    f->port = http_get_port(f->h);
    return 0;
}

static int set_up(void **state)
{
    return set_up_with(state, /*own_token=*/false, NULL);
}

static int set_up_own_token(void **state)
{
    return set_up_with(state, /*own_token=*/true, NULL);
}

static int set_up_newer(void **state)
{
    return set_up_with(state, /*own_token=*/false, "3.4");
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    if (!f->stopped)
        http_stop(f->h);
    complete_stop(f->c);
    complete_join(f->c);
    registry_stop(f->r);
    registry_join(f->r);
    http_destroy(f->h);
    access_box_fini(&f->access);
    complete_destroy(f->c);
    registry_destroy(f->r);
    fake_destroy(f->st);
    free(f);
    return 0;
}

/* One request on a connection of its own; `request` is sent as it is. Checks status and body; returns the head. */
static const char *expect_raw(struct fixture *f, const char *request, size_t len, int status, const char *body)
{
    static char head[4000];
    struct client k;
    struct answer a;
    assert_true(client_open(&k, f->port));
    assert_true(client_send(&k, request, len));
    assert_true(client_read(&k, strncmp(request, "HEAD", 4) != 0, &a));
    assert_int_equal(a.status, status);
    if (body)
        assert_string_equal(a.body, body);
    strcpy(head, a.head);
    free(a.body);
    client_close(&k);
    return head;
}

static const char *expect_post(struct fixture *f, const char *path, const char *headers, const char *post,
                               const char *body)
{
    struct buf out = {0};
    write_post(&out, path, headers, post, strlen(post));
    const char *head = expect_raw(f, out.data, out.len, 200, body);
    buf_fini(&out);
    return head;
}

static const char *expect_get(struct fixture *f, const char *path, int status, const char *body)
{
    char request[1000];
    snprintf(request, sizeof(request), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    return expect_raw(f, request, strlen(request), status, body);
}

static void answers_under_every_context(void **state)
{
    struct fixture *f = *state;
    static const char *const paths[] = {
        "/api/registry",     "/xxl-job-admin/api/registry", "/jobs/api/registry", "/xxl-job-admin//api/registry",
        "//api///registry/", "/api/registry?x=1",
    };
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        const char *head = expect_post(f, paths[i], "", BEAT, SUCCESS);
        assert_non_null(strstr(head, "HTTP/1.1 200 OK\r\n"));
        assert_non_null(strstr(head, "\r\nContent-Type: application/json\r\n"));
        assert_int_equal(atol(find_header(head, "Content-Length")), strlen(SUCCESS));
    }
    assert_int_equal(counters_get(&counters, COUNTER_BEATS), 6);
    assert_int_equal(counters_get(&counters, COUNTER_HTTP_REQUESTS), 6);
}

static void set_access_token(struct fixture *f, const char *token)
{
    assert_true(access_box_set(&f->access, token, NULL, 3000));
}

static void literals_are_those_of_the_protocol(void **state)
{
    struct fixture *f = *state;
    set_access_token(f, "secret");
    /* Before the token: the method, the call's name, a body that the head does not tell of. */
    expect_get(f, "/api/registry", 200, FAILURE("invalid request, HttpMethod not support."));
    expect_get(f, "/api", 200, FAILURE("invalid request, HttpMethod not support."));
    static const char put[] = "PUT /api/callback HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n[]";
    expect_raw(f, put, sizeof(put) - 1, 200, FAILURE("invalid request, HttpMethod not support."));
    expect_post(f, "/api", "", BEAT, FAILURE("invalid request, uri-mapping empty."));
    expect_post(f, "/xxl-job-admin/api/", "", BEAT, FAILURE("invalid request, uri-mapping empty."));
    expect_post(f, "/api/registry", "", "", FAILURE("invalid request, requestBody empty."));
    static const char bare[] = "POST /api/registry HTTP/1.1\r\nHost: x\r\n\r\n";
    expect_raw(f, bare, sizeof(bare) - 1, 200, FAILURE("invalid request, requestBody empty."));
    /* The token, before anything of the body is looked at. */
    expect_post(f, "/api/nothing", "", BEAT, FAILURE("The access token is wrong."));
    expect_post(f, "/api/registry", "", " \r\n ", FAILURE("The access token is wrong."));
    expect_post(f, "/api/callback", "", "{", FAILURE("The access token is wrong."));
    /* And what comes behind it. */
    expect_post(f, "/api/registry", "XXL-JOB-ACCESS-TOKEN: secret\r\n", " \r\n ",
                FAILURE("invalid request, requestBody empty."));
    static const char chunked[] = "POST /api/registry HTTP/1.1\r\nHost: x\r\nXXL-JOB-ACCESS-TOKEN: secret\r\n"
                                  "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    expect_raw(f, chunked, sizeof(chunked) - 1, 200, FAILURE("invalid request, requestBody empty."));
    expect_post(f, "/api/nothing", "XXL-JOB-ACCESS-TOKEN: secret\r\n", BEAT,
                FAILURE("invalid request, uri-mapping(nothing) not found."));
    expect_post(f, "/api/Registry", "XXL-JOB-ACCESS-TOKEN: secret\r\n", BEAT,
                FAILURE("invalid request, uri-mapping(Registry) not found."));
    expect_post(f, "/api/registry", "XXL-JOB-ACCESS-TOKEN: secret\r\n",
                "{\"registryGroup\":\"EXECUTOR\",\"registryKey\":\" \",\"registryValue\":\"x\"}",
                FAILURE("Illegal Argument."));
    expect_post(f, "/api/registryRemove", "XXL-JOB-ACCESS-TOKEN: secret\r\n", "{}", FAILURE("Illegal Argument."));
    expect_post(f, "/api/callback", "XXL-JOB-ACCESS-TOKEN: secret\r\n", "{",
                FAILURE("openapi invoke error: the body is not JSON: it ends too early, after 1 bytes"));
    assert_int_equal(counters_get(&counters, COUNTER_HTTP_DENIED), 3);
}

static void tokens_are_checked(void **state)
{
    struct fixture *f = *state;
    const char *wrong = FAILURE("The access token is wrong.");
    expect_post(f, "/api/registry", "XXL-JOB-ACCESS-TOKEN: any\r\n", BEAT, SUCCESS); /* none is configured */
    set_access_token(f, "  ");
    expect_post(f, "/api/registry", "", BEAT, SUCCESS);
    set_access_token(f, "secret");
    expect_post(f, "/api/registry", "", BEAT, wrong);
    expect_post(f, "/api/registry", "XXL-JOB-ACCESS-TOKEN: \r\n", BEAT, wrong);
    expect_post(f, "/api/registry", "XXL-JOB-ACCESS-TOKEN: Secret\r\n", BEAT, wrong);
    expect_post(f, "/api/registry", "XXL-JOB-ACCESS-TOKEN: secret2\r\n", BEAT, wrong);
    expect_post(f, "/api/registry", "Xxl-Job-Access-Token: secret\r\n", BEAT, SUCCESS);
}

#define APP(app, token) "XXL-JOB-APPNAME: " app "\r\nXXL-JOB-ACCESS-TOKEN: " token "\r\n"
#define EMPTY_TOKEN FAILURE("invalid request, accessToken or appname is empty.")
#define WRONG_TOKEN FAILURE("invalid request, accessToken or appname invalid.")

static void expect_own_token(struct fixture *f)
{
    expect_post(f, "/api/registry", APP("own", "own-token"), BEAT, SUCCESS);
    expect_post(f, "/api/registry", APP("own", "secret"), BEAT, WRONG_TOKEN);
    expect_post(f, "/api/registry", "XXL-JOB-APPNAME: own\r\n", BEAT, EMPTY_TOKEN);
}

static void tokens_of_groups_stand_beside_the_configured_one(void **state)
{
    struct fixture *f = *state;
    const char *wrong = FAILURE("The access token is wrong.");
    set_access_token(f, "secret");
    expect_own_token(f);
    /* An app without a token of its own, one that is unknown, none: the configured one. */
    expect_post(f, "/api/registry", APP("app", "secret"), BEAT, SUCCESS);
    expect_post(f, "/api/registry", APP("none", "secret"), BEAT, SUCCESS);
    expect_post(f, "/api/registry", "XXL-JOB-ACCESS-TOKEN: secret\r\n", BEAT, SUCCESS);
    expect_post(f, "/api/registry", APP("none", "x"), BEAT, wrong);
    expect_post(f, "/api/registry", APP("app", "own-token"), BEAT, wrong);
}

/* A database of 3.5: the tokens of its groups are all there are, and who has none of them is not let in. */
static void tokens_of_groups_close_the_api(void **state)
{
    struct fixture *f = *state;
    static const char result[] = "[{\"logId\":15,\"handleCode\":200}]";
    expect_own_token(f);
    expect_post(f, "/api/callback", "", result, EMPTY_TOKEN);
    expect_post(f, "/api/callback", "XXL-JOB-ACCESS-TOKEN: own-token\r\n", result, EMPTY_TOKEN);
    expect_post(f, "/api/callback", "XXL-JOB-APPNAME: none\r\n", result, EMPTY_TOKEN);
    expect_post(f, "/api/callback", APP("none", "own-token"), result, WRONG_TOKEN);
    expect_post(f, "/api/callback", APP("app", "own-token"), result, WRONG_TOKEN); /* a group without a token */
    expect_post(f, "/api/registryRemove", APP("none", "x"), BEAT, WRONG_TOKEN);
    assert_int_equal(f->st->logs[15].code, 0);
    expect_post(f, "/api/callback", APP("own", "own-token"), result, SUCCESS);
    assert_int_equal(f->st->logs[15].code, 200);
    set_access_token(f, "secret"); /* then there is a token for the others */
    expect_post(f, "/api/registry", APP("app", "secret"), BEAT, SUCCESS);
}

/* As the original's from 3.2 on. */
static void answers_of_newer_databases_say_success(void **state)
{
    struct fixture *f = *state;

    expect_post(f, "/api/registry", "", BEAT,
                "{\"code\":200,\"msg\":\"Success\",\"content\":null,\"data\":null,\"success\":true}");
    expect_post(f, "/api/registry", "", "{}",
                "{\"code\":500,\"msg\":\"Illegal Argument.\",\"content\":null,\"data\":null,\"success\":false}");
}

static void appname_header_tells_the_generation(void **state)
{
    struct fixture *f = *state;
    expect_post(f, "/api/registry", "", BEAT, SUCCESS);
    assert_false(registry_is_trigger_path(f->r, "http://10.0.0.5:9999/"));
    expect_post(f, "/api/registry", "XXL-JOB-APPNAME: app\r\n", BEAT, SUCCESS);
    assert_true(registry_is_trigger_path(f->r, "http://10.0.0.5:9999/"));
}

static void callback_is_stored_when_it_is_answered(void **state)
{
    struct fixture *f = *state;
    expect_post(f, "/api/callback", "", "[{\"logId\":11,\"handleCode\":200,\"handleMsg\":\"\xc3\xa9\"}]", SUCCESS);
    assert_int_equal(f->st->logs[11].code, 200);
    assert_string_equal(f->st->logs[11].message, "\xc3\xa9");
    expect_post(f, "/xxl-job-admin/api/callback", "", "{\"callbackList\":[{\"logId\":12,\"handleCode\":502}]}",
                SUCCESS);
    assert_int_equal(f->st->logs[12].code, 502);
    expect_post(f, "/api/callback", "", "[]", SUCCESS);
    expect_post(f, "/api/callback", "", "null", SUCCESS);
    expect_post(f, "/api/callback", "", "[null]", SUCCESS);
    expect_post(f, "/api/callback", "", "[{\"logId\":99999999,\"handleCode\":200}]", SUCCESS);
    expect_post(f, "/api/callback", "", "[{\"logId\":\"?\",\"handleCode\":200},{\"logId\":13,\"handleCode\":500}]",
                FAILURE("openapi invoke error: callback 0: logId must be an integer, but it is \\\"?\\\""));
    assert_int_equal(f->st->logs[13].code, 500); /* the good ones are not lost with it */
}

static void pages_and_errors(void **state)
{
    struct fixture *f = *state;
    const char *head = expect_get(f, "/metrics", 200, "some_metric 1\n");
    assert_non_null(strstr(head, "Content-Type: text/plain; version=0.0.4"));
    expect_get(f, "/xxl-job-admin/metrics", 200, "some_metric 1\n");
    head = expect_get(f, "/actuator/health", 200, "{\"status\":\"UP\"}");
    assert_non_null(strstr(head, "Content-Type: application/json"));
    expect_get(f, "/jobs/actuator/health/readiness", 200, "{\"status\":\"UP\"}");
    healthy = false;
    expect_get(f, "/actuator/health", 503, "{\"status\":\"DOWN\"}");
    expect_get(f, "/actuator/health/readiness", 503, "{\"status\":\"DOWN\"}");
    expect_get(f, "/actuator/health/liveness", 200, "{\"status\":\"UP\"}");
    assert_non_null(strstr(expect_get(f, "/", 200, NULL), "text/html"));
    expect_get(f, "/xxl-job-admin/", 200, NULL);
    expect_get(f, "/nothing", 404, "{\"code\":404,\"msg\":\"there is no such page\",\"content\":null,\"data\":null}");
    expect_get(f, "/xxl-job-administrator", 404, NULL);
    expect_get(f, "/apis", 404, NULL);
    expect_get(f, "/%2e%2e/etc/passwd", 404, NULL);
    static const char head_request[] = "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_non_null(strstr(expect_raw(f, head_request, sizeof(head_request) - 1, 200, ""), "Content-Length: 14\r\n"));
    static const char post[] = "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n";
    expect_raw(f, post, sizeof(post) - 1, 405, NULL);
    static const char junk[] = "no http at all\r\n\r\n";
    assert_non_null(strstr(expect_raw(f, junk, sizeof(junk) - 1, 400, NULL), "application/json"));
}

static void connection_is_kept_when_asked_for(void **state)
{
    struct fixture *f = *state;
    struct client k;
    struct answer a;
    assert_true(client_open(&k, f->port));
    for (int i = 0; i < 50; i++) {
        assert_true(client_post(&k, "/api/registry", "", BEAT, strlen(BEAT), &a));
        assert_string_equal(a.body, SUCCESS);
        assert_true(a.keep);
        assert_string_equal(find_header(a.head, "Keep-Alive"), "timeout=60\r\n\r\n");
        free(a.body);
    }
    client_close(&k);
    /* Not asked for: closed, though HTTP/1.1 would allow to keep it. */
    static const char plain[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    assert_true(client_open(&k, f->port));
    assert_true(client_send(&k, plain, sizeof(plain) - 1));
    assert_true(client_read(&k, true, &a));
    assert_string_equal(find_header(a.head, "Connection"), "close\r\n\r\n");
    assert_false(client_fill(&k)); /* and so it is */
    free(a.body);
    client_close(&k);
}

static void pipelined_requests_are_answered_in_order(void **state)
{
    struct fixture *f = *state;
    struct buf out = {0};
    struct client k;
    struct answer a;
    write_post(&out, "/api/registry", "", BEAT, strlen(BEAT));
    write_post(&out, "/api/callback", "", "[]", 2);
    write_post(&out, "/api/nothing", "", "{}", 2);
    write_post(&out, "/api/callback", "", "x", 1);
    assert_true(client_open(&k, f->port));
    assert_true(client_send(&k, out.data, out.len));
    for (int i = 0; i < 4; i++) {
        assert_true(client_read(&k, true, &a));
        if (i < 2)
            assert_string_equal(a.body, SUCCESS);
        else
            assert_non_null(strstr(a.body, i == 2 ? "uri-mapping(nothing)" : "not JSON"));
        free(a.body);
    }
    client_close(&k);
    buf_fini(&out);
}

static void requests_in_pieces_are_put_together(void **state)
{
    struct fixture *f = *state;
    struct buf out = {0};
    struct client k;
    struct answer a;
    write_post(&out, "/api/callback", "", "[{\"logId\":21,\"handleCode\":200}]", 31);
    assert_true(client_open(&k, f->port));
    for (size_t i = 0; i < out.len; i++)
        assert_true(client_send(&k, out.data + i, 1));
    assert_true(client_read(&k, true, &a));
    assert_string_equal(a.body, SUCCESS);
    assert_int_equal(f->st->logs[21].code, 200);
    free(a.body);
    client_close(&k);
    buf_fini(&out);
}

static void chunked_bodies_are_read(void **state)
{
    struct fixture *f = *state;
    struct client k;
    struct answer a;
    static const char request[] = "POST /api/callback HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\n"
                                  "Transfer-Encoding: chunked\r\n\r\n"
                                  "5\r\n[{\"lo\r\n1A\r\ngId\":31,\"handleCode\":200}]\r\n0\r\n\r\n";
    assert_true(client_open(&k, f->port));
    for (int i = 0; i < 3; i++) { /* on one connection: the end of the body is found */
        assert_true(client_send(&k, request, sizeof(request) - 1));
        assert_true(client_read(&k, true, &a));
        assert_string_equal(a.body, SUCCESS);
        free(a.body);
    }
    client_close(&k);
    assert_int_equal(f->st->logs[31].code, 200);
    static const char bad[] =
        "POST /api/callback HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n[]\r\n0\r\n\r\n";
    expect_raw(f, bad, sizeof(bad) - 1, 400, NULL);
}

static void expect_continue_is_answered(void **state)
{
    struct fixture *f = *state;
    struct client k;
    struct answer a;
    static const char head[] =
        "POST /api/callback HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n";
    assert_true(client_open(&k, f->port));
    assert_true(client_send(&k, head, sizeof(head) - 1));
    assert_true(client_fill(&k));
    assert_non_null(strstr(k.in.data, "HTTP/1.1 100 Continue\r\n\r\n"));
    assert_true(client_send(&k, "[]", 2));
    assert_true(client_read(&k, true, &a));
    assert_string_equal(a.body, SUCCESS);
    free(a.body);
    client_close(&k);
}

/* A callback body of `messages` entries of `each` bytes. */
static void write_large(struct buf *out, int64_t first, int messages, size_t each)
{
    char *text = malloc(each + 1);
    memset(text, 'm', each);
    text[each] = '\0';
    buf_putc(out, '[');
    for (int i = 0; i < messages; i++)
        buf_printf(out, "%s{\"logId\":%d,\"handleCode\":500,\"handleMsg\":\"%s\"}", i ? "," : "", (int)first + i, text);
    buf_putc(out, ']');
    free(text);
}

static void twelve_megabytes_are_taken(void **state)
{
    struct fixture *f = *state;
    struct buf body = {0};
    struct client k;
    struct answer a;
    write_large(&body, 1000, 240, 50000);
    assert_true(body.len > 12000000);
    assert_true(client_open(&k, f->port));
    bool taken = false;
    for (int i = 0; i < 30 && !taken; i++) { /* in a second; a busy machine needs more, and goes on where it was */
        assert_true(client_post(&k, "/api/callback", "", body.data, body.len, &a));
        taken = !strcmp(a.body, SUCCESS);
        free(a.body);
    }
    assert_true(taken);
    assert_int_equal(f->st->callbacks_stored, 240);
    client_close(&k);
    buf_fini(&body);
}

static void too_large_bodies_are_refused_politely(void **state)
{
    struct fixture *f = *state;
    struct buf body = {0};
    struct client k;
    struct answer a;
    write_large(&body, 1000, 10, MAX_BODY / 9);
    assert_true(client_open(&k, f->port));
    /* The answer is there before the body, and can still be read behind it. */
    assert_true(client_post(&k, "/api/callback", "", body.data, body.len, &a));
    assert_int_equal(a.status, 200);
    assert_false(a.keep);
    assert_string_equal(a.body, FAILURE("invalid request, requestBody is larger than 16777216 bytes."));
    free(a.body);
    client_close(&k);
    /* Chunked: found out while reading. */
    struct buf out = {0};
    buf_printf(&out, "POST /api/callback HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n%zx\r\n", body.len);
    buf_append(&out, body.data, body.len);
    buf_puts(&out, "\r\n0\r\n\r\n");
    expect_raw(f, out.data, out.len, 200, FAILURE("invalid request, requestBody is larger than 16777216 bytes."));
    assert_int_equal(f->st->callbacks_stored, 0);
    buf_clear(&out);
    buf_puts(&out, "POST /api/registry HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\n\r\n");
    expect_raw(f, out.data, out.len, 200, FAILURE("invalid request, requestBody is larger than 1048576 bytes."));
    buf_fini(&out);
    buf_fini(&body);
}

static void broken_body_stores_nothing(void **state)
{
    struct fixture *f = *state;
    struct client k;
    struct answer a;
    static const char part[] =
        "POST /api/callback HTTP/1.1\r\nHost: x\r\nConnection: keep-alive\r\nContent-Length: 100\r\n\r\n"
        "[{\"logId\":41,\"handleCode\":200}]";
    assert_true(client_open(&k, f->port));
    assert_true(client_send(&k, part, sizeof(part) - 1));
    shutdown(k.fd, SHUT_WR);
    assert_true(client_read(&k, true, &a));
    assert_string_equal(a.body, FAILURE("invalid request, requestBody incomplete."));
    assert_int_equal(f->st->logs[41].code, 0);
    free(a.body);
    client_close(&k);
}

static void slow_store_ends_in_a_refusal_and_the_repeat_is_fine(void **state)
{
    struct fixture *f = *state;
    struct client k;
    struct answer a;
    static const char body[] = "[{\"logId\":51,\"handleCode\":200}]";
    fake_lock(f->st);
    f->st->gate_closed = true;
    fake_unlock(f->st);
    assert_true(client_open(&k, f->port));
    assert_true(client_post(&k, "/api/callback", "", body, sizeof(body) - 1, &a));
    assert_string_equal(a.body, FAILURE("openapi invoke error: the callbacks could not be stored within 1000 ms"));
    free(a.body);
    fake_lock(f->st);
    f->st->gate_closed = false;
    fake_unlock(f->st);
    assert_true(client_post(&k, "/api/callback", "", body, sizeof(body) - 1, &a));
    assert_string_equal(a.body, SUCCESS);
    assert_int_equal(f->st->logs[51].code, 200);
    free(a.body);
    client_close(&k);
}

struct sender {
    struct fixture *f;
    struct thread thread;
    int64_t first;
    int rounds, batch;
    int failures, unstored;
};

static void run_sender(void *arg)
{
    struct sender *s = arg;
    struct client k;
    struct answer a;
    bool open = client_open(&k, s->f->port);
    for (int round = 0; round < s->rounds; round++) {
        struct buf body = {0};
        int64_t first = s->first + round * s->batch;
        write_large(&body, first, s->batch, 20);
        if (!open)
            open = client_open(&k, s->f->port);
        bool ok = open && client_post(&k, "/api/callback", "", body.data, body.len, &a);
        if (ok && !strcmp(a.body, SUCCESS)) {
            fake_lock(s->f->st);
            for (int i = 0; i < s->batch; i++)
                s->unstored += s->f->st->logs[first + i].code != 500;
            fake_unlock(s->f->st);
        } else {
            s->failures++;
        }
        if (!ok || !a.keep) {
            client_close(&k);
            open = false;
        }
        free(a.body);
        buf_fini(&body);
    }
    if (open)
        client_close(&k);
}

static void many_clients_at_once(void **state)
{
    struct fixture *f = *state;
    struct sender s[16];
    struct errctx ec;
    for (int i = 0; i < 16; i++) {
        s[i] = (struct sender){.f = f, .first = 1 + 20000 * i, .rounds = 200, .batch = 50};
        assert_int_equal(thread_start(&s[i].thread, "sender", run_sender, &s[i], &ec), ERR_OK);
    }
    for (int i = 0; i < 16; i++) {
        thread_join(&s[i].thread);
        assert_int_equal(s[i].failures, 0);
        assert_int_equal(s[i].unstored, 0);
    }
    assert_int_equal(f->st->callbacks_stored, 160000);
    assert_int_equal(counters_get(&counters, COUNTER_CALLBACKS), 160000);
}

static bool somebody_waits(void *arg)
{
    struct fixture *f = arg;
    fake_lock(f->st);
    bool ok = f->st->waiting > 0;
    fake_unlock(f->st);
    return ok;
}

static void run_stop(void *arg)
{
    struct fixture *f = arg;
    http_stop(f->h);
}

static bool is_refusing(void *arg)
{
    struct fixture *f = arg;
    struct client k;
    struct answer a;
    bool refused = true;
    if (client_open(&k, f->port) && client_post(&k, "/api/registry", "", BEAT, strlen(BEAT), &a)) {
        refused = strstr(a.body, "shutting down") != NULL;
        free(a.body);
    }
    client_close(&k);
    return refused;
}

/* A request under way at the stop is answered; new ones are told to go elsewhere. */
static void stop_lets_requests_under_way_end(void **state)
{
    struct fixture *f = *state;
    struct sender s = {.f = f, .first = 61, .rounds = 1, .batch = 2};
    struct thread stopper = {0};
    struct errctx ec;
    fake_lock(f->st);
    f->st->gate_closed = true;
    fake_unlock(f->st);
    assert_int_equal(thread_start(&s.thread, "sender", run_sender, &s, &ec), ERR_OK);
    assert_true(fake_poll(somebody_waits, f));
    f->stopped = true;
    assert_int_equal(thread_start(&stopper, "stopper", run_stop, f, &ec), ERR_OK);
    assert_true(fake_poll(is_refusing, f));
    fake_lock(f->st);
    f->st->gate_closed = false;
    fake_unlock(f->st);
    thread_join(&s.thread);
    thread_join(&stopper);
    assert_int_equal(s.failures, 0);
    assert_int_equal(s.unstored, 0);
}

static void port_in_use_is_named(void **state)
{
    struct fixture *f = *state;
    struct http *second = NULL;
    struct errctx ec;
    char expected[60];
    struct http_opts opts = {.bind = "127.0.0.1", .port = f->port, .threads = 2, .max_body = 1000};
    assert_int_equal(http_create(&opts, clock_system(), &counters, &second, &ec), ERR_BUSY);
    snprintf(expected, sizeof(expected), "port %d (127.0.0.1) is in use by another process", f->port);
    assert_string_equal(ec.text, expected);
    opts.bind = "192.0.2.77";
    opts.port = 0;
    assert_int_equal(http_create(&opts, clock_system(), &counters, &second, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, "192.0.2.77"));
}

static void all_addresses_and_a_second_server(void **state)
{
    struct fixture *f = *state;
    struct http *second = NULL;
    struct errctx ec;
    struct http_opts opts = {.port = 0,
                             .threads = 2,
                             .max_body = 1000,
                             .registry = f->r,
                             .complete = f->c,
                             .write_metrics = write_metrics,
                             .write_health = write_health};
    assert_int_equal(http_create(&opts, clock_system(), &counters, &second, &ec), ERR_OK);
    assert_int_equal(http_start(second, &ec), ERR_OK);
    struct fixture other = {.port = http_get_port(second)};
    assert_int_not_equal(other.port, 0);
    expect_get(&other, "/metrics", 200, "some_metric 1\n");
    http_stop(second);
    http_destroy(second);
    expect_get(f, "/metrics", 200, "some_metric 1\n"); /* the first one lives on */
}

int main(void)
{
    log_set_level(LOG_ERROR);
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(answers_under_every_context),
        T(literals_are_those_of_the_protocol),
        T(tokens_are_checked),
        cmocka_unit_test_setup_teardown(tokens_of_groups_stand_beside_the_configured_one, set_up_own_token, tear_down),
        cmocka_unit_test_setup_teardown(answers_of_newer_databases_say_success, set_up_newer, tear_down),
        cmocka_unit_test_setup_teardown(tokens_of_groups_close_the_api, set_up_own_token, tear_down),
        T(appname_header_tells_the_generation),
        T(callback_is_stored_when_it_is_answered),
        T(pages_and_errors),
        T(connection_is_kept_when_asked_for),
        T(pipelined_requests_are_answered_in_order),
        T(requests_in_pieces_are_put_together),
        T(chunked_bodies_are_read),
        T(expect_continue_is_answered),
        T(twelve_megabytes_are_taken),
        T(too_large_bodies_are_refused_politely),
        T(broken_body_stores_nothing),
        T(slow_store_ends_in_a_refusal_and_the_repeat_is_fine),
        T(many_clients_at_once),
        T(stop_lets_requests_under_way_end),
        T(port_in_use_is_named),
        T(all_addresses_and_a_second_server),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
