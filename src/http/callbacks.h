/* SPDX-License-Identifier: MIT */
/*
 * callbacks: reads the body of /api/callback in every form that executors send; docs/api.md lists them. The only users of the
 * JSON library in this area are callbacks.c and beat.c.
 *
 * Ownership   Texts of the entries live as long as the callback_list.
 */
#ifndef HTTP_CALLBACKS_H
#define HTTP_CALLBACKS_H

#include "shardwheel/store/registry.h"
#include "shardwheel/store/run.h"

struct json_object;

struct callback_list {
    struct callback_entry *entries; /* those that can be stored */
    size_t count;
    size_t malformed;        /* entries left out */
    struct errctx complaint; /* says of the first malformed entry where it is and what is wrong */
    struct json_object *root;
    char **texts; /* messages that had to be made */
    size_t texts_count;
};

/* ERR_INPUT when the body as a whole cannot be read; ERR_NOMEM. A malformed entry is no error: see `malformed`. */
MUST_CHECK enum err callbacks_parse(const char *body, size_t len, struct callback_list *out, struct errctx *ec);
void callbacks_fini(struct callback_list *list);

/* ---- beat.c ---------------------------------------------------------------------------------------------------- */

/* The three texts of a registry call; NULL where absent or null. */
struct beat_body {
    const char *group, *key, *value;
    struct json_object *root;
};
MUST_CHECK enum err beat_parse(const char *body, size_t len, struct beat_body *out, struct errctx *ec);
void beat_fini(struct beat_body *beat);

/* ---- json.c ------------------------------------------------------------------------------------------------------ */

/* One JSON value and white space around it, a byte order mark before it too. Bytes that are not UTF-8, and NUL, become U+FFFD.
 * *out is NULL for the value null. */
MUST_CHECK enum err json_parse(const char *text, size_t len, struct json_object **out, struct errctx *ec);

#endif
