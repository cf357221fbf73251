/* SPDX-License-Identifier: MIT */
#include "http/caller.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static void process(struct caller *c);

static void drop_answer(struct caller *c)
{
    buf_fini(&c->out);
    room_give(&c->front->answers, c->held);
    c->held = 0;
    c->sent = 0;
}

void caller_close(struct caller *c)
{
    struct front *f = c->front;
    bool whole = c->sent == c->out.len; /* else the client shall see that something is missing */

    TAILQ_REMOVE(&f->lists[c->state], c, in_list);
    caller_end(&c->ex);
    buf_fini(&c->in);
    drop_answer(c);
    f->pending -= c->pending;
    f->callers--;
    counters_add(f->counters, COUNTER_HTTP_CONNECTIONS, -1);
    f->handshakes -= c->shaking;
    front_watch(c, 0); /* closing is not enough while a child process that is being started has the descriptor too */
    if (c->wire.tls && whole)
        tls_end(c->wire.tls);
    tls_destroy(c->wire.tls);
    close(c->wire.fd);
    free(c);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

/* Writes what the socket takes. False when the connection is broken. */
static bool send_some(struct caller *c)
{
    while (c->sent < c->out.len) {
        ssize_t n = wire_write(&c->wire, c->out.data + c->sent, c->out.len - c->sent);
        if (n < 0)
            return errno == EAGAIN || errno == EINTR;
        c->sent += (size_t)n;
    }
    return true;
}

static bool is_head(const struct caller *c)
{
    return c->ex && c->ex->head.method && !strcmp(c->ex->head.method, "HEAD");
}

/* False: clients that are slow to take theirs have all the room for large answers. */
static bool has_room(struct caller *c)
{
    if (buf_failed(&c->out) || c->out.len <= SMALL_ANSWER)
        return true;
    if (!room_take(&c->front->answers, c->out.len))
        return false;
    c->held = c->out.len;
    return true;
}

static void write_busy(struct caller *c, struct http_response *r);

/* Puts the answer together, head and body in one piece (two writes cost 40 ms: the second waits for the acknowledgement
 * of the first), and writes what the socket takes. */
static void send_answer(struct caller *c, struct http_response *r)
{
    if (buf_failed(&r->body) || buf_failed(&r->headers)) {
        buf_fini(&r->body);
        buf_fini(&r->headers);
        r->status = 500;
    }
    response_write(r, c->keep, is_head(c), &c->out);
    if (!has_room(c)) {
        drop_answer(c);
        write_busy(c, r);
        response_write(r, c->keep, is_head(c), &c->out);
    }
    response_fini(r);
    if (buf_failed(&c->out) || !send_some(c)) {
        drop_answer(c);
        c->keep = false;
        wire_cut(&c->wire);
    }
}

void caller_drop(struct caller *c)
{
    buf_fini(&c->in);
    front_count_pending(c);
    wire_end(&c->wire);
    front_move(c, CALLER_DROPPING);
    front_watch(c, EPOLLIN);
}

/* All of the answer is out. */
static void end_request(struct caller *c)
{
    bool rest = c->in.len > 0 || (c->ex && !c->ex->drained);

    caller_end(&c->ex);
    drop_answer(c);
    c->scanned = 0;
    if (c->keep) {
        front_move(c, CALLER_KEPT);
        process(c);
    } else if (!rest) {
        caller_close(c);
    } else { /* closed with bytes unread, the client's system would throw the answer away */
        caller_drop(c);
    }
}

void caller_end_answer(struct caller *c)
{
    if (c->shaking) {
        caller_end_step(c);
        return;
    }
    if (c->sent == c->out.len) {
        end_request(c);
        return;
    }
    caller_end(&c->ex);
    front_move(c, CALLER_WRITING);
    front_watch(c, EPOLLOUT);
}

void caller_write(struct caller *c)
{
    if (!send_some(c))
        caller_close(c);
    else if (c->sent == c->out.len)
        end_request(c);
}

/* Programs of the console's users send a request again where the connection turns out to be closed; those of executors
 * do not, see front.h. */
static bool may_keep(const struct caller *c)
{
    const struct front *f = c->front;
    const struct exchange *ex = c->ex;
    bool wanted = lane_is_peoples(ex->lane) ? ex->head.may_keep : ex->head.keep;

    return wanted && ex->drained && !front_is_stopping(f) && f->callers <= f->callers_max / 2;
}

/* As a worker would, so that the connection's next request is looked at in another turn, whoever answers this one. */
static void answer(struct caller *c, struct http_response *r)
{
    front_move(c, CALLER_BUSY);
    front_count_pending(c);
    send_answer(c, r);
    front_return(c);
}

/* What the server itself refuses; the connection ends with it. */
static void refuse(struct caller *c, int status, const char *msg)
{
    struct http_response r = {0};

    c->keep = false;
    response_set_error(&r, status, msg);
    answer(c, &r);
}

/* ---- workers ----------------------------------------------------------------------------------------------------- */

static const char *get_header(const void *connection, const char *name)
{
    return head_get_field(connection, name);
}

static struct http_request make_request(struct caller *c)
{
    struct exchange *ex = c->ex;

    return (struct http_request){
        .method = ex->head.method,
        .path = ex->head.path,
        .query = ex->head.query,
        .body = ex->body.bytes.data ? ex->body.bytes.data : "",
        .body_len = ex->body.bytes.len,
        .body_state = ex->body_state,
        .max_body = ex->max_body,
        .room = &c->front->room,
        .peer = c->peer,
        .trusted = c->trusted ? c->front->opts.trusted : NULL,
        .tls = c->wire.tls != NULL,
        .get_header = get_header,
        .get_next_header = head_get_next_field,
        .connection = &ex->head,
    };
}

static struct http_response make_response(const struct caller *c)
{
    return (struct http_response){
        .status = 500, .content_type = "application/json", .hsts_s = c->wire.tls ? c->front->opts.hsts_s : 0};
}

void caller_run(void *front, struct lane_job *job)
{
    struct front *f = front;
    struct caller *c = (struct caller *)job; /* its first member */
    struct http_request q = make_request(c);
    struct http_response r = make_response(c);

    struct stream stream;
    if (c->ex->lane == HTTP_LANE_CONSOLE) {
        stream_init(&stream, &f->streams, &c->wire, c->ex->head.old, is_head(c), c->keep);
        r.stream = &stream;
    }
    f->opts.handle(f->opts.arg, &q, &r);
    http_body_fini(&c->ex->body); /* before a slow client takes his time for the answer */
    if (r.stream && stream_end(&stream, &r, &c->keep))
        response_fini(&r);
    else
        send_answer(c, &r);
    front_return(c);
}

/* There is no room for the request, or for what would answer it. */
static void write_busy(struct caller *c, struct http_response *r)
{
    struct front *f = c->front;
    struct http_request q = make_request(c);
    struct errctx ec;

    response_fini(r);
    *r = make_response(c);
    f->opts.write_busy(f->opts.arg, &q, r);
    if (response_add_header(r, "Retry-After", "1", &ec))
        c->keep = false;
    counters_add(f->counters, COUNTER_HTTP_TURNED_AWAY_REQUESTS, 1);
}

/* Ten thousand heartbeats at once would cost more in waking workers than in answering. A large body is not for the
 * front: to read it takes time. */
static bool is_for_front(const struct exchange *ex)
{
    return ex->lane == HTTP_LANE_AT_ONCE && ex->body.bytes.len <= SMALL_BODY;
}

/* The request is whole, or as whole as it will be. */
static void hand_over(struct caller *c)
{
    struct front *f = c->front;
    struct exchange *ex = c->ex;

    c->keep = may_keep(c);
    front_move(c, CALLER_BUSY);
    front_count_pending(c);
    if (is_for_front(ex)) {
        caller_run(f, &c->job);
        return;
    }
    if (lane_put(f->lanes[ex->lane], &c->job, /*ahead=*/!ex->body.bytes.len))
        return;
    struct http_response r = make_response(c);
    write_busy(c, &r);
    answer(c, &r);
}

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

/* Bytes came that are the body's first; those behind it go to `in`. */
static void feed_body(struct caller *c, const char *bytes, size_t len)
{
    size_t used;

    if (!caller_take_body(c->ex, &c->front->room, bytes, len, &used)) {
        refuse(c, 400, "the chunks of the body are not valid");
        return;
    }
    if (used < len)
        buf_append(&c->in, bytes + used, len - used);
    if (c->ex->drained || c->ex->body_state != BODY_WHOLE) {
        hand_over(c);
        return;
    }
    front_count_pending(c);
    front_watch(c, EPOLLIN);
}

/* ---- heads ------------------------------------------------------------------------------------------------------- */

/* Drops the first bytes of `in`. */
static void consume(struct caller *c, size_t len)
{
    c->in.len -= len;
    c->scanned = 0;
    if (c->in.len)
        memmove(c->in.data, c->in.data + len, c->in.len + 1);
    else
        buf_fini(&c->in);
}

static void go_on(struct caller *c)
{
    static const char line[] = "HTTP/1.1 100 Continue\r\n\r\n";

    if (wire_write(&c->wire, line, sizeof line - 1) != sizeof line - 1)
        wire_cut(&c->wire);
}

/* The head was admitted. */
static void begin_body(struct caller *c)
{
    struct exchange *ex = c->ex;

    if (ex->left > ex->max_body) {
        caller_give_up(ex, BODY_TOO_LARGE);
        hand_over(c);
        return;
    }
    front_move(c, CALLER_BODY);
    if (c->in.len) {
        struct buf came = c->in;
        c->in = (struct buf){0};
        feed_body(c, came.data, came.len);
        buf_fini(&came);
        return;
    }
    if (ex->head.expects_continue)
        go_on(c);
    front_count_pending(c);
    front_watch(c, EPOLLIN);
}

/* Of a refused request what is there already is dropped, and if that is all of it, the connection stays good. */
static void answer_refused(struct caller *c, struct http_response *r)
{
    struct exchange *ex = c->ex;

    if (!ex->head.chunked && ex->left && ex->left <= c->in.len) {
        consume(c, (size_t)ex->left);
        ex->drained = true;
    }
    c->keep = may_keep(c);
    answer(c, r);
}

static void begin_request(struct caller *c, size_t head_len)
{
    struct front *f = c->front;
    const char *why = NULL;

    struct exchange *ex = caller_begin(c->in.data, head_len);
    if (!ex) {
        caller_close(c);
        return;
    }
    c->ex = ex;
    consume(c, head_len);
    int status = head_read(ex->text, head_len, &ex->head, &why);
    if (status) {
        refuse(c, status, why);
        return;
    }
    ex->left = ex->head.length;
    ex->drained = !ex->head.chunked && !ex->left;
    struct http_request q = make_request(c);
    struct http_response r = make_response(c);
    ex->max_body = f->opts.max_body;
    ex->lane = f->opts.admit(f->opts.arg, &q, &ex->max_body, &r);
    if (ex->lane == HTTP_LANE_REFUSED) {
        answer_refused(c, &r);
        return;
    }
    response_fini(&r);
    if (ex->drained)
        hand_over(c);
    else
        begin_body(c);
}

/* No request is under way: looks for one in what came. */
static void process(struct caller *c)
{
    size_t end = 0;

    if (c->in.len >= 2 && !memcmp(c->in.data, "\r\n", 2) && !c->scanned)
        consume(c, 2); /* some clients write one too many behind a body */
    if (c->in.len == 1 && c->in.data[0] == '\r') {
        front_watch(c, EPOLLIN);
        return;
    }
    switch (head_find_end(c->in.len ? c->in.data : "", c->in.len, &c->scanned, &end)) {
    case HEAD_MORE:
        if (c->in.len && c->state != CALLER_HEAD)
            front_move(c, CALLER_HEAD);
        front_count_pending(c);
        front_watch(c, EPOLLIN);
        break;
    case HEAD_WHOLE: begin_request(c, end); break;
    case HEAD_BAD: refuse(c, 400, "this is not an HTTP/1.1 request"); break;
    case HEAD_TOO_LONG: refuse(c, 431, "the head of the request is too long"); break;
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The client sends no more. */
static void end_input(struct caller *c)
{
    if (c->state != CALLER_BODY) {
        caller_close(c);
        return;
    }
    caller_give_up(c->ex, BODY_BROKEN);
    hand_over(c);
}

/* Nothing that is dropped needs to be understood. */
static ssize_t read_some(struct caller *c)
{
    struct front *f = c->front;

    return c->state == CALLER_DROPPING ? recv(c->wire.fd, f->piece, sizeof f->piece, MSG_DONTWAIT)
                                       : wire_read(&c->wire, f->piece, sizeof f->piece);
}

static bool wants_room(const struct caller *c)
{
    return c->wire.tls && c->state != CALLER_DROPPING && tls_wants_room(c->wire.tls);
}

void caller_read(struct caller *c)
{
    struct front *f = c->front;

    if (f->opts.tls && !c->wire.tls && !c->refused && !caller_greet(c))
        return;
    ssize_t n = read_some(c);
    if (n < 0) {
        if (errno == EAGAIN || errno == EINTR)
            front_watch(c, wants_room(c) ? EPOLLOUT : EPOLLIN);
        else
            caller_close(c);
    } else if (n == 0) {
        end_input(c);
    } else if (c->state == CALLER_BODY) {
        feed_body(c, f->piece, (size_t)n);
    } else if (c->state != CALLER_DROPPING) {
        buf_append(&c->in, f->piece, (size_t)n);
        if (buf_failed(&c->in))
            caller_close(c);
        else if (c->refused)
            refuse(c, 400, "this port speaks HTTPS: the URL must begin with https://");
        else
            process(c);
    }
}

void caller_create(struct front *f, int fd, const struct sockaddr *peer)
{
    struct caller *c = calloc(1, sizeof *c);

    if (!c) {
        close(fd);
        return;
    }
    c->front = f;
    c->wire.fd = fd;
    if (ip_from_socket(peer, &c->peer))
        c->trusted = networks_have(f->opts.trusted, &c->peer);
    TAILQ_INSERT_TAIL(&f->lists[CALLER_NEW], c, in_list);
    front_move(c, CALLER_NEW);
    f->callers++;
    counters_add(f->counters, COUNTER_HTTP_CONNECTIONS, 1);
    caller_read(c); /* most clients have sent their request by now */
}
