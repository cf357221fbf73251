/* SPDX-License-Identifier: MIT */
/*
 * v1/read: what a call of api/v1 brings: parts of its path, parameters of its query, members of its body. Each function
 * takes what is there or notes the fault in c->why, and goes on with the value for what is absent; v1_is_refused tells
 * then. So the first fault in the order of reading is the one that is answered.
 *
 * Ownership   Texts and lists live until the call's end.
 */
#ifndef HTTP_V1_READ_H
#define HTTP_V1_READ_H

#include "http/v1/v1.h"

/* Memory until the call's end, zeroed; NULL (and noted) when there is none. */
void *v1_keep(struct v1_call *c, size_t size);
/* The text in a buffer that is the caller's, likewise; "" where it is empty. Frees the buffer. */
const char *v1_keep_buf(struct v1_call *c, struct buf *text);
void v1_forget(struct v1_call *c);

/* Asks for no body by leaving c->body absent. ERR_INPUT: `status` says with what to answer. */
MUST_CHECK enum err v1_read_body(struct v1_call *c, int *status, struct errctx *ec);

/* ---- path and query ---------------------------------------------------------------------------------------------- */

int64_t v1_path_id(struct v1_call *c, size_t i);       /* the i-th {...} as a positive number */
const char *v1_path_text(struct v1_call *c, size_t i); /* valid UTF-8 */

const char *v1_query_text(struct v1_call *c, const char *name, size_t max_chars); /* NULL: absent */
int64_t v1_query_int(struct v1_call *c, const char *name, int64_t min, int64_t max, int64_t absent);
bool v1_query_bool(struct v1_call *c, const char *name, bool absent);          /* true, false */
int64_t v1_query_instant(struct v1_call *c, const char *name, int64_t absent); /* ms since the epoch */
int64_t v1_query_instant_required(struct v1_call *c, const char *name);
int v1_query_choice(struct v1_call *c, const char *name, const char *const *choices, /* ended by NULL */
                    int absent);

struct v1_ints {
    const int64_t *v;
    size_t count;
};
/* Numbers with commas between. */
struct v1_ints v1_query_ints(struct v1_call *c, const char *name, int64_t min, int64_t max, size_t max_count);

/* Names with commas between: a bit for each i < count whose name(i) is there. `such`: two of them, as an example. */
unsigned v1_query_states(struct v1_call *c, const char *param, const char *(*name)(int64_t), int64_t count,
                         const char *such);

struct v1_ints v1_query_ints_required(struct v1_call *c, const char *name, size_t max_count); /* ids, one at least */

/* A part of a text that is found as it stands: the dialects let % and _ be wildcards, as the original does. NULL stays
 * NULL. */
const char *v1_pattern(struct v1_call *c, const char *text);

/* ---- pages ------------------------------------------------------------------------------------------------------- */

#define V1_LIMIT_DEFAULT 50
#define V1_LIMIT_MAX 500
#define V1_KEYS_MAX 4

/* A place in a list: the key of the last item that the caller has. Numbers first; one text, if any, behind them. */
struct v1_cursor {
    int64_t keys[V1_KEYS_MAX];
    size_t count;
    const char *text; /* NULL: none */
};

struct v1_page {
    const char *list;
    size_t limit;
    int64_t want; /* one more: whether there is another page */
    bool count;   /* ask for the total, too */
    bool after;   /* `from` says behind what; false: the first page */
    struct v1_cursor from;
    int64_t total; /* for v1_end_page, as the next */
    bool is_estimate;
};
/* limit, after and count of the query. `list` is the name of list and order, which a cursor carries: one of another
 * list is refused. */
struct v1_page v1_query_page(struct v1_call *c, const char *list, size_t keys, bool text);
/* Of a list by one number, which is from.keys[0]: 0 on the first page. `counted`: else `count` is refused. */
struct v1_page v1_query_ids(struct v1_call *c, const char *list, bool counted);
void v1_refuse_count(struct v1_call *c, const struct v1_page *page);
/* The cursor as text, for write.h. */
void cursor_put(struct buf *out, const char *list, const struct v1_cursor *cursor);
/* Its text is a DATETIME, as in lists by time. */
bool cursor_is_time(const char *text);
/* False: not one of ours. `text` of out is in `memory`, which takes as many bytes as the cursor has. */
bool cursor_parse(const char *cursor, const char *list, size_t keys, bool text, char *memory, struct v1_cursor *out);

/* ---- members of objects ------------------------------------------------------------------------------------------ */

bool v1_has(struct v1_object *o, const char *name);       /* also as null */
bool v1_take_null(struct v1_object *o, const char *name); /* is there, and null: else null is refused */
void v1_require(struct v1_object *o, const char *name);   /* notes REFUSED_REQUIRED when absent */

const char *v1_text(struct v1_object *o, const char *name, size_t max_chars); /* NULL: absent. Without a NUL. */
int64_t v1_int(struct v1_object *o, const char *name, int64_t min, int64_t max, int64_t absent);
int v1_bool(struct v1_object *o, const char *name, int absent); /* 1, 0 or `absent` */
int64_t v1_instant(struct v1_object *o, const char *name, int64_t absent);
int v1_choice(struct v1_object *o, const char *name, const char *const *choices, int absent);
struct v1_ints v1_int_list(struct v1_object *o, const char *name, int64_t min, int64_t max, size_t max_count);

struct v1_texts {
    const char *const *v;
    size_t count;
};
struct v1_texts v1_text_list(struct v1_object *o, const char *name, size_t max_count, size_t max_chars);
/* Such a list as one text, joined by commas, as the database has it; "" when it is empty or absent. An item that has a
 * comma in it is refused, and a blank one unless `blanks`. */
const char *v1_joined_list(struct v1_object *o, const char *name, size_t max_count, size_t max_chars, bool blanks);

/* Of who is told of something: "groups", app names, and "tags"; joined likewise. NULL: absent. `around`: bytes that the
 * column takes beside them. */
const char *v1_take_groups(struct v1_object *o, size_t around);
const char *v1_take_tags(struct v1_object *o, size_t around);

/* A member that is an object itself: absent when it is not there. What it has is refused by v1_end. */
struct v1_object v1_object(struct v1_object *o, const char *name);
/* A member that is a list of objects, to be looked at one after the other; end each item with v1_end. */
struct v1_list {
    struct v1_call *c;
    const char *name;
    size_t count;
    struct json_value value;
    struct json_place place;
};
struct v1_list v1_object_list(struct v1_object *o, const char *name, size_t max_count);
bool v1_next_object(struct v1_list *list, struct v1_object *item); /* false behind the last */
/* Notes a member that was not asked for, or that is there twice. Called for the body by v1_is_refused. */
void v1_end(struct v1_object *o);

/* The value of that name in any object; absent when it is not there, or this is no object. */
struct json_value v1_find_member(const struct json_value *object, const char *name);

#endif
