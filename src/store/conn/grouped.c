/* SPDX-License-Identifier: MIT */
#include "store/conn/grouped.h"

/* Writes the large groups as they are found and moves what is left to the front; *left is their number. */
static enum err write_groups(struct store_session *s, const struct grouped *how, const void **rows, size_t count,
                             size_t *left, void *arg, struct errctx *ec)
{
    enum err e = ERR_OK;

    *left = 0;
    for (size_t at = 0, end; at < count && !e; at = end) {
        for (end = at + 1; end < count && end - at < STORE_LIST_MAX && how->compare(rows[at], rows[end]) == 0;)
            end++;
        if (end - at >= STORE_GROUP_MIN || (how->is_apart && how->is_apart(rows[at])))
            e = how->equal(s, rows + at, end - at, arg, ec);
        else
            for (size_t i = at; i < end; i++)
                rows[(*left)++] = rows[i];
    }
    return e;
}

enum err store_write_grouped(struct store_session *s, const struct grouped *how, const void **rows, size_t count,
                             void *arg, struct errctx *ec)
{
    size_t left;
    enum err e = write_groups(s, how, rows, count, &left, arg, ec);

    for (size_t at = 0, n; how->different && at < left && !e; at += n) {
        n = left - at < STORE_CASE_MAX ? left - at : STORE_CASE_MAX;
        if (how->fit)
            n = how->fit(s, rows + at, n);
        e = how->different(s, rows + at, n, arg, ec);
    }
    return e;
}
