/* SPDX-License-Identifier: MIT */
/* ids: the sequence of ids of flow runs, as run/ids.h has that of the log. Private to store; within a transaction. */
#ifndef STORE_FLOW_IDS_H
#define STORE_FLOW_IDS_H

#include "store/conn/session.h"

/* All tables of flows are there: those of a release before may not have them. */
MUST_CHECK enum err flow_find_tables(struct store_session *s, bool *found, struct errctx *ec);
/* Leaves so many ids out: ${run.id} of a new run must not be that of one that is lost. */
MUST_CHECK enum err flow_skip_run_ids(struct store_session *s, int64_t count, struct errctx *ec);

#endif
