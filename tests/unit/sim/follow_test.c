/* SPDX-License-Identifier: MIT */
/* What follows the end of a run: retries, children, and the next run of a fixed delay. */
#include "sim/jobs.h"

#define SEEDS 12

static struct sim *create(uint64_t seed, int nodes)
{
    return sim_create((struct sim_opts){.nodes = nodes, .seed = seed, .follows = true});
}

static int64_t count_rows(struct sim *sim, int64_t job)
{
    const struct memory_db *db = sim_get_db(sim);
    int64_t n = 0;

    for (size_t i = 0; i < db->log_count; i++)
        n += db->logs[i].exists && db->logs[i].fire.job_id == job;
    return n;
}

/* A fire that always fails is tried as often as its job says, and no more: at once, and waiting. */
static void a_chain_has_its_retries(void **state)
{
    struct sim *sim = create(1, 2);
    int64_t jobs[3];

    (void)state;
    for (int i = 0; i < 3; i++) {
        jobs[i] = sim_add_cron(sim, "20 0 0 1 6 ? 2025");
        sim_edit_job(sim, jobs[i])->retry_count = i + 1;
        sim_edit_job(sim, jobs[i])->retry_wait_s = i == 2 ? 5 : 0;
    }
    sim_set_failing(sim, 1000);
    sim_advance_ms(sim, 5 * MINUTE_MS);
    sim_check(sim);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(count_rows(sim, jobs[i]), i + 2);
        assert_int_equal(sim_count_arrivals(sim, jobs[i]), i + 2);
    }
    sim_destroy(sim);
}

/* Where nothing fails each good run has its children, whatever comes of callbacks that are told twice. */
static void children_follow_once(void **state)
{
    struct sim *sim = create(2, 3);
    int64_t parent = sim_add_rate(sim, 1), child = sim_add_rate(sim, 3600), grandchild = sim_add_rate(sim, 3600);

    (void)state;
    sim_stop_job(sim, child);
    sim_stop_job(sim, grandchild);
    sim_edit_job(sim, parent)->children = "2,3";
    sim_edit_job(sim, child)->children = "3";
    sim_advance_ms(sim, 2 * MINUTE_MS);
    sim_stop_job(sim, parent);
    sim_advance_ms(sim, MINUTE_MS);
    sim_check(sim);
    assert_in_range(sim_count_arrivals(sim, parent), 110, 120);
    assert_int_equal(sim_count_arrivals(sim, child), sim_count_arrivals(sim, parent));
    assert_int_equal(sim_count_arrivals(sim, grandchild), 2 * sim_count_arrivals(sim, parent));
    assert_int_equal(sim_count(sim, COUNTER_FIRES_UNKNOWN), 0);
    sim_destroy(sim);
}

/* Nodes die while what follows is on its way, and commits have outcomes that nobody is told. */
static void nodes_die_behind_the_ends(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *sim = create(seed, 2);

        add_jobs(sim, 12);
        for (int64_t job = 1; job <= 12; job++)
            sim_edit_job(sim, job)->retry_count = (int)(job % 4);
        sim_edit_job(sim, 1)->children = "10";
        sim_edit_job(sim, 10)->children = "9,8";
        sim_set_failing(sim, 300);
        sim_get_db(sim)->fault_permille = 30;
        for (int i = 0; i < 4; i++) {
            sim_advance_ms(sim, 15 * SECOND_MS + (int64_t)fibers_draw(10000));
            sim_kill(sim, i % 2);
            sim_advance_ms(sim, 10 * SECOND_MS);
            sim_start(sim, i % 2);
        }
        sim_get_db(sim)->fault_permille = 0;
        sim_set_failing(sim, 0);
        sim_advance_ms(sim, 4 * MINUTE_MS);
        sim_check(sim);
        assert_true(sim_count(sim, COUNTER_CHILDREN) > 100);
        sim_destroy(sim);
    }
}

/* The database was away so long that a due time was left to the misfire rule, which does nothing; the claim planned the
 * next run as well. Whoever takes the shard over then finds that run, and waits for its end. */
static void a_run_behind_a_misfire_is_found_by_the_next_owner(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *sim = create(seed, 2);
        int64_t job = sim_add_rate(sim, 1);

        sim_edit_job(sim, job)->fixed_delay_s = 1;
        for (int i = 0; i < 3; i++) {
            sim_advance_ms(sim, 20 * SECOND_MS);
            sim_set_away(sim, true);
            sim_advance_ms(sim, 80 * SECOND_MS);
            sim_set_away(sim, false);
            sim_set_lasting(sim, 10 * SECOND_MS);
            for (int k = 0; k < 8; k++) {
                sim_advance_ms(sim, (int64_t)fibers_draw(2000));
                sim_give_to(sim, (int)(job % 4), k % 2);
            }
        }
        sim_set_lasting(sim, 0);
        sim_advance_ms(sim, 2 * MINUTE_MS);
        sim_check(sim);
        sim_destroy(sim);
    }
}

/* A machine that stands still behind a commit, and a database that is away then: children that are too late to be sent
 * end as that, when it is back. */
static void children_that_are_too_late_end(void **state)
{
    int64_t late = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *sim = create(seed, 1);
        int64_t parent = sim_add_rate(sim, 1);

        sim_stop_job(sim, sim_add_rate(sim, 3600));
        sim_edit_job(sim, parent)->children = "2,2,2";
        sim_get_db(sim)->latency_us = 200000;
        for (int i = 0; i < 4; i++) {
            sim_advance_ms(sim, 10 * SECOND_MS + (int64_t)fibers_draw(1000));
            sim_suspend(sim, 0, 25 * SECOND_MS);
            sim_get_db(sim)->fault_permille = 900;
            sim_advance_ms(sim, 3 * SECOND_MS);
            sim_get_db(sim)->fault_permille = 0;
        }
        late += sim_count(sim, COUNTER_FIRES_TOO_LATE);
        sim_get_db(sim)->latency_us = 2000;
        sim_advance_ms(sim, 5 * MINUTE_MS);
        sim_check(sim);
        sim_destroy(sim);
    }
    assert_true(late > 0);
}

/* What a slow statement says happened while it was under way. */
static void a_fixed_delay_is_kept_on_a_slow_database(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *sim = create(seed, 1);
        int64_t job = sim_add_rate(sim, 2);

        sim_edit_job(sim, job)->fixed_delay_s = 2;
        sim_get_db(sim)->latency_us = 400000;
        sim_advance_ms(sim, 3 * MINUTE_MS);
        sim_get_db(sim)->latency_us = 2000;
        sim_advance_ms(sim, 2 * MINUTE_MS);
        sim_check(sim);
        sim_destroy(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_has_its_retries),
        cmocka_unit_test(children_follow_once),
        cmocka_unit_test(nodes_die_behind_the_ends),
        cmocka_unit_test(a_run_behind_a_misfire_is_found_by_the_next_owner),
        cmocka_unit_test(a_fixed_delay_is_kept_on_a_slow_database),
        cmocka_unit_test(children_that_are_too_late_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
