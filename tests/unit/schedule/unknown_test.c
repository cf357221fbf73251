/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "schedule/shard/unknown.h"

#define CURSOR 1000

static void those_of_earlier_seconds_come_first(void **state)
{
    struct fire fires[] = {
        {.log_id = 9, .due_s = CURSOR - 1}, {.log_id = 3, .due_s = CURSOR},     {.log_id = 8, .due_s = CURSOR - 900},
        {.log_id = 2, .due_s = CURSOR},     {.log_id = 7, .due_s = CURSOR - 1},
    };
    const int64_t expected[] = {7, 8, 9, 2, 3};
    int64_t ids[ARRAY_LEN(fires)];

    (void)state;
    for (size_t i = 0; i + 1 < ARRAY_LEN(fires); i++)
        fires[i].next = &fires[i + 1];
    assert_int_equal(unknown_sort(fires, CURSOR, ids), 3);
    assert_memory_equal(ids, expected, sizeof ids);
    assert_int_equal(unknown_sort(&fires[4], CURSOR - 1, ids), 0);
    assert_int_equal(ids[0], 7);
    assert_int_equal(unknown_sort(NULL, CURSOR, ids), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(those_of_earlier_seconds_come_first)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
