/* SPDX-License-Identifier: MIT */
/*
 * store/views: lists that users have narrowed and ordered, saved by name (shardwheel_view). See store/conn.h for
 * threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_VIEWS_H
#define SHARDWHEEL_STORE_VIEWS_H

#include "shardwheel/store/conn.h"

struct view {
    int64_t id;
    int64_t user_id;
    const char *page;  /* "jobs", "runs" */
    const char *name;  /* 64 characters */
    const char *query; /* 2,000 characters */
};
STORE_LIST(views, struct view, items);

/* Of one user, by page and name. `page` NULL: of all. */
MUST_CHECK enum err store_load_views(struct store_session *s, int64_t user_id, const char *page, struct views *out,
                                     struct errctx *ec);
/* ERR_STATE: the user has one of that name for the page, ERR_BUSY: `max` of them. */
MUST_CHECK enum err store_add_view(struct store_session *s, const struct view *view, int64_t max, int64_t *id,
                                   struct errctx *ec);
/* Name and query, NULL: as it is. Of that user alone: else ERR_NOTFOUND. ERR_STATE as above. */
MUST_CHECK enum err store_change_view(struct store_session *s, const struct view *view, struct errctx *ec);
MUST_CHECK enum err store_remove_view(struct store_session *s, int64_t user_id, int64_t id, struct errctx *ec);

#endif
