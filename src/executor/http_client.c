/* SPDX-License-Identifier: MIT */
/*
 * A connection has one request at most, so what belongs to a request is a part of its connection. Whatever ends without
 * an answer is noted first and told at the end of a turn, so that done is never called from within start.
 */
#include "shardwheel/executor/http_client.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "executor/http_conn.h"

#define EVENTS_PER_TURN 256
#define OPENING_MAX 256    /* ahead, at a time */
#define WARM_AHEAD_MS 1000 /* so long before they are needed */

static_assert(HTTP_ANSWER_MAX == HTTP_BODY_MAX, "what the reader takes is what the header promises");

static const char *explain_errno(int number)
{
    const char *name = number == CONN_FORBIDDEN ? EXECUTOR_FORBIDDEN_TEXT : strerrordesc_np(number);

    return name ? name : "cannot connect";
}

/* ---- the end of a request ---------------------------------------------------------------------------------------- */

static void tell(struct http_client *c, struct conn *conn, const struct http_answer *answer, bool keep)
{
    struct http_request request = conn->request;
    struct buf in = conn->in; /* the answer may be in it, and done may start the next request on this connection */

    conn->in = (struct buf){0};
    c->busy--;
    if (keep) {
        conn_make_idle(c, conn);
    } else {
        conn->has_request = false;
        conn->state = CONN_ENDED;
        conn_destroy(c, conn);
    }
    request.done(request.arg, answer);
    buf_fini(&in);
}

/* Notes the end; a connection that was refused its write is as good as before. */
static void end_request(struct http_client *c, struct conn *conn, enum http_outcome outcome, const char *reason)
{
    conn->state = CONN_ENDED;
    conn->outcome = outcome;
    conn->reason = reason;
    if (outcome != HTTP_REFUSED)
        conn_close(c, conn);
    conn_put_in_list(conn, &c->ended);
}

static void tell_ended(struct http_client *c)
{
    struct conn *conn;

    while ((conn = TAILQ_FIRST(&c->ended)) != NULL) {
        struct http_answer answer = {
            .outcome = conn->outcome, .written = conn->sent > 0, .body = "", .reason = conn->reason};

        tell(c, conn, &answer, /*keep=*/conn->fd >= 0);
    }
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static bool put_head(struct buf *out, const struct http_request *request)
{
    const struct plain_address *to = &request->peer->where;

    buf_clear(out);
    buf_puts(out, "POST ");
    buf_append(out, to->path, to->path_len);
    buf_puts(out, request->path);
    buf_puts(out, " HTTP/1.1\r\nHost: ");
    buf_append(out, to->host, to->host_len);
    buf_puts(out, "\r\n");
    buf_append(out, request->headers, request->headers_len);
    buf_puts(out, "Content-Length: ");
    buf_put_int(out, (int64_t)request->body_len);
    buf_puts(out, "\r\n\r\n");
    return !buf_failed(out);
}

/* What sendmsg says, from byte `sent` on. */
static ssize_t send_from(const struct conn *conn, const struct buf *head)
{
    const struct http_request *request = &conn->request;
    size_t head_sent = conn->sent < head->len ? conn->sent : head->len;
    size_t body_sent = conn->sent - head_sent;
    struct iovec parts[2] = {
        {.iov_base = head->data + head_sent, .iov_len = head->len - head_sent},
        {.iov_base = (char *)request->body + body_sent, .iov_len = request->body_len - body_sent},
    };
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = ARRAY_LEN(parts)};

    return sendmsg(conn->fd, &message, MSG_NOSIGNAL);
}

static void write_rest(struct http_client *c, struct conn *conn)
{
    ssize_t n = send_from(conn, &conn->head);

    if (n < 0 && errno == EAGAIN)
        return;
    if (n < 0) {
        end_request(c, conn, HTTP_CLOSED, "the connection ended without an answer");
        return;
    }
    conn->sent += (size_t)n;
    if (conn->sent < conn->head.len + conn->request.body_len)
        return;
    buf_fini(&conn->head);
    conn->state = CONN_READING;
    poller_want(c->poller, conn->fd, EPOLLIN, conn->tag);
}

/* For a request that is not written at once. */
static bool save_head(struct conn *conn, const struct buf *head)
{
    if (conn->head.len == 0)
        buf_append(&conn->head, head->data, head->len);
    return !buf_failed(&conn->head);
}

/* Nothing was written, and it was no new connection that failed: a new one is allowed. */
static void reopen(struct http_client *c, struct conn *conn)
{
    int error;

    conn_close(c, conn);
    error = conn_open(c, conn);
    if (error)
        end_request(c, conn, HTTP_UNREACHED, explain_errno(error));
}

static void write_first(struct http_client *c, struct conn *conn)
{
    const struct http_request *request = &conn->request;
    const struct buf *head = conn->head.len > 0 ? &conn->head : &c->head;
    ssize_t n;
    int error;

    conn->state = CONN_WRITING;
    if (!request->may_send(request->arg)) {
        end_request(c, conn, HTTP_REFUSED, "not sent");
        return;
    }
    n = send_from(conn, head);
    error = errno;
    conn->sent = n < 0 ? 0 : (size_t)n;
    if (conn->sent == head->len + request->body_len) {
        buf_fini(&conn->head);
        conn->state = CONN_READING;
        poller_want(c->poller, conn->fd, EPOLLIN, conn->tag); /* a try before may have asked for more */
    } else if (!save_head(conn, head)) {
        end_request(c, conn, conn->sent > 0 ? HTTP_CLOSED : HTTP_UNREACHED, "out of memory within the request");
    } else if (n >= 0 || error == EAGAIN) {
        poller_want(c->poller, conn->fd, EPOLLIN | EPOLLOUT, conn->tag);
    } else if (conn->kept) {
        reopen(c, conn);
    } else {
        end_request(c, conn, HTTP_UNREACHED, explain_errno(error));
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* One read, and what the reader makes of it; *bytes: what it looked at. */
static enum http_reading read_some(struct http_client *c, struct conn *conn, char **bytes, size_t *len)
{
    enum http_reading got;
    ssize_t n = recv(conn->fd, c->in, HTTP_READ_SIZE, 0);

    *bytes = conn->in.data;
    *len = conn->in.len;
    if (n < 0)
        return errno == EAGAIN ? HTTP_READ_MORE : HTTP_READ_CUT;
    if (n == 0)
        return http_reader_end(&conn->reader);
    if (conn->in.len > 0) {
        buf_append(&conn->in, c->in, (size_t)n);
        if (buf_failed(&conn->in))
            return HTTP_READ_TOO_LONG;
        got = http_reader_step(&conn->reader, conn->in.data, &conn->in.len);
        *bytes = conn->in.data;
        *len = conn->in.len;
        return got;
    }
    *bytes = c->in;
    *len = (size_t)n;
    got = http_reader_step(&conn->reader, c->in, len);
    if (got != HTTP_READ_MORE)
        return got;
    buf_append(&conn->in, c->in, *len);
    return buf_failed(&conn->in) ? HTTP_READ_TOO_LONG : HTTP_READ_MORE;
}

static void tell_answer(struct http_client *c, struct conn *conn, char *bytes, size_t len)
{
    const struct http_reader *r = &conn->reader;
    struct http_answer answer = {
        .outcome = HTTP_ANSWERED, .written = true, .status = r->status, .body = bytes + r->body_at, .len = r->body_len};
    /* An answer to half a request leaves the other half in the way of the next one; so do bytes behind an answer. */
    int idle_s = http_reader_get_idle_s(r);
    bool keep = idle_s > 0 && len == r->at && conn->state == CONN_READING;

    answer.cut = r->too_long;
    conn->use_until_mono_ms = clock_mono_ms(c->clock) + idle_s * INT64_C(1000);
    conn->peer->is_impatient |= idle_s < HTTP_IDLE_MAX_S;
    bytes[r->body_at + r->body_len] = '\0';
    tell(c, conn, &answer, keep);
}

/* True when the request is still under way. */
static bool read_conn(struct http_client *c, struct conn *conn)
{
    char *bytes;
    size_t len;

    switch (read_some(c, conn, &bytes, &len)) {
    case HTTP_READ_MORE: return true;
    case HTTP_READ_WHOLE: tell_answer(c, conn, bytes, len); break;
    case HTTP_READ_BAD: end_request(c, conn, HTTP_BAD_ANSWER, "the answer is no HTTP"); break;
    case HTTP_READ_TOO_LONG:
        if (conn->request.takes_start && conn->reader.too_long)
            tell_answer(c, conn, bytes, len);
        else
            end_request(c, conn, HTTP_BAD_ANSWER, "the answer is longer than 1 MiB");
        break;
    case HTTP_READ_CUT:
        end_request(c, conn, HTTP_CLOSED,
                    conn->in.len > 0 ? "the connection ended within the answer"
                                     : "the connection ended without an answer");
        break;
    }
    return false;
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* Idle, and neither closed by the peer nor with bytes that nobody asked for. */
static bool is_quiet(const struct conn *conn)
{
    char byte;

    return recv(conn->fd, &byte, 1, MSG_PEEK) < 0 && errno == EAGAIN;
}

/* An idle connection, else one that opens already; NULL when there is none. */
static struct conn *take_free(struct http_client *c, struct http_peer *peer)
{
    int64_t now_mono_ms = clock_mono_ms(c->clock);
    struct conn *conn;

    while ((conn = TAILQ_FIRST(&peer->free)) != NULL) {
        if (conn->state == CONN_OPENING || (conn->use_until_mono_ms > now_mono_ms && is_quiet(conn))) {
            conn_take(c, conn);
            return conn;
        }
        conn_destroy(c, conn);
    }
    return NULL;
}

static enum err start_by_curl(struct http_client *c, const struct http_request *request)
{
    const char *address = request->peer->address;
    size_t len = strlen(address);
    struct buf url = {0};
    enum err e = ERR_OK;

    if (!c->curl)
        e = curl_client_create(c->clock, c->resolver, c->networks, c->poller, &c->curl, NULL);
    buf_append(&url, address, len > 0 && address[len - 1] == '/' ? len - 1 : len);
    buf_puts(&url, request->path);
    if (!e && buf_failed(&url))
        e = ERR_NOMEM;
    if (!e)
        e = curl_client_start(c->curl, request, url.data, &request->peer->curl);
    buf_fini(&url);
    return e;
}

enum err http_client_start(struct http_client *c, const struct http_request *request)
{
    struct http_peer *peer = request->peer;
    struct conn *conn;
    int error = 0;

    if (!peer->plain)
        return start_by_curl(c, request);
    if (!put_head(&c->head, request))
        return ERR_NOMEM;
    conn = take_free(c, peer);
    if (!conn) {
        conn = conn_create(peer);
        if (!conn)
            return ERR_NOMEM;
        error = conn_open(c, conn);
    }
    conn->request = *request;
    if (!request->body)
        conn->request.body = ""; /* what is sent is counted from there */
    conn->has_request = true;
    conn->sent = 0;
    conn->reader = (struct http_reader){.takes_start = request->takes_start};
    c->busy++;
    conn_set_deadline(c, conn, clock_mono_ms(c->clock) + request->timeout_ms);
    if (error)
        end_request(c, conn, HTTP_UNREACHED, explain_errno(error));
    else if (conn->state == CONN_IDLE)
        write_first(c, conn);
    else if (!save_head(conn, &c->head))
        end_request(c, conn, HTTP_UNREACHED, "out of memory");
    return ERR_OK;
}

/* Those that may be used no more by then. */
static void drop_old(struct http_client *c, struct http_peer *peer, int64_t mono_ms)
{
    struct conn *conn = TAILQ_FIRST(&peer->free);

    while (conn) {
        struct conn *next = TAILQ_NEXT(conn, in_free);

        if (conn->state == CONN_IDLE && conn->use_until_mono_ms <= mono_ms)
            conn_destroy(c, conn);
        conn = next;
    }
}

void http_client_warm_peer(struct http_client *c, struct http_peer *peer, size_t count)
{
    if (peer->is_impatient)
        drop_old(c, peer, clock_mono_ms(c->clock) + WARM_AHEAD_MS);
    while (peer->plain && peer->conn_count < count && c->opening < OPENING_MAX) {
        struct conn *conn = conn_create(peer);

        if (!conn)
            return;
        if (conn_open(c, conn) != 0) {
            conn->state = CONN_ENDED; /* it is in no list */
            conn_destroy(c, conn);
            return;
        }
        conn_add_opening(c, conn);
    }
}

size_t http_client_count(const struct http_client *c)
{
    return c->busy + (c->curl ? curl_client_count(c->curl) : 0);
}

/* ---- turning ----------------------------------------------------------------------------------------------------- */

static void end_opening(struct http_client *c, struct conn *conn)
{
    int error = 0;
    socklen_t len = sizeof error;

    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    if (error && conn->has_request) {
        end_request(c, conn, HTTP_UNREACHED, explain_errno(error));
    } else if (error) {
        conn_destroy(c, conn);
    } else {
        poller_want(c->poller, conn->fd, EPOLLIN, conn->tag);
        if (conn->has_request) {
            write_first(c, conn);
        } else {
            conn_take(c, conn);
            conn_make_idle(c, conn);
        }
    }
}

static void handle_conn(struct http_client *c, struct conn *conn, uint32_t events)
{
    switch (conn->state) {
    case CONN_OPENING: end_opening(c, conn); return;
    case CONN_IDLE: conn_destroy(c, conn); return; /* closed, or talking out of turn */
    case CONN_WRITING:
    case CONN_READING:
        if (conn->sent == 0)
            write_first(c, conn);
        else if ((events & ~(uint32_t)EPOLLOUT) && !read_conn(c, conn))
            return;
        else if (conn->state == CONN_WRITING && (events & EPOLLOUT))
            write_rest(c, conn);
        return;
    case CONN_ENDED: return;
    }
}

static void handle_event(struct http_client *c, const struct poller_event *event)
{
    struct conn *conn;

    if (event->tag < CURL_CLIENT_TAGS) {
        curl_client_handle(c->curl, event);
        return;
    }
    conn = (size_t)event->fd < c->conns_size ? c->conns[event->fd] : NULL;
    if (conn && conn->tag == event->tag)
        handle_conn(c, conn, event->events);
}

static void end_late(struct http_client *c)
{
    int64_t now_mono_ms = clock_mono_ms(c->clock);
    struct conn *conn;

    while ((conn = TAILQ_FIRST(&c->deadlines)) != NULL && conn->deadline_mono_ms <= now_mono_ms) {
        if (!conn->has_request)
            conn_destroy(c, conn);
        else if (conn->sent > 0)
            end_request(c, conn, HTTP_TIMEOUT, "no answer in time");
        else
            end_request(c, conn, HTTP_UNREACHED, "cannot connect: no answer in time");
    }
    while ((conn = TAILQ_FIRST(&c->idle)) != NULL && conn->deadline_mono_ms <= now_mono_ms)
        conn_destroy(c, conn);
}

static int64_t shorten_wait_us(const struct http_client *c, int64_t wait_us)
{
    const struct conn *next[] = {TAILQ_FIRST(&c->deadlines), TAILQ_FIRST(&c->idle)};
    int64_t now_mono_ms = clock_mono_ms(c->clock);

    if (TAILQ_FIRST(&c->ended))
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(next); i++)
        if (next[i] && (next[i]->deadline_mono_ms - now_mono_ms) * 1000 < wait_us)
            wait_us = (next[i]->deadline_mono_ms - now_mono_ms) * 1000;
    if (c->curl)
        wait_us = curl_client_shorten_wait_us(c->curl, wait_us);
    return wait_us > 0 ? wait_us : 0;
}

void http_client_turn(struct http_client *c, int64_t wait_us)
{
    struct poller_event events[EVENTS_PER_TURN];
    size_t count = poller_wait(c->poller, shorten_wait_us(c, wait_us), events, EVENTS_PER_TURN);

    for (size_t i = 0; i < count; i++)
        handle_event(c, &events[i]);
    if (c->curl)
        curl_client_end_turn(c->curl);
    end_late(c);
    tell_ended(c);
}

void http_client_wake(struct http_client *c)
{
    poller_wake(c->poller);
}

void http_client_abort(struct http_client *c)
{
    struct conn *conn;

    while ((conn = TAILQ_FIRST(&c->deadlines)) != NULL) {
        if (conn->has_request)
            end_request(c, conn, HTTP_ABORTED, "aborted");
        else
            conn_destroy(c, conn);
    }
    tell_ended(c);
    if (c->curl)
        curl_client_abort(c->curl);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

enum err http_client_add_peer(struct http_client *c, const char *address, struct http_peer **out)
{
    struct http_peer *peer = calloc(1, sizeof *peer);

    if (!peer)
        return ERR_NOMEM;
    peer->address = str_copy(address);
    if (!peer->address) {
        free(peer);
        return ERR_NOMEM;
    }
    peer->plain = plain_address_parse(peer->address, &peer->where);
    if (peer->plain) {
        struct ip ip;
        peer->forbidden = ip_from_socket(&peer->where.socket.any, &ip) && !executor_networks_allow(c->networks, &ip);
    }
    peer->curl = (struct curl_peer){.home = c->peer_count++, .idle_s = HTTP_IDLE_MAX_S};
    TAILQ_INIT(&peer->free);
    TAILQ_INSERT_TAIL(&c->peers, peer, in_peers);
    *out = peer;
    return ERR_OK;
}

void http_client_drop_peer(struct http_client *c, struct http_peer *peer)
{
    struct conn *conn;

    while ((conn = TAILQ_FIRST(&peer->free)) != NULL)
        conn_destroy(c, conn);
    assert(peer->conn_count == 0);
    TAILQ_REMOVE(&c->peers, peer, in_peers);
    curl_peer_fini(&peer->curl);
    free(peer->address);
    free(peer);
}

enum err http_client_create(const struct clock *clock, struct resolver *resolver, struct http_client **out,
                            struct errctx *ec)
{
    struct http_client *c = calloc(1, sizeof *c);
    enum err e;

    if (!c)
        return err_set(ec, ERR_NOMEM, "out of memory for an HTTP client");
    c->clock = clock;
    c->resolver = resolver;
    c->last_tag = CURL_CLIENT_TAGS;
    TAILQ_INIT(&c->peers);
    TAILQ_INIT(&c->deadlines);
    TAILQ_INIT(&c->idle);
    TAILQ_INIT(&c->ended);
    e = poller_create(&c->poller, ec);
    if (e) {
        http_client_destroy(c);
        return e;
    }
    *out = c;
    return ERR_OK;
}

void http_client_set_networks(struct http_client *c, const struct executor_networks *networks)
{
    c->networks = networks;
}

static void destroy_list(struct http_client *c, struct conn_list *list)
{
    struct conn *conn;

    while ((conn = TAILQ_FIRST(list)) != NULL)
        conn_destroy(c, conn);
}

void http_client_destroy(struct http_client *c)
{
    if (!c)
        return;
    destroy_list(c, &c->deadlines);
    destroy_list(c, &c->ended);
    while (TAILQ_FIRST(&c->peers)) /* and their idle connections */
        http_client_drop_peer(c, TAILQ_FIRST(&c->peers));
    curl_client_destroy(c->curl);
    poller_destroy(c->poller);
    free(c->conns);
    buf_fini(&c->head);
    free(c);
}
