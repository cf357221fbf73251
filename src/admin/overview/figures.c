/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/figures.h"

#include "admin/admin_impl.h"
#include "shardwheel/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT_LIMIT_MS 2000

enum err admin_load_days(struct admin *a, const char *from, const char *to, struct report_days *out, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = store_load_report_days(s, from, to, out, &r->text);
    return admin_end(a, s, e, r);
}

void admin_write_day(const struct admin *a, int64_t days_ago, char out[REPORT_DAY_MAX])
{
    const struct zone *zone = store_get_zone(a->opts.store);
    struct civil civil = zone_to_civil(zone, clock_wall_ms(a->clock) / 1000);

    civil.day -= (int)days_ago; /* noon is on that day whatever the clocks do */
    civil.hour = 12;
    civil = zone_to_civil(zone, zone_from_civil(zone, &civil));
    snprintf(out, REPORT_DAY_MAX, "%04" PRId64 "-%02d-%02d", civil.year % 10000, civil.month % 100, civil.day % 100);
}

enum err admin_load_figures(struct admin *a, struct figures *out, struct refusal *r)
{
    const struct registry_snapshot *snap;
    struct store_session *s = NULL;
    struct overview counted = {0};
    struct figures figures = {0};
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = store_count_all_jobs(s, COUNT_LIMIT_MS, &figures.jobs, &figures.jobs_running, &r->text);
    if (!e)
        e = store_sum_report(s, &figures.runs, &r->text);
    if (!e) {
        snap = registry_get_snapshot(a->opts.registry);
        e = overview_count_executors(&counted, snap, &(struct group_choice){0}, &r->text);
        figures.executors = counted.executors;
        registry_put_snapshot(snap);
    }
    if (!e)
        *out = figures;
    return admin_end(a, s, e, r);
}
