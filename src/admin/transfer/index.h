/* SPDX-License-Identifier: MIT */
/*
 * transfer_index: what is there under the names of a document: its groups, and the jobs of them. Private to admin.
 */
#ifndef ADMIN_TRANSFER_INDEX_H
#define ADMIN_TRANSFER_INDEX_H

#include "admin/admin_impl.h"
#include "shardwheel/admin/transfer.h"

struct indexed_job {
    int64_t group, id;
    char *name;
};

/* All zero is an empty one. */
struct transfer_index {
    struct group_infos groups; /* that the actor sees, and those that were added, whose names are the caller's */
    struct indexed_job *jobs;  /* of the groups that the document names */
    size_t job_count;
    size_t sorted; /* of them: those behind were added since, and are not found yet */
};

struct flow_plans;

/* REFUSED_INVALID "groups", "jobs", "flows", "rules" or "channels", with the name as its item: one is there twice. */
MUST_CHECK enum err transfer_check_names(const struct transfer *document, struct refusal *r);

MUST_CHECK enum err transfer_index_load(struct transfer_index *index, struct admin *a, const struct actor *actor,
                                        const struct transfer *document, const struct flow_plans *flows,
                                        struct refusal *r);
void transfer_index_fini(struct transfer_index *index);
/* How many have the name; *out is the first of them. */
size_t transfer_index_find_group(const struct transfer_index *index, const char *app_name,
                                 const struct group_info **out);
size_t transfer_index_find_job(const struct transfer_index *index, const char *app_name, const char *name, int64_t *id);
/* What the import has made; jobs are found after the next transfer_index_sort. */
MUST_CHECK enum err transfer_index_add_group(struct transfer_index *index, int64_t id, const char *app_name,
                                             struct refusal *r);
MUST_CHECK enum err transfer_index_add_job(struct transfer_index *index, int64_t group, int64_t id, const char *name,
                                           struct refusal *r);
void transfer_index_sort(struct transfer_index *index);

#endif
