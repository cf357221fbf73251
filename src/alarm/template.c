/* SPDX-License-Identifier: MIT */
#include "alarm/template.h"

#include <string.h>

#include "shardwheel/text.h"

static const struct {
    const char *word;
    size_t offset;
} words[] = {
#define TEMPLATE_WORD(word, what) {#word, offsetof(struct template_values, word)},
    TEMPLATE_WORDS(TEMPLATE_WORD)
#undef TEMPLATE_WORD
};

static int find_word(const char *text, size_t len)
{
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strlen(words[i].word) == len && memcmp(words[i].word, text, len) == 0)
            return (int)i;
    return -1;
}

enum err template_check(const char *text, struct errctx *ec)
{
    struct buf known = {0};
    const char *p = text;

    while ((p = strchr(p, '{')) != NULL) {
        size_t len = strcspn(p + 1, "{}");
        if (p[1] == '{') {
            p += 2;
            continue;
        }
        if (p[1 + len] == '}' && find_word(p + 1, len) >= 0) {
            p += len + 2;
            continue;
        }
        for (size_t i = 0; i < ARRAY_LEN(words); i++)
            buf_printf(&known, "%s{%s}", i ? " " : "", words[i].word);
        err_set(ec, ERR_INPUT, "character %zu: %s %.40s; there are %s, and {{ for a brace",
                utf8_count(text, (size_t)(p - text), /*utf16=*/false) + 1,
                p[1 + len] == '}' ? "unknown placeholder" : "a brace without the other one", p,
                buf_failed(&known) ? "" : known.data);
        buf_fini(&known);
        return ERR_INPUT;
    }
    return ERR_OK;
}

enum err templates_check(const char *title, const char *text, struct errctx *ec)
{
    enum err e = template_check(title, ec);

    if (e)
        return err_wrap(ec, e, "shardwheel.alarm.title");
    e = template_check(text, ec);
    return e ? err_wrap(ec, e, "shardwheel.alarm.text") : ERR_OK;
}

void template_put(struct buf *out, const char *text, const struct template_values *values, size_t value_max)
{
    while (*text) {
        size_t len = strcspn(text, "{");
        buf_append(out, text, len);
        text += len;
        if (!*text)
            return;
        if (text[1] == '{') {
            buf_putc(out, '{');
            text += 2;
            continue;
        }
        len = strcspn(text, "}");
        int i = find_word(text + 1, len - 1);
        const char *value = i < 0 ? NULL : *(const char *const *)((const char *)values + words[i].offset);
        if (value)
            text_put_utf8(out, value, strlen(value), value_max);
        text += len + 1;
    }
}
