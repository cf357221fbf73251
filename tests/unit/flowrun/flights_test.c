/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "flowrun/flights.h"

static void add(struct flights *f, int64_t log_id, int64_t run_id, int64_t now_ms)
{
    struct errctx ec;

    assert_int_equal(flights_add(f, (struct flow_fire){log_id, run_id}, now_ms, &ec), ERR_OK);
}

static size_t take(struct flights *f, int64_t now_ms, size_t max)
{
    struct flow_fire out[600];

    return flights_take_due(f, now_ms, out, max);
}

static void a_young_fire_is_looked_at_often(void **state)
{
    struct flights f = {0};

    (void)state;
    add(&f, 1, 1, 1000);
    assert_int_equal(flights_find_next_ms(&f), 1000 + FLIGHT_LOOK_MIN_MS);
    assert_int_equal(take(&f, 1000 + FLIGHT_LOOK_MIN_MS - 1, 10), 0);
    assert_int_equal(take(&f, 1000 + FLIGHT_LOOK_MIN_MS, 10), 1);
    assert_int_equal(flights_find_next_ms(&f), 1000 + 2 * FLIGHT_LOOK_MIN_MS);
    flights_fini(&f);
}

static void an_old_fire_is_looked_at_once_a_second(void **state)
{
    struct flights f = {0};

    (void)state;
    add(&f, 1, 1, 1000);
    assert_int_equal(take(&f, 3000, 10), 1);
    assert_int_equal(flights_find_next_ms(&f), 3000 + 2000 / 20);
    assert_int_equal(take(&f, 1000000, 10), 1);
    assert_int_equal(flights_find_next_ms(&f), 1000000 + FLIGHT_LOOK_MAX_MS);
    flights_fini(&f);
}

static void no_more_are_taken_than_asked_for(void **state)
{
    struct flights f = {0};

    (void)state;
    for (int i = 1; i <= 600; i++)
        add(&f, i, i, 0);
    assert_int_equal(take(&f, 100, 400), 400);
    assert_int_equal(take(&f, 100, 600), 200); /* the others have been looked at */
    assert_int_equal(take(&f, 100, 600), 0);
    flights_fini(&f);
}

static void none_waits_behind_those_that_are_due_again(void **state)
{
    struct flights f = {0};
    struct flow_fire out[4];

    (void)state;
    for (int i = 1; i <= 4; i++)
        add(&f, i, i, 0);
    assert_int_equal(flights_take_due(&f, 100, out, 3), 3);
    assert_int_equal(flights_take_due(&f, 200, out, 3), 3);
    assert_int_equal(out[0].log_id, 4);
    assert_int_equal(out[1].log_id, 1);
    flights_fini(&f);
}

static bool has(const struct flights *f, int64_t log_id)
{
    for (size_t i = 0; i < f->count; i++)
        if (f->list[i].fire.log_id == log_id)
            return true;
    return false;
}

static void fires_are_dropped_by_run_shard_and_log(void **state)
{
    static const int64_t logs[] = {11, 50};
    struct flights f = {0};

    (void)state;
    for (int run = 1; run <= 6; run++)
        for (int i = 0; i < 2; i++)
            add(&f, run * 10 + i, run, 0);
    flights_drop_run(&f, 2);
    assert_int_equal(f.count, 10);
    assert_false(has(&f, 20) || has(&f, 21));
    flights_drop_logs(&f, logs, 2);
    assert_int_equal(f.count, 8);
    assert_false(has(&f, 11) || has(&f, 50));
    flights_drop_logs(&f, logs, 0);
    assert_int_equal(f.count, 8);
    flights_drop_shard(&f, 1, 3); /* runs 1 and 4 */
    assert_int_equal(f.count, 5);
    assert_false(has(&f, 10) || has(&f, 40) || has(&f, 41));
    assert_true(has(&f, 30) && has(&f, 51) && has(&f, 60));
    flights_clear(&f);
    assert_int_equal(flights_find_next_ms(&f), INT64_MAX);
    flights_fini(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_young_fire_is_looked_at_often),
                                       cmocka_unit_test(an_old_fire_is_looked_at_once_a_second),
                                       cmocka_unit_test(no_more_are_taken_than_asked_for),
                                       cmocka_unit_test(none_waits_behind_those_that_are_due_again),
                                       cmocka_unit_test(fires_are_dropped_by_run_shard_and_log)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
