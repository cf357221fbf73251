/* SPDX-License-Identifier: MIT */
/*
 * load_json: walks the members of one JSON object in place, without copying or allocating.
 *
 * It finds the ends of strings and of nested values and checks no more than that: what an executor needs
 * from a trigger request are a handful of numbers and one name.
 */
#ifndef LOAD_JSON_H
#define LOAD_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A value as it stands in the text; of a string the part between its quotes, still escaped. */
struct json_slice {
    const char *text;
    size_t len;
};

struct json_walk {
    const char *at;
    const char *end;
    bool broken; /* the text ended early or is no object */
};

/* False if the text does not begin with an object. */
bool json_begin_object(struct json_walk *w, const char *text, size_t len);
/* False after the last member, and when the rest is broken (then w->broken is set). */
bool json_next_member(struct json_walk *w, struct json_slice *name, struct json_slice *value);

/* In the header, so that the length of a constant is known where it is compared. */
static inline bool json_is(struct json_slice s, const char *text)
{
    return strlen(text) == s.len && memcmp(s.text, text, s.len) == 0;
}
/* The whole number at the head of a value ("15", 15 and 15.0 are 15); 0 where there is none or it overflows. */
int64_t json_to_int(struct json_slice s);

#endif
