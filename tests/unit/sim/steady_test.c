/* SPDX-License-Identifier: MIT */
/* A cluster on which nothing fails: every due time arrives, once, in its second. */
#include "sim/jobs.h"

/* An hour of many periods: every due time arrives, once and in its second. */
static void run_an_hour(int nodes)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = nodes, .shards = 4});
    int64_t every_second = add_jobs(sim, 60), hourly;

    hourly = sim_add_cron(sim, "0 30 * * * ?");
    sim_advance_ms(sim, 60 * MINUTE_MS);
    sim_check(sim);
    assert_in_range(sim_count_arrivals(sim, every_second), 3590, 3600);
    assert_int_equal(sim_count_arrivals(sim, hourly), 1);
    assert_in_range(sim_max_lateness_ms(sim), 0, 200);
    assert_int_equal(sim_count(sim, COUNTER_FIRES_UNKNOWN), 0);
    assert_int_equal(sim_count(sim, COUNTER_MISFIRES), 0);
    assert_int_equal(sim_count(sim, COUNTER_FIRES_FENCED), 0);
    assert_true(sim_count(sim, COUNTER_RESULTS_PAIRED) > 10000);
    sim_destroy(sim);
}

static void an_hour_on_one_node(void **state)
{
    (void)state;
    run_an_hour(1);
}

static void an_hour_on_three_nodes(void **state)
{
    (void)state;
    run_an_hour(3);
}

static void a_broadcast_goes_to_each_address(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});
    int64_t job = sim_add_cron(sim, "0/10 * * * * ?");

    (void)state;
    sim_edit_job(sim, job)->route = "SHARDING_BROADCAST";
    sim_advance_ms(sim, 5 * MINUTE_MS + 5 * SECOND_MS); /* between two due times */
    sim_check(sim);
    assert_in_range(sim_count_arrivals(sim, job), 29 * SIM_EXECUTORS, 30 * SIM_EXECUTORS);
    assert_int_equal(sim_count_arrivals(sim, job) % SIM_EXECUTORS, 0);
    sim_destroy(sim);
}

/* Executors that register between its planning and its second get it: the first of them, as 0 of 1. */
static void a_broadcast_planned_for_nobody_goes_to_who_is_there(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 1});
    int64_t job = sim_add_rate(sim, 20);
    struct memory_db *db = sim_get_db(sim);

    (void)state;
    sim_edit_job(sim, job)->route = "SHARDING_BROADCAST";
    sim_empty_group(sim, true);
    while (db->log_count == 0)
        sim_advance_ms(sim, 100);
    sim_empty_group(sim, false);
    sim_advance_ms(sim, 10 * SECOND_MS);
    assert_int_equal(sim_count_arrivals(sim, job), 1);
    assert_int_equal(db->logs[0].trigger_code, 200);
    assert_int_equal(db->logs[0].fire.shard_total, 1);
    sim_check(sim);
    sim_destroy(sim);
}

/* Whatever executors do, each fire has an end, and the ring goes on. */
static void executors_of_every_kind(void **state)
{
    (void)state;
    for (enum sim_executor how = EXECUTOR_QUICK; how <= EXECUTOR_MIXED; how++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 1});
        int64_t job = add_jobs(sim, 20);

        sim_set_executors(sim, how);
        sim_advance_ms(sim, 5 * MINUTE_MS);
        sim_check(sim);
        if (how == EXECUTOR_GONE)
            assert_int_equal(sim_count_arrivals(sim, job), 0);
        else
            assert_in_range(sim_count_arrivals(sim, job), 100, 300);
        sim_destroy(sim);
    }
}

/* One seed, one run. */
static void equal_seeds_give_equal_runs(void **state)
{
    int64_t logs[2], late_ms[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 3, .seed = 7});

        add_jobs(sim, 40);
        sim_get_db(sim)->fault_permille = 5;
        sim_set_executors(sim, EXECUTOR_MIXED);
        fibers_disturb(10, 30000);
        sim_advance_ms(sim, 3 * MINUTE_MS);
        logs[i] = (int64_t)sim_get_db(sim)->log_count;
        late_ms[i] = sim_max_lateness_ms(sim);
        sim_destroy(sim);
    }
    assert_int_equal(logs[0], logs[1]);
    assert_int_equal(late_ms[0], late_ms[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_hour_on_one_node),
        cmocka_unit_test(an_hour_on_three_nodes),
        cmocka_unit_test(a_broadcast_goes_to_each_address),
        cmocka_unit_test(a_broadcast_planned_for_nobody_goes_to_who_is_there),
        cmocka_unit_test(executors_of_every_kind),
        cmocka_unit_test(equal_seeds_give_equal_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
