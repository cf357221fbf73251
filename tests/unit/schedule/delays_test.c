/* SPDX-License-Identifier: MIT */
/* The memory of FIX_DELAY runs: what it waits for, and when a run counts as ended. */
#include "test.h"

#include "schedule/shard/delays.h"

#include <stdlib.h>
#include <string.h>

#define NEXT_MS INT64_C(1767312000000)
#define NOW_S INT64_C(1767225600)

static struct delays d;

static int setup(void **state)
{
    (void)state;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    delays_fini(&d);
    return 0;
}

/* A run of the job with so many rows, whose ids follow each other. */
static void note(int64_t job, int64_t first_id, int rows)
{
    struct fire fires[8];

    for (int i = 0; i < rows; i++)
        fires[i] = (struct fire){.log_id = first_id + i, .next = i + 1 < rows ? &fires[i + 1] : NULL};
    assert_true(delays_note_fires(&d, job, NEXT_MS, rows ? fires : NULL));
}

static void see(int64_t job, int64_t log_id, int what, int64_t ended_s, int64_t retry_id)
{
    struct run_end row = {.log_id = log_id, .ended_s = ended_s, .retry_id = retry_id};

    row.what = what;
    delays_apply(&d, job, &row, NOW_S);
}

static bool has_ended(int64_t job)
{
    int64_t jobs[16];
    size_t n = delays_list_ended(&d, jobs, 16);

    for (size_t i = 0; i < n; i++)
        if (jobs[i] == job)
            return true;
    return false;
}

static void a_run_ends_with_the_last_of_its_rows(void **state)
{
    (void)state;
    note(7, 100, 3);
    see(7, 101, RUN_ENDED, NOW_S - 50, 0);
    see(7, 100, RUN_OPEN, 0, 0);
    see(7, 999, RUN_ENDED, NOW_S, 0); /* not its own */
    assert_false(has_ended(7));
    see(7, 102, RUN_ENDED, NOW_S - 90, 0);
    see(7, 100, RUN_ENDED, NOW_S - 70, 0);
    assert_true(has_ended(7));
    assert_int_equal(delays_find(&d, 7)->ended_s, NOW_S - 50);
}

static void a_chain_of_retries_ends_with_its_last_row(void **state)
{
    (void)state;
    note(7, 100, 1);
    see(7, 100, RUN_RETRIED, 0, 200);
    see(7, 100, RUN_ENDED, NOW_S - 9, 0); /* looked at before */
    assert_false(has_ended(7));
    see(7, 200, RUN_RETRIED, 0, 300);
    see(7, 300, RUN_ENDED, NOW_S - 5, 0);
    assert_true(has_ended(7));
    assert_int_equal(delays_find(&d, 7)->ended_s, NOW_S - 5);
}

static void an_end_without_a_time_or_in_the_future_is_now(void **state)
{
    (void)state;
    note(1, 100, 1);
    note(2, 200, 1);
    see(1, 100, RUN_ENDED, 0, 0);
    see(2, 200, RUN_ENDED, NOW_S + 3600, 0);
    assert_int_equal(delays_find(&d, 1)->ended_s, NOW_S);
    assert_int_equal(delays_find(&d, 2)->ended_s, NOW_S);
}

static void what_is_sought_has_not_ended(void **state)
{
    struct delayed_job job = {.id = 7, .next_ms = NEXT_MS, .last_ms = NOW_S * 1000 + 1, .delay_s = 60};
    int64_t ids[] = {100, 101};

    (void)state;
    assert_true(delays_note_sought(&d, &job, NOW_S + 2));
    assert_int_equal(delays_find(&d, 7)->original_s, NOW_S);
    assert_false(has_ended(7));
    delays_set_rows(&d, 7, ids, 2, NOW_S);
    see(7, 100, RUN_ENDED, NOW_S, 0);
    assert_false(has_ended(7));
    see(7, 101, RUN_ENDED, NOW_S, 0);
    assert_true(has_ended(7));
    /* Without rows it is not known what became of it: the delay counts from now, or the job would stand for a day. */
    assert_true(delays_note_sought(&d, &job, NOW_S));
    delays_set_rows(&d, 7, NULL, 0, NOW_S + 9);
    assert_true(has_ended(7));
    assert_int_equal(delays_find(&d, 7)->ended_s, NOW_S + 9);
}

static void a_broadcast_that_had_waited_ends_with_all_its_parts(void **state)
{
    struct fire parts[] = {{.log_id = 100, .next = &parts[1]}, {.log_id = 200, .next = &parts[2]}, {.log_id = 201}};

    (void)state;
    delays_add_parts(&d, 7, parts); /* nobody waits for that run */
    assert_null(delays_find(&d, 7));
    note(7, 100, 1);
    delays_add_parts(&d, 7, parts);
    delays_add_parts(&d, 7, parts); /* told again */
    delays_add_parts(&d, 7, &parts[2]);
    assert_int_equal(delays_find(&d, 7)->count, 3);
    see(7, 100, RUN_ENDED, NOW_S - 9, 0);
    see(7, 200, RUN_ENDED, NOW_S - 8, 0);
    assert_false(has_ended(7));
    see(7, 201, RUN_ENDED, NOW_S - 5, 0);
    assert_true(has_ended(7));
    assert_int_equal(delays_find(&d, 7)->ended_s, NOW_S - 5);

    note(8, 300, 1); /* the next run: parts of the one before are not its own */
    delays_add_parts(&d, 8, parts);
    assert_int_equal(delays_find(&d, 8)->count, 1);
}

static void a_new_run_takes_the_place_of_the_old(void **state)
{
    (void)state;
    note(7, 100, 2);
    note(7, 300, 1);
    assert_int_equal(d.count, 1);
    see(7, 100, RUN_ENDED, NOW_S, 0);
    assert_false(has_ended(7));
    delays_move(&d, 7, NEXT_MS + 5);
    delays_move(&d, 8, NEXT_MS);
    assert_int_equal(delays_find(&d, 7)->next_ms, NEXT_MS + 5);
    delays_forget(&d, 7);
    delays_forget(&d, 7);
    assert_int_equal(d.count, 0);
}

static void each_has_its_turn(void **state)
{
    struct run_end rows[10];
    int64_t jobs[10];
    int seen[31] = {0};

    (void)state;
    for (int64_t job = 30; job >= 1; job--) /* in any order */
        note(job, job * 100, 1 + (int)(job % 3));
    for (size_t i = 1; i < d.count; i++)
        assert_true(d.runs[i - 1].job_id < d.runs[i].job_id);
    for (int round = 0; round < 8; round++) {
        size_t n = delays_list_rows(&d, rows, jobs, 10);

        assert_in_range(n, 1, 10);
        for (size_t i = 0; i < n; i++)
            seen[jobs[i]] += rows[i].log_id / 100 == jobs[i];
    }
    for (int job = 1; job <= 30; job++)
        assert_true(seen[job] >= 1 + job % 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_run_ends_with_the_last_of_its_rows, setup, teardown),
        cmocka_unit_test_setup_teardown(a_chain_of_retries_ends_with_its_last_row, setup, teardown),
        cmocka_unit_test_setup_teardown(an_end_without_a_time_or_in_the_future_is_now, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_sought_has_not_ended, setup, teardown),
        cmocka_unit_test_setup_teardown(a_broadcast_that_had_waited_ends_with_all_its_parts, setup, teardown),
        cmocka_unit_test_setup_teardown(a_new_run_takes_the_place_of_the_old, setup, teardown),
        cmocka_unit_test_setup_teardown(each_has_its_turn, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
