/* SPDX-License-Identifier: MIT */
/* audit: the row of a change, written in its transaction. Private to store. */
#ifndef STORE_PEOPLE_AUDIT_H
#define STORE_PEOPLE_AUDIT_H

#include "shardwheel/store/audit.h"
#include "store/conn/rows.h"

/* Within the transaction of the session. NULL: nothing is written. */
MUST_CHECK enum err store_put_audit(struct store_session *s, const struct audit_row *row, struct errctx *ec);
/* The end of a change: where all went well so far (e is ERR_OK), the row and the commit; else, and when they fail, all
 * of the transaction is undone. Returns what went wrong. */
MUST_CHECK enum err store_end_audited(struct store_session *s, enum err e, const struct audit_row *row,
                                      struct errctx *ec);

#endif
