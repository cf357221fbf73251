/* SPDX-License-Identifier: MIT */
/* When a schedule is due next: types, texts, zones, delays, validity. */
#include "test.h"

#include "schedule/plan/occurrences.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T INT64_C(1767225600000) /* 2026-01-01T00:00:00Z */
#define T_S (T / 1000)
#define HOUR_MS INT64_C(3600000)

static struct zone *utc;
static struct occurrences *o;

static int setup(void **state)
{
    struct errctx ec;

    (void)state;
    return zone_load("UTC", &utc, &ec) || occurrences_create(utc, 2126, &o, &ec);
}

static int teardown(void **state)
{
    (void)state;
    occurrences_destroy(o);
    zone_destroy(utc);
    return 0;
}

static void next_times_by_type_and_text(void **state)
{
    static const struct {
        const char *type, *conf;
        int64_t from_ms;
        enum err e;
        int64_t next_ms;
    } cases[] = {
        {"CRON", "0 0 12 * * ?", T, ERR_OK, T + 12 * HOUR_MS},
        {"CRON", "* * * * * ?", T, ERR_OK, T + 1000}, /* strictly after */
        {"CRON", "* * * * * ?", T - 1, ERR_OK, T},
        {"CRON", "0 0 0 1 1 ? 2026", T, ERR_NOTFOUND, 0},
        {"CRON", "nonsense", T, ERR_INPUT, 0},
        {"CRON", "", T, ERR_INPUT, 0},
        {"FIX_RATE", "60", T, ERR_OK, T + 60000},
        {"FIX_RATE", "1", T + 1, ERR_OK, T + 2000}, /* up to a whole second, as 3.4.0 and later */
        {"FIX_RATE", "+60", T, ERR_OK, T + 60000},
        {"FIX_RATE", "060", T, ERR_OK, T + 60000},
        {"FIX_RATE", " 60", T, ERR_INPUT, 0},
        {"FIX_RATE", "60.0", T, ERR_INPUT, 0},
        {"FIX_RATE", "abc", T, ERR_INPUT, 0},
        {"FIX_RATE", "", T, ERR_INPUT, 0},
        {"FIX_RATE", "0", T, ERR_INPUT, 0},
        {"FIX_RATE", "-5", T, ERR_INPUT, 0},
        {"FIX_RATE", "3000000", T, ERR_OK, T + INT64_C(3000000000)}, /* more than 31 bits of milliseconds */
        {"FIX_RATE", "2147483647", T, ERR_OK, T + INT64_C(2147483647000)},
        {"FIX_RATE", "2147483648", T, ERR_INPUT, 0},
        {"NONE", "", T, ERR_INPUT, 0},
        {"FIX_DELAY", "60", T, ERR_INPUT, 0}, /* unknown to the original, too */
        {"cron", "* * * * * ?", T, ERR_INPUT, 0},
        {"", "* * * * * ?", T, ERR_INPUT, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_due job = {.schedule_type = cases[i].type, .schedule_conf = cases[i].conf};
        int64_t next_ms = 0;
        char why[WHY_MAX] = "";
        enum err e = occurrences_next(o, &job, cases[i].from_ms, &next_ms, why);

        if (e != cases[i].e || (!e && next_ms != cases[i].next_ms) || (e && !why[0]))
            fail_msg("%s '%s': %s %lld '%s'", cases[i].type, cases[i].conf, err_name(e), (long long)next_ms, why);
    }
}

static void each_job_in_its_own_zone(void **state)
{
    static const struct {
        const char *zone;
        enum err e;
        int64_t hour; /* UTC of midnight there */
    } cases[] = {
        {NULL, ERR_OK, 24},
        {"", ERR_OK, 24},
        {"UTC", ERR_OK, 24},
        {"Asia/Shanghai", ERR_OK, 16},
        {"America/New_York", ERR_OK, 5},
        {"+05:30", ERR_OK, 0 /* see below */},
        {"Mars/Olympus", ERR_INPUT, 0},
        {"../etc/passwd", ERR_INPUT, 0},
    };

    (void)state;
    for (int round = 0; round < 3; round++) /* also from the cache, and one after the other of one text */
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            struct job_due job = {.schedule_type = "CRON", .schedule_conf = "0 0 0 * * ?", .time_zone = cases[i].zone};
            int64_t next_ms = 0, expected_ms = T + cases[i].hour * HOUR_MS;
            char why[WHY_MAX] = "";

            if (cases[i].zone && strcmp(cases[i].zone, "+05:30") == 0)
                expected_ms = T + 18 * HOUR_MS + HOUR_MS / 2;
            assert_int_equal(occurrences_next(o, &job, T, &next_ms, why), cases[i].e);
            if (cases[i].e == ERR_OK)
                assert_int_equal(next_ms, expected_ms);
            else
                assert_non_null(strstr(why, cases[i].zone));
        }
}

/* More zones than are kept: the answers stay right. */
static void many_zones_in_turn(void **state)
{
    (void)state;
    for (int round = 0; round < 2; round++)
        for (int minutes = -700; minutes <= 700; minutes += 5) {
            char zone[16];
            struct job_due job = {.schedule_type = "CRON", .schedule_conf = "0 0 0 * * ?", .time_zone = zone};
            int64_t next_ms = 0, expected_ms = T + 24 * HOUR_MS - minutes * INT64_C(60000);
            char why[WHY_MAX];

            snprintf(zone, sizeof zone, "%c%02d:%02d", minutes < 0 ? '-' : '+', abs(minutes) / 60, abs(minutes) % 60);
            if (expected_ms > T + 24 * HOUR_MS)
                expected_ms -= 24 * HOUR_MS;
            assert_int_equal(occurrences_next(o, &job, T, &next_ms, why), ERR_OK);
            assert_int_equal(next_ms, expected_ms);
        }
}

static void no_occurrence_outside_the_validity(void **state)
{
    static const struct {
        const char *type, *conf;
        int64_t from_s, until_s; /* of the validity, beside T; 0: not set */
        int64_t next_s;          /* -1: none */
    } cases[] = {
        {"CRON", "0 * * * * ?", 0, 0, 60},     {"CRON", "0 * * * * ?", 60, 0, 60},
        {"CRON", "0 * * * * ?", 61, 0, 120},   {"CRON", "0 * * * * ?", 0, 61, 60},
        {"CRON", "0 * * * * ?", 0, 60, -1},    {"CRON", "0 * * * * ?", 61, 120, -1},
        {"CRON", "0 * * * * ?", 61, 121, 120}, {"CRON", "0 * * * * ?", -100, 100, 60},
        {"FIX_RATE", "60", 0, 0, 60},          {"FIX_RATE", "60", 60, 0, 60},
        {"FIX_RATE", "60", 61, 0, 120},        {"FIX_RATE", "60", 86400, 0, 86400},
        {"FIX_RATE", "60", 0, 60, -1},         {"FIX_RATE", "60", 0, 61, 60},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_due job = {.schedule_type = cases[i].type,
                              .schedule_conf = cases[i].conf,
                              .valid_from_s = cases[i].from_s ? T_S + cases[i].from_s : 0,
                              .valid_until_s = cases[i].until_s ? T_S + cases[i].until_s : 0};
        int64_t next_ms = 0, skipped_ms = 0;
        char why[WHY_MAX] = "";
        enum err e = occurrences_next(o, &job, T, &next_ms, why);

        assert_int_equal(e, cases[i].next_s < 0 ? ERR_STATE : ERR_OK);
        assert_int_equal(occurrences_skip_to(o, &job, T, T, &skipped_ms, why), e);
        if (!e) {
            assert_int_equal(next_ms, T + cases[i].next_s * 1000);
            assert_int_equal(skipped_ms, next_ms);
        }
    }
}

static void a_rate_keeps_its_phase_when_it_skips(void **state)
{
    struct job_due job = {.schedule_type = "FIX_RATE", .schedule_conf = "60"};
    int64_t next_ms = 0;
    char why[WHY_MAX];

    (void)state;
    assert_int_equal(occurrences_skip_to(o, &job, T + 7000, T + 100000, &next_ms, why), ERR_OK);
    assert_int_equal(next_ms, T + 127000);
    assert_int_equal(occurrences_skip_to(o, &job, T + 7000, T, &next_ms, why), ERR_OK); /* at least one */
    assert_int_equal(next_ms, T + 67000);
}

static void a_delay_holds_while_the_schedule_says_so(void **state)
{
    static const struct {
        const char *type, *conf;
        int64_t delay_s;
        bool delayed;
    } cases[] = {
        {"FIX_RATE", "60", 60, true},   {"FIX_RATE", "60", 0, false},       {"FIX_RATE", "61", 60, false},
        {"FIX_RATE", "abc", 60, false}, {"CRON", "0 * * * * ?", 60, false}, {"NONE", "60", 60, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_due job = {
            .schedule_type = cases[i].type, .schedule_conf = cases[i].conf, .fixed_delay_s = cases[i].delay_s};

        assert_int_equal(occurrences_is_delayed(&job), cases[i].delayed);
    }
}

static void counts_are_exact_until_their_budget_ends(void **state)
{
    static const struct {
        const char *type, *conf;
        int64_t until_s;
        int64_t count, last_s;
        bool more;
    } cases[] = {
        {"CRON", "* * * * * ?", 10, 10, 10, false},
        {"CRON", "0 * * * * ?", 3600, 60, 3600, false},
        {"CRON", "0 * * * * ?", 59, 0, 0, false},
        {"CRON", "* * * * * ?", -5, 0, 0, false},
        {"CRON", "* * * * * ?", 86400, 20000, 20000, true},
        {"FIX_RATE", "1", 86400, 86400, 86400, false},
        {"FIX_RATE", "7", 20, 2, 14, false},
        {"FIX_RATE", "abc", 20, 0, 0, false},
        {"NONE", "", 20, 0, 0, false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct job_due job = {.schedule_type = cases[i].type, .schedule_conf = cases[i].conf};
        struct occurrences_count c;

        occurrences_begin(o);
        c = occurrences_count(o, &job, T, T + cases[i].until_s * 1000);
        assert_int_equal(c.count, cases[i].count);
        assert_int_equal(c.last_ms, T + cases[i].last_s * 1000);
        assert_int_equal(c.more, cases[i].more);
    }
}

static void the_budget_is_one_for_a_round(void **state)
{
    struct job_due job = {.schedule_type = "CRON", .schedule_conf = "* * * * * ?"};

    (void)state;
    occurrences_begin(o);
    assert_int_equal(occurrences_count(o, &job, T, T + 86400000).count, 20000);
    assert_true(occurrences_count(o, &job, T, T + 5000).more);
    occurrences_begin(o);
    assert_int_equal(occurrences_count(o, &job, T, T + 5000).count, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_times_by_type_and_text),
        cmocka_unit_test(each_job_in_its_own_zone),
        cmocka_unit_test(many_zones_in_turn),
        cmocka_unit_test(no_occurrence_outside_the_validity),
        cmocka_unit_test(a_rate_keeps_its_phase_when_it_skips),
        cmocka_unit_test(a_delay_holds_while_the_schedule_says_so),
        cmocka_unit_test(counts_are_exact_until_their_budget_ends),
        cmocka_unit_test(the_budget_is_one_for_a_round),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
