/* SPDX-License-Identifier: MIT */
#include "executor/http_exchange.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "executor/http_conn.h"
#include "executor/reasons.h"

static_assert(HTTP_ANSWER_MAX == HTTP_BODY_MAX, "what the reader takes is what the header promises");

/* ---- the end of a request ---------------------------------------------------------------------------------------- */

static const char *explain_errno(int number)
{
    return number == CONN_FORBIDDEN ? EXECUTOR_FORBIDDEN_TEXT : reason_of_errno(number);
}

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

void exchange_end(struct http_client *c, struct conn *conn, enum http_outcome outcome, const char *reason)
{
    conn->state = CONN_ENDED;
    conn->outcome = outcome;
    conn->reason = reason;
    if (outcome != HTTP_REFUSED)
        conn_close(c, conn);
    conn_put_in_list(conn, &c->ended);
}

void exchange_tell_ended(struct http_client *c)
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
        exchange_end(c, conn, HTTP_CLOSED, REASON_NO_ANSWER);
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
        exchange_end(c, conn, HTTP_UNREACHED, explain_errno(error));
}

static void write_first(struct http_client *c, struct conn *conn)
{
    const struct http_request *request = &conn->request;
    const struct buf *head = conn->head.len > 0 ? &conn->head : &c->head;
    ssize_t n;
    int error;

    conn->state = CONN_WRITING;
    if (request->may_send && !request->may_send(request->arg)) {
        exchange_end(c, conn, HTTP_REFUSED, REASON_REFUSED);
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
        exchange_end(c, conn, conn->sent > 0 ? HTTP_CLOSED : HTTP_UNREACHED, "out of memory within the request");
    } else if (n >= 0 || error == EAGAIN) {
        poller_want(c->poller, conn->fd, EPOLLIN | EPOLLOUT, conn->tag);
    } else if (conn->kept) {
        reopen(c, conn);
    } else {
        exchange_end(c, conn, HTTP_UNREACHED, explain_errno(error));
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
    case HTTP_READ_BAD: exchange_end(c, conn, HTTP_BAD_ANSWER, REASON_NO_HTTP); break;
    case HTTP_READ_TOO_LONG:
        if (conn->request.takes_start && conn->reader.too_long)
            tell_answer(c, conn, bytes, len);
        else
            exchange_end(c, conn, HTTP_BAD_ANSWER, REASON_TOO_LONG);
        break;
    case HTTP_READ_CUT:
        exchange_end(c, conn, HTTP_CLOSED, conn->in.len > 0 ? REASON_HALF_ANSWER : REASON_NO_ANSWER);
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
        exchange_end(c, conn, HTTP_UNREACHED, explain_errno(error));
    else if (conn->state == CONN_IDLE)
        write_first(c, conn);
    else if (!save_head(conn, &c->head))
        exchange_end(c, conn, HTTP_UNREACHED, "out of memory");
    return ERR_OK;
}

/* ---- what happens to its connection ------------------------------------------------------------------------------ */

static void end_opening(struct http_client *c, struct conn *conn)
{
    int error = 0;
    socklen_t len = sizeof error;

    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0)
        error = errno;
    if (error && conn->has_request) {
        exchange_end(c, conn, HTTP_UNREACHED, explain_errno(error));
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

void exchange_handle(struct http_client *c, struct conn *conn, uint32_t events)
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
