/* SPDX-License-Identifier: MIT */
/*
 * put: rows of shardwheel_delivery, in the transaction of what they tell of. Private to store.
 *
 * All of these do nothing, and cost nothing, while no webhook wants such events (store_learn_hooks). What is told
 * already is not told twice, so the transaction may be repeated.
 */
#ifndef STORE_HOOK_PUT_H
#define STORE_HOOK_PUT_H

#include "shardwheel/store/audit.h"
#include "store/conn/session.h"
#include "store/flow/move.h"

/* Of these runs those that have ended by now. At any isolation level: it locks none of the rows that it reads. */
MUST_CHECK enum err hook_put_runs(struct store_session *s, const int64_t *log_ids, size_t count, struct errctx *ec);
/* Where the row of audit, which has that id, is of a change of a job. */
MUST_CHECK enum err hook_put_change(struct store_session *s, const struct audit_row *row, int64_t audit_id,
                                    struct errctx *ec);
/* Of these flow runs those that end in this move. */
MUST_CHECK enum err hook_put_flows(struct store_session *s, const struct flow_batch *batch, struct errctx *ec);

#endif
