/* SPDX-License-Identifier: MIT */
/*
 * store/group: executor groups as people see and change them. The registry's own view is in store/registry.h. See
 * store/conn.h for threads, ownership and errors.
 *
 * Writing     Conditional on what was read, letters' case included; a change and its audit row are one transaction.
 *             ERR_CONFLICT: it is not as it was read. ERR_INPUT: a text that its column cannot hold.
 */
#ifndef SHARDWHEEL_STORE_GROUP_H
#define SHARDWHEEL_STORE_GROUP_H

#include "shardwheel/store/audit.h"

/* What the columns of this database take. */
struct group_columns {
    int title_chars; /* 12 or 64 */
    bool has_token;
};
MUST_CHECK enum err store_get_group_columns(struct store_session *s, struct group_columns *out, struct errctx *ec);

struct group_info {
    int64_t id;
    const char *app_name;
    const char *title;
    int64_t address_type;     /* 0: by heartbeats; any other: by hand */
    const char *address_list; /* NULL for NULL, as the two that follow */
    const char *access_token; /* NULL also where the schema has none, or who reads may not see it */
    bool has_token;           /* one that is not blank */
    int64_t update_s;         /* -1 for NULL */
};
STORE_LIST(group_infos, struct group_info, items);

struct group_filter {
    const char *app_name, *title; /* parts of them, for LIKE: % _ \ are not escaped. NULL or "": any */
    const int64_t *groups;        /* these alone, unless all_groups */
    size_t group_count;
    bool all_groups;
    bool by_name;     /* ordered by app name, title and id, from the `offset`-th on; else by id */
    int64_t after_id; /* by id: behind this one */
    int64_t offset;
    int64_t limit;
};
MUST_CHECK enum err store_list_groups(struct store_session *s, const struct group_filter *filter,
                                      struct group_infos *out, struct errctx *ec);
/* Order, offset, limit and after_id make no difference. ERR_TIMEOUT after limit_ms. */
MUST_CHECK enum err store_count_groups(struct store_session *s, const struct group_filter *filter, int limit_ms,
                                       int64_t *out, struct errctx *ec);
/* One item. ERR_NOTFOUND. */
MUST_CHECK enum err store_load_group(struct store_session *s, int64_t id, struct group_infos *out, struct errctx *ec);
/* Whether a group other than `but` has the name, as the column's collation sees it. */
MUST_CHECK enum err store_is_app_name_taken(struct store_session *s, const char *app_name, int64_t but, bool *out,
                                            struct errctx *ec);

/* Fills in the audit row's target. */
MUST_CHECK enum err store_insert_group(struct store_session *s, const struct group_info *group, int64_t now_s,
                                       struct audit_row *audit, int64_t *out_id, struct errctx *ec);
/* Writes what differs, and update_time. `from` is what was read; of an automatic group's the list does not count, for
 * heartbeats change it at any time. */
MUST_CHECK enum err store_update_group(struct store_session *s, const struct group_info *from,
                                       const struct group_info *to, int64_t now_s, const struct audit_row *audit,
                                       struct errctx *ec);

enum group_removal { GROUP_REMOVED, GROUP_HAS_JOBS, GROUP_IS_LAST };
/* With its rows of the registry, unless another group has the same name. ERR_CONFLICT: not as it was read, or gone. */
MUST_CHECK enum err store_remove_group(struct store_session *s, const struct group_info *from,
                                       const struct audit_row *audit, enum group_removal *out, struct errctx *ec);
/* What stands against the removal of a group that is not there: jobs that name it, and that there is one group. */
MUST_CHECK enum err store_check_removal(struct store_session *s, int64_t id, enum group_removal *out,
                                        struct errctx *ec);

/* An executor's row of the registry. */
struct group_beat {
    const char *address;
    int64_t beat_s;
};
STORE_LIST(group_beats, struct group_beat, items); /* by address, each once, with its latest beat */
/* Of exactly this app name, with a beat since `since_s`. */
MUST_CHECK enum err store_load_group_beats(struct store_session *s, const char *app_name, int64_t since_s,
                                           struct group_beats *out, struct errctx *ec);

/* Jobs of a group by id, behind `after`. */
struct group_job {
    int64_t id;
    const char *name;
    bool running;
};
STORE_LIST(group_jobs, struct group_job, items);
MUST_CHECK enum err store_list_group_jobs(struct store_session *s, int64_t group, int64_t after, int64_t limit,
                                          struct group_jobs *out, struct errctx *ec);

#endif
