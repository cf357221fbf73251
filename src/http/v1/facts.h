/* SPDX-License-Identifier: MIT */
/* v1/facts: what became of a due time, what happened and what was done, as objects that several calls give. */
#ifndef HTTP_V1_FACTS_H
#define HTTP_V1_FACTS_H

#include "http/v1/write.h"
#include "shardwheel/admin/explain.h"
#include "shardwheel/store/history.h"

void v1_put_explained(struct buf *out, const struct explain_item *item); /* ExplainedTime */
void v1_put_event(struct buf *out, const struct event_row *row);         /* Event */
/* Text that is stored as JSON. False: it is no object. */
bool v1_read_object(const char *text, struct json_value *root);
struct run_row;
void v1_put_outcome(struct buf *out, const struct run_row *row);     /* the member "outcome" of a Run */
void v1_put_audit(struct buf *out, const struct audit_entry *entry); /* AuditRow */

#endif
