/* SPDX-License-Identifier: MIT */
/* The envelopes of the four dialects. */
#include "http/console/console.h"

#include "shardwheel/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool is_ab(const struct console_call *call)
{
    return call->dialect & DIALECTS_AB;
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

void console_put_say(const struct console_call *call, struct buf *out, enum say what)
{
    buf_puts(out, say_get(call->lang, call->dialect, what));
}

/* A and B write what is beyond U+FFFF as two escapes, as their JSON library does. */
void console_put_text(const struct console_call *call, struct buf *out, const char *text)
{
    struct buf json = {0};

    if (!text || !is_ab(call)) {
        buf_put_json(out, text);
        return;
    }
    buf_put_json(&json, text);
    for (size_t i = 0, n; i < json.len; i += n) {
        const unsigned char *c = (const unsigned char *)json.data + i;
        n = utf8_measure(json.data + i, json.len - i);
        if (n == 4) {
            unsigned high = (unsigned)(c[0] & 7) << 18 | (unsigned)(c[1] & 63) << 12 | (unsigned)(c[2] & 63) << 6;
            unsigned rest = (high | (c[3] & 63)) - 0x10000;
            buf_printf(out, "\\u%04X\\u%04X", 0xd800 + (rest >> 10), 0xdc00 + (rest & 0x3ff));
        } else {
            n = n ? n : 1;
            buf_append(out, c, n);
        }
    }
    out->failed |= buf_failed(&json);
    buf_fini(&json);
}

void console_put_member(const struct console_call *call, struct buf *out, const char *name, const char *text)
{
    console_put_text(call, member_name(out, name), text);
}

/* ---- success ----------------------------------------------------------------------------------------------------- */

static void begin_answer(struct console_call *call)
{
    buf_clear(&call->r->body);
    call->r->status = 200;
    call->r->content_type = "application/json";
}

void console_begin_success(struct console_call *call)
{
    begin_answer(call);
    switch (call->dialect) {
    case DIALECT_A: buf_puts(&call->r->body, "{\"code\":200,\"msg\":null,\"content\":"); break;
    case DIALECT_B: buf_puts(&call->r->body, "{\"code\":200,\"msg\":\"Success\",\"content\":"); break;
    case DIALECT_C:
    case DIALECT_D: buf_puts(&call->r->body, "{\"code\":200,\"msg\":\"Success\",\"data\":"); break;
    }
}

void console_end_success(struct console_call *call)
{
    buf_puts(&call->r->body, call->dialect == DIALECT_A ? "}" : ",\"success\":true}");
}

void console_succeed(struct console_call *call)
{
    console_begin_success(call);
    buf_puts(&call->r->body, "null");
    console_end_success(call);
}

void console_begin_list(struct console_call *call, int64_t total, bool is_estimate)
{
    struct errctx ec;

    if (is_estimate && response_add_header(call->r, "X-Count", "estimate", &ec))
        call->r->body.failed = true;
    if (is_ab(call)) {
        begin_answer(call);
        buf_puts(&call->r->body, "{\"recordsFiltered\":");
        buf_put_int(&call->r->body, total);
        buf_puts(&call->r->body, ",\"data\":[");
    } else {
        console_begin_success(call);
        buf_puts(&call->r->body, "{\"offset\":0,\"pagesize\":0,\"data\":[");
    }
}

void console_end_list(struct console_call *call, int64_t total)
{
    buf_puts(&call->r->body, is_ab(call) ? "],\"recordsTotal\":" : "],\"total\":");
    buf_put_int(&call->r->body, total);
    buf_putc(&call->r->body, '}');
    if (!is_ab(call))
        console_end_success(call);
}

/* ---- failure ----------------------------------------------------------------------------------------------------- */

static void write_failure(struct console_call *call, const char *msg)
{
    struct buf *body = &call->r->body;

    begin_answer(call);
    buf_puts(body, "{\"code\":500,\"msg\":");
    console_put_text(call, body, msg);
    buf_puts(body, is_ab(call) ? ",\"content\":null" : ",\"data\":null");
    buf_puts(body, call->dialect == DIALECT_A ? "}" : ",\"success\":false}");
}

void console_fail(struct console_call *call, const char *msg)
{
    write_failure(call, !msg && call->dialect != DIALECT_A ? "Fail" : msg);
}

void console_fail_null(struct console_call *call)
{
    write_failure(call, NULL);
}

void console_fail_words(struct console_call *call, enum say first, ...)
{
    struct buf msg = {0};
    va_list args;

    va_start(args, first);
    for (int what = (int)first; what != SAY_END; what = va_arg(args, int))
        console_put_say(call, &msg, (enum say)what);
    va_end(args);
    console_fail(call, buf_failed(&msg) ? NULL : msg.data);
    buf_fini(&msg);
}

static void write_page(struct console_call *call, int status, const char *msg)
{
    begin_answer(call);
    call->r->status = status;
    call->r->content_type = "text/html; charset=utf-8";
    buf_puts(&call->r->body,
             "<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>Error</title></head><body><p>");
    text_put_html(&call->r->body, msg, strlen(msg), 4000);
    buf_puts(&call->r->body, "</p></body></html>\n");
}

/* What the server of the original refuses has no envelope: clients tell by the missing `code` that there is no such
 * call, and go another way. False: another status. */
static bool write_without_code(struct console_call *call, int status, const char *msg)
{
    if (status != 400 && status != 404 && status != 405 && status != 406 && status != 413)
        return false;
    begin_answer(call);
    call->r->status = status;
    buf_printf(&call->r->body, "{\"status\":%d,\"error\":\"%s\",\"message\":", status, response_name_status(status));
    console_put_text(call, &call->r->body, msg);
    buf_putc(&call->r->body, '}');
    return true;
}

/* The short envelope. */
static void write_hard(struct console_call *call, int status, const char *msg)
{
    struct buf *body = &call->r->body;

    if (call->endpoint ? call->endpoint->kind == CONSOLE_PAGE : console_is_for_browser(call->route->q)) {
        write_page(call, status, msg);
        return;
    }
    if (write_without_code(call, status, msg))
        return;
    begin_answer(call);
    call->r->status = status;
    call->r->content_type = "application/json;charset=UTF-8";
    buf_printf(body, "{\"code\":%d,\"msg\":", call->dialect == DIALECT_B ? 203 : 500);
    console_put_text(call, body, msg);
    buf_puts(body, call->dialect == DIALECT_A ? ",\"content\":null}" : "}\n");
}

void console_fail_status(struct console_call *call, int status, const char *fmt, ...)
{
    struct errctx msg;
    va_list args;

    va_start(args, fmt);
    vsnprintf(msg.text, sizeof msg.text, fmt, args);
    va_end(args);
    write_hard(call, status, msg.text);
}

void console_fail_right(struct console_call *call)
{
    console_fail_hard(call, "%s[username=%s]", say_get(call->lang, call->dialect, SAY_PERMISSION_LIMIT),
                      call->actor.name);
}

void console_fail_because(struct console_call *call, const char *why)
{
    struct buf msg = {0};

    buf_printf(&msg, "%s%s", call->refused, why);
    console_fail(call, buf_failed(&msg) ? NULL : msg.data);
    buf_fini(&msg);
}

void console_fail_refusal(struct console_call *call, const struct refusal *refusal)
{
    if (call->refused)
        console_fail_because(call, refusal->text.text);
    else if (refusal->kind == REFUSED_RIGHT)
        console_fail_right(call);
    else if (refusal->field)
        console_fail_hard(call, "%s: %s", refusal->field, refusal->text.text);
    else
        console_fail_hard(call, "%s", refusal->text.text);
}

/* ---- browsers ---------------------------------------------------------------------------------------------------- */

bool console_is_for_browser(const struct http_request *q)
{
    const char *accept = request_get_header(q, "Accept");

    return accept && strstr(accept, "text/html");
}

void console_redirect(struct console_call *call, int status, const char *route)
{
    char context[ROUTE_PATH_MAX];
    struct buf location = {0};
    struct errctx ec;

    if (console_is_for_browser(call->route->q)) {
        route_put_base(call->route, &location);
        buf_puts(&location, route + 1);
    } else {
        buf_printf(&location, "%s%s", route_get_context(call->route, context), route);
    }
    buf_clear(&call->r->body);
    call->r->status = status;
    call->r->content_type = "text/plain";
    if (buf_failed(&location) || response_add_header(call->r, "Location", location.data, &ec))
        call->r->body.failed = true;
    buf_fini(&location);
}
