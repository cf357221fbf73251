/* SPDX-License-Identifier: MIT */
#include "schedule/ring/lead.h"

#include <stdlib.h>
#include <string.h>

void lead_init(struct lead *l)
{
    *l = (struct lead){0};
}

void lead_note(struct lead *l, int64_t took_ms)
{
    l->took_ms[l->count++ % LEAD_SAMPLES] = took_ms;
}

/* So long that 99 of 100 took no longer. */
static int64_t percentile_99(const struct lead *l)
{
    int64_t sorted[LEAD_SAMPLES];
    size_t n = l->count < LEAD_SAMPLES ? l->count : LEAD_SAMPLES;

    memcpy(sorted, l->took_ms, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, compare_int64);
    return sorted[(n * 99 + 99) / 100 - 1];
}

int64_t lead_get_ms(const struct lead *l, size_t fires)
{
    int64_t ms;

    if (l->count < LEAD_SAMPLES_LEAST)
        return LEAD_MOST_MS;
    ms = percentile_99(l) + LEAD_MARGIN_MS + (int64_t)(fires / LEAD_FIRES_PER_MS);
    if (ms > LEAD_MOST_MS)
        return LEAD_MOST_MS;
    return ms > LEAD_LEAST_MS ? ms : LEAD_LEAST_MS;
}
