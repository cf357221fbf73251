/* SPDX-License-Identifier: MIT */
/* filterTime of the list of runs. */
#include "http/console/times.h"
#include "test.h"

#define SHANGHAI_S (8 * 3600)

static void ranges_are_read_as_the_original_does(void **state)
{
    static const struct {
        const char *text;
        int64_t from_s, until_s; /* in Shanghai */
        bool broken;
    } cases[] = {
        {"2023-11-15 06:13:20 - 2023-11-16 00:00:00", 1700000000, 1700064000, false},
        {"2023-11-15 6:13:20xyz -  2023-11-15 30:00:00", 1700000000, 1700085600, false},
        {"2023-10-46 06:13:20 - 2023-11-15 06:13:21.999", 1700000000, 1700000001, false},
        {"", 0, 0, false},
        {"2023-11-15 06:13:20 - ", 0, 0, false},
        {"2023-11-15 06:13:20", 0, 0, false},
        {"a - b - c", 0, 0, false},
        {" - 2023-11-15 06:13:20", 0, 1700000000, true},
        {"2023-11-15 - 2023-11-15 06:13:20", 0, 1700000000, true},
        {"2023-11-15T06:13:20 - 2023-11-15 06:13:20", 0, 1700000000, true},
        {"2023-11-15 06:13:20 - tomorrow", 1700000000, 0, true},
        {"99999999999-1-1 0:0:0 - 2023-11-15 06:13:20", 0, 1700000000, true},
    };
    struct zone *zone = NULL;
    struct errctx ec;
    (void)state;

    assert_int_equal(zone_load("Asia/Shanghai", &zone, &ec), ERR_OK);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t from_s, until_s;
        bool broken;

        times_parse_range(cases[i].text, zone, &from_s, &until_s, &broken);
        if (from_s != cases[i].from_s || until_s != cases[i].until_s || broken != cases[i].broken)
            fail_msg("%s: %lld to %lld, %d", cases[i].text, (long long)from_s, (long long)until_s, broken);
        times_parse_range(cases[i].text, NULL, &from_s, &until_s, &broken);
        assert_int_equal(from_s, cases[i].from_s ? cases[i].from_s + SHANGHAI_S : 0);
    }
    zone_destroy(zone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ranges_are_read_as_the_original_does)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
