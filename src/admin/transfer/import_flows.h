/* SPDX-License-Identifier: MIT */
/*
 * import_flows: flows of a document, put in. All of them are looked at as they will be, with jobs and flows that the
 * document makes; then each is saved after those that it runs. Private to admin.
 */
#ifndef ADMIN_TRANSFER_IMPORT_FLOWS_H
#define ADMIN_TRANSFER_IMPORT_FLOWS_H

#include "admin/transfer/import.h"

/* What is wrong with the documents is told by import_flows. */
MUST_CHECK enum err flow_plans_load(const struct transfer *document, struct flow_plans **out, struct refusal *r);
void flow_plans_destroy(struct flow_plans *plans); /* NULL is fine */
/* Whether they name jobs of that group. */
bool flow_plans_name(const struct flow_plans *plans, const char *app_name);

/* When all jobs are there. */
void import_flows(struct importing *im);

#endif
