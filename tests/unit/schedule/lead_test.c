/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "schedule/ring/lead.h"

static struct lead l;

static int setup(void **state)
{
    (void)state;
    lead_init(&l);
    return 0;
}

static void note(int count, int64_t took_ms)
{
    for (int i = 0; i < count; i++)
        lead_note(&l, took_ms);
}

static void it_begins_with_the_most(void **state)
{
    (void)state;
    assert_int_equal(lead_get_ms(&l, 0), LEAD_MOST_MS);
    note(LEAD_SAMPLES_LEAST - 1, 1);
    assert_int_equal(lead_get_ms(&l, 0), LEAD_MOST_MS);
    note(1, 1);
    assert_int_equal(lead_get_ms(&l, 0), LEAD_LEAST_MS);
}

static void it_follows_the_99th_percentile(void **state)
{
    (void)state;
    note(LEAD_SAMPLES, 30);
    assert_int_equal(lead_get_ms(&l, 0), 30 + LEAD_MARGIN_MS);
    note(2, 150); /* two of 256 are less than one of 100 */
    assert_int_equal(lead_get_ms(&l, 0), 30 + LEAD_MARGIN_MS);
    note(1, 150);
    assert_int_equal(lead_get_ms(&l, 0), 150 + LEAD_MARGIN_MS);
    note(LEAD_SAMPLES - 3, 40);
    assert_int_equal(lead_get_ms(&l, 0), 150 + LEAD_MARGIN_MS);
    note(1, 40); /* the first of the three is forgotten */
    assert_int_equal(lead_get_ms(&l, 0), 40 + LEAD_MARGIN_MS);
}

/* With less than a hundred the slowest one counts. */
static void few_samples_count_in_full(void **state)
{
    (void)state;
    note(99, 30);
    note(1, 90);
    assert_int_equal(lead_get_ms(&l, 0), 30 + LEAD_MARGIN_MS);
    lead_init(&l);
    note(98, 30);
    note(1, 90);
    assert_int_equal(lead_get_ms(&l, 0), 90 + LEAD_MARGIN_MS);
}

static void it_stays_within_its_bounds(void **state)
{
    (void)state;
    note(LEAD_SAMPLES, 0);
    assert_int_equal(lead_get_ms(&l, 0), LEAD_LEAST_MS);
    note(LEAD_SAMPLES, 100000);
    assert_int_equal(lead_get_ms(&l, 0), LEAD_MOST_MS);
}

static void many_fires_take_longer(void **state)
{
    (void)state;
    note(LEAD_SAMPLES, 20);
    assert_int_equal(lead_get_ms(&l, 1000), 20 + LEAD_MARGIN_MS + 1000 / LEAD_FIRES_PER_MS);
    assert_int_equal(lead_get_ms(&l, 1000000000), LEAD_MOST_MS);
}

int main(void)
{
#define LEAD_TEST(name) cmocka_unit_test_setup(name, setup)
    const struct CMUnitTest tests[] = {
        LEAD_TEST(it_begins_with_the_most),   LEAD_TEST(it_follows_the_99th_percentile),
        LEAD_TEST(few_samples_count_in_full), LEAD_TEST(it_stays_within_its_bounds),
        LEAD_TEST(many_fires_take_longer),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
