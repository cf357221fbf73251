/* SPDX-License-Identifier: MIT */
/*
 * grouped: many rows in few UPDATEs. Rows of equal values share a statement where they are many; what is left goes some
 * at a time into one that tells them apart by CASE.
 */
#ifndef STORE_CONN_GROUPED_H
#define STORE_CONN_GROUPED_H

#include "store/conn/session.h"

struct grouped {
    int (*compare)(const void *a, const void *b); /* of two rows; 0: equal values */
    bool (*is_apart)(const void *row);            /* it is written by `equal`, however few they are; NULL: none is */
    /* Writes rows of equal values, STORE_LIST_MAX at most. Where something does not fit its column each goes by itself,
     * changed no more than it needs. */
    enum err (*equal)(struct store_session *s, const void *const *rows, size_t count, struct fitting how, void *arg,
                      struct errctx *ec);
    /* Writes rows of any values, by CASE. NULL: what is left is not written. */
    enum err (*different)(struct store_session *s, const void *const *rows, size_t count, void *arg, struct errctx *ec);
    /* Bytes of a row's texts in such a statement; NULL: they do not count. */
    size_t (*measure)(const void *row);
};

/* `rows` are sorted so that equal values stand together; their order is lost. Stops at the first error. */
MUST_CHECK enum err store_write_grouped(struct store_session *s, const struct grouped *how, const void **rows,
                                        size_t count, void *arg, struct errctx *ec);

#endif
