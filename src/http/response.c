/* SPDX-License-Identifier: MIT */
/* Answers as they go out: the lines of the head, and whether the body is compressed. */
#include "http/gzip.h"
#include "http/response.h"

#include <inttypes.h>
#include <string.h>
#include <strings.h>

#define GZIP_MIN 1024 /* below that nothing is gained */

/* Of pages without scripts: documents, and what errors look like. The console's page has one of its own, with its nonce
 * (web/page.c). */
#define POLICY_OF_PAGES                                                                                                \
    "default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'self'; "                \
    "frame-ancestors 'self'"
#define POLICY_OF_DATA "default-src 'none'; frame-ancestors 'none'"

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

const char *response_name_status(int status)
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
    case 428: return "Precondition Required";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    }
    return "Unknown";
}

/* ---- the head ---------------------------------------------------------------------------------------------------- */

static bool begins_with(const char *text, const char *start)
{
    return !strncasecmp(text, start, strlen(start));
}

static bool has_header(const struct http_response *r, const char *line)
{
    const char *at = r->headers.len ? r->headers.data : "";

    for (; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        if (begins_with(at, line))
            return true;
    }
    return false;
}

bool response_is_compressible(const struct http_response *r)
{
    const char *type = r->content_type;

    return r->guarded && r->status != 204 && r->status != 304 && !has_header(r, "Content-Encoding:") &&
           (begins_with(type, "text/") || begins_with(type, "application/json") ||
            begins_with(type, "application/problem+json") || begins_with(type, "application/javascript") ||
            begins_with(type, "image/svg+xml"));
}

static void write_guards(const struct http_response *r, struct buf *out)
{
    bool page = begins_with(r->content_type, "text/html");

    buf_puts(out, "X-Content-Type-Options: nosniff\r\nReferrer-Policy: same-origin\r\n");
    if (r->hsts_s)
        buf_printf(out, "Strict-Transport-Security: max-age=%" PRId64 "\r\n", r->hsts_s);
    if (!has_header(r, "Content-Security-Policy:"))
        buf_printf(out, "Content-Security-Policy: %s\r\n", page ? POLICY_OF_PAGES : POLICY_OF_DATA);
    if (!has_header(r, "Cache-Control:"))
        buf_printf(out, "Cache-Control: %s\r\n", r->cache_control ? r->cache_control : "no-store");
}

static bool is_bare(const struct http_response *r)
{
    return r->status == 204 || r->status == 304; /* has no body, and no length of one */
}

void response_write_head(const struct http_response *r, bool keep, const struct response_framing *framing,
                         struct buf *out)
{
    buf_printf(out, "HTTP/1.1 %d %s\r\n", r->status, response_name_status(r->status));
    if (!is_bare(r)) {
        buf_printf(out, "Content-Type: %s\r\n", r->content_type);
        if (framing->has_length)
            buf_printf(out, "Content-Length: %zu\r\n", framing->length);
        else if (framing->chunked)
            buf_puts(out, "Transfer-Encoding: chunked\r\n");
    }
    if (framing->gzip)
        buf_puts(out, "Content-Encoding: gzip\r\n");
    if (framing->varies)
        buf_puts(out, "Vary: Accept-Encoding\r\n");
    if (r->headers.len)
        buf_append(out, r->headers.data, r->headers.len);
    if (r->guarded)
        write_guards(r, out);
    if (keep)
        buf_printf(out, "Connection: keep-alive\r\nKeep-Alive: timeout=%d\r\n\r\n", KEEP_ALIVE_TOLD_S);
    else
        buf_puts(out, "Connection: close\r\n\r\n");
}

/* ---- whole answers ----------------------------------------------------------------------------------------------- */

/* False: it goes out as it is. */
static bool compress(struct http_response *r)
{
    struct gzip *g = gzip_create();
    struct buf small = {0};
    bool done = g && gzip_add(g, r->body.data, r->body.len, /*end=*/true, &small) && small.len < r->body.len;

    gzip_destroy(g);
    if (done) {
        buf_fini(&r->body);
        r->body = small;
    } else {
        buf_fini(&small);
    }
    return done;
}

void response_write(struct http_response *r, bool keep, bool head_only, struct buf *out)
{
    struct response_framing framing = {.has_length = true};

    framing.varies = r->body.len >= GZIP_MIN && !has_header(r, "Vary:") && response_is_compressible(r);
    framing.gzip = framing.varies && r->may_gzip && compress(r);
    framing.length = r->body.len;
    response_write_head(r, keep, &framing, out);
    if (!head_only && !is_bare(r) && r->body.len)
        buf_append(out, r->body.data, r->body.len);
}

void response_fini(struct http_response *r)
{
    buf_fini(&r->headers);
    buf_fini(&r->body);
}
