/* SPDX-License-Identifier: MIT */
/* direct: rows of fires that are no shard's, inside a transaction of another file. Private to store. */
#ifndef STORE_RUN_DIRECT_H
#define STORE_RUN_DIRECT_H

#include "store/conn/session.h"
#include "shardwheel/job.h"

/* Inserts a row for each fire of the list, many in a statement, and fills in log_id and row_hash. Each has its job
 * attached: group, handler, parameter and retry count are the row's; trigger_time is due_s. A text that does not fit an
 * old table is changed no more than it needs. */
MUST_CHECK enum err store_insert_direct(struct store_session *s, struct fire *list, const char *incarnation,
                                        struct errctx *ec);

#endif
