/* SPDX-License-Identifier: MIT */
/* Settings of ours: fixed delays while nodes fail, zones, validity; due times without a fire. */
#include "sim/jobs.h"

static int64_t add_delayed(struct sim *sim, int delay_s)
{
    int64_t job = sim_add_rate(sim, delay_s);

    sim_edit_job(sim, job)->fixed_delay_s = delay_s;
    return job;
}

/* Runs of the job begin so long after the end of the one before at least, and come again and again. */
static void check_delays(struct sim *sim, int64_t job, int64_t delay_s, int64_t at_least)
{
    const struct memory_db *db = sim_get_db(sim);
    const struct memory_log *before = NULL;
    int64_t runs = 0;

    for (size_t i = 0; i < db->log_count; i++) {
        const struct memory_log *row = &db->logs[i];

        if (row->fire.job_id != job || !row->exists)
            continue;
        runs++;
        /* What failed has ended, whatever its executor says later. */
        if (before && before->trigger_code == 200 && before->ended_s && row->fire.due_s < before->ended_s + delay_s)
            fail_msg("job %lld: due at %lld, though the run before ended at %lld (SHARDWHEEL_SIM_SEED=%llu)",
                     (long long)job, (long long)row->fire.due_s, (long long)before->ended_s,
                     (unsigned long long)sim_get_seed(sim));
        before = row;
    }
    if (runs < at_least)
        fail_msg("job %lld ran %lld times, not %lld (SHARDWHEEL_SIM_SEED=%llu)", (long long)job, (long long)runs,
                 (long long)at_least, (unsigned long long)sim_get_seed(sim));
}

static void a_fixed_delay_counts_from_the_end(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 1});
    int64_t jobs[3];
    static const int delay_s[] = {1, 5, 20};

    (void)state;
    for (int i = 0; i < 3; i++)
        jobs[i] = add_delayed(sim, delay_s[i]);
    sim_advance_ms(sim, 5 * MINUTE_MS);
    sim_check(sim);
    for (int i = 0; i < 3; i++)
        check_delays(sim, jobs[i], delay_s[i], 300 / (delay_s[i] + 10));
    sim_destroy(sim);
}

static void a_fixed_delay_goes_on_behind_a_takeover(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .seed = seed});
        int64_t jobs[12];

        for (int i = 0; i < 12; i++)
            jobs[i] = add_delayed(sim, 3 + i);
        for (int i = 0; i < 3; i++) {
            sim_advance_ms(sim, 20 * SECOND_MS + (int64_t)fibers_draw(10000));
            if (seed % 2)
                sim_kill(sim, i % 2);
            else
                sim_stop(sim, i % 2);
            sim_advance_ms(sim, 20 * SECOND_MS);
            sim_start(sim, i % 2);
        }
        sim_advance_ms(sim, 3 * MINUTE_MS);
        sim_check(sim);
        for (int i = 0; i < 12; i++)
            check_delays(sim, jobs[i], 3 + i, 10);
        sim_destroy(sim);
    }
}

/* A takeover finds a run that waits for an executor, or that has waited and is planned again. */
static void a_fixed_delay_goes_on_behind_a_fire_that_waited(void **state)
{
    (void)state;
    for (int back_ms = -1; back_ms <= 4000; back_ms += 500) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2});
        int64_t job = add_delayed(sim, 10), before;

        sim_edit_job(sim, job)->hold_s = 600;
        sim_advance_ms(sim, 30 * SECOND_MS);
        sim_empty_group(sim, true);
        sim_advance_ms(sim, 40 * SECOND_MS); /* it waits */
        before = sim_count_arrivals(sim, job);
        if (back_ms >= 0)
            sim_empty_group(sim, false);
        sim_advance_ms(sim, back_ms >= 0 ? back_ms : 0);
        for (int node = 0; node < 2; node++)
            sim_kill(sim, node);
        sim_advance_ms(sim, 20 * SECOND_MS);
        for (int node = 0; node < 2; node++)
            sim_start(sim, node);
        sim_advance_ms(sim, 20 * SECOND_MS);
        sim_empty_group(sim, false);
        sim_advance_ms(sim, 5 * MINUTE_MS);
        sim_check(sim);
        check_delays(sim, job, 10, 1);
        assert_true(sim_count_arrivals(sim, job) - before >= 10);
        sim_destroy(sim);
    }
}

/* Its node is killed while it waits, and there is an executor from then on: the longest time without a run is that
 * until the session ends (4 s), the time between two looks, and the delay. */
static void a_fire_that_waited_goes_on_soon(void **state)
{
    enum { DELAY_S = 5, JOBS = 8, SOON_MS = (4 + 5 + DELAY_S) * 1000 };

    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .seed = seed});
        const struct memory_db *db = sim_get_db(sim);
        int64_t last_ms[JOBS + 1];

        for (int i = 0; i < JOBS; i++)
            sim_edit_job(sim, add_delayed(sim, DELAY_S))->hold_s = 600;
        sim_advance_ms(sim, 20 * SECOND_MS);
        sim_empty_group(sim, true);
        sim_advance_ms(sim, 15 * SECOND_MS + (int64_t)fibers_draw(10000)); /* all wait */
        sim_kill(sim, 0);
        sim_empty_group(sim, false);
        for (int i = 0; i <= JOBS; i++)
            last_ms[i] = sim_now_ms(sim);
        sim_advance_ms(sim, 60 * SECOND_MS);
        sim_check(sim);
        for (size_t i = 0; i < db->log_count; i++) {
            int64_t *last = &last_ms[db->logs[i].fire.job_id];

            if (!db->logs[i].arrivals || db->logs[i].arrival_wall_ms < *last)
                continue;
            assert_in_range(db->logs[i].arrival_wall_ms - *last, 0, SOON_MS);
            *last = db->logs[i].arrival_wall_ms;
        }
        for (int i = 1; i <= JOBS; i++)
            assert_in_range(sim_now_ms(sim) - last_ms[i], 0, SOON_MS);
        sim_destroy(sim);
    }
}

/* The rows of one run are never found in time: those of other seconds go on. */
static void a_search_that_fails_holds_up_no_other_job(void **state)
{
    static const int delay_s[] = {7, 11, 13, 17};
    struct sim *sim = sim_create((struct sim_opts){.nodes = 1, .shards = 1});
    int64_t jobs[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        jobs[i] = add_delayed(sim, delay_s[i]);
    sim_advance_ms(sim, 40 * SECOND_MS);
    sim_get_db(sim)->unfindable_job = jobs[0];
    sim_kill(sim, 0);
    sim_advance_ms(sim, 20 * SECOND_MS);
    sim_start(sim, 0);
    sim_advance_ms(sim, 10 * MINUTE_MS);
    for (int i = 1; i < 4; i++)
        check_delays(sim, jobs[i], delay_s[i], 600 / (delay_s[i] + 10));
    sim_get_db(sim)->unfindable_job = 0;
    sim_advance_ms(sim, 5 * MINUTE_MS);
    check_delays(sim, jobs[0], delay_s[0], 300 / (delay_s[0] + 10));
    sim_check(sim);
    sim_destroy(sim);
}

static void a_fixed_delay_in_a_faulty_world(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .seed = seed});
        int64_t jobs[12];

        for (int i = 0; i < 12; i++)
            jobs[i] = add_delayed(sim, 1 + i);
        sim_set_executors(sim, EXECUTOR_MIXED);
        sim_get_db(sim)->fault_permille = 100;
        sim_advance_ms(sim, 3 * MINUTE_MS);
        sim_get_db(sim)->fault_permille = 0;
        sim_set_executors(sim, EXECUTOR_QUICK);
        sim_advance_ms(sim, 3 * MINUTE_MS);
        sim_check(sim);
        for (int i = 0; i < 12; i++)
            check_delays(sim, jobs[i], 1 + i, 8);
        sim_destroy(sim);
    }
}

static void zones_and_validity(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .wall = "2025-06-01T15:59:00Z"});
    int64_t shanghai = sim_add_cron(sim, "0 0 0 * * ?"), tokyo = sim_add_cron(sim, "0 0 1 * * ?"),
            utc = sim_add_cron(sim, "0 0 0 * * ?"), valid = sim_add_rate(sim, 1);
    int64_t midnight_ms = sim_now_ms(sim) / 60000 * 60000 + 60000;

    (void)state;
    sim_edit_job(sim, shanghai)->time_zone = "Asia/Shanghai";
    sim_edit_job(sim, tokyo)->time_zone = "Asia/Tokyo";
    sim_edit_job(sim, shanghai)->next_ms = sim_edit_job(sim, tokyo)->next_ms = midnight_ms;
    sim_edit_job(sim, valid)->valid_from_s = midnight_ms / 1000;
    sim_edit_job(sim, valid)->valid_until_s = midnight_ms / 1000 + 10;
    sim_advance_ms(sim, 30 * SECOND_MS);
    sim_kill(sim, 0);
    sim_advance_ms(sim, 2 * MINUTE_MS);
    assert_int_equal(sim_count_arrivals(sim, shanghai), 1);
    assert_int_equal(sim_count_arrivals(sim, tokyo), 1);
    assert_int_equal(sim_count_arrivals(sim, utc), 0);
    assert_int_equal(sim_count_arrivals(sim, valid), 10);
    assert_int_equal(sim_edit_job(sim, shanghai)->next_ms, midnight_ms + 24 * 60 * MINUTE_MS);
    assert_false(sim_edit_job(sim, valid)->running);
    sim_destroy(sim);
}

/* The fires of the last seconds are planned before the job is stopped, by this node and by one that takes over. */
static void a_cron_fires_to_the_end_of_its_years(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 8; seed++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .seed = seed, .wall = "2025-12-31T23:58:00Z"});
        int64_t each = sim_add_cron(sim, "* * * ? * * 2025"), some = sim_add_cron(sim, "0/2 59 23 31 12 ? 2025");

        sim_advance_ms(sim, 116 * SECOND_MS);
        if (seed % 2)
            sim_stop(sim, (int)(seed / 2 % 2));
        sim_advance_ms(sim, 2 * MINUTE_MS);
        assert_int_equal(sim_count_arrivals(sim, each), 120 - 6); /* the first one is 6 s behind the start */
        assert_int_equal(sim_count_arrivals(sim, some), 30);
        assert_false(sim_edit_job(sim, each)->running);
        sim_check(sim);
        sim_destroy(sim);
    }
}

/* Each due time has its fire, or is counted in a row: sim_check compares them in every claim. */
static void what_has_no_fire_is_counted(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});
    int64_t silent = sim_add_rate(sim, 1), once = sim_add_rate(sim, 1), cron = sim_add_cron(sim, "* * * * * ?");

    (void)state;
    sim_edit_job(sim, once)->misfire = "FIRE_ONCE_NOW";
    sim_advance_ms(sim, 30 * SECOND_MS);
    assert_int_equal(sim_count_skipped(sim), 0);
    sim_kill(sim, 0);
    sim_kill(sim, 1);
    sim_advance_ms(sim, 10 * MINUTE_MS);
    sim_start(sim, 0);
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    /* Nine of the ten minutes for each of the three, but for what was planned before and what fired once. */
    assert_in_range(sim_count_skipped(sim), 3 * 525, 3 * 545);
    /* One more, but for what the two shards had in flight at the kill. */
    assert_in_range(sim_count_arrivals(sim, once), sim_count_arrivals(sim, silent),
                    sim_count_arrivals(sim, silent) + 2);
    assert_in_range(sim_count_arrivals(sim, cron), sim_count_arrivals(sim, silent) - 2,
                    sim_count_arrivals(sim, silent) + 2);
    sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fixed_delay_counts_from_the_end),
        cmocka_unit_test(a_fixed_delay_goes_on_behind_a_takeover),
        cmocka_unit_test(a_fixed_delay_goes_on_behind_a_fire_that_waited),
        cmocka_unit_test(a_fire_that_waited_goes_on_soon),
        cmocka_unit_test(a_search_that_fails_holds_up_no_other_job),
        cmocka_unit_test(a_fixed_delay_in_a_faulty_world),
        cmocka_unit_test(zones_and_validity),
        cmocka_unit_test(a_cron_fires_to_the_end_of_its_years),
        cmocka_unit_test(what_has_no_fire_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
