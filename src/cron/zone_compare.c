/* SPDX-License-Identifier: MIT */
/* zone_compare: whether two zones are one, and what a zone is called on other machines. */
#include "cron/zone_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Both have one offset from each step of either on, so it is enough to look there. */
static bool is_same_at_steps(const struct zone *a, const struct zone *b, int64_t from_s, int64_t to_s)
{
    for (size_t i = 0; i < a->table.count; i++) {
        int64_t at_s = a->table.steps[i].at_s;

        if (at_s > from_s && at_s <= to_s && zone_offset_s(a, at_s) != zone_offset_s(b, at_s))
            return false;
    }
    return true;
}

bool zone_is_same(const struct zone *a, const struct zone *b, int64_t from_s, int64_t to_s)
{
    return zone_offset_s(a, from_s) == zone_offset_s(b, from_s) && is_same_at_steps(a, b, from_s, to_s) &&
           is_same_at_steps(b, a, from_s, to_s);
}

static void write_offset(int offset_s, char out[ZONE_NAME_MAX])
{
    int rest_s = abs(offset_s);
    int n = snprintf(out, ZONE_NAME_MAX, "%c%02d:%02d", offset_s < 0 ? '-' : '+', rest_s / 3600, rest_s / 60 % 60);

    if (rest_s % 60)
        snprintf(out + n, ZONE_NAME_MAX - (size_t)n, ":%02d", rest_s % 60);
}

bool zone_find_name(const struct zone *zone, int64_t from_s, int64_t to_s, char out[ZONE_NAME_MAX])
{
    struct zone fixed = {.table = {.first_offset_s = zone_offset_s(zone, from_s), .cycle_end_s = INT64_MAX}};

    if (strcmp(zone->name, ZONE_NAME_UNKNOWN) != 0) {
        snprintf(out, ZONE_NAME_MAX, "%s", zone->name);
        return true;
    }
    if (!zone_is_same(zone, &fixed, from_s, to_s))
        return false;
    write_offset(fixed.table.first_offset_s, out);
    return true;
}
