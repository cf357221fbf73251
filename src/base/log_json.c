/* SPDX-License-Identifier: MIT */
/* A log line as JSON. The pairs are those that log_line's callers write; log_quote has made the quoted values. */
#include "shardwheel/base.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 15 /* what a double holds exactly */
#define NAMES_MAX 64  /* of a line; more are not told apart */

struct span {
    const char *text;
    size_t len;
};

struct names {
    struct span list[NAMES_MAX];
    size_t count;
};

static bool is_name_char(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '-';
}

/* -?(0|[1-9][0-9]*)(\.[0-9]+)? of up to 15 digits: as JSON has it. */
static bool is_number(const char *text, size_t len)
{
    size_t at = len > 0 && text[0] == '-', begin = at, digits = 0;

    if (at + 1 < len && text[at] == '0' && isdigit((unsigned char)text[at + 1]))
        return false;
    for (; at < len && isdigit((unsigned char)text[at]); at++)
        digits++;
    if (at == begin)
        return false;
    if (at < len && text[at] == '.') {
        size_t point = at++;

        for (; at < len && isdigit((unsigned char)text[at]); at++)
            digits++;
        if (at == point + 1)
            return false;
    }
    return at == len && digits <= DIGITS_MAX;
}

/* Text of a line that was not quoted for JSON yet. */
static void put_string(struct buf *out, const char *text, size_t len)
{
    char *copy = malloc(len + 1);

    if (!copy) {
        out->failed = true;
        return;
    }
    memcpy(copy, text, len);
    copy[len] = '\0';
    buf_put_json(out, copy);
    free(copy);
}

/* Undoes log_quote; `text` is behind the opening quote. Returns behind the closing one, or the end of a line that was
 * cut. */
static const char *put_quoted(struct buf *out, const char *text)
{
    char *copy = malloc(strlen(text) + 1);
    const char *p = text;
    size_t n = 0;

    if (!copy) {
        out->failed = true;
        return text + strlen(text);
    }
    for (; *p && *p != '"'; p++) {
        if (*p != '\\' || !p[1]) {
            copy[n++] = *p;
        } else if (p[1] == 'x' && hex_byte(p + 2) >= 0) {
            int value = hex_byte(p + 2);

            copy[n++] = (char)(value ? value : ' '); /* no NUL was ever written so */
            p += 3;
        } else {
            copy[n++] = p[1] == 'n' ? '\n' : p[1];
            p++;
        }
    }
    copy[n] = '\0';
    buf_put_json(out, copy);
    free(copy);
    return *p ? p + 1 : p;
}

/* How often the name was there before; it is one more now. */
static int note_name(struct names *names, struct span name)
{
    int before = 0;

    for (size_t i = 0; i < names->count; i++)
        before += names->list[i].len == name.len && memcmp(names->list[i].text, name.text, name.len) == 0;
    if (names->count < NAMES_MAX)
        names->list[names->count++] = name;
    return before;
}

/* The end of a pair, or NULL where none begins. */
static const char *find_pair_end(const char *p)
{
    const char *q = p;

    while (is_name_char(*q))
        q++;
    if (q == p || *q != '=')
        return NULL;
    q++;
    if (*q == '"') {
        for (q++; *q && *q != '"'; q++)
            if (*q == '\\' && q[1])
                q++;
        if (*q == '"')
            q++;
        return *q == '\0' || *q == ' ' ? q : NULL;
    }
    return q + strcspn(q, " ");
}

static bool is_list(const char *p)
{
    while (*p) {
        p = find_pair_end(p);
        if (!p)
            return false;
        p += strspn(p, " ");
    }
    return true;
}

static void put_name(struct buf *out, struct names *names, const char *text, size_t len)
{
    int before = note_name(names, (struct span){text, len});

    buf_puts(out, names->count > 1 ? ",\"" : "\"");
    buf_append(out, text, len);
    if (before)
        buf_printf(out, "_%d", before + 1);
    buf_puts(out, "\":");
}

static const char *put_pair(struct buf *out, struct names *names, const char *p)
{
    size_t len = strcspn(p, "=");
    const char *value = p + len + 1, *end = find_pair_end(p);

    put_name(out, names, p, len);
    if (*value == '"')
        (void)put_quoted(out, value + 1);
    else if (is_number(value, (size_t)(end - value)))
        buf_append(out, value, (size_t)(end - value));
    else
        put_string(out, value, (size_t)(end - value));
    return end + strspn(end, " ");
}

void log_put_json(struct buf *out, const char *line)
{
    static const char *const first[] = {"time=", "level=", "area="};
    struct names names = {0};
    const char *p = line;

    buf_putc(out, '{');
    for (size_t i = 0; i < ARRAY_LEN(first); i++)
        if (strncmp(p, first[i], strlen(first[i])) == 0 && find_pair_end(p))
            p = put_pair(out, &names, p);
    if (is_list(p)) {
        while (*p)
            p = put_pair(out, &names, p);
    } else {
        put_name(out, &names, "msg", 3);
        buf_put_json(out, p);
    }
    buf_putc(out, '}');
}
