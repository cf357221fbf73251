/* SPDX-License-Identifier: MIT */
/*
 * ids: the sequence of ids of xxl_job_log, where it must leave some out: those that were given and are not there any
 * more. Private to store; within a transaction.
 */
#ifndef STORE_RUN_IDS_H
#define STORE_RUN_IDS_H

#include "store/conn/session.h"

/* The highest that was given as far as the server knows, also of rows that are gone. */
MUST_CHECK enum err store_find_last_log_id(struct store_session *s, int64_t *last_id, struct errctx *ec);
/* The next one is beyond `id`: by a row that comes and goes, which moves the sequence for good, whatever becomes of the
 * transaction, and needs no right to alter tables. */
MUST_CHECK enum err store_move_log_ids(struct store_session *s, int64_t id, struct errctx *ec);

#endif
