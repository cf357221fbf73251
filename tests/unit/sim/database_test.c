/* SPDX-License-Identifier: MIT */
/* The database away, for all and for one; commits of unknown outcome; the guard against Java admins lost. */
#include "sim/jobs.h"

/* Everybody keeps what he has; what fell due goes out late, what is older than a minute when it is back is the misfire
 * rule's. */
static void away_for_all(void **state)
{
    static const int64_t away_ms[] = {500, 2000, 4000, 20000, 58000, 3 * MINUTE_MS, 10 * MINUTE_MS};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(away_ms); i++) {
        for (int nodes = 1; nodes <= 3; nodes += 2) {
            struct sim *sim = sim_create((struct sim_opts){.nodes = nodes, .seed = i + 1});

            add_jobs(sim, 30);
            sim_advance_ms(sim, 30 * SECOND_MS + (int64_t)fibers_draw(1000));
            sim_set_away(sim, true);
            sim_advance_ms(sim, away_ms[i]);
            sim_set_away(sim, false);
            sim_advance_ms(sim, 4 * MINUTE_MS);
            sim_check(sim);
            if (away_ms[i] < 40000)
                assert_int_equal(sim_count(sim, COUNTER_MISFIRES), 0);
            sim_destroy(sim);
        }
    }
}

/* Half an hour without database and locks: nobody is stuck, which the looker of each node says every second; so a
 * service manager restarts nothing, and all goes on by itself. */
static void half_an_hour_without_anything(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});

    (void)state;
    add_jobs(sim, 30);
    sim_advance_ms(sim, 30 * SECOND_MS);
    sim_set_away(sim, true);
    for (int node = 0; node < 2; node++)
        sim_cut_locks(sim, node, true);
    sim_advance_ms(sim, 30 * MINUTE_MS);
    sim_set_away(sim, false);
    for (int node = 0; node < 2; node++)
        sim_cut_locks(sim, node, false);
    sim_advance_ms(sim, 4 * MINUTE_MS);
    sim_check(sim);
    assert_true(sim_count_owned(sim, 0) + sim_count_owned(sim, 1) == sim_count_shards(sim));
    sim_destroy(sim);
}

/* Its shards go to those who can write. */
static void away_for_one_node(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 3});

    (void)state;
    add_jobs(sim, 30);
    for (int i = 0; i < 4; i++) {
        sim_advance_ms(sim, 20 * SECOND_MS + (int64_t)fibers_draw(1000));
        sim_cut_database(sim, i % 3, true);
        sim_advance_ms(sim, 25 * SECOND_MS);
        assert_int_equal(sim_count_owned(sim, i % 3), 0);
        sim_cut_database(sim, i % 3, false);
    }
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    assert_int_equal(sim_count(sim, COUNTER_MISFIRES), 0);
    sim_destroy(sim);
}

/* One write in twenty breaks, half of them without a word of what came of it. */
static void writes_break(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});

    (void)state;
    add_jobs(sim, 30);
    sim_get_db(sim)->fault_permille = 50;
    sim_advance_ms(sim, 10 * MINUTE_MS);
    sim_get_db(sim)->fault_permille = 0;
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    assert_true(sim_get_db(sim)->faults > 100);
    sim_destroy(sim);
}

/* A slow database: each statement takes up to a quarter of a second. */
static void slow_statements(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});

    (void)state;
    add_jobs(sim, 30);
    sim_get_db(sim)->latency_us = 250000;
    sim_advance_ms(sim, 5 * MINUTE_MS);
    sim_get_db(sim)->latency_us = 2000;
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    sim_destroy(sim);
}

/* Without a guard nothing is planned; what was committed in the moment in which it went is not sent. */
static void the_guard_goes_and_comes(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .guarded = true});

    (void)state;
    add_jobs(sim, 30);
    for (int i = 0; i < 60; i++) {
        sim_advance_ms(sim, 3 * SECOND_MS + (int64_t)fibers_draw(1000));
        sim_get_db(sim)->guard_serial++;
        sim_get_db(sim)->guarded = i % 3 > 0;
        sim_advance_ms(sim, (int64_t)fibers_draw(4000));
        sim_get_db(sim)->guarded = true;
    }
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    assert_int_equal(sim_count(sim, COUNTER_MISFIRES), 0);
    sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(away_for_all),
        cmocka_unit_test(away_for_one_node),
        cmocka_unit_test(writes_break),
        cmocka_unit_test(slow_statements),
        cmocka_unit_test(the_guard_goes_and_comes),
        cmocka_unit_test(half_an_hour_without_anything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
