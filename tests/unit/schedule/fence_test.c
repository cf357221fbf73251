/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "schedule/ring/fence.h"

static const struct ring_shard owned = {.active = true, .epoch = 7, .last_s = INT64_MAX};
static const struct ring_shard fenced = {.active = true, .fenced = true, .epoch = 7, .last_s = INT64_MAX};
static const struct ring_shard removed = {.active = false, .epoch = 7, .last_s = INT64_MAX};
static const struct ring_shard limited = {.active = true, .epoch = 7, .last_s = 100};
static const struct cursor_move moved = {.shard = 0, .epoch = 7, .moved = true};
static const struct cursor_move refused = {.shard = 0, .epoch = 7, .moved = false};

static void before_the_move(void **state)
{
    (void)state;
    assert_int_equal(fence_before_move(7, &owned), FENCE_KEEP);
    assert_int_equal(fence_before_move(6, &owned), FENCE_DROP);
    assert_int_equal(fence_before_move(8, &owned), FENCE_KEEP);
    assert_int_equal(fence_before_move(7, &fenced), FENCE_DROP);
    assert_int_equal(fence_before_move(8, &fenced), FENCE_KEEP);
    assert_int_equal(fence_before_move(7, &removed), FENCE_DROP);
    assert_int_equal(fence_before_move(8, &removed), FENCE_KEEP);
}

static void only_the_epoch_of_the_move_is_sent(void **state)
{
    (void)state;
    assert_int_equal(fence_after_move(7, 100, &owned, &moved), FENCE_SEND);
    assert_int_equal(fence_after_move(6, 100, &owned, &moved), FENCE_DROP);
    assert_int_equal(fence_after_move(8, 100, &owned, &moved), FENCE_KEEP);
}

static void a_refused_move_drops_its_epoch_and_older(void **state)
{
    (void)state;
    assert_int_equal(fence_after_move(7, 100, &owned, &refused), FENCE_DROP);
    assert_int_equal(fence_after_move(6, 100, &owned, &refused), FENCE_DROP);
    assert_int_equal(fence_after_move(8, 100, &owned, &refused), FENCE_KEEP);
}

/* The shard was taken over again between the question and the answer. */
static void a_takeover_in_between(void **state)
{
    static const struct ring_shard again = {.active = true, .epoch = 9, .last_s = INT64_MAX};

    (void)state;
    /* The cursor was moved under 7 before the new epoch was written: these were sent by right. */
    assert_int_equal(fence_after_move(7, 100, &again, &moved), FENCE_SEND);
    assert_int_equal(fence_after_move(9, 100, &again, &moved), FENCE_KEEP);
    assert_int_equal(fence_after_move(9, 100, &again, NULL), FENCE_KEEP);
    assert_int_equal(fence_after_move(8, 100, &again, NULL), FENCE_DROP);
    assert_int_equal(fence_after_move(8, 100, &again, &moved), FENCE_DROP);
}

static void nothing_goes_out_after_the_last_second(void **state)
{
    (void)state;
    assert_int_equal(fence_after_move(7, 100, &limited, &moved), FENCE_SEND);
    assert_int_equal(fence_after_move(7, 101, &limited, NULL), FENCE_DROP);
    assert_int_equal(fence_after_move(7, 101, &removed, NULL), FENCE_DROP);
    assert_int_equal(fence_after_move(8, 101, &removed, NULL), FENCE_KEEP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(before_the_move),
        cmocka_unit_test(only_the_epoch_of_the_move_is_sent),
        cmocka_unit_test(a_refused_move_drops_its_epoch_and_older),
        cmocka_unit_test(a_takeover_in_between),
        cmocka_unit_test(nothing_goes_out_after_the_last_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
