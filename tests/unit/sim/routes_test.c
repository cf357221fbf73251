/* SPDX-License-Identifier: MIT */
/* Routes that ask executors before they send: in time, and still once. */
#include "sim/jobs.h"

static int64_t add_asking_job(struct sim *sim, const char *route)
{
    int64_t job = sim_add_rate(sim, 1);

    sim_edit_job(sim, job)->route = route;
    return job;
}

/* The first is silent and the second gone: each fire goes to the third, later by no more than the time of a call. */
static void the_first_that_answers_gets_the_fires(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});
    int64_t alive = add_asking_job(sim, "FAILOVER"), idle = add_asking_job(sim, "BUSYOVER");

    (void)state;
    sim_set_executor(sim, 0, EXECUTOR_SILENT);
    sim_set_executor(sim, 1, EXECUTOR_GONE);
    sim_advance_ms(sim, MINUTE_MS);
    assert_in_range(sim_count_arrivals(sim, alive), 45, 60);
    assert_in_range(sim_count_arrivals(sim, idle), 45, 60);
    assert_in_range(sim_max_lateness_ms(sim), 1000, 3500);
    sim_set_executors(sim, EXECUTOR_QUICK);
    sim_advance_ms(sim, 2 * MINUTE_MS);
    sim_check(sim);
    assert_int_equal(sim_get_db(sim)->unknown_ends, 0);
    sim_destroy(sim);
}

/* Nobody answers: each fire has its row within the time that asking may take, and fires of other jobs are no later. */
static void with_nobody_there_each_fire_has_an_end(void **state)
{
    static const enum sim_executor how[] = {EXECUTOR_SILENT, EXECUTOR_GONE, EXECUTOR_REFUSES};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(how); i++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .seed = i + 1});
        int64_t job = add_asking_job(sim, i % 2 ? "FAILOVER" : "BUSYOVER");

        sim_set_executors(sim, how[i]);
        sim_advance_ms(sim, 70 * SECOND_MS);
        assert_int_equal(sim_count_arrivals(sim, job), 0);
        assert_true(sim_count(sim, COUNTER_FIRES_FAILED) >= 70 - 8 - 10); /* 8 s of asking, the start */
        sim_advance_ms(sim, 2 * MINUTE_MS);
        sim_check(sim);
        sim_destroy(sim);
    }
}

/* A fire whose node dies while it asks is as any other that was not sent. */
static void nodes_die_while_they_ask(void **state)
{
    int64_t unknown = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= 15; seed++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 3, .seed = seed, .resend = seed % 3 == 0});

        for (int i = 0; i < 6; i++)
            add_asking_job(sim, i % 2 ? "FAILOVER" : "BUSYOVER");
        sim_set_executors(sim, EXECUTOR_MIXED);
        for (int i = 0; i < 3; i++) {
            sim_advance_ms(sim, 20 * SECOND_MS + (int64_t)fibers_draw(5000));
            if (i == 1)
                sim_stop(sim, i);
            else
                sim_kill(sim, i);
            sim_advance_ms(sim, (int64_t)fibers_draw(15000));
            sim_start(sim, i);
        }
        sim_set_executors(sim, EXECUTOR_QUICK);
        sim_advance_ms(sim, 4 * MINUTE_MS);
        sim_check(sim);
        unknown += sim_get_db(sim)->unknown_ends;
        sim_destroy(sim);
    }
    assert_true(unknown > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_answers_gets_the_fires),
        cmocka_unit_test(with_nobody_there_each_fire_has_an_end),
        cmocka_unit_test(nodes_die_while_they_ask),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
