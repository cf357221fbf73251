/* SPDX-License-Identifier: MIT */
#include "load_json.h"

static void skip_space(struct json_walk *w)
{
    while (w->at < w->end && (*w->at == ' ' || *w->at == '\t' || *w->at == '\r' || *w->at == '\n'))
        w->at++;
}

/* at stands on the opening quote; afterwards behind the closing one. */
static bool skip_string(struct json_walk *w, struct json_slice *out)
{
    const char *start = ++w->at;

    for (;;) {
        const char *quote = memchr(w->at, '"', (size_t)(w->end - w->at));
        const char *p = quote;

        if (!quote)
            return false;
        while (p > start && p[-1] == '\\')
            p--;
        w->at = quote + 1;
        if ((quote - p) % 2 == 0) { /* an even number of backslashes: the quote itself is not escaped */
            *out = (struct json_slice){start, (size_t)(quote - start)};
            return true;
        }
    }
}

static bool skip_nested(struct json_walk *w)
{
    struct json_slice ignored;
    int depth = 0;

    while (w->at < w->end) {
        char c = *w->at;

        if (c == '"') {
            if (!skip_string(w, &ignored))
                return false;
            continue;
        }
        w->at++;
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            return true;
    }
    return false;
}

static bool ends_plain_value(char c)
{
    return c == ',' || c == '}' || c == ']' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool skip_value(struct json_walk *w, struct json_slice *out)
{
    const char *start = w->at;

    if (w->at == w->end)
        return false;
    if (*w->at == '"')
        return skip_string(w, out);
    if (*w->at == '{' || *w->at == '[') {
        if (!skip_nested(w))
            return false;
    } else {
        while (w->at < w->end && !ends_plain_value(*w->at))
            w->at++;
    }
    *out = (struct json_slice){start, (size_t)(w->at - start)};
    return w->at > start;
}

bool json_begin_object(struct json_walk *w, const char *text, size_t len)
{
    *w = (struct json_walk){.at = text, .end = text + len};
    skip_space(w);
    if (w->at == w->end || *w->at != '{') {
        w->broken = true;
        return false;
    }
    w->at++;
    return true;
}

bool json_next_member(struct json_walk *w, struct json_slice *name, struct json_slice *value)
{
    skip_space(w);
    if (w->at < w->end && *w->at == ',') {
        w->at++;
        skip_space(w);
    }
    if (w->at < w->end && *w->at == '}')
        return false;
    if (w->at == w->end || *w->at != '"' || !skip_string(w, name))
        goto broken;
    skip_space(w);
    if (w->at == w->end || *w->at != ':')
        goto broken;
    w->at++;
    skip_space(w);
    if (skip_value(w, value))
        return true;
broken:
    w->broken = true;
    return false;
}

int64_t json_to_int(struct json_slice s)
{
    size_t i = s.len > 0 && s.text[0] == '-' ? 1 : 0;
    bool negative = i == 1;
    int64_t n = 0;

    for (; i < s.len && s.text[i] >= '0' && s.text[i] <= '9'; i++) {
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, s.text[i] - '0', &n))
            return 0;
    }
    return negative ? -n : n;
}
