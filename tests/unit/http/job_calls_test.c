/* SPDX-License-Identifier: MIT */
/* Turns of the calls about jobs: so many at once, so many in a second. */
#include "http/executor/job_calls.h"
#include "test.h"

static int take(_Atomic int64_t *state, int64_t now_us, int wanted)
{
    int taken = 0;

    for (int i = 0; i < wanted; i++)
        taken += job_calls_take(state, now_us);
    return taken;
}

static void turns_come_back_with_time(void **state)
{
    _Atomic int64_t free_us = 0;
    int64_t now_us = INT64_C(5000000000);
    (void)state;

    assert_int_equal(take(&free_us, now_us, 250), JOB_CALLS_BURST);
    assert_int_equal(take(&free_us, now_us + 9999, 5), 0);
    assert_int_equal(take(&free_us, now_us + 10000, 5), 1);
    assert_int_equal(take(&free_us, now_us + 510000, 250), 50);
    assert_int_equal(take(&free_us, now_us + 60000000, 250), JOB_CALLS_BURST); /* no more are saved up */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_come_back_with_time),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
