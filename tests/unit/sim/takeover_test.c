/* SPDX-License-Identifier: MIT */
/* Shards that move: nodes killed, paused, suspended, stopped, cut off from the locks. */
#include "sim/jobs.h"

#define LEASE_MS 6000 /* of the locks of a node that was killed */
/* What was in flight at a kill is all that may end as unknown. */
#define UNKNOWN_PER_TAKEOVER 40

static void a_killed_node_loses_nothing(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2});

        add_jobs(sim, 30);
        sim_advance_ms(sim, 20 * SECOND_MS + 137 * i);
        sim_kill(sim, 0);
        sim_advance_ms(sim, 3 * MINUTE_MS);
        sim_check(sim);
        assert_int_equal(sim_count_owned(sim, 1), 4);
        assert_in_range(sim_get_db(sim)->unknown_ends, 0, UNKNOWN_PER_TAKEOVER);
        assert_in_range(sim_max_lateness_ms(sim), 0, 12 * SECOND_MS);
        sim_destroy(sim);
    }
}

static void kill_after_kill(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 3});

    (void)state;
    add_jobs(sim, 30);
    for (int i = 0; i < 12; i++) {
        int node = (int)fibers_draw(3);

        sim_advance_ms(sim, 5 * SECOND_MS + (int64_t)fibers_draw(20000));
        if (sim_is_running(sim, node)) {
            sim_kill(sim, node);
            sim_advance_ms(sim, (int64_t)fibers_draw(15000));
            sim_start(sim, node);
        }
    }
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    sim_destroy(sim);
}

/* All nodes down: what was planned beyond the cursor goes out late, what fell due meanwhile is caught up or left to the
 * misfire rule. */
static void all_nodes_are_killed(void **state)
{
    static const int64_t away_ms[] = {3000, 20000, 55000, 70000, 20 * MINUTE_MS};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(away_ms); i++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2});

        add_jobs(sim, 30);
        sim_advance_ms(sim, 20 * SECOND_MS);
        sim_kill(sim, 0);
        sim_kill(sim, 1);
        sim_advance_ms(sim, away_ms[i]);
        sim_start(sim, 0);
        sim_advance_ms(sim, 3 * MINUTE_MS);
        sim_check(sim);
        sim_destroy(sim);
    }
}

/* After a long absence the cursor is far behind: nothing is planned before it has come near, and what its jump passed
 * by has an end, whoever dies meanwhile. */
static void who_comes_after_a_long_absence_dies(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 1, .seed = seed});

        add_jobs(sim, 30);
        sim_advance_ms(sim, 20 * SECOND_MS);
        sim_kill(sim, 0);
        sim_advance_ms(sim, 20 * MINUTE_MS);
        sim_set_executors(sim, seed % 2 ? EXECUTOR_SILENT : EXECUTOR_QUICK); /* results come late, or at once */
        for (int i = 0; i < 4; i++) {
            sim_start(sim, 0);
            sim_advance_ms(sim, LEASE_MS + (int64_t)fibers_draw(2500));
            sim_kill(sim, 0);
        }
        sim_start(sim, 0);
        sim_advance_ms(sim, 4 * MINUTE_MS);
        sim_check(sim);
        sim_destroy(sim);
    }
}

/* A process that stood still wakes up and believes in what it had. */
static void a_paused_node_wakes_up(void **state)
{
    static const int64_t pause_ms[] = {300, 2000, 7000, 15000, 50000, 90000};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pause_ms); i++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .seed = 100 + i});

        add_jobs(sim, 30);
        for (int k = 0; k < 4; k++) {
            sim_advance_ms(sim, 20 * SECOND_MS + (int64_t)fibers_draw(1000));
            sim_pause(sim, 0);
            sim_advance_ms(sim, pause_ms[i]);
            sim_wake(sim, 0);
        }
        sim_advance_ms(sim, 3 * MINUTE_MS);
        sim_check(sim);
        sim_destroy(sim);
    }
}

/* It finds its jobs stopped, and what it has in its wheel was sent by the next owner. */
static void a_node_that_wakes_up_removes_no_rows_of_others(void **state)
{
    (void)state;
    for (int i = 0; i < 12; i++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .shards = 1});
        int owner;

        add_jobs(sim, 30);
        sim_set_executors(sim, EXECUTOR_SILENT);
        sim_advance_ms(sim, 20 * SECOND_MS + 137 * i);
        owner = sim_count_owned(sim, 0) ? 0 : 1;
        sim_pause(sim, owner);
        sim_advance_ms(sim, LEASE_MS + 300 * i);
        for (int64_t job = 1; job <= 30; job++)
            sim_stop_job(sim, job);
        sim_wake(sim, owner);
        sim_advance_ms(sim, 3 * MINUTE_MS);
        sim_check(sim);
        sim_destroy(sim);
    }
}

/* Between the move of the cursor and the second, 200 ms later, the fires are with dispatch: who wakes up after they
 * ended as unknown must not send them, whether his monotonic clock went on or not. */
static void a_pause_between_cursor_and_second(void **state)
{
    (void)state;
    for (int suspended = 0; suspended < 2; suspended++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2});

        add_jobs(sim, 30);
        for (int at_ms = 820; at_ms < 1000; at_ms += 35) {
            sim_advance_ms(sim, 20 * SECOND_MS + at_ms - sim_now_ms(sim) % 1000);
            if (suspended) {
                sim_suspend(sim, at_ms % 2, 60 * SECOND_MS);
                continue;
            }
            sim_pause(sim, at_ms % 2);
            sim_advance_ms(sim, 60 * SECOND_MS);
            sim_wake(sim, at_ms % 2);
        }
        sim_advance_ms(sim, 3 * MINUTE_MS);
        sim_check(sim);
        assert_true(sim_get_db(sim)->unknown_ends > 0);
        assert_true(sim_count(sim, COUNTER_FIRES_TOO_LATE) > 0);
        sim_destroy(sim);
    }
}

static void a_suspended_machine_wakes_up(void **state)
{
    static const int64_t pause_ms[] = {2000, 15000, 50000, 20 * MINUTE_MS};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(pause_ms); i++) {
        struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .seed = 200 + i});

        add_jobs(sim, 30);
        sim_advance_ms(sim, 20 * SECOND_MS);
        sim_suspend(sim, 0, pause_ms[i]);
        sim_advance_ms(sim, 3 * MINUTE_MS);
        sim_check(sim);
        sim_destroy(sim);
    }
}

/* A handover on purpose is no takeover by force: nothing is late, nothing unknown. */
static void hand_over_without_a_trace(int64_t latency_us, int64_t late_ms)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 3});

    add_jobs(sim, 40);
    sim_get_db(sim)->latency_us = latency_us;
    for (int i = 0; i < 40; i++) {
        int64_t job = sim_add_cron(sim, "0 0 0 1 1 ?");

        sim_advance_ms(sim, 1 * SECOND_MS + (int64_t)fibers_draw(4000));
        sim_give_to(sim, (int)fibers_draw(4), (int)fibers_draw(3));
        sim_set_next_ms(sim, job, sim_now_ms(sim) - 1000); /* planned at the last moment, for the next second */
    }
    sim_advance_ms(sim, 2 * MINUTE_MS);
    sim_check(sim);
    assert_true(sim_count(sim, COUNTER_HANDOVERS) >= 15);
    assert_int_equal(sim_get_db(sim)->unknown_ends, 0);
    assert_int_equal(sim_count(sim, COUNTER_SHARDS_LOST), 0);
    assert_in_range(sim_max_lateness_ms(sim), 0, late_ms);
    sim_destroy(sim);
}

static void shards_are_handed_over_without_a_trace(void **state)
{
    (void)state;
    hand_over_without_a_trace(2000, 6 * SECOND_MS);
    hand_over_without_a_trace(100000, 10 * SECOND_MS);
}

static void nodes_stop_and_start_in_turn(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 3});

    (void)state;
    add_jobs(sim, 40);
    for (int i = 0; i < 6; i++) {
        sim_advance_ms(sim, 10 * SECOND_MS);
        sim_stop(sim, i % 3);
        sim_advance_ms(sim, 5 * SECOND_MS);
        sim_start(sim, i % 3);
    }
    sim_advance_ms(sim, 2 * MINUTE_MS);
    sim_check(sim);
    assert_int_equal(sim_get_db(sim)->unknown_ends, 0);
    assert_in_range(sim_max_lateness_ms(sim), 0, 5 * SECOND_MS);
    sim_destroy(sim);
}

/* The last node lets out what is planned; what falls due while nobody is there is caught up. */
static void the_last_node_stops(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 1});

    (void)state;
    add_jobs(sim, 40);
    sim_advance_ms(sim, 30 * SECOND_MS);
    sim_stop(sim, 0);
    assert_int_equal(sim_get_db(sim)->unknown_ends, 0);
    for (size_t i = 0; i < sim_get_db(sim)->log_count; i++) {
        const struct memory_log *row = &sim_get_db(sim)->logs[i];

        assert_true(!row->exists || row->trigger_code == 200);
    }
    sim_advance_ms(sim, 20 * SECOND_MS);
    sim_start(sim, 0);
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    assert_int_equal(sim_count(sim, COUNTER_MISFIRES), 0);
    sim_destroy(sim);
}

/* Its process stands still in the middle of the stop, and goes on with it. */
static void a_stop_that_stands_still(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 1});

    (void)state;
    add_jobs(sim, 40);
    sim_advance_ms(sim, 30 * SECOND_MS);
    sim_end_at(sim, 0, 20, END_PAUSED);
    sim_stop(sim, 0);
    assert_true(sim_is_paused(sim, 0));
    sim_advance_ms(sim, 20 * SECOND_MS);
    sim_wake(sim, 0);
    assert_false(sim_is_running(sim, 0) || sim_is_paused(sim, 0));
    sim_start(sim, 0);
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    sim_destroy(sim);
}

/* Two owners, one of whom only believes to be one. */
static void a_node_that_is_cut_off_from_the_locks(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2});

    (void)state;
    add_jobs(sim, 40);
    for (int i = 0; i < 6; i++) {
        sim_advance_ms(sim, 15 * SECOND_MS);
        sim_cut_locks(sim, i % 2, true);
        sim_advance_ms(sim, 3 * SECOND_MS + (int64_t)fibers_draw(20000));
        sim_cut_locks(sim, i % 2, false);
    }
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    sim_destroy(sim);
}

/* Sent again under their own log ids, where that is wanted. */
static void what_was_in_flight_is_sent_again(void **state)
{
    struct sim *sim = sim_create((struct sim_opts){.nodes = 2, .resend = true});

    (void)state;
    add_jobs(sim, 40);
    for (int i = 0; i < 4; i++) {
        sim_advance_ms(sim, 20 * SECOND_MS + 995 - sim_now_ms(sim) % 1000); /* the cursor has moved */
        sim_kill(sim, i % 2);
        sim_advance_ms(sim, 70 * SECOND_MS);
        sim_start(sim, i % 2);
    }
    sim_advance_ms(sim, 3 * MINUTE_MS);
    sim_check(sim);
    assert_int_equal(sim_get_db(sim)->unknown_ends, 0);
    assert_true(sim_count(sim, COUNTER_FIRES_RESENT) > 0);
    sim_destroy(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_node_loses_nothing),
        cmocka_unit_test(kill_after_kill),
        cmocka_unit_test(all_nodes_are_killed),
        cmocka_unit_test(who_comes_after_a_long_absence_dies),
        cmocka_unit_test(a_paused_node_wakes_up),
        cmocka_unit_test(a_node_that_wakes_up_removes_no_rows_of_others),
        cmocka_unit_test(a_pause_between_cursor_and_second),
        cmocka_unit_test(a_suspended_machine_wakes_up),
        cmocka_unit_test(shards_are_handed_over_without_a_trace),
        cmocka_unit_test(nodes_stop_and_start_in_turn),
        cmocka_unit_test(the_last_node_stops),
        cmocka_unit_test(a_stop_that_stands_still),
        cmocka_unit_test(a_node_that_is_cut_off_from_the_locks),
        cmocka_unit_test(what_was_in_flight_is_sent_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
