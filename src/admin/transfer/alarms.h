/* SPDX-License-Identifier: MIT */
/* transfer/alarms: rules of alarms and routes of channels, out of a cluster and into one. Private to admin. */
#ifndef ADMIN_TRANSFER_ALARMS_H
#define ADMIN_TRANSFER_ALARMS_H

#include "admin/transfer/import.h"
#include "shardwheel/admin/alarms.h"

/* All zero before they are read. */
struct export_alarms {
    struct watch_rules rules;
    struct channel_rows channels;
    struct transfer_channel *routes; /* of the channels */
};
MUST_CHECK enum err export_alarms_read(struct export_alarms *alarms, struct admin *a, struct store_session *s,
                                       bool channels, struct transfer *out, struct refusal *r);
void export_alarms_fini(struct export_alarms *alarms);

void import_alarms(struct importing *im);

#endif
