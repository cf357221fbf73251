/* SPDX-License-Identifier: MIT */
/* The reason that the texts of a row end with: they are HTML, and have more than that in front. */
#include "admin/explain/explain_impl.h"

#include <string.h>
#include <strings.h>

#include "shardwheel/text.h"

#define REASON_BYTES 400
#define COLON "\xef\xbc\x9a" /* U+FF1A */

/* Behind the last of these. */
static const char *find_last(const char *text, const char *end, const char *what)
{
    const char *found = text, *at = text;
    size_t len = strlen(what);

    while ((at = strstr(at, what)) && at + len <= end)
        found = at += len;
    return found;
}

/* A line about children or a retry stands behind a heading: <br><br><span ...>. */
static const char *find_end(const char *text)
{
    const char *heading = strstr(text, "<br><br><span");

    return heading ? heading : text + strlen(text);
}

static const char *skip_label(const char *line, const char *end)
{
    const char *colon = strstr(line, ": "), *wide = strstr(line, COLON);

    if (wide && wide < end && wide - line < 40 && (!colon || wide < colon))
        return wide + strlen(COLON);
    return colon && colon < end && colon - line < 40 ? colon + 2 : line;
}

size_t explain_measure_tag(const char *at, size_t left)
{
    static const char *const names[] = {"br", "span", "b", "font", "p", "div", "i", "strong"};
    const char *end = left && *at == '<' ? memchr(at, '>', left) : NULL;
    const char *name = end && at[1] == '/' ? at + 2 : at + 1;

    for (size_t i = 0; end && i < ARRAY_LEN(names); i++) {
        size_t len = strlen(names[i]);

        if ((size_t)(end - at) >= len + (size_t)(name - at) && !strncasecmp(name, names[i], len) &&
            strchr(" \t/>", name[len]))
            return (size_t)(end + 1 - at);
    }
    return 0;
}

void explain_put_plain(struct buf *out, const char *text, const char *end)
{
    size_t from = out->len;

    while (text < end && out->len - from < REASON_BYTES) {
        size_t tag = explain_measure_tag(text, (size_t)(end - text));
        const struct html_entity *entity = html_read_entity(text);

        if (entity) {
            buf_puts(out, entity->plain);
            text += strlen(entity->html);
        } else if (tag) {
            text += tag;
        } else {
            size_t n = utf8_measure(text, (size_t)(end - text));
            buf_append(out, (unsigned char)*text < ' ' ? " " : text, n ? n : 1);
            text += n ? n : 1;
        }
    }
}

void explain_put_reason(struct buf *out, const char *text)
{
    const char *end = find_end(text);
    size_t from = out->len;

    text = find_last(text, end, "-->");
    while (end - text >= 4 && strncmp(end - 4, "<br>", 4) == 0)
        end -= 4;
    text = find_last(text, end, "<br>");
    explain_put_plain(out, skip_label(text, end), end);
    /* Sentences of ours end by themselves, and are one. */
    while (!buf_failed(out) && out->len > from && strchr(". \n", out->data[out->len - 1]))
        out->data[--out->len] = '\0';
}

const char *explain_keep(struct buf *out, void (*put)(struct buf *out, const char *text), const char *text)
{
    size_t at = out->len;

    put(out, text);
    buf_putc(out, '\0');
    return (const char *)(uintptr_t)at;
}
