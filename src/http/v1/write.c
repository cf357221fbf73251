/* SPDX-License-Identifier: MIT */
#include "http/v1/write.h"
#include "shardwheel/admin/tokens.h"
#include "shardwheel/text.h"

#include <string.h>

void v1_put_instant(struct buf *out, const char *name, int64_t ms)
{
    char text[TIME_TEXT_MAX];

    member_text(out, name, ms && time_put_text(ms, text) ? text : NULL);
}

void v1_put_second(struct buf *out, const char *name, int64_t at_s)
{
    v1_put_instant(out, name, at_s == INT64_MIN ? 0 : at_s * 1000);
}

void v1_put_buf(struct buf *out, const char *name, const char *text, struct buf *from)
{
    member_text(out, name, text);
    out->failed |= buf_failed(from);
    buf_fini(from);
}

void v1_put_ints(struct buf *out, const char *name, const int64_t *v, size_t count)
{
    member_list(out, name);
    for (size_t i = 0; i < count; i++)
        member_int(out, NULL, v[i]);
    member_list_end(out);
}

void v1_put_texts(struct buf *out, const char *name, const char *const *v, size_t count)
{
    member_list(out, name);
    for (size_t i = 0; i < count; i++)
        member_text(out, NULL, v[i]);
    member_list_end(out);
}

void v1_put_collected(struct buf *out, const char *name, struct buf *items)
{
    member_list(out, name);
    buf_append(out, items->data, items->len);
    member_list_end(out);
    out->failed |= buf_failed(items);
    buf_fini(items);
}

void v1_answer_id(struct v1_call *c, int64_t id)
{
    c->r->status = 201;
    member_int(&c->r->body, "id", id);
}

static void put_scope(void *arg, const char *name)
{
    member_text(arg, NULL, name);
}

void v1_put_scopes(struct buf *out, const char *name, unsigned scopes)
{
    member_list(out, name);
    scopes_each(scopes, put_scope, out);
    member_list_end(out);
}

void v1_put_parts(struct buf *out, const char *name, const char *text)
{
    struct text_part part;

    member_list(out, name);
    while (text && text_next_item(&text, &part)) {
        struct buf item = {0};
        buf_append(&item, part.at, part.len);
        if (!str_is_blank(item.data))
            member_text(out, NULL, item.data);
        out->failed |= buf_failed(&item);
        buf_fini(&item);
    }
    member_list_end(out);
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
        member_int(out, "total", page->total);
        member_bool(out, "totalIsEstimate", page->is_estimate);
    }
}
