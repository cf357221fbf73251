/* SPDX-License-Identifier: MIT */
/* How the windows of many addresses grow together. Nothing is sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_address_gets_all_that_it_may),
        cmocka_unit_test(many_addresses_grow_no_further_than_is_of_use),
    };

    return cmocka_run_group_tests_name("dispatch.lanes", tests, NULL, NULL);
}
