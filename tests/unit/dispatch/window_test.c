/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dispatch/window.h"

#define MOST 64
#define START 1000000
#define ENOUGH 2010 /* quick answers from the least to the most: one for each that may be under way, again and again */

static struct window w;
static int64_t now; /* monotonic, ms */

static int set_up(void **state)
{
    (void)state;
    window_init(&w, MOST);
    now = START;
    return 0;
}

static int get(void)
{
    return window_get(&w, now);
}

/* So many answers, one every millisecond, while fires wait. */
static void answer(int count, int64_t took_ms)
{
    for (int i = 0; i < count; i++)
        window_note_answer(&w, took_ms, WINDOW_WAITING, ++now);
}

static void it_begins_with_the_least(void **state)
{
    (void)state;
    assert_int_equal(get(), WINDOW_LEAST);
    window_init(&w, 2);
    assert_int_equal(get(), 2);
    answer(100, 0);
    assert_int_equal(get(), 2);
}

static void quick_answers_make_it_grow_up_to_the_most(void **state)
{
    (void)state;
    answer(WINDOW_LEAST - 1, 0);
    assert_int_equal(get(), WINDOW_LEAST);
    answer(1, 1);
    assert_int_equal(get(), WINDOW_LEAST + 1);
    answer(ENOUGH - WINDOW_LEAST - 1, 10); /* so little is quick, whatever the quickest took */
    assert_int_equal(get(), MOST - 1);
    answer(1000, 10);
    assert_int_equal(get(), MOST);
}

static void without_fires_that_wait_it_does_not_grow(void **state)
{
    (void)state;
    for (int i = 0; i < ENOUGH; i++)
        window_note_answer(&w, 0, WINDOW_ENOUGH, ++now);
    assert_int_equal(get(), WINDOW_LEAST);
}

static void in_a_hurry_each_quick_answer_adds_one(void **state)
{
    (void)state;
    for (int i = 0; i < 10; i++)
        window_note_answer(&w, 0, WINDOW_HURRY, ++now);
    assert_int_equal(get(), WINDOW_LEAST + 10);
    for (int i = 0; i < 100; i++)
        window_note_answer(&w, 0, WINDOW_HURRY, ++now);
    assert_int_equal(get(), MOST);
}

static void a_far_but_steady_executor_is_quick(void **state)
{
    (void)state;
    answer(ENOUGH, 45);
    assert_int_equal(get(), MOST);
    answer(1, 90);
    assert_int_equal(get(), MOST);
    answer(1, 91);
    assert_int_equal(get(), MOST / 2);
}

static void slower_answers_halve_it_once_for_those_under_way(void **state)
{
    (void)state;
    answer(ENOUGH, 2);
    assert_int_equal(get(), MOST);
    answer(1, 11);
    assert_int_equal(get(), MOST / 2);
    answer(MOST, 11); /* what was under way then */
    assert_int_equal(get(), MOST / 2);
    answer(1, 11);
    assert_int_equal(get(), MOST / 4);
    answer(1000, 11);
    assert_int_equal(get(), WINDOW_LEAST);
    answer(WINDOW_LEAST, 2);
    assert_int_equal(get(), WINDOW_LEAST + 1);
}

static void what_is_slow_by_any_measure_gets_the_least_at_once(void **state)
{
    (void)state;
    answer(ENOUGH, 2);
    answer(1, 101);
    assert_int_equal(get(), WINDOW_LEAST);
    answer(1000, 2);
    window_note_failure(&w);
    assert_int_equal(get(), WINDOW_LEAST);
    window_init(&w, MOST);
    answer(10000, 1000); /* steady, but slow */
    assert_int_equal(get(), WINDOW_LEAST);
}

static void silence_gets_the_least_until_something_is_heard(void **state)
{
    (void)state;
    answer(ENOUGH, 2);
    now += 100;
    assert_int_equal(get(), MOST);
    now += 1;
    assert_int_equal(get(), WINDOW_LEAST);
    answer(1, 2);
    assert_int_equal(get(), MOST);
}

/* An executor that moved away, or has become slower for good, is not measured by what it was. */
static void the_quickest_answer_is_forgotten(void **state)
{
    (void)state;
    answer(10, 1);
    answer(9000, 30);
    assert_int_equal(get(), WINDOW_LEAST);
    answer(10900, 30);
    assert_int_equal(get(), WINDOW_LEAST);
    answer(100 + ENOUGH, 30);
    assert_int_equal(get(), MOST);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup(f, set_up)
    const struct CMUnitTest tests[] = {
        T(it_begins_with_the_least),
        T(quick_answers_make_it_grow_up_to_the_most),
        T(without_fires_that_wait_it_does_not_grow),
        T(in_a_hurry_each_quick_answer_adds_one),
        T(a_far_but_steady_executor_is_quick),
        T(slower_answers_halve_it_once_for_those_under_way),
        T(what_is_slow_by_any_measure_gets_the_least_at_once),
        T(silence_gets_the_least_until_something_is_heard),
        T(the_quickest_answer_is_forgotten),
    };

    return cmocka_run_group_tests_name("dispatch.window", tests, NULL, NULL);
}
