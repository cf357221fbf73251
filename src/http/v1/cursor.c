/* SPDX-License-Identifier: MIT */
/* A cursor is base64url of "LIST KEY KEY TEXT" with four digits of its digest before it. */
#include "http/v1/values.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CURSOR_MAX 2000

/* Ended by a NUL; false when it is no base64url without padding, or has a NUL inside. */
static bool decode(const char *cursor, char *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    size_t len;

    return !cursor[strspn(cursor, digits)] && base64_read(cursor, out, strlen(cursor) + 1, &len) && strlen(out) == len;
}

static void put_digest(const char *text, char out[5])
{
    snprintf(out, 5, "%04" PRIx64, hash_text(HASH_START, text) & 0xffff);
}

void cursor_put(struct buf *out, const char *list, const struct v1_cursor *cursor)
{
    struct buf plain = {0};
    char digest[5];

    buf_puts(&plain, "    ");
    buf_puts(&plain, list);
    for (size_t i = 0; i < cursor->count; i++)
        buf_printf(&plain, " %" PRId64, cursor->keys[i]);
    if (cursor->text)
        buf_printf(&plain, " %s", cursor->text);
    if (buf_failed(&plain)) {
        out->failed = true;
    } else {
        put_digest(plain.data + 4, digest);
        memcpy(plain.data, digest, 4);
        buf_put_base64url(out, plain.data, plain.len);
    }
    buf_fini(&plain);
}

bool cursor_parse(const char *cursor, const char *list, size_t keys, bool text, char *memory, struct v1_cursor *out)
{
    struct v1_cursor found = {.count = keys};
    size_t list_len = strlen(list);
    char digest[5];

    if (strlen(cursor) < 6 || !decode(cursor, memory) || strlen(memory) < 4)
        return false;
    put_digest(memory + 4, digest);
    if (memcmp(memory, digest, 4) || strncmp(memory + 4, list, list_len))
        return false;
    char *p = memory + 4 + list_len;
    for (size_t i = 0; i < keys; i++) {
        char *end;
        if (*p != ' ')
            return false;
        found.keys[i] = strtoll(p + 1, &end, 10);
        if (end == p + 1)
            return false;
        p = end;
    }
    if (text && *p != ' ')
        return false;
    if (text)
        found.text = p + 1;
    else if (*p)
        return false;
    *out = found;
    return true;
}

struct v1_page v1_query_page(struct v1_call *c, const char *list, size_t keys, bool text)
{
    int64_t limit = v1_query_int(c, "limit", 1, V1_LIMIT_MAX, V1_LIMIT_DEFAULT);
    struct v1_page page = {.list = list, .limit = (size_t)limit, .want = limit + 1};
    const char *after = v1_query_text(c, "after", CURSOR_MAX);

    page.count = v1_query_bool(c, "count", false);
    if (!after)
        return page;
    char *memory = v1_keep(c, strlen(after) + 1);
    page.after = memory && cursor_parse(after, list, keys, text, memory, &page.from);
    if (page.after && page.from.text && !utf8_is_valid(page.from.text, strlen(page.from.text)))
        page.after = false;
    if (!page.after)
        v1_note_invalid(c, "after", "the `next` of a page of this list");
    return page;
}

struct v1_page v1_query_ids(struct v1_call *c, const char *list, bool counted)
{
    struct v1_page page = v1_query_page(c, list, 1, /*text=*/false);

    if (!counted)
        v1_refuse_count(c, &page);
    return page;
}

void v1_refuse_count(struct v1_call *c, const struct v1_page *page)
{
    if (page->count)
        v1_note(c, REFUSED_INVALID, "count", "this list has no total");
}

bool cursor_is_time(const char *text)
{
    static const char form[] = "0000-00-00 00:00:00";

    for (size_t i = 0; i < sizeof form - 1; i++)
        if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return false;
    return !text[sizeof form - 1];
}
