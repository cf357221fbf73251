/* SPDX-License-Identifier: MIT */
/*
 * metrics: the Prometheus text of the declared counters, of the sampled values per shard, and of the process.
 *
 * Threads     Any; nothing is kept.
 */
#ifndef SHARDWHEEL_METRICS_H
#define SHARDWHEEL_METRICS_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"
#include "shardwheel/schedule.h"

/* What one page is about. */
struct metrics_view {
    const char *node;    /* its name, any text */
    const char *version; /* of shardwheel */
    struct counters *counters;
    const struct shard_status *shards;
    size_t shard_count;
    int64_t now_ms;     /* wall clock, as */
    int64_t started_ms; /* when the node began to start */
};

void metrics_write(const struct metrics_view *view, struct buf *out);
/* The same list as a Markdown table: docs/metrics.md is made of it. */
void metrics_write_docs(struct buf *out);

#endif
