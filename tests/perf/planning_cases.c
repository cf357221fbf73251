/* SPDX-License-Identifier: MIT */
/* Wheel, cron and planner. */
#include "micro.h"

#include "schedule/plan/planner.h"
#include "schedule/ring/wheel.h"

#include <stdlib.h>

/* ---- wheel: fires of ten seconds are pushed in turn, then each second is drained --------------------------------- */

enum { WHEEL_FIRES = 1000, WHEEL_SECONDS = 10 };

struct wheel_state {
    struct wheel wheel;
    struct fire fires[WHEEL_FIRES];
    int64_t now_s;
};

static void *wheel_make(void)
{
    struct wheel_state *s = calloc(1, sizeof(*s));

    if (!s)
        micro_die("out of memory");
    wheel_init(&s->wheel);
    s->now_s = 1767225600;
    return s;
}

static void wheel_run(void *state, size_t count)
{
    struct wheel_state *s = state;

    for (size_t done = 0; done < count; done += WHEEL_FIRES) {
        size_t drained = 0;

        for (size_t i = 0; i < WHEEL_FIRES; i++) {
            s->fires[i].due_s = s->now_s + (int64_t)(i % WHEEL_SECONDS);
            wheel_push(&s->wheel, &s->fires[i]);
        }
        for (int second = 0; second < WHEEL_SECONDS; second++) {
            for (struct fire *f = wheel_drain(&s->wheel, s->now_s); f; f = f->next)
                drained++;
            s->now_s++;
        }
        if (drained != WHEEL_FIRES)
            micro_die("%zu of %d fires came out of the wheel", drained, WHEEL_FIRES);
    }
}

static void wheel_unmake(void *state)
{
    struct wheel_state *s = state;

    wheel_fini(&s->wheel);
    free(s);
}

const struct micro_case wheel_case = {"wheel",     "push one fire and drain it", 1000000, wheel_make, wheel_run,
                                      wheel_unmake};

/* ---- cron: the next occurrence, of frequent and of rare expressions ---------------------------------------------- */

static const char *const expressions[] = {
    "3/10 * * * * ?", "0 0/5 * * * ?", "0 30 9 ? * MON-FRI", "0 0 2 L * ?", "0 15 10 ? * 6#3", "0 0 12 1 1 ? *",
};
enum { EXPRESSIONS = sizeof(expressions) / sizeof(*expressions) };

struct cron_state {
    struct zone *zone;
    struct cron *crons[EXPRESSIONS];
};

static void *cron_make(void)
{
    struct cron_state *s = calloc(1, sizeof(*s));
    struct errctx ec;

    if (!s || zone_load("Asia/Shanghai", &s->zone, &ec))
        micro_die("the zone cannot be loaded");
    for (size_t i = 0; i < EXPRESSIONS; i++) {
        if (cron_parse(expressions[i], 2126, &s->crons[i], &ec))
            micro_die("%s: %s", expressions[i], ec.text);
    }
    return s;
}

static void cron_run(void *state, size_t count)
{
    struct cron_state *s = state;
    int64_t from_ms = INT64_C(1767225600000), next_ms;
    struct errctx ec;

    for (size_t i = 0; i < count; i++) {
        from_ms += 997;
        if (cron_next(s->crons[i % EXPRESSIONS], s->zone, from_ms, &next_ms, &ec) || next_ms <= from_ms)
            micro_die("%s has no next occurrence", expressions[i % EXPRESSIONS]);
    }
}

static void cron_unmake(void *state)
{
    struct cron_state *s = state;

    for (size_t i = 0; i < EXPRESSIONS; i++)
        cron_destroy(s->crons[i]);
    zone_destroy(s->zone);
    free(s);
}

const struct micro_case cron_case = {
    "cron", "next occurrence, mean of six expressions", 100000, cron_make, cron_run, cron_unmake};

/* ---- planner: a job that is due once in the window --------------------------------------------------------------- */

struct plan_state {
    struct zone *zone;
    struct planner *planner;
};

static void *plan_make(void)
{
    struct plan_state *s = calloc(1, sizeof(*s));
    struct errctx ec;

    if (!s || zone_load("UTC", &s->zone, &ec) || planner_create(s->zone, 2126, &s->planner, &ec))
        micro_die("no planner");
    return s;
}

static void plan_run(void *state, size_t count)
{
    static const char *const phases[] = {"0/10 * * * * ?", "1/10 * * * * ?", "2/10 * * * * ?", "3/10 * * * * ?"};
    struct plan_state *s = state;
    const int64_t now_ms = INT64_C(1767225600000) - 1000;
    const struct plan_moment moment = {.now_ms = now_ms,
                                       .window_end_ms = now_ms + PLAN_AHEAD_MS,
                                       .planned_until_ms = now_ms,
                                       .earliest_s = now_ms / 1000 + 1};
    struct errctx ec;

    for (size_t i = 0; i < count; i++) {
        struct job_due job = {.id = (int64_t)i + 1,
                              .group = 2,
                              .next_ms = now_ms + 1000 + (int64_t)(i % 4) * 1000,
                              .schedule_type = "CRON",
                              .schedule_conf = phases[i % 4],
                              .misfire = "DO_NOTHING",
                              .route = "ROUND",
                              .handler = "demoJobHandler"};
        struct plan plan;

        if (planner_plan_job(s->planner, &job, &moment, NULL, &plan, &ec) || plan.count != 1)
            micro_die("the job was not planned once");
        fire_destroy_list(plan.fires);
    }
}

static void plan_unmake(void *state)
{
    struct plan_state *s = state;

    planner_destroy(s->planner);
    zone_destroy(s->zone);
    free(s);
}

const struct micro_case plan_case = {"plan", "plan one job that is due once", 50000, plan_make, plan_run, plan_unmake};
