/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "shardwheel/calendar.h"

static void seconds_are_civil_times_of_utc(void **state)
{
    static const struct {
        int64_t at_s;
        struct civil civil;
    } cases[] = {
        {0, {1970, 1, 1, 0, 0, 0}},
        {-1, {1969, 12, 31, 23, 59, 59}},
        {951782399, {2000, 2, 28, 23, 59, 59}},
        {951782400, {2000, 2, 29, 0, 0, 0}},
        {1709251199, {2024, 2, 29, 23, 59, 59}},
        {253402300799, {9999, 12, 31, 23, 59, 59}},
        {-62167219200, {0, 1, 1, 0, 0, 0}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct civil c = civil_of_second(cases[i].at_s);

        assert_memory_equal(&c, &cases[i].civil,
                            offsetof(struct civil, second) + sizeof c.second); /* then it is padded */
        assert_int_equal(civil_to_second(&c), cases[i].at_s);
        assert_true(civil_is_real(&c));
    }
    assert_int_equal(civil_to_second(&(struct civil){1969, 13, 1, -24, 60, 60}), -86400 + 3660);
}

static void only_real_times_are_real(void **state)
{
    static const struct civil bad[] = {{2023, 2, 29, 0, 0, 0}, {1900, 2, 29, 0, 0, 0}, {2024, 2, 30, 0, 0, 0},
                                       {2024, 4, 31, 0, 0, 0}, {2024, 0, 1, 0, 0, 0},  {2024, 13, 1, 0, 0, 0},
                                       {2024, 1, 0, 0, 0, 0},  {2024, 1, 32, 0, 0, 0}, {2024, 1, 1, 24, 0, 0},
                                       {2024, 1, 1, -1, 0, 0}, {2024, 1, 1, 0, 60, 0}, {2024, 1, 1, 0, -1, 0},
                                       {2024, 1, 1, 0, 0, 60}, {2024, 1, 1, 0, 0, -1}};

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (civil_is_real(&bad[i]))
            fail_msg("case %zu", i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(seconds_are_civil_times_of_utc),
        cmocka_unit_test(only_real_times_are_real),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
