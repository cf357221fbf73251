/* SPDX-License-Identifier: MIT */
#include "http/web/page.h"

#include "http/web/files.h"

#include <string.h>

#define NONCE_BYTES 16

/* Puts the base and the nonce where the built page has their names. */
static void put_page(const struct web_file *index, const char *base, const char *nonce, struct buf *out)
{
    const char *at = index->bytes.data, *mark;

    for (; (mark = strchr(at, '%')); at = mark) {
        buf_append(out, at, (size_t)(mark - at));
        if (!strncmp(mark, "%BASE%", 6)) {
            buf_puts(out, base);
            mark += 6;
        } else if (!strncmp(mark, "%NONCE%", 7)) {
            buf_puts(out, nonce);
            mark += 7;
        } else {
            buf_putc(out, *mark++);
        }
    }
    buf_puts(out, at);
}

static bool add_policy(struct http_response *r, const char *nonce)
{
    struct buf policy = {0};
    struct errctx ec;

    buf_printf(&policy,
               "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-%s'; img-src 'self' data:; "
               "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'self'; form-action 'self'; "
               "frame-ancestors 'self'",
               nonce);
    bool ok = !buf_failed(&policy) && !response_add_header(r, "Content-Security-Policy", policy.data, &ec);
    buf_fini(&policy);
    return ok;
}

static void put_missing(const char *base, struct buf *out)
{
    buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>shardwheel</title></head>"
                  "<body>\n<h1>shardwheel</h1>\n"
                  "<p>This node runs, but has no console: it was not built, or it could not be read when the node "
                  "started. The log of the node has the reason.</p>\n"
                  "<p>To build it: <code>tools/web build</code> in the source tree, then start the node again. If the "
                  "built files are in another folder, set the key <code>shardwheel.console.web-dir</code>.</p>\n"
                  "<p>What works without it:</p>\n<ul>\n");
    buf_printf(out, "<li><a href=\"%sopenapi.json\">api/v1</a></li>\n", base);
    buf_puts(out, "<li>the calls of xxl-job's consoles, such as POST /jobinfo/pageList</li>\n");
    buf_printf(out, "<li><a href=\"%smetrics\">metrics</a> and <a href=\"%sactuator/health\">health</a></li>\n", base,
               base);
    buf_puts(out, "</ul>\n</body></html>\n");
}

void web_write_page(const struct route_call *call, struct http_response *r)
{
    const struct web_file *index = web_find_file(call->h->web, WEB_INDEX);
    char nonce[2 * NONCE_BYTES + 1];
    struct buf base = {0};
    struct errctx ec;

    route_put_base(call, &base);
    r->status = 200;
    r->content_type = "text/html; charset=utf-8";
    r->guarded = true;
    buf_clear(&r->body);
    if (buf_failed(&base) || random_hex(nonce, NONCE_BYTES, &ec) || (index && !add_policy(r, nonce)))
        response_set_error(r, 500, "the page could not be created");
    else if (index)
        put_page(index, base.data, nonce, &r->body);
    else
        put_missing(base.data, &r->body);
    buf_fini(&base);
}
