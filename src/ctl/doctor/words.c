/* SPDX-License-Identifier: MIT */
#include "ctl/doctor/words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "shardwheel/text.h"

#define WORD_NAME_BYTES 38 /* so that a word of words_add has room for a number before it */

static bool has(const char *list, struct text_part word)
{
    struct text_part item;

    while (text_next_item(&list, &item))
        if (item.len == word.len && !strncasecmp(item.at, word.at, word.len))
            return true;
    return false;
}

bool words_have(const char *list, const char *word)
{
    return has(list, (struct text_part){word, strlen(word)});
}

bool words_are_same(const char *list, const char *other)
{
    struct text_part word;
    size_t count = 0;

    while (text_next_item(&list, &word)) {
        count++;
        if (!has(other, word))
            return false;
    }
    while (text_next_item(&other, &word))
        count--;
    return count == 0;
}

void words_add(struct words *w, const char *word)
{
    size_t at = strlen(w->text);

    if (w->count++ < WORDS_SHOWN)
        snprintf(w->text + at, sizeof w->text - 20 - at, "%s%.60s", at ? ", " : "", word);
}

void words_add_named(struct words *w, int64_t id, const char *name)
{
    char text[80];
    int len = name ? (int)utf8_cut(name, strlen(name), WORD_NAME_BYTES) : 0;

    if (len)
        snprintf(text, sizeof text, "%" PRId64 " \"%.*s\"", id, len, name);
    else
        snprintf(text, sizeof text, "%" PRId64, id);
    words_add(w, text);
}

const char *words_end(struct words *w)
{
    size_t at = strlen(w->text);

    if (w->count > WORDS_SHOWN)
        snprintf(w->text + at, sizeof w->text - at, " and %zu more", w->count - WORDS_SHOWN);
    return w->text;
}

struct place_text place_of(const char *kind, const char *name)
{
    struct place_text out;

    snprintf(out.text, sizeof out.text, "%s %s", kind, name);
    return out;
}

struct span_text span_of_s(int64_t s)
{
    struct span_text out;
    int64_t n = s < 0 ? -s : s;

    if (n < 120)
        snprintf(out.text, sizeof out.text, "%" PRId64 " s", n);
    else if (n < 7200)
        snprintf(out.text, sizeof out.text, "%" PRId64 " min", n / 60);
    else if (n < 172800)
        snprintf(out.text, sizeof out.text, "%" PRId64 " h", n / 3600);
    else
        snprintf(out.text, sizeof out.text, "%" PRId64 " days", n / 86400);
    return out;
}

struct span_text size_of_bytes(int64_t bytes)
{
    struct span_text out;

    if (bytes < INT64_C(1000000000))
        snprintf(out.text, sizeof out.text, "%" PRId64 " MB", (bytes + 500000) / 1000000);
    else
        snprintf(out.text, sizeof out.text, "%.1f GB", (double)bytes / 1e9);
    return out;
}
