/* SPDX-License-Identifier: MIT */
#include "store/conn/grouped.h"

static enum err write_singly(struct store_session *s, const struct grouped *how, const void *const *rows, size_t count,
                             void *arg, struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < count && !e; i++) {
        struct fitting fitting = {TEXT_AS_IS, false};

        do
            e = how->equal(s, rows + i, 1, fitting, arg, ec);
        while (e && store_fit_more(s, &fitting));
    }
    return e;
}

static enum err write_some(struct store_session *s, const struct grouped *how, const void *const *rows, size_t count,
                           bool equal, void *arg, struct errctx *ec)
{
    enum err e = equal ? how->equal(s, rows, count, (struct fitting){TEXT_AS_IS, false}, arg, ec)
                       : how->different(s, rows, count, arg, ec);

    return e && store_has_data_error(s) ? write_singly(s, how, rows, count, arg, ec) : e;
}

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
            e = write_some(s, how, rows + at, end - at, /*equal=*/true, arg, ec);
        else
            for (size_t i = at; i < end; i++)
                rows[(*left)++] = rows[i];
    }
    return e;
}

/* As many of the rest as one statement should hold. */
static size_t count_for_case(const struct store_session *s, const struct grouped *how, const void *const *rows,
                             size_t count)
{
    size_t quarter = db_max_packet(s->db) / 4; /* escaping may double a text */
    size_t limit = quarter < STORE_STATEMENT_SOFT_MAX ? quarter : STORE_STATEMENT_SOFT_MAX;
    size_t n = 0, bytes = 0;

    for (; n < count && n < STORE_CASE_MAX; n++) {
        bytes += how->measure ? how->measure(rows[n]) : 0;
        if (n > 0 && bytes >= limit)
            break;
    }
    return n;
}

enum err store_write_grouped(struct store_session *s, const struct grouped *how, const void **rows, size_t count,
                             void *arg, struct errctx *ec)
{
    size_t left;
    enum err e = write_groups(s, how, rows, count, &left, arg, ec);

    for (size_t at = 0, n; how->different && at < left && !e; at += n) {
        n = count_for_case(s, how, rows + at, left - at);
        e = write_some(s, how, rows + at, n, /*equal=*/n == 1, arg, ec);
    }
    return e;
}
