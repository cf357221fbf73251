/* SPDX-License-Identifier: MIT */
/* How addresses find their lanes and lose them, whose turn it is, and how the windows of many grow together. Nothing is
 * sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "dispatch/lanes.h"

#define FIRES 4000
#define NOW INT64_C(1000000)

static struct delivery deliveries[FIRES];
static char addresses[20][64];

/* Turn by turn all that may go out does, and is answered at once. Returns the most that were under way. */
static size_t run(struct lanes *lanes, int address_count)
{
    static struct delivery *sent[FIRES];
    size_t most = 0;

    for (int i = 0; i < FIRES; i++) {
        deliveries[i] =
            (struct delivery){.address = addresses[i % address_count], .address_hash = (uint64_t)(i % address_count)};
        assert_int_equal(lanes_expect(lanes, &deliveries[i], /*warm=*/false), ERR_OK);
        lanes_add(lanes, &deliveries[i], NOW);
    }
    while (lanes_count_waiting(lanes) > 0) {
        size_t n = 0;

        while ((sent[n] = lanes_take_next(lanes, NOW)) != NULL)
            n++;
        assert_true(n > 0);
        most = n > most ? n : most;
        for (size_t i = 0; i < n; i++) {
            lanes_note_answer(lanes, sent[i]->lane, 0, NOW);
            lanes_release(lanes, sent[i]->lane, NOW);
        }
    }
    return most;
}

static size_t run_new(int address_count)
{
    struct http_client *http;
    struct lanes *lanes;
    struct errctx ec;
    size_t most;

    for (int i = 0; i < address_count; i++)
        snprintf(addresses[i], sizeof addresses[i], "http://127.0.0.1:%d/", 1 + i);
    /* Without a resolver: these are numbers. */
    assert_int_equal(http_client_create(clock_system(), NULL, &http, &ec), ERR_OK);
    assert_int_equal(lanes_create(64, http, &lanes, &ec), ERR_OK);
    most = run(lanes, address_count);
    lanes_destroy(lanes);
    http_client_destroy(http);
    return most;
}

static void one_address_gets_all_that_it_may(void **state)
{
    (void)state;
    assert_int_equal(run_new(1), 64);
}

/* Connections cost, and with so many requests under way no fire goes out any sooner. */
static void many_addresses_grow_no_further_than_is_of_use(void **state)
{
    (void)state;
    assert_int_equal(run_new(4), 4 * 10);
    assert_int_equal(run_new(10), 10 * 4);
    assert_int_equal(run_new(20), 20 * 4);
}

/* ---- lanes ------------------------------------------------------------------------------------------------------- */

static struct http_client *client;
static struct lanes *lanes;

static int set_up(void **state)
{
    struct errctx ec;

    (void)state;
    memset(deliveries, 0, sizeof deliveries);
    assert_int_equal(http_client_create(clock_system(), NULL, &client, &ec), ERR_OK);
    assert_int_equal(lanes_create(64, client, &lanes, &ec), ERR_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lanes_destroy(lanes);
    http_client_destroy(client);
    return 0;
}

static struct lane *pin(int port, uint64_t hash)
{
    struct lane *lane = NULL;
    char address[64];

    snprintf(address, sizeof address, "http://127.0.0.1:%d/", port);
    assert_int_equal(lanes_pin(lanes, address, hash, &lane), ERR_OK);
    return lane;
}

/* One more for that address, whose batch may wait until the deadline. */
static struct delivery *add(int i, const char *address, struct batch *batch)
{
    deliveries[i] = (struct delivery){.address = address, .batch = batch};
    assert_int_equal(lanes_expect(lanes, &deliveries[i], /*warm=*/false), ERR_OK);
    lanes_add(lanes, &deliveries[i], NOW);
    return &deliveries[i];
}

static void addresses_of_one_hash_have_lanes_of_their_own(void **state)
{
    struct lane *found[3];

    (void)state;
    for (int i = 0; i < 3; i++)
        found[i] = pin(1 + i, 7);
    assert_ptr_not_equal(found[0], found[1]);
    assert_ptr_not_equal(found[0], found[2]);
    assert_ptr_not_equal(found[1], found[2]);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(pin(1 + i, 7), found[i]);
}

static void a_lane_is_found_however_many_there_are(void **state)
{
    enum { MANY = 3000 };
    static struct lane *found[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++)
        found[i] = pin(1 + i, (uint64_t)i * 7);
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(pin(1 + i, (uint64_t)i * 7), found[i]);
}

/* A lane is known by what it keeps: a new one may lie where the old one was. */
static bool is_known(void)
{
    struct lane *lane = pin(1, 0);
    bool is = lanes_questions(lane)->under_way == 77;

    lanes_questions(lane)->under_way = 77;
    lanes_unpin(lane, NOW);
    return is;
}

static void a_lane_is_forgotten_when_nothing_needs_it(void **state)
{
    static const char address[] = "http://127.0.0.1:1/";
    struct delivery *d = &deliveries[0];
    struct lane *lane;

    (void)state;
    assert_false(is_known());
    lanes_drop_idle(lanes, NOW);
    assert_true(is_known());
    lanes_drop_idle(lanes, NOW + 1);
    assert_false(is_known());

    lane = pin(1, 0);
    lanes_drop_idle(lanes, INT64_MAX);
    assert_true(is_known());
    *d = (struct delivery){.address = address};
    assert_int_equal(lanes_expect(lanes, d, /*warm=*/false), ERR_OK);
    lanes_unpin(lane, NOW);
    lanes_drop_idle(lanes, INT64_MAX);
    assert_true(is_known());
    lanes_add(lanes, d, NOW);
    lanes_drop_idle(lanes, INT64_MAX);
    assert_true(is_known());
    assert_ptr_equal(lanes_take_next(lanes, NOW), d);
    lanes_drop_idle(lanes, INT64_MAX);
    assert_true(is_known());
    lanes_release(lanes, lane, NOW + 5);
    lanes_drop_idle(lanes, NOW + 5);
    assert_true(is_known()); /* which was used at NOW for the last time */

    assert_int_equal(lanes_expect(lanes, d, /*warm=*/false), ERR_OK);
    lanes_cancel(d);
    assert_null(d->lane);
    lanes_drop_idle(lanes, INT64_MAX);
    assert_false(is_known());
}

static void what_waits_too_long_is_taken_out(void **state)
{
    struct batch soon = {.deadline_boot_ms = 10}, later = {.deadline_boot_ms = 20};
    struct delivery_list out = {0};

    (void)state;
    lanes_take_expired(lanes, INT64_MAX, &out);
    assert_int_equal(out.count, 0);
    add(0, "http://127.0.0.1:1/", &soon);
    add(1, "http://127.0.0.1:1/", &later);
    add(2, "http://127.0.0.1:2/", &later);
    add(3, "http://127.0.0.1:2/", &soon); /* behind one that may wait */
    lanes_take_expired(lanes, 10, &out);
    assert_int_equal(out.count, 0);
    assert_int_equal(lanes_count_waiting(lanes), 4);
    lanes_take_expired(lanes, 11, &out);
    assert_int_equal(out.count, 1);
    assert_ptr_equal(out.head, &deliveries[0]);
    assert_int_equal(lanes_count_waiting(lanes), 3);
    lanes_take_expired(lanes, INT64_MAX, &out);
    assert_int_equal(out.count, 4);
    assert_int_equal(lanes_count_waiting(lanes), 0);
    assert_null(lanes_take_next(lanes, NOW));
}

static void addresses_have_their_turn(void **state)
{
    static const char a[] = "http://127.0.0.1:1/", b[] = "http://127.0.0.1:2/";
    const int order[] = {0, 3, 1, 2};

    (void)state;
    for (int i = 0; i < 3; i++)
        add(i, a, NULL);
    add(3, b, NULL);
    for (size_t i = 0; i < 4; i++)
        assert_ptr_equal(lanes_take_next(lanes, NOW), &deliveries[order[i]]);
    assert_null(lanes_take_next(lanes, NOW));
    for (int i = 0; i < 4; i++)
        lanes_release(lanes, deliveries[i].lane, NOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_address_gets_all_that_it_may),
        cmocka_unit_test(many_addresses_grow_no_further_than_is_of_use),
        cmocka_unit_test_setup_teardown(addresses_of_one_hash_have_lanes_of_their_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lane_is_found_however_many_there_are, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lane_is_forgotten_when_nothing_needs_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_waits_too_long_is_taken_out, set_up, tear_down),
        cmocka_unit_test_setup_teardown(addresses_have_their_turn, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("dispatch.lanes", tests, NULL, NULL);
}
