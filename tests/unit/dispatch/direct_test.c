/* SPDX-License-Identifier: MIT */
/* Direct fires: from any thread, at once, whatever the ring's thread and the clock do. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dispatch/fixture.h"
#include "shardwheel/job/times.h"

#define THREADS 4
#define FIRES_EACH 100

static struct fire *direct_fire(struct world *w, const char *route)
{
    struct fire *fire = one_fire(w, route);

    fire->shard = -1;
    return fire;
}

static void a_direct_fire_waits_for_no_second(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});
    struct fire *fire = direct_fire(w, "FIRST");

    world_wall_offset_us = -3600 * INT64_C(1000000); /* set back after it was made */
    dispatch_submit_direct(w->dispatch, fire);
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 200, "");
    assert_int_equal(fake_server_arrivals(f->server), 1);
    assert_int_equal(w->sent_direct, 1);
    world_destroy(w);
}

static void its_lateness_counts_from_the_call(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});

    world_wall_frozen_us = world_now_s(w) * 1000000 + 900000; /* nine tenths into the second that is its due_s */
    dispatch_submit_direct(w->dispatch, direct_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_int_equal(w->counters.histogram[COUNTER_LATENESS].bucket[0], 1);
    world_destroy(w);
}

static void it_is_not_sent_after_its_deadline(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){.per_address = 1});

    world_set_access(w, "", 15000);
    fake_server_set(f->server, FAKE_SILENT, 0, "");
    dispatch_submit_direct(w->dispatch, direct_fire(w, "FIRST"));
    dispatch_submit_direct(w->dispatch, direct_fire(w, "FIRST"));
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == 1));
    world_boot_offset_ms = SEND_DEADLINE_MS + 1;
    assert_true(WORLD_WAIT(dispatch_count_open(w->dispatch) == 1));
    assert_ends(w, 2, 500, "not sent: too late");
    fake_server_release(f->server);
    assert_true(world_wait_done(w));
    assert_int_equal(fake_server_arrivals(f->server), 1);
    world_destroy(w);
}

static void one_that_comes_after_the_stop_has_an_end(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});
    struct fire *fire = direct_fire(w, "FIRST");

    assert_true(dispatch_drain(w->dispatch, clock_mono_ms(&w->clock) + WORLD_DEADLINE_MS));
    dispatch_submit_direct(w->dispatch, fire);
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 500, "not sent: this node is stopping");
    assert_int_equal(fake_server_arrivals(f->server), 0);
    world_destroy(w);
}

/* ---- many threads ------------------------------------------------------------------------------------------------ */

struct caller {
    struct world *w;
    struct fire *fires[FIRES_EACH];
    pthread_t thread;
};

static void *submit_all(void *arg)
{
    struct caller *c = arg;

    for (int i = 0; i < FIRES_EACH; i++)
        dispatch_submit_direct(c->w->dispatch, c->fires[i]);
    return NULL;
}

/* While the ring's thread submits as well. */
static void many_threads_submit_at_once(void **state)
{
    static const char *const routes[] = {"ROUND", "CONSISTENT_HASH", "FIRST"};
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});
    struct caller callers[THREADS];

    for (int t = 0; t < THREADS; t++) {
        callers[t].w = w;
        for (int i = 0; i < FIRES_EACH; i++) {
            struct fire *fire = world_fire(w, world_job(1 + i % 7, routes[i % 3]), world_now_s(w));
            fire->shard = -1;
            callers[t].fires[i] = fire;
        }
    }
    for (int t = 0; t < THREADS; t++)
        assert_int_equal(pthread_create(&callers[t].thread, NULL, submit_all, &callers[t]), 0);
    for (int i = 0; i < FIRES_EACH; i++)
        world_submit(w, one_fire(w, routes[i % 3]));
    for (int t = 0; t < THREADS; t++)
        pthread_join(callers[t].thread, NULL);
    assert_true(world_wait_done(w));
    assert_int_equal(fake_server_arrivals(f->server), (THREADS + 1) * FIRES_EACH);
    assert_int_equal(COUNT(w, FIRES_DELIVERED), (THREADS + 1) * FIRES_EACH);
    assert_int_equal(w->sent_direct, THREADS * FIRES_EACH);
    assert_int_equal(world_sent_total(w), FIRES_EACH);
    world_destroy(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_direct_fire_waits_for_no_second), T(its_lateness_counts_from_the_call),
        T(it_is_not_sent_after_its_deadline), T(one_that_comes_after_the_stop_has_an_end),
        T(many_threads_submit_at_once),
    };

    return cmocka_run_group_tests_name("dispatch.direct", tests, NULL, NULL);
}
