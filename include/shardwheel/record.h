/* SPDX-License-Identifier: MIT */
/*
 * record: stores what executors report of their runs.
 *
 * Threads     One writer thread commits many callbacks in one transaction. complete_submit may be called by any number of
 *             threads and returns when its entries are committed, or refused.
 * Invariants  A callback that was answered with success is committed.
 *             A result that waits for its callback is written with it, by the same statement (dispatch_claim_result).
 * Facts       First stored result wins; forms and codes: docs/wire.md.
 */
#ifndef SHARDWHEEL_RECORD_H
#define SHARDWHEEL_RECORD_H

#include "shardwheel/base.h"
#include "shardwheel/store/run.h"
#include "shardwheel/registry.h"

struct dispatch;

struct complete;

MUST_CHECK enum err complete_create(struct store *store, struct dispatch *dispatch, const struct clock *clock,
                                    struct counters *counters, struct complete **out, struct errctx *ec);
MUST_CHECK enum err complete_start(struct complete *c, struct errctx *ec);
/* Blocks until the entries are committed (ERR_OK, outcomes filled in) or for about a second (ERR_TIMEOUT, ERR_LOST, ERR_BUSY:
 * the executor must send them again; storing them twice is harmless). */
MUST_CHECK enum err complete_submit(struct complete *c, struct callback_entry *entries, size_t count,
                                    struct errctx *ec);
void complete_stop(struct complete *c); /* what waits is committed or refused */
void complete_join(struct complete *c);
void complete_destroy(struct complete *c);

#endif
