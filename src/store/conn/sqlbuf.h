/* SPDX-License-Identifier: MIT */
/*
 * sqlbuf: the one place where values become SQL text.
 *
 * Identifiers and keywords come from constants of the source, numbers are written by us, texts are repaired to
 * UTF-8, escaped by the client library for this connection, and quoted. Errors are kept: test sqlbuf_failed once at
 * the end.
 */
#ifndef STORE_CONN_SQLBUF_H
#define STORE_CONN_SQLBUF_H

#include <stddef.h>

#include "shardwheel/cron.h"
#include "store/conn/mysql.h"

struct sqlbuf {
    struct buf text;
    struct buf scratch; /* a text after its repair */
    struct db *db;      /* of the connection that the statement is for */
};

/* How texts are made to fit columns of old tables, tried in this order; AS_IS repairs broken UTF-8 only. */
enum text_fit {
    TEXT_AS_IS,
    TEXT_BMP,   /* characters beyond U+FFFF become '?': utf8mb3 */
    TEXT_ASCII, /* all but ASCII becomes '?': latin1 and others */
    TEXT_FITS
};

/* Ids in one IN list: MariaDB turns longer lists into subqueries, and they lock rows in another order then. */
#define STORE_LIST_MAX 500

void sqlbuf_start(struct sqlbuf *b, struct db *db);
void sqlbuf_fini(struct sqlbuf *b);
bool sqlbuf_failed(const struct sqlbuf *b);

void sql_puts(struct sqlbuf *b, const char *constant);
void sql_int(struct sqlbuf *b, int64_t value);
void sql_text(struct sqlbuf *b, const char *text);         /* 'quoted' */
void sql_text_or_null(struct sqlbuf *b, const char *text); /* NULL for NULL */
/* At most max_chars characters of the text, fitted; NULL for NULL. */
void sql_text_fitted(struct sqlbuf *b, const char *text, size_t max_chars, enum text_fit fit);
/* The same of a text that was put together for it, and its end. */
void sql_take_text(struct sqlbuf *b, struct buf *text, size_t max_chars, enum text_fit fit);
void sql_ids(struct sqlbuf *b, const int64_t *ids, size_t count); /* 1,2,3; where there are none 0, an id of no row */
/* A condition: the column `id` is one of these, ascending and distinct. Long runs of consecutive ids become ranges,
 * which the server reads as they lie instead of looking up each id. */
void sql_id_among(struct sqlbuf *b, const int64_t *ids, size_t count);
/* " AND COLUMN % n IN (...)", the jobs of those shards; nothing when these are all of them. */
void sql_and_shards(struct sqlbuf *b, const char *column, const int *shards, size_t count, int n);
void sql_datetime(struct sqlbuf *b, const struct zone *zone, int64_t epoch_s);

/*
 * A statement with its values: each ? of the text, which is a constant, stands for one of the values behind it. A
 * number is written as it is and a text quoted ('' for NULL); what else there is comes from a function of struct
 * sql_value.
 *
 *     sql_put(q, " WHERE id = ? AND name <=> ?", row->id, sql_or_null(row->name));
 */
struct sql_value {
    void (*put)(struct sqlbuf *b, const struct sql_value *value); /* NULL behind the last one */
    const void *from;
    int64_t number;
    enum text_fit fit;
};

#define sql_put(b, ...) sql_put_values(b, SQL_VALUES(__VA_ARGS__))
/* A text and its values as two arguments, for macros like that one. */
#define SQL_VALUES(text, ...)                                                                                          \
    "" text, (const struct sql_value[])                                                                                \
    {                                                                                                                  \
        __VA_OPT__(SQL_1(__VA_ARGS__)) sql_no_value()                                                                  \
    }
#define SQL_VALUE(x)                                                                                                   \
    _Generic((x), char *: sql_of_text, const char *: sql_of_text, struct sql_value: sql_same, default: sql_of_int)(x)
#define SQL_1(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_2(__VA_ARGS__))
#define SQL_2(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_3(__VA_ARGS__))
#define SQL_3(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_4(__VA_ARGS__))
#define SQL_4(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_5(__VA_ARGS__))
#define SQL_5(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_6(__VA_ARGS__))
#define SQL_6(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_7(__VA_ARGS__))
#define SQL_7(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_8(__VA_ARGS__))
#define SQL_8(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_9(__VA_ARGS__))
#define SQL_9(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_10(__VA_ARGS__))
#define SQL_10(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_11(__VA_ARGS__))
#define SQL_11(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_12(__VA_ARGS__))
#define SQL_12(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_13(__VA_ARGS__))
#define SQL_13(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_14(__VA_ARGS__))
#define SQL_14(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_15(__VA_ARGS__))
#define SQL_15(a, ...) SQL_VALUE(a), __VA_OPT__(SQL_16(__VA_ARGS__))
#define SQL_16(a) SQL_VALUE(a),

void sql_put_values(struct sqlbuf *b, const char *text, const struct sql_value *values);
void sql_put_int(struct sqlbuf *b, const struct sql_value *value);
void sql_put_text(struct sqlbuf *b, const struct sql_value *value);
void sql_put_list(struct sqlbuf *b, const struct sql_value *value);
void sql_put_each(struct sqlbuf *b, const struct sql_value *value);
void sql_put_time(struct sqlbuf *b, const struct sql_value *value);
void sql_put_word(struct sqlbuf *b, const struct sql_value *value);

static inline struct sql_value sql_no_value(void)
{
    return (struct sql_value){.put = NULL};
}

static inline struct sql_value sql_of_int(int64_t number)
{
    return (struct sql_value){.put = sql_put_int, .number = number};
}

/* At most max_chars characters of it; NULL for NULL. */
static inline struct sql_value sql_fitted(const char *text, size_t max_chars, enum text_fit fit)
{
    return (struct sql_value){.put = sql_put_text, .from = text, .number = (int64_t)max_chars, .fit = fit};
}

static inline struct sql_value sql_or_null(const char *text) /* NULL for NULL */
{
    return sql_fitted(text, SIZE_MAX, TEXT_AS_IS);
}

static inline struct sql_value sql_int_or_null(int64_t number) /* NULL for 0 */
{
    return number ? sql_of_int(number) : sql_or_null(NULL);
}

static inline struct sql_value sql_of_text(const char *text)
{
    return sql_or_null(text ? text : "");
}

static inline struct sql_value sql_same(struct sql_value value)
{
    return value;
}

static inline struct sql_value sql_list(const int64_t *ids, size_t count) /* see sql_ids */
{
    return (struct sql_value){.put = sql_put_list, .from = ids, .number = (int64_t)count};
}

/* Of many ids those from `at` on, as many as one list may have. */
static inline struct sql_value sql_part(const int64_t *ids, size_t count, size_t at)
{
    return sql_list(ids + at, count - at < STORE_LIST_MAX ? count - at : STORE_LIST_MAX);
}

/* 1,2,3: numbers that are members of the items of a list; of what the items point to; of what a member of the items
 * points to. */
#define sql_each(list, count, member) SQL_EACH(list, count, SIZE_MAX, *(list), member)
#define sql_each_at(list, count, member) SQL_EACH(list, count, 0, **(list), member)
#define sql_each_in(list, count, pointer, member)                                                                      \
    SQL_EACH(list, count, offsetof(__typeof__(*(list)), pointer), *(list)->pointer, member)
#define SQL_EACH(list, count, way, object, member)                                                                     \
    ((struct sql_value){.put = sql_put_each,                                                                           \
                        .from = &(const struct sql_members){list, sizeof *(list), way,                                 \
                                                            offsetof(__typeof__(object), member),                      \
                                                            sizeof((object).member)},                                  \
                        .number = (int64_t)(count)})
struct sql_members {
    const void *list;
    size_t stride;
    size_t pointer; /* where in an item the pointer is; SIZE_MAX: the member is in the item */
    size_t at, size;
};

static inline struct sql_value sql_time(const struct zone *zone, int64_t epoch_s) /* a DATETIME */
{
    return (struct sql_value){.put = sql_put_time, .from = zone, .number = epoch_s};
}

static inline struct sql_value sql_word(const char *constant) /* of the source, as it is */
{
    return (struct sql_value){.put = sql_put_word, .from = constant};
}

/* Pure parts. Both append to `out`. */
void sql_repair_text(struct buf *out, const char *text, size_t len, size_t max_chars, enum text_fit fit);
/* Bytes of `text` that hold at most max_units UTF-16 units and max_bytes bytes, never half a character. */
size_t sql_cut_text(const char *text, size_t max_units, size_t max_bytes);

#endif
