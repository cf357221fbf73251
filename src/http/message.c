/* SPDX-License-Identifier: MIT */
#include "http/message.h"

#include <string.h>
#include <strings.h>

/* ---- bodies ------------------------------------------------------------------------------------------------------ */

bool room_take(struct http_room *room, size_t bytes)
{
    size_t before = atomic_fetch_add_explicit(&room->taken, bytes, memory_order_relaxed);

    if (before + bytes <= room->max)
        return true;
    room_give(room, bytes);
    return false;
}

void room_give(struct http_room *room, size_t bytes)
{
    atomic_fetch_sub_explicit(&room->taken, bytes, memory_order_relaxed);
}

void http_body_fini(struct http_body *body)
{
    buf_fini(&body->bytes);
    if (body->held)
        room_give(body->room, body->held);
    *body = (struct http_body){0};
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

void request_take_body(const struct http_request *q, struct http_body *out)
{
    *out = (struct http_body){0};
    if (!q->owned)
        return;
    *out = *q->owned;
    *q->owned = (struct http_body){0};
}

enum err request_load_query(const struct http_request *q, struct form *out, struct errctx *ec)
{
    return form_parse(q->query, strlen(q->query), out, ec);
}

enum err request_load_form(const struct http_request *q, struct form *out, struct errctx *ec)
{
    static const char form[] = "application/x-www-form-urlencoded";
    const char *type = request_get_header(q, "Content-Type");

    if (q->body_state != BODY_WHOLE)
        return err_set(ec, ERR_INPUT, "the body is not whole");
    if (q->body_len && (!type || strcspn(type, "; \t") != sizeof form - 1 || strncasecmp(type, form, sizeof form - 1)))
        return err_set(ec, ERR_INPUT, "the body is not of type %s", form);
    return form_parse(q->body, q->body_len, out, ec);
}

bool request_get_cookie(const struct http_request *q, const char *name, char *out, size_t size)
{
    const char *header = request_get_header(q, "Cookie");

    return header && cookie_find(header, name, out, size);
}

/* ---- answers ----------------------------------------------------------------------------------------------------- */

enum err response_add_header(struct http_response *r, const char *name, const char *value, struct errctx *ec)
{
    for (const char *v = value; *v; v++) {
        if (((unsigned char)*v < ' ' && *v != '\t') || *v == 0x7f)
            return err_set(ec, ERR_INPUT, "the value of %s has a control character", name);
    }
    buf_printf(&r->headers, "%s: %s\r\n", name, value);
    return buf_failed(&r->headers) ? err_set(ec, ERR_NOMEM, "out of memory for an answer") : ERR_OK;
}

void response_set_error(struct http_response *r, int status, const char *msg)
{
    r->status = status;
    r->content_type = "application/json";
    buf_clear(&r->body);
    buf_printf(&r->body, "{\"code\":%d,\"msg\":", status);
    buf_put_json(&r->body, msg);
    buf_puts(&r->body, ",\"content\":null,\"data\":null}");
}

static const char *status_text(int status)
{
    switch (status) {
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 409: return "Conflict";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    }
    return "Unknown";
}

void response_write(const struct http_response *r, bool keep, bool head_only, struct buf *out)
{
    bool bare = r->status == 204 || r->status == 304; /* has no body, and no length of one */

    buf_printf(out, "HTTP/1.1 %d %s\r\n", r->status, status_text(r->status));
    if (!bare)
        buf_printf(out, "Content-Type: %s\r\nContent-Length: %zu\r\n", r->content_type, r->body.len);
    if (r->headers.len)
        buf_append(out, r->headers.data, r->headers.len);
    if (keep)
        buf_printf(out, "Connection: keep-alive\r\nKeep-Alive: timeout=%d\r\n\r\n", KEEP_ALIVE_TOLD_S);
    else
        buf_puts(out, "Connection: close\r\n\r\n");
    if (!head_only && !bare && r->body.len)
        buf_append(out, r->body.data, r->body.len);
}

void response_fini(struct http_response *r)
{
    buf_fini(&r->headers);
    buf_fini(&r->body);
}
