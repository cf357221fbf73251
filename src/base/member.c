/* SPDX-License-Identifier: MIT */
#include "shardwheel/base.h"

#include <string.h>

struct buf *member_name(struct buf *out, const char *name)
{
    if (out->len && !strchr("{[:", out->data[out->len - 1]))
        buf_putc(out, ',');
    if (name) {
        buf_put_json(out, name);
        buf_putc(out, ':');
    }
    return out;
}

void member_text(struct buf *out, const char *name, const char *text)
{
    buf_put_json(member_name(out, name), text);
}

void member_int(struct buf *out, const char *name, int64_t value)
{
    buf_put_int(member_name(out, name), value);
}

void member_int_if(struct buf *out, const char *name, bool known, int64_t value)
{
    if (known)
        member_int(out, name, value);
    else
        member_null(out, name);
}

void member_int_or_null(struct buf *out, const char *name, int64_t value)
{
    member_int_if(out, name, value, value);
}

void member_bool(struct buf *out, const char *name, bool value)
{
    buf_puts(member_name(out, name), value ? "true" : "false");
}

void member_null(struct buf *out, const char *name)
{
    buf_puts(member_name(out, name), "null");
}

void member_json(struct buf *out, const char *name, const char *json)
{
    buf_puts(member_name(out, name), json ? json : "null");
}

void member_object(struct buf *out, const char *name)
{
    buf_putc(member_name(out, name), '{');
}

bool member_object_if(struct buf *out, const char *name, bool known)
{
    if (known)
        member_object(out, name);
    else
        member_null(out, name);
    return known;
}

void member_object_end(struct buf *out)
{
    buf_putc(out, '}');
}

void member_list(struct buf *out, const char *name)
{
    buf_putc(member_name(out, name), '[');
}

void member_list_end(struct buf *out)
{
    buf_putc(out, ']');
}
