/* SPDX-License-Identifier: MIT */
/* The console's files. Those in assets/ have their content's digest in their names, so browsers keep them for ever; all
 * others are asked for again with their digest. They lie in memory and wait for nothing: the front itself answers, also
 * while the database keeps all workers of the console waiting. */
#include "http/gzip.h"
#include "http/web/files.h"
#include "http/web/page.h"

#include <stdio.h>
#include <string.h>

/* As web/public/favicon.svg. */
static const char icon[] =
    "<svg xmlns='http://www.w3.org/2000/svg' width='48' height='48' viewBox='0 0 32 32'><path fill='#2b86"
    "ad' d='M18.2 1.2A13.5 13.5 0 0 1 27.7 6.7L21.7 11.1A6 6 0 0 0 17.4 8.6zM28.3 10.5A13.5 13.5 0 0 1 28"
    ".3 21.5L21.5 18.4A6 6 0 0 0 21.5 13.6zM26.9 23.9A13.5 13.5 0 0 1 17.4 29.4L16.6 22A6 6 0 0 0 20.9 19"
    ".5zM14.6 29.4A13.5 13.5 0 0 1 5.1 23.9L11.1 19.5A6 6 0 0 0 15.4 22zM3.7 21.5A13.5 13.5 0 0 1 3.7 10."
    "5L10.5 13.6A6 6 0 0 0 10.5 18.4zM5.1 8.1A13.5 13.5 0 0 1 14.6 2.6L15.4 10A6 6 0 0 0 11.1 12.5zM16 13"
    "a3 3 0 1 0 0 6 3 3 0 0 0 0-6z'/></svg>";

static const struct web_file *find_file(const struct route_call *call)
{
    return web_find_file(call->h->web, call->path + 1);
}

static bool is_known(const struct route_call *call, const struct web_file *file)
{
    const char *known = request_get_header(call->q, "If-None-Match");

    return known && strstr(known, file->digest);
}

static void write_file(const struct route_call *call, const struct web_file *file, const char *cache_control,
                       struct http_response *r)
{
    bool small = file->gzip.len && gzip_is_accepted(request_get_header(call->q, "Accept-Encoding"));
    const struct buf *bytes = small ? &file->gzip : &file->bytes;
    char tag[64];
    struct errctx ec;

    snprintf(tag, sizeof tag, "\"%s%s\"", file->digest, small ? "-gzip" : "");
    r->content_type = file->content_type;
    r->cache_control = cache_control;
    r->guarded = true;
    if (response_add_header(r, "ETag", tag, &ec) ||
        (file->gzip.len && response_add_header(r, "Vary", "Accept-Encoding", &ec)) ||
        (small && !is_known(call, file) && response_add_header(r, "Content-Encoding", "gzip", &ec)))
        r->body.failed = true;
    r->status = is_known(call, file) ? 304 : 200;
    if (r->status == 200 && bytes->len)
        buf_append(&r->body, bytes->data, bytes->len);
}

static void write_asset(const struct route_call *call, struct http_response *r)
{
    write_file(call, find_file(call), "public, max-age=31536000, immutable", r);
}

static void write_guide(const struct route_call *call, struct http_response *r)
{
    write_file(call, find_file(call), "no-cache", r);
}

/* Browsers ask for an icon also where no console is installed; by the name of old, too. */
void web_write_icon(const struct route_call *call, struct http_response *r)
{
    const struct web_file *file = find_file(call);

    r->guarded = true;
    if (!file)
        file = web_find_file(call->h->web, "favicon.svg");
    if (file) {
        write_file(call, file, "no-cache", r);
        return;
    }
    r->content_type = "image/svg+xml";
    r->cache_control = "no-cache";
    buf_puts(&r->body, icon);
}

static void refuse_unmatched(const struct route_call *call, struct http_response *r)
{
    if (call->match == ROUTE_NO_METHOD && find_file(call))
        response_set_error(r, 405, "only GET and HEAD are supported here");
    else
        response_set_error(r, 404, "the console has no such file");
}

static bool admit(const struct route_call *call, struct http_response *r)
{
    bool is_there = find_file(call);

    if (!is_there)
        response_set_error(r, 404, "the console has no such file");
    return is_there;
}

static const struct route assets[] = {
    {ROUTE_GET, "/assets/{name}", HTTP_LANE_AT_ONCE, ROUTE_ANYBODY, write_asset},
};
static const struct route guides[] = {
    {ROUTE_GET, "/docs/{name}", HTTP_LANE_AT_ONCE, ROUTE_ANYBODY, write_guide},
    {ROUTE_GET, "/docs/{folder}/{name}", HTTP_LANE_AT_ONCE, ROUTE_ANYBODY, write_guide},
};

const struct route_table asset_routes = {
    .below = "/assets", .routes = assets, .count = ARRAY_LEN(assets), .refuse = refuse_unmatched, .admit = admit};
const struct route_table guide_routes = {
    .below = "/docs", .routes = guides, .count = ARRAY_LEN(guides), .refuse = refuse_unmatched, .admit = admit};
