/* SPDX-License-Identifier: MIT */
#include "schedule/plan/planner.h"

#include "shardwheel/job.h"
#include "shardwheel/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct planner {
    struct occurrences *occurrences; /* [schedule thread] */
};

enum err planner_create(const struct zone *zone, int64_t max_year, struct planner **out, struct errctx *ec)
{
    struct planner *p = calloc(1, sizeof *p);
    enum err e =
        p ? occurrences_create(zone, max_year, &p->occurrences, ec) : err_set(ec, ERR_NOMEM, "planner: out of memory");

    if (e) {
        free(p);
        return e;
    }
    *out = p;
    return ERR_OK;
}

void planner_destroy(struct planner *p)
{
    if (!p)
        return;
    occurrences_destroy(p->occurrences);
    free(p);
}

void planner_begin(struct planner *p)
{
    occurrences_begin(p->occurrences);
}

/* The next time of a job of which the run at fired_s is under way. */
static int64_t find_bound_ms(const struct job_due *job, int64_t fired_s)
{
    return (fired_s + job->fixed_delay_s + FIXED_DELAY_LIMIT_S) * 1000;
}

static int64_t get_own_s(const struct plan_moment *m)
{
    return m->own_s ? m->own_s : m->newest_s;
}

/* *repeated: the due time was planned before, though the next time says otherwise. */
static enum err is_repeated(struct planner *p, const struct job_due *job, int64_t due_ms, const struct plan_moment *m,
                            bool *repeated, char why[WHY_MAX])
{
    int64_t due_s = time_floor_div(due_ms, 1000);

    *repeated = false;
    if (due_s > m->newest_s || due_ms < m->remembered_ms)
        return ERR_OK;
    return occurrences_is_own(p->occurrences, job, due_s, get_own_s(m), repeated, why);
}

static struct fire *make_fire(const struct job_due *job, int64_t due_s, int64_t original_s, enum trigger_kind kind)
{
    struct fire *fire = fire_create();

    if (!fire)
        return NULL;
    fire->job_id = job->id;
    fire->group = job->group;
    fire->due_s = due_s;
    fire->original_due_s = original_s;
    fire->kind = kind;
    fire->shard_total = 1;
    return fire;
}

/* Appends the fires of one occurrence at *tail and moves it. */
static enum err add_occurrence(const struct job_due *job, const struct registry_group *group, int64_t due_s,
                               int64_t original_s, enum trigger_kind kind, int flags, struct fire ***tail)
{
    bool broadcast = route_is_broadcast(job->route);
    size_t total = broadcast && group && group->count ? group->count : 1;

    for (size_t i = 0; i < total; i++) {
        struct fire *fire = make_fire(job, due_s, original_s, kind);

        if (!fire)
            return ERR_NOMEM;
        **tail = fire;
        *tail = &fire->next;
        fire->flags = flags;
        fire->broadcast = broadcast;
        fire->shard_index = (int)i;
        fire->shard_total = (int)total;
        if (broadcast && group && group->count) {
            fire->address = str_copy(group->addresses[i]);
            if (!fire->address)
                return ERR_NOMEM;
        }
    }
    return ERR_OK;
}

/* ---- one due time ------------------------------------------------------------------------------------------------ */

enum what {
    PLAN_NOT_VALID, /* before or after the time in which the job has occurrences */
    PLAN_REPEATED,
    PLAN_IN_TIME,
    PLAN_AT_ONCE,
    PLAN_AT_ONCE_THEN_CLOCK,
    PLAN_MISFIRE,
    PLAN_MISFIRE_THEN_CLOCK
};

static enum what classify(const struct job_due *job, int64_t due_ms, const struct plan_moment *m)
{
    int64_t age_ms = m->now_ms - due_ms;

    if (due_ms < job->valid_from_s * 1000 || (job->valid_until_s && due_ms >= job->valid_until_s * 1000))
        return PLAN_NOT_VALID;
    if (time_floor_div(due_ms, 1000) >= m->earliest_s)
        return PLAN_IN_TIME;
    if (due_ms > m->planned_until_ms || (job->fixed_delay_s > 0 && occurrences_is_delayed(job)))
        return age_ms <= PLAN_CATCH_UP_MS ? PLAN_AT_ONCE : PLAN_MISFIRE;
    return age_ms <= PLAN_OVERDUE_MS ? PLAN_AT_ONCE_THEN_CLOCK : PLAN_MISFIRE_THEN_CLOCK;
}

/* What is decided for one due time. */
struct decision {
    enum what what;
    bool fires;
    enum trigger_kind kind;
    int64_t fire_s;  /* the second it goes out, where it fires */
    int64_t next_ms; /* on ERR_OK */
    enum err e;      /* of the search for it: the job is stopped, or there is no memory */
};

static enum err find_next(struct planner *p, const struct job_due *job, const struct plan_moment *m, int64_t due_ms,
                          const struct decision *d, int64_t *out_ms, char why[WHY_MAX])
{
    int64_t clock_ms = m->now_ms > due_ms ? m->now_ms : due_ms; /* the same due time is never found twice */

    switch (d->what) {
    case PLAN_NOT_VALID:
        return occurrences_skip_to(p->occurrences, job, due_ms,
                                   due_ms < job->valid_from_s * 1000 ? job->valid_from_s * 1000 - 1 : due_ms, out_ms,
                                   why);
    case PLAN_REPEATED: return occurrences_skip_to(p->occurrences, job, due_ms, m->newest_s * 1000 + 999, out_ms, why);
    case PLAN_IN_TIME:
    case PLAN_AT_ONCE: return occurrences_next(p->occurrences, job, due_ms, out_ms, why);
    case PLAN_AT_ONCE_THEN_CLOCK:
    case PLAN_MISFIRE_THEN_CLOCK: return occurrences_next(p->occurrences, job, clock_ms, out_ms, why);
    case PLAN_MISFIRE:
        return occurrences_skip_to(p->occurrences, job, due_ms, m->now_ms - PLAN_CATCH_UP_MS - 1, out_ms, why);
    }
    return ERR_INPUT;
}

/* A run of a FIX_DELAY job begins, or is under way: the next one counts from its end, which is not known yet. */
static enum err find_next_delayed(struct planner *p, const struct job_due *job, const struct plan_moment *m,
                                  int64_t due_ms, const struct decision *d, int64_t *out_ms, char why[WHY_MAX])
{
    int64_t from_s = d->what == PLAN_REPEATED ? get_own_s(m) : d->fire_s;
    enum err e;

    if (d->what == PLAN_NOT_VALID)
        return find_next(p, job, m, due_ms, d, out_ms, why);
    if (!d->fires && d->what != PLAN_REPEATED) /* nothing runs */
        return occurrences_next(p->occurrences, job, m->now_ms, out_ms, why);
    e = occurrences_next(p->occurrences, job, from_s * 1000, out_ms, why);
    if (!e)
        *out_ms = find_bound_ms(job, from_s);
    return e;
}

static struct decision decide(struct planner *p, const struct job_due *job, const struct plan_moment *m, int64_t due_ms,
                              bool repeated, char why[WHY_MAX])
{
    struct decision d = {.what = repeated ? PLAN_REPEATED : classify(job, due_ms, m), .kind = TRIGGER_CRON};

    switch (d.what) {
    case PLAN_NOT_VALID:
    case PLAN_REPEATED: break;
    case PLAN_IN_TIME:
    case PLAN_AT_ONCE:
    case PLAN_AT_ONCE_THEN_CLOCK: d.fires = true; break;
    case PLAN_MISFIRE:
    case PLAN_MISFIRE_THEN_CLOCK:
        d.fires = strcmp(job->misfire, "FIRE_ONCE_NOW") == 0;
        d.kind = TRIGGER_MISFIRE;
        break;
    }
    d.fire_s = d.what == PLAN_IN_TIME ? time_floor_div(due_ms, 1000) : m->earliest_s;
    d.e = job->fixed_delay_s > 0 && occurrences_is_delayed(job)
              ? find_next_delayed(p, job, m, due_ms, &d, &d.next_ms, why)
              : find_next(p, job, m, due_ms, &d, &d.next_ms, why);
    if (d.e == ERR_STATE && m->now_ms < job->valid_until_s * 1000) {
        /* Fires of it that are planned already would be removed as those of a stopped job. */
        d.next_ms = job->valid_until_s * 1000 + PLAN_AHEAD_MS + 1000;
        d.e = ERR_OK;
    }
    return d;
}

/* Notes what was due from due_ms on, and has no fire: by then the clock has passed it. */
static void note_skipped(struct planner *p, const struct job_due *job, const struct plan_moment *m, int64_t due_ms,
                         const struct decision *d, struct skipped *skipped)
{
    int64_t until_ms = d->e == ERR_OK && d->next_ms <= m->now_ms ? d->next_ms - 1 : m->now_ms;
    struct occurrences_count later = {.last_ms = due_ms};
    int64_t count, first_s = time_floor_div(due_ms > 0 ? due_ms : 0, 1000);

    if (d->e != ERR_INPUT)
        later = occurrences_count(p->occurrences, job, due_ms, until_ms);
    count = later.count + !d->fires;
    if (count == 0 && !later.more)
        return;
    if (d->fires && later.count > 0) {
        int64_t first_ms = due_ms;
        char why[WHY_MAX];

        if (occurrences_skip_to(p->occurrences, job, due_ms, due_ms, &first_ms, why) == ERR_OK)
            first_s = time_floor_div(first_ms, 1000);
    }
    if (skipped->count == 0)
        *skipped = (struct skipped){.first_s = first_s, .by_hand = d->what != PLAN_MISFIRE};
    skipped->count += count;
    skipped->more = skipped->more || later.more;
    skipped->last_s = time_floor_div(later.last_ms > 0 ? later.last_ms : 0, 1000);
}

/* ---- a job ------------------------------------------------------------------------------------------------------- */

static enum err plan_job(struct planner *p, const struct job_due *job, const struct plan_moment *m,
                         const struct registry_group *group, struct plan *out, struct errctx *ec)
{
    struct plan plan = {0};
    struct fire **tail = &plan.fires;
    int64_t due_ms = job->next_ms;

    while (due_ms <= m->window_end_ms && plan.count < PLAN_FIRES_MAX) {
        int64_t due_s = time_floor_div(due_ms > 0 ? due_ms : 0, 1000); /* marks hold no sign */
        bool repeated = false;
        struct decision d;

        if (is_repeated(p, job, due_ms, m, &repeated, plan.why_stopped))
            goto fail;
        d = decide(p, job, m, due_ms, repeated, plan.why_stopped);
        if (d.e == ERR_NOMEM)
            goto fail;
        plan.repeated = plan.repeated || repeated;
        plan.misfired = plan.misfired || d.kind == TRIGGER_MISFIRE;
        /* A job that somebody made running without a next time has 0 there, and missed nothing. */
        if (due_ms > 0 &&
            (d.what == PLAN_AT_ONCE_THEN_CLOCK || d.what == PLAN_MISFIRE || d.what == PLAN_MISFIRE_THEN_CLOCK))
            note_skipped(p, job, m, due_ms, &d, &plan.skipped);
        if (d.fires) {
            /* A later claim may stop the job before this one is out. */
            int64_t out_ms = d.fire_s * 1000 + PLAN_AHEAD_MS + 1000;
            bool ends = !d.e && d.next_ms <= out_ms && occurrences_end_by(p->occurrences, job, out_ms);

            if (add_occurrence(job, group, d.fire_s, due_s, d.kind, ends ? FIRE_LAST : 0, &tail))
                goto fail;
            plan.count++;
        }
        if (d.e) {
            plan.stop = true;
            break;
        }
        due_ms = d.next_ms;
    }
    plan.new_next_ms = plan.stop ? 0 : due_ms;
    if (plan.stop) {
        /* The job will be stopped by the time these go out: the flag says that they go out all the same. */
        for (struct fire *fire = plan.fires; fire; fire = fire->next)
            fire->flags |= FIRE_LAST;
    }
    *out = plan;
    return ERR_OK;
fail:
    fire_destroy_list(plan.fires);
    return err_set(ec, ERR_NOMEM, "plan job %lld: out of memory", (long long)job->id);
}

enum err planner_plan_job(struct planner *p, const struct job_due *job, const struct plan_moment *m,
                          const struct registry_group *group, struct plan *out, struct errctx *ec)
{
    struct job_due reckoned = *job;

    /* Before 1970 nothing was due. Somebody may have written any number, and differences to it must not overflow. */
    if (reckoned.next_ms < 0)
        reckoned.next_ms = 0;
    return plan_job(p, &reckoned, m, group, out, ec);
}
