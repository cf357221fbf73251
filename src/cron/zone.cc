/* SPDX-License-Identifier: MIT */
/*
 * zone: reads a zone file with cctz, of which this is the only user. No exception leaves this file.
 *
 * cctz keeps for the life of the process what it has loaded, and also which names it could not load. The caller
 * therefore looks at the file first, so that neither a wrong name nor a moment without free descriptors is
 * remembered here. A name whose loading ran out of memory is worse: from then on cctz takes it for UTC and
 * reports success. load_zone sees that by the name of what it got, and tries again under another spelling of the
 * path.
 */
#include "cron/zone_table.h"

#include <cctz/civil_time.h>
#include <cctz/time_zone.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace
{

using seconds_point = cctz::time_point<cctz::seconds>;

/* Long before any zone existed: the offset there is that of the local mean time. */
constexpr int64_t begin_s = INT64_C(-100000000000);
/* Files list changes up to 2037 (one: 2087). Later ones were made by cctz from the rule at the file's end, for
 * 400 years, after which they repeat. 2200-01-01 lies between the two. */
constexpr int64_t ruled_from_s = INT64_C(7258118400);
/* The table repeats from a point that is clear of its last change, in local time as well. */
constexpr int64_t clear_s = INT64_C(2) * 86400;

seconds_point to_point(int64_t epoch_s)
{
    return seconds_point(cctz::seconds(epoch_s));
}

constexpr int spellings_max = 8;

bool load_zone(const char *path, cctz::time_zone *tz)
{
    std::string spelling(path);

    for (int i = 0; i < spellings_max; i++) {
        if (cctz::load_time_zone(spelling, tz) && tz->name() == spelling)
            return true;
        spelling.insert(0, "/"); /* "//usr" is "/usr" */
    }
    return false;
}

std::vector<zone_step> read_steps(const cctz::time_zone &tz, int32_t first_offset_s)
{
    std::vector<zone_step> steps;
    cctz::time_zone::civil_transition change;
    int32_t before_s = first_offset_s;

    for (seconds_point at = to_point(begin_s); tz.next_transition(at, &change);) {
        const seconds_point next = tz.lookup(change.to).trans;

        if (next <= at) /* a file with disordered changes must not keep us here */
            break;
        at = next;
        zone_step step = {};
        step.at_s = at.time_since_epoch().count();
        step.offset_s = tz.lookup(at).offset;
        step.local_s = step.at_s + step.offset_s;
        if (step.offset_s != before_s) /* others change the abbreviation only */
            steps.push_back(step);
        before_s = step.offset_s;
    }
    return steps;
}

int read_table(const char *path, zone_table *out)
{
    cctz::time_zone tz;
    zone_table table = {};

    if (!load_zone(path, &tz))
        return EINVAL;
    table.first_offset_s = tz.lookup(to_point(begin_s)).offset;
    table.cycle_end_s = INT64_MAX;
    const std::vector<zone_step> steps = read_steps(tz, table.first_offset_s);
    table.count = steps.size();
    if (!steps.empty()) {
        const size_t size = steps.size() * sizeof(zone_step);
        table.steps = static_cast<zone_step *>(std::malloc(size)); /* freed in C */
        if (table.steps == nullptr)
            return ENOMEM;
        std::memcpy(table.steps, steps.data(), size);
        if (steps.back().at_s > ruled_from_s)
            table.cycle_end_s = steps.back().at_s - clear_s;
    }
    *out = table;
    return 0;
}

} // namespace

extern "C" int zone_table_read(const char *path, zone_table *out)
{
    try {
        return read_table(path, out);
    } catch (const std::bad_alloc &) {
        return ENOMEM;
    } catch (...) {
        return EINVAL;
    }
}
