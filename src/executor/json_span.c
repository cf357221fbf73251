/* SPDX-License-Identifier: MIT */
#include "executor/json_span.h"

#include <string.h>

void span_skip_blanks(struct span *s)
{
    while (s->at < s->end && *s->at && strchr(" \t\r\n", *s->at))
        s->at++;
}

/* From its first quote to behind its last one. */
static bool skip_string(struct span *s)
{
    if (!span_take_char(s, '"'))
        return false;
    while (s->at < s->end && *s->at != '"')
        s->at += *s->at == '\\' && s->end - s->at > 1 ? 2 : 1;
    return span_take_char(s, '"');
}

/* Brackets are counted, not matched: nobody reads what is in them. */
static bool skip_structure(struct span *s)
{
    size_t depth = 0;

    while (s->at < s->end) {
        char c = *s->at;

        if (c == '"') {
            if (!skip_string(s))
                return false;
            continue;
        }
        s->at++;
        if (c == '{' || c == '[')
            depth++;
        else if ((c == '}' || c == ']') && --depth == 0)
            return true;
    }
    return false;
}

bool span_skip_value(struct span *s, struct span *out)
{
    bool ok = true;

    out->at = s->at;
    if (s->at < s->end && *s->at == '"')
        ok = skip_string(s);
    else if (s->at < s->end && (*s->at == '{' || *s->at == '['))
        ok = skip_structure(s);
    else
        while (s->at < s->end && *s->at && !strchr(",]} \t\r\n", *s->at))
            s->at++;
    out->end = s->at;
    return ok && out->at < out->end;
}

static int find_name(const struct span *name, const char *const *names, size_t count)
{
    size_t len = (size_t)(name->end - name->at) - 2; /* without its quotes */

    for (size_t i = 0; i < count; i++)
        if (len == strlen(names[i]) && memcmp(name->at + 1, names[i], len) == 0)
            return (int)i;
    return -1;
}

bool span_find_members(struct span *s, const char *const *names, size_t count, struct span *found)
{
    struct span name, value;
    bool whole;
    int i;

    for (;;) {
        span_skip_blanks(s);
        if (span_take_char(s, '}'))
            return true;
        name.at = s->at;
        if (!skip_string(s))
            return false;
        name.end = s->at;
        span_skip_blanks(s);
        if (!span_take_char(s, ':'))
            return false;
        span_skip_blanks(s);
        whole = span_skip_value(s, &value);
        i = find_name(&name, names, count);
        if (i >= 0 && value.at < value.end)
            found[i] = value;
        if (!whole)
            return false;
        span_skip_blanks(s);
        if (!span_take_char(s, ',') && (s->at == s->end || *s->at != '}'))
            return false;
    }
}
