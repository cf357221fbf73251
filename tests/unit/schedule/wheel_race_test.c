/* SPDX-License-Identifier: MIT */
/* Many pushers against the one drainer: every fire leaves exactly once. Runs under the thread sanitizer too. */
#include "test.h"

#include "schedule/ring/wheel.h"

#include <stdlib.h>

#define PUSHERS 4
#define FIRES_EACH 20000

struct race {
    struct wheel wheel;
    _Atomic int64_t now_s;
    _Atomic int done;
};

struct pusher {
    struct race *race;
    int number;
    struct thread thread;
};

static void push_many(void *arg)
{
    struct pusher *p = arg;
    unsigned seed = (unsigned)p->number + 1;

    for (int i = 0; i < FIRES_EACH; i++) {
        struct fire *fire = fire_create();

        if (!fire)
            abort();
        fire->log_id = (int64_t)p->number * FIRES_EACH + i;
        /* Late, just due, ahead, and a lap later: all meet in few slots. */
        fire->due_s = atomic_load_explicit(&p->race->now_s, memory_order_relaxed) + rand_r(&seed) % 65 - 2;
        wheel_push(&p->race->wheel, fire);
    }
    atomic_fetch_add_explicit(&p->race->done, 1, memory_order_release);
}

static void every_fire_leaves_exactly_once(void **state)
{
    static unsigned char seen[PUSHERS * FIRES_EACH];
    struct race race;
    struct pusher pushers[PUSHERS] = {0};
    struct errctx ec;
    int64_t left = PUSHERS * FIRES_EACH;
    int64_t second_s = 100000;
    int laps_after = 0;

    (void)state;
    wheel_init(&race.wheel);
    atomic_init(&race.now_s, second_s);
    atomic_init(&race.done, 0);
    for (int i = 0; i < PUSHERS; i++) {
        pushers[i].race = &race;
        pushers[i].number = i;
        assert_int_equal(thread_start(&pushers[i].thread, "pusher", push_many, &pushers[i], &ec), ERR_OK);
    }
    while (left > 0 && laps_after < 200) {
        struct fire *list = wheel_drain(&race.wheel, second_s);

        for (struct fire *fire = list; fire; fire = fire->next) {
            assert_true(fire->due_s <= second_s);
            assert_int_equal(seen[fire->log_id]++, 0);
            left--;
        }
        fire_destroy_list(list);
        if (atomic_load_explicit(&race.done, memory_order_acquire) == PUSHERS)
            laps_after++;
        atomic_store_explicit(&race.now_s, ++second_s, memory_order_relaxed);
    }
    for (int i = 0; i < PUSHERS; i++)
        thread_join(&pushers[i].thread);
    assert_int_equal(left, 0);
    assert_int_equal(wheel_count(&race.wheel), 0);
    wheel_fini(&race.wheel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_fire_leaves_exactly_once)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
