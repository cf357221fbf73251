/* SPDX-License-Identifier: MIT */
#include "history/minutes.h"

#include <string.h>

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static int64_t add_up(struct counters *counters, const enum counter_id *ids, size_t count)
{
    int64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += counters_get(counters, ids[i]);
    return sum;
}

static struct minutes_sum read_sum(struct counters *counters)
{
    static const enum counter_id undelivered[] = {COUNTER_FIRES_REFUSED, COUNTER_FIRES_FAILED, COUNTER_FIRES_TOO_LATE,
                                                  COUNTER_FIRES_UNKNOWN, COUNTER_FIRES_UNWRITTEN};
    static const enum counter_id failed[] = {COUNTER_RUNS_FAILED, COUNTER_RUNS_LOST_UNREGISTERED,
                                             COUNTER_RUNS_LOST_LEFT, COUNTER_RUNS_LOST_IDLE};
    struct histogram *lateness = &counters->histogram[COUNTER_LATENESS];
    struct minutes_sum sum = {.undelivered = add_up(counters, undelivered, ARRAY_LEN(undelivered)),
                              .failed = add_up(counters, failed, ARRAY_LEN(failed)),
                              .succeeded = counters_get(counters, COUNTER_RUNS_SUCCEEDED)};

    sum.fires = sum.undelivered + counters_get(counters, COUNTER_FIRES_DELIVERED);
    sum.late_sum_us = (int64_t)atomic_load_explicit(&lateness->sum_us, memory_order_relaxed);
    for (size_t i = 0; i <= HISTOGRAM_BUCKETS; i++)
        sum.lateness[i] = (int64_t)atomic_load_explicit(&lateness->bucket[i], memory_order_relaxed);
    return sum;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void add_row(struct minute_row *to, const struct minute_row *row)
{
    to->fires += row->fires;
    to->undelivered += row->undelivered;
    to->succeeded += row->succeeded;
    to->failed += row->failed;
    to->late_sum_ms += row->late_sum_ms;
    for (size_t i = 0; i <= HISTOGRAM_BUCKETS; i++)
        to->lateness[i] += row->lateness[i];
}

static struct minute_row subtract(const struct minutes_sum *from, const struct minutes_sum *to, int64_t minute_s)
{
    struct minute_row row = {.minute_s = minute_s,
                             .fires = to->fires - from->fires,
                             .undelivered = to->undelivered - from->undelivered,
                             .succeeded = to->succeeded - from->succeeded,
                             .failed = to->failed - from->failed,
                             .late_sum_ms = (to->late_sum_us - from->late_sum_us) / 1000};

    for (size_t i = 0; i <= HISTOGRAM_BUCKETS; i++)
        row.lateness[i] = to->lateness[i] - from->lateness[i];
    return row;
}

static bool close_minute(struct minutes *m, struct counters *counters)
{
    struct minutes_sum now = read_sum(counters);
    struct minute_row row = subtract(&m->from, &now, m->minute_s);

    if (!memcmp(&m->from, &now, sizeof now))
        return false;
    m->from = now;
    /* A clock that was set back comes by the same minute again. */
    if (m->count > 0 && (m->count == MINUTES_WAITING || m->waiting[m->count - 1].minute_s == row.minute_s))
        add_row(&m->waiting[m->count - 1], &row);
    else
        m->waiting[m->count++] = row;
    return true;
}

bool minutes_look(struct minutes *m, struct counters *counters, int64_t now_ms)
{
    int64_t minute_s = time_floor_div(now_ms, 60000) * 60;
    bool added = false;

    if (m->minute_s == 0)
        m->from = read_sum(counters);
    else if (minute_s != m->minute_s)
        added = close_minute(m, counters);
    m->minute_s = minute_s;
    return added;
}

bool minutes_end(struct minutes *m, struct counters *counters, int64_t now_ms)
{
    bool added = minutes_look(m, counters, now_ms);

    return close_minute(m, counters) || added;
}

void minutes_drop(struct minutes *m, size_t count)
{
    m->count -= count;
    memmove(m->waiting, m->waiting + count, m->count * sizeof *m->waiting);
}
