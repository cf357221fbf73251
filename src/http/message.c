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
