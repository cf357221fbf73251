/* SPDX-License-Identifier: MIT */
#include "shardwheel/text.h"

#include <string.h>

static const struct html_entity entities[] = {
    {"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}, {"'", "&#39;"}};

const struct html_entity *html_find_entity(char c)
{
    for (size_t i = 0; i < ARRAY_LEN(entities); i++)
        if (entities[i].plain[0] == c)
            return &entities[i];
    return NULL;
}

const struct html_entity *html_read_entity(const char *text)
{
    for (size_t i = 0; i < ARRAY_LEN(entities) && text[0] == '&'; i++)
        if (strncmp(text, entities[i].html, strlen(entities[i].html)) == 0)
            return &entities[i];
    return NULL;
}

static const char *escape(char c)
{
    const struct html_entity *entity = html_find_entity(c);

    return entity ? entity->html : c == '\n' ? "<br>" : c == '\r' ? "" : NULL;
}

/* True for what is written as it stands. */
static bool is_plain(unsigned char c, bool html)
{
    if (c >= 0x80 || c == 0x7f || c < ' ')
        return c == '\t' || (!html && (c == '\n' || c == '\r'));
    return !html || (c != '&' && c != '<' && c != '>' && c != '"' && c != '\'');
}

/* What to write for the start of the text, and how much of the text that is: a run of plain characters as far as there
 * is room, or one other character. len > 0. */
static size_t read_piece(const char *text, size_t len, size_t room, bool html, const char **piece, size_t *piece_len)
{
    unsigned char first = (unsigned char)text[0];
    const char *entity = html ? escape(text[0]) : NULL;
    size_t used = 0;

    while (used < len && used < room && is_plain((unsigned char)text[used], html))
        used++;
    *piece = text;
    *piece_len = used;
    if (used > 0)
        return used;
    if (first >= 0x80) {
        used = utf8_measure(text, len);
        *piece = used ? text : UTF8_REPLACEMENT;
        *piece_len = used ? used : 3;
        return used ? used : 1;
    }
    if (!is_plain(first, html))
        *piece = entity ? entity : " ";
    *piece_len = entity ? strlen(entity) : 1;
    return 1;
}

static void put(struct buf *out, const char *text, size_t len, size_t max, bool html)
{
    size_t end = out->len + max;
    const char *piece;
    size_t piece_len;

    for (size_t i = 0; i < len && !buf_failed(out);) {
        i += read_piece(&text[i], len - i, end - out->len, html, &piece, &piece_len);
        if (piece_len > end - out->len) {
            buf_puts(out, "...");
            return;
        }
        buf_append(out, piece, piece_len);
    }
}

void text_put_utf8(struct buf *out, const char *text, size_t len, size_t max)
{
    put(out, text, len, max, /*html=*/false);
}

void text_put_html(struct buf *out, const char *text, size_t len, size_t max)
{
    put(out, text, len, max, /*html=*/true);
}
