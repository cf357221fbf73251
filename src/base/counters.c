/* SPDX-License-Identifier: MIT */
#include "shardwheel/counters.h"

static const struct counter_info infos[] = {
#define COUNTER_INFO(id, kind, name, labels, help) [COUNTER_##id] = {COUNTER_KIND_##kind, name, labels, help},
    COUNTER_TABLE(COUNTER_INFO)
#undef COUNTER_INFO
};

const double histogram_bounds_s[HISTOGRAM_BUCKETS] = {0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2,
                                                      0.3,   0.5,   1,     2,    5,    10,   20,  60};

const struct counter_info *counter_get_info(enum counter_id id)
{
    return &infos[id];
}

/* Relaxed throughout: nothing is published through a counter. */
void counters_add(struct counters *c, enum counter_id id, int64_t n)
{
    if (c)
        atomic_fetch_add_explicit(&c->value[id], n, memory_order_relaxed);
}

void counters_set(struct counters *c, enum counter_id id, int64_t value)
{
    if (c)
        atomic_store_explicit(&c->value[id], value, memory_order_relaxed);
}

int64_t counters_get(struct counters *c, enum counter_id id)
{
    return c ? atomic_load_explicit(&c->value[id], memory_order_relaxed) : 0;
}

void counters_observe_us(struct counters *c, enum counter_id id, int64_t us)
{
    size_t i = 0;

    if (!c)
        return;
    if (us < 0)
        us = 0;
    while (i < HISTOGRAM_BUCKETS && (double)us > histogram_bounds_s[i] * 1e6)
        i++;
    atomic_fetch_add_explicit(&c->histogram[id].bucket[i], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->histogram[id].sum_us, (uint64_t)us, memory_order_relaxed);
}
