/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "schedule/plan/planner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define T 1767225600000 /* 2026-01-01T00:00:00Z */

struct fixture {
    struct zone *zone;
    struct planner *planner;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct errctx ec;

    assert_non_null(f);
    assert_int_equal(zone_load("UTC", &f->zone, &ec), ERR_OK);
    assert_int_equal(planner_create(f->zone, 2126, &f->planner, &ec), ERR_OK);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    planner_destroy(f->planner);
    zone_destroy(f->zone);
    free(f);
    return 0;
}

static struct job_due job_of(const char *type, const char *conf, int64_t next_ms)
{
    return (struct job_due){.id = 5,
                            .group = 2,
                            .next_ms = next_ms,
                            .schedule_type = type,
                            .schedule_conf = conf,
                            .misfire = "DO_NOTHING",
                            .route = "FIRST",
                            .handler = "h",
                            .retry_count = 0};
}

/* All that is due up to now is planned, and the window is the next five seconds. */
static struct plan_moment at(int64_t now_ms)
{
    return (struct plan_moment){.now_ms = now_ms,
                                .window_end_ms = now_ms + PLAN_AHEAD_MS,
                                .planned_until_ms = now_ms + 4000,
                                .earliest_s = now_ms / 1000 + 1,
                                .newest_s = INT64_MIN,
                                .remembered_ms = now_ms - PLAN_CATCH_UP_MS};
}

static struct plan plan(void **state, const struct job_due *job, const struct plan_moment *moment)
{
    struct fixture *f = *state;
    struct plan out;
    struct errctx ec;

    assert_int_equal(planner_plan_job(f->planner, job, moment, NULL, &out, &ec), ERR_OK);
    return out;
}

static void in_time_each_occurrence_of_the_window(void **state)
{
    struct job_due job = job_of("CRON", "* * * * * ?", T + 1000);
    struct plan_moment m = at(T);
    struct plan p = plan(state, &job, &m);
    int64_t due_s = T / 1000 + 1;

    assert_int_equal(p.count, 5);
    for (struct fire *fire = p.fires; fire; fire = fire->next, due_s++) {
        assert_int_equal(fire->due_s, due_s);
        assert_int_equal(fire->original_due_s, due_s);
        assert_int_equal(fire->flags, 0);
        assert_int_equal(fire->kind, TRIGGER_CRON);
        assert_int_equal(fire->job_id, 5);
        assert_int_equal(fire->group, 2);
        assert_int_equal(fire->shard_total, 1);
    }
    assert_int_equal(p.new_next_ms, T + 6000);
    assert_false(p.stop);
    fire_destroy_list(p.fires);
}

/* Nobody owned the shard for three seconds: each due time is caught up, one by one, in the next second. */
static void a_gap_is_caught_up_one_by_one(void **state)
{
    struct job_due job = job_of("CRON", "* * * * * ?", T - 2000);
    struct plan_moment m = at(T);
    struct plan p;
    int64_t original_s = T / 1000 - 2;
    int n = 0;

    m.planned_until_ms = T - 3000;
    p = plan(state, &job, &m);
    for (struct fire *fire = p.fires; fire; fire = fire->next, original_s++, n++) {
        assert_int_equal(fire->original_due_s, original_s);
        assert_int_equal(fire->due_s, original_s > T / 1000 ? original_s : T / 1000 + 1);
    }
    assert_int_equal(n, 8); /* -2, -1, 0, and the five of the window */
    assert_int_equal(p.new_next_ms, T + 6000);
    assert_false(p.misfired);
    fire_destroy_list(p.fires);
}

static void beyond_a_minute_the_misfire_rule_holds(void **state)
{
    struct job_due job = job_of("CRON", "0/10 * * * * ?", T - 300000);
    struct plan_moment m = at(T);
    struct plan p;

    m.planned_until_ms = T - 400000;
    p = plan(state, &job, &m);
    assert_true(p.misfired);
    /* The occurrences of the last 60 s, that of 60 s ago too, and the present second. */
    assert_int_equal(p.count, 7);
    assert_int_equal(p.fires->original_due_s, T / 1000 - 60);
    assert_int_equal(p.new_next_ms, T + 10000);
    fire_destroy_list(p.fires);

    job.misfire = "FIRE_ONCE_NOW";
    p = plan(state, &job, &m);
    assert_int_equal(p.count, 8);
    assert_int_equal(p.fires->kind, TRIGGER_MISFIRE);
    assert_int_equal(p.fires->original_due_s, T / 1000 - 300);
    assert_int_equal(p.fires->due_s, T / 1000 + 1);
    fire_destroy_list(p.fires);
}

/* A year of once-a-second occurrences must not be walked through one by one. */
static void a_year_late_is_cheap(void **state)
{
    struct job_due job = job_of("FIX_RATE", "1", T - 365LL * 86400000);
    struct plan_moment m = at(T);
    struct plan p;

    m.planned_until_ms = T - 400LL * 86400000;
    p = plan(state, &job, &m);
    assert_true(p.misfired);
    assert_int_equal(p.count, 66);
    assert_int_equal(p.new_next_ms, T + 6000);
    fire_destroy_list(p.fires);
}

/* Nothing keeps anybody from writing such a number, and differences to it overflow. */
static void a_next_time_far_below_zero_is_one_at_zero(void **state)
{
    static const char *const schedules[][2] = {{"FIX_RATE", "30"}, {"CRON", "0 * * * * ?"}};

    for (size_t i = 0; i < ARRAY_LEN(schedules); i++) {
        struct job_due job = job_of(schedules[i][0], schedules[i][1], INT64_MIN);
        struct plan_moment m = at(T);
        struct plan lowest = plan(state, &job, &m), zero;

        job.next_ms = 0;
        zero = plan(state, &job, &m);
        assert_false(lowest.stop);
        assert_true(lowest.new_next_ms > T);
        assert_int_equal(lowest.new_next_ms, zero.new_next_ms);
        assert_int_equal(lowest.count, zero.count);
        assert_int_equal(lowest.skipped.count, 0);
        fire_destroy_list(lowest.fires);
        fire_destroy_list(zero.fires);
    }
}

/* Set into the past by hand: the original's branches. */
static void set_late_by_hand(void **state)
{
    struct job_due job = job_of("FIX_RATE", "30", T - 5000);
    struct plan_moment m = at(T);
    struct plan p = plan(state, &job, &m);

    assert_int_equal(p.count, 1);
    assert_int_equal(p.fires->due_s, T / 1000 + 1);
    assert_int_equal(p.fires->original_due_s, T / 1000 - 5);
    assert_int_equal(p.new_next_ms, T + 30000); /* counted from the clock */
    fire_destroy_list(p.fires);

    job.next_ms = T - 5001;
    p = plan(state, &job, &m);
    assert_int_equal(p.count, 0);
    assert_true(p.misfired);
    assert_int_equal(p.new_next_ms, T + 30000);

    job.misfire = "FIRE_ONCE_NOW";
    p = plan(state, &job, &m);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.fires->kind, TRIGGER_MISFIRE);
    fire_destroy_list(p.fires);
}

/* Due within a second that the ring has passed already: next second, once. */
static void a_passed_second_is_not_planned_for(void **state)
{
    struct job_due job = job_of("CRON", "0/5 * * * * ?", T + 0);
    struct plan_moment m = at(T - 100);
    struct plan p;

    m.earliest_s = T / 1000 + 1;
    p = plan(state, &job, &m);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.fires->due_s, T / 1000 + 1);
    assert_int_equal(p.fires->original_due_s, T / 1000);
    assert_int_equal(p.new_next_ms, T + 5000);
    fire_destroy_list(p.fires);
}

static void the_last_occurrence_fires_and_stops(void **state)
{
    struct job_due job = job_of("CRON", "0/2 0 0 1 1 ? 2026", T + 56000);
    struct plan_moment m = at(T + 55000);
    struct plan p = plan(state, &job, &m);

    assert_true(p.stop);
    assert_int_equal(p.new_next_ms, 0);
    assert_int_equal(p.count, 2);
    for (struct fire *fire = p.fires; fire; fire = fire->next)
        assert_true(fire->flags & FIRE_LAST);
    assert_string_equal(p.why_stopped, "no further occurrence");
    fire_destroy_list(p.fires);
}

/* They are planned already when a later claim stops the job: these go out all the same. */
static void the_seconds_before_the_last_occurrence_fire(void **state)
{
    static const struct {
        const char *cron, *zone;
        int until_s, flags; /* the end of the window; the fires' flags */
    } cases[] = {
        {"* 59 23 31 12 ? 2025", NULL, -11, 0},
        {"* 59 23 31 12 ? 2025", NULL, -6, FIRE_LAST},
        {"* 59 23 31 12 ? 2025", NULL, -2, FIRE_LAST},
        {"* 59 23 31 12 ? 2025-2026", NULL, -2, 0},
        {"* 59 23 31 12 ?", NULL, -2, 0},
        {"* 59 7 1 1 ? 2026", "Asia/Shanghai", -2, FIRE_LAST},
        {"* 59 23 31 12 ? 2024-2025", NULL, -2, FIRE_LAST},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t due_ms = T + cases[i].until_s * 1000;
        struct job_due job = job_of("CRON", cases[i].cron, due_ms);
        struct plan_moment m = at(due_ms - 5000);
        struct plan p;

        job.time_zone = cases[i].zone;
        p = plan(state, &job, &m);
        assert_false(p.stop);
        assert_int_equal(p.count, 1);
        assert_int_equal(p.new_next_ms, due_ms + 1000);
        assert_int_equal(p.fires->flags, cases[i].flags);
        fire_destroy_list(p.fires);
    }
}

static void broken_schedules_stop_their_job(void **state)
{
    static const char *const broken[][2] = {{"CRON", "0 0 25 * * ?"}, {"CRON", ""},           {"FIX_RATE", "abc"},
                                            {"FIX_RATE", "0"},        {"FIX_RATE", "-5"},     {"NONE", ""},
                                            {"FIX_DELAY", "5"},       {"CRON", "0 , * * * ?"}};
    struct plan_moment m = at(T);

    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct job_due job = job_of(broken[i][0], broken[i][1], T + 2000);
        struct plan p = plan(state, &job, &m);

        assert_true(p.stop);
        assert_int_equal(p.count, 1); /* the due time that stands is fired, as the original does */
        assert_true(p.fires->flags & FIRE_LAST);
        assert_true(p.why_stopped[0]);
        fire_destroy_list(p.fires);
    }
}

static void a_broadcast_has_a_fire_for_each_address(void **state)
{
    static const char *const addresses[] = {"http://a/", "http://b/", "http://c/"};
    struct registry_group group = {.id = 2, .addresses = addresses, .count = 3};
    struct fixture *f = *state;
    struct job_due job = job_of("FIX_RATE", "60", T + 1000);
    struct plan_moment m = at(T);
    struct plan p;
    struct errctx ec;
    int i = 0;

    job.route = "SHARDING_BROADCAST";
    assert_int_equal(planner_plan_job(f->planner, &job, &m, &group, &p, &ec), ERR_OK);
    for (struct fire *fire = p.fires; fire; fire = fire->next, i++) {
        assert_true(fire->broadcast);
        assert_int_equal(fire->shard_index, i);
        assert_int_equal(fire->shard_total, 3);
        assert_string_equal(fire->address, addresses[i]);
    }
    assert_int_equal(i, 3);
    fire_destroy_list(p.fires);

    group.count = 0;
    assert_int_equal(planner_plan_job(f->planner, &job, &m, &group, &p, &ec), ERR_OK);
    assert_null(p.fires->next);
    assert_null(p.fires->address);
    fire_destroy_list(p.fires);
}

/* ---- next times that fell back behind what is planned ------------------------------------------------------------ */

static void assert_moved_on(void **state, const struct job_due *job, const struct plan_moment *m, int64_t next_ms)
{
    struct plan p = plan(state, job, m);

    assert_true(p.repeated);
    assert_null(p.fires);
    assert_false(p.stop);
    assert_int_equal(p.new_next_ms, next_ms);
}

/* The window up to T + 5 s was planned; then somebody wrote the next time that he had read before. */
static void what_is_planned_is_passed_by(void **state)
{
    struct job_due job = job_of("CRON", "* * * * * ?", T + 1000);
    struct plan_moment m = at(T + 500);

    m.newest_s = T / 1000 + 5;
    assert_moved_on(state, &job, &m, T + 6000);
    job.next_ms = T + 5000;
    assert_moved_on(state, &job, &m, T + 6000);
    job = job_of("FIX_RATE", "3", T + 2000);
    assert_moved_on(state, &job, &m, T + 8000);
    /* Unplanned, late or in time: whatever it would be. */
    m.planned_until_ms = T - 70000;
    job = job_of("CRON", "0/10 * * * * ?", T - 20000);
    m.newest_s = T / 1000;
    assert_moved_on(state, &job, &m, T + 10000);
    m.planned_until_ms = T + 4000;
    job.misfire = "FIRE_ONCE_NOW";
    assert_moved_on(state, &job, &m, T + 10000);
}

/* What comes after it within the window is planned at once. */
static void behind_what_is_planned_the_window_goes_on(void **state)
{
    struct job_due job = job_of("CRON", "* * * * * ?", T + 1000);
    struct plan_moment m = at(T);
    struct plan p;

    m.newest_s = T / 1000 + 3;
    p = plan(state, &job, &m);
    assert_true(p.repeated);
    assert_int_equal(p.count, 2);
    assert_int_equal(p.fires->due_s, T / 1000 + 4);
    assert_int_equal(p.new_next_ms, T + 6000);
    fire_destroy_list(p.fires);
}

/* A second that the schedule does not have was set by hand. It fires as it always did, and what comes next is not
 * planned twice. */
static void a_time_set_by_hand_keeps_its_meaning(void **state)
{
    struct job_due job = job_of("CRON", "0/10 * * * * ?", T + 7000);
    struct plan_moment m = at(T + 8000);
    struct plan p;

    m.newest_s = T / 1000 + 10;
    p = plan(state, &job, &m);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.fires->original_due_s, T / 1000 + 7);
    assert_int_equal(p.fires->due_s, T / 1000 + 9);
    assert_int_equal(p.new_next_ms, T + 20000);
    fire_destroy_list(p.fires);

    job = job_of("FIX_RATE", "10", T + 7000);
    p = plan(state, &job, &m);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.new_next_ms, T + 18000);
    fire_destroy_list(p.fires);

    /* Further back than a minute: the misfire rule, from the clock. */
    job = job_of("CRON", "0/10 * * * * ?", T - 60000);
    job.misfire = "FIRE_ONCE_NOW";
    p = plan(state, &job, &m);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.fires->kind, TRIGGER_MISFIRE);
    assert_int_equal(p.new_next_ms, T + 20000);
    fire_destroy_list(p.fires);
}

/* Nothing comes after what is planned: the job ends without a further fire. */
static void a_last_occurrence_is_not_repeated(void **state)
{
    struct job_due job = job_of("CRON", "0/2 0 0 1 1 ? 2026", T + 58000);
    struct plan_moment m = at(T + 55000);
    struct plan p;

    m.newest_s = T / 1000 + 58;
    p = plan(state, &job, &m);
    assert_true(p.stop);
    assert_null(p.fires);
}

/* Whatever falls back, and however often: each due second is planned once. */
static void random_fall_backs_double_nothing(void **state)
{
    unsigned seed = (unsigned)getpid();

    print_message("seed %u\n", seed);
    for (int round = 0; round < 300; round++) {
        int rate_s = 1 + rand_r(&seed) % 7;
        bool fixed = rand_r(&seed) % 2;
        char conf[40];
        struct job_due job;
        int64_t before_ms, planned_s = 0;
        struct plan_moment m = at(T);

        snprintf(conf, sizeof conf, fixed ? "%d" : "0/%d * * * * ?", rate_s);
        job = job_of(fixed ? "FIX_RATE" : "CRON", conf, T);
        before_ms = job.next_ms;
        m.planned_until_ms = T - 1000;
        for (int64_t now_ms = T; now_ms < T + 50000; now_ms += 1000) {
            struct plan p;

            if (rand_r(&seed) % 3 == 0)
                job.next_ms = before_ms;
            if (rand_r(&seed) % 4 == 0)
                before_ms = job.next_ms;
            m.now_ms = now_ms + rand_r(&seed) % 1000;
            m.window_end_ms = m.now_ms + PLAN_AHEAD_MS;
            m.earliest_s = m.now_ms / 1000 + 1;
            p = plan(state, &job, &m);
            for (struct fire *fire = p.fires; fire; fire = fire->next) {
                assert_true(fire->original_due_s > planned_s);
                planned_s = m.newest_s = fire->original_due_s;
            }
            fire_destroy_list(p.fires);
            m.planned_until_ms = m.window_end_ms;
            job.next_ms = p.new_next_ms;
            assert_true(job.next_ms > m.window_end_ms);
        }
    }
}

/* Whatever the moment: no due time is planned twice, none between the old and the new next time is left out, and
 * nothing is planned for a second that has passed. */
static void random_moments_lose_and_double_nothing(void **state)
{
    unsigned seed = (unsigned)getpid();

    print_message("seed %u\n", seed);
    for (int round = 0; round < 20000; round++) {
        int64_t rate_s = 1 + rand_r(&seed) % 7;
        int64_t late_ms = rand_r(&seed) % 70000 - 10000;
        char conf[20];
        struct job_due job;
        struct plan_moment m = at(T + rand_r(&seed) % 1000);
        struct plan p;
        int64_t expected_ms;

        snprintf(conf, sizeof conf, "%d", (int)rate_s);
        job = job_of("FIX_RATE", conf, (T - late_ms) / 1000 * 1000);
        m.planned_until_ms = T - 80000;
        m.earliest_s += rand_r(&seed) % 2;
        expected_ms = job.next_ms;
        p = plan(state, &job, &m);
        if (!p.misfired) {
            for (struct fire *fire = p.fires; fire; fire = fire->next) {
                assert_int_equal(fire->original_due_s * 1000, expected_ms);
                assert_true(fire->due_s >= m.earliest_s);
                assert_true(fire->due_s == fire->original_due_s || fire->due_s == m.earliest_s);
                expected_ms += rate_s * 1000;
            }
            assert_int_equal(p.new_next_ms, expected_ms);
            assert_true(p.new_next_ms > m.window_end_ms);
        }
        fire_destroy_list(p.fires);
    }
}

/* ---- the three branches and what they pass by -------------------------------------------------------------------- */

/* Every rule of the original for a due time, and what of it has no fire. Times in seconds beside the clock. */
static void each_branch_fires_skips_and_goes_on(void **state)
{
    static const struct {
        const char *type, *conf, *misfire;
        int64_t due_s;
        bool planned_before; /* the window of it was planned: the time was set by hand */
        size_t fires;
        int64_t next_s; /* INT64_MAX: the job is stopped */
        int64_t skipped, first_s, last_s;
    } cases[] = {
        /* In time, and caught up one by one. */
        {"CRON", "* * * * * ?", "DO_NOTHING", 1, false, 5, 6, 0, 0, 0},
        {"CRON", "* * * * * ?", "DO_NOTHING", -60, false, 66, 6, 0, 0, 0},
        {"FIX_RATE", "30", "FIRE_ONCE_NOW", -60, false, 3, 30, 0, 0, 0},
        /* Older than that: the misfire strategy; unknown and empty ones do nothing. */
        {"CRON", "0 * * * * ?", "DO_NOTHING", -600, false, 2, 60, 9, -600, -120},
        {"CRON", "0 * * * * ?", "", -600, false, 2, 60, 9, -600, -120},
        {"CRON", "0 * * * * ?", "fire_once_now", -600, false, 2, 60, 9, -600, -120},
        {"CRON", "0 * * * * ?", "FIRE_ONCE_NOW", -600, false, 3, 60, 8, -540, -120},
        {"FIX_RATE", "60", "DO_NOTHING", -610, false, 1, 50, 10, -610, -70},
        {"FIX_RATE", "60", "FIRE_ONCE_NOW", -610, false, 2, 50, 9, -550, -70},
        {"FIX_RATE", "1", "DO_NOTHING", -86400, false, 66, 6, 86340, -86400, -61},
        {"CRON", "* * * * * ?", "DO_NOTHING", -3600, false, 66, 6, 3540, -3600, -61},
        /* Set by hand: at once up to 5 s, then from the clock. */
        {"CRON", "0/2 * * * * ?", "DO_NOTHING", -4, true, 3, 6, 2, -2, 0},
        {"FIX_RATE", "60", "DO_NOTHING", -5, true, 1, 60, 0, 0, 0},
        {"CRON", "0 * * * * ?", "DO_NOTHING", -6, true, 0, 60, 2, -6, 0},
        {"CRON", "0 * * * * ?", "FIRE_ONCE_NOW", -6, true, 1, 60, 1, 0, 0},
        {"CRON", "0 * * * * ?", "DO_NOTHING", -360, true, 0, 60, 7, -360, 0},
        {"CRON", "0 * * * * ?", "FIRE_ONCE_NOW", -360, true, 1, 60, 6, -300, 0},
        {"FIX_RATE", "7", "FIRE_ONCE_NOW", -20, true, 1, 7, 2, -13, -6},
        /* No next time: one more run, or none where nothing is done; then the job is stopped. */
        {"CRON", "nonsense", "DO_NOTHING", 1, false, 1, INT64_MAX, 0, 0, 0},
        {"CRON", "nonsense", "DO_NOTHING", -2, true, 1, INT64_MAX, 0, 0, 0},
        {"CRON", "nonsense", "DO_NOTHING", -600, true, 0, INT64_MAX, 1, -600, -600},
        {"CRON", "nonsense", "FIRE_ONCE_NOW", -600, true, 1, INT64_MAX, 0, 0, 0},
        {"NONE", "", "DO_NOTHING", 1, false, 1, INT64_MAX, 0, 0, 0},
        {"NONE", "", "DO_NOTHING", -600, false, 0, INT64_MAX, 1, -600, -600},
        {"FIX_DELAY", "60", "DO_NOTHING", 1, false, 1, INT64_MAX, 0, 0, 0},
        {"FIX_RATE", "abc", "FIRE_ONCE_NOW", -600, true, 1, INT64_MAX, 0, 0, 0},
        {"FIX_RATE", "0", "DO_NOTHING", 1, false, 1, INT64_MAX, 0, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_due job = job_of(cases[i].type, cases[i].conf, T + cases[i].due_s * 1000);
        struct plan_moment m = at(T);
        struct plan p;
        int64_t next_ms = cases[i].next_s == INT64_MAX ? 0 : T + cases[i].next_s * 1000;

        job.misfire = cases[i].misfire;
        if (!cases[i].planned_before)
            m.planned_until_ms = job.next_ms - 1;
        planner_begin(((struct fixture *)*state)->planner);
        p = plan(state, &job, &m);
        if (p.count != cases[i].fires || p.new_next_ms != next_ms || p.stop != (cases[i].next_s == INT64_MAX) ||
            p.skipped.count != cases[i].skipped)
            fail_msg("case %zu: %zu fires, next %lld, %lld skipped", i, p.count, (long long)(p.new_next_ms - T) / 1000,
                     (long long)p.skipped.count);
        if (p.skipped.count > 0) {
            assert_int_equal(p.skipped.first_s, T / 1000 + cases[i].first_s);
            assert_int_equal(p.skipped.last_s, T / 1000 + cases[i].last_s);
            assert_int_equal(p.skipped.by_hand, cases[i].planned_before);
            assert_false(p.skipped.more);
        }
        fire_destroy_list(p.fires);
    }
}

/* Made running by whoever gave it no next time: nothing was due before. */
static void a_job_without_a_next_time_missed_nothing(void **state)
{
    static const struct {
        const char *type, *conf, *misfire;
        size_t fires;
        int64_t next_s;
    } cases[] = {
        {"CRON", "0 * * * * ?", "DO_NOTHING", 0, 60},
        {"CRON", "0 * * * * ?", "FIRE_ONCE_NOW", 1, 60},
        {"FIX_RATE", "7", "DO_NOTHING", 0, 7},
        {"FIX_RATE", "7", "FIRE_ONCE_NOW", 1, 7},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_due job = job_of(cases[i].type, cases[i].conf, 0);
        struct plan_moment m = at(T);
        struct plan p;

        job.misfire = cases[i].misfire;
        planner_begin(((struct fixture *)*state)->planner);
        p = plan(state, &job, &m);
        assert_int_equal(p.skipped.count, 0);
        assert_int_equal(p.count, cases[i].fires);
        assert_int_equal(p.new_next_ms, T + cases[i].next_s * 1000);
        fire_destroy_list(p.fires);
    }
}

/* Jobs that were due each second for a day: no round of planning spends long on counting. */
static void counting_is_given_up(void **state)
{
    int64_t counted = 0;

    planner_begin(((struct fixture *)*state)->planner);
    for (int i = 0; i < 10; i++) {
        struct job_due job = job_of("CRON", "* * * * * ?", T - 86400000);
        struct plan_moment m = at(T);
        struct plan p;

        m.planned_until_ms = job.next_ms - 1;
        p = plan(state, &job, &m);
        assert_true(p.skipped.more);
        assert_true(p.skipped.count >= 1);
        assert_int_equal(p.skipped.first_s, T / 1000 - 86400);
        counted += p.skipped.count;
        fire_destroy_list(p.fires);
    }
    assert_in_range(counted, 20000, 20010);
}

/* ---- settings of ours -------------------------------------------------------------------------------------------- */

static void due_times_outside_the_validity_have_no_fire(void **state)
{
    static const struct {
        int64_t from_s, until_s, due_s; /* beside T; 0: not set */
        size_t fires;
        int64_t next_s; /* INT64_MAX: the job is stopped */
    } cases[] = {
        {3, 0, 1, 3, 6},          {100, 0, 1, 0, 100},        {-100, 0, 1, 5, 6},
        {0, 3, 1, 2, 3 + 6},      {0, 1, 1, 0, 1 + 6},        {2, 4, 1, 2, 4 + 6},
        {0, -1, 1, 0, INT64_MAX}, {0, -3, -10, 7, INT64_MAX}, {0, -600, -3, 0, INT64_MAX},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_due job = job_of("CRON", "* * * * * ?", T + cases[i].due_s * 1000);
        struct plan_moment m = at(T);
        struct plan p;

        m.planned_until_ms = job.next_ms - 1;
        job.valid_from_s = cases[i].from_s ? T / 1000 + cases[i].from_s : 0;
        job.valid_until_s = cases[i].until_s ? T / 1000 + cases[i].until_s : 0;
        p = plan(state, &job, &m);
        if (p.count != cases[i].fires || p.stop != (cases[i].next_s == INT64_MAX) ||
            (!p.stop && p.new_next_ms != T + cases[i].next_s * 1000))
            fail_msg("case %zu: %zu fires, next %lld", i, p.count, (long long)(p.new_next_ms - T) / 1000);
        assert_int_equal(p.skipped.count, 0);
        for (struct fire *f = p.fires; f; f = f->next)
            assert_int_equal(f->flags, p.stop ? FIRE_LAST : 0);
        fire_destroy_list(p.fires);
    }
}

/* One fire; the next time lies a day behind it, for whoever sees the end to pull it forward. */
static void a_fixed_delay_waits_for_the_end_of_its_run(void **state)
{
    const int64_t bound = 60 + FIXED_DELAY_LIMIT_S;
    static const struct {
        const char *misfire;
        int64_t due_s, newest_s; /* newest 0: none known */
        bool planned_before;
        size_t fires;
        int64_t fire_s;  /* the second it goes out */
        int64_t ended_s; /* -1: next is the bound behind fire_s; else the delay behind this */
        int64_t skipped;
    } cases[] = {
        {"DO_NOTHING", 1, 0, false, 1, 1, -1, 0},
        {"DO_NOTHING", 5, 0, false, 1, 5, -1, 0},
        {"DO_NOTHING", -60, 0, false, 1, 1, -1, 0},
        {"DO_NOTHING", -30, 0, true, 1, 1, -1, 0}, /* pulled forward into a window that is planned */
        {"DO_NOTHING", -61, 0, false, 0, 0, 0, 1},
        {"DO_NOTHING", -61, 0, true, 0, 0, 0, 1},
        {"FIRE_ONCE_NOW", -61, 0, false, 1, 1, -1, 0},
        {"DO_NOTHING", 2, 2, false, 0, 2, -1, 0}, /* an edit wrote the old next time back */
        {"DO_NOTHING", 1, 2, false, 1, 1, -1, 0},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_due job = job_of("FIX_RATE", "60", T + cases[i].due_s * 1000);
        struct plan_moment m = at(T);
        struct plan p;

        job.fixed_delay_s = 60;
        job.misfire = cases[i].misfire;
        if (!cases[i].planned_before)
            m.planned_until_ms = job.next_ms - 1;
        if (cases[i].newest_s)
            m.newest_s = T / 1000 + cases[i].newest_s;
        p = plan(state, &job, &m);
        if (p.count != cases[i].fires || p.skipped.count != cases[i].skipped || p.stop ||
            p.new_next_ms != T + (cases[i].ended_s < 0 ? cases[i].fire_s + bound : cases[i].ended_s + 60) * 1000)
            fail_msg("case %zu: %zu fires, next %lld", i, p.count, (long long)(p.new_next_ms - T) / 1000);
        if (p.count)
            assert_int_equal(p.fires->due_s, T / 1000 + cases[i].fire_s);
        fire_destroy_list(p.fires);
    }
}

static void the_last_run_of_a_fixed_delay(void **state)
{
    struct job_due job = job_of("FIX_RATE", "60", T + 1000);
    struct plan_moment m = at(T);
    struct plan p;

    job.fixed_delay_s = 60;
    job.valid_until_s = T / 1000 + 62; /* the run may end at once */
    p = plan(state, &job, &m);
    assert_int_equal(p.new_next_ms, T + (61 + FIXED_DELAY_LIMIT_S) * 1000);
    fire_destroy_list(p.fires);
    job.valid_until_s = T / 1000 + 61;
    p = plan(state, &job, &m);
    assert_int_equal(p.count, 1);
    assert_int_equal(p.new_next_ms, T + (61 + 6) * 1000);
    fire_destroy_list(p.fires);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(in_time_each_occurrence_of_the_window, setup, teardown),
        cmocka_unit_test_setup_teardown(a_gap_is_caught_up_one_by_one, setup, teardown),
        cmocka_unit_test_setup_teardown(beyond_a_minute_the_misfire_rule_holds, setup, teardown),
        cmocka_unit_test_setup_teardown(a_year_late_is_cheap, setup, teardown),
        cmocka_unit_test_setup_teardown(set_late_by_hand, setup, teardown),
        cmocka_unit_test_setup_teardown(a_passed_second_is_not_planned_for, setup, teardown),
        cmocka_unit_test_setup_teardown(the_last_occurrence_fires_and_stops, setup, teardown),
        cmocka_unit_test_setup_teardown(the_seconds_before_the_last_occurrence_fire, setup, teardown),
        cmocka_unit_test_setup_teardown(broken_schedules_stop_their_job, setup, teardown),
        cmocka_unit_test_setup_teardown(a_broadcast_has_a_fire_for_each_address, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_planned_is_passed_by, setup, teardown),
        cmocka_unit_test_setup_teardown(behind_what_is_planned_the_window_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(a_time_set_by_hand_keeps_its_meaning, setup, teardown),
        cmocka_unit_test_setup_teardown(a_last_occurrence_is_not_repeated, setup, teardown),
        cmocka_unit_test_setup_teardown(random_fall_backs_double_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(random_moments_lose_and_double_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(each_branch_fires_skips_and_goes_on, setup, teardown),
        cmocka_unit_test_setup_teardown(a_job_without_a_next_time_missed_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(counting_is_given_up, setup, teardown),
        cmocka_unit_test_setup_teardown(due_times_outside_the_validity_have_no_fire, setup, teardown),
        cmocka_unit_test_setup_teardown(a_next_time_far_below_zero_is_one_at_zero, setup, teardown),
        cmocka_unit_test_setup_teardown(a_fixed_delay_waits_for_the_end_of_its_run, setup, teardown),
        cmocka_unit_test_setup_teardown(the_last_run_of_a_fixed_delay, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
