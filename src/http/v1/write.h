/* SPDX-License-Identifier: MIT */
/*
 * v1/write: what answers have besides the plain members of shardwheel/base.h: instants, lists, pages. Pure.
 */
#ifndef HTTP_V1_WRITE_H
#define HTTP_V1_WRITE_H

#include "http/v1/read.h"

void v1_put_instant(struct buf *out, const char *name, int64_t ms);  /* UTC, with milliseconds; 0 becomes null */
void v1_put_second(struct buf *out, const char *name, int64_t at_s); /* the same; INT64_MIN becomes null */
/* `text`, which points into `from` or is none of it; `from` is freed, and what it could not hold fails `out`, too. */
void v1_put_buf(struct buf *out, const char *name, const char *text, struct buf *from);
void v1_put_ints(struct buf *out, const char *name, const int64_t *v, size_t count);
/* Of items with commas between; frees them. */
void v1_put_collected(struct buf *out, const char *name, struct buf *items);
void v1_put_texts(struct buf *out, const char *name, const char *const *v, size_t count);
void v1_put_scopes(struct buf *out, const char *name, unsigned scopes); /* their names */
/* A list of what stands between the commas of `text`, but for blanks; NULL is an empty one. */
void v1_put_parts(struct buf *out, const char *name, const char *text);

/* An object for each item, whose members put(out, &items[i], ...) writes. */
#define V1_PUT_EACH(out, items, count, put, ...)                                                                       \
    do {                                                                                                               \
        for (size_t i_ = 0; i_ < (count); i_++) {                                                                      \
            member_object(out, NULL);                                                                                  \
            put(out, &(items)[i_] __VA_OPT__(, ) __VA_ARGS__);                                                         \
            member_object_end(out);                                                                                    \
        }                                                                                                              \
    } while (0)
/* The same as a list. */
#define V1_PUT_LIST(out, name, items, count, put, ...)                                                                 \
    do {                                                                                                               \
        member_list(out, name);                                                                                        \
        V1_PUT_EACH(out, items, count, put __VA_OPT__(, ) __VA_ARGS__);                                                \
        member_list_end(out);                                                                                          \
    } while (0)

void v1_answer_id(struct v1_call *c, int64_t id); /* 201, {"id":...} */

/* What follows the items of a page: `next`, NULL where there is no more, and the total where that was asked for. */
void v1_end_page(struct v1_call *c, const struct v1_page *page, const struct v1_cursor *next);
/* The page of a v1_query_ids, of which page->want items were asked for and `found` are there; `key` is the member with
 * the number that it goes by. */
#define V1_PUT_PAGE(c, page, rows, found, put, key, ...)                                                               \
    V1_PUT_PAGE_BY(c, page, rows, found, 1, key, key, put __VA_OPT__(, ) __VA_ARGS__)
/* The same by the first `n` of two members. */
#define V1_PUT_PAGE_BY(c, page, rows, found, n, key, key2, put, ...)                                                   \
    do {                                                                                                               \
        size_t shown_ = (found) < (page)->limit ? (found) : (page)->limit;                                             \
        V1_PUT_LIST(&(c)->r->body, "items", rows, shown_, put __VA_OPT__(, ) __VA_ARGS__);                             \
        v1_end_page(c, page,                                                                                           \
                    (found) > shown_                                                                                   \
                        ? &(struct v1_cursor){.keys = {(rows)[shown_ - 1].key, (rows)[shown_ - 1].key2}, .count = n}   \
                        : NULL);                                                                                       \
    } while (0)

#endif
