/* SPDX-License-Identifier: MIT */
/*
 * flowrun/kills: asks executors to stop runs whose flow run was cancelled: each once, as soon as its row says where it
 * is. What an executor does not stop ends as it ends.
 *
 * Threads     One of its own; kills_add: any thread.
 * Bounds      KILLS_MAX wait; more are dropped, and counted in the log.
 */
#ifndef FLOWRUN_KILLS_H
#define FLOWRUN_KILLS_H

#include "shardwheel/flowrun.h"

#define KILLS_MAX 10000

struct kills;
MUST_CHECK enum err kills_create(const struct flowrun_opts *opts, const struct clock *clock, struct kills **out,
                                 struct errctx *ec);
MUST_CHECK enum err kills_start(struct kills *k, struct errctx *ec);
void kills_add(struct kills *k, const int64_t *log_ids, size_t count);
void kills_stop(struct kills *k); /* what waits is not done */
void kills_join(struct kills *k);
void kills_destroy(struct kills *k);

#endif
