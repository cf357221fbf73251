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

bool media_is(const char *content_type, const char *media)
{
    size_t len = strlen(media);

    return content_type && strcspn(content_type, "; \t") == len && !strncasecmp(content_type, media, len);
}

bool request_get_cookie(const struct http_request *q, const char *name, char *out, size_t size)
{
    const char *header = request_get_header(q, "Cookie");

    return header && cookie_find(header, name, out, size);
}
