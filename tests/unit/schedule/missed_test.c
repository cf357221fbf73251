/* SPDX-License-Identifier: MIT */
/* What jobs missed while nobody planned, and how they go on. */
#include "test.h"

#include "shardwheel/schedule.h"

#define T_S INT64_C(1767225600) /* 2026-01-01T00:00:00Z */
#define T (T_S * 1000)
#define HOUR_S 3600

static struct zone *utc;
static struct missed *m;

static int setup(void **state)
{
    struct errctx ec;

    (void)state;
    return zone_load("UTC", &utc, &ec) || missed_create(utc, 2126, &m, &ec);
}

static int teardown(void **state)
{
    (void)state;
    missed_destroy(m);
    zone_destroy(utc);
    return 0;
}

static void what_was_missed_by_type(void **state)
{
    const int64_t at_s = T_S + HOUR_S;
    const struct {
        struct job_due job;
        int64_t count, first_s, last_s;
        int64_t next_ms; /* 0: stopped */
        bool more;
    } cases[] = {
        {{.schedule_type = "CRON", .schedule_conf = "0 * * * * ?", .next_ms = T},
         61,
         T_S,
         at_s,
         T + (HOUR_S + 60) * 1000,
         false},
        /* Due at that very second is missed; the next one is not. */
        {{.schedule_type = "CRON", .schedule_conf = "0 0 * * * ?", .next_ms = T + HOUR_S * 1000},
         1,
         at_s,
         at_s,
         T + 2 * HOUR_S * INT64_C(1000),
         false},
        {{.schedule_type = "CRON", .schedule_conf = "0 0 2 * * ?", .next_ms = T + 2 * HOUR_S * INT64_C(1000)},
         0,
         0,
         0,
         T + 2 * HOUR_S * INT64_C(1000),
         false},
        {{.schedule_type = "FIX_RATE", .schedule_conf = "7", .next_ms = T + 3000},
         514,
         T_S + 3,
         T_S + 3 + 513 * 7,
         T + (3 + 514 * 7) * 1000,
         false},
        {{.schedule_type = "FIX_RATE", .schedule_conf = "30", .fixed_delay_s = 30, .next_ms = T},
         1,
         T_S,
         T_S,
         T + (HOUR_S + 31) * 1000,
         true},
        {{.schedule_type = "CRON", .schedule_conf = "0 0 0 1 1 ? 2026", .next_ms = T}, 1, T_S, T_S, 0, false},
        {{.schedule_type = "CRON", .schedule_conf = "broken", .next_ms = T}, 1, T_S, T_S, 0, false},
        {{.schedule_type = "CRON", .schedule_conf = "0 * * * * ?", .next_ms = 0},
         0,
         0,
         0,
         T + (HOUR_S + 60) * 1000,
         false},
        {{.schedule_type = "CRON", .schedule_conf = "0 * * * * ?", .next_ms = T, .valid_from_s = T_S + 1800},
         31,
         T_S + 1800,
         at_s,
         T + (HOUR_S + 60) * 1000,
         false},
        {{.schedule_type = "CRON", .schedule_conf = "0 * * * * ?", .next_ms = T, .valid_until_s = T_S + 1800},
         30,
         T_S,
         T_S + 1740,
         0,
         false},
        {{.schedule_type = "CRON", .schedule_conf = "0 0 8 * * ?", .time_zone = "Asia/Shanghai", .next_ms = T},
         1,
         T_S,
         T_S,
         T + INT64_C(86400000),
         false},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct skipped skipped;
        struct errctx ec;
        int64_t next_ms = 0;
        bool stop;

        print_message("case %zu\n", i);
        assert_int_equal(missed_find(m, &cases[i].job, at_s, &skipped, &next_ms, &stop, &ec), ERR_OK);
        assert_int_equal(skipped.count, cases[i].count);
        assert_int_equal(skipped.more, cases[i].more);
        if (cases[i].count) {
            assert_int_equal(skipped.first_s, cases[i].first_s);
            assert_int_equal(skipped.last_s, cases[i].last_s);
        }
        assert_int_equal(stop, cases[i].next_ms == 0);
        if (!stop)
            assert_int_equal(next_ms, cases[i].next_ms);
    }
}

/* Beyond the budget of one round of planning, and jobs of one text are counted once. */
static void long_outages_are_counted(void **state)
{
    struct job_due job = {.schedule_type = "CRON", .schedule_conf = "* * * * * ?", .next_ms = T};
    struct skipped skipped;
    struct errctx ec;
    int64_t next_ms;
    bool stop;
    (void)state;

    for (int i = 0; i < 1000; i++) {
        assert_int_equal(missed_find(m, &job, T_S + 100000, &skipped, &next_ms, &stop, &ec), ERR_OK);
        assert_int_equal(skipped.count, 100001);
        assert_false(skipped.more);
        assert_int_equal(skipped.last_s, T_S + 100000);
        assert_int_equal(next_ms, T + 100001 * INT64_C(1000));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_missed_by_type),
        cmocka_unit_test(long_outages_are_counted),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
