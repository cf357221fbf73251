/* SPDX-License-Identifier: MIT */
/*
 * cron_item: what stands between two commas of a field. docs/cron.md describes the dialect; what looks careless
 * there and in cron_item.c ("the rest is ignored") is part of it: jobs in existing databases rely on what the
 * original accepts.
 */
#ifndef CRON_CRON_ITEM_H
#define CRON_CRON_ITEM_H

#include "cron/cron_impl.h"

/* For messages: control characters become dots, long text is cut between two characters. */
struct quoted {
    char s[48];
};
struct quoted cron_quote(const char *text, size_t len);

struct cron_item {
    struct cron *cron;
    struct errctx *ec;
    enum cron_field field;
    const char *text; /* not ended by NUL */
    size_t len;
};

/* Adds what the item says to the sets of item->cron. The item is not empty. */
MUST_CHECK enum err cron_parse_item(const struct cron_item *item);
const char *cron_field_name(enum cron_field field);

#define cron_item_fail(it, fmt, ...)                                                                                   \
    err_set((it)->ec, ERR_INPUT, "%s field, item \"%s\": " fmt, cron_field_name((it)->field),                          \
            cron_quote((it)->text, (it)->len).s __VA_OPT__(, ) __VA_ARGS__)

#endif
