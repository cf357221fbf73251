/* SPDX-License-Identifier: MIT */
/*
 * Time zones: skipped and repeated local times, far years, and random instants against the C library. A failed run is
 * repeated with the seed it has printed: SHARDWHEEL_TEST_SEED=n.
 */
#include "cron/zone_impl.h"

#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define HOUR_S 3600
#define CYCLE_400_YEARS_S (INT64_C(146097) * 86400)

static struct zone *load(const char *name)
{
    struct errctx ec = {""};
    struct zone *zone = NULL;

    if (zone_load(name, &zone, &ec))
        fail_msg("%s", ec.text);
    return zone;
}

static int64_t from_civil(const struct zone *zone, int year, int month, int day, int hour, int minute, int second)
{
    struct civil civil = {year, month, day, hour, minute, second};

    return zone_from_civil(zone, &civil);
}

static void assert_civil(const struct zone *zone, int64_t epoch_s, int year, int month, int day, int hour, int minute)
{
    struct civil c = zone_to_civil(zone, epoch_s);

    assert_int_equal(c.year, year);
    assert_int_equal(c.month, month);
    assert_int_equal(c.day, day);
    assert_int_equal(c.hour, hour);
    assert_int_equal(c.minute, minute);
}

static void skipped_and_repeated_local_times(void **state)
{
    struct zone *ny = load("America/New_York");
    struct zone *howe = load("Australia/Lord_Howe");
    struct zone *apia = load("Pacific/Apia");
    int64_t gap_s = from_civil(ny, 2026, 3, 8, 3, 0, 0), overlap_s = from_civil(ny, 2026, 11, 1, 0, 0, 0) + 2 * HOUR_S;

    (void)state;
    /* 02:00 to 03:00 is skipped: read with the offset before, which comes out an hour later on the clock. */
    assert_int_equal(from_civil(ny, 2026, 3, 8, 1, 59, 59), gap_s - 1);
    assert_int_equal(from_civil(ny, 2026, 3, 8, 2, 0, 0), gap_s);
    assert_int_equal(from_civil(ny, 2026, 3, 8, 2, 30, 0), gap_s + 1800);
    assert_civil(ny, gap_s + 1800, 2026, 3, 8, 3, 30);
    /* 01:00 to 02:00 is repeated: the second pass. */
    assert_int_equal(from_civil(ny, 2026, 11, 1, 0, 59, 59), overlap_s - HOUR_S - 1);
    assert_int_equal(from_civil(ny, 2026, 11, 1, 1, 0, 0), overlap_s);
    assert_int_equal(from_civil(ny, 2026, 11, 1, 1, 59, 59), overlap_s + HOUR_S - 1);
    assert_civil(ny, overlap_s - 1, 2026, 11, 1, 1, 59);
    assert_civil(ny, overlap_s, 2026, 11, 1, 1, 0);
    assert_int_equal(zone_offset_s(ny, overlap_s - 1), -4 * HOUR_S);
    assert_int_equal(zone_offset_s(ny, overlap_s), -5 * HOUR_S);
    assert_int_equal(from_civil(howe, 2026, 10, 4, 2, 10, 0),
                     from_civil(howe, 2026, 10, 4, 2, 40, 0)); /* half an hour */
    assert_int_equal(from_civil(apia, 2011, 12, 30, 12, 0, 0),
                     from_civil(apia, 2011, 12, 31, 12, 0, 0)); /* a whole day */
    zone_destroy(ny);
    zone_destroy(howe);
    zone_destroy(apia);
}

static void far_past_and_future(void **state)
{
    struct zone *ny = load("America/New_York");
    struct zone *shanghai = load("Asia/Shanghai");
    int64_t t = from_civil(ny, 2300, 7, 1, 12, 0, 0);

    (void)state;
    assert_int_equal(zone_offset_s(shanghai, from_civil(shanghai, 1890, 1, 1, 0, 0, 0)), 8 * HOUR_S + 343);
    assert_int_equal(zone_offset_s(shanghai, from_civil(shanghai, 9999, 1, 1, 0, 0, 0)), 8 * HOUR_S);
    for (int cycles = 0; cycles < 20; cycles++) { /* the rule for summer time goes on */
        assert_int_equal(zone_offset_s(ny, t + cycles * CYCLE_400_YEARS_S), -4 * HOUR_S);
        assert_int_equal(zone_offset_s(ny, t + cycles * CYCLE_400_YEARS_S + 184 * 86400), -5 * HOUR_S);
        assert_civil(ny, t + cycles * CYCLE_400_YEARS_S, 2300 + 400 * cycles, 7, 1, 12, 0);
        assert_int_equal(from_civil(ny, 2300 + 400 * cycles, 7, 1, 12, 0, 0), t + cycles * CYCLE_400_YEARS_S);
    }
    /* Nonsense gives some answer, and no overflow. */
    zone_to_civil(ny, INT64_MAX);
    zone_to_civil(ny, INT64_MIN);
    zone_from_civil(ny, &(struct civil){INT64_MAX, INT_MAX, INT_MAX, INT_MAX, INT_MAX, INT_MAX});
    zone_from_civil(ny, &(struct civil){INT64_MIN, INT_MIN, INT_MIN, INT_MIN, INT_MIN, INT_MIN});
    assert_int_equal(from_civil(shanghai, 2025, 13, 32, 24, 60, 60), from_civil(shanghai, 2026, 2, 2, 1, 1, 0));
    assert_int_equal(from_civil(shanghai, 2026, 0, 0, 0, 0, 0), from_civil(shanghai, 2025, 11, 30, 0, 0, 0));
    zone_destroy(ny);
    zone_destroy(shanghai);
}

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % limit;
}

/* Instants from 1900 to 2500, half of them within two hours of a change of the clock. */
static int64_t random_instant(const struct zone *zone)
{
    int64_t begin_s = INT64_C(-2208988800), end_s = INT64_C(16725225600);
    int64_t any_s = begin_s + (int64_t)random_below((uint64_t)(end_s - begin_s));

    if (zone->table.count == 0 || random_below(2))
        return any_s;
    return zone->table.steps[random_below(zone->table.count)].at_s + (int64_t)random_below(4 * HOUR_S) - 2 * HOUR_S;
}

/* The C library reads the same files with other code. Its years end where its int does, and before 1900 it is not
 * asked. */
static void assert_like_c_library(const char *name, const struct zone *zone, int64_t epoch_s)
{
    struct civil c = zone_to_civil(zone, epoch_s);
    time_t t = (time_t)epoch_s;
    struct tm tm;

    localtime_r(&t, &tm);
    if (c.year != tm.tm_year + 1900 || c.month != tm.tm_mon + 1 || c.day != tm.tm_mday || c.hour != tm.tm_hour ||
        c.minute != tm.tm_min || c.second != tm.tm_sec)
        fail_msg("%s at %" PRId64 ": %" PRId64 "-%d-%d %d:%d:%d", name, epoch_s, c.year, c.month, c.day, c.hour,
                 c.minute, c.second);
}

static bool civil_is_same(const struct civil *a, const struct civil *b)
{
    return a->year == b->year && a->month == b->month && a->day == b->day && a->hour == b->hour &&
           a->minute == b->minute && a->second == b->second;
}

static void assert_round_trip(const char *name, const struct zone *zone, int64_t epoch_s)
{
    struct civil c = zone_to_civil(zone, epoch_s), d;
    int64_t back_s = zone_from_civil(zone, &c);

    d = zone_to_civil(zone, back_s);
    if (back_s < epoch_s || back_s > epoch_s + 26 * HOUR_S || !civil_is_same(&c, &d))
        fail_msg("%s: %" PRId64 " comes back as %" PRId64, name, epoch_s, back_s);
    if (back_s != epoch_s && zone_offset_s(zone, back_s) >= zone_offset_s(zone, epoch_s))
        fail_msg("%s: %" PRId64 " is not the later of two, %" PRId64, name, epoch_s, back_s);
}

static void conversions_agree_with_the_c_library(void **state)
{
    static const char *const names[] = {
        "UTC",
        "Asia/Shanghai",
        "America/New_York",
        "Europe/London",
        "Europe/Dublin",
        "Australia/Lord_Howe",
        "Antarctica/Troll",
        "Africa/Casablanca",
        "Africa/Cairo",
        "Pacific/Apia",
        "Pacific/Kiritimati",
        "Pacific/Chatham",
        "America/Sao_Paulo",
        "America/St_Johns",
        "America/Havana",
        "Asia/Kathmandu",
        "Asia/Tehran",
        "Asia/Gaza",
        "America/Scoresbysund",
        "Africa/Monrovia",
        "Asia/Manila",
        "America/Caracas",
    };
    const char *given = getenv("SHARDWHEEL_TEST_SEED");
    char *before = getenv("TZ") ? strdup(getenv("TZ")) : NULL;

    (void)state;
    random_state = given ? strtoull(given, NULL, 10) : (uint64_t)clock_wall_us(clock_system()) | 1;
    print_message("conversions_agree_with_the_c_library: SHARDWHEEL_TEST_SEED=%" PRIu64 "\n", random_state);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct zone *zone = load(names[i]);

        setenv("TZ", names[i], 1);
        tzset();
        for (int round = 0; round < 2000; round++) {
            int64_t epoch_s = random_instant(zone);

            assert_round_trip(names[i], zone, epoch_s);
            if (epoch_s > INT64_C(-2208988800))
                assert_like_c_library(names[i], zone, epoch_s);
        }
        zone_destroy(zone);
    }
    if (before)
        setenv("TZ", before, 1);
    else
        unsetenv("TZ");
    tzset();
    free(before);
}

/* A span holds what was asked for, and its offset is the one to use at every local time in it that is tried. */
static void assert_span(const char *name, const struct zone *zone, int64_t asked_s)
{
    static const int days[] = {-200, -100, -2, -1, 0, 1, 2, 100, 200, 300, 3000};
    int64_t local_s = asked_s;
    struct local_span span = zone_find_span(zone, &local_s);

    if (local_s < asked_s || local_s < span.begin_s || local_s >= span.end_s)
        fail_msg("%s: %" PRId64 " becomes %" PRId64 " in %" PRId64 " to %" PRId64, name, asked_s, local_s, span.begin_s,
                 span.end_s);
    for (size_t i = 0; i < ARRAY_LEN(days); i++) {
        int64_t other_s = local_s + days[i] * INT64_C(86400);

        if (other_s < span.begin_s || other_s >= span.end_s)
            continue;
        if (zone_offset_s(zone, other_s - span.offset_s) != span.offset_s)
            fail_msg("%s: the span around %" PRId64 " is wrong at %" PRId64, name, asked_s, other_s);
    }
}

static void spans_hold_what_was_asked(void **state)
{
    static const char *const names[] = {
        "UTC",          "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll", "Africa/Casablanca",
        "Pacific/Apia", "Africa/Cairo"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct zone *zone = load(names[i]);
        const struct zone_table *table = &zone->table;

        for (size_t k = 1; k < table->count; k++) {
            assert_true(table->steps[k - 1].at_s < table->steps[k].at_s);
            assert_true(table->steps[k - 1].local_s < table->steps[k].local_s);
        }
        for (int round = 0; round < 2000; round++)
            assert_span(names[i], zone, random_instant(zone) + (int64_t)random_below(20) * (CYCLE_400_YEARS_S / 10));
        for (int64_t s = -4 * 86400; table->count > 0 && s < 4 * 86400; s += 900) /* where the table ends and repeats */
            for (int cycle = 0; cycle < 3; cycle++)
                assert_span(names[i], zone, table->steps[table->count - 1].at_s + s + cycle * CYCLE_400_YEARS_S);
        zone_destroy(zone);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skipped_and_repeated_local_times),
        cmocka_unit_test(far_past_and_future),
        cmocka_unit_test(conversions_agree_with_the_c_library),
        cmocka_unit_test(spans_hold_what_was_asked),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
