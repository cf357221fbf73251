/* SPDX-License-Identifier: MIT */
#include "test.h"

#include "shardwheel/base.h"

#include <stdlib.h>

struct item {
    struct fifo_item link;
    int number;
};

static void the_limit_holds_and_closing_drains(void **state)
{
    struct fifo q;
    struct item items[4] = {{.number = 0}, {.number = 1}, {.number = 2}, {.number = 3}};
    struct fifo_item *list;
    size_t count;
    bool closed;

    (void)state;
    fifo_init(&q, 2);
    assert_int_equal(fifo_push(&q, &items[0].link), ERR_OK);
    assert_int_equal(fifo_push(&q, &items[1].link), ERR_OK);
    assert_int_equal(fifo_push(&q, &items[2].link), ERR_BUSY);
    assert_int_equal(fifo_push_always(&q, &items[2].link), ERR_OK);
    list = fifo_take(&q, 2, 0, &count, &closed);
    assert_int_equal(count, 2);
    assert_false(closed);
    assert_ptr_equal(list, &items[0].link);
    assert_ptr_equal(list->next, &items[1].link);
    assert_null(list->next->next);
    fifo_close(&q);
    assert_int_equal(fifo_push(&q, &items[3].link), ERR_STATE);
    assert_int_equal(fifo_push_always(&q, &items[3].link), ERR_STATE);
    list = fifo_take(&q, 10, 0, &count, &closed);
    assert_ptr_equal(list, &items[2].link);
    assert_false(closed);
    assert_null(fifo_take(&q, 10, INT64_MAX / 2, &count, &closed));
    assert_true(closed);
    fifo_fini(&q);
}

static void an_empty_queue_waits_until_the_deadline(void **state)
{
    struct fifo q;
    bool closed;

    (void)state;
    fifo_init(&q, 2);
    assert_null(fifo_take(&q, 1, clock_mono_ms(clock_system()) + 20, NULL, &closed));
    assert_false(closed);
    fifo_fini(&q);
}

#define PUSHERS 3
#define ITEMS 5000

struct race {
    struct fifo q;
    _Atomic int taken;
    _Atomic int64_t sum;
};

static void push_items(void *arg)
{
    struct race *race = arg;

    for (int i = 0; i < ITEMS; i++) {
        struct item *item = calloc(1, sizeof *item);

        if (!item)
            abort();
        item->number = i;
        while (fifo_push(&race->q, &item->link) == ERR_BUSY)
            clock_sleep_ms(0);
    }
}

static void take_items(void *arg)
{
    struct race *race = arg;
    bool closed = false;

    while (!closed) {
        struct fifo_item *list = fifo_take(&race->q, 7, clock_mono_ms(clock_system()) + 100, NULL, &closed);

        while (list) {
            struct item *item = (struct item *)list;

            list = list->next;
            atomic_fetch_add(&race->sum, item->number);
            atomic_fetch_add(&race->taken, 1);
            free(item);
        }
    }
}

static void every_item_is_taken_once(void **state)
{
    struct race race = {0};
    struct thread pushers[PUSHERS] = {0}, takers[2] = {0};
    struct errctx ec;

    (void)state;
    fifo_init(&race.q, 50);
    for (int i = 0; i < 2; i++)
        assert_int_equal(thread_start(&takers[i], "taker", take_items, &race, &ec), ERR_OK);
    for (int i = 0; i < PUSHERS; i++)
        assert_int_equal(thread_start(&pushers[i], "pusher", push_items, &race, &ec), ERR_OK);
    for (int i = 0; i < PUSHERS; i++)
        thread_join(&pushers[i]);
    fifo_close(&race.q);
    for (int i = 0; i < 2; i++)
        thread_join(&takers[i]);
    assert_int_equal(race.taken, PUSHERS * ITEMS);
    assert_int_equal(race.sum, (int64_t)PUSHERS * ITEMS * (ITEMS - 1) / 2);
    fifo_fini(&race.q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_holds_and_closing_drains),
        cmocka_unit_test(an_empty_queue_waits_until_the_deadline),
        cmocka_unit_test(every_item_is_taken_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
