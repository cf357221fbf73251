/* SPDX-License-Identifier: MIT */
/*
 * pairs: brings the result of a dispatch and the callback of the same fire together, so that one statement writes both.
 * It knows, by log id, the results whose row was written ahead and fits: all that a success leaves to be written is its
 * code.
 *
 * Threads     Any. Small locks of its own, one for each part of the ids; nothing is called under them.
 * Invariants  A claim promises nothing to the result: it may leave while it is claimed, and is then written by
 *             itself. Both ways write trigger_code only where it is 0, so that twice is as good as once.
 * Ownership   A result must leave before it is freed; it belongs to its owner all the time. Their number is bounded by
 *             who adds.
 */
#ifndef RECORD_PAIRS_H
#define RECORD_PAIRS_H

#include "shardwheel/record.h"

struct pairs;

MUST_CHECK enum err pairs_create(struct pairs **out, struct errctx *ec);
void pairs_destroy(struct pairs *p); /* NULL is fine */
/* Before its request can be sent. Where another one of this log id is here already, it stays out. */
void pairs_add(struct pairs *p, struct result *r);
/* What it was until now; it is PAIR_NONE from then on. */
enum pair_state pairs_remove(struct pairs *p, struct result *r);
/* For the callback of this log: true when it shall write the result's code too; pairs_settle follows then. */
bool pairs_claim(struct pairs *p, int64_t log_id, bool *childless);
/* What it is now. */
enum pair_state pairs_look(struct pairs *p, const struct result *r);
/* written: committed for sure. Otherwise the result is written by itself. Returns the result, out of here, when nothing
 * is left to be done for it and it waits (result.waits, whose lock the caller holds); else NULL. */
struct result *pairs_settle(struct pairs *p, int64_t log_id, bool written);

#endif
