/* SPDX-License-Identifier: MIT */
/*
 * Cron expressions: the recorded answers, what is said of refused text, limits of memory and time, days on which
 * clocks change, and allocations that fail.
 */
#include "cron/alloc_fail.h"
#include "shardwheel/cron.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_YEAR 2126
#define NEXT_MAX 8
#define FROM_2026_MS INT64_C(1767225600000)

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

static int64_t next_in(const char *text, const char *zone_name, int64_t from_ms)
{
    struct cron *cron = parse(text);
    struct zone *zone = load_zone(zone_name);
    struct errctx ec = {""};
    int64_t next_ms = -1;

    if (cron_next(cron, zone, from_ms, &next_ms, &ec))
        fail_msg("\"%s\": %s", text, ec.text);
    zone_destroy(zone);
    cron_destroy(cron);
    return next_ms;
}

static enum err next_error(const char *text, int64_t from_ms, struct errctx *ec)
{
    struct cron *cron = parse(text);
    struct zone *zone = load_zone("UTC");
    int64_t next_ms = 77;
    enum err e = cron_next(cron, zone, from_ms, &next_ms, ec);

    assert_int_equal(next_ms, 77); /* results are written on success only */
    zone_destroy(zone);
    cron_destroy(cron);
    return e;
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

/* ---- recorded answers ------------------------------------------------------------------------------------ */

static struct json_object *get(struct json_object *line, const char *key)
{
    struct json_object *value = NULL;

    json_object_object_get_ex(line, key, &value);
    return value;
}

static void check_line(struct json_object *line, size_t number)
{
    const char *text = json_object_get_string(get(line, "expr"));
    struct json_object *expected = get(line, "next");
    bool never_evaluates = get(line, "eval_error") != NULL;
    struct errctx ec = {""};
    struct cron *cron = NULL;
    struct zone *zone;
    int64_t from_ms;

    if (get(line, "error")) {
        if (cron_parse(text, MAX_YEAR, &cron, &ec) != ERR_INPUT || cron != NULL || ec.text[0] == '\0')
            fail_msg("line %zu: \"%s\" should be refused", number, text);
        return;
    }
    cron = parse(text);
    zone = load_zone(json_object_get_string(get(line, "tz")));
    from_ms = json_object_get_int64(get(line, "from"));
    for (size_t i = 0; i < NEXT_MAX; i++) {
        bool wanted = !never_evaluates && i < json_object_array_length(expected);
        int64_t next_ms = 0;
        enum err e = cron_next(cron, zone, from_ms, &next_ms, &ec);

        if (e != (wanted ? ERR_OK : never_evaluates ? ERR_INPUT : ERR_NOTFOUND))
            fail_msg("line %zu: \"%s\": occurrence %zu: error %d, %s", number, text, i + 1, (int)e, ec.text);
        if (!wanted)
            break;
        if (next_ms != json_object_get_int64(json_object_array_get_idx(expected, i)))
            fail_msg("line %zu: \"%s\": occurrence %zu is %" PRId64, number, text, i + 1, next_ms);
        from_ms = next_ms;
    }
    zone_destroy(zone);
    cron_destroy(cron);
}

static void check_file(const char *name, size_t lines)
{
    char path[4096];
    char *text = NULL;
    size_t cap = 0, number = 0;
    FILE *f;

    snprintf(path, sizeof(path), "%s/tests/vectors/%s", SHARDWHEEL_SOURCE_DIR, name);
    f = fopen(path, "r");
    assert_non_null(f);
    while (getline(&text, &cap, f) > 0) {
        struct json_object *line = json_tokener_parse(text);

        assert_non_null(line);
        check_line(line, ++number);
        json_object_put(line);
    }
    free(text);
    fclose(f);
    assert_int_equal(number, lines);
}

static void recorded_answers_agree(void **state)
{
    (void)state;
    check_file("cron.jsonl", 801);
    check_file("cron_eval_error.jsonl", 11);
}

/* ---- text ------------------------------------------------------------------------------------------------ */

static void refusals_name_field_item_and_what_was_expected(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"0 0 25 * * ?", "hour field, item \"25\": 25 is out of range, expected 0 to 23"},
        {"0 0 1-24 * * ?", "hour field, item \"1-24\": the range ends at 24, expected at most 23"},
        {"0 0 12 1 1,Foo ?",
         "month field, item \"Foo\": unknown word, expected a number, a name from JAN to DEC, * or /"},
        {"0 5/61 * * * ?", "minute field, item \"5/61\": step 61 is too large, expected at most 59"},
        {"0 5/x * * * ?", "minute field, item \"5/x\": expected a number at character 3"},
        {"0 0 12 ? * 6#7", "day-of-week field, item \"6#7\": 7 follows the #, expected 1 to 5"},
        {"0 0 12 L-40 * ?", "day-of-month field, item \"L-40\": 40 days before the last, expected at most 30"},
        {"0 0 12 * * ? 2030-2020", "year field, item \"2030-2020\": years run from 2030 to 2020, expected a later end"},
        {"0 0 12 * * ? 2127/1", "year field, item \"2127/1\": the first year is after the last that is searched, 2126"},
        {"0 0 12 * *", "number of fields: found 5, expected 6 or 7: second minute hour day-of-month month day-of-week "
                       "[year]"},
        {"0 0 12 1 * MON", "day-of-month and day-of-week are both given, expected exactly one of them to be ?"},
        {"0 0 12 * * ? * now", "text after the seventh field: \"now\", expected 6 or 7 fields"},
        {"-\n- 1 * * ? *", "second field, item \"-.-\": expected a number, * or /"}, /* no line breaks in messages */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct errctx ec = {""};
        struct cron *cron = NULL;

        assert_int_equal(cron_parse(cases[i].text, MAX_YEAR, &cron, &ec), ERR_INPUT);
        assert_null(cron);
        assert_string_equal(ec.text, cases[i].message);
    }
    assert_int_equal(cron_parse(NULL, MAX_YEAR, &(struct cron *){NULL}, NULL), ERR_INPUT);
}

static void refusals_say_where_it_is_wrong(void **state)
{
    static const struct {
        const char *text;
        size_t at, len;
    } cases[] = {
        {"0 0 61 * * ?", 4, 2}, {"0 1,99x,70 * * * ?", 8, 2},     {"  0 X 0 * * ?", 4, 1},
        {"0 0 12 * *", 10, 0},  {"0 0 12 * * ? 2030 x y", 18, 3}, {"0 0 12 1 1 1", 7, 5},
        {"0 0 12 ? 1 ?", 7, 5}, {"0 0 12 ? 1 L,2", 11, 3},        {"", 0, 0},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cron_fault fault = {999, 999};
        struct cron *cron = NULL;

        assert_int_equal(cron_parse_at(cases[i].text, MAX_YEAR, &cron, &fault, NULL), ERR_INPUT);
        if (fault.at != cases[i].at || fault.len != cases[i].len)
            fail_msg("\"%s\": at %zu, %zu bytes", cases[i].text, fault.at, fault.len);
    }
    assert_int_equal(cron_parse_at(NULL, MAX_YEAR, &(struct cron *){NULL}, &(struct cron_fault){0}, NULL), ERR_INPUT);
}

static void a_long_item_is_cut_between_characters(void **state)
{
    struct errctx ec = {""};
    struct cron *cron = NULL;
    char text[1000] = "";

    (void)state;
    for (int i = 0; i < 300; i++)
        strcat(text, "\u65f6"); /* three bytes each: 44 bytes hold 14 of them and two bytes more */
    assert_int_equal(cron_parse(text, MAX_YEAR, &cron, &ec), ERR_INPUT);
    assert_string_equal(ec.text, "second field, item \"\u65f6\u65f6\u65f6\u65f6\u65f6\u65f6\u65f6\u65f6\u65f6\u65f6"
                                 "\u65f6\u65f6\u65f6\u65f6...\": expected a number, * or /");
}

static void a_set_without_values_fails_when_evaluated(void **state)
{
    struct errctx ec = {""};

    (void)state;
    assert_int_equal(next_error("0 , * * * ?", FROM_2026_MS, &ec), ERR_INPUT);
    assert_string_equal(ec.text, "minute field: there is no value in it, expected at least one");
    assert_int_equal(next_error("0 0 12 1 L ?", FROM_2026_MS, &ec), ERR_INPUT);
    assert_string_equal(ec.text, "month field: there is no value in it, expected at least one");
    assert_int_equal(next_error("0 0 12 , * ?", FROM_2026_MS, &ec), ERR_NOTFOUND); /* as recorded: null, no error */
}

/* ---- limits ---------------------------------------------------------------------------------------------- */

static void huge_numbers_cost_neither_time_nor_memory(void **state)
{
    long live = alloc_live;

    (void)state;
    for (int i = 0; i < 3000; i++) { /* value by value this takes an hour, and gigabytes in a set of numbers */
        struct cron *cron = parse("0 0 0 1 1 ? 1970-2147483647");

        if (alloc_fail_works)
            assert_int_equal(alloc_live, live + 1);
        cron_destroy(cron);
    }
    assert_int_equal(next_in("0 0 0 1 1 ? 1970-2147483647", "UTC", FROM_2026_MS), at_ms("UTC", 2027, 1, 1, 0, 0, 0));
    assert_int_equal(next_in("0 0 0 1 1 ? 1970-2147483647/2147483647", "UTC", -1), 0);
    assert_int_equal(next_in("1-5/2147483647 0 0 1 1 ?", "UTC", FROM_2026_MS), FROM_2026_MS + 1000);
    assert_int_equal(next_in("0 0 0 1 1 ? */2147483647", "UTC", -1), 0);
}

static void assert_never_fires(const char *const *texts, size_t count, const char *zone_name, int rounds)
{
    struct zone *zone = load_zone(zone_name);

    for (size_t i = 0; i < count; i++) {
        struct cron *cron = parse(texts[i]);
        int64_t next_ms;

        for (int round = 0; round < rounds; round++)
            assert_int_equal(cron_next(cron, zone, FROM_2026_MS, &next_ms, NULL), ERR_NOTFOUND);
        cron_destroy(cron);
    }
    zone_destroy(zone);
}

static void what_never_fires_is_found_out(void **state)
{
    static const char *const never[] = {
        "0 0 0 30 2 ?",     "0 0 0 31 4,6,9,11 ?", "0 0 0 L-30 2,4 ?", "0 0 0 ? 2 1#5 2027-2031", "0 0 0 1 1 ? 1969",
        "0 0 0 1 1 ? 2500", "0 0 0 * * ? ,",       "0 30 2 ? 3 1#2",   "0 0 0 ? * 8#1",           "0 0 0 0W * ?",
    };

    (void)state;
    assert_never_fires(never, ARRAY_LEN(never), "America/New_York", 1);
}

/* Sets without any possible day are known at once. Walking through the months of a thousand years for each of
 * these would take half an hour. */
static void days_that_do_not_exist_are_not_searched(void **state)
{
    static const char *const never[] = {"0 0 0 0W * ?", "0 0 0 ? * 8#1", "0 0 0 ? * 2147483647#1", "0 0 0 , * ?"};

    (void)state;
    assert_never_fires(never, ARRAY_LEN(never), "UTC", 1000000);
}

static void any_start_is_accepted(void **state)
{
    struct errctx ec = {""};

    (void)state;
    for (int i = 0; i < 50; i++)
        assert_int_equal(next_error("0 0 0 30 2 ?", INT64_MIN, &ec),
                         ERR_NOTFOUND); /* from year 1, not from -292 million */
    assert_int_equal(next_in("0 0 0 1 1 ?", "UTC", INT64_MIN), 0);
    assert_int_equal(next_in("* * * * * ?", "Asia/Shanghai", INT64_MIN), -8 * INT64_C(3600000));
    assert_int_equal(next_error("* * * * * ?", INT64_MAX, &ec), ERR_NOTFOUND);
    assert_int_equal(next_error("* * * * * ?", INT64_MAX - 1000, &ec), ERR_NOTFOUND);
    assert_string_equal(ec.text, "no occurrence up to the end of year 2126");
    assert_int_equal(next_in("* * * * * ?", "UTC", at_ms("UTC", 2126, 12, 31, 23, 59, 58)),
                     at_ms("UTC", 2126, 12, 31, 23, 59, 59));
    assert_int_equal(next_error("* * * * * ?", at_ms("UTC", 2126, 12, 31, 23, 59, 59), &ec), ERR_NOTFOUND);
    assert_int_equal(next_in("* * * * * ?", "UTC", -1), 0);
    assert_int_equal(next_in("* * * * * ?", "UTC", 999), 1000);
    assert_int_equal(next_in("* * * * * ?", "UTC", 1000), 2000);
}

/* ---- days on which clocks change ------------------------------------------------------------------------- */

static void skipped_and_repeated_times(void **state)
{
    const char *ny = "America/New_York";
    int64_t midnight = at_ms(ny, 2026, 11, 1, 0, 0, 0);

    (void)state;
    /* 2026-03-08 02:00 to 03:00 is skipped: not moved, but left out. */
    assert_int_equal(next_in("0 30 2 * * ?", ny, at_ms(ny, 2026, 3, 7, 12, 0, 0)), at_ms(ny, 2026, 3, 9, 2, 30, 0));
    assert_int_equal(next_in("0 0 * * * ?", ny, at_ms(ny, 2026, 3, 8, 1, 0, 0)), at_ms(ny, 2026, 3, 8, 3, 0, 0));
    /* 2026-11-01 01:00 to 02:00 comes twice: each time fires once, in the second pass. */
    assert_int_equal(next_in("0 30 1 * * ?", ny, midnight), midnight + 2 * INT64_C(3600000) + 1800000);
    assert_int_equal(next_in("0 0/15 * * * ?", ny, midnight + 45 * 60000), midnight + 2 * INT64_C(3600000));
    assert_int_equal(next_in("* * * * * ?", ny, midnight + INT64_C(3600000)), midnight + 2 * INT64_C(3600000) + 1000);
    /* 2024-03-31 01:00 to 03:00: leaving the gap by one hour at a time loses 03:00. */
    assert_int_equal(next_in("0 0 * * * ?", "Antarctica/Troll", at_ms("Antarctica/Troll", 2024, 3, 31, 0, 0, 0)),
                     at_ms("Antarctica/Troll", 2024, 3, 31, 4, 0, 0));
    /* 2011-12-30 did not exist. */
    assert_int_equal(next_in("0 0 12 * * ?", "Pacific/Apia", at_ms("Pacific/Apia", 2011, 12, 29, 12, 0, 0)),
                     at_ms("Pacific/Apia", 2011, 12, 31, 12, 0, 0));
    /* 2024-04-26, a Friday, 00:00 to 01:00: a W day keeps the time it was reached with, and only that may stand
     * in a gap. */
    assert_int_equal(next_in("0 30 0 26W 4 ?", "Africa/Cairo", at_ms("Africa/Cairo", 2024, 4, 10, 0, 0, 0)),
                     at_ms("Africa/Cairo", 2024, 4, 26, 1, 30, 0));
}

/* ---- allocations ----------------------------------------------------------------------------------------- */

static void failing_allocations_leak_nothing(void **state)
{
    long live = alloc_live;
    bool failed = true;

    (void)state;
    if (!alloc_fail_works)
        skip();
    for (long n = 1; failed; n++) {
        struct errctx ec = {""};
        struct cron *cron = NULL;
        enum err e;

        alloc_fail_start(n);
        e = cron_parse("0 0 0 L-3W JAN,DEC ? 2026/2", MAX_YEAR, &cron, &ec);
        failed = alloc_fail_stop();
        assert_int_equal(e, failed ? ERR_NOMEM : ERR_OK);
        assert_int_equal(cron != NULL, !failed);
        cron_destroy(cron);
        assert_int_equal(alloc_live, live);
        assert_true(n == 1 ? failed : true); /* a parse without any allocation would test nothing */
    }
    alloc_fail_start(1);
    assert_int_equal(cron_parse("0 0 0 * * *", MAX_YEAR, &(struct cron *){NULL}, NULL), ERR_NOMEM);
    alloc_fail_stop();
    assert_int_equal(cron_parse("0 0 0 * * *", MAX_YEAR, &(struct cron *){NULL}, NULL), ERR_INPUT);
    assert_int_equal(alloc_live, live);
}

static void searching_allocates_nothing(void **state)
{
    struct cron *cron = parse("0 0/7 1-3 15W * ?");
    struct zone *zone = load_zone("America/New_York");
    int64_t from_ms = FROM_2026_MS;

    (void)state;
    for (int i = 0; alloc_fail_works && i < 200; i++) {
        enum err e;

        alloc_fail_start(1);
        e = cron_next(cron, zone, from_ms, &from_ms, NULL);
        assert_false(alloc_fail_stop());
        assert_int_equal(e, ERR_OK);
    }
    zone_destroy(zone);
    cron_destroy(cron);
    cron_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_answers_agree),
        cmocka_unit_test(refusals_name_field_item_and_what_was_expected),
        cmocka_unit_test(refusals_say_where_it_is_wrong),
        cmocka_unit_test(a_long_item_is_cut_between_characters),
        cmocka_unit_test(a_set_without_values_fails_when_evaluated),
        cmocka_unit_test(huge_numbers_cost_neither_time_nor_memory),
        cmocka_unit_test(what_never_fires_is_found_out),
        cmocka_unit_test(days_that_do_not_exist_are_not_searched),
        cmocka_unit_test(any_start_is_accepted),
        cmocka_unit_test(skipped_and_repeated_times),
        cmocka_unit_test(failing_allocations_leak_nothing),
        cmocka_unit_test(searching_allocates_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
