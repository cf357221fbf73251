/* SPDX-License-Identifier: MIT */
/* Clocks that are set, and zones that change their offset. */
#include "sim/jobs.h"

/* The example of the guide. */
static void clock_set_back_plans_no_minute_twice(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .wall = "2025-11-02T01:58:00Z"});
    int64_t job = sim_add_cron(sim, "0 * * * * ?");

    (void)state;
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_set_wall(sim, "2025-11-02T01:59:00Z");
    sim_advance_ms(sim, 3 * MINUTE_MS);
    assert_int_equal(sim_max_fires_per_minute(sim, job), 1);
    sim_check(sim);
    sim_destroy(sim);
}

/* A little and far, on one node and on all, and with a takeover right after: nothing twice, and all of it later. */
static void clocks_set_back(void **state)
{
    static const int64_t by_ms[] = {20, 300, 900, 3000, 2000, 40000, 15 * MINUTE_MS, 90000, 5000};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(by_ms); i++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .seed = i + 1});
        int64_t back_ms = by_ms[i];

        add_jobs(sim, 20);
        sim_advance_ms(sim, 30 * SECOND_MS + (int64_t)fibers_draw(1000));
        sim_shift_wall_ms(sim, 0, -back_ms);
        if (i % 3 > 0)
            sim_shift_wall_ms(sim, 1, -back_ms);
        sim_advance_ms(sim, 3 * SECOND_MS);
        if (i % 3 == 2)
            sim_kill(sim, 0);
        sim_advance_ms(sim, back_ms + 3 * MINUTE_MS);
        sim_check(sim);
        sim_destroy(sim);
    }
}

/* Up to a minute everything is caught up one by one; beyond, the misfire rule has the older ones. */
static void clocks_set_forward(void **state)
{
    static const int64_t by_ms[] = {20,    400,   3000,           40000,          45000,
                                    90000, 61000, 15 * MINUTE_MS, 20 * MINUTE_MS, 24 * 60 * MINUTE_MS};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(by_ms); i++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .seed = i + 1});
        int64_t forward_ms = by_ms[i];

        add_jobs(sim, 20);
        sim_advance_ms(sim, 30 * SECOND_MS + (int64_t)fibers_draw(1000));
        sim_shift_wall_ms(sim, 0, forward_ms);
        sim_shift_wall_ms(sim, 1, forward_ms);
        sim_advance_ms(sim, 3 * SECOND_MS);
        if (i % 3 == 2)
            sim_kill(sim, 0);
        sim_advance_ms(sim, 3 * MINUTE_MS);
        sim_check(sim);
        if (forward_ms < 50000)
            assert_int_equal(sim_count(sim, COUNTER_MISFIRES), 0);
        sim_destroy(sim);
    }
}

/* Nodes whose clocks differ take shards from each other: a cursor never falls. */
static void nodes_whose_clocks_differ(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 3});

    (void)state;
    sim_shift_wall_ms(sim, 1, 4000);
    sim_shift_wall_ms(sim, 2, -2500);
    add_jobs(sim, 30);
    for (int i = 0; i < 20; i++) {
        sim_advance_ms(sim, 5 * SECOND_MS + (int64_t)fibers_draw(3000));
        sim_give_to(sim, (int)fibers_draw(4), (int)fibers_draw(3));
    }
    sim_kill(sim, 1);
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    sim_destroy(sim);
}

/* A skipped local time fires at most once, a repeated one once: 2025-03-30 and 2025-10-26 in Berlin. */
static void a_night_with_another_offset(void **state)
{
    static const char *const nights[] = {"2025-03-29T23:50:00Z", "2025-10-25T23:50:00Z"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(nights); i++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 1, .wall = nights[i], .zone = "Europe/Berlin"});
        int64_t minutely = sim_add_cron(sim, "0 * * * * ?"), nightly = sim_add_cron(sim, "0 30 2 * * ?");

        sim_advance_ms(sim, 110 * MINUTE_MS);
        sim_check(sim);
        assert_int_equal(sim_max_fires_per_minute(sim, minutely), 1);
        assert_in_range(sim_count_arrivals(sim, nightly), i == 0 ? 0 : 1, 1);
        assert_int_equal(sim_count(sim, COUNTER_MISFIRES), 0);
        sim_destroy(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_set_back_plans_no_minute_twice),
        cmocka_unit_test(clocks_set_back),
        cmocka_unit_test(clocks_set_forward),
        cmocka_unit_test(nodes_whose_clocks_differ),
        cmocka_unit_test(a_night_with_another_offset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
