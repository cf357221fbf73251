/* SPDX-License-Identifier: MIT */
/* lost: the end of a lost run that is taken back. Private to store. */
#ifndef STORE_RUN_LOST_H
#define STORE_RUN_LOST_H

#include "store/conn/session.h"

/* In the transaction that makes a success of a lost run, whose row it holds: deletes the later row of its retry, if it
 * still waits. What was planned or sent already goes on. */
MUST_CHECK enum err store_cancel_retry(struct store_session *s, int64_t log_id, struct errctx *ec);

#endif
