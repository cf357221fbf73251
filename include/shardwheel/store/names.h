/* SPDX-License-Identifier: MIT */
/*
 * store/names: names of jobs and executor groups by their ids, for who shows what belongs to them. See store/conn.h for
 * threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_NAMES_H
#define SHARDWHEEL_STORE_NAMES_H

#include "shardwheel/store/conn.h"

struct name_row {
    int64_t id;
    const char *name;     /* of a job; the title of a group; NULL as in the table */
    const char *app_name; /* of a group; else NULL */
};
STORE_LIST(names, struct name_row, items); /* ascending by id */
/* Of those that are there. Ids in any order, also more than once. */
MUST_CHECK enum err store_load_job_names(struct store_session *s, const int64_t *ids, size_t count, struct names *out,
                                         struct errctx *ec);
MUST_CHECK enum err store_load_group_names(struct store_session *s, const int64_t *ids, size_t count, struct names *out,
                                           struct errctx *ec);
const struct name_row *names_find(const struct names *names, int64_t id); /* NULL: none */

#endif
