/* SPDX-License-Identifier: MIT */
/*
 * json_span: finds members of a long JSON text without making a tree of it. Pure.
 *
 * Invariants  What is within a value that nobody asks for is skipped by its brackets and quotes, so it may be no JSON.
 *             Names are compared as they are written, without escapes. Time and memory do not grow with the depth.
 */
#ifndef EXECUTOR_JSON_SPAN_H
#define EXECUTOR_JSON_SPAN_H

#include "shardwheel/base.h"

/* A part of a text; calls move `at` on. */
struct span {
    const char *at;
    const char *end;
};

static inline bool span_take_char(struct span *s, char c)
{
    if (s->at == s->end || *s->at != c)
        return false;
    s->at++;
    return true;
}

void span_skip_blanks(struct span *s);
/* False where the text ends within the value, which then is all that is left. */
bool span_skip_value(struct span *s, struct span *out);
/* Behind the first brace of an object. found[i]: the value under names[i], untouched where there is none; of one that
 * is given twice the last one counts. False where the text ends early or is no JSON; what was found by then stays, the
 * last of it maybe without its end. */
bool span_find_members(struct span *s, const char *const *names, size_t count, struct span *found);

#endif
