/* SPDX-License-Identifier: MIT */
/*
 * Cron expressions with random input: against searches that try every second, and with odd text in odd zones. A failed
 * run is repeated with the seed it has printed: SHARDWHEEL_TEST_SEED=n.
 */
#include "shardwheel/cron.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define MAX_YEAR 2126
#define DAY_MS INT64_C(86400000)

static struct zone *load_zone(const char *name)
{
    struct errctx ec = {""};
    struct zone *zone = NULL;

    if (zone_load(name, &zone, &ec))
        fail_msg("%s", ec.text);
    return zone;
}

static struct cron *parse(const char *text)
{
    struct errctx ec = {""};
    struct cron *cron = NULL;

    if (cron_parse(text, MAX_YEAR, &cron, &ec))
        fail_msg("\"%s\": %s", text, ec.text);
    return cron;
}

/* The instant of a local time, so that expectations can be read. */
static int64_t at_ms(const char *zone_name, int year, int month, int day, int hour, int minute, int second)
{
    struct zone *zone = load_zone(zone_name);
    struct civil civil = {year, month, day, hour, minute, second};
    int64_t epoch_s = zone_from_civil(zone, &civil);

    zone_destroy(zone);
    return epoch_s * 1000;
}

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state >> 11) % limit;
}

static void seed(const char *test)
{
    const char *given = getenv("SHARDWHEEL_TEST_SEED");

    random_state = given ? strtoull(given, NULL, 10) : (uint64_t)clock_wall_us(clock_system());
    random_state += random_state == 0;
    print_message("%s: SHARDWHEEL_TEST_SEED=%" PRIu64 "\n", test, random_state);
}

/* The sets of an expression that was made from them, and not by parsing. */
struct plan {
    char text[700];
    uint64_t seconds, minutes, hours, days, months, weekdays;
    bool by_weekday;
    int years[2];
};

static void print_set(char **p, uint64_t set, int min, int max)
{
    const char *comma = "";

    for (int value = min; value <= max; value++) {
        if (!(set >> value & 1))
            continue;
        *p += sprintf(*p, "%s%d", comma, value);
        comma = ",";
    }
    *p += sprintf(*p, " ");
}

/* One value, few, or most of them; never none. */
static uint64_t random_set(int min, int max)
{
    uint64_t count = random_below(3) == 0 ? 1 : 1 + random_below((uint64_t)(max - min + 1));
    uint64_t set = 0;

    while (count-- > 0)
        set |= UINT64_C(1) << ((uint64_t)min + random_below((uint64_t)(max - min + 1)));
    return set;
}

static struct plan random_plan(void)
{
    struct plan plan = {.by_weekday = random_below(2)};
    char *p = plan.text;

    print_set(&p, plan.seconds = random_set(0, 59), 0, 59);
    print_set(&p, plan.minutes = random_set(0, 59), 0, 59);
    print_set(&p, plan.hours = random_set(0, 23), 0, 23);
    plan.days = random_set(1, 31);
    plan.months = random_set(1, 12);
    plan.weekdays = random_set(1, 7);
    if (plan.by_weekday)
        p += sprintf(p, "? ");
    else
        print_set(&p, plan.days, 1, 31);
    print_set(&p, plan.months, 1, 12);
    if (plan.by_weekday)
        print_set(&p, plan.weekdays, 1, 7);
    else
        p += sprintf(p, "? ");
    plan.years[0] = 2020 + (int)random_below(8);
    plan.years[1] = plan.years[0] + (int)random_below(4);
    sprintf(p, "%d-%d", plan.years[0], plan.years[1]);
    return plan;
}

static bool plan_has_day(const struct plan *plan, const struct tm *tm)
{
    if (tm->tm_year + 1900 < plan->years[0] || tm->tm_year + 1900 > plan->years[1] ||
        !(plan->months >> (tm->tm_mon + 1) & 1))
        return false;
    return (plan->by_weekday ? plan->weekdays >> (tm->tm_wday + 1) : plan->days >> tm->tm_mday) & 1;
}

/* Tries day by day and second by second, in UTC with the calendar of the C library. */
static int64_t slow_next_ms(const struct plan *plan, int64_t from_ms)
{
    time_t at = (time_t)(from_ms / 1000 + 1);
    struct tm tm;

    for (gmtime_r(&at, &tm); tm.tm_year + 1900 <= plan->years[1]; gmtime_r(&at, &tm)) {
        time_t tomorrow = at - at % 86400 + 86400;

        for (; at < tomorrow && plan_has_day(plan, &tm); at++) {
            if (plan->seconds >> (at % 60) & 1 && plan->minutes >> (at / 60 % 60) & 1 &&
                plan->hours >> (at / 3600 % 24) & 1)
                return (int64_t)at * 1000;
        }
        at = tomorrow;
    }
    return -1;
}

static void agrees_with_a_search_that_tries_every_second(void **state)
{
    struct zone *utc = load_zone("UTC");

    (void)state;
    seed("agrees_with_a_search_that_tries_every_second");
    for (int round = 0; round < 1500; round++) {
        struct plan plan = random_plan();
        struct cron *cron = parse(plan.text);
        int64_t from_ms = at_ms("UTC", 2019, 6, 1, 0, 0, 0) + (int64_t)random_below(10 * 366 * (uint64_t)DAY_MS);

        for (int i = 0; i < 4; i++) {
            int64_t expected_ms = slow_next_ms(&plan, from_ms);
            int64_t next_ms = -1, again_ms = -1, between_ms;
            enum err e = cron_next(cron, utc, from_ms, &next_ms, NULL);

            if (e != (expected_ms < 0 ? ERR_NOTFOUND : ERR_OK) || next_ms != expected_ms)
                fail_msg("\"%s\" from %" PRId64 ": %" PRId64 ", expected %" PRId64, plan.text, from_ms, next_ms,
                         expected_ms);
            if (e)
                break;
            /* Any other start on the way gives the same answer. */
            between_ms = from_ms + (int64_t)random_below((uint64_t)(next_ms - from_ms));
            assert_int_equal(cron_next(cron, utc, between_ms, &again_ms, NULL), ERR_OK);
            if (again_ms != next_ms)
                fail_msg("\"%s\" from %" PRId64 ": %" PRId64 ", expected %" PRId64, plan.text, between_ms, again_ms,
                         next_ms);
            from_ms = next_ms;
        }
        cron_destroy(cron);
    }
    zone_destroy(utc);
}

/* Tries every second of four days. A repeated local time counts in its second pass only, and a start in the first
 * pass stands for the same local time in the second. */
static int64_t slow_next_around_change_ms(const struct plan *plan, const struct zone *zone, int64_t from_ms)
{
    struct civil start = zone_to_civil(zone, from_ms / 1000 + 1);
    int64_t begin_s = zone_from_civil(zone, &start);

    for (int64_t at_s = begin_s; at_s < begin_s + 4 * 86400; at_s++) {
        struct civil c = zone_to_civil(zone, at_s);

        if (plan->seconds >> c.second & 1 && plan->minutes >> c.minute & 1 && plan->hours >> c.hour & 1 &&
            zone_from_civil(zone, &c) == at_s)
            return at_s * 1000;
    }
    return -1;
}

static void agrees_around_changes_of_the_clock(void **state)
{
    struct zone *zone = load_zone("America/New_York");
    const int64_t changes_ms[] = {at_ms("America/New_York", 2026, 3, 8, 3, 0, 0),
                                  at_ms("America/New_York", 2026, 11, 1, 1, 0, 0)};

    (void)state;
    seed("agrees_around_changes_of_the_clock");
    for (int round = 0; round < 400; round++) {
        int64_t from_ms = changes_ms[random_below(2)] - 4 * 3600000 + (int64_t)random_below(8 * 3600000);
        struct plan plan = {.seconds = random_set(0, 59), .minutes = random_set(0, 59), .hours = random_set(0, 5)};
        struct cron *cron;
        char *p = plan.text;

        print_set(&p, plan.seconds, 0, 59);
        print_set(&p, plan.minutes, 0, 59);
        print_set(&p, plan.hours, 0, 23);
        strcpy(p, "* * ?");
        cron = parse(plan.text);
        for (int i = 0; i < 3; i++) {
            int64_t expected_ms = slow_next_around_change_ms(&plan, zone, from_ms);
            int64_t next_ms = 0;

            assert_int_equal(cron_next(cron, zone, from_ms, &next_ms, NULL), ERR_OK);
            if (next_ms != expected_ms)
                fail_msg("\"%s\" from %" PRId64 ": %" PRId64 ", expected %" PRId64, plan.text, from_ms, next_ms,
                         expected_ms);
            from_ms = next_ms;
        }
        cron_destroy(cron);
    }
    zone_destroy(zone);
}

/* Pieces that make valid, odd and refused items. */
static void random_expression(char *text)
{
    static const char *const pieces[] = {"*",   "?",   "L",    "W",    "#",   "-",   "/",    ",",   "0",   "1",
                                         "2",   "5",   "7",    "12",   "15",  "23",  "28",   "30",  "31",  "59",
                                         "98",  "99",  "2026", "2030", "MON", "FRI", "SUN",  "JAN", "DEC", "LW",
                                         "L-3", "15W", "6L",   "6#3",  "*/",  "1W",  "L-2W", "\n",  "X",   "+"};
    static const char *const usual[7] = {"0", "0/7", "*", "*", "*", "?", "*"};
    static const char *const other[7] = {"*/20", "5,55", "0-3", "?", "3,11", "MON-FRI", "2024-2031"};
    int fields = random_below(20) == 0 ? 5 : 6 + (int)random_below(2);
    bool by_weekday = random_below(2);

    *text = '\0';
    for (int field = 0; field < fields; field++) {
        uint64_t kind = random_below(6);

        strcat(text, field ? " " : "");
        if ((field == 3 || field == 5) && (field == 3) == by_weekday) {
            strcat(text, "?");
        } else if (kind < 5) {
            strcat(text, by_weekday && field == 5 ? "2,6" : kind < 3 ? usual[field] : other[field]);
        } else {
            for (uint64_t n = 1 + random_below(3); n > 0; n--)
                strcat(text, pieces[random_below(ARRAY_LEN(pieces))]);
        }
    }
}

static void every_answer_is_a_later_whole_second(void **state)
{
    static const char *const names[] = {
        "UTC",          "America/New_York", "Australia/Lord_Howe", "Antarctica/Troll", "Africa/Casablanca",
        "Pacific/Apia", "Asia/Kathmandu"};
    struct zone *zones[ARRAY_LEN(names)];
    int accepted = 0, fired = 0;

    (void)state;
    seed("every_answer_is_a_later_whole_second");
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        zones[i] = load_zone(names[i]);
    for (int round = 0; round < 20000; round++) {
        const struct zone *zone = zones[random_below(ARRAY_LEN(names))];
        int64_t from_ms = at_ms("UTC", 2011, 1, 1, 0, 0, 0) + (int64_t)random_below(20 * 366 * (uint64_t)DAY_MS);
        char text[400];
        struct cron *cron = NULL;
        enum err e;

        random_expression(text);
        if (cron_parse(text, MAX_YEAR, &cron, NULL))
            continue;
        accepted++;
        for (int i = 0; i < 5; i++) {
            int64_t next_ms = 0;

            e = cron_next(cron, zone, from_ms, &next_ms, NULL);
            if (e && e != ERR_NOTFOUND && e != ERR_INPUT)
                fail_msg("\"%s\" from %" PRId64 ": error %d", text, from_ms, (int)e);
            if (e)
                break;
            fired++;
            if (next_ms % 1000 != 0 || next_ms <= from_ms)
                fail_msg("\"%s\" from %" PRId64 ": %" PRId64, text, from_ms, next_ms);
            from_ms = next_ms;
        }
        cron_destroy(cron);
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        zone_destroy(zones[i]);
    print_message("%d accepted, %d occurrences\n", accepted, fired);
    assert_true(accepted > 2000 && fired > 5000); /* else the pieces do not test anything */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_a_search_that_tries_every_second),
        cmocka_unit_test(agrees_around_changes_of_the_clock),
        cmocka_unit_test(every_answer_is_a_later_whole_second),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
