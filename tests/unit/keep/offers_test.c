/* SPDX-License-Identifier: MIT */
/* What is offered and what waits: all of it bounded, and what is too much is counted. */
#include "test.h"

#include "keep/lanes.h"
#include "keep/offers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct counters counters;

static void note_wake(void *arg)
{
    ++*(int *)arg;
}

static struct keep_offers *make_offers(enum kept_which level, int *wakes)
{
    struct keep_offers *o = NULL;
    struct errctx why = {{0}};

    counters = (struct counters){0};
    assert_int_equal(keep_offers_create(&counters, &o, &why), ERR_OK);
    offers_set_level(o, level);
    offers_set_wake(o, note_wake, wakes);
    return o;
}

static void only_what_somebody_wants_is_taken_in(void **state)
{
    static const size_t expected[] = {[KEPT_NONE] = 0, [KEPT_FAILED] = 1, [KEPT_ALL] = 2};
    int64_t ids[4];
    int wakes = 0;

    (void)state;
    keep_offer(NULL, 1, true);
    for (int level = KEPT_NONE; level <= KEPT_ALL; level++) {
        struct keep_offers *o = make_offers((enum kept_which)level, &wakes);

        keep_offer(o, 1, true);
        keep_offer(o, 2, false);
        assert_int_equal(offers_take(o, ids, ARRAY_LEN(ids)), expected[level]);
        keep_offers_destroy(o);
    }
    assert_int_equal(wakes, 2);
}

static void too_many_are_dropped_and_counted(void **state)
{
    int64_t ids[100];
    int wakes = 0;
    struct keep_offers *o = make_offers(KEPT_FAILED, &wakes);

    (void)state;
    for (int64_t id = 1; id <= OFFERS_MAX + 7; id++)
        keep_offer(o, id, true);
    assert_int_equal(wakes, 1);
    assert_int_equal(counters_get(&counters, COUNTER_KEPT_DROPPED_QUEUE), 7);
    assert_int_equal(offers_take(o, ids, 3), 3);
    assert_true(ids[0] == 1 && ids[1] == 2 && ids[2] == 3);
    keep_offer(o, 9000, true); /* there is room again, behind the others */
    for (int64_t next = 4; next <= OFFERS_MAX; next += 100) {
        size_t n = offers_take(o, ids, 100);
        assert_int_equal(ids[0], next);
        if (n < 100)
            assert_int_equal(ids[n - 1], 9000);
    }
    offers_close(o);
    keep_offer(o, 1, true);
    assert_int_equal(offers_take(o, ids, 100), 0);
    assert_int_equal(counters_get(&counters, COUNTER_KEPT_DROPPED_QUEUE), 8);
    assert_int_equal(wakes, 1);
    keep_offers_destroy(o);
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

static enum lane_outcome add(struct keep_lanes *l, int64_t id, const char *address, int64_t now_ms)
{
    return lanes_add_run(
        l, &(struct kept_run){.log_id = id, .job_id = 1, .address = address, .app_name = "app", .access_token = ""},
        now_ms);
}

static void one_executor_has_its_share(void **state)
{
    struct keep_lanes l;
    struct keep_item *taken[8];
    int64_t id = 0;

    (void)state;
    lanes_init(&l);
    for (int i = 0; i < LANE_WAITING_MAX; i++)
        assert_int_equal(add(&l, ++id, "http://a/", 0), LANE_ADDED);
    assert_int_equal(add(&l, ++id, "http://a/", 0), LANE_FULL);
    assert_int_equal(add(&l, 1000, "http://b/", 0), LANE_ADDED);
    /* Each in turn, and few at a time. */
    taken[0] = lanes_take_item(&l, 0);
    taken[1] = lanes_take_item(&l, 0);
    taken[2] = lanes_take_item(&l, 0);
    assert_true(taken[0]->log_id == 1 && taken[1]->log_id == 1000 && taken[2]->log_id == 2);
    assert_string_equal(taken[0]->app_name, "app");
    assert_null(lanes_take_item(&l, 0));
    assert_int_equal(lanes_end_item(&l, taken[0], true, 0), 0);
    taken[0] = lanes_take_item(&l, 0);
    assert_int_equal(taken[0]->log_id, 3);
    for (int i = 0; i < 3; i++)
        lanes_end_item(&l, taken[i], true, 0);
    lanes_fini(&l);
}

static void one_that_is_away_is_left_alone(void **state)
{
    struct keep_lanes l;

    (void)state;
    lanes_init(&l);
    for (int64_t id = 1; id <= 5; id++)
        assert_int_equal(add(&l, id, "http://a/", 0), LANE_ADDED);
    assert_int_equal(add(&l, 6, "http://b/", 0), LANE_ADDED);
    assert_int_equal(lanes_end_item(&l, lanes_take_item(&l, 0), false, 100), 4);
    assert_int_equal(l.waiting, 1);
    assert_int_equal(add(&l, 7, "http://a/", 100 + LANE_PAUSE_MS - 1), LANE_PAUSED);
    assert_int_equal(add(&l, 7, "http://a/", 100 + LANE_PAUSE_MS), LANE_ADDED);
    assert_int_equal(lanes_drop_all(&l), 2);
    lanes_fini(&l);
}

static void count_gone(void *arg, struct keep_lane *lane)
{
    (void)lane;
    ++*(int *)arg;
}

static void many_executors_are_bounded(void **state)
{
    struct keep_lanes l;
    char address[32];
    int gone = 0;

    (void)state;
    lanes_init(&l);
    l.forget = count_gone;
    l.arg = &gone;
    for (int i = 0; i < LANES_MAX; i++) {
        snprintf(address, sizeof address, "http://h%d/", i);
        assert_int_equal(add(&l, i + 1, address, 0), LANE_ADDED);
    }
    assert_int_equal(add(&l, 9000, "http://other/", 0), LANE_FULL);
    lanes_end_item(&l, lanes_take_item(&l, 0), true, 0);
    assert_int_equal(add(&l, 9000, "http://other/", 0), LANE_ADDED);
    assert_int_equal(gone, 1);
    for (int i = 1; l.waiting < WAITING_MAX; i++) {
        snprintf(address, sizeof address, "http://h%d/", 1 + i % (LANES_MAX - 1));
        assert_int_equal(add(&l, i, address, 0), LANE_ADDED);
    }
    assert_int_equal(add(&l, 9001, "http://h3/", 0), LANE_FULL);
    lanes_fini(&l);
    assert_int_equal(gone, 1 + LANES_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_what_somebody_wants_is_taken_in), cmocka_unit_test(too_many_are_dropped_and_counted),
        cmocka_unit_test(one_executor_has_its_share),           cmocka_unit_test(one_that_is_away_is_left_alone),
        cmocka_unit_test(many_executors_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
