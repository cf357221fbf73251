/* SPDX-License-Identifier: MIT */
/* Later rows: in time, once, with what they have of their own, whoever dies; and fires that wait for an executor. */
#include "sim/jobs.h"

#include <inttypes.h>

#define SEEDS 25

/* A job that never fires by itself. */
static int64_t add_stopped(struct sim *sim)
{
    int64_t job = sim_add_rate(sim, 3600);

    sim_stop_job(sim, job);
    return job;
}

/* All rows of the log of that job have the code. */
static void check_codes(struct sim *sim, int64_t job, int code, size_t count)
{
    struct memory_db *db = sim_get_db(sim);
    size_t n = 0;

    for (size_t i = 0; i < db->log_count; i++) {
        if (db->logs[i].fire.job_id != job || !db->logs[i].exists)
            continue;
        assert_int_equal(db->logs[i].trigger_code, code);
        n++;
    }
    assert_int_equal(n, count);
}

static void a_later_row_fires_in_its_second(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});
    int64_t job = add_stopped(sim);
    struct memory_db *db = sim_get_db(sim);

    (void)state;
    add_jobs(sim, 20);
    sim_advance_ms(sim, 20 * SECOND_MS);
    for (int64_t in_s = 2; in_s < 30; in_s++)
        (void)sim_add_later(sim, job, in_s);
    sim_advance_ms(sim, 60 * SECOND_MS);
    sim_check(sim);
    assert_int_equal(sim_count_arrivals(sim, job), 28);
    for (size_t i = 0; i < db->log_count; i++)
        if (db->logs[i].fire.job_id == job)
            assert_in_range(db->logs[i].arrival_wall_ms - db->logs[i].fire.original_due_s * 1000, 0, 500);
    for (size_t i = 0; i < db->later_count; i++)
        assert_false(db->later[i].exists); /* their runs have ended */
    sim_destroy(sim);
}

static void what_is_due_now_fires_within_two_seconds(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});
    int64_t job = add_stopped(sim);
    struct memory_db *db = sim_get_db(sim);

    (void)state;
    sim_advance_ms(sim, 20 * SECOND_MS);
    for (int i = 0; i < 40; i++) {
        int64_t now_ms = sim_now_ms(sim);

        (void)sim_add_later(sim, job, i % 2 ? 0 : -600); /* one that nobody looked at for ten minutes is no other */
        sim_advance_ms(sim, 4 * SECOND_MS + 137);
        assert_int_equal(sim_count_arrivals(sim, job), i + 1);
        assert_in_range(db->logs[db->log_count - 1].arrival_wall_ms - now_ms, 0, 2300);
    }
    sim_check(sim);
    sim_destroy(sim);
}

static void a_broadcast_goes_to_each_address(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});
    int64_t job = add_stopped(sim);

    (void)state;
    sim_edit_job(sim, job)->route = "SHARDING_BROADCAST";
    sim_advance_ms(sim, 20 * SECOND_MS);
    (void)sim_add_later(sim, job, 3);
    sim_advance_ms(sim, 60 * SECOND_MS);
    sim_check(sim);
    check_codes(sim, job, 200, SIM_EXECUTORS);
    sim_destroy(sim);
}

/* What is remembered of a job's own schedule is not moved by its later rows. */
static void the_schedule_goes_on_beside_them(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});
    int64_t job = sim_add_rate(sim, 2);

    (void)state;
    sim_advance_ms(sim, 20 * SECOND_MS);
    for (int i = 0; i < 10; i++) {
        for (int64_t in_s = 0; in_s < 5; in_s++)
            (void)sim_add_later(sim, job, in_s);
        sim_advance_ms(sim, 3 * SECOND_MS);
        sim_give_to(sim, (int)(job % 4), i % 2);
        sim_advance_ms(sim, 4 * SECOND_MS);
    }
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    sim_destroy(sim);
}

static void one_of_a_job_that_is_gone_is_dropped(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 1});
    int64_t job = add_stopped(sim), id;

    (void)state;
    id = sim_add_later(sim, job, 30);
    sim_edit_job(sim, job)->exists = false;
    sim_advance_ms(sim, 60 * SECOND_MS);
    assert_null(memory_db_find_later(sim_get_db(sim), id));
    assert_int_equal(sim_count_arrivals(sim, job), 0);
    sim_check(sim);
    sim_destroy(sim);
}

/* Somebody holds a row, or the database refuses it: the others of its shard go out in time, and it is not tried each
 * second. */
static void one_row_in_trouble_holds_up_no_other(void **state)
{
    (void)state;
    for (int trouble = LATER_PASSED_BY; trouble <= LATER_REFUSED; trouble++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 1});
        int64_t job = add_stopped(sim), bad;
        struct memory_db *db = sim_get_db(sim);

        sim_advance_ms(sim, 20 * SECOND_MS);
        bad = sim_add_later(sim, job, 3);
        memory_db_find_later(db, bad)->trouble = trouble;
        for (int i = 0; i < 100; i++) {
            (void)sim_add_later(sim, job, 4);
            if (i % 20 == 0)
                sim_advance_ms(sim, SECOND_MS);
        }
        sim_advance_ms(sim, 55 * SECOND_MS);
        assert_int_equal(sim_count_arrivals(sim, job), 100);
        for (size_t i = 0; i < db->log_count; i++)
            assert_in_range(db->logs[i].arrival_wall_ms - db->logs[i].fire.original_due_s * 1000, 0, 500);
        assert_in_range(db->later_troubles, 0, 12);
        memory_db_find_later(db, bad)->trouble = LATER_FREE;
        sim_advance_ms(sim, 70 * SECOND_MS);
        assert_int_equal(sim_count_arrivals(sim, job), 101);
        sim_check(sim);
        sim_destroy(sim);
    }
}

/* Everything that shards go through at once. */
static void they_survive(struct sim *sim, int64_t job)
{
    for (int i = 0; i < 12; i++) {
        int node = i % 2;

        for (int64_t n = 0; n < 20; n++)
            (void)sim_add_later(sim, job + n % 3, n - 4);
        sim_advance_ms(sim, 1000 + (int64_t)fibers_draw(9000));
        switch (fibers_draw(4)) {
        case 0:
            if (sim_is_running(sim, node))
                sim_kill(sim, node);
            sim_advance_ms(sim, (int64_t)fibers_draw(15000));
            sim_start(sim, node);
            break;
        case 1: sim_give_to(sim, (int)fibers_draw(4), node); break;
        case 2: sim_reshard(sim, 1 + (int)fibers_draw(8)); break;
        default:
            sim_pause(sim, node);
            sim_advance_ms(sim, (int64_t)fibers_draw(60000));
            sim_wake(sim, node);
            break;
        }
    }
}

static void none_is_lost_or_doubled(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .seed = seed});
        int64_t job = add_stopped(sim);

        (void)add_stopped(sim);
        (void)add_stopped(sim);
        add_jobs(sim, 10);
        sim_get_db(sim)->fault_permille = 30;
        they_survive(sim, job);
        sim_get_db(sim)->fault_permille = 0;
        sim_advance_ms(sim, 4 * MINUTE_MS);
        sim_check(sim);
        for (size_t i = 0; i < sim_get_db(sim)->later_count; i++)
            assert_false(sim_get_db(sim)->later[i].exists);
        sim_destroy(sim);
    }
}

/* ---- waiting for an executor ------------------------------------------------------------------------------------- */

static void a_fire_waits_for_an_executor(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});
    int64_t job = sim_add_rate(sim, 10);

    (void)state;
    sim_edit_job(sim, job)->hold_s = 120;
    sim_set_executors(sim, EXECUTOR_GONE);
    sim_advance_ms(sim, 60 * SECOND_MS);
    assert_int_equal(sim_count_arrivals(sim, job), 0);
    sim_set_executors(sim, EXECUTOR_QUICK);
    sim_advance_ms(sim, 9 * SECOND_MS);
    sim_stop_job(sim, job);
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    assert_in_range(sim_count_arrivals(sim, job), 6, 8); /* each due time once, with the row that it had */
    check_codes(sim, job, 200, (size_t)sim_count_arrivals(sim, job));
    sim_destroy(sim);
}

static void it_fails_when_its_time_is_over(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});
    int64_t job = sim_add_rate(sim, 10);

    (void)state;
    sim_edit_job(sim, job)->hold_s = 23;
    sim_set_executors(sim, EXECUTOR_GONE);
    sim_advance_ms(sim, 60 * SECOND_MS);
    sim_stop_job(sim, job);
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    check_codes(sim, job, 500, 6);
    sim_destroy(sim);
}

/* Its group is empty for long: nothing is written of it but a mark in the table every few seconds. */
static void many_wait_without_being_written_each_second(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});
    int64_t job = sim_add_rate(sim, 1);
    struct memory_db *db = sim_get_db(sim);
    int waits = 0, before = 0;
    size_t held = 0;

    (void)state;
    sim_edit_job(sim, job)->hold_s = 1200;
    sim_empty_group(sim, true);
    sim_advance_ms(sim, 60 * SECOND_MS);
    sim_edit_job(sim, job)->next_ms += 3600 * SECOND_MS;
    sim_advance_ms(sim, 20 * SECOND_MS);
    for (size_t i = 0; i < db->later_count; i++)
        before += db->later[i].waits;
    sim_advance_ms(sim, 100 * SECOND_MS);
    for (size_t i = 0; i < db->later_count; i++) {
        waits += db->later[i].waits;
        held += db->later[i].exists && !db->later[i].row.planned;
    }
    assert_in_range(held, 50, 62);
    assert_in_range((waits - before) / (int)held, 12, 20);
    sim_empty_group(sim, false);
    sim_advance_ms(sim, 10 * SECOND_MS);
    assert_int_equal(sim_count_arrivals(sim, job), held);
    sim_check(sim);
    sim_destroy(sim);
}

static void what_waits_of_a_stopped_jobs_schedule_ends(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});
    int64_t job = sim_add_rate(sim, 10), asked;
    struct memory_db *db = sim_get_db(sim);

    (void)state;
    sim_edit_job(sim, job)->hold_s = 1200;
    sim_empty_group(sim, true);
    sim_advance_ms(sim, 30 * SECOND_MS);
    sim_stop_job(sim, job);
    asked = add_stopped(sim); /* this one was asked for */
    sim_edit_job(sim, asked)->hold_s = 1200;
    (void)sim_add_later(sim, asked, 0);
    sim_advance_ms(sim, 30 * SECOND_MS);
    sim_empty_group(sim, false);
    sim_advance_ms(sim, 60 * SECOND_MS);
    assert_int_equal(sim_count_arrivals(sim, job), 0);
    check_codes(sim, job, 500, 3);
    check_codes(sim, asked, 200, 1);
    for (size_t i = 0; i < db->later_count; i++)
        assert_false(db->later[i].exists);
    sim_check(sim);
    sim_destroy(sim);
}

/* Its schedule stopped the job, and nobody else. */
static void the_last_fire_of_a_schedule_waits(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});
    int64_t job = sim_add_cron(sim, "20 0 0 1 6 ? 2025");

    (void)state;
    sim_edit_job(sim, job)->hold_s = 1200;
    sim_empty_group(sim, true);
    sim_advance_ms(sim, 40 * SECOND_MS);
    assert_false(sim_edit_job(sim, job)->running);
    sim_empty_group(sim, false);
    sim_advance_ms(sim, 60 * SECOND_MS);
    check_codes(sim, job, 200, 1);
    sim_check(sim);
    sim_destroy(sim);
}

/* Each that is there by then gets its part. */
static void a_broadcast_that_waits_goes_to_all(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});
    int64_t job = sim_add_rate(sim, 3600);

    (void)state;
    sim_edit_job(sim, job)->hold_s = 600;
    sim_edit_job(sim, job)->route = "SHARDING_BROADCAST";
    sim_empty_group(sim, true);
    sim_advance_ms(sim, 30 * SECOND_MS);
    sim_empty_group(sim, false);
    sim_advance_ms(sim, 30 * SECOND_MS);
    check_codes(sim, job, 200, SIM_EXECUTORS);
    assert_int_equal(sim_count_arrivals(sim, job), SIM_EXECUTORS);
    sim_check(sim);
    sim_destroy(sim);
}

/* Its last try is with the second that its time is over. */
static void with_an_empty_group_it_fails_in_its_last_second(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 1});
    int64_t job = sim_add_rate(sim, 60);
    struct memory_db *db = sim_get_db(sim);

    (void)state;
    sim_edit_job(sim, job)->hold_s = 17;
    sim_empty_group(sim, true);
    while (db->later_count == 0)
        sim_advance_ms(sim, 100);
    sim_advance_ms(sim, 30 * SECOND_MS);
    assert_int_equal(db->logs[0].fire.due_s - db->logs[0].fire.original_due_s, 17);
    check_codes(sim, job, 500, 1);
    sim_check(sim);
    sim_destroy(sim);
}

/* A node says late that a fire waits; who settles its takeover has read the row before, and ends it behind the claim
 * that plans it anew. */
static void what_is_planned_anew_is_not_unknown(void **state)
{
    (void)state;
    for (int64_t look_ms = 4500; look_ms <= 7500; look_ms += 250) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .shards = 1});
        int node;

        sim_advance_ms(sim, MINUTE_MS); /* the first takeover is settled */
        sim_edit_job(sim, sim_add_rate(sim, 3600))->hold_s = 300;
        sim_set_executors(sim, EXECUTOR_GONE);
        sim_advance_ms(sim, 3 * SECOND_MS);
        node = sim_count_owned(sim, 0) ? 0 : 1;
        sim_advance_ms(sim, 3 * SECOND_MS + 10);
        sim_cut_database(sim, node, true);
        sim_cut_locks(sim, !node, true);
        sim_advance_ms(sim, 10 * SECOND_MS);
        sim_cut_locks(sim, !node, false);
        while (!sim_count_owned(sim, !node))
            sim_advance_ms(sim, 10);
        sim_set_executors(sim, EXECUTOR_QUICK);
        sim_get_db(sim)->look_us = look_ms * 1000;
        sim_advance_ms(sim, 41500);
        sim_cut_database(sim, node, false);
        sim_advance_ms(sim, 20 * SECOND_MS);
        sim_get_db(sim)->look_us = 0;
        sim_advance_ms(sim, 2 * MINUTE_MS);
        sim_check(sim);
        assert_true(sim_get_db(sim)->logs[0].was_held);
        assert_int_equal(sim_get_db(sim)->logs[0].trigger_code, 200);
        sim_destroy(sim);
    }
}

static void waiting_fires_survive(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .seed = seed});

        add_jobs(sim, 10);
        for (int64_t job = 1; job <= 10; job++)
            sim_edit_job(sim, job)->hold_s = 40;
        (void)add_stopped(sim);
        (void)add_stopped(sim);
        sim_get_db(sim)->fault_permille = 30;
        sim_set_executors(sim, EXECUTOR_GONE);
        they_survive(sim, 9);
        sim_set_executors(sim, EXECUTOR_QUICK);
        sim_get_db(sim)->fault_permille = 0;
        sim_advance_ms(sim, 5 * MINUTE_MS);
        sim_check(sim);
        for (size_t i = 0; i < sim_get_db(sim)->later_count; i++)
            assert_false(sim_get_db(sim)->later[i].exists);
        sim_destroy(sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_later_row_fires_in_its_second),
        cmocka_unit_test(what_is_due_now_fires_within_two_seconds),
        cmocka_unit_test(a_broadcast_goes_to_each_address),
        cmocka_unit_test(the_schedule_goes_on_beside_them),
        cmocka_unit_test(one_of_a_job_that_is_gone_is_dropped),
        cmocka_unit_test(one_row_in_trouble_holds_up_no_other),
        cmocka_unit_test(none_is_lost_or_doubled),
        cmocka_unit_test(a_fire_waits_for_an_executor),
        cmocka_unit_test(it_fails_when_its_time_is_over),
        cmocka_unit_test(many_wait_without_being_written_each_second),
        cmocka_unit_test(what_waits_of_a_stopped_jobs_schedule_ends),
        cmocka_unit_test(the_last_fire_of_a_schedule_waits),
        cmocka_unit_test(a_broadcast_that_waits_goes_to_all),
        cmocka_unit_test(with_an_empty_group_it_fails_in_its_last_second),
        cmocka_unit_test(what_is_planned_anew_is_not_unknown),
        cmocka_unit_test(waiting_fires_survive),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
