/* SPDX-License-Identifier: MIT */
/*
 * metrics: the Prometheus text of the declared counters and of the sampled values per shard.
 *
 * Threads     Any; nothing is kept.
 */
#ifndef SHARDWHEEL_METRICS_H
#define SHARDWHEEL_METRICS_H

#include "shardwheel/base.h"
#include "shardwheel/schedule.h"

/* All counters, then per shard: owned, epoch, cursor lag in seconds, planned ahead. now_ms: wall clock. */
void metrics_write(struct counters *counters, const struct shard_status *shards, size_t count, int64_t now_ms,
                   struct buf *out);
/* The same list as a Markdown table: docs/metrics.md is made of it. */
void metrics_write_docs(struct buf *out);

#endif
