/* SPDX-License-Identifier: MIT */
#include "schedule/planner.h"

#include "shardwheel/job.h"
#include "shardwheel/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parsed expressions, by hash of their text: many jobs share few texts, and parsing costs more than searching. The last
 * answer is kept too, since jobs of one text are usually due together. */
#define CACHE_SLOTS 1024

struct cached {
    char *text;
    struct cron *cron; /* NULL: the text is broken, see error */
    char error[160];
    int64_t from_ms;
    int64_t next_ms; /* valid while from_ms matches */
    enum err answer; /* of that search */
};

struct planner {
    const struct zone *zone;          /* [const] */
    int64_t max_year;                 /* [const] */
    struct cached cache[CACHE_SLOTS]; /* [schedule thread] */
};

enum err planner_create(const struct zone *zone, int64_t max_year, struct planner **out, struct errctx *ec)
{
    struct planner *p = calloc(1, sizeof *p);

    if (!p)
        return err_set(ec, ERR_NOMEM, "planner: out of memory");
    p->zone = zone;
    p->max_year = max_year;
    *out = p;
    return ERR_OK;
}

static void forget(struct cached *c)
{
    free(c->text);
    cron_destroy(c->cron);
    *c = (struct cached){0};
}

void planner_destroy(struct planner *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < CACHE_SLOTS; i++)
        forget(&p->cache[i]);
    free(p);
}

static struct cached *find_cron(struct planner *p, const char *text)
{
    uint32_t hash = 2166136261u;
    struct cached *c;
    struct errctx ec;
    enum err e;

    for (const char *s = text; *s; s++)
        hash = (hash ^ (unsigned char)*s) * 16777619u;
    c = &p->cache[hash % CACHE_SLOTS];
    if (c->text && strcmp(c->text, text) == 0)
        return c;
    forget(c);
    c->text = str_copy(text);
    if (!c->text)
        return NULL;
    c->from_ms = INT64_MIN;
    errctx_clear(&ec);
    e = cron_parse(text, p->max_year, &c->cron, &ec);
    if (e == ERR_NOMEM) {
        forget(c);
        return NULL;
    }
    if (e)
        snprintf(c->error, sizeof c->error, "%.150s", ec.text);
    return c;
}

/* ERR_OK with the occurrence after from_ms; ERR_NOTFOUND the schedule has ended, ERR_INPUT it is broken: `why` says
 * how. */
static enum err next_cron(struct planner *p, const char *conf, int64_t from_ms, int64_t *out_ms, char why[200])
{
    struct cached *c = find_cron(p, conf);
    struct errctx ec;

    if (!c)
        return ERR_NOMEM;
    if (!c->cron) {
        snprintf(why, 200, "%s", c->error);
        return ERR_INPUT;
    }
    if (c->from_ms != from_ms) {
        errctx_clear(&ec);
        c->answer = cron_next(c->cron, p->zone, from_ms, &c->next_ms, &ec);
        c->from_ms = from_ms;
        if (c->answer)
            snprintf(c->error, sizeof c->error, "%.150s", ec.text);
    }
    if (c->answer == ERR_NOTFOUND)
        snprintf(why, 200, "no further occurrence");
    else if (c->answer)
        snprintf(why, 200, "%s", c->error);
    else
        *out_ms = c->next_ms;
    return c->answer;
}

static enum err next_fixed(const char *conf, int64_t from_ms, int64_t *out_ms, char why[200])
{
    int64_t rate_s;

    /* A rate below 1 would never leave the present; the original fires such a job in every round. */
    if (!parse_int(conf, 1, INT32_MAX, &rate_s)) {
        snprintf(why, 200, "FIX_RATE wants whole seconds from 1 to %d, not '%.60s'", INT32_MAX, conf);
        return ERR_INPUT;
    }
    *out_ms = (time_floor_div(from_ms + rate_s * 1000 + 999, 1000)) * 1000;
    return ERR_OK;
}

static enum err next_time(struct planner *p, const struct job_due *job, int64_t from_ms, int64_t *out_ms, char why[200])
{
    if (strcmp(job->schedule_type, "CRON") == 0)
        return next_cron(p, job->schedule_conf, from_ms, out_ms, why);
    if (strcmp(job->schedule_type, "FIX_RATE") == 0)
        return next_fixed(job->schedule_conf, from_ms, out_ms, why);
    snprintf(why, 200, "schedule type '%.40s' has no next time", job->schedule_type);
    return ERR_INPUT;
}

/* The first occurrence after from_ms of a job that was due at due_ms: FIX_RATE keeps its phase. */
static enum err skip_to(struct planner *p, const struct job_due *job, int64_t due_ms, int64_t from_ms, int64_t *out_ms,
                        char why[200])
{
    int64_t rate_s;

    if (strcmp(job->schedule_type, "FIX_RATE") == 0 && parse_int(job->schedule_conf, 1, INT32_MAX, &rate_s)) {
        int64_t steps = time_floor_div(from_ms - due_ms, rate_s * 1000) + 1;

        *out_ms = due_ms + (steps < 1 ? 1 : steps) * rate_s * 1000;
        return ERR_OK;
    }
    return next_time(p, job, from_ms, out_ms, why);
}

/* True for a due second that the job's schedule has: FIX_RATE has those that lie whole rates from one that was
 * planned. */
static enum err is_own_second(struct planner *p, const struct job_due *job, int64_t due_s, int64_t newest_s, bool *own,
                              char why[200])
{
    int64_t rate_s, next_ms = 0;
    enum err e;

    *own = due_s == newest_s;
    if (*own)
        return ERR_OK;
    if (strcmp(job->schedule_type, "FIX_RATE") == 0) {
        *own = parse_int(job->schedule_conf, 1, INT32_MAX, &rate_s) && (newest_s - due_s) % rate_s == 0;
        return ERR_OK;
    }
    e = next_time(p, job, due_s * 1000 - 1, &next_ms, why);
    *own = e == ERR_OK && next_ms == due_s * 1000;
    return e == ERR_NOMEM ? e : ERR_OK; /* a broken schedule has none; who fires it finds out */
}

/* *repeated: the due time was planned before, though the next time says otherwise. */
static enum err is_repeated(struct planner *p, const struct job_due *job, int64_t due_ms, const struct plan_moment *m,
                            bool *repeated, char why[200])
{
    int64_t due_s = time_floor_div(due_ms, 1000);

    *repeated = false;
    if (due_s > m->newest_s || due_ms < m->now_ms - PLAN_CATCH_UP_MS)
        return ERR_OK;
    return is_own_second(p, job, due_s, m->newest_s, repeated, why);
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
                               int64_t original_s, enum trigger_kind kind, struct fire ***tail)
{
    bool broadcast = route_is_broadcast(job->route);
    size_t total = broadcast && group && group->count ? group->count : 1;

    for (size_t i = 0; i < total; i++) {
        struct fire *fire = make_fire(job, due_s, original_s, kind);

        if (!fire)
            return ERR_NOMEM;
        **tail = fire;
        *tail = &fire->next;
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

enum what { PLAN_REPEATED, PLAN_IN_TIME, PLAN_AT_ONCE, PLAN_AT_ONCE_THEN_CLOCK, PLAN_MISFIRE, PLAN_MISFIRE_THEN_CLOCK };

static enum what classify(int64_t due_ms, const struct plan_moment *m)
{
    int64_t age_ms = m->now_ms - due_ms;

    if (time_floor_div(due_ms, 1000) >= m->earliest_s)
        return PLAN_IN_TIME;
    if (due_ms > m->planned_until_ms)
        return age_ms <= PLAN_CATCH_UP_MS ? PLAN_AT_ONCE : PLAN_MISFIRE;
    return age_ms <= PLAN_OVERDUE_MS ? PLAN_AT_ONCE_THEN_CLOCK : PLAN_MISFIRE_THEN_CLOCK;
}

enum err planner_plan_job(struct planner *p, const struct job_due *job, const struct plan_moment *m,
                          const struct registry_group *group, struct plan *out, struct errctx *ec)
{
    struct plan plan = {0};
    struct fire **tail = &plan.fires;
    int64_t due_ms = job->next_ms;
    enum err e = ERR_OK;

    while (due_ms <= m->window_end_ms && plan.count < PLAN_FIRES_MAX) {
        int64_t due_s = time_floor_div(due_ms > 0 ? due_ms : 0, 1000); /* marks hold no sign */
        int64_t clock_ms = m->now_ms > due_ms ? m->now_ms : due_ms;    /* the same due time is never found twice */
        enum what what = classify(due_ms, m);
        int64_t next_ms = 0;
        bool fires = true, repeated = false;
        enum trigger_kind kind = TRIGGER_CRON;

        if (is_repeated(p, job, due_ms, m, &repeated, plan.why_stopped))
            goto fail;
        switch (repeated ? PLAN_REPEATED : what) {
        case PLAN_REPEATED:
            plan.repeated = true;
            fires = false;
            e = skip_to(p, job, due_ms, m->newest_s * 1000 + 999, &next_ms, plan.why_stopped);
            break;
        case PLAN_IN_TIME:
        case PLAN_AT_ONCE: e = next_time(p, job, due_ms, &next_ms, plan.why_stopped); break;
        case PLAN_AT_ONCE_THEN_CLOCK: e = next_time(p, job, clock_ms, &next_ms, plan.why_stopped); break;
        case PLAN_MISFIRE:
        case PLAN_MISFIRE_THEN_CLOCK:
            plan.misfired = true;
            fires = strcmp(job->misfire, "FIRE_ONCE_NOW") == 0;
            kind = TRIGGER_MISFIRE;
            e = what == PLAN_MISFIRE
                    ? skip_to(p, job, due_ms, m->now_ms - PLAN_CATCH_UP_MS - 1, &next_ms, plan.why_stopped)
                    : next_time(p, job, clock_ms, &next_ms, plan.why_stopped);
            break;
        }
        if (e == ERR_NOMEM)
            goto fail;
        if (fires) {
            if (add_occurrence(job, group, what == PLAN_IN_TIME ? due_s : m->earliest_s, due_s, kind, &tail))
                goto fail;
            plan.count++;
        }
        if (e) {
            plan.stop = true;
            break;
        }
        due_ms = next_ms;
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
