/* SPDX-License-Identifier: MIT */
/*
 * json: reads JSON in place. There is no tree: a value is a piece of the text, and its items and members are looked at
 * one after the other. So a body takes no memory but its own, whatever is in it.
 *
 * Order       json_check says whether the text is JSON as a whole. Only then may the rest be asked of its root and of
 *             what is in it; nothing can be wrong any more.
 * Leniency    What authors of executors can get away with elsewhere: texts in single quotes with line ends in them, a
 *             comma behind the last item, TRUE and Null, NaN and Infinity, integers as 7.0 and "7".
 * Threads     Any. Values live as long as the text.
 */
#ifndef HTTP_JSON_H
#define HTTP_JSON_H

#include "shardwheel/base.h"

#define JSON_DEPTH_MAX                                                                                                 \
    32 /* real bodies have three levels, and a value that an executor's job returned may have some more */

enum json_kind { JSON_ABSENT, JSON_NULL, JSON_BOOL, JSON_INT, JSON_REAL, JSON_TEXT, JSON_ARRAY, JSON_OBJECT };

/* Zero-initialised: absent. */
struct json_value {
    enum json_kind kind;
    const char *at; /* with its quotes or brackets */
    size_t len;
};

/* One value with white space around it, a byte order mark before it too. ERR_INPUT names what is wrong, and where. */
MUST_CHECK enum err json_check(const char *text, size_t len, struct json_value *root, struct errctx *ec);

/* The same without the leniency and without the mark: RFC 8259, in UTF-8, no text with half a character in it. */
MUST_CHECK enum err json_check_strict(const char *text, size_t len, struct json_value *root, struct errctx *ec);

/* What comes next in an array or object; zero-initialised it stands before the first. */
struct json_place {
    const char *at;
};
/* False behind the last one, and for values of other kinds. */
bool json_next_item(const struct json_value *array, struct json_place *place, struct json_value *item);
bool json_next_member(const struct json_value *object, struct json_place *place, struct json_value *name,
                      struct json_value *value);
bool json_is_text(const struct json_value *value, const char *text); /* a text, and this one */
/* Integers as 7, 7.0 and "7". */
bool json_get_int(const struct json_value *value, int64_t min, int64_t max, int64_t *out);
/* Appends about `max` bytes of a text's characters at most, cut between two; U+FFFD for what is no UTF-8, for half a
 * surrogate pair and for NUL. True when the text has a NUL written as \u0000. */
bool json_put_text(struct buf *out, const struct json_value *text, size_t max);
/* Appends any value as JSON without white space, up to about `max` bytes of it. */
void json_put_value(struct buf *out, const struct json_value *value, size_t max);

#endif
