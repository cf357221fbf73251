/* SPDX-License-Identifier: MIT */
/* Which ids are surely so old. */
#include "test.h"

#include "follow/horizons.h"

static void an_id_is_taken_once_when_it_is_old_enough(void **state)
{
    struct horizons h = {0};
    int64_t id = -1;

    (void)state;
    horizons_note(&h, 1000, 0, 10);
    horizons_note(&h, 2000, 0, 20);
    assert_false(horizons_take(&h, 1999, 1000, &id));
    assert_int_equal(id, -1);
    assert_true(horizons_take(&h, 2000, 1000, &id));
    assert_int_equal(id, 10);
    assert_false(horizons_take(&h, 2999, 1000, &id));
    assert_true(horizons_take(&h, 3000, 1000, &id));
    assert_int_equal(id, 20);
    assert_false(horizons_take(&h, INT64_MAX, 1000, &id));
}

static void all_that_are_old_come_one_after_the_other(void **state)
{
    struct horizons h = {0};
    int64_t id, sum = 0;

    (void)state;
    for (int64_t i = 1; i <= HORIZONS_MAX + 4; i++) /* those without room are left out */
        horizons_note(&h, i, 0, i);
    assert_int_equal(h.count, HORIZONS_MAX);
    for (int64_t i = 1; horizons_take(&h, 1000, 1000 - HORIZONS_MAX, &id); i++) {
        assert_int_equal(id, i);
        sum++;
    }
    assert_int_equal(sum, HORIZONS_MAX);
}

static void two_keep_their_distance(void **state)
{
    struct horizons h = {0};

    (void)state;
    horizons_note(&h, 1000, 500, 10);
    horizons_note(&h, 1499, 500, 20);
    assert_int_equal(h.count, 1);
    horizons_note(&h, 1500, 500, 30);
    assert_int_equal(h.count, 2);
    assert_int_equal(h.list[1].id, 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_taken_once_when_it_is_old_enough),
        cmocka_unit_test(all_that_are_old_come_one_after_the_other),
        cmocka_unit_test(two_keep_their_distance),
    };

    return cmocka_run_group_tests_name("follow.horizons", tests, NULL, NULL);
}
