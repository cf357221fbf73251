/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for what executors answer: fires go through dispatch, its loop and the HTTP client to executors that are
 * played from the input, and their answers come back as results; or somebody waits for a kill, a beat or a log. Sockets
 * are pairs, made where the client asks for a connection. The loop runs on the fuzzer's thread: poller_wait is where
 * the executors play, and where time passes. What the results are given to, record, is played too.
 *
 * Oracle      Each fire ends exactly once, and in time, whatever its executor does. The code of a result that is the
 *             executor's own is what the reader and the parser say of all bytes that came on its connection, uncut:
 *             success only where 200 was there. A connection is used again only where these bytes are one whole answer
 *             that lets it stay, and nothing came or ended since. No request is written twice but to the other path. No
 *             descriptor is left, and nothing leaks.
 * Run: tools/fuzz executor_way (-max_len=4000)
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "input.h"
#include "executor/http_reader.h"
#include "executor/poller.h"
#include "dispatch/delivery.h"
#include "shardwheel/dispatch.h"
#include "shardwheel/executor/answer.h"
#include "shardwheel/executor/call.h"
#include "shardwheel/executor/log_answer.h"
#include "shardwheel/executor/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CONNS 48
#define FIRES 24
#define TIMEOUT_MS 3000
#define END_MS 120000 /* by then all has ended: asking, sending, two paths */

/* ---- the clock --------------------------------------------------------------------------------------------------- */

static int64_t now_ms;

static int64_t get_wall_us(const struct clock *clock)
{
    (void)clock;
    return INT64_C(1700000000000000) + now_ms * 1000;
}

static int64_t get_mono_ms(const struct clock *clock)
{
    (void)clock;
    return now_ms;
}

static const struct clock fuzz_clock = {get_wall_us, get_mono_ms, get_mono_ms};

void __wrap_log_line(enum log_level level, const char *area, const char *fmt, ...);
void __wrap_log_line(enum log_level level, const char *area, const char *fmt, ...)
{
    char line[3000];
    va_list ap;

    (void)level, (void)area;
    va_start(ap, fmt);
    vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    if (getenv("FUZZ_LOG"))
        fprintf(stderr, "%" PRId64 " %s\n", now_ms, line);
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

/* As the executor has it. */
struct side {
    int fd;         /* -1: closed */
    bool has_ended; /* it sends no more */
    struct buf in;  /* the request that came last, or is coming */
    struct buf out; /* bytes that were sent since it began */
    int requests;   /* that have begun */
    int64_t log_id; /* of the fire that was asked for last; 0: a question or a call */
    bool has_whole; /* the request is there as a whole */
    char path[20];
};

static struct {
    struct side list[CONNS];
    int count;
    int small; /* buffers are */
    bool refuses, fails_later;
    int pending_error;
} net;

int __wrap_socket(int domain, int type, int protocol);
int __wrap_socket(int domain, int type, int protocol)
{
    int pair[2], size = 4608;

    (void)domain, (void)protocol;
    if (net.count == CONNS) {
        errno = EMFILE;
        return -1;
    }
    must(socketpair(AF_UNIX, type, 0, pair) == 0, "there is a socket");
    if (net.small)
        setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    net.list[net.count++] = (struct side){.fd = pair[1]};
    return pair[0];
}

int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
    (void)fd, (void)addr, (void)len;
    if (!net.refuses)
        return 0;
    errno = ECONNREFUSED;
    return -1;
}

int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __real_getsockopt(int fd, int level, int name, void *value, socklen_t *len);
int __wrap_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
    if (name == SO_ERROR && net.fails_later) {
        *(int *)value = EHOSTUNREACH;
        return 0;
    }
    return __real_getsockopt(fd, level, name, value, len);
}

/* What the reader makes of all bytes at once. */
static enum http_reading read_uncut(const struct side *c, bool takes_start, struct http_reader *r, struct buf *copy)
{
    enum http_reading got;

    *r = (struct http_reader){.takes_start = takes_start};
    buf_append(copy, c->out.len ? c->out.data : "", c->out.len);
    got = http_reader_step(r, copy->data, &copy->len);
    return got == HTTP_READ_MORE && c->has_ended ? http_reader_end(r) : got;
}

static bool lets_it_stay(const struct side *c)
{
    struct http_reader r;
    struct buf copy = {0};
    bool stays = !c->has_ended && read_uncut(c, false, &r, &copy) == HTTP_READ_WHOLE && r.at == copy.len &&
                 http_reader_get_idle_s(&r) > 0;

    buf_fini(&copy);
    return stays;
}

static struct fire_seen {
    int64_t log_id;
    int writes[2]; /* by path */
    int said;      /* the executor's code; 0: none, or not yet */
    bool ended;
} fires[FIRES];
static int fire_count, ended_count;

/* The code of all bytes that came behind the request; 0: it is none of the executor's. */
static int read_code(const struct side *c)
{
    struct http_reader reader;
    struct buf copy = {0};
    struct answer answer;
    int code = 0;

    if (read_uncut(c, false, &reader, &copy) == HTTP_READ_WHOLE) {
        answer_parse(reader.status, copy.data + reader.body_at, reader.body_len, c->path, &answer);
        code = answer.from_executor ? answer.code : 0;
        answer_fini(&answer);
    }
    buf_fini(&copy);
    return code;
}

static void note_request(struct side *c)
{
    const char *id = strstr(c->in.data, "\"logId\":"), *path = c->in.data + strlen("POST ");
    bool is_run;

    if (strncmp(path, "/a/", 3) == 0) /* of the address */
        path += 2;
    snprintf(c->path, sizeof c->path, "%.*s", (int)strcspn(path, " "), path);
    is_run = strcmp(c->path, request_path(false)) == 0 || strcmp(c->path, request_path(true)) == 0;
    c->log_id = is_run && id ? strtoll(id + 8, NULL, 10) : 0;
    if (!c->log_id)
        return;
    must(c->log_id > 0 && c->log_id <= fire_count, "a fire that there is");
    must(fires[c->log_id - 1].writes[c->path[1] == 't']++ == 0, "no request is written twice");
    must(!fires[c->log_id - 1].ended, "nothing is written of a fire that has ended");
}

/* Reads what the client has written. */
static void take_bytes(struct side *c)
{
    char bytes[8192];
    ssize_t n;
    char *end, *length;

    while (c->fd >= 0 && (n = recv(c->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
        if (c->has_whole || !c->requests) {
            must(!c->requests || lets_it_stay(c), "a connection is used again where it may be");
            if (c->log_id) /* it may be told of at the end of the turn that began this one */
                fires[c->log_id - 1].said = read_code(c);
            c->log_id = 0;
            c->requests++;
            c->has_whole = false;
            buf_clear(&c->in);
            if (c->requests > 1)
                buf_clear(&c->out);
        }
        buf_append(&c->in, bytes, (size_t)n);
        end = strstr(c->in.data, "\r\n\r\n");
        length = strstr(c->in.data, "Content-Length: ");
        if (!end || !length)
            continue;
        must(strncmp(c->in.data, "POST /", 6) == 0, "a request begins with its line");
        size_t whole = (size_t)(end + 4 - c->in.data) + (size_t)strtoul(length + 16, NULL, 10);
        must(c->in.len <= whole, "one request at a time on a connection");
        if (c->in.len < whole)
            continue;
        c->has_whole = true;
        note_request(c);
    }
}

static void take_all_bytes(void)
{
    for (int i = 0; i < net.count; i++)
        take_bytes(&net.list[i]);
}

static void close_side(struct side *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->has_ended = true;
}

/* ---- what executors send ----------------------------------------------------------------------------------------- */

static void put_body(struct buf *out)
{
    static const char *const bodies[] = {
        "{\"code\":200,\"msg\":null,\"content\":null}",
        "{\"code\":200}",
        "{\"code\":500,\"msg\":\"no job handler\"}",
        "{\"code\":\"200\",\"msg\":\"ok\"}",
        "{\"code\":500,\"msg\":\"job thread is running or has trigger queue.\"}",
        "{\"code\":200,\"content\":{\"fromLineNum\":1,\"toLineNum\":2,\"logContent\":\"a\\nb\",\"isEnd\":true}}",
        "{\"code\":200,\"data\":{\"fromLineNum\":5,\"toLineNum\":1,\"logContent\":\"\\u0000\\ud800\",\"end\":false}}",
        "{\"code\":500,\"msg\":\"invalid request, uri-mapping(/run) not found.\"}",
        "{\"code\":500,\"msg\":\"invalid request, uri-mapping(/trigger) not found.\"}",
        "",
        "null",
        "<html>busy</html>",
    };
    unsigned which = draw(ARRAY_LEN(bodies) + 4);

    if (which < ARRAY_LEN(bodies)) {
        buf_puts(out, bodies[which]);
    } else if (which == ARRAY_LEN(bodies)) { /* long */
        buf_puts(out, "{\"code\":200,\"msg\":\"");
        for (unsigned n = 1 + draw(200) * 40; n; n--)
            buf_puts(out, "0123456789abcdef");
        buf_puts(out, "\"}");
    } else if (which == ARRAY_LEN(bodies) + 1) {
        buf_puts(out, "{\"code\":200,\"msg\":\"a");
        buf_putc(out, '\0');
        buf_puts(out, "b\"}");
    } else { /* bytes of the input */
        size_t len = draw(251);

        len = len < input.left ? len : input.left;
        buf_append(out, (const char *)input.at, len);
        input.at += len;
        input.left -= len;
    }
}

static void put_chunks(struct buf *out, const struct buf *body)
{
    size_t at = 0;

    while (at < body->len) {
        size_t n = 1 + draw(255);

        n = n < body->len - at && input.left ? n : body->len - at;
        buf_printf(out, "%zx%s\r\n", n, draw(4) == 3 ? ";ext=1" : "");
        buf_append(out, body->data + at, n);
        buf_puts(out, "\r\n");
        at += n;
    }
    buf_puts(out, draw(4) == 3 ? "0\r\nTrailer: x\r\n\r\n" : "0\r\n\r\n");
}

static void put_answer(struct buf *out)
{
    static const char *const lines[] = {
        "HTTP/1.1 200 OK", "HTTP/1.1 200",   "HTTP/1.0 200 OK", "HTTP/1.1 404 Not Found",
        "HTTP/1.1 500 x",  "HTTP/1.1 204 x", "HTTP/2 200",      "HTTP/1.1 302 Found"};
    static const char *const fields[] = {"Connection: close\r\n",
                                         "Keep-Alive: timeout=5, max=100\r\n",
                                         "Keep-Alive: timeout=1\r\n",
                                         "Content-Encoding: gzip\r\n",
                                         "Content-Length: 3\r\n",
                                         "Content-Length: 99999999999999999999\r\n",
                                         "Content-Length: -1\r\n",
                                         "Transfer-Encoding: chunked\r\n",
                                         " folded\r\n",
                                         "Connection: Keep-Alive\r\n",
                                         "Server: netty\r\n",
                                         "Transfer-Encoding: gzip, chunked\r\n"};
    struct buf body = {0};
    unsigned kind = draw(8);

    if (draw(8) == 7)
        buf_puts(out, draw(2) ? "HTTP/1.1 100 Continue\r\n\r\n" : "HTTP/1.1 101 x\r\n\r\n");
    buf_printf(out, "%s\r\n", lines[draw(4) ? 0 : draw(ARRAY_LEN(lines))]);
    for (unsigned n = draw(3); n; n--)
        buf_puts(out, fields[draw(ARRAY_LEN(fields))]);
    put_body(&body);
    if (kind == 7) { /* a head beyond the limit, or close to it */
        buf_puts(out, "X: ");
        for (unsigned n = 4000 + draw(200); n; n--)
            buf_puts(out, "0123456789abcdef");
        buf_puts(out, "\r\n");
    }
    if (kind == 6) {
        buf_puts(out, "Transfer-Encoding: chunked\r\n\r\n");
        put_chunks(out, &body);
    } else if (kind == 5) {
        buf_puts(out, "\r\n");
        buf_append(out, body.len ? body.data : "", body.len);
    } else {
        buf_printf(out, "Content-Length: %zu\r\n\r\n", body.len + (kind == 4 ? draw(5) : 0));
        buf_append(out, body.len ? body.data : "", body.len);
    }
    buf_fini(&body);
}

static void send_bytes(struct side *c, const char *bytes, size_t len)
{
    ssize_t n = c->fd >= 0 && len ? send(c->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;

    if (n <= 0)
        return;
    buf_append(&c->out, bytes, (size_t)n);
}

/* ---- dispatch's surroundings ------------------------------------------------------------------------------------- */

static struct {
    void (*run)(void *arg);
    void *arg;
} loop_thread;

static void (*give_back)(void *arg, struct result *r);
static void (*tell_committed)(void *arg, size_t count);
static void *results_arg;
static struct dispatch *dispatch;
static struct counters counters;
static bool knows_trigger;
static int64_t sent_count;

enum err __wrap_thread_start(struct thread *t, const char *name, void (*run)(void *arg), void *arg, struct errctx *ec);
enum err __wrap_thread_start(struct thread *t, const char *name, void (*run)(void *arg), void *arg, struct errctx *ec)
{
    (void)t, (void)name, (void)ec;
    loop_thread.run = run;
    loop_thread.arg = arg;
    return ERR_OK;
}

void __wrap_thread_join(struct thread *t);
void __wrap_thread_join(struct thread *t)
{
    (void)t;
}

void __wrap_results_serve(struct results *results, void (*done)(void *arg, struct result *r),
                          void (*committed)(void *arg, size_t count), void *arg);
void __wrap_results_serve(struct results *results, void (*done)(void *arg, struct result *r),
                          void (*committed)(void *arg, size_t count), void *arg)
{
    (void)results;
    give_back = done;
    tell_committed = committed;
    results_arg = arg;
}

/* Success is what an executor said to this fire; or to the part of a request that it had, which may have the number
 * or not. */
static void check_success(const struct result *r)
{
    bool found = fires[r->log_id - 1].said == r->row.code;

    for (int i = 0; i < net.count && !found; i++) {
        const struct side *c = &net.list[i];

        found = (c->has_whole ? c->log_id == r->log_id : c->requests > 0) && read_code(c) == r->row.code;
    }
    for (int i = 0; i < net.count && !found; i++)
        fprintf(stderr, "fire %" PRId64 ", connection %d of fire %" PRId64 ", %d requests, %s: %.300s\n", r->log_id, i,
                net.list[i].log_id, net.list[i].requests, net.list[i].has_whole ? "whole" : "not whole",
                net.list[i].out.len ? net.list[i].out.data : "");
    must(found, "success is what the executor said");
}

void __wrap_results_post(struct results *results, struct result_list *list);
void __wrap_results_post(struct results *results, struct result_list *list)
{
    struct result *r = list->head;

    (void)results;
    *list = (struct result_list){0};
    while (r) {
        struct result *next = r->next;
        struct fire_seen *f = &fires[r->log_id - 1];

        must(r->log_id > 0 && r->log_id <= fire_count && !f->ended, "each fire ends once");
        must(r->row.code != 0, "no result leaves its row open");
        take_all_bytes();
        if (r->row.code == CODE_OK)
            check_success(r);
        f->ended = true;
        ended_count++;
        give_back(results_arg, r);
        tell_committed(results_arg, 1);
        r = next;
    }
}

void __wrap_results_expect(struct results *results, struct result *r);
void __wrap_results_expect(struct results *results, struct result *r)
{
    (void)results, (void)r;
}

void __wrap_results_forget(struct results *results, struct result *r);
void __wrap_results_forget(struct results *results, struct result *r)
{
    (void)results, (void)r;
}

uint64_t __wrap_results_note_sent(struct results *results, const struct fire *list);
uint64_t __wrap_results_note_sent(struct results *results, const struct fire *list)
{
    (void)results, (void)list;
    return 1;
}

void __wrap_results_hurry(struct results *results);
void __wrap_results_hurry(struct results *results)
{
    (void)results;
}

void __wrap_results_compare(struct results *results);
void __wrap_results_compare(struct results *results)
{
    (void)results;
}

const struct registry_snapshot *__wrap_registry_get_snapshot(struct registry *r);
const struct registry_snapshot *__wrap_registry_get_snapshot(struct registry *r)
{
    (void)r;
    return NULL;
}

void __wrap_registry_put_snapshot(const struct registry_snapshot *snap);
void __wrap_registry_put_snapshot(const struct registry_snapshot *snap)
{
    (void)snap;
}

const struct registry_group *__wrap_registry_find_group(const struct registry_snapshot *snap, int64_t id);
const struct registry_group *__wrap_registry_find_group(const struct registry_snapshot *snap, int64_t id)
{
    (void)snap, (void)id;
    return NULL;
}

bool __wrap_registry_is_trigger_path(struct registry *r, const char *address);
bool __wrap_registry_is_trigger_path(struct registry *r, const char *address)
{
    (void)r, (void)address;
    return knows_trigger;
}

void __wrap_registry_note_generation(struct registry *r, const char *address, bool trigger_path);
void __wrap_registry_note_generation(struct registry *r, const char *address, bool trigger_path)
{
    (void)r, (void)address;
    knows_trigger = trigger_path;
}

static void on_sent(void *arg, int shard, size_t count)
{
    (void)arg, (void)shard;
    sent_count += (int64_t)count;
}

/* ---- fires ------------------------------------------------------------------------------------------------------- */

static void submit_fire(void)
{
    static const char *const routes[] = {"FIRST", "FAILOVER", "BUSYOVER", "ROUND", "LAST", "nosuch"};
    static const char *const lists[] = {"http://10.0.0.1:9999",
                                        "http://10.0.0.1:9999/,http://10.0.0.2:9999",
                                        "http://10.0.0.1:9999/a/,http://[fd00::1]:80/,http://10.0.0.3",
                                        "",
                                        "http://169.254.169.254/",
                                        "nonsense,http://10.0.0.1:9999"};
    struct job_spec *job = calloc(1, sizeof *job);
    struct fire *fire = fire_create();
    unsigned what = draw(32);
    static char *source;

    if (fire_count == FIRES) {
        free(job);
        fire_destroy(fire);
        return;
    }
    if (!source) {
        source = malloc(20001);
        memset(source, 's', 20000);
        source[20000] = '\0';
    }
    atomic_init(&job->refs, 1);
    job->id = 8;
    job->group = 3;
    job->running = true;
    job->route = routes[what % ARRAY_LEN(routes)];
    job->handler = "demoJobHandler";
    job->block = "SERIAL_EXECUTION";
    job->glue_type = what & 16 ? "GLUE_SHELL" : "BEAN";
    job->glue_source = what & 16 ? source : "";
    fire->log_id = ++fire_count;
    fires[fire_count - 1] = (struct fire_seen){.log_id = fire->log_id};
    fire->job_id = job->id;
    fire->group = job->group;
    fire->due_s = fire->original_due_s = get_wall_us(&fuzz_clock) / 1000000 + (what & 8 ? 2 : 0);
    fire->shard = what & 8 ? 1 : -1;
    fire->shard_total = 1;
    fire->row_hash = job->row_hash = fire_row_hash(3, job->handler, NULL, 0);
    fire->job = job;
    fire->target = group_spec_create(3, "app", draw(2) ? "" : "token", true, lists[draw(ARRAY_LEN(lists))]);
    if (what & 8)
        dispatch_submit(dispatch, fire, now_ms + 20000);
    else
        dispatch_submit_direct(dispatch, fire);
}

/* ---- the play ---------------------------------------------------------------------------------------------------- */

static bool is_calling; /* no dispatch: somebody waits for a call */
static int64_t over_ms; /* when the input was over; 0: it is not */

static void play(void)
{
    static const int64_t times_ms[] = {1, 10, 100, 1000, 2999, 3000, 3001, 61000};
    struct side *c = net.count ? &net.list[draw((unsigned)net.count)] : NULL;
    struct buf bytes = {0};
    unsigned what = draw(12);

    take_all_bytes();
    if (what == 0) {
        now_ms += times_ms[draw(ARRAY_LEN(times_ms))];
    } else if (what == 1) {
        net.refuses = draw(2);
    } else if (what == 2) {
        net.fails_later = draw(2);
    } else if (what == 3 && !is_calling) {
        submit_fire();
    } else if (what == 4 && !is_calling && draw(4) == 3) {
        (void)dispatch_drain(dispatch, 0);
    } else if (what == 5 && c) {
        close_side(c);
    } else if (what == 6 && c && c->fd >= 0) {
        shutdown(c->fd, SHUT_WR); /* and reads on */
        c->has_ended = true;
    } else if (what == 7 && c) { /* in two pieces, with a turn between */
        put_answer(&bytes);
        send_bytes(c, bytes.data, bytes.len > 0 ? draw(255) % bytes.len : 0);
    } else if (what >= 8 && c) {
        put_answer(&bytes);
        if (what == 8) { /* what is left of an answer that was begun */
            size_t at = c->out.len < bytes.len ? c->out.len : bytes.len;

            send_bytes(c, bytes.data + at, bytes.len - at);
        } else {
            send_bytes(c, bytes.data, bytes.len);
        }
    }
    buf_fini(&bytes);
}

size_t __real_poller_wait(struct poller *p, int64_t wait_us, struct poller_event *out, size_t max);
size_t __wrap_poller_wait(struct poller *p, int64_t wait_us, struct poller_event *out, size_t max);
size_t __wrap_poller_wait(struct poller *p, int64_t wait_us, struct poller_event *out, size_t max)
{
    size_t count;

    take_all_bytes();
    count = __real_poller_wait(p, 0, out, max);
    if (count)
        return count;
    if (input.left) {
        play();
    } else {
        if (!over_ms)
            over_ms = now_ms;
        must(now_ms - over_ms < END_MS, "all ends in time");
        now_ms += wait_us > 1000000 ? 1000 : wait_us > 1000 ? wait_us / 1000 : 1;
    }
    if (!is_calling && !input.left && ended_count == fire_count)
        dispatch_stop(dispatch);
    return __real_poller_wait(p, 0, out, max);
}

static void run_fires(void)
{
    static struct access_box access_box;
    struct dispatch_opts opts = {.threads = 1,
                                 .per_address = 4,
                                 .queue_max = 1000,
                                 .results_max = draw(4) ? 1000 : 2,
                                 .node_name = "n1",
                                 .admin_ip = "10.1.2.3",
                                 .access = &access_box,
                                 .sent = on_sent};
    struct errctx ec;
    static int results_stand_in;

    opts.style.lang = LANG_EN;
    opts.style.full = draw(2);
    access_box_init(&access_box);
    if (!access_box_set(&access_box, "secret", NULL, TIMEOUT_MS) ||
        dispatch_create(&opts, NULL, (struct results *)&results_stand_in, &fuzz_clock, &counters, &dispatch, &ec))
        abort();
    if (dispatch_start(dispatch, &ec))
        abort();
    submit_fire();
    loop_thread.run(loop_thread.arg);
    must(ended_count == fire_count && sent_count == fire_count, "each fire ends, and is told of once");
    must(dispatch_count_open(dispatch) == 0, "nothing is open");
    dispatch_destroy(dispatch);
    access_box_fini(&access_box);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

static void check_answer(const struct answer *answer, bool reached)
{
    struct http_reader r = {0};
    struct buf copy = {0};
    struct answer uncut = {0};
    bool said = false;

    take_all_bytes();
    if (net.count && read_uncut(&net.list[0], false, &r, &copy) == HTTP_READ_WHOLE) {
        answer_parse(r.status, copy.data + r.body_at, r.body_len, net.list[0].path, &uncut);
        said = uncut.from_executor && uncut.code == answer->code;
        answer_fini(&uncut);
    }
    must(!answer->from_executor || (said && reached), "what is the executor's own was said");
    must(answer->code != 0, "there is a code");
    must(!answer->text || strlen(answer->text) < 17000, "texts have a bound");
    buf_fini(&copy);
}

static void run_call(unsigned kind)
{
    struct executor_target target = {.address = draw(2) ? "http://10.0.0.1:9999/" : "http://10.0.0.1:80/a",
                                     .app_name = "app",
                                     .access_token = "token",
                                     .timeout_ms = TIMEOUT_MS};
    struct executor_calls *calls = NULL;
    struct answer answer = {0};
    struct log_answer log = {0};
    struct errctx ec;
    bool reached = true;
    int64_t from_line = (int64_t)draw(3);
    int64_t begun_ms = now_ms;

    is_calling = true;
    if (executor_calls_create(&fuzz_clock, NULL, NULL, 1, &calls, &ec))
        abort();
    if (kind == 0) {
        must(!executor_kill(calls, &target, 7, &answer, &ec), "a kill has its answer");
        check_answer(&answer, true);
    } else if (kind == 1) {
        must(!executor_ask_beat(calls, &target, &answer, &reached, &ec), "a beat has its answer");
        check_answer(&answer, reached);
    } else {
        must(!executor_read_log(calls, &target, 7, 1700000000000, from_line, &log, &ec), "a log has its answer");
        must(log.answer.code != 0, "there is a code");
    }
    must(now_ms - begun_ms < TIMEOUT_MS + 62000, "a call ends in time"); /* a step of the clock behind its time */
    answer_fini(&answer);
    log_answer_fini(&log);
    executor_calls_destroy(calls);
    is_calling = false;
}

static int count_descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int count = 0;

    while (readdir(d))
        count++;
    closedir(d);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int before = count_descriptors();
    unsigned kind;

    input_begin(data, size);
    now_ms = 1000000;
    over_ms = sent_count = fire_count = ended_count = 0;
    memset(&net, 0, sizeof net);
    kind = draw(8);
    net.small = draw(4) == 3;
    knows_trigger = draw(2);
    if (kind < 5)
        run_fires();
    else
        run_call(kind - 5);
    for (int i = 0; i < net.count; i++) {
        close_side(&net.list[i]);
        buf_fini(&net.list[i].in);
        buf_fini(&net.list[i].out);
    }
    must(count_descriptors() == before, "no descriptor is left");
    return 0;
}
