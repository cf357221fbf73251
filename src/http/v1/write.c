/* SPDX-License-Identifier: MIT */
#include "http/v1/write.h"
#include "shardwheel/admin/tokens.h"
#include "shardwheel/text.h"

#include <string.h>

static void begin_value(struct buf *out, const char *name)
{
    if (out->len && !strchr("{[:", out->data[out->len - 1]))
        buf_putc(out, ',');
    if (name) {
        buf_put_json(out, name);
        buf_putc(out, ':');
    }
}

void v1_put_text(struct buf *out, const char *name, const char *text)
{
    begin_value(out, name);
    buf_put_json(out, text);
}

void v1_put_int(struct buf *out, const char *name, int64_t value)
{
    begin_value(out, name);
    buf_put_int(out, value);
}

void v1_put_bool(struct buf *out, const char *name, bool value)
{
    begin_value(out, name);
    buf_puts(out, value ? "true" : "false");
}

void v1_put_int_if(struct buf *out, const char *name, bool known, int64_t value)
{
    if (known)
        v1_put_int(out, name, value);
    else
        v1_put_null(out, name);
}

void v1_put_null(struct buf *out, const char *name)
{
    begin_value(out, name);
    buf_puts(out, "null");
}

void v1_put_instant(struct buf *out, const char *name, int64_t ms)
{
    char text[TIME_TEXT_MAX];

    v1_put_text(out, name, ms && time_put_text(ms, text) ? text : NULL);
}

void v1_put_second(struct buf *out, const char *name, int64_t at_s)
{
    v1_put_instant(out, name, at_s == INT64_MIN ? 0 : at_s * 1000);
}

void v1_put_buf(struct buf *out, const char *name, const char *text, struct buf *from)
{
    v1_put_text(out, name, text);
    out->failed |= buf_failed(from);
    buf_fini(from);
}

void v1_put_json(struct buf *out, const char *name, const char *json)
{
    begin_value(out, name);
    buf_puts(out, json ? json : "null");
}

void v1_put_object(struct buf *out, const char *name)
{
    begin_value(out, name);
    buf_putc(out, '{');
}

bool v1_put_object_if(struct buf *out, const char *name, bool known)
{
    if (known)
        v1_put_object(out, name);
    else
        v1_put_null(out, name);
    return known;
}

void v1_put_object_end(struct buf *out)
{
    buf_putc(out, '}');
}

void v1_put_list(struct buf *out, const char *name)
{
    begin_value(out, name);
    buf_putc(out, '[');
}

void v1_put_list_end(struct buf *out)
{
    buf_putc(out, ']');
}

void v1_put_ints(struct buf *out, const char *name, const int64_t *v, size_t count)
{
    v1_put_list(out, name);
    for (size_t i = 0; i < count; i++)
        v1_put_int(out, NULL, v[i]);
    v1_put_list_end(out);
}

void v1_put_texts(struct buf *out, const char *name, const char *const *v, size_t count)
{
    v1_put_list(out, name);
    for (size_t i = 0; i < count; i++)
        v1_put_text(out, NULL, v[i]);
    v1_put_list_end(out);
}

void v1_put_collected(struct buf *out, const char *name, struct buf *items)
{
    v1_put_list(out, name);
    buf_append(out, items->data, items->len);
    v1_put_list_end(out);
    out->failed |= buf_failed(items);
    buf_fini(items);
}

void v1_answer_id(struct v1_call *c, int64_t id)
{
    c->r->status = 201;
    v1_put_int(&c->r->body, "id", id);
}

static void put_scope(void *arg, const char *name)
{
    v1_put_text(arg, NULL, name);
}

void v1_put_scopes(struct buf *out, const char *name, unsigned scopes)
{
    v1_put_list(out, name);
    scopes_each(scopes, put_scope, out);
    v1_put_list_end(out);
}

void v1_put_parts(struct buf *out, const char *name, const char *text)
{
    struct text_part part;

    v1_put_list(out, name);
    while (text && text_next_item(&text, &part)) {
        struct buf item = {0};
        buf_append(&item, part.at, part.len);
        if (!str_is_blank(item.data))
            v1_put_text(out, NULL, item.data);
        out->failed |= buf_failed(&item);
        buf_fini(&item);
    }
    v1_put_list_end(out);
}

/* ---- pages ------------------------------------------------------------------------------------------------------- */

void v1_end_page(struct v1_call *c, const struct v1_page *page, const struct v1_cursor *next)
{
    struct buf *out = &c->r->body;
    struct buf cursor = {0};

    if (next)
        cursor_put(&cursor, page->list, next);
    v1_put_buf(out, "next", cursor.data, &cursor);
    if (page->count) {
        v1_put_int(out, "total", page->total);
        v1_put_bool(out, "totalIsEstimate", page->is_estimate);
    }
}
