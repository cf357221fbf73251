/* SPDX-License-Identifier: MIT */
/* What rows of the log say, by job. Pure. */
#include "shardwheel/admin/overview.h"

#include <stdlib.h>
#include <string.h>

#define HOUR_S 3600
#define DAY_S 86400

/* The most of the hour, then of the day, then the newest first. */
static int compare_weight(const void *a, const void *b)
{
    const struct overview_job *x = a, *y = b;

    if (x->hour != y->hour)
        return compare_numbers(y->hour, x->hour);
    if (x->day != y->day)
        return compare_numbers(y->day, x->day);
    if (x->last_run != y->last_run)
        return compare_numbers(y->last_run, x->last_run);
    return compare_numbers(x->job_id, y->job_id);
}

/* The most of the day last, then the newest job. */
COMPARE_BY_TWO(compare_rank, struct overview_job, day, job_id)

/* An item for each run becomes one for each job. */
static void sum_up(struct overview_jobs *jobs)
{
    size_t n = 0;

    if (jobs->count)
        qsort(jobs->items, jobs->count, sizeof *jobs->items, compare_int64);
    for (size_t i = 0; i < jobs->count; i++) {
        const struct overview_job *next = &jobs->items[i];
        struct overview_job *sum = n ? &jobs->items[n - 1] : NULL;

        if (!sum || sum->job_id != next->job_id) {
            jobs->items[n++] = *next;
            continue;
        }
        sum->hour += next->hour;
        sum->day += next->day;
        sum->worst_s = next->worst_s > sum->worst_s ? next->worst_s : sum->worst_s;
        if (next->last_run > sum->last_run) {
            sum->last_run = next->last_run;
            sum->last_s = next->last_s;
            sum->group = next->group;
        }
    }
    jobs->count = n;
    if (n)
        qsort(jobs->items, n, sizeof *jobs->items, compare_weight);
}

static bool is_failure(enum run_state state)
{
    return state == RUN_FAILED || state == RUN_LOST || state == RUN_UNKNOWN;
}

static void count_one(struct overview *o, const struct notable_run *run, bool hour, bool day)
{
    o->running += run->state == RUN_RUNNING;
    o->waiting += run->state == RUN_WAITING;
    o->skipped_hour += run->state == RUN_SKIPPED && hour ? run->skipped : 0;
    o->failures_hour += is_failure(run->state) && hour;
    o->failures_day += is_failure(run->state) && day;
    o->alarms_failed_day += run->alarm_failed && day;
}

static bool rank(struct overview_jobs *ranked, const struct overview_jobs *jobs)
{
    struct overview_job *all = calloc(jobs->count + 1, sizeof *all);
    size_t n = 0, left_out;

    if (!all)
        return false;
    for (size_t i = 0; i < jobs->count; i++)
        if (jobs->items[i].day > 0)
            all[n++] = jobs->items[i];
    if (n)
        qsort(all, n, sizeof *all, compare_rank);
    left_out = n > STORE_IDS_MAX ? n - STORE_IDS_MAX : 0;
    memmove(all, all + left_out, (n - left_out) * sizeof *all);
    *ranked = (struct overview_jobs){all, n - left_out};
    return true;
}

bool overview_count_runs(struct overview *o, int64_t now_s, struct overview_jobs *failed)
{
    struct overview_jobs jobs = {.items = calloc(o->notable.count + 1, sizeof *jobs.items)};
    size_t top = 0;

    if (!jobs.items)
        return false;
    for (size_t i = 0; i < o->notable.count; i++) {
        const struct notable_run *run = &o->notable.items[i];
        bool hour = run->trigger_s >= now_s - HOUR_S, day = run->trigger_s >= now_s - DAY_S;

        count_one(o, run, hour, day);
        if (is_failure(run->state))
            jobs.items[jobs.count++] = (struct overview_job){.job_id = run->job_id,
                                                             .group = run->group,
                                                             .hour = hour,
                                                             .day = day,
                                                             .last_run = run->id,
                                                             .last_s = run->trigger_s};
    }
    sum_up(&jobs);
    o->top.items = calloc(OVERVIEW_TOP, sizeof *o->top.items);
    for (; o->top.items && top < OVERVIEW_TOP && top < jobs.count && jobs.items[top].day > 0; top++)
        o->top.items[top] = jobs.items[top];
    o->top.count = top;
    if (!o->top.items || !rank(&o->ranked, &jobs)) {
        free(jobs.items);
        return false;
    }
    *failed = jobs;
    return true;
}

bool overview_count_late(struct overview *o, int64_t now_s, const struct late_run *runs, size_t count)
{
    struct overview_jobs jobs = {.items = calloc(count + 1, sizeof *jobs.items)};

    if (!jobs.items)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (runs[i].trigger_s < now_s - HOUR_S)
            continue;
        o->late_hour++;
        jobs.items[jobs.count++] = (struct overview_job){.job_id = runs[i].job_id,
                                                         .group = runs[i].group,
                                                         .hour = 1,
                                                         .day = 1,
                                                         .worst_s = runs[i].late_s,
                                                         .last_run = runs[i].id,
                                                         .last_s = runs[i].trigger_s};
    }
    sum_up(&jobs);
    jobs.count = jobs.count < OVERVIEW_TOP ? jobs.count : OVERVIEW_TOP;
    o->late = jobs;
    return true;
}
