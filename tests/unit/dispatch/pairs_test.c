/* SPDX-License-Identifier: MIT */
/* Results that wait for their callbacks, through a whole dispatch. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dispatch/fixture.h"
#include "shardwheel/job/times.h"

/* As the planner leaves it: its row says what a success would say, at the first address. */
static bool childless;

static struct fire *planned_fire(struct world *w, const struct fixture *f)
{
    return world_plan(one_fire(w, "FIRST"), f->urls[0]);
}

/* No wait for a callback ends by itself. */
static struct world *patient_world(const struct fixture *f, struct dispatch_opts opts)
{
    struct world *w = world_create(f->addresses, 2, opts);

    world_mono_offset_ms = 3600000;
    return w;
}

static bool drain(struct world *w)
{
    return dispatch_drain(w->dispatch, clock_mono_ms(clock_system()) + WORLD_DEADLINE_MS);
}

static void a_callback_brings_the_result_along(void **state)
{
    struct fixture *f = *state;
    struct world *w = patient_world(f, (struct dispatch_opts){0});

    for (int i = 0; i < 3; i++)
        world_submit(w, planned_fire(w, f));
    assert_true(WORLD_WAIT(COUNT(w, RESULTS_QUEUED) == 3));
    assert_true(results_claim(w->results, 1, &childless));
    assert_false(results_claim(w->results, 1, &childless)); /* a repeat in the same transaction */
    assert_int_equal(dispatch_count_open(w->dispatch), 3);
    results_settle(w->results, 1, /*written=*/true);
    assert_int_equal(dispatch_count_open(w->dispatch), 2); /* done with at once: it holds no room */
    assert_int_equal(COUNT(w, RESULTS_QUEUED), 2);
    assert_false(results_claim(w->results, 1, &childless));
    assert_true(results_claim(w->results, 2, &childless));
    results_settle(w->results, 2, /*written=*/false);
    assert_false(results_claim(w->results, 17, &childless));
    assert_int_equal(dispatch_count_open(w->dispatch), 2);
    assert_int_equal(w->store.writes, 0);
    assert_true(drain(w));
    assert_null(fake_store_find(&w->store, 1));
    assert_int_equal(w->store.row_count, 2);
    assert_int_equal(w->store.writes, 1);
    for (int i = 2; i <= 3; i++) {
        assert_true(get_row(w, i)->as_planned);
        assert_int_equal(get_row(w, i)->code, 200);
        assert_string_equal(get_row(w, i)->message, ""); /* nobody needs it */
        assert_false(results_claim(w->results, i, &childless));
    }
    assert_int_equal(COUNT(w, RESULTS_PAIRED), 1);
    assert_int_equal(COUNT(w, RESULTS_WRITTEN), 3);
    assert_int_equal(COUNT(w, RESULTS_QUEUED), 0);
    assert_int_equal(COUNT(w, FIRES_DELIVERED), 3);
    world_destroy(w);
}

static void a_callback_may_come_before_the_answer(void **state)
{
    struct fixture *f = *state;

    for (int silent = 0; silent < 2; silent++) {
        struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});
        long before = fake_server_arrivals(f->server);

        world_mono_offset_ms = silent ? -15001 : 0;
        world_set_access(w, "", 15000);
        fake_server_set(f->server, FAKE_SILENT, 200, "");
        world_submit(w, planned_fire(w, f));
        assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == before + 1));
        assert_true(results_claim(w->results, 1, &childless));
        results_settle(w->results, 1, /*written=*/true);
        assert_int_equal(dispatch_count_open(w->dispatch), 1); /* its answer is still to come */
        if (silent) {
            world_mono_offset_ms = 0; /* its time is over; another fire wakes the loop, which waits by the real clock */
            dispatch_submit(w->dispatch, one_fire(w, "FIRST"), clock_boot_ms(&w->clock) - 1);
        } else {
            fake_server_release(f->server);
        }
        assert_true(world_wait_done(w));
        if (!silent) {
            assert_int_equal(w->store.writes, 0);
        } else { /* not what was planned: the store is told, and writes it where trigger_code is 0 */
            assert_ends(w, 1, 500, "no answer within 15000 ms");
            assert_false(get_row(w, 1)->as_planned);
        }
        world_destroy(w);
    }
}

static void without_a_callback_the_result_is_written_after_the_wait(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});

    for (int i = 0; i < 20; i++)
        world_submit(w, planned_fire(w, f));
    assert_true(world_wait_done(w));
    assert_int_equal(w->store.row_count, 20);
    assert_true(get_row(w, 20)->as_planned);
    assert_int_equal(COUNT(w, RESULTS_PAIRED), 0);
    world_destroy(w);
}

static void what_differs_from_the_plan_waits_for_no_callback(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});
    struct fire *other_address = world_plan(one_fire(w, "FIRST"), "http://127.0.0.1:9/"); /* not in the list any more */
    struct fire *other_job = planned_fire(w, f), *other_route = planned_fire(w, f), *not_ahead = planned_fire(w, f);
    struct fire *other_group = world_move(planned_fire(w, f), WORLD_GROUP + 1); /* which lists the same addresses */

    fake_server_set(f->server, FAKE_SILENT, 200, "");
    fake_registry_add(&w->registry, WORLD_GROUP + 1, "", f->addresses, 2);
    other_job->row_hash ^= 1;
    other_route->route_hash ^= 1;
    not_ahead->written_ahead = false;
    other_address->next = other_job;
    other_job->next = other_route;
    other_route->next = not_ahead;
    not_ahead->next = other_group;
    world_submit(w, other_address);
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == 4)); /* the others wait */
    for (int i = 1; i <= 5; i++)
        assert_false(results_claim(w->results, i, &childless));
    fake_server_set(f->server, FAKE_ANSWER, 200, "{\"code\":200}");
    fake_server_release(f->server);
    assert_true(world_wait_done(w));
    for (int i = 1; i <= 5; i++) {
        assert_ends(w, i, 200, "route: ");
        assert_false(get_row(w, i)->as_planned);
    }
    assert_true(get_row(w, 2)->write_job);
    world_destroy(w);
}

static void a_failure_leaves_nothing_for_its_callback(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});

    fake_store_block(&w->store, true);
    fake_server_set(f->server, FAKE_ANSWER, 200, "{\"code\":501}");
    world_submit(w, planned_fire(w, f));
    assert_true(WORLD_WAIT(COUNT(w, FIRES_REFUSED) == 1));
    assert_false(results_claim(w->results, 1, &childless)); /* "delivered" would hide the refusal */
    fake_store_block(&w->store, false);
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 501, "refused");
    world_destroy(w);
}

static void a_claim_holds_no_result_up(void **state)
{
    struct fixture *f = *state;
    struct world *w = patient_world(f, (struct dispatch_opts){0});

    world_submit(w, planned_fire(w, f));
    assert_true(WORLD_WAIT(COUNT(w, RESULTS_QUEUED) == 1));
    assert_true(results_claim(w->results, 1, &childless));
    assert_true(drain(w));
    assert_true(get_row(w, 1)->as_planned);
    results_settle(w->results, 1, /*written=*/true); /* late: the row was complete without it */
    assert_int_equal(COUNT(w, RESULTS_PAIRED), 0);
    world_destroy(w);
}

/* Sent again by a node that does not know that it is still on its way here. */
static void of_one_log_the_first_delivery_alone_is_paired(void **state)
{
    struct fixture *f = *state;
    static const int64_t logs[] = {1, 1 + 16384, 1}; /* all in one bucket */
    struct world *w = patient_world(f, (struct dispatch_opts){0});

    for (size_t i = 0; i < ARRAY_LEN(logs); i++) {
        struct fire *fire = planned_fire(w, f);
        fire->log_id = logs[i];
        world_submit(w, fire);
    }
    assert_true(WORLD_WAIT(COUNT(w, RESULTS_QUEUED) == 3));
    assert_true(results_claim(w->results, logs[1], &childless));
    results_settle(w->results, logs[1], /*written=*/true);
    assert_true(results_claim(w->results, 1, &childless));
    results_settle(w->results, 1, /*written=*/true);
    assert_false(results_claim(w->results, 1, &childless));
    world_stop(w); /* ends the wait for a batch */
    assert_true(get_row(w, 1)->as_planned);
    assert_int_equal(w->store.row_count, 1);
    assert_int_equal(COUNT(w, RESULTS_PAIRED), 2);
    assert_false(results_claim(w->results, 1, &childless));
    world_destroy(w);
}

static void short_room_ends_the_wait(void **state)
{
    struct fixture *f = *state;
    struct world *w = patient_world(f, (struct dispatch_opts){.results_max = 7});
    struct fire *list = NULL;

    for (int i = 0; i < 60; i++)
        list = world_list(list, planned_fire(w, f));
    world_submit(w, list);
    assert_true(WORLD_WAIT(dispatch_count_open(w->dispatch) <= 3));
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == 60));
    world_stop(w); /* a stop ends it, too */
    assert_int_equal(dispatch_count_open(w->dispatch), 0);
    assert_int_equal(w->store.row_count, 60);
    world_destroy(w);
}

static void submit_planned(struct world *w, const struct fixture *f, int count)
{
    struct fire *list = NULL;

    for (int i = 0; i < count; i++)
        list = world_list(list, planned_fire(w, f));
    world_submit(w, list);
}

/* The clock of results moves only where a test moves it: well behind the system's, so that the writer never sleeps. */
static struct world *still_world(const struct fixture *f, struct dispatch_opts opts)
{
    struct world *w = world_create(f->addresses, 2, opts);

    world_mono_frozen_ms = clock_mono_ms(clock_system()) - 60000;
    return w;
}

/* So many results that wait, callbacks that are behind, and a database that takes nothing. */
static struct world *crowded_world(const struct fixture *f, int count)
{
    struct world *w = still_world(f, (struct dispatch_opts){.per_address = 50});

    fake_store_block(&w->store, true);
    results_note_behind(w->results);
    submit_planned(w, f, count);
    assert_true(WORLD_WAIT(COUNT(w, RESULTS_QUEUED) == count));
    return w;
}

/* Callbacks are behind all that time. */
static void pass_behind(struct world *w, int64_t ms)
{
    for (int64_t step_ms; ms > 0; ms -= step_ms) {
        step_ms = ms < 2000 ? ms : 2000;
        results_note_behind(w->results);
        world_mono_frozen_ms += step_ms;
    }
    results_note_behind(w->results);
}

/* By then the writer has looked at what waits, too: it writes one that waits for nothing. */
static void assert_none_that_waits_is_written(struct world *w, const struct fixture *f)
{
    int64_t written = COUNT(w, RESULTS_WRITTEN);
    struct fire *at_once = planned_fire(w, f);

    assert_int_equal(COUNT(w, RESULT_FAILURES), 0); /* not even tried */
    fake_store_block(&w->store, false);
    at_once->written_ahead = false;
    world_submit(w, at_once);
    assert_true(WORLD_WAIT(COUNT(w, RESULTS_WRITTEN) > written));
    assert_int_equal(COUNT(w, RESULTS_WRITTEN), written + 1);
}

/* Twice as many as a batch: a full one waits still when half of them are paired. */
static void while_callbacks_are_behind_a_full_batch_waits_longer(void **state)
{
    struct fixture *f = *state;
    struct world *w = crowded_world(f, 2000);

    pass_behind(w, RESULT_WAIT_MAX_MS - 100);
    assert_none_that_waits_is_written(w, f);
    for (int i = 1; i <= 1000; i++) {
        assert_true(results_claim(w->results, i, &childless));
        results_settle(w->results, i, true);
    }
    assert_int_equal(COUNT(w, RESULTS_PAIRED), 1000);
    assert_int_equal(COUNT(w, RESULTS_QUEUED), 1000);
    world_mono_frozen_ms += 100;
    assert_true(world_wait_done(w));
    assert_int_equal(w->store.row_count, 1001);
    world_destroy(w);
}

static void nothing_waits_longer_when_few_do_or_callbacks_are_not_behind(void **state)
{
    struct fixture *f = *state;
    struct world *w = crowded_world(f, 999);

    pass_behind(w, RESULT_WAIT_MS);
    assert_true(WORLD_WAIT(COUNT(w, RESULT_FAILURES) > 0));
    fake_store_block(&w->store, false);
    world_destroy(w);

    w = crowded_world(f, 1000);
    world_mono_frozen_ms += 2999; /* said once, not again */
    assert_none_that_waits_is_written(w, f);
    world_mono_frozen_ms += 1;
    assert_true(world_wait_done(w));
    assert_int_equal(w->store.row_count, 1001);
    world_destroy(w);
}

static void even_behind_the_wait_ends(void **state)
{
    struct fixture *f = *state;
    struct world *w = crowded_world(f, 1000);

    pass_behind(w, RESULT_WAIT_MAX_MS - 100);
    assert_none_that_waits_is_written(w, f);
    pass_behind(w, 100);
    assert_true(
        WORLD_WAIT(COUNT(w, RESULTS_WRITTEN) > 2)); /* of fewer than a full batch none would wait longer anyway */
    world_mono_frozen_ms += 3000;
    assert_true(world_wait_done(w));
    assert_int_equal(w->store.row_count, 1001);
    world_destroy(w);
}

/* Jobs that run for minutes, or whose executors call another node back. */
static void where_waiting_does_not_pay_nothing_waits_longer(void **state)
{
    struct fixture *f = *state;
    struct world *w = crowded_world(f, 1000);

    fake_store_block(&w->store, false);
    world_mono_frozen_ms += RESULT_WAIT_MAX_MS; /* their time is over, and none was paired */
    assert_true(world_wait_done(w));
    assert_int_equal(COUNT(w, RESULTS_PAIRED), 0);
    assert_true(WORLD_WAIT(COUNT(w, RESULTS_QUEUED) == 0));
    fake_store_block(&w->store, true);
    submit_planned(w, f, 4000); /* a batch is with the writer, a thousand wait for nothing, the others do */
    assert_true(WORLD_WAIT(COUNT(w, RESULTS_QUEUED) == 4000));
    pass_behind(w, RESULT_WAIT_MS);
    fake_store_block(&w->store, false);
    assert_true(world_wait_done(w));
    assert_int_equal(w->store.row_count, 5000);
    world_destroy(w);
}

static void pair_all_that_wait(struct world *w)
{
    for (int64_t id = 1; id < w->next_log; id++)
        if (results_claim(w->results, id, &childless))
            results_settle(w->results, id, /*written=*/true);
}

/* A node that is killed leaves what waits as "delivery unknown". */
static void where_waiting_does_not_pay_few_wait_until_it_does_again(void **state)
{
    struct fixture *f = *state;
    struct world *w = still_world(f, (struct dispatch_opts){0});

    submit_planned(w, f, 64);
    assert_true(WORLD_WAIT(COUNT(w, RESULTS_QUEUED) == 64));
    world_mono_frozen_ms += RESULT_WAIT_MS;
    assert_true(world_wait_done(w)); /* none was paired */

    for (int i = 0; i < 3; i++) { /* 10, 20, 30 of 74, 84, 94 */
        submit_planned(w, f, 160);
        assert_true(WORLD_WAIT(dispatch_count_open(w->dispatch) == 10));
        pair_all_that_wait(w);
        assert_int_equal(dispatch_count_open(w->dispatch), 0);
    }
    submit_planned(w, f, 32);
    assert_true(WORLD_WAIT(COUNT(w, RESULTS_QUEUED) == 32));
    assert_true(drain(w));
    world_destroy(w);
}

/* Its shard may be another node's by now, which gives it 40 s in all. */
static void what_was_answered_after_its_deadline_does_not_wait(void **state)
{
    struct fixture *f = *state;
    struct world *w = patient_world(f, (struct dispatch_opts){0});
    long before = fake_server_arrivals(f->server);

    world_set_access(w, "", 15000);
    fake_server_set(f->server, FAKE_SILENT, 200, "");
    dispatch_submit(w->dispatch, planned_fire(w, f), clock_boot_ms(&w->clock) + 60000);
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == before + 1));
    world_boot_offset_ms = 60001;
    fake_server_release(f->server);
    assert_true(WORLD_WAIT(COUNT(w, RESULTS_QUEUED) == 1));
    assert_true(results_claim(w->results, 1, &childless));
    results_settle(w->results, 1, /*written=*/true);
    assert_int_equal(dispatch_count_open(w->dispatch), 1); /* it does not wait for this, but for its batch */
    world_stop(w);                                         /* ends the wait for a batch */
    assert_int_equal(w->store.writes, 0);
    world_destroy(w);
}

enum { RACERS = 4000 };
struct race {
    struct world *w;
    _Atomic bool over;
    bool written[RACERS + 1];
};

static void *claim_at_random(void *arg)
{
    struct race *r = arg;
    unsigned seed = 7;

    while (!r->over) {
        int64_t log_id = 1 + rand_r(&seed) % RACERS;
        if (!results_claim(r->w->results, log_id, &(bool){false}))
            continue;
        r->written[log_id] = rand_r(&seed) % 2;
        results_settle(r->w->results, log_id, r->written[log_id]);
    }
    return NULL;
}

static void no_result_is_lost_between_the_two(void **state)
{
    struct fixture *f = *state;
    struct race r = {.w = world_create(f->addresses, 2, (struct dispatch_opts){.per_address = 50})};
    static bool by_result[RACERS + 1];
    pthread_t thread;

    memset(by_result, 0, sizeof by_result);
    assert_int_equal(pthread_create(&thread, NULL, claim_at_random, &r), 0);
    for (int i = 0; i < 8; i++) {
        struct fire *list = NULL;
        for (int k = 0; k < RACERS / 8; k++)
            list = world_list(list, planned_fire(r.w, f));
        world_submit(r.w, list);
    }
    assert_true(world_wait_done(r.w));
    r.over = true;
    pthread_join(thread, NULL);
    for (size_t i = 0; i < r.w->store.row_count; i++)
        by_result[r.w->store.rows[i].log_id] = true;
    for (int i = 1; i <= RACERS; i++)
        assert_true(r.written[i] || by_result[i]);
    assert_true(WORLD_WAIT(COUNT(r.w, RESULTS_WRITTEN) == RACERS)); /* counted after it is given back */
    assert_true(COUNT(r.w, RESULTS_PAIRED) > 0);
    world_destroy(r.w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_callback_brings_the_result_along),
        T(a_callback_may_come_before_the_answer),
        T(without_a_callback_the_result_is_written_after_the_wait),
        T(what_differs_from_the_plan_waits_for_no_callback),
        T(a_failure_leaves_nothing_for_its_callback),
        T(a_claim_holds_no_result_up),
        T(of_one_log_the_first_delivery_alone_is_paired),
        T(short_room_ends_the_wait),
        T(while_callbacks_are_behind_a_full_batch_waits_longer),
        T(nothing_waits_longer_when_few_do_or_callbacks_are_not_behind),
        T(even_behind_the_wait_ends),
        T(where_waiting_does_not_pay_nothing_waits_longer),
        T(where_waiting_does_not_pay_few_wait_until_it_does_again),
        T(what_was_answered_after_its_deadline_does_not_wait),
        T(no_result_is_lost_between_the_two),
    };
    return cmocka_run_group_tests_name("dispatch.pairs", tests, NULL, NULL);
}
