/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <string.h>

#include "store/conn/datetime.h"

static struct zone *load(const char *name)
{
    struct zone *zone = NULL;
    struct errctx ec;

    if (zone_load(name, &zone, &ec))
        fail_msg("%s", ec.text);
    return zone;
}

static void check(const struct zone *zone, int64_t epoch_s, const char *text)
{
    char out[DATETIME_TEXT_MAX];
    int64_t back = -1;

    datetime_format(zone, epoch_s, out);
    assert_string_equal(out, text);
    assert_true(datetime_parse(zone, text, &back));
    assert_int_equal(back, epoch_s);
}

static void texts_are_local_times(void **state)
{
    struct zone *shanghai = load("Asia/Shanghai"), *utc = load("UTC"), *berlin = load("Europe/Berlin");

    (void)state;
    check(utc, 0, "1970-01-01 00:00:00");
    check(utc, -1, "1969-12-31 23:59:59");
    check(shanghai, 1700000000, "2023-11-15 06:13:20");
    check(berlin, 1700000000, "2023-11-14 23:13:20");
    check(utc, 1709251199, "2024-02-29 23:59:59");
    zone_destroy(shanghai);
    zone_destroy(utc);
    zone_destroy(berlin);
}

static void the_repeated_hour_reads_as_its_second_pass(void **state)
{
    struct zone *berlin = load("Europe/Berlin");
    char out[DATETIME_TEXT_MAX];
    int64_t back = 0;

    (void)state;
    /* 2023-10-29 03:00 summer time = 01:00 UTC: the clock goes back to 02:00. */
    datetime_format(berlin, 1698541200 - 1800, out);
    assert_string_equal(out, "2023-10-29 02:30:00");
    datetime_format(berlin, 1698541200 + 1800, out);
    assert_string_equal(out, "2023-10-29 02:30:00");
    assert_true(datetime_parse(berlin, out, &back));
    assert_int_equal(back, 1698541200 + 1800);
    zone_destroy(berlin);
}

static void what_is_no_datetime_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      "0000-00-00 00:00:00",
                                      "2023-11-15",
                                      "2023-13-01 00:00:00",
                                      "2023-11-15 24:00:00",
                                      "2023-11-15T00:00:00",
                                      "2023-11-15 00:00:00x",
                                      "2023-00-15 00:00:00",
                                      "23-11-15 00:00:00",
                                      "2023-11-15 0:00:00"};
    struct zone *utc = load("UTC");
    int64_t out = 77;

    (void)state;
    assert_false(datetime_parse(utc, NULL, &out));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (datetime_parse(utc, bad[i], &out))
            fail_msg("read as a time: %s", bad[i]);
    assert_int_equal(out, 77);
    assert_true(datetime_parse(utc, "1970-01-01 00:00:05.999", &out));
    assert_int_equal(out, 5);
    zone_destroy(utc);
}

static void years_beyond_the_column_are_held_at_its_ends(void **state)
{
    struct zone *utc = load("UTC");
    char out[DATETIME_TEXT_MAX];

    (void)state;
    datetime_format(utc, INT64_C(400000000000), out);
    assert_string_equal(out, "9999-12-31 23:59:59");
    datetime_format(utc, -INT64_C(400000000000), out);
    assert_string_equal(out, "1000-01-01 00:00:00");
    zone_destroy(utc);
}

/* Every second of the window lies within the texts, whichever way the clock jumps in it. */
static void check_range(const struct zone *zone, int64_t from_s, int64_t to_s)
{
    char low[DATETIME_TEXT_MAX], high[DATETIME_TEXT_MAX], at[DATETIME_TEXT_MAX];

    datetime_range(zone, from_s, to_s, low, high);
    for (int64_t t = from_s; t <= to_s; t++) {
        datetime_format(zone, t, at);
        if (strcmp(at, low) < 0 || strcmp(at, high) > 0)
            fail_msg("%s is not within %s and %s", at, low, high);
    }
}

static void ranges_hold_across_dst(void **state)
{
    struct zone *berlin = load("Europe/Berlin"), *howe = load("Australia/Lord_Howe");
    char low[DATETIME_TEXT_MAX], high[DATETIME_TEXT_MAX];

    (void)state;
    for (int64_t shift = -1800; shift <= 1800; shift += 300) {
        check_range(berlin, 1698541200 + shift - 900, 1698541200 + shift + 600); /* back */
        check_range(berlin, 1679792400 + shift - 900, 1679792400 + shift + 600); /* ahead, 2023-03-26 */
        check_range(howe, 1680361200 + shift - 900, 1680361200 + shift + 600);   /* back by half an hour */
    }
    datetime_range(berlin, 1700000000, 1700000060, low, high); /* no wider than needed on other days */
    assert_string_equal(low, "2023-11-14 23:13:20");
    assert_string_equal(high, "2023-11-14 23:14:20");
    datetime_range(berlin, 1709161200 - 3600, 1709161200 + 86400, low, high); /* over the end of a leap February */
    assert_string_equal(low, "2024-02-28 23:00:00");
    assert_string_equal(high, "2024-03-01 00:00:00");
    zone_destroy(berlin);
    zone_destroy(howe);
}

static void seconds_that_no_datetime_holds_are_bounded(void **state)
{
    (void)state;
    assert_int_equal(datetime_bound(INT64_MAX), TIME_END_S);
    assert_int_equal(datetime_bound(INT64_MIN), -TIME_END_S);
    assert_int_equal(datetime_bound(TIME_END_S), TIME_END_S);
    assert_int_equal(datetime_bound(0), 0);
    assert_int_equal(datetime_bound(-1), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_local_times),
        cmocka_unit_test(the_repeated_hour_reads_as_its_second_pass),
        cmocka_unit_test(what_is_no_datetime_is_refused),
        cmocka_unit_test(years_beyond_the_column_are_held_at_its_ends),
        cmocka_unit_test(ranges_hold_across_dst),
        cmocka_unit_test(seconds_that_no_datetime_holds_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
