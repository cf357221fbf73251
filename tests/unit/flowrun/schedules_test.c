/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "flowrun/schedules.h"

#define NOON_S 1764504000 /* 2025-11-30T12:00:00Z */
#define MINUTE_S 60

static struct zone *utc;

static int load_zone(void **state)
{
    struct errctx ec;

    (void)state;
    return zone_load("UTC", &utc, &ec) ? -1 : 0;
}

static int drop_zone(void **state)
{
    (void)state;
    zone_destroy(utc);
    return 0;
}

static int64_t next(struct flow_settings settings, int64_t due_s, int64_t from_s)
{
    return schedules_find_next(&settings, utc, 2200, due_s, from_s);
}

static struct flow_start plan(struct flow_settings settings, int64_t due_s, int64_t now_s)
{
    struct flow_start start = {.flow = {.id = 1, .version = 1, .next_s = due_s}};

    schedules_plan(&settings, utc, 2200, now_s, &start);
    return start;
}

static void expressions_and_rates_have_a_next_time(void **state)
{
    const struct flow_settings hourly = {.cron = "0 0 * * * ?"};
    const struct flow_settings rate = {.every_s = 90};

    (void)state;
    assert_int_equal(next(hourly, 0, NOON_S), NOON_S + 3600);
    assert_int_equal(next(hourly, NOON_S, NOON_S + 1800), NOON_S + 3600);
    assert_int_equal(next(rate, 0, NOON_S), NOON_S + 90);
    assert_int_equal(next(rate, NOON_S, NOON_S), NOON_S + 90);
    assert_int_equal(next(rate, NOON_S, NOON_S + 1000), NOON_S + 12 * 90); /* its phase stays */
    assert_int_equal(next((struct flow_settings){0}, 0, NOON_S), 0);
    assert_int_equal(next((struct flow_settings){.delay_s = 60}, NOON_S, NOON_S), 0); /* when its run has ended */
}

static void no_due_time_is_outside_of_its_validity(void **state)
{
    (void)state;
    assert_int_equal(next((struct flow_settings){.cron = "0 0 * * * ?", .from_s = NOON_S + 5000}, 0, NOON_S),
                     NOON_S + 7200);
    assert_int_equal(next((struct flow_settings){.cron = "0 0 * * * ?", .until_s = NOON_S + 3600}, 0, NOON_S), 0);
    assert_int_equal(next((struct flow_settings){.every_s = 60, .until_s = NOON_S + 60}, NOON_S, NOON_S), 0);
    assert_int_equal(next((struct flow_settings){.every_s = 60, .until_s = NOON_S + 61}, NOON_S, NOON_S), NOON_S + 60);
}

static void a_flow_that_is_due_has_a_run(void **state)
{
    const struct flow_settings settings = {.every_s = 90, .policy = FLOW_QUEUE, .queue_max = 7};
    struct flow_start start = plan(settings, NOON_S, NOON_S + FLOW_MISSED_S);

    (void)state;
    assert_true(start.run);
    assert_int_equal(start.kind, 'C');
    assert_int_equal(start.policy, FLOW_QUEUE);
    assert_int_equal(start.queue_max, 7);
    assert_null(start.missed);
    assert_int_equal(start.new_next_s, NOON_S + 90);
}

/* Each due time that is late has its run, as long as it is not missed. */
static void what_is_a_little_late_is_not_left_out(void **state)
{
    struct flow_start start = plan((struct flow_settings){.every_s = 10}, NOON_S, NOON_S + 35);

    (void)state;
    assert_true(start.run);
    assert_int_equal(start.new_next_s, NOON_S + 10);
}

static void missed_due_times_have_no_run_or_one(void **state)
{
    struct flow_settings settings = {.every_s = MINUTE_S};
    struct flow_start start = plan(settings, NOON_S, NOON_S + FLOW_MISSED_S + 1);

    (void)state;
    assert_false(start.run);
    assert_non_null(start.missed);
    assert_int_equal(start.new_next_s, NOON_S + 2 * MINUTE_S);
    settings.misfire_once = true;
    start = plan(settings, NOON_S, NOON_S + 100 * MINUTE_S + 5);
    assert_true(start.run);
    assert_int_equal(start.kind, 'F');
    assert_null(start.missed);
    assert_int_equal(start.new_next_s, NOON_S + 101 * MINUTE_S);
}

/* Nothing would make it due again otherwise. */
static void a_missed_delay_begins_anew(void **state)
{
    struct flow_start start = plan((struct flow_settings){.delay_s = 30}, NOON_S, NOON_S + 1000);

    (void)state;
    assert_false(start.run);
    assert_int_equal(start.new_next_s, NOON_S + 1030);
    start = plan((struct flow_settings){.every_s = 30}, NOON_S, NOON_S);
    assert_int_equal(start.skipped_next_s, 0);
    start = plan((struct flow_settings){.delay_s = 30}, NOON_S, NOON_S);
    assert_true(start.run);
    assert_int_equal(start.new_next_s, 0);
    assert_int_equal(start.skipped_next_s, NOON_S + 30); /* a run by hand is open: it has none that could end */
}

static void a_delay_ends_with_its_validity(void **state)
{
    const struct flow_settings settings = {.delay_s = 30, .until_s = NOON_S + 100};

    (void)state;
    assert_int_equal(schedules_find_delayed(&settings, NOON_S + 69), NOON_S + 99);
    assert_int_equal(schedules_find_delayed(&settings, NOON_S + 70), 0);
    assert_int_equal(schedules_find_delayed(&(struct flow_settings){.every_s = 30}, NOON_S), 0);
    assert_int_equal(plan(settings, NOON_S, NOON_S + 1000).new_next_s, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(expressions_and_rates_have_a_next_time),
                                       cmocka_unit_test(no_due_time_is_outside_of_its_validity),
                                       cmocka_unit_test(a_flow_that_is_due_has_a_run),
                                       cmocka_unit_test(what_is_a_little_late_is_not_left_out),
                                       cmocka_unit_test(missed_due_times_have_no_run_or_one),
                                       cmocka_unit_test(a_missed_delay_begins_anew),
                                       cmocka_unit_test(a_delay_ends_with_its_validity)};

    return cmocka_run_group_tests(tests, load_zone, drop_zone);
}
