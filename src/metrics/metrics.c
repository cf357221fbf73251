/* SPDX-License-Identifier: MIT */
#include "metrics/process.h"
#include "shardwheel/metrics.h"

#include <inttypes.h>
#include <string.h>

/* Values that are sampled per shard when the page is asked for. */
enum shard_metric {
    SHARD_METRIC_OWNED,
    SHARD_METRIC_EPOCH,
    SHARD_METRIC_HELD,
    SHARD_METRIC_LAG,
    SHARD_METRIC_LEAD,
    SHARD_METRIC_AHEAD,
    SHARD_METRIC_UNSENT
};

static const struct {
    const char *name;
    bool of_owner; /* who does not own the shard has no sample of it */
    const char *help;
} shard_metrics[] = {
    [SHARD_METRIC_OWNED] = {"shardwheel_shard_owned", false, "1 while this node owns the shard."},
    [SHARD_METRIC_EPOCH] = {"shardwheel_shard_epoch", false,
                            "Epoch of this node's ownership; 0 if it does not own the shard."},
    [SHARD_METRIC_HELD] = {"shardwheel_shard_held_seconds", true, "Time since this node has owned the shard."},
    [SHARD_METRIC_LAG] = {"shardwheel_shard_cursor_lag_seconds", true,
                          "How far the cursor is behind the clock. Below 2 is normal."},
    [SHARD_METRIC_LEAD] = {"shardwheel_shard_planning_lead_seconds", true,
                           "How far ahead of the clock fires are planned, except for locked jobs. 3 to 5 is normal; "
                           "below 0 planning is behind."},
    [SHARD_METRIC_AHEAD] = {"shardwheel_shard_planned_ahead", false, "Planned fires of the shard in memory."},
    [SHARD_METRIC_UNSENT] = {"shardwheel_shard_unsent", false, "Fires of the shard that are due and not sent yet."},
};

static const char *kind_name(enum counter_kind kind)
{
    switch (kind) {
    case COUNTER_KIND_COUNTER: return "counter";
    case COUNTER_KIND_GAUGE:
    case COUNTER_KIND_GAUGE_MS: return "gauge";
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

static void write_number(struct buf *out, const struct counter_info *info, int64_t value)
{
    buf_printf(out, *info->labels ? "%s{%s} " : "%s%s ", info->name, info->labels);
    if (info->kind == COUNTER_KIND_GAUGE_MS)
        buf_printf(out, "%.3f\n", (double)value / 1000.0);
    else
        buf_printf(out, "%" PRId64 "\n", value);
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
            write_number(out, info, counters_get(counters, (enum counter_id)id));
    }
}

static bool is_owned(const struct shard_status *shard)
{
    return shard->state == SHARD_OWNED || shard->state == SHARD_HANDOVER;
}

static void write_seconds(struct buf *out, enum shard_metric metric, int shard, int64_t ms)
{
    buf_printf(out, "%s{shard=\"%d\"} %.3f\n", shard_metrics[metric].name, shard, (double)ms / 1000.0);
}

static void write_sample(struct buf *out, enum shard_metric metric, const struct shard_status *shard, int64_t now_ms)
{
    int64_t value = 0;

    if (shard_metrics[metric].of_owner && !is_owned(shard))
        return;
    switch (metric) {
    case SHARD_METRIC_OWNED: value = is_owned(shard); break;
    case SHARD_METRIC_EPOCH: value = is_owned(shard) ? shard->epoch : 0; break;
    case SHARD_METRIC_AHEAD: value = shard->planned_ahead; break;
    case SHARD_METRIC_UNSENT: value = shard->unsent; break;
    case SHARD_METRIC_HELD: write_seconds(out, metric, shard->shard, now_ms - shard->owned_since_ms); return;
    case SHARD_METRIC_LEAD: write_seconds(out, metric, shard->shard, shard->planned_until_ms - now_ms); return;
    case SHARD_METRIC_LAG:
        if (shard->cursor_s)
            write_seconds(out, metric, shard->shard, now_ms - shard->cursor_s * 1000);
        return;
    }
    buf_printf(out, "%s{shard=\"%d\"} %" PRId64 "\n", shard_metrics[metric].name, shard->shard, value);
}

/* ---- the node ---------------------------------------------------------------------------------------------------- */

#define BUILD_NAME "shardwheel_build_info"
#define BUILD_HELP "Always 1; the version of this node."
#define NODE_NAME "shardwheel_node_info"
#define NODE_HELP "Always 1; the name of this node."

static void write_label(struct buf *out, const char *value)
{
    for (; *value; value++) {
        if (*value == '\\' || *value == '"')
            buf_putc(out, '\\');
        if (*value == '\n')
            buf_puts(out, "\\n");
        else
            buf_putc(out, *value);
    }
}

static void write_info(struct buf *out, const char *name, const char *help, const char *label, const char *value)
{
    write_head(out, name, help, "gauge");
    buf_printf(out, "%s{%s=\"", name, label);
    write_label(out, value);
    buf_puts(out, "\"} 1\n");
}

static void write_process(struct buf *out, int64_t started_ms)
{
    for (enum process_metric m = 0; m < PROCESS_METRICS; m++) {
        const struct process_info *info = process_get_info(m);
        double value;

        if (!process_read(m, started_ms, &value))
            continue;
        write_head(out, info->name, info->help, info->type);
        buf_printf(out, "%s %.15g\n", info->name, value);
    }
}

void metrics_write(const struct metrics_view *view, struct buf *out)
{
    write_info(out, BUILD_NAME, BUILD_HELP, "version", view->version);
    write_info(out, NODE_NAME, NODE_HELP, "node", view->node);
    write_counters(view->counters, out);
    for (size_t m = 0; m < ARRAY_LEN(shard_metrics); m++) {
        write_head(out, shard_metrics[m].name, shard_metrics[m].help, "gauge");
        for (size_t i = 0; i < view->shard_count; i++)
            write_sample(out, (enum shard_metric)m, &view->shards[i], view->now_ms);
    }
    write_process(out, view->started_ms);
}

/* ---- docs/metrics.md --------------------------------------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
    size_t len = strlen(text), end_len = strlen(end);

    return len >= end_len && !strcmp(text + len - end_len, end);
}

static const char *find_unit(const char *name)
{
    if (ends_with(name, "_timestamp_seconds") || ends_with(name, "_time_seconds"))
        return "s, Unix time";
    if (ends_with(name, "_seconds") || ends_with(name, "_seconds_total"))
        return ends_with(name, "ring_seconds_total") ? "" : "s";
    return ends_with(name, "_bytes") ? "bytes" : "";
}

static void write_row_head(struct buf *out, const char *name, const char *labels)
{
    buf_printf(out, "| `%s` | ", name);
    buf_printf(out, *labels ? "`%s`" : "%s", labels);
}

static void write_row_end(struct buf *out, const char *name, const char *type, const char *help)
{
    buf_printf(out, " | %s | %s | %s |\n", type, find_unit(name), help);
}

static void write_row(struct buf *out, const char *name, const char *labels, const char *type, const char *help)
{
    write_row_head(out, name, labels);
    write_row_end(out, name, type, help);
}

/* One row for each name, with the labels of all its series. */
static void write_counter_rows(struct buf *out)
{
    for (int id = 0; id < COUNTER_COUNT;) {
        const struct counter_info *first = counter_get_info((enum counter_id)id), *info = first;
        write_row_head(out, first->name, first->labels);
        while (++id < COUNTER_COUNT && (info = counter_get_info((enum counter_id)id), !strcmp(first->name, info->name)))
            buf_printf(out, ", `%s`", info->labels);
        write_row_end(out, first->name, kind_name(first->kind), first->help);
    }
}

static void write_series(struct buf *out)
{
    size_t fixed = 2 + PROCESS_METRICS, each = 0, of_owner = 0;

    for (int id = 0; id < COUNTER_COUNT; id++)
        fixed += counter_get_info((enum counter_id)id)->kind == COUNTER_KIND_HISTOGRAM ? HISTOGRAM_BUCKETS + 3 : 1;
    for (size_t m = 0; m < ARRAY_LEN(shard_metrics); m++) {
        each += !shard_metrics[m].of_owner;
        of_owner += shard_metrics[m].of_owner;
    }
    buf_printf(out,
               "\nA node has %zu series, %zu more for each shard of the cluster, and %zu for each that it owns: two "
               "nodes with 8 "
               "shards\nhave %zu. Jobs, groups, executors and users are not labels, so they add no series.\n",
               fixed, each, of_owner, 2 * (fixed + 8 * each) + 8 * of_owner);
}

void metrics_write_docs(struct buf *out)
{
    buf_puts(out,
             "<!-- Made by metrics_write_docs; the test metrics.metrics_test says how to renew it. -->\n"
             "# Metrics\n\n"
             "This page is for administrators: all metrics of a node. [Monitoring](monitoring.md) says how to collect "
             "them.\n\n"
             "`GET /metrics` answers in the Prometheus text format. The values are those of one node; for the cluster, "
             "add them up.\nHistograms have the usual `_bucket`, `_sum` and `_count` series. The usual `process_*` "
             "metrics (CPU, memory, files,\nthreads, start time) are not in the table.\n\n"
             "| name | labels | type | unit | meaning |\n|---|---|---|---|---|\n");
    write_row(out, BUILD_NAME, "version=\"<version>\"", "gauge", BUILD_HELP);
    write_row(out, NODE_NAME, "node=\"<name>\"", "gauge", NODE_HELP);
    write_counter_rows(out);
    for (size_t m = 0; m < ARRAY_LEN(shard_metrics); m++)
        write_row(out, shard_metrics[m].name, "shard=\"<k>\"", "gauge", shard_metrics[m].help);
    buf_puts(out, "\nBuckets of all histograms, in seconds:");
    for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
        buf_printf(out, " %g", histogram_bounds_s[i]);
    buf_puts(out, ".\n");
    write_series(out);
}
