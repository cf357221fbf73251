/* SPDX-License-Identifier: MIT */
/* import: what the files of an import share. Private to admin; one thread. */
#ifndef ADMIN_TRANSFER_IMPORT_H
#define ADMIN_TRANSFER_IMPORT_H

#include "admin/transfer/index.h"
#include "shardwheel/admin/audit.h"

struct importing {
    struct admin *admin;
    const struct actor *actor;
    const struct transfer *document;
    bool dry_run;
    struct store_session *session; /* of checks */
    struct transfer_index index;
    struct flow_plans *flows;
    struct transfer_result result;
    int64_t deadline_mono_ms;
};

bool import_is_over(const struct importing *im);
void import_end_item(struct transfer_item *item, enum err e, const struct refusal *why);
/* What differs, for people. */
void import_keep_diff(struct transfer_item *item, const char *before, const char *after);
/* The same of a diff that has its fields; it is over then. */
void import_end_diff(struct importing *im, struct audit_diff *diff, struct transfer_item *item);
/* Whether that job is made by this document; *out: which of its jobs it is. */
bool import_makes_job(const struct importing *im, const char *app_name, const char *name, size_t *out);

/* ---- alarms.c ---------------------------------------------------------------------------------------------------- */

void import_alarms(struct importing *im);

/* ---- import_flows.c ---------------------------------------------------------------------------------------------- */

/* Flows are looked at as all of them will be, with jobs and flows that the document makes; then each is saved after
 * those that it runs. */

/* What is wrong with the documents is told by import_flows. */
MUST_CHECK enum err flow_plans_load(const struct transfer *document, struct flow_plans **out, struct refusal *r);
void flow_plans_destroy(struct flow_plans *plans); /* NULL is fine */
/* Whether they name jobs of that group. */
bool flow_plans_name(const struct flow_plans *plans, const char *app_name);

/* When all jobs are there. */
void import_flows(struct importing *im);

#endif
