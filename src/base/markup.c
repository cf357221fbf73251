/* SPDX-License-Identifier: MIT */
#include "shardwheel/markup.h"

#include <string.h>

#include "shardwheel/text.h"

#define MARK_MAX 128        /* bytes; in a text of megabytes that has many beginnings no end is looked for further */
#define HTML_MAX (1u << 20) /* bytes of a text: more than any column holds, escaped */

/* Length of what a message of ours holds on purpose at the start of `text`, what to write for it as HTML, and as text;
 * 0 for all else. */
static size_t read_markup(const char *text, const char **html, const char **plain)
{
    static const char mark[] = "<!--sw:", span[] = "<span style=\"color:#00c0ef;\">";
    const struct html_entity *entity = html_read_entity(text);
    const char *end;

    *html = *plain = "";
    if (strncmp(text, "<br>", 4) == 0) {
        *html = "<br>";
        *plain = "\n";
        return 4;
    }
    if (strncmp(text, mark, sizeof mark - 1) == 0 && (end = memmem(text, strnlen(text, MARK_MAX), "-->", 3)) != NULL)
        return (size_t)(end - text) + 3;
    if (strncmp(text, span, sizeof span - 1) == 0)
        return sizeof span - 1;
    if (strncmp(text, "</span>", 7) == 0)
        return 7;
    if (!entity)
        return 0;
    *html = entity->html;
    *plain = entity->plain;
    return strlen(entity->html);
}

void markup_put_html(struct buf *out, const char *text)
{
    const char *html, *plain;

    while (*text) {
        size_t n = read_markup(text, &html, &plain);
        if (n) {
            buf_puts(out, html);
        } else {
            for (n = 1; text[n] && !read_markup(text + n, &html, &plain);)
                n++;
            text_put_html(out, text, n, HTML_MAX);
        }
        text += n;
    }
}

void markup_put_plain(struct buf *out, const char *text, size_t max)
{
    struct buf all = {0};
    const char *html, *plain;

    while (*text && all.len <= 4 * max) {
        size_t n = read_markup(text, &html, &plain);
        buf_append(&all, n ? plain : text, n ? strlen(plain) : 1);
        text += n ? n : 1;
    }
    if (buf_failed(&all))
        out->failed = true;
    else if (all.len > 0)
        text_put_utf8(out, all.data, all.len, max);
    buf_fini(&all);
}
