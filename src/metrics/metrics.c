/* SPDX-License-Identifier: MIT */
#include "shardwheel/metrics.h"

#include <inttypes.h>
#include <string.h>

/* Values that are sampled per shard when the page is asked for. */
enum shard_metric { SHARD_METRIC_OWNED, SHARD_METRIC_EPOCH, SHARD_METRIC_LAG, SHARD_METRIC_AHEAD, SHARD_METRIC_UNSENT };

static const struct {
    const char *name;
    const char *help;
} shard_metrics[] = {
    [SHARD_METRIC_OWNED] = {"shardwheel_shard_owned", "1 while this node schedules the shard."},
    [SHARD_METRIC_EPOCH] = {"shardwheel_shard_epoch",
                            "Epoch under which this node owns the shard, 0 when it does not."},
    [SHARD_METRIC_LAG] = {"shardwheel_shard_cursor_lag_seconds",
                          "How far the cursor of an owned shard is behind the clock. Below 2 is usual."},
    [SHARD_METRIC_AHEAD] = {"shardwheel_shard_planned_ahead", "Planned fires of the shard in the wheel."},
    [SHARD_METRIC_UNSENT] = {"shardwheel_shard_unsent", "Fires of the shard handed to dispatch and not sent yet."},
};

static const char *kind_name(enum counter_kind kind)
{
    switch (kind) {
    case COUNTER_KIND_COUNTER: return "counter";
    case COUNTER_KIND_GAUGE: return "gauge";
    case COUNTER_KIND_HISTOGRAM: return "histogram";
    }
    return "untyped";
}

static void write_head(struct buf *out, const char *name, const char *help, const char *type)
{
    buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Buckets are kept apart and written summed up. The count is their sum, so that both agree however many observations
 * come in between. */
static void write_histogram(struct buf *out, const struct counter_info *info, struct histogram *h)
{
    uint64_t total = 0;
    const char *comma = *info->labels ? "," : "";

    for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
        total += atomic_load_explicit(&h->bucket[i], memory_order_relaxed);
        buf_printf(out, "%s_bucket{%s%sle=\"%g\"} %" PRIu64 "\n", info->name, info->labels, comma,
                   histogram_bounds_s[i], total);
    }
    total += atomic_load_explicit(&h->bucket[HISTOGRAM_BUCKETS], memory_order_relaxed);
    buf_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRIu64 "\n", info->name, info->labels, comma, total);

    const char *open = *info->labels ? "{" : "", *close = *info->labels ? "}" : "";
    uint64_t sum_us = atomic_load_explicit(&h->sum_us, memory_order_relaxed);
    buf_printf(out, "%s_sum%s%s%s %" PRIu64 ".%06" PRIu64 "\n", info->name, open, info->labels, close, sum_us / 1000000,
               sum_us % 1000000);
    buf_printf(out, "%s_count%s%s%s %" PRIu64 "\n", info->name, open, info->labels, close, total);
}

static void write_counters(struct counters *counters, struct buf *out)
{
    const char *previous = "";
    for (int id = 0; id < COUNTER_COUNT; id++) {
        const struct counter_info *info = counter_get_info((enum counter_id)id);
        if (strcmp(previous, info->name))
            write_head(out, info->name, info->help, kind_name(info->kind));
        previous = info->name;
        if (info->kind == COUNTER_KIND_HISTOGRAM)
            write_histogram(out, info, &counters->histogram[id]);
        else
            buf_printf(out, *info->labels ? "%s{%s} %" PRId64 "\n" : "%s%s %" PRId64 "\n", info->name, info->labels,
                       counters_get(counters, (enum counter_id)id));
    }
}

static bool is_owned(const struct shard_status *shard)
{
    return shard->state == SHARD_OWNED || shard->state == SHARD_HANDOVER;
}

static void write_sample(struct buf *out, enum shard_metric metric, const struct shard_status *shard, int64_t now_ms)
{
    int64_t value = 0;
    switch (metric) {
    case SHARD_METRIC_OWNED: value = is_owned(shard); break;
    case SHARD_METRIC_EPOCH: value = is_owned(shard) ? shard->epoch : 0; break;
    case SHARD_METRIC_AHEAD: value = shard->planned_ahead; break;
    case SHARD_METRIC_UNSENT: value = shard->unsent; break;
    case SHARD_METRIC_LAG:
        if (is_owned(shard) && shard->cursor_s)
            buf_printf(out, "%s{shard=\"%d\"} %.3f\n", shard_metrics[metric].name, shard->shard,
                       (double)(now_ms - shard->cursor_s * 1000) / 1000.0);
        return;
    }
    buf_printf(out, "%s{shard=\"%d\"} %" PRId64 "\n", shard_metrics[metric].name, shard->shard, value);
}

void metrics_write(struct counters *counters, const struct shard_status *shards, size_t count, int64_t now_ms,
                   struct buf *out)
{
    write_counters(counters, out);
    for (size_t m = 0; m < ARRAY_LEN(shard_metrics); m++) {
        write_head(out, shard_metrics[m].name, shard_metrics[m].help, "gauge");
        for (size_t i = 0; i < count; i++)
            write_sample(out, (enum shard_metric)m, &shards[i], now_ms);
    }
}

static void write_row(struct buf *out, const char *name, const char *labels, const char *type, const char *help)
{
    buf_printf(out, "| `%s` | ", name);
    buf_printf(out, *labels ? "`%s`" : "%s", labels);
    buf_printf(out, " | %s | %s |\n", type, help);
}

void metrics_write_docs(struct buf *out)
{
    const char *name = "", *help = "";

    buf_puts(out,
             "<!-- Made by metrics_write_docs; the test metrics.metrics_test says how to renew it. -->\n"
             "# Metrics\n\n"
             "`GET /metrics` answers in the Prometheus text format, version 0.0.4. Values of one node; those of the "
             "cluster are the sums over its nodes.\nHistograms have the usual `_bucket`, `_sum` and `_count` "
             "series.\n\n"
             "| name | labels | type | meaning |\n|---|---|---|---|\n");
    for (int id = 0; id < COUNTER_COUNT; id++) {
        const struct counter_info *info = counter_get_info((enum counter_id)id);
        if (strcmp(name, info->name)) {
            name = info->name;
            help = info->help;
        }
        write_row(out, name, info->labels, kind_name(info->kind), help);
    }
    for (size_t m = 0; m < ARRAY_LEN(shard_metrics); m++)
        write_row(out, shard_metrics[m].name, "shard=\"<k>\"", "gauge", shard_metrics[m].help);
    buf_puts(out, "\nBuckets of all histograms, in seconds:");
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
        buf_printf(out, " %g", histogram_bounds_s[i]);
    buf_puts(out, ".\n");
}
