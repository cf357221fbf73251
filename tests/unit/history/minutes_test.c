/* SPDX-License-Identifier: MIT */
/* What the counters gain in a minute. */
#include "test.h"

#include "history/minutes.h"

#include <string.h>

#define MINUTE INT64_C(60000)

static struct minutes m;
static struct counters c;

static int setup(void **state)
{
    (void)state;
    memset(&m, 0, sizeof m);
    memset(&c, 0, sizeof c);
    return 0;
}

static void a_minute_has_what_was_counted_in_it(void **state)
{
    (void)state;
    counters_add(&c, COUNTER_FIRES_DELIVERED, 1000); /* of before */
    assert_false(minutes_look(&m, &c, 10 * MINUTE + 500));
    counters_add(&c, COUNTER_FIRES_DELIVERED, 10);
    counters_add(&c, COUNTER_FIRES_REFUSED, 1);
    counters_add(&c, COUNTER_FIRES_FAILED, 2);
    counters_add(&c, COUNTER_FIRES_TOO_LATE, 4);
    counters_add(&c, COUNTER_FIRES_UNKNOWN, 8);
    counters_add(&c, COUNTER_FIRES_UNWRITTEN, 16);
    counters_add(&c, COUNTER_RUNS_SUCCEEDED, 5);
    counters_add(&c, COUNTER_RUNS_FAILED, 3);
    counters_add(&c, COUNTER_RUNS_LOST_IDLE, 1);
    counters_observe_us(&c, COUNTER_LATENESS, 1500);
    counters_observe_us(&c, COUNTER_LATENESS, 99000000);
    counters_observe_us(&c, COUNTER_DISPATCH_TIME, 1500);
    assert_false(minutes_look(&m, &c, 10 * MINUTE + 59999));
    assert_true(minutes_look(&m, &c, 11 * MINUTE + 900));
    assert_int_equal(m.count, 1);
    struct minute_row wanted = {
        .minute_s = 600, .fires = 41, .undelivered = 31, .succeeded = 5, .failed = 4, .late_sum_ms = 99001};
    wanted.lateness[1] = 1;
    wanted.lateness[HISTOGRAM_BUCKETS] = 1;
    assert_memory_equal(&m.waiting[0], &wanted, sizeof wanted);
    minutes_drop(&m, 1);
    assert_int_equal(m.count, 0);
}

static void a_minute_without_anything_has_no_row(void **state)
{
    (void)state;
    for (int i = 10; i < 20; i++)
        assert_false(minutes_look(&m, &c, i * MINUTE));
    counters_add(&c, COUNTER_RUNS_FAILED, 1);
    assert_true(minutes_look(&m, &c, 20 * MINUTE));
    assert_int_equal(m.waiting[0].minute_s, 19 * 60);
}

static void minutes_wait_and_the_last_one_takes_what_does_not_fit(void **state)
{
    (void)state;
    minutes_look(&m, &c, 0 * MINUTE + 60000);
    for (int i = 0; i < MINUTES_WAITING + 9; i++) {
        counters_add(&c, COUNTER_FIRES_DELIVERED, 1);
        minutes_look(&m, &c, (i + 2) * MINUTE);
    }
    assert_int_equal(m.count, MINUTES_WAITING);
    assert_int_equal(m.waiting[MINUTES_WAITING - 2].fires, 1);
    assert_int_equal(m.waiting[MINUTES_WAITING - 1].fires, 10);
    minutes_drop(&m, MINUTES_WAITING - 1);
    assert_int_equal(m.count, 1);
    assert_int_equal(m.waiting[0].fires, 10);
}

static void a_clock_that_goes_back_makes_no_second_row(void **state)
{
    (void)state;
    minutes_look(&m, &c, 10 * MINUTE + 59990);
    counters_add(&c, COUNTER_FIRES_DELIVERED, 1);
    minutes_look(&m, &c, 11 * MINUTE + 10);
    minutes_look(&m, &c, 10 * MINUTE + 59995);
    counters_add(&c, COUNTER_FIRES_DELIVERED, 2);
    minutes_look(&m, &c, 11 * MINUTE + 1000);
    assert_int_equal(m.count, 1);
    assert_int_equal(m.waiting[0].fires, 3);
}

static void the_end_takes_the_rest(void **state)
{
    (void)state;
    minutes_look(&m, &c, 10 * MINUTE);
    counters_add(&c, COUNTER_FIRES_DELIVERED, 1);
    assert_true(minutes_end(&m, &c, 10 * MINUTE + 30000));
    assert_int_equal(m.count, 1);
    assert_int_equal(m.waiting[0].minute_s, 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_minute_has_what_was_counted_in_it, setup),
        cmocka_unit_test_setup(a_minute_without_anything_has_no_row, setup),
        cmocka_unit_test_setup(minutes_wait_and_the_last_one_takes_what_does_not_fit, setup),
        cmocka_unit_test_setup(a_clock_that_goes_back_makes_no_second_row, setup),
        cmocka_unit_test_setup(the_end_takes_the_rest, setup),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
