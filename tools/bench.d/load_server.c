/* SPDX-License-Identifier: MIT */
/*
 * load_server: the executor's HTTP server: reads requests, pipelined ones too, and answers each in its order.
 *
 * A request is read straight into one buffer for all connections; only what is left of an incomplete one is
 * kept with its connection. A connection that waits (an answer delayed, or output the peer does not take)
 * is not read, so that one peer can neither fill our memory nor overtake itself.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "load_executor.h"
#include "load_calls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_BYTES = 256 * 1024 };
/* Told once, so that a turn does not ask again for what the one before has read. */
static const uint32_t input_events = EPOLLIN | EPOLLRDHUP | EPOLLET;
static const uint32_t events_stale = UINT32_MAX; /* to be set anew, so that what is there is told again */
static const int64_t idle_close_us = 90 * INT64_C(1000000);

struct listener {
    struct watch watch;
    int address; /* from 0 */
    enum address_kind kind;
};

struct conn {
    struct watch watch;
    const struct listener *listener;
    struct conn *prev, *next;  /* all connections, the one used last at the end */
    struct conn *delayed_next; /* in server.delayed, if answer_mono_us is set */
    struct conn *ready_next;   /* in server.ready, between its read and the end of the turn */
    struct buf in;             /* the head of an incomplete request */
    struct buf out;            /* what the peer has not taken yet; or the delayed answer */
    int64_t answer_mono_us;    /* 0, or when the delayed answer in out may go */
    int64_t used_mono_us;
    uint64_t discard;   /* bytes of a refused body that are still to come */
    bool broken;        /* to be closed once its answers are gone */
    bool gone;          /* the peer went while an answer was delayed; freed when that is due */
    bool continue_sent; /* "100 Continue" for the request in `in` */
    uint32_t events;    /* what epoll watches it for, or events_stale */
};

struct server {
    struct listener *listeners;
    struct conn *oldest, *newest;
    struct conn *delayed_head, *delayed_tail; /* by answer_mono_us: the delay is one constant */
    struct conn *ready;                       /* read in this turn */
    char *input;                              /* READ_BYTES */
};

/* ---- connections ---- */

static void unlink_conn(struct server *s, struct conn *c)
{
    *(c->prev ? &c->prev->next : &s->oldest) = c->next;
    *(c->next ? &c->next->prev : &s->newest) = c->prev;
    c->prev = c->next = NULL;
}

static void link_newest(struct server *s, struct conn *c)
{
    c->prev = s->newest;
    *(s->newest ? &s->newest->next : &s->oldest) = c;
    s->newest = c;
}

static void close_conn(struct executor *x, struct conn *c)
{
    if (c->watch.fd >= 0)
        close(c->watch.fd);
    c->watch.fd = -1;
    if (c->answer_mono_us) { /* still in the list of delayed ones, which frees it */
        c->gone = true;
        return;
    }
    unlink_conn(x->server, c);
    buf_fini(&c->in);
    buf_fini(&c->out);
    free(c);
}

static void watch_conn(struct executor *x, struct conn *c)
{
    uint32_t events = c->answer_mono_us ? 0 : c->out.len ? EPOLLOUT : input_events;

    if (events != c->events)
        executor_watch(x, &c->watch, events, /*add=*/false);
    c->events = events;
}

/* False if the connection broke. */
static bool send_out(struct conn *c)
{
    while (c->out.len > 0) {
        ssize_t n = send(c->watch.fd, c->out.data, c->out.len, MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return errno == EAGAIN;
        buf_consume(&c->out, (size_t)n);
    }
    buf_shrink(&c->out);
    return true;
}

/* ---- reading ---- */

/* 413 without a body, and what the peer still sends of its own is dropped: the connection stays usable. */
static size_t refuse_too_large(struct executor *x, struct conn *c, size_t head, uint64_t length, size_t len)
{
    static const char text[] = "HTTP/1.1 413 Request Entity Too Large\r\ncontent-length: 0\r\n\r\n";
    size_t here = len - head < length ? len - head : (size_t)length;

    x->count.bad_requests++;
    buf_append(&c->out, text, sizeof(text) - 1);
    c->discard = length - here;
    return head + here;
}

static void delay_answer(struct executor *x, struct conn *c)
{
    struct server *s = x->server;

    c->answer_mono_us = x->turn_mono_us + x->opt.answer_delay_us;
    c->delayed_next = NULL;
    *(s->delayed_tail ? &s->delayed_tail->delayed_next : &s->delayed_head) = c;
    s->delayed_tail = c;
}

/*
 * Handles the whole requests at the head of data and says how much of it is done with; false if the
 * connection is to be closed. It stops early when an answer must wait for its delay.
 */
static bool serve(struct executor *x, struct conn *c, const char *data, size_t len, int64_t wall_us, size_t *done)
{
    static const char bad_request[] = "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

    *done = 0;
    while (*done < len) {
        struct request r;
        size_t total;
        uint64_t length;

        switch (http_parse_request(data + *done, len - *done, &r, &total, &length)) {
        case HTTP_MORE:
            if (r.expects_continue && !c->continue_sent) {
                buf_append(&c->out, "HTTP/1.1 100 Continue\r\n\r\n", 25);
                c->continue_sent = true;
            }
            if (total > c->in.len) /* the head is whole: room for all of it, so that a long body is not moved often */
                buf_reserve(&c->in, total - c->in.len);
            return true;
        case HTTP_BAD:
            x->count.bad_requests++;
            buf_append(&c->out, bad_request, sizeof(bad_request) - 1);
            return false;
        case HTTP_TOO_LARGE: *done += refuse_too_large(x, c, total, length, len - *done); continue;
        case HTTP_DONE: break;
        }
        r.address = c->listener->address;
        r.kind = c->listener->kind;
        r.arrival_wall_us = wall_us;
        c->continue_sent = false;
        calls_handle(x, &r, &c->out);
        *done += total;
        if (r.kind == ADDRESS_SILENT || r.kind == ADDRESS_CLOSING)
            c->out.len = 0;
        if (r.kind == ADDRESS_CLOSING)
            return false;
        if (r.kind == ADDRESS_SLOW && x->opt.answer_delay_us) {
            delay_answer(x, c);
            return true;
        }
    }
    return true;
}

static size_t drop_discarded(struct conn *c, size_t len)
{
    size_t n = c->discard < len ? (size_t)c->discard : len;

    c->discard -= n;
    return n;
}

/* Serves what stands in c->in, when an answer that held it up has gone. */
static bool serve_kept(struct executor *x, struct conn *c, int64_t wall_us)
{
    size_t done;
    bool ok = serve(x, c, c->in.data, c->in.len, wall_us, &done);

    buf_consume(&c->in, done);
    buf_shrink(&c->in);
    return ok;
}

/* Serves what came, if anything did; false if the connection is to be closed. */
static bool read_conn(struct executor *x, struct conn *c, uint32_t events)
{
    bool kept = c->in.len > 0;
    size_t skip, done;
    char *at = x->server->input;
    size_t room = READ_BYTES;
    ssize_t n;
    bool ok;

    if (kept) {
        buf_reserve(&c->in, 16 * 1024);
        at = c->in.data + c->in.len;
        room = c->in.cap - c->in.len;
    }
    n = recv(c->watch.fd, at, room, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        c->events = events_stale;
        return true;
    }
    if (n <= 0)
        return false;
    if ((size_t)n == room || (events & ~(uint32_t)EPOLLIN)) /* more to read, or the end: to be told again */
        c->events = events_stale;
    if (kept) {
        c->in.len += (size_t)n;
        return serve_kept(x, c, now_wall_us());
    }
    skip = drop_discarded(c, (size_t)n);
    ok = serve(x, c, at + skip, (size_t)n - skip, now_wall_us(), &done);
    buf_append(&c->in, at + skip + done, (size_t)n - skip - done);
    return ok;
}

static void accept_conns(struct executor *x, const struct listener *l)
{
    for (;;) {
        int fd = accept4(l->watch.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        struct conn *c;

        if (fd < 0) {
            if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
                die("accept on port %d: %s", x->opt.port + l->address, strerror(errno));
            return;
        }
        c = calloc(1, sizeof(*c));
        if (!c)
            die("out of memory (a connection)");
        c->watch = (struct watch){WATCH_CONN, fd};
        c->listener = l;
        c->used_mono_us = x->turn_mono_us;
        c->events = input_events;
        link_newest(x->server, c);
        executor_watch(x, &c->watch, input_events, /*add=*/true);
        x->count.connections++;
    }
}

/* The answer that held this connection up may go now; the requests that waited behind it come next. */
static void go_on(struct executor *x, struct conn *c)
{
    bool ok = send_out(c);

    if (ok && c->out.len == 0 && c->in.len > 0)
        ok = serve_kept(x, c, now_wall_us()) && (c->answer_mono_us || send_out(c));
    if (ok)
        watch_conn(x, c);
    else
        close_conn(x, c);
}

void server_handle_event(struct executor *x, struct watch *w, uint32_t events)
{
    struct conn *c = (struct conn *)w;

    if (w->kind == WATCH_LISTENER) {
        accept_conns(x, (const struct listener *)w);
        return;
    }
    c->used_mono_us = x->turn_mono_us;
    unlink_conn(x->server, c);
    link_newest(x->server, c);
    if (c->answer_mono_us) { /* nothing is watched now but errors and hang-ups */
        close_conn(x, c);
    } else if (c->out.len == 0) {
        c->broken = !read_conn(x, c, events);
        c->ready_next = x->server->ready;
        x->server->ready = c;
    } else {
        go_on(x, c);
    }
}

/*
 * All that is there is read before anything is answered: a send takes several times as long as a read, and executors
 * on machines of their own do not wait for each other either.
 */
static void answer_ready(struct executor *x)
{
    struct server *s = x->server;

    while (s->ready) {
        struct conn *c = s->ready;

        s->ready = c->ready_next;
        /* Of a broken one the answers before the request that cannot be understood, as far as they go. */
        if ((c->answer_mono_us || send_out(c)) && !c->broken)
            watch_conn(x, c);
        else
            close_conn(x, c);
    }
}

void server_turn(struct executor *x)
{
    struct server *s = x->server;

    answer_ready(x);
    while (s->delayed_head && s->delayed_head->answer_mono_us <= x->turn_mono_us) {
        struct conn *c = s->delayed_head;

        s->delayed_head = c->delayed_next;
        if (!s->delayed_head)
            s->delayed_tail = NULL;
        c->answer_mono_us = 0;
        if (c->gone)
            close_conn(x, c);
        else
            go_on(x, c);
    }
    while (s->oldest && s->oldest->used_mono_us + idle_close_us <= x->turn_mono_us) {
        if (s->oldest->answer_mono_us) /* gone already, or its answer takes more than the 90 s */
            break;
        close_conn(x, s->oldest);
    }
}

int64_t server_next_wake(const struct executor *x)
{
    const struct server *s = x->server;
    int64_t wake = INT64_MAX;

    if (s->oldest && !s->oldest->answer_mono_us)
        wake = s->oldest->used_mono_us + idle_close_us;
    if (s->delayed_head && s->delayed_head->answer_mono_us < wake)
        wake = s->delayed_head->answer_mono_us;
    return wake;
}

/* ---- start and stop ---- */

static void start_listener(struct executor *x, struct listener *l)
{
    int port = x->opt.port + l->address;
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int on = 1;

    inet_pton(AF_INET, x->opt.listen_ip, &addr.sin_addr);
    l->watch = (struct watch){WATCH_LISTENER, socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)};
    if (l->watch.fd < 0)
        die("socket: %s", strerror(errno));
    setsockopt(l->watch.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    executor_tune_socket(l->watch.fd); /* what it accepts inherits that */
    if (bind(l->watch.fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 || listen(l->watch.fd, 1024) < 0)
        die("cannot listen on %s:%d: %s", x->opt.listen_ip, port, strerror(errno));
    executor_watch(x, &l->watch, EPOLLIN, /*add=*/true);
}

void server_start(struct executor *x)
{
    const struct options *o = &x->opt;
    struct server *s = calloc(1, sizeof(*s));

    if (s) {
        s->listeners = calloc((size_t)o->addresses, sizeof(*s->listeners));
        s->input = malloc(READ_BYTES);
    }
    if (!s || !s->listeners || !s->input)
        die("out of memory (%d addresses)", o->addresses);
    x->server = s;
    for (int i = 0; i < o->addresses; i++) {
        struct listener *l = &s->listeners[i];

        l->address = i;
        l->kind = i < o->silent_addresses                                           ? ADDRESS_SILENT
                  : i < o->silent_addresses + o->close_addresses                    ? ADDRESS_CLOSING
                  : o->slow_addresses == 0 || i >= o->addresses - o->slow_addresses ? ADDRESS_SLOW
                                                                                    : ADDRESS_NORMAL;
        start_listener(x, l);
    }
}

void server_close_listeners(struct executor *x)
{
    for (int i = 0; i < x->opt.addresses; i++) {
        if (x->server->listeners[i].watch.fd >= 0)
            close(x->server->listeners[i].watch.fd);
        x->server->listeners[i].watch.fd = -1;
    }
}

void server_stop(struct executor *x)
{
    struct server *s = x->server;

    server_close_listeners(x);
    for (struct conn *c = s->delayed_head; c; c = c->delayed_next)
        c->answer_mono_us = 0;
    s->delayed_head = s->delayed_tail = NULL;
    while (s->oldest)
        close_conn(x, s->oldest);
    free(s->listeners);
    free(s->input);
    free(s);
    x->server = NULL;
}
