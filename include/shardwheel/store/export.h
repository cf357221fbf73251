/* SPDX-License-Identifier: MIT */
/*
 * store/export: names of groups and jobs in their order, page by page: bytes of the app name, then of the title or the
 * job's name, then the id. See store/conn.h for threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_EXPORT_H
#define SHARDWHEEL_STORE_EXPORT_H

#include "shardwheel/store/group.h"
#include "shardwheel/store/jobs.h"

struct export_name {
    int64_t id;
    const char *app_name; /* not NULL, as the next */
    const char *name;
    int64_t source_bytes; /* see store_measure_sources */
};
STORE_LIST(export_names, struct export_name, items);

struct export_filter {
    struct group_filter groups; /* of which the groups count alone */
    const int64_t *jobs;        /* these, and the groups that have some of them; NULL: all */
    size_t job_count;
};
/* What stands behind `after` (NULL: all), at most `limit` of it. A statement that takes longer than limit_ms is ended:
 * ERR_TIMEOUT. */
MUST_CHECK enum err store_list_export_groups(struct store_session *s, const struct export_filter *filter,
                                             const struct export_name *after, int64_t limit, int limit_ms,
                                             struct group_infos *out, struct errctx *ec);
MUST_CHECK enum err store_list_export_jobs(struct store_session *s, const struct export_filter *filter,
                                           const struct export_name *after, int64_t limit, int limit_ms,
                                           struct export_names *out, struct errctx *ec);
/* Of the jobs `ids` (at most 500) those of groups of the filter, by id. */
MUST_CHECK enum err store_load_export_names(struct store_session *s, const struct group_filter *filter,
                                            const int64_t *ids, size_t count, struct export_names *out,
                                            struct errctx *ec);
/* Fills in the bytes of the sources of those jobs (at most 500); 0 where there is none. */
MUST_CHECK enum err store_measure_sources(struct store_session *s, struct export_name *items, size_t count,
                                          struct errctx *ec);

#endif
