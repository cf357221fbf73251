/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "schedule/ring/wheel.h"

static struct fire *make(int64_t id, int64_t due_s)
{
    struct fire *fire = fire_create();

    assert_non_null(fire);
    fire->log_id = id;
    fire->due_s = due_s;
    return fire;
}

static size_t drain_count(struct wheel *w, int64_t second_s)
{
    struct fire *list = wheel_drain(w, second_s);
    size_t n = 0;

    for (struct fire *fire = list; fire; fire = fire->next) {
        assert_true(fire->due_s <= second_s);
        n++;
    }
    fire_destroy_list(list);
    return n;
}

static void fires_leave_at_their_second_and_once(void **state)
{
    struct wheel w;

    (void)state;
    wheel_init(&w);
    for (int64_t i = 0; i < 5; i++)
        wheel_push(&w, make(i, 1000 + i));
    assert_int_equal(wheel_count(&w), 5);
    assert_int_equal(drain_count(&w, 999), 0);
    assert_int_equal(drain_count(&w, 1000), 1);
    assert_int_equal(drain_count(&w, 1000), 0);
    assert_int_equal(drain_count(&w, 1001), 1);
    assert_int_equal(drain_count(&w, 1003), 2);
    assert_int_equal(wheel_count(&w), 1);
    wheel_fini(&w);
}

static void later_laps_stay(void **state)
{
    struct wheel w;

    (void)state;
    wheel_init(&w);
    wheel_push(&w, make(1, 1000));
    wheel_push(&w, make(2, 1060));
    wheel_push(&w, make(3, 1120));
    assert_int_equal(drain_count(&w, 1000), 1);
    assert_int_equal(drain_count(&w, 1060), 1);
    assert_int_equal(drain_count(&w, 1119), 0);
    assert_int_equal(drain_count(&w, 1120), 1);
    wheel_fini(&w);
}

/* Pushed after its second was drained: it goes out with the next drain, not 60 s later. */
static void a_late_push_goes_out_next(void **state)
{
    struct wheel w;

    (void)state;
    wheel_init(&w);
    for (int64_t late_s = 0; late_s < 3 * WHEEL_SLOTS; late_s++) {
        wheel_push(&w, make(1, 5000 - late_s));
        assert_int_equal(drain_count(&w, 5000), 1);
        wheel_push(&w, make(1, 5001 - late_s));
        assert_int_equal(drain_count(&w, 5001), 1);
    }
    wheel_fini(&w);
}

/* What a takeover loads when nobody was there for a while: its slot may be that of a second to come. */
static void the_first_drain_takes_all_that_is_late(void **state)
{
    (void)state;
    for (int64_t late_s = 0; late_s < 3 * WHEEL_SLOTS; late_s++) {
        struct wheel w;

        wheel_init(&w);
        wheel_push(&w, make(1, 5000 - late_s));
        wheel_push(&w, make(2, 5003));
        assert_int_equal(drain_count(&w, 5000), 1);
        assert_int_equal(drain_count(&w, 5002), 0);
        assert_int_equal(drain_count(&w, 5003), 1);
        wheel_fini(&w);
    }
}

/* Both at once: pushed late, and the next drain leaves seconds out. */
static void a_late_push_goes_out_whatever_is_left_out(void **state)
{
    (void)state;
    for (int64_t late_s = 0; late_s < 2 * WHEEL_SLOTS; late_s++) {
        for (int64_t seconds = 0; seconds < 2 * WHEEL_SLOTS; seconds++) {
            struct wheel w;

            wheel_init(&w);
            assert_int_equal(drain_count(&w, 5000), 0);
            wheel_push(&w, make(1, 5000 - late_s));
            assert_int_equal(drain_count(&w, 5000 + seconds), 1);
            wheel_fini(&w);
        }
    }
}

static void a_drain_that_leaves_seconds_out_takes_all_that_is_late(void **state)
{
    (void)state;
    for (int64_t seconds = 1; seconds < 6 * WHEEL_SLOTS; seconds++) {
        struct wheel w;

        wheel_init(&w);
        assert_int_equal(drain_count(&w, 5000), 0);
        for (int64_t ahead_s = 1; ahead_s <= WHEEL_AHEAD_S; ahead_s++)
            wheel_push(&w, make(ahead_s, 5000 + ahead_s));
        assert_int_equal(drain_count(&w, 5000 + seconds), seconds < WHEEL_AHEAD_S ? seconds : WHEEL_AHEAD_S);
        wheel_fini(&w);
    }
}

static void seconds_before_the_epoch_have_a_slot(void **state)
{
    struct wheel w;

    (void)state;
    wheel_init(&w);
    wheel_push(&w, make(1, -7));
    assert_int_equal(drain_count(&w, -8), 0);
    assert_int_equal(drain_count(&w, -7), 1);
    wheel_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fires_leave_at_their_second_and_once),
        cmocka_unit_test(later_laps_stay),
        cmocka_unit_test(a_late_push_goes_out_next),
        cmocka_unit_test(a_late_push_goes_out_whatever_is_left_out),
        cmocka_unit_test(the_first_drain_takes_all_that_is_late),
        cmocka_unit_test(a_drain_that_leaves_seconds_out_takes_all_that_is_late),
        cmocka_unit_test(seconds_before_the_epoch_have_a_slot),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
