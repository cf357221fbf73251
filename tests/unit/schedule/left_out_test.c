/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "schedule/shard/left_out.h"

static struct left_out_job job(int64_t id, int64_t planned_until_ms)
{
    return (struct left_out_job){.id = id, .planned_until_ms = planned_until_ms};
}

static void jobs_are_found_by_id(void **state)
{
    struct left_out list = {0};

    (void)state;
    left_out_sort(&list);
    assert_null(left_out_find(&list, 1));
    for (int64_t id = 200; id > 0; id -= 2)
        left_out_add(&list, job(id, id * 10));
    left_out_sort(&list);
    for (int64_t id = 1; id <= 200; id++) {
        const struct left_out_job *found = left_out_find(&list, id);

        assert_int_equal(found != NULL, id % 2 == 0);
        if (found)
            assert_int_equal(found->planned_until_ms, id * 10);
    }
    left_out_fini(&list);
    assert_null(left_out_find(&list, 2));
}

/* What was known before stands: its window is the older one. */
static void joined_lists_keep_what_the_first_one_says(void **state)
{
    struct left_out list = {0}, more = {0};

    (void)state;
    left_out_add(&list, job(5, 1));
    left_out_add(&list, job(9, 1));
    left_out_add(&more, job(3, 2));
    left_out_add(&more, job(9, 2));
    left_out_join(&list, &more);
    assert_int_equal(list.count, 3);
    assert_int_equal(left_out_find(&list, 3)->planned_until_ms, 2);
    assert_int_equal(left_out_find(&list, 9)->planned_until_ms, 1);
    left_out_fini(&list);
    left_out_fini(&more);
}

static void the_list_has_an_end(void **state)
{
    struct left_out list = {0};

    (void)state;
    for (int64_t id = 0; id < LEFT_OUT_MAX; id++)
        left_out_add(&list, job(id, 0));
    assert_false(list.full);
    left_out_add(&list, job(LEFT_OUT_MAX, 0));
    assert_true(list.full);
    assert_int_equal(list.count, LEFT_OUT_MAX);
    left_out_fini(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jobs_are_found_by_id),
        cmocka_unit_test(joined_lists_keep_what_the_first_one_says),
        cmocka_unit_test(the_list_has_an_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
