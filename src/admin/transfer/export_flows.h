/* SPDX-License-Identifier: MIT */
/* export_flows: flows of an export, page by page. Private to admin; one thread. */
#ifndef ADMIN_TRANSFER_EXPORT_FLOWS_H
#define ADMIN_TRANSFER_EXPORT_FLOWS_H

#include "shardwheel/admin/transfer.h"
#include "shardwheel/store/export.h"

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

#endif
