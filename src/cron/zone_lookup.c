/* SPDX-License-Identifier: MIT */
/*
 * zone_lookup: instants and local times of a loaded zone; zone_table.h explains how.
 */
#include "cron/zone_impl.h"

#include <inttypes.h>

/* Half a million years: beyond any date in use, and sums below cannot overflow. */
#define EPOCH_LIMIT_S (INT64_C(500000) * 366 * CALENDAR_DAY_S)
#define YEAR_LIMIT INT64_C(500000)

static int64_t clamp(int64_t value, int64_t limit)
{
    return value < -limit ? -limit : value > limit ? limit : value;
}

/* Whole cycles to take off, so that the rest is covered by the table. */
static int64_t cycles_beyond(const struct zone *zone, int64_t seconds)
{
    return seconds < zone->table.cycle_end_s ? 0 : (seconds - zone->table.cycle_end_s) / CALENDAR_CYCLE_S + 1;
}

/* The number of steps at or before the instant; `local`: of those whose new offset is in use at that local time. */
static size_t count_steps(const struct zone *zone, int64_t at_s, bool local)
{
    size_t low = 0, high = zone->table.count;

    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct zone_step *step = &zone->table.steps[mid];

        if ((local ? step->local_s : step->at_s) <= at_s)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static int32_t offset_after(const struct zone *zone, size_t steps)
{
    return steps == 0 ? zone->table.first_offset_s : zone->table.steps[steps - 1].offset_s;
}

int zone_offset_s(const struct zone *zone, int64_t epoch_s)
{
    epoch_s = clamp(epoch_s, EPOCH_LIMIT_S);
    epoch_s -= cycles_beyond(zone, epoch_s) * CALENDAR_CYCLE_S;
    return offset_after(zone, count_steps(zone, epoch_s, /*local=*/false));
}

static struct local_span get_span(const struct zone *zone, size_t steps)
{
    struct local_span span = {
        .begin_s = steps == 0 ? INT64_MIN / 2 : zone->table.steps[steps - 1].local_s,
        .end_s = INT64_MAX / 2,
        .offset_s = offset_after(zone, steps),
    };

    if (steps < zone->table.count) {
        const struct zone_step *next = &zone->table.steps[steps];
        int64_t gap_s = next->at_s + span.offset_s;

        span.end_s = gap_s < next->local_s ? gap_s : next->local_s;
    }
    return span;
}

struct local_span zone_find_span(const struct zone *zone, int64_t *local_s)
{
    int64_t shift_s = cycles_beyond(zone, *local_s) * CALENDAR_CYCLE_S;
    int64_t rest_s = *local_s - shift_s;
    size_t steps = count_steps(zone, rest_s, /*local=*/true);
    struct local_span span = get_span(zone, steps);

    if (rest_s >= span.end_s) { /* between two spans: in a gap */
        struct local_span next = get_span(zone, steps + 1);

        *local_s += next.offset_s - span.offset_s;
        span = next;
    }
    span.begin_s += shift_s;
    span.end_s += shift_s;
    return span;
}

struct civil zone_to_civil(const struct zone *zone, int64_t epoch_s)
{
    int64_t local_s = clamp(epoch_s, EPOCH_LIMIT_S) + zone_offset_s(zone, epoch_s); /* which does the same */

    return civil_of_second(local_s);
}

void zone_put_second(const struct zone *zone, int64_t epoch_s, struct buf *out)
{
    struct civil c = zone_to_civil(zone, epoch_s);

    buf_printf(out, "%04" PRId64 "-%02d-%02d %02d:%02d:%02d", c.year, c.month, c.day, c.hour, c.minute, c.second);
}

int64_t zone_from_civil(const struct zone *zone, const struct civil *civil)
{
    struct civil near = *civil;
    near.year = clamp(civil->year, YEAR_LIMIT);
    int64_t local_s = civil_to_second(&near);
    struct local_span span = zone_find_span(zone, &local_s);

    return local_s - span.offset_s;
}
