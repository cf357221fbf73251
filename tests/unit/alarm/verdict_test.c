/* SPDX-License-Identifier: MIT */
/* Verdicts and quiet hours: tables of cases, in zones with and without daylight saving time. */
#include "test.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "alarm/quiet.h"
#include "alarm/verdict.h"

#define assert_ok(call)                                                                                                \
    do {                                                                                                               \
        struct errctx ok_ec = {{0}}, *ec = &ok_ec;                                                                     \
        if ((call) != ERR_OK)                                                                                          \
            fail_msg("%s", ec->text);                                                                                  \
    } while (0)

static struct zone *load(const char *name)
{
    struct zone *zone = NULL;

    assert_ok(zone_load(name, &zone, ec));
    return zone;
}

/* "YYYY-MM-DD HH:MM" in the zone; "": 0. */
static int64_t at(const struct zone *zone, const char *text)
{
    struct civil c = {0};

    if (!*text)
        return 0;
    assert_int_equal(sscanf(text, "%" SCNd64 "-%d-%d %d:%d", &c.year, &c.month, &c.day, &c.hour, &c.minute), 5);
    return zone_from_civil(zone, &c);
}

static void a_success_must_come_within_its_time(void **state)
{
    static const struct {
        int64_t since_s, success_s, now_s;
        enum verdict expected;
    } cases[] = {
        {1000, 0, 1060, VERDICT_IDLE},                                      /* new: its time has begun */
        {1000, 0, 1061, VERDICT_BAD},                                       /* and is over */
        {1000, 2000, 2060, VERDICT_GOOD},                                   /* the last success is young */
        {1000, 2000, 2061, VERDICT_BAD},  {2030, 2000, 2090, VERDICT_IDLE}, /* it was changed since then */
        {2030, 2000, 2091, VERDICT_BAD},  {0, 0, 61, VERDICT_BAD},
        {0, 5000, 4000, VERDICT_GOOD}, /* a clock that is ahead */
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (verdict_success(60, cases[i].since_s, cases[i].success_s, cases[i].now_s) != cases[i].expected)
            fail_msg("case %zu", i);
}

struct done_case {
    const char *zone, *cron; /* "": due on every day */
    int minute;
    const char *since, *begun, *now; /* in the zone */
    enum verdict expected;
};

static void a_job_is_done_by_a_time_of_day(void **state)
{
    static const struct done_case cases[] = {
        /* Every day at 6:00: a run that began since yesterday's. */
        {"UTC", "", 360, "2026-01-01 00:00", "2026-03-10 05:00", "2026-03-10 06:00", VERDICT_GOOD},
        {"UTC", "", 360, "2026-01-01 00:00", "2026-03-09 05:59", "2026-03-10 05:59", VERDICT_GOOD},
        {"UTC", "", 360, "2026-01-01 00:00", "2026-03-09 05:59", "2026-03-10 06:00", VERDICT_BAD},
        {"UTC", "", 360, "2026-01-01 00:00", "2026-03-09 06:00", "2026-03-10 06:00", VERDICT_BAD},
        {"UTC", "", 360, "2026-01-01 00:00", "2026-03-09 06:01", "2026-03-10 06:00", VERDICT_GOOD},
        {"UTC", "", 360, "2026-01-01 00:00", "", "2026-03-10 06:00", VERDICT_BAD},
        /* It, or its rule, was changed after the time of day: the next one counts. */
        {"UTC", "", 360, "2026-03-10 06:00", "", "2026-03-10 12:00", VERDICT_IDLE},
        {"UTC", "", 360, "2026-03-10 06:00", "", "2026-03-11 06:00", VERDICT_BAD},
        /* With cron: yesterday's run that ended late is not of today; today's is, and one that is made up for. */
        {"UTC", "0 0 3 * * ?", 360, "2026-01-01 00:00", "2026-03-09 07:00", "2026-03-10 06:00", VERDICT_BAD},
        {"UTC", "0 0 3 * * ?", 360, "2026-01-01 00:00", "2026-03-10 03:00", "2026-03-10 06:00", VERDICT_GOOD},
        {"UTC", "0 0 3 * * ?", 360, "2026-01-01 00:00", "2026-03-10 08:00", "2026-03-10 09:00", VERDICT_GOOD},
        /* Monday to Friday: 2026-03-13 is a Friday. What is open stays so over the weekend. */
        {"UTC", "0 0 3 ? * MON-FRI", 360, "2026-01-01 00:00", "2026-03-12 03:00", "2026-03-13 06:00", VERDICT_BAD},
        {"UTC", "0 0 3 ? * MON-FRI", 360, "2026-01-01 00:00", "2026-03-12 03:00", "2026-03-14 12:00", VERDICT_IDLE},
        {"UTC", "0 0 3 ? * MON-FRI", 360, "2026-01-01 00:00", "2026-03-14 10:00", "2026-03-14 12:00", VERDICT_GOOD},
        {"UTC", "0 0 3 ? * MON-FRI", 360, "2026-01-01 00:00", "2026-03-13 03:00", "2026-03-16 05:59", VERDICT_IDLE},
        {"UTC", "0 0 3 ? * MON-FRI", 360, "2026-01-01 00:00", "2026-03-13 03:00", "2026-03-16 06:00", VERDICT_BAD},
        /* The zone of the job: 06:00 in Shanghai is 22:00 UTC of the day before. */
        {"Asia/Shanghai", "", 360, "2026-01-01 00:00", "2026-03-09 05:00", "2026-03-10 05:59", VERDICT_GOOD},
        {"Asia/Shanghai", "", 360, "2026-01-01 00:00", "2026-03-09 05:00", "2026-03-10 06:00", VERDICT_BAD},
        /* The clocks go from 2:00 to 3:00 on 2026-03-29: 2:30 is not there, and 3:30 counts. */
        {"Europe/Berlin", "", 150, "2026-01-01 00:00", "2026-03-28 02:00", "2026-03-29 03:29", VERDICT_GOOD},
        {"Europe/Berlin", "", 150, "2026-01-01 00:00", "2026-03-28 02:00", "2026-03-29 03:30", VERDICT_BAD},
        {"Europe/Berlin", "", 150, "2026-01-01 00:00", "2026-03-29 03:31", "2026-03-30 02:30", VERDICT_GOOD},
        /* They go from 3:00 back to 2:00 on 2026-10-25: the day has 25 hours, and 2:30 comes twice. */
        {"Europe/Berlin", "", 150, "2026-01-01 00:00", "2026-10-24 02:31", "2026-10-25 03:00", VERDICT_GOOD},
        {"Europe/Berlin", "", 150, "2026-01-01 00:00", "2026-10-24 02:00", "2026-10-25 01:59", VERDICT_GOOD},
        {"Europe/Berlin", "", 150, "2026-01-01 00:00", "2026-10-24 02:00", "2026-10-25 03:00", VERDICT_BAD},
        {"Europe/Berlin", "", 150, "2026-01-01 00:00", "2026-10-24 02:00", "2026-10-26 02:29", VERDICT_BAD},
        /* Midnight, at both ends of a month and a year. */
        {"UTC", "", 0, "2026-01-01 00:00", "2026-12-31 00:01", "2027-01-01 00:00", VERDICT_GOOD},
        {"UTC", "", 0, "2026-01-01 00:00", "2026-12-30 23:59", "2027-01-01 00:00", VERDICT_BAD},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct done_case *c = &cases[i];
        struct zone *zone = load(c->zone);
        struct cron *cron = NULL;
        enum verdict v;

        if (c->cron[0])
            assert_ok(cron_parse(c->cron, 2100, &cron, ec));
        v = verdict_done(zone, c->minute, cron, at(zone, c->since), at(zone, c->begun), at(zone, c->now));
        if (v != c->expected)
            fail_msg("case %zu, now %s: %d, not %d", i, c->now, (int)v, (int)c->expected);
        cron_destroy(cron);
        zone_destroy(zone);
    }
}

static void a_long_run_is_three_times_the_usual_one(void **state)
{
    int64_t took[USUAL_RUNS];

    (void)state;
    for (int64_t i = 0; i < USUAL_RUNS; i++)
        took[i] = 100 + i;
    assert_int_equal(verdict_find_long(took, USUAL_RUNS), 3 * 128); /* the 29th of 30 */
    assert_int_equal(verdict_find_long(took, 20), 3 * 118);
    assert_int_equal(verdict_find_long(took, USUAL_RUNS_MIN), 3 * 104);
    assert_int_equal(verdict_find_long(took, USUAL_RUNS_MIN - 1), -1);
    assert_int_equal(verdict_find_long(took, 0), -1);
    for (int64_t i = 0; i < USUAL_RUNS; i++)
        took[i] = 2;
    assert_int_equal(verdict_find_long(took, USUAL_RUNS), LONG_RUN_MIN_S);
}

static void the_strictest_rule_counts_and_a_setting_before_all(void **state)
{
    static const struct watch_rule rules[] = {
        {1, "no_success", "", "", 7200, 100},     {2, "no_success", "night", "", 3600, 300},
        {3, "no_success", "night", "b", 60, 900}, {4, "long_run", "night", "", 0, 50},
        {5, "long_run", "", "a", 600, 40},        {6, "not_done", "night", "a", 390, 60},
        {7, "not_done", "night", "a", 360, 70},   {8, "few_executors", "", "a", 2, 9999},
        {9, "of_the_future", "", "", 1, 9999},
    };
    static const struct {
        struct watched_job job;
        struct watch_limits expected;
    } cases[] = {
        {{.tags = "", .app_name = "c", .done_by = "", .success_within_s = -1, .longest_run_s = -1},
         {7200, -1, -1, 100}},
        {{.tags = "x,night", .app_name = "a", .done_by = "", .success_within_s = -1, .longest_run_s = -1},
         {3600, 600, 360, 300}},
        {{.tags = "night", .app_name = "c", .done_by = "", .success_within_s = -1, .longest_run_s = -1},
         {3600, 0, -1, 300}},
        {{.tags = "nights,Night", .app_name = "a", .done_by = "", .success_within_s = -1, .longest_run_s = -1},
         {7200, 600, -1, 100}},
        {{.tags = "night", .app_name = "a", .done_by = "23:59", .success_within_s = 86400, .longest_run_s = 0},
         {86400, 0, 1439, 0}},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct watch_limits got = limits_find(&cases[i].job, rules, ARRAY_LEN(rules)), want = cases[i].expected;

        if (got.success_s != want.success_s || got.long_s != want.long_s || got.done_minute != want.done_minute ||
            got.since_ms != want.since_ms)
            fail_msg("case %zu: %" PRId64 " %" PRId64 " %d %" PRId64, i, got.success_s, got.long_s, got.done_minute,
                     got.since_ms);
    }
    assert_true(limits_are_empty(&(struct watch_limits){-1, -1, -1, 5}));
    assert_false(limits_are_empty(&(struct watch_limits){-1, 0, -1, 0}));
}

static void hours_are_quiet_in_their_zone(void **state)
{
    static const struct {
        const char *quiet, *zone, *now;
        bool covers;
    } cases[] = {
        {"22:00-07:00", "UTC", "2026-03-10 21:59", false},
        {"22:00-07:00", "UTC", "2026-03-10 22:00", true},
        {"22:00-07:00", "UTC", "2026-03-11 06:59", true},
        {"22:00-07:00", "UTC", "2026-03-11 07:00", false},
        {"12:00-13:30", "UTC", "2026-03-11 13:29", true},
        {"12:00-13:30", "UTC", "2026-03-11 13:30", false},
        {"12:00-13:30", "UTC", "2026-03-11 11:59", false},
        {"22:00-07:00/Asia/Shanghai", "UTC", "2026-03-10 14:00", true},
        {"22:00-07:00/Asia/Shanghai", "UTC", "2026-03-10 23:00", false},
        {"01:00-02:30/Europe/Berlin", "Europe/Berlin", "2026-03-29 03:00", false}, /* the hour is not there */
        {"00:00-23:59", "UTC", "2026-03-10 23:59", false},
        {"", "UTC", "2026-03-10 23:59", false},
    };
    static const char *const wrong[] = {"22-7",
                                        "22:00",
                                        "22:00-",
                                        "22:00-7:00",
                                        "24:00-07:00",
                                        "22:00-07:60",
                                        "22:00-22:00",
                                        "22:00-07:00/",
                                        " 22:00-07:00",
                                        "22:00-07:000",
                                        "22:00-07:00/Mars/Olympus",
                                        "/UTC",
                                        "-"};
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct zone *zone = load(cases[i].zone);
        struct quiet q;

        assert_ok(quiet_parse(cases[i].quiet, &q, ec));
        if (quiet_covers(&q, at(zone, cases[i].now)) != cases[i].covers)
            fail_msg("%s at %s", cases[i].quiet, cases[i].now);
        quiet_fini(&q);
        zone_destroy(zone);
    }
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct errctx why = {{0}};
        struct quiet q;

        if (quiet_parse(wrong[i], &q, &why) != ERR_INPUT || strncmp(why.text, "quiet", 5) != 0)
            fail_msg("%s: %s", wrong[i], why.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_success_must_come_within_its_time),
        cmocka_unit_test(a_job_is_done_by_a_time_of_day),
        cmocka_unit_test(a_long_run_is_three_times_the_usual_one),
        cmocka_unit_test(the_strictest_rule_counts_and_a_setting_before_all),
        cmocka_unit_test(hours_are_quiet_in_their_zone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
