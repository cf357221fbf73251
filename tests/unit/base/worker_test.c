/* SPDX-License-Identifier: MIT */
/* The worker's turns on a clock of the test's own: waits end by the clock, a poke or the stop, never by themselves. */
#include "test.h"

#include "shardwheel/base.h"

#define NEVER_MS 3600000

struct job {
    struct worker worker;
    _Atomic int turns;
    _Atomic int64_t wait_ms;
    _Atomic bool ended;
    _Atomic bool hold; /* a turn does not return */
};

static int64_t turn(void *arg)
{
    struct job *job = arg;

    job->turns++;
    while (job->hold)
        clock_sleep_ms(1);
    return job->wait_ms;
}

static void end(void *arg)
{
    struct job *job = arg;

    job->ended = true;
}

static void start(struct job *job, int64_t wait_ms)
{
    struct errctx ec;

    job->wait_ms = wait_ms;
    worker_init(&job->worker, clock_system());
    assert_int_equal(worker_start(&job->worker, "worker", turn, end, job, &ec), ERR_OK);
}

static void wait_for_turns(struct job *job, int turns)
{
    int64_t until_ms = clock_mono_ms(clock_system()) + 20000;

    while (job->turns < turns && clock_mono_ms(clock_system()) < until_ms)
        clock_sleep_ms(1);
    assert_true(job->turns >= turns);
}

static void stop(struct job *job)
{
    worker_stop(&job->worker);
    worker_stop(&job->worker); /* twice is fine */
    assert_true(worker_is_stopping(&job->worker));
    worker_join(&job->worker);
    assert_true(job->ended);
}

static void turns_follow_each_other_until_the_stop(void **state)
{
    struct job job = {0};

    (void)state;
    start(&job, 0);
    wait_for_turns(&job, 100);
    stop(&job);
    worker_fini(&job.worker);
}

static void a_wait_ends_by_a_poke_and_by_the_stop(void **state)
{
    struct job job = {0};

    (void)state;
    start(&job, NEVER_MS);
    wait_for_turns(&job, 1);
    worker_poke(&job.worker);
    wait_for_turns(&job, 2);
    stop(&job); /* would take an hour otherwise */
    assert_int_equal(job.turns, 2);
    worker_fini(&job.worker);
}

static void a_poke_during_a_turn_is_not_lost(void **state)
{
    struct job job = {.hold = true};

    (void)state;
    start(&job, NEVER_MS);
    wait_for_turns(&job, 1);
    worker_poke(&job.worker);
    job.hold = false;
    wait_for_turns(&job, 2);
    stop(&job);
    worker_fini(&job.worker);
}

static void it_may_be_started_again(void **state)
{
    struct job job = {0};
    struct errctx ec;

    (void)state;
    start(&job, NEVER_MS);
    wait_for_turns(&job, 1);
    stop(&job);
    job.ended = false;
    assert_int_equal(worker_start(&job.worker, "worker", turn, end, &job, &ec), ERR_OK);
    wait_for_turns(&job, 2);
    stop(&job);
    worker_fini(&job.worker);
}

static void one_that_was_never_started_is_joined_at_once(void **state)
{
    struct worker worker;

    (void)state;
    worker_init(&worker, clock_system());
    worker_stop(&worker);
    worker_join(&worker);
    worker_fini(&worker);
}

struct waiter {
    struct worker worker;
    int64_t until_ms;
    bool pauses;
    _Atomic int waits, turns;
    _Atomic bool goes_on;
};

/* One wait, and nothing more until it is poked. */
static int64_t wait_turn(void *arg)
{
    struct waiter *w = arg;

    if (w->turns == 0) {
        w->waits++;
        w->goes_on =
            w->pauses ? worker_pause_until(&w->worker, w->until_ms) : worker_wait_until(&w->worker, w->until_ms);
    }
    w->turns++;
    return NEVER_MS;
}

static void start_waiter(struct waiter *w, int64_t wait_ms, bool pauses)
{
    *w = (struct waiter){.until_ms = clock_mono_ms(clock_system()) + wait_ms, .pauses = pauses};
    worker_init(&w->worker, clock_system());
    assert_int_equal(worker_start(&w->worker, "waiter", wait_turn, NULL, w, NULL), ERR_OK);
    while (w->waits == 0)
        clock_sleep_ms(1);
}

static void wait_for_waiter(struct waiter *w, int turns)
{
    int64_t until_ms = clock_mono_ms(clock_system()) + 20000;

    while (w->turns < turns && clock_mono_ms(clock_system()) < until_ms)
        clock_sleep_ms(1);
    assert_int_equal(w->turns, turns);
}

static void stop_waiter(struct waiter *w)
{
    worker_stop(&w->worker);
    worker_join(&w->worker);
    worker_fini(&w->worker);
}

static void a_wait_within_a_turn_ends_by_a_poke(void **state)
{
    struct waiter w;

    (void)state;
    start_waiter(&w, NEVER_MS, /*pauses=*/false);
    worker_poke(&w.worker); /* it is noticed, and makes no other turn */
    wait_for_waiter(&w, 1);
    assert_true(w.goes_on);
    stop_waiter(&w);
    assert_int_equal(w.turns, 1);
}

static void a_pause_leaves_pokes_for_the_next_turn(void **state)
{
    struct waiter w;

    (void)state;
    start_waiter(&w, 300, /*pauses=*/true);
    worker_poke(&w.worker);
    wait_for_waiter(&w, 2);
    assert_true(clock_mono_ms(clock_system()) >= w.until_ms);
    assert_true(w.goes_on);
    stop_waiter(&w);
}

static void both_waits_end_by_the_stop(void **state)
{
    struct waiter w;

    (void)state;
    for (int pauses = 0; pauses <= 1; pauses++) {
        start_waiter(&w, NEVER_MS, pauses);
        stop_waiter(&w);
        assert_false(w.goes_on);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_follow_each_other_until_the_stop),
        cmocka_unit_test(a_wait_ends_by_a_poke_and_by_the_stop),
        cmocka_unit_test(a_poke_during_a_turn_is_not_lost),
        cmocka_unit_test(it_may_be_started_again),
        cmocka_unit_test(one_that_was_never_started_is_joined_at_once),
        cmocka_unit_test(a_wait_within_a_turn_ends_by_a_poke),
        cmocka_unit_test(a_pause_leaves_pokes_for_the_next_turn),
        cmocka_unit_test(both_waits_end_by_the_stop),
    };
    return cmocka_run_group_tests_name("base.worker", tests, NULL, NULL);
}
