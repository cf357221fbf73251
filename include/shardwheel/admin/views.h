/* SPDX-License-Identifier: MIT */
/*
 * admin/views: lists that a user has narrowed and ordered, saved by name. See admin.h for threads and refusals.
 *
 * Rights      One's own alone. A token needs its scope write to change them. They are not in the audit log: nobody else
 *             sees them.
 */
#ifndef SHARDWHEEL_ADMIN_VIEWS_H
#define SHARDWHEEL_ADMIN_VIEWS_H

#include "shardwheel/admin/login.h"
#include "shardwheel/store/views.h"

#define VIEWS_MAX 100 /* of a user */
#define VIEW_NAME_MAX 64
#define VIEW_QUERY_MAX 2000

/* `page` NULL: of all pages. */
MUST_CHECK enum err admin_load_views(struct admin *a, const struct identity *who, const char *page, struct views *out,
                                     struct refusal *r);
/* Fields name and query. REFUSED_TAKEN "name", REFUSED_LIMIT: VIEWS_MAX are there. */
MUST_CHECK enum err admin_add_view(struct admin *a, const struct identity *who, const struct view *view, int64_t *id,
                                   struct refusal *r);
/* NULL: as it is. REFUSED_UNKNOWN "id", REFUSED_TAKEN "name". */
MUST_CHECK enum err admin_change_view(struct admin *a, const struct identity *who, const struct view *view,
                                      struct refusal *r);
MUST_CHECK enum err admin_remove_view(struct admin *a, const struct identity *who, int64_t id, struct refusal *r);

#endif
