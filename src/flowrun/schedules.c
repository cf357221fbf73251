/* SPDX-License-Identifier: MIT */
#include "flowrun/schedules.h"

#include "shardwheel/schedule.h"

int64_t schedules_find_next(const struct flow_settings *settings, const struct zone *zone, int64_t max_year,
                            int64_t due_s, int64_t from_s)
{
    char conf[FLOW_CONF_MAX];
    struct job_due job;
    struct errctx ec = {""};
    int64_t next_ms = 0;

    if (!settings->cron && !settings->every_s)
        return 0;
    if (settings->every_s && due_s && from_s >= due_s) {
        int64_t next_s = due_s + ((from_s - due_s) / settings->every_s + 1) * settings->every_s;
        return settings->until_s && next_s >= settings->until_s ? 0 : next_s;
    }
    flow_make_due(settings, conf, &job);
    if (schedule_find_next(&job, zone, max_year, from_s * 1000, &next_ms, &ec))
        return 0;
    return next_ms / 1000;
}

int64_t schedules_find_delayed(const struct flow_settings *settings, int64_t end_s)
{
    int64_t next_s = end_s + settings->delay_s;

    if (!settings->delay_s || (settings->until_s && next_s >= settings->until_s))
        return 0;
    return next_s;
}

void schedules_plan(const struct flow_settings *settings, const struct zone *zone, int64_t max_year, int64_t now_s,
                    struct flow_start *start)
{
    int64_t due_s = start->flow.next_s;
    bool missed = due_s < now_s - FLOW_MISSED_S;

    start->kind = 'C';
    start->policy = settings->policy;
    start->queue_max = settings->queue_max;
    start->run = true;
    start->skipped_next_s = schedules_find_delayed(settings, now_s);
    start->new_next_s = schedules_find_next(settings, zone, max_year, due_s, missed ? now_s : due_s);
    if (!missed)
        return;
    start->run = settings->misfire_once;
    start->kind = 'F';
    if (!settings->misfire_once)
        start->missed = "no node was scheduling at this due time; it was missed";
    if (!start->run && settings->delay_s)
        start->new_next_s = schedules_find_delayed(settings, now_s);
}
