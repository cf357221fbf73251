/* SPDX-License-Identifier: MIT */
/* export_children: names of the children of a page of jobs. Private to admin; one thread. */
#ifndef ADMIN_TRANSFER_CHILDREN_H
#define ADMIN_TRANSFER_CHILDREN_H

#include "shardwheel/admin/transfer.h"
#include "shardwheel/store/export.h"

struct export_children {
    struct export_names *lists; /* by id, one behind the other */
    size_t list_count;
    struct transfer_name *names; /* of all jobs */
};
/* Jobs get their children by name where all of them are in groups of the filter; else they stay as ids. The names stand
 * until export_children_fini, which is due after an error, too. */
MUST_CHECK enum err export_children_load(struct export_children *c, struct store_session *s,
                                         const struct group_filter *filter, struct transfer_job *jobs, size_t count,
                                         struct errctx *ec);
void export_children_fini(struct export_children *c);

#endif
