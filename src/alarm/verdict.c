/* SPDX-License-Identifier: MIT */
#include "alarm/verdict.h"

#include <string.h>

#include "shardwheel/store/job.h"
#include "shardwheel/text.h"

/* ---- limits ------------------------------------------------------------------------------------------------------ */

static bool is_for(const struct watch_rule *rule, const struct watched_job *job)
{
    return (!rule->tag[0] || text_list_has(job->tags, rule->tag)) &&
           (!rule->app_name[0] || strcmp(rule->app_name, job->app_name) == 0);
}

/* Zero, "by what is usual", gives way to a fixed time. */
static bool is_stricter(int64_t bound, int64_t than)
{
    return than < 0 || (bound > 0 && (than == 0 || bound < than));
}

static void take_rule(struct watch_limits *out, const struct watch_limits *own, const struct watch_rule *rule,
                      enum watch_kind kind)
{
    bool taken = false;

    if (kind == WATCH_NO_SUCCESS && own->success_s < 0 && is_stricter(rule->bound, out->success_s)) {
        out->success_s = rule->bound;
        taken = true;
    } else if (kind == WATCH_LONG_RUN && own->long_s < 0 && is_stricter(rule->bound, out->long_s)) {
        out->long_s = rule->bound;
        taken = true;
    } else if (kind == WATCH_NOT_DONE && own->done_minute < 0 &&
               (out->done_minute < 0 || rule->bound < out->done_minute)) {
        out->done_minute = (int)rule->bound;
        taken = true;
    }
    if (taken && rule->changed_ms > out->since_ms)
        out->since_ms = rule->changed_ms;
}

struct watch_limits limits_find(const struct watched_job *job, const struct watch_rule *rules, size_t rule_count)
{
    struct watch_limits own = {job->success_within_s, job->longest_run_s, -1, 0}, out;
    int hour, minute;

    if (job_clock_parse(job->done_by, &hour, &minute))
        own.done_minute = hour * 60 + minute;
    out = own;
    for (size_t i = 0; i < rule_count; i++) {
        enum watch_kind kind;

        if (watch_kind_parse(rules[i].kind, &kind) && watch_kind_is_of_jobs(kind) && is_for(&rules[i], job))
            take_rule(&out, &own, &rules[i], kind);
    }
    return out;
}

bool limits_are_empty(const struct watch_limits *limits)
{
    return limits->success_s < 0 && limits->long_s < 0 && limits->done_minute < 0;
}

/* ---- verdicts ---------------------------------------------------------------------------------------------------- */

enum verdict verdict_success(int64_t bound_s, int64_t since_s, int64_t success_s, int64_t now_s)
{
    if (success_s > 0 && now_s - success_s <= bound_s)
        return VERDICT_GOOD;
    return now_s - since_s <= bound_s ? VERDICT_IDLE : VERDICT_BAD;
}

/* A time that the clocks leave out is that of the same length after the gap. */
static int64_t find_time(const struct zone *zone, const struct civil *day, int days_back, int minute)
{
    return zone_from_civil(zone, &(struct civil){.year = day->year,
                                                 .month = day->month,
                                                 .day = day->day - days_back,
                                                 .hour = minute / 60,
                                                 .minute = minute % 60});
}

/* The last time of day `minute` in the zone at or before now_s, and the one before it. */
static void find_deadlines(const struct zone *zone, int minute, int64_t now_s, int64_t *last_s, int64_t *before_s)
{
    struct civil today = zone_to_civil(zone, now_s);
    int back = find_time(zone, &today, 0, minute) > now_s;

    *last_s = find_time(zone, &today, back, minute);
    *before_s = find_time(zone, &today, back + 1, minute);
}

/* The first due time of the day; -1: there is none. */
static int64_t find_due(const struct zone *zone, const struct cron *cron, int64_t after_s, int64_t until_s)
{
    struct errctx ec = {{0}};
    int64_t next_ms = 0;

    if (!cron)
        return after_s + 1;
    return cron_next(cron, zone, after_s * 1000, &next_ms, &ec) || next_ms > until_s * 1000 ? -1 : next_ms / 1000;
}

enum verdict verdict_done(const struct zone *zone, int minute, const struct cron *cron, int64_t since_s,
                          int64_t begun_s, int64_t now_s)
{
    int64_t last_s, before_s, due_s;

    find_deadlines(zone, minute, now_s, &last_s, &before_s);
    due_s = find_due(zone, cron, before_s, last_s);
    if (begun_s >= (due_s < 0 ? before_s + 1 : due_s))
        return VERDICT_GOOD;
    return since_s >= last_s || due_s < 0 ? VERDICT_IDLE : VERDICT_BAD;
}

int64_t verdict_find_long(const int64_t *took, size_t count)
{
    int64_t usual;

    if (count < USUAL_RUNS_MIN)
        return -1;
    usual = took[(count * 95 + 99) / 100 - 1];
    return usual * 3 > LONG_RUN_MIN_S ? usual * 3 : LONG_RUN_MIN_S;
}
