/* SPDX-License-Identifier: MIT */
#include "http/v1/values.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool v1_note(struct v1_call *c, enum refusal_kind kind, const char *field, const char *fmt, ...)
{
    char text[sizeof c->why.text.text];
    va_list args;

    if (c->why.kind != REFUSED_NOT)
        return false;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    refuse(&c->why, kind, field, "%s", text);
    return true;
}

bool v1_is_asked(const struct v1_asked *asked, const char *name)
{
    return list_has_text(asked->names, asked->count, name);
}

void v1_note_asked(struct v1_asked *asked, const char *name)
{
    if (!v1_is_asked(asked, name) && asked->count < V1_ASKED_MAX)
        asked->names[asked->count++] = name;
}

void v1_note_invalid(struct v1_call *c, const char *name, const char *expected)
{
    v1_note(c, REFUSED_INVALID, name, "%s must be %s", name, expected);
}

bool v1_check_length(struct v1_call *c, const char *name, const char *text, size_t max_chars)
{
    if (utf8_count(text, strlen(text), /*utf16=*/false) <= max_chars)
        return true;
    if (v1_note(c, REFUSED_LENGTH, name, "%s has more than %zu characters", name, max_chars))
        c->why.max = (int64_t)max_chars;
    return false;
}

bool v1_check_int(struct v1_call *c, const char *name, bool good, int64_t min, int64_t max)
{
    if (!good &&
        v1_note(c, REFUSED_INVALID, name, "%s must be a whole number from %" PRId64 " to %" PRId64, name, min, max)) {
        c->why.min = min;
        c->why.max = max;
    }
    return good;
}

int v1_find_choice(struct v1_call *c, const char *name, const char *const *choices, const char *text, int absent)
{
    struct buf all = {0};

    for (int i = 0; text && choices[i]; i++) {
        if (!strcmp(choices[i], text))
            return i;
    }
    for (int i = 0; choices[i]; i++)
        buf_printf(&all, "%s%s", i ? ", " : "", choices[i]);
    v1_note(c, REFUSED_INVALID, name, "%s must be one of %s", name, buf_failed(&all) ? "its values" : all.data);
    buf_fini(&all);
    return absent;
}
