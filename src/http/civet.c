/* SPDX-License-Identifier: MIT */
#include "http/civet.h"

#include "http/address.h"

#include <civetweb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/resource.h>

#define KEEP_ALIVE_REAL_MS "1500"
#define KEEP_ALIVE_TOLD_S 1
#define REQUEST_TIMEOUT_MS "5000" /* for the head, and for each piece of the body */
#define BACKLOG                                                                                                        \
    "16384" /* of the kernel, which cuts it to net.core.somaxconn: what does not fit comes again after a second */
#define QUEUE_MIN 1024
#define QUEUE_MAX 10000
#define PIECE 65536
#define BODIES_MAX 8     /* room for so many bodies of the largest size at a time */
#define SMALL_BODY PIECE /* bodies up to this size always have room */
#define DROP_MAX ((int64_t)1 << 30)

struct civet {
    struct civet_opts opts;          /* [const] */
    struct mg_context *ctx;          /* [const] after start */
    char listen[100];                /* [const] */
    struct sockaddr_storage address; /* [const] where it listens; the port is that of `port` */
    socklen_t address_len;           /* [const] */
    int port;                        /* [const] after start */
    _Atomic bool started;            /* [atomic] mg_start has returned */
    _Atomic bool stopping;           /* [atomic] set once in civet_stop */
    _Atomic int connections;         /* [atomic] that workers have */
    _Atomic int requests;            /* [atomic] under way */
    _Atomic size_t body_bytes;       /* [atomic] held by bodies larger than SMALL_BODY */
    char error[200];                 /* [start] written by the library's messages while it starts, by one thread */
};

/* ---- requests -------------------------------------------------------------------------------------------------------------- */

static const char *get_header(const void *connection, const char *name)
{
    return mg_get_header((const struct mg_connection *)connection, name);
}

/* The room that all large bodies share. False when there is none; *held grows to `want` otherwise. */
static bool reserve_room(struct civet *c, size_t *held, size_t want)
{
    if (want <= SMALL_BODY)
        return true;
    size_t more = want - *held;
    size_t before = atomic_fetch_add_explicit(&c->body_bytes, more, memory_order_relaxed);
    if (before + more > c->opts.max_body * BODIES_MAX) {
        atomic_fetch_sub_explicit(&c->body_bytes, more, memory_order_relaxed);
        return false;
    }
    *held = want;
    return true;
}

static void release_room(struct civet *c, size_t held)
{
    atomic_fetch_sub_explicit(&c->body_bytes, held, memory_order_relaxed);
}

/* Reads what is left and forgets it: an answer to a client that is still sending would be lost with the connection. */
static void drop_body(struct mg_connection *conn)
{
    char piece[8192];
    int64_t dropped = 0;
    for (int n; dropped < DROP_MAX && (n = mg_read(conn, piece, sizeof(piece))) > 0;)
        dropped += n;
}

/* By Content-Length or chunked: the library tells neither how much comes in a chunked body, nor an early end from a whole one. */
static enum body_state read_body(struct civet *c, struct mg_connection *conn, struct buf *body, size_t *held)
{
    char piece[PIECE];
    int64_t length = mg_get_request_info(conn)->content_length; /* -1: none given, or chunked */
    int n;

    if (length > 0 && (uint64_t)length > c->opts.max_body) {
        drop_body(conn);
        return BODY_TOO_LARGE;
    }
    while ((n = mg_read(conn, piece, sizeof(piece))) > 0) {
        bool room = true;
        if (body->len + (size_t)n > c->opts.max_body || !(room = reserve_room(c, held, body->len + (size_t)n))) {
            drop_body(conn);
            return room ? BODY_TOO_LARGE : BODY_NO_ROOM;
        }
        buf_append(body, piece, (size_t)n);
        if (buf_failed(body)) {
            drop_body(conn);
            return BODY_NO_ROOM;
        }
    }
    return n < 0 || (length >= 0 && body->len != (size_t)length) ? BODY_BROKEN : BODY_WHOLE;
}

static bool has_option(const char *header, const char *option)
{
    size_t len = strlen(option);
    while (header && *header) {
        header += strspn(header, " \t,");
        size_t n = strcspn(header, ",");
        size_t trimmed = n;
        while (trimmed && (header[trimmed - 1] == ' ' || header[trimmed - 1] == '\t'))
            trimmed--;
        if (trimmed == len && !strncasecmp(header, option, len))
            return true;
        header += n;
    }
    return false;
}

static bool may_keep(struct civet *c, struct mg_connection *conn, enum body_state body)
{
    int limit = c->opts.threads / 2 > 1 ? c->opts.threads / 2 : 1;
    return has_option(mg_get_header(conn, "Connection"), "keep-alive") && body != BODY_BROKEN &&
           !civet_is_stopping(c) && atomic_load_explicit(&c->connections, memory_order_relaxed) <= limit;
}

static const char *status_text(int status)
{
    switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    }
    return "Unknown";
}

/* Head and body in one write: two writes cost 40 ms, the second waits for the acknowledgement of the first. */
static void send_response(struct mg_connection *conn, const struct http_response *r, bool keep, bool head_only)
{
    struct buf out = {0};
    buf_printf(&out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n", r->status, status_text(r->status),
               r->content_type, r->body.len);
    if (keep)
        buf_printf(&out, "Connection: keep-alive\r\nKeep-Alive: timeout=%d\r\n\r\n", KEEP_ALIVE_TOLD_S);
    else
        buf_puts(&out, "Connection: close\r\n\r\n");
    if (!head_only && r->body.len)
        buf_append(&out, r->body.data, r->body.len);
    if (!buf_failed(&out))
        mg_write(conn, out.data, out.len);
    if (!keep || buf_failed(&out))
        mg_disable_connection_keep_alive(conn);
    buf_fini(&out);
}

static void answer(struct civet *c, struct mg_connection *conn)
{
    const struct mg_request_info *info = mg_get_request_info(conn);
    const char *expect = mg_get_header(conn, "Expect");
    struct buf body = {0};
    size_t held = 0;

    if (expect && !strcasecmp(expect, "100-continue")) {
        static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
        mg_write(conn, go_on, sizeof(go_on) - 1);
    }
    enum body_state state = read_body(c, conn, &body, &held);
    struct http_request q = {
        .method = info->request_method,
        .path = info->local_uri_raw ? info->local_uri_raw : "/",
        .body = body.data ? body.data : "",
        .body_len = body.len,
        .body_state = state,
        .get_header = get_header,
        .connection = conn,
    };
    struct http_response r = {.status = 500, .content_type = "application/json"};
    bool keep = may_keep(c, conn, state);
    c->opts.handle(c->opts.arg, &q, &r);
    if (buf_failed(&r.body)) {
        buf_fini(&r.body);
        r.status = 500;
        keep = false;
    }
    send_response(conn, &r, keep, !strcmp(q.method, "HEAD"));
    buf_fini(&r.body);
    buf_fini(&body);
    release_room(c, held);
}

/* ---- callbacks of the library ------------------------------------------------------------------------------------------------ */

static int on_request(struct mg_connection *conn)
{
    struct civet *c = mg_get_user_context_data(conn);
    atomic_fetch_add_explicit(&c->requests, 1, memory_order_relaxed);
    answer(c, conn);
    atomic_fetch_sub_explicit(&c->requests, 1, memory_order_release); /* pairs with the acquire in civet_stop */
    return 200;
}

static int on_connection(const struct mg_connection *conn, void **data)
{
    struct civet *c = mg_get_user_context_data(conn);
    (void)data;
    atomic_fetch_add_explicit(&c->connections, 1, memory_order_relaxed);
    return 0;
}

static void on_close(const struct mg_connection *conn)
{
    struct civet *c = mg_get_user_context_data(conn);
    atomic_fetch_sub_explicit(&c->connections, 1, memory_order_relaxed);
}

/* What the library itself refuses (no HTTP, a head that is too long): JSON here too. */
static int on_error(struct mg_connection *conn, int status, const char *text)
{
    struct http_response r = {.status = status, .content_type = "application/json"};
    struct buf msg = {0};
    buf_printf(&msg, "%s", text);
    buf_printf(&r.body, "{\"code\":%d,\"msg\":", status);
    buf_put_json(&r.body, buf_failed(&msg) ? "" : msg.data);
    buf_puts(&r.body, ",\"content\":null,\"data\":null}");
    send_response(conn, &r, /*keep=*/false, /*head_only=*/false);
    buf_fini(&msg);
    buf_fini(&r.body);
    return 0;
}

static int on_message(const struct mg_connection *conn, const char *text)
{
    struct civet *c = mg_get_user_context_data(conn);
    if (c && !atomic_load_explicit(&c->started, memory_order_relaxed) && !c->error[0])
        snprintf(c->error, sizeof(c->error), "%s", text);
    else
        log_debug("http", "event=library_message text=%s", log_quote(text).s);
    return 1; /* nothing to its own log */
}

/* ---- start ------------------------------------------------------------------------------------------------------------ */

enum err civet_check_port(const char *bind_to, int port, struct errctx *ec)
{
    struct sockaddr_storage address;
    socklen_t len;
    return address_check(bind_to, port, &address, &len, ec);
}

/* Accepted connections that may wait for a worker: ten thousand executors may beat at once. Each takes a descriptor, and others
 * need theirs. */
static int choose_queue(void)
{
    struct rlimit files;

    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur / 2 < QUEUE_MIN)
        return QUEUE_MIN;
    return files.rlim_cur / 2 < QUEUE_MAX ? (int)(files.rlim_cur / 2) : QUEUE_MAX;
}

enum err civet_start(const struct civet_opts *opts, struct civet **out, struct errctx *ec)
{
    static const struct mg_callbacks callbacks = {
        .begin_request = on_request,
        .init_connection = on_connection,
        .connection_close = on_close,
        .http_error = on_error,
        .log_message = on_message,
        /* No log_access: with it the library formats a line for each answer, by a call that is not thread-safe. */
    };
    struct sockaddr_storage address;
    socklen_t len;
    enum err e = address_check(opts->bind, opts->port, &address, &len, ec);
    if (e)
        return e;
    struct civet *c = calloc(1, sizeof(*c));
    if (!c)
        return err_set(ec, ERR_NOMEM, "out of memory for the HTTP server");
    c->opts = *opts;
    c->address = address;
    c->address_len = len;
    address_format(&address, !opts->bind || !*opts->bind, opts->port, c->listen, sizeof(c->listen));
    char threads[12], queue[12];
    snprintf(threads, sizeof(threads), "%d", opts->threads);
    snprintf(queue, sizeof(queue), "%d", choose_queue());
    const char *options[] = {"listening_ports",
                             c->listen,
                             "num_threads",
                             threads,
                             "enable_keep_alive",
                             "yes",
                             "keep_alive_timeout_ms",
                             KEEP_ALIVE_REAL_MS,
                             "request_timeout_ms",
                             REQUEST_TIMEOUT_MS,
                             "tcp_nodelay",
                             "1",
                             "listen_backlog",
                             BACKLOG,
                             "connection_queue",
                             queue,
                             "max_request_size",
                             "65536",
                             "enable_directory_listing",
                             "no",
                             NULL};
    mg_init_library(MG_FEATURES_DEFAULT);
    struct mg_context *ctx = mg_start(&callbacks, c, options);
    atomic_store_explicit(&c->started, true, memory_order_relaxed);
    if (!ctx) {
        err_set(ec, ERR_IO, "the HTTP server did not start on port %d: %s", opts->port,
                c->error[0] ? c->error : "no reason given");
        mg_exit_library();
        free(c);
        return ERR_IO;
    }
    c->ctx = ctx;
    struct mg_server_port port = {0};
    c->port = mg_get_server_ports(ctx, 1, &port) == 1 ? port.port : opts->port;
    *out = c;
    return ERR_OK;
}

int civet_get_port(const struct civet *c)
{
    return c->port;
}

bool civet_is_stopping(const struct civet *c)
{
    return atomic_load_explicit(&c->stopping, memory_order_relaxed);
}

/* ---- stop ------------------------------------------------------------------------------------------------------------------ */

/* Waits on nothing but the clock and `ended`; the library has no word for what is waited for here. */
struct pauser {
    const struct civet *c;     /* [const] */
    const struct clock *clock; /* [const] */
    struct mutex lock;         /* rank LOCK_LEAF */
    struct cond wake;          /* with lock */
    bool ended;                /* [lock] */
};

static bool pause_for(struct pauser *p, int64_t ms)
{
    mutex_lock(&p->lock);
    if (!p->ended)
        cond_wait_until(&p->wake, &p->lock, clock_mono_ms(p->clock) + ms);
    bool ended = p->ended;
    mutex_unlock(&p->lock);
    return ended;
}

/* The library's accepting thread looks for the stop only every 2 s, or when a connection comes: so one comes. */
static void run_waker(void *arg)
{
    struct pauser *p = arg;
    do {
        address_connect_once(&p->c->address, p->c->address_len, p->c->port);
    } while (!pause_for(p, 50));
}

void civet_stop(struct civet *c, const struct clock *clock, int64_t grace_ms)
{
    struct pauser p = {.c = c, .clock = clock};
    struct thread waker = {0};
    struct errctx ec;
    int64_t until = clock_mono_ms(clock) + grace_ms;

    if (!c->ctx)
        return;
    atomic_store_explicit(&c->stopping, true, memory_order_relaxed);
    mutex_init(&p.lock, LOCK_LEAF);
    cond_init(&p.wake);
    /* The library cuts off answers under way when it stops, so they come first. The acquire pairs with on_request. */
    while (atomic_load_explicit(&c->requests, memory_order_acquire) > 0 && clock_mono_ms(clock) < until)
        pause_for(&p, 5);
    if (thread_start(&waker, "http-stop", run_waker, &p, &ec))
        log_debug("http", "event=slow_stop error=%s", log_quote(ec.text).s);
    mg_stop(c->ctx);
    mutex_lock(&p.lock);
    p.ended = true;
    cond_broadcast(&p.wake);
    mutex_unlock(&p.lock);
    thread_join(&waker);
    cond_fini(&p.wake);
    mutex_fini(&p.lock);
    mg_exit_library();
    c->ctx = NULL;
}

void civet_destroy(struct civet *c)
{
    free(c);
}
