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

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum err count_executors(struct admin *a, int64_t *out, struct errctx *ec)
{
    const struct registry_snapshot *snap = registry_get_snapshot(a->opts.registry);
    const char **all;
    size_t n = 0, count = 0;

    for (size_t i = 0; i < snap->count; i++)
        count += snap->groups[i].count;
    all = malloc((count + 1) * sizeof *all);
    for (size_t i = 0; all && i < snap->count; i++) {
        for (size_t k = 0; k < snap->groups[i].count; k++)
            all[n++] = snap->groups[i].addresses[k];
    }
    if (all) {
        qsort(all, n, sizeof *all, compare_texts);
        *out = 0;
        for (size_t i = 0; i < n; i++)
            *out += i == 0 || strcmp(all[i], all[i - 1]) != 0;
    }
    registry_put_snapshot(snap);
    free(all);
    return all ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory");
}

enum err admin_load_figures(struct admin *a, struct figures *out, struct refusal *r)
{
    struct store_session *s = NULL;
    struct figures figures = {0};
    enum err e = admin_take_session(a, &s, r);

    if (e)
        return e;
    e = store_count_all_jobs(s, COUNT_LIMIT_MS, &figures.jobs, &figures.jobs_running, &r->text);
    if (!e)
        e = store_sum_report(s, &figures.runs, &r->text);
    store_give_session(a->opts.store, s);
    if (!e)
        e = count_executors(a, &figures.executors, &r->text);
    if (!e)
        *out = figures;
    return refuse_error(r, e);
}
