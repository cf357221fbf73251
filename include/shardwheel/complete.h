/* SPDX-License-Identifier: MIT */
/*
 * complete: stores what executors report of their runs.
 *
 * Threads     One writer thread commits many callbacks in one transaction. complete_submit may be called by any number of
 *             threads and returns when its entries are committed, or refused.
 * Invariants  A callback that was answered with success is committed.
 * Facts       First stored result wins; forms and codes: docs/wire.md.
 */
#ifndef SHARDWHEEL_COMPLETE_H
#define SHARDWHEEL_COMPLETE_H

#include "shardwheel/base.h"
#include "shardwheel/store.h"

struct complete;

MUST_CHECK enum err complete_create(struct store *store, const struct clock *clock, struct counters *counters,
                                    struct complete **out, struct errctx *ec);
MUST_CHECK enum err complete_start(struct complete *c, struct errctx *ec);
/* Blocks until the entries are committed (ERR_OK, outcomes filled in) or for about a second (ERR_TIMEOUT, ERR_LOST, ERR_BUSY:
 * the executor must send them again; storing them twice is harmless). */
MUST_CHECK enum err complete_submit(struct complete *c, struct callback_entry *entries, size_t count,
                                    struct errctx *ec);
void complete_stop(struct complete *c); /* what waits is committed or refused */
void complete_join(struct complete *c);
void complete_destroy(struct complete *c);

#endif
