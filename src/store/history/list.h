/* SPDX-License-Identifier: MIT */
/* list: the conditions that lists of audit and of events share. Private to store. */
#ifndef STORE_HISTORY_LIST_H
#define STORE_HISTORY_LIST_H

#include "shardwheel/store/audit.h"
#include "store/conn/session.h"

/* " AND at_ms ..." of a time range, whose ends may be 0, and of what comes behind a place. */
void store_put_history_range(struct sqlbuf *q, int64_t from_ms, int64_t to_ms, struct history_place place);
/* " AND job_group IN (...)"; false conditions for no group at all. `none` adds rows of no group. */
void store_put_history_groups(struct sqlbuf *q, const int64_t *groups, size_t count, bool none);
/* " ORDER BY at_ms DESC, id DESC LIMIT max" */
void store_put_history_order(struct sqlbuf *q, size_t max);

#endif
