/* SPDX-License-Identifier: MIT */
#include "ctl/doctor/page_text.h"

#include <stdio.h>
#include <string.h>

/* Behind `"name":` and the text that must follow it. */
static const char *find_member(const char *json, const char *name, const char *then)
{
    char head[100];
    int len = snprintf(head, sizeof head, "\"%s\":%s", name, then);
    const char *at = len > 0 && (size_t)len < sizeof head ? strstr(json, head) : NULL;

    return at ? at + len : NULL;
}

/* Length of a value up to the comma or the end; those within a text do not count. */
static size_t value_len(const char *at)
{
    size_t n = 0;
    bool quoted = false;

    for (; at[n] && (quoted || (at[n] != ',' && at[n] != '}')); n++) {
        if (at[n] == '\\' && at[n + 1])
            n++;
        else if (at[n] == '"')
            quoted = !quoted;
    }
    return n;
}

static bool copy(const char *from, size_t len, char *out, size_t size)
{
    if (len >= size)
        return false;
    memcpy(out, from, len);
    out[len] = '\0';
    return true;
}

bool page_find_object(const char *json, const char *name, char *out, size_t size)
{
    const char *from = find_member(json, name, "{"), *to = from;

    while (to && *to && *to != '}') {
        to += value_len(to);
        to += *to == ',';
    }
    return to && *to == '}' && copy(from, (size_t)(to - from), out, size);
}

bool page_find_text(const char *json, const char *object, const char *name, char *out, size_t size)
{
    char inside[1000];
    const char *from = page_find_object(json, object, inside, sizeof inside) ? find_member(inside, name, "\"") : NULL;
    size_t len = from ? value_len(from - 1) : 0;

    return from && len >= 2 && copy(from, len - 2, out, size);
}

bool page_compare(const char *first, const char *other, char *out, size_t size)
{
    bool differ = false;
    size_t at = 0;

    out[0] = '\0';
    for (const char *member = first; *member;) {
        size_t len = value_len(member), name_len = strcspn(member + 1, "\"");
        char name[60];
        const char *value = member + name_len + 3, *here;

        if (*member != '"' || name_len + 3 >= len || !copy(member + 1, name_len, name, sizeof name))
            return differ;
        here = find_member(other, name, "");
        if (here) {
            size_t there_len = len - name_len - 3, here_len = value_len(here);

            if (there_len != here_len || memcmp(value, here, here_len) != 0) {
                differ = true;
                if (at < size)
                    at += (size_t)snprintf(out + at, size - at, "%s%s is %.*s there and %.*s here", at ? ", " : "",
                                           name, (int)there_len, value, (int)here_len, here);
            }
        }
        member += len;
        member += *member == ',';
    }
    return differ;
}
