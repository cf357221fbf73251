/* SPDX-License-Identifier: MIT */
/* Jobs that are edited, stopped, moved by hand; the branches of the misfire rule; another number of shards. */
#include "sim/jobs.h"
#include "shardwheel/route.h"

/* ---- edits ------------------------------------------------------------------------------------------------------- */

static void a_stopped_job_is_silent_within_a_second(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .seed = (uint64_t)i + 1});
        int64_t job = sim_add_rate(sim, 1), before;

        sim_advance_ms(sim, 20 * SECOND_MS + (int64_t)fibers_draw(1000));
        sim_stop_job(sim, job);
        before = sim_count_arrivals(sim, job);
        sim_advance_ms(sim, 2 * MINUTE_MS);
        sim_check(sim);
        assert_in_range(sim_count_arrivals(sim, job), before, before + 2);
        assert_true(sim_count(sim, COUNTER_FIRES_CANCELLED) >= 2);
        sim_destroy(sim);
    }
}

static void schedules_are_changed_all_the_time(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 3});
    static const char *const conf[] = {"0/1 * * * * ?", "0/7 * * * * ?", "3/20 * * * * ?", "0 * * * * ?"};

    (void)state;
    add_jobs(sim, 20);
    for (int i = 0; i < 200; i++) {
        int64_t job = 1 + (int64_t)fibers_draw(20);

        sim_advance_ms(sim, (int64_t)fibers_draw(2000));
        if (fibers_chance(200))
            sim_stop_job(sim, job);
        else
            sim_change_cron(sim, job, conf[fibers_draw(ARRAY_LEN(conf))]);
    }
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    assert_int_equal(sim_get_db(sim)->unknown_ends, 0);
    sim_destroy(sim);
}

/* Another route between planning and sending: it goes where the job says at its second. */
static void routes_change_on_the_way(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 1});
    int64_t job = sim_add_rate(sim, 1);

    (void)state;
    for (int i = 0; i < 80; i++) {
        sim_advance_ms(sim, (int64_t)fibers_draw(3000));
        size_t drawn = fibers_draw(route_count() + 1);

        sim_edit_job(sim, job)->route = drawn < route_count() ? route_name(drawn) : "NO_SUCH";
        sim_edit_job(sim, job)->handler = fibers_chance(500) ? "demo" : "other";
    }
    sim_advance_ms(sim, 2 * MINUTE_MS);
    sim_check(sim);
    sim_destroy(sim);
}

/* ---- the misfire rule -------------------------------------------------------------------------------------------- */

static int64_t fire_by_hand(struct sim *sim, int64_t ago_ms, const char *misfire)
{
    int64_t job = sim_add_cron(sim, "0 0 0 1 1 ?"), n;

    sim_edit_job(sim, job)->misfire = misfire;
    sim_advance_ms(sim, 10 * SECOND_MS);
    sim_set_next_ms(sim, job, sim_now_ms(sim) - ago_ms);
    sim_advance_ms(sim, 10 * SECOND_MS);
    n = sim_count_arrivals(sim, job);
    assert_true(sim_edit_job(sim, job)->next_ms > sim_now_ms(sim));
    return n;
}

/* Set into the past by hand: at once when it is no more than 5 s, else what the strategy says. */
static void a_next_time_in_the_past(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 1});

    (void)state;
    sim_advance_ms(sim, 10 * SECOND_MS);
    assert_int_equal(fire_by_hand(sim, 2000, "DO_NOTHING"), 1);
    assert_int_equal(fire_by_hand(sim, 30000, "DO_NOTHING"), 0);
    assert_int_equal(fire_by_hand(sim, 30000, "FIRE_ONCE_NOW"), 1);
    assert_int_equal(fire_by_hand(sim, 60 * MINUTE_MS, "FIRE_ONCE_NOW"), 1);
    sim_advance_ms(sim, 2 * MINUTE_MS);
    sim_check(sim);
    sim_destroy(sim);
}

/* Nobody there for ten minutes: a minute is caught up, the rest is one fire or none. */
static void a_long_absence(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 1});
    int64_t silent = sim_add_rate(sim, 10), once = sim_add_rate(sim, 10), before;

    (void)state;
    sim_edit_job(sim, once)->misfire = "FIRE_ONCE_NOW";
    sim_advance_ms(sim, 60 * SECOND_MS);
    sim_kill(sim, 0);
    before = sim_count_arrivals(sim, silent);
    sim_advance_ms(sim, 10 * MINUTE_MS);
    sim_start(sim, 0);
    sim_advance_ms(sim, 60 * SECOND_MS);
    /* Seven of the last minute, six of this one, the last few planned before the kill. */
    assert_in_range(sim_count_arrivals(sim, silent) - before, 10, 16);
    assert_int_equal(sim_count_arrivals(sim, once), sim_count_arrivals(sim, silent) + 1);
    assert_int_equal(sim_count(sim, COUNTER_MISFIRES), 2);
    sim_advance_ms(sim, 2 * MINUTE_MS);
    sim_check(sim);
    sim_destroy(sim);
}

static void a_schedule_that_ends(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 1});
    int64_t job = sim_add_cron(sim, "20 0 0 1 6 ? 2025"), broken = sim_add_rate(sim, 10);

    (void)state;
    sim_edit_job(sim, broken)->conf = "0";
    sim_advance_ms(sim, 2 * MINUTE_MS);
    assert_int_equal(sim_count_arrivals(sim, job), 1);
    assert_false(sim_edit_job(sim, job)->running);
    assert_false(sim_edit_job(sim, broken)->running);
    assert_int_equal(sim_count(sim, COUNTER_JOBS_STOPPED), 2);
    sim_check(sim);
    sim_destroy(sim);
}

/* ---- another number of shards ------------------------------------------------------------------------------------ */

static void the_number_of_shards_changes(void **state)
{
    static const int numbers[] = {7, 2, 1, 16, 4};
    struct sim *sim = sim_create((struct sim_opts){.nodes = 3});

    (void)state;
    add_jobs(sim, 40);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        sim_advance_ms(sim, 20 * SECOND_MS + (int64_t)fibers_draw(1000));
        sim_reshard(sim, numbers[i]);
        sim_advance_ms(sim, 20 * SECOND_MS);
        assert_int_equal(sim_count_shards(sim), numbers[i]);
    }
    sim_advance_ms(sim, 2 * MINUTE_MS);
    sim_check(sim);
    assert_int_equal(sim_get_db(sim)->unknown_ends, 0);
    assert_int_equal(sim_count(sim, COUNTER_MISFIRES), 0);
    sim_destroy(sim);
}

static void the_number_changes_while_nodes_fail(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 3, .seed = seed});

        add_jobs(sim, 30);
        for (int i = 0; i < 4; i++) {
            sim_advance_ms(sim, 20 * SECOND_MS);
            sim_reshard(sim, 2 + (int)fibers_draw(8));
            sim_advance_ms(sim, (int64_t)fibers_draw(9000));
            if (i % 2)
                sim_kill(sim, i % 3);
            else
                sim_pause(sim, i % 3);
            sim_advance_ms(sim, 30 * SECOND_MS);
            if (i % 2)
                sim_start(sim, i % 3);
            else
                sim_wake(sim, i % 3);
        }
        sim_advance_ms(sim, 3 * MINUTE_MS);
        sim_check(sim);
        sim_destroy(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stopped_job_is_silent_within_a_second),
        cmocka_unit_test(schedules_are_changed_all_the_time),
        cmocka_unit_test(routes_change_on_the_way),
        cmocka_unit_test(a_next_time_in_the_past),
        cmocka_unit_test(a_long_absence),
        cmocka_unit_test(a_schedule_that_ends),
        cmocka_unit_test(the_number_of_shards_changes),
        cmocka_unit_test(the_number_changes_while_nodes_fail),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
