/* SPDX-License-Identifier: MIT */
#include "http/stream.h"

#include "http/gzip.h"
#include "http/response.h"

#include <errno.h>
#include <poll.h>

#define PATIENCE_MS 10000
#define BYTES_PER_MS 16
#define TICK_MS 200 /* so often a waiting worker looks whether the server ends */

void stream_init(struct stream *s, struct stream_office *office, struct wire *wire, bool old, bool head_only, bool keep)
{
    *s = (struct stream){.office = office, .wire = wire, .old = old, .head_only = head_only, .keep = keep && !old};
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

static bool wait_for_room(const struct stream *s, int64_t deadline_mono_ms)
{
    int64_t left_ms = deadline_mono_ms - clock_mono_ms(s->office->clock);
    struct pollfd fd = {.fd = s->wire->fd, .events = POLLOUT};

    if (left_ms <= 0 || s->office->must_end(s->office->arg))
        return false;
    return poll(&fd, 1, (int)(left_ms < TICK_MS ? left_ms : TICK_MS)) >= 0 || errno == EINTR;
}

/* What stands in `out`. */
static bool send_all(struct stream *s)
{
    int64_t deadline_ms = clock_mono_ms(s->office->clock) + PATIENCE_MS + (int64_t)(s->out.len / BYTES_PER_MS);
    size_t sent = 0;

    while (sent < s->out.len) {
        ssize_t n = wire_write(s->wire, s->out.data + sent, s->out.len - sent);
        if (n >= 0)
            sent += (size_t)n;
        else if (errno != EINTR && (errno != EAGAIN || !wait_for_room(s, deadline_ms)))
            return false;
    }
    buf_clear(&s->out);
    return true;
}

/* Appends the bytes as they stand on the wire. */
static void frame(struct stream *s, const struct buf *bytes)
{
    if (!bytes->len)
        return; /* a chunk without bytes would be the last */
    if (!s->old)
        buf_printf(&s->out, "%zx\r\n", bytes->len);
    buf_append(&s->out, bytes->data, bytes->len);
    if (!s->old)
        buf_puts(&s->out, "\r\n");
}

/* The body goes out and is empty then. */
static bool send_piece(struct stream *s, struct http_response *r, bool last)
{
    struct buf small = {0};
    bool ok = !buf_failed(&r->body);

    if (ok && !s->head_only) {
        if (s->gzip)
            ok = gzip_add(s->gzip, r->body.len ? r->body.data : "", r->body.len, last, &small);
        frame(s, s->gzip ? &small : &r->body);
        if (last && !s->old)
            buf_puts(&s->out, "0\r\n\r\n");
    }
    ok = ok && !buf_failed(&s->out) && send_all(s);
    buf_fini(&small);
    buf_clear(&r->body);
    return ok;
}

bool stream_end(struct stream *s, struct http_response *r, bool *keep)
{
    if (s->state == STREAM_NONE)
        return false;
    if (s->state == STREAM_OPEN && !send_piece(s, r, /*last=*/true))
        s->state = STREAM_BROKEN;
    *keep = s->keep && s->state == STREAM_OPEN;
    if (s->state == STREAM_BROKEN)
        wire_cut(s->wire);
    gzip_destroy(s->gzip);
    buf_fini(&s->out);
    room_give(&s->office->places, 1);
    s->state = STREAM_NONE;
    return true;
}

/* ---- for handlers ------------------------------------------------------------------------------------------------ */

enum err response_begin_stream(struct http_response *r, struct errctx *ec)
{
    struct stream *s = r->stream;
    struct response_framing framing = {.varies = response_is_compressible(r)};

    if (!s)
        return ERR_OK;
    if (!room_take(&s->office->places, 1))
        return err_set(ec, ERR_BUSY, "this node already sends %zu large answers: try again", s->office->places.max);
    if (framing.varies && r->may_gzip && !s->head_only)
        s->gzip = gzip_create();
    framing.gzip = s->gzip != NULL;
    framing.chunked = !s->old;
    response_write_head(r, s->keep, &framing, &s->out);
    s->state = STREAM_OPEN;
    return ERR_OK;
}

enum err response_push(struct http_response *r, struct errctx *ec)
{
    struct stream *s = r->stream;

    if (!s || s->state == STREAM_NONE)
        return buf_failed(&r->body) ? err_set(ec, ERR_NOMEM, "out of memory for an answer") : ERR_OK;
    if (s->state == STREAM_OPEN && r->body.len < STREAM_PIECE && !buf_failed(&r->body))
        return ERR_OK;
    if (s->state != STREAM_OPEN || s->office->must_end(s->office->arg) || !send_piece(s, r, /*last=*/false)) {
        s->state = STREAM_BROKEN;
        buf_clear(&r->body);
        return err_set(ec, ERR_LOST, "the client does not read the answer");
    }
    return ERR_OK;
}

void response_break(struct http_response *r)
{
    if (r->stream && r->stream->state == STREAM_OPEN)
        r->stream->state = STREAM_BROKEN;
}
