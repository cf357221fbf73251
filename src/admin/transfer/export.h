/* SPDX-License-Identifier: MIT */
/* export: the parts of an export, page by page. Private to admin; one thread. */
#ifndef ADMIN_TRANSFER_EXPORT_H
#define ADMIN_TRANSFER_EXPORT_H

#include "shardwheel/admin/alarms.h"
#include "shardwheel/admin/transfer.h"
#include "shardwheel/store/export.h"

/* ---- names of the children of a page of jobs: children.c --------------------------------------------------------- */

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

/* ---- flows: export_flows.c --------------------------------------------------------------------------------------- */

/* All zero before the first page. */
struct export_flows {
    struct transfer_flow items[EXPORT_PAGE]; /* texts are its own */
    size_t count;
    char last[FLOW_NAME_MAX + 1]; /* behind which the next page begins */
    bool is_end;
};
/* In place of the page before. At most `page` flows are looked at, and hardly more than EXPORT_SOURCES_MAX bytes of
 * documents. Jobs of the filter ascend. */
MUST_CHECK enum err export_flows_read(struct export_flows *flows, struct store_session *s,
                                      const struct export_filter *filter, size_t page, struct errctx *ec);
void export_flows_fini(struct export_flows *flows);

/* ---- rules of alarms and channels: alarms.c ---------------------------------------------------------------------- */

/* All zero before they are read. */
struct export_alarms {
    struct watch_rules rules;
    struct channel_rows channels;
};
MUST_CHECK enum err export_alarms_read(struct export_alarms *alarms, struct admin *a, struct store_session *s,
                                       bool channels, struct transfer *out, struct refusal *r);
void export_alarms_fini(struct export_alarms *alarms);

#endif
