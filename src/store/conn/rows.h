/* SPDX-License-Identifier: MIT */
/*
 * rows: what rows of a SELECT become: structs, by a table that has a member for each column, in their order. Private to
 * store.
 *
 *     static const struct row_type tokens = ROWS(FIELDS(struct token_row, id, user_id, name, used_ms));
 *
 *     store_sql(s, "SELECT id, user_id, name, used_ms FROM shardwheel_token WHERE user_id = ?", user_id);
 *     e = store_read_array(s, &tokens, out, count, ec);
 */
#ifndef STORE_CONN_ROWS_H
#define STORE_CONN_ROWS_H

#include "store/conn/session.h"

enum field_kind {
    FIELD_END,
    FIELD_NUMBER,  /* of the member's size, which is that of an int or an int64_t; 0 for NULL */
    FIELD_FLAG,    /* a bool */
    FIELD_TEXT,    /* a const char *, which lives as long as the rows; "" for NULL */
    FIELD_NULL,    /* ... NULL for NULL */
    FIELD_CHARS,   /* an array: the text is copied, and cut to it; "" for NULL */
    FIELD_SECONDS, /* see db_seconds; `none` for NULL */
    FIELD_TIME,    /* a DATETIME; `none` where the column has no time */
    FIELD_SKIP,    /* the column is somebody else's */
};

struct row_field {
    enum field_kind kind;
    size_t at, size; /* of the member */
    int64_t none;
};

#define ROW_FIELDS_MAX 32

struct row_type {
    size_t size;
    /* What the fields cannot say; NULL: all is said. False: the row is left out. */
    bool (*finish)(const struct store_session *s, const struct db_rows *row, void *item);
    struct row_field fields[ROW_FIELDS_MAX]; /* up to the first one that is FIELD_END, if there is one */
};

#define ROWS(type, ...) ROWS_AND(type, NULL, __VA_ARGS__)
#define ROWS_AND(type, finish, ...)                                                                                    \
    {                                                                                                                  \
        sizeof(type), finish,                                                                                          \
        {                                                                                                              \
            __VA_ARGS__                                                                                                \
        }                                                                                                              \
    }
/* Members of numbers, flags and texts; texts that may be NULL; times. */
#define FIELDS(type, ...) FIELD_EXPAND(FIELD_EACH(FIELD_ONE, type, __VA_ARGS__))
#define NULL_TEXTS(type, ...) FIELD_EXPAND(FIELD_EACH(FIELD_NULL_TEXT, type, __VA_ARGS__))
#define TIME(type, member, no_time) FIELD(FIELD_TIME, type, member, no_time)
#define SECONDS(type, member, no_number) FIELD(FIELD_SECONDS, type, member, no_number)
#define SKIP                                                                                                           \
    {                                                                                                                  \
        .kind = FIELD_SKIP                                                                                             \
    }

#define FIELD(kind, type, member, no_time)                                                                             \
    {                                                                                                                  \
        kind, offsetof(type, member), sizeof(((type *)0)->member), no_time                                             \
    }
#define FIELD_ONE(type, member)                                                                                        \
    FIELD(_Generic(((type *)0)->member, char *: FIELD_CHARS, const char *: FIELD_TEXT, bool: FIELD_FLAG,              \
                   default: FIELD_NUMBER),                                                                             \
          type, member, 0)
#define FIELD_NULL_TEXT(type, member) FIELD(FIELD_NULL, type, member, 0)
/* one(type, member) for each member. */
#define FIELD_EACH(one, type, member, ...)                                                                             \
    one(type, member) __VA_OPT__(, FIELD_AGAIN FIELD_PARENS(one, type, __VA_ARGS__))
#define FIELD_AGAIN() FIELD_EACH
#define FIELD_PARENS ()
#define FIELD_EXPAND(...) FIELD_EXPAND_1(FIELD_EXPAND_1(FIELD_EXPAND_1(__VA_ARGS__)))
#define FIELD_EXPAND_1(...) FIELD_EXPAND_2(FIELD_EXPAND_2(FIELD_EXPAND_2(__VA_ARGS__)))
#define FIELD_EXPAND_2(...) __VA_ARGS__

/* The current row; false: it is left out. */
bool row_read(const struct store_session *s, const struct db_rows *row, const struct row_type *type, void *item);

/* What all structs of STORE_LIST begin with. */
struct row_list {
    void *items;
    size_t count;
    void *memory;
};

/* All of them send s->sql. `list` is a struct row_list, or of STORE_LIST, and gets one item more for each row: on
 * errors its owner frees it, as always. */
MUST_CHECK enum err store_append_list(struct store_session *s, const struct row_type *type, void *list,
                                      struct errctx *ec);
/* The same of a list that is written on success only. */
MUST_CHECK enum err store_read_list(struct store_session *s, const struct row_type *type, void *list,
                                    struct errctx *ec);
/* Items without texts: *(T **)out is to be freed with free, and not NULL where there are none. */
MUST_CHECK enum err store_read_array(struct store_session *s, const struct row_type *type, void *out, size_t *count,
                                     struct errctx *ec);
/* The same in parts: after some store_append_list, of which e came. NULL where there was no part. */
enum err store_end_array(struct row_list *list, enum err e, void *out, size_t *count);
/* One row; ERR_NOTFOUND without any. Texts live in *memory, see store_free_memory; NULL: there are none. */
MUST_CHECK enum err store_read_row(struct store_session *s, const struct row_type *type, void *item, void **memory,
                                   struct errctx *ec);
void store_free_memory(void *memory);

#endif
