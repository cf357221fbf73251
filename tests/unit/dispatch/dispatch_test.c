/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "dispatch/fixture.h"

static void a_fire_arrives_and_its_result_is_committed(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});

    world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 200, "trigger type: cron<br>node: ");
    assert_string_equal(get_row(w, 1)->address, f->urls[0]);
    assert_false(get_row(w, 1)->write_job);
    assert_int_equal(w->store.row_count, 1);
    assert_int_equal(fake_server_arrivals(f->server), 1);
    assert_non_null(fake_server_find(f->server, "POST /run HTTP/1.1\r\n"));
    assert_non_null(fake_server_find(f->server, "\r\nXXL-JOB-ACCESS-TOKEN: secret\r\n"));
    assert_non_null(fake_server_find(f->server, "\r\nXXL-JOB-APPNAME: app\r\n"));
    assert_null(fake_server_find(f->server, "Expect"));
    assert_int_equal(w->sent[0], 1);
    assert_int_equal(COUNT(w, FIRES_DELIVERED), 1);
    assert_int_equal(COUNT(w, RESULTS_WRITTEN), 1);
    assert_int_equal(COUNT(w, RESULT_BATCHES), 1);
    world_destroy(w);
}

/* What a later row brings along goes before the group's list; routes choose within it. */
static void addresses_of_its_own_override_the_group(void **state)
{
    static const char *const routes[] = {"FIRST", "ROUND", "CONSISTENT_HASH"};
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(routes); i++) {
        struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){0});
        struct fire *fire = one_fire(w, routes[i]);
        char list[160];

        snprintf(list, sizeof list, " %s ,, ", f->urls[1]);
        fire->flags = FIRE_LATER;
        fire->own = fire_own_create(&(struct fire_own){.addresses = list, .retries = -1});
        fire->next = one_fire(w, routes[i]); /* in the same round */
        world_submit(w, fire);
        assert_true(world_wait_done(w));
        assert_ends(w, 1, 200, "");
        assert_string_equal(get_row(w, 1)->address, f->urls[1]);
        assert_string_equal(get_row(w, 2)->address, f->urls[0]);
        world_destroy(w);
    }
}

/* Only what has surely not been sent may wait for an executor. */
static void what_found_nobody_is_told_from_other_failures(void **state)
{
    static const struct {
        const char *addresses; /* of its own; NULL: the group's, which are there */
        const char *route;
        int flags;
        int how;
        bool away;
    } cases[] = {
        {"http://127.0.0.1:1/", "FIRST", FIRE_LATER, FAKE_ANSWER, true},
        {"http://127.0.0.1:1/", "FIRST", FIRE_LATER | FIRE_RESENT, FAKE_ANSWER, false},
        {",", "FIRST", FIRE_LATER, FAKE_ANSWER, true},
        {NULL, "NO_ROUTE", 0, FAKE_ANSWER, false},
        {"nonsense", "FIRST", FIRE_LATER, FAKE_ANSWER, false},
        {NULL, "FIRST", 0, FAKE_CLOSE, false},
    };
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){0});
        struct fire *fire = one_fire(w, cases[i].route);

        fake_server_set(f->server, cases[i].how, 200, "");
        fire->flags = cases[i].flags;
        if (cases[i].addresses)
            fire->own = fire_own_create(&(struct fire_own){.addresses = cases[i].addresses, .retries = -1});
        world_submit(w, fire);
        assert_true(world_wait_done(w));
        assert_ends(w, 1, 500, "");
        assert_int_equal(get_row(w, 1)->away, cases[i].away);
        world_destroy(w);
    }
}

static void the_gauges_return_to_zero(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){.per_address = 1});
    struct fire *list = NULL;

    fake_server_set(f->server, FAKE_SILENT, 200, "");
    for (int i = 0; i < 10; i++)
        list = world_list(list, one_fire(w, "FIRST"));
    world_submit(w, list);
    assert_true(WORLD_WAIT(COUNT(w, DISPATCH_IN_FLIGHT) == 1 && COUNT(w, DISPATCH_QUEUED) == 9));
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == 1));
    fake_server_set(f->server, FAKE_ANSWER, 200, "{\"code\":200}");
    fake_server_release(f->server);
    assert_true(world_wait_done(w));
    assert_true(WORLD_WAIT(COUNT(w, DISPATCH_IN_FLIGHT) == 0));
    assert_int_equal(COUNT(w, DISPATCH_QUEUED), 0);
    assert_int_equal(COUNT(w, RESULTS_QUEUED), 0);
    assert_int_equal(COUNT(w, FIRES_DELIVERED), 10);
    assert_int_equal(world_sent_total(w), 10);
    world_destroy(w);
}

static void changed_job_columns_are_written_too(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});
    struct fire *fire = one_fire(w, "SHARDING_BROADCAST");

    fire->broadcast = true;
    fire->address = strdup(f->urls[1]);
    fire->shard_index = 1;
    fire->shard_total = 2;
    fire->row_hash ^= 1;
    world_submit(w, fire);
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 200, "route: SHARDING_BROADCAST");
    assert_true(get_row(w, 1)->write_job);
    assert_string_equal(get_row(w, 1)->sharding, "1/2");
    assert_string_equal(get_row(w, 1)->address, f->urls[1]);
    assert_non_null(fake_server_find(f->server, "\"broadcastIndex\":1,\"broadcastTotal\":2}"));
    world_destroy(w);
}

/* What was written with the row is not written again; whatever differs is. */
static void a_success_as_planned_is_its_code_alone(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});
    struct fire *fire = world_plan(one_fire(w, "FIRST"), f->urls[1]); /* not the first: what was planned is kept */

    world_submit(w, fire);
    assert_true(world_wait_done(w));
    assert_true(get_row(w, 1)->as_planned);
    assert_int_equal(get_row(w, 1)->code, 200);
    assert_string_equal(get_row(w, 1)->address, f->urls[1]);
    assert_string_equal(get_row(w, 1)->message, "");

    world_submit(w, world_plan(one_fire(w, "FIRST"), "http://gone:1/"));
    assert_true(WORLD_WAIT(fake_store_find(&w->store, 2)) && world_wait_done(w));
    assert_false(get_row(w, 2)->as_planned);
    assert_string_equal(get_row(w, 2)->address, f->urls[0]);
    assert_ends(w, 2, 200, "trigger type: cron<br>node: ");

    fire = world_plan(one_fire(w, "FIRST"), f->urls[1]);
    fire->row_hash ^= 1;
    world_submit(w, fire);
    assert_true(WORLD_WAIT(fake_store_find(&w->store, 3)) && world_wait_done(w));
    assert_false(get_row(w, 3)->as_planned);
    assert_true(get_row(w, 3)->write_job);
    assert_ends(w, 3, 200, "trigger type: cron<br>node: ");

    fake_server_set(f->server, FAKE_ANSWER, 200, "{\"code\":500,\"msg\":\"no\"}");
    world_submit(w, world_plan(one_fire(w, "FIRST"), f->urls[1]));
    assert_true(WORLD_WAIT(fake_store_find(&w->store, 4)) && world_wait_done(w));
    assert_false(get_row(w, 4)->as_planned);
    assert_ends(w, 4, 500, "refused by the executor");
    world_destroy(w);
}

/* The address of the plan is kept where the group of now has it, and the row gets the group in any case. */
static void fires_of_a_moved_job_go_to_its_group(void **state)
{
    enum { OTHER = WORLD_GROUP + 1, BOTH };
    struct fixture *f = *state;
    struct world *w = world_create(&f->addresses[0], 1, (struct dispatch_opts){0});
    const char *reversed[] = {f->urls[1], f->urls[0]};
    struct fire *part = world_plan(one_fire(w, "SHARDING_BROADCAST"), f->urls[0]);

    fake_registry_add(&w->registry, OTHER, "", &f->addresses[1], 1);
    fake_registry_add(&w->registry, BOTH, "", reversed, 2);
    part->broadcast = true;
    world_submit(w, world_move(part, OTHER)); /* the set is that of the group it was planned for */
    world_submit(w, world_move(world_plan(one_fire(w, "FIRST"), f->urls[0]), OTHER));
    world_submit(w, world_move(world_plan(one_fire(w, "FIRST"), f->urls[0]), BOTH));
    world_submit(w, world_move(one_fire(w, "FIRST"), OTHER)); /* not written ahead */
    world_submit(w, world_move(world_plan(one_fire(w, "FIRST"), f->urls[0]), 99));
    assert_true(world_wait_done(w));
    for (int i = 1; i <= 5; i++) {
        assert_false(get_row(w, i)->as_planned);
        assert_true(get_row(w, i)->write_job);
        assert_ends(w, i, i < 5 ? 200 : 500, "trigger type: cron<br>node: ");
    }
    assert_string_equal(get_row(w, 1)->address, f->urls[0]);
    assert_int_equal(get_row(w, 1)->group, WORLD_GROUP);
    assert_string_equal(get_row(w, 2)->address, f->urls[1]);
    assert_int_equal(get_row(w, 2)->group, OTHER);
    assert_string_equal(get_row(w, 3)->address, f->urls[0]);
    assert_int_equal(get_row(w, 3)->group, BOTH);
    assert_string_equal(get_row(w, 4)->address, f->urls[1]);
    assert_int_equal(get_row(w, 4)->group, OTHER);
    assert_null(get_row(w, 5)->address);
    assert_int_equal(get_row(w, 5)->group, 99);
    assert_ends(w, 5, 500, "executor group 99 does not exist");
    assert_int_equal(fake_server_arrivals(f->server), 4);
    world_destroy(w);
}

static void a_refusal_keeps_the_executors_code(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});

    fake_server_set(f->server, FAKE_ANSWER, 200, "{\"code\":503,\"msg\":\"no <b> handler\"}");
    world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 503, "msg: no &lt;b&gt; handler");
    assert_int_equal(COUNT(w, FIRES_REFUSED), 1);
    assert_int_equal(COUNT(w, FIRES_FAILED), 0);
    world_destroy(w);
}

static void nobody_to_send_to_is_a_result(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 0, (struct dispatch_opts){0});
    static const char *const bad[] = {"10.0.0.1:9999"};
    struct fire *list = NULL;
    struct job_spec *job;

    fake_registry_add(&w->registry, 4, "", bad, 1);
    list = world_list(list, one_fire(w, "FIRST"));
    list = world_list(list, one_fire(w, "NO_SUCH"));
    job = world_job(8, "FIRST");
    job->group = 99;
    list = world_list(list, world_fire(w, job, world_now_s(w)));
    job = world_job(8, "FIRST");
    job->group = 4;
    list = world_list(list, world_fire(w, job, world_now_s(w)));
    world_submit(w, list);
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 500, "no address: no executor of group app is registered");
    assert_null(get_row(w, 1)->address);
    assert_ends(w, 2, 500, "unknown route strategy &quot;NO_SUCH&quot;");
    assert_ends(w, 3, 500, "executor group 99 does not exist");
    assert_ends(w, 4, 500, "the address is no http URL");
    assert_int_equal(world_sent_total(w), 4);
    assert_int_equal(COUNT(w, FIRES_FAILED), 4);
    world_destroy(w);
}

static void unreached_silent_and_broken_executors_are_results(void **state)
{
    struct fixture *f = *state;
    struct world *w;
    int fd, port = fake_listen(/*listening=*/false, &fd);
    char nobody[64];
    const char *addresses[] = {nobody};

    snprintf(nobody, sizeof nobody, "http://127.0.0.1:%d/", port);
    w = world_create(addresses, 1, (struct dispatch_opts){0});
    world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 500, "reason: not sent: Connection refused");
    assert_string_equal(get_row(w, 1)->address, nobody);
    assert_int_equal(world_sent_total(w), 1);
    world_destroy(w);
    close(fd);

    w = world_create(f->addresses, 1, (struct dispatch_opts){0});
    world_set_access(w, "", 150);
    fake_server_set(f->server, FAKE_SILENT, 0, "");
    world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 500, "no answer within 150 ms; the executor may have taken it");
    assert_null(fake_server_find(f->server, "ACCESS-TOKEN"));
    world_set_access(w, "", 3000);
    fake_server_set(f->server, FAKE_CLOSE, 0, "");
    world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_ends(w, 2, 500, "the connection ended without an answer; the executor may have taken it");
    fake_server_set(f->server, FAKE_RAW, 0, "garbage\n");
    world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_ends(w, 3, 500, "the answer is no HTTP");
    fake_server_set(f->server, FAKE_ANSWER, 200, "[]");
    world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_ends(w, 4, 500, "refused with an array: []");
    assert_int_equal(COUNT(w, FIRES_FAILED), 4);
    assert_int_equal(fake_server_arrivals(f->server), 4);
    world_destroy(w);
}

static void a_dying_kept_connection_costs_one_fire_and_no_second_post(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){0});

    fake_server_set(f->server, FAKE_CLOSE_SECOND, 200, "{\"code\":200}");
    for (int i = 0; i < 6; i++) {
        world_submit(w, one_fire(w, "FIRST"));
        assert_true(world_wait_done(w));
    }
    for (int i = 1; i <= 6; i++)
        assert_ends(w, i, i % 2 ? 200 : 500, i % 2 ? "node: " : "the connection ended without an answer");
    assert_int_equal(fake_server_arrivals(f->server), 6);
    world_destroy(w);
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

#define NO_RUN "{\"code\":500,\"msg\":\"invalid request, uri-mapping(/run) not found.\"}"
#define NO_TRIGGER "{\"code\":500,\"msg\":\"invalid request, uri-mapping(/trigger) not found.\"}"

static void the_other_path_is_tried_once_and_remembered(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){0});

    fake_server_set(f->server, FAKE_ANSWER, 200, NO_RUN);
    fake_server_set_trigger(f->server, 200, "{\"code\":200}");
    world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 200, "trigger type: cron<br>node: ");
    assert_int_equal(fake_server_arrivals(f->server), 2);
    assert_int_equal(w->registry.notes, 1);
    assert_string_equal(w->registry.trigger_address, f->urls[0]);
    assert_int_equal(world_sent_total(w), 1);
    world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_int_equal(fake_server_arrivals(f->server), 3); /* straight to /trigger */

    /* The executor was replaced by an older one. */
    fake_server_set(f->server, FAKE_ANSWER, 200, "{\"code\":200}");
    fake_server_set_trigger(f->server, 404, "404 page not found");
    world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_ends(w, 3, 200, "trigger type: cron<br>node: ");
    assert_int_equal(fake_server_arrivals(f->server), 5);
    assert_string_equal(w->registry.trigger_address, "");
    world_destroy(w);
}

static void two_unknown_paths_end_the_fire(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){0});

    fake_server_set(f->server, FAKE_ANSWER, 200, NO_RUN);
    fake_server_set_trigger(f->server, 200, NO_TRIGGER);
    world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 500, "uri-mapping(/trigger) not found");
    assert_int_equal(fake_server_arrivals(f->server), 2);
    assert_int_equal(w->registry.notes, 0);
    assert_int_equal(world_sent_total(w), 1);
    /* The lane is free again. */
    fake_server_set(f->server, FAKE_ANSWER, 200, "{\"code\":200}");
    for (int i = 0; i < 20; i++)
        world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_int_equal(COUNT(w, FIRES_DELIVERED), 20);
    world_destroy(w);
}

/* ---- time -------------------------------------------------------------------------------------------------------- */

static void fires_wait_for_their_second_and_leave_with_it(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});
    int64_t least_us = INT64_MAX;
    int in_time = 0, rounds = 0;

    /* A machine that is busy delays many of them, a loop that waits too long all. */
    while (in_time < 3 && rounds < 40) {
        struct fire *list = NULL;
        int64_t due_s, late_us;

        /* The clock stands 150 ms before a second: about as far ahead as the ring prepares. */
        world_wall_offset_us = 1000000 - 150000 - clock_wall_us(clock_system()) % 1000000;
        due_s = world_now_s(w) + 1;
        pthread_mutex_lock(&f->server->lock);
        f->server->first_arrival_us = 0;
        pthread_mutex_unlock(&f->server->lock);
        for (int i = 0; i < 20; i++)
            list = world_list(list, world_fire(w, world_job(8 + i, "ROUND"), due_s));
        world_submit(w, list);
        assert_true(world_wait_done(w));
        pthread_mutex_lock(&f->server->lock);
        late_us = f->server->first_arrival_us + world_wall_offset_us - due_s * 1000000;
        pthread_mutex_unlock(&f->server->lock);
        assert_true(late_us >= 0); /* never before */
        least_us = late_us < least_us ? late_us : least_us;
        in_time += late_us < 20000;
        rounds++;
    }
    assert_int_equal(COUNT(w, FIRES_DELIVERED), 20 * rounds);
    print_message("least lateness of a first arrival: %.2f ms\n", (double)least_us / 1e3);
    assert_int_equal(in_time, 3);
    world_destroy(w);
}

static void later_seconds_do_not_hold_up_earlier_ones(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){.threads = 1});
    int64_t now_s = world_now_s(w);

    world_submit(w, world_fire(w, world_job(8, "FIRST"), now_s + 100)); /* log 1 */
    world_submit(w, world_fire(w, world_job(8, "FIRST"), now_s + 50));  /* log 2 */
    world_submit(w, world_fire(w, world_job(8, "FIRST"), now_s + 70));  /* log 3 */
    world_submit(w, world_fire(w, world_job(8, "FIRST"), now_s));       /* log 4 */
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == 1));
    assert_int_equal(COUNT(w, DISPATCH_QUEUED), 3);
    world_wall_offset_us = 60 * 1000000;
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == 2));
    world_wall_offset_us = 120 * 1000000;
    assert_true(world_wait_done(w));
    assert_int_equal(f->server->seen[0], 4);
    assert_int_equal(f->server->seen[1], 2);
    assert_int_equal(f->server->seen[2], 3);
    assert_int_equal(f->server->seen[3], 1);
    world_destroy(w);
}

static void a_fire_past_its_deadline_is_not_sent(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){0});

    dispatch_submit(w->dispatch, one_fire(w, "FIRST"), clock_boot_ms(&w->clock) - 1);
    assert_true(world_wait_done(w));
    assert_ends(w, 1, 500, "not sent: too late");
    assert_int_equal(fake_server_arrivals(f->server), 0);
    assert_int_equal(COUNT(w, FIRES_TOO_LATE), 1);
    assert_int_equal(COUNT(w, FIRES_FAILED), 0);
    assert_int_equal(world_sent_total(w), 1);
    world_destroy(w);
}

/* Behind a silent executor, and while the machine was suspended: the wall clock says nothing of it here. */
static void what_waits_too_long_is_not_sent(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){.per_address = 1});

    world_set_access(w, "", 15000);
    fake_server_set(f->server, FAKE_SILENT, 0, "");
    for (int i = 0; i < 5; i++)
        world_submit(w, one_fire(w, "FIRST"));
    world_submit(w, world_fire(w, world_job(8, "FIRST"), world_now_s(w) + 1000));
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == 1));
    world_boot_offset_ms = 21000;
    assert_true(WORLD_WAIT(dispatch_count_open(w->dispatch) == 1));
    assert_int_equal(COUNT(w, FIRES_TOO_LATE), 5);
    fake_server_release(f->server);
    assert_true(world_wait_done(w));
    assert_int_equal(COUNT(w, FIRES_DELIVERED), 1); /* its answer came in time */
    assert_int_equal(fake_server_arrivals(f->server), 1);
    assert_int_equal(world_sent_total(w), 6);
    world_destroy(w);
}

/* ---- bounds ------------------------------------------------------------------------------------------------------ */

static void a_slow_address_delays_no_other(void **state)
{
    struct fixture *f = *state;
    struct fake_server *slow = fake_server_start(1);
    char slow_url[64];
    const char *addresses[2] = {slow_url, f->urls[0]};
    struct world *w;
    struct fire *list = NULL;

    fake_server_url(slow, 0, "/", slow_url);
    fake_server_set(slow, FAKE_SILENT, 0, "");
    w = world_create(addresses, 2, (struct dispatch_opts){.threads = 1, .per_address = 2});
    world_set_access(w, "", 15000);
    for (int i = 0; i < 100; i++) {
        struct fire *fire = one_fire(w, "SHARDING_BROADCAST");
        fire->broadcast = true;
        fire->address = strdup(addresses[i % 2]);
        list = world_list(list, fire);
    }
    world_submit(w, list);
    assert_true(WORLD_WAIT(dispatch_count_open(w->dispatch) == 50));
    assert_int_equal(COUNT(w, FIRES_DELIVERED), 50);
    assert_true(WORLD_WAIT(fake_server_arrivals(slow) == 2)); /* the bound per address */
    assert_int_equal(atomic_load(&slow->connections), 2);
    world_destroy(w);
    fake_server_stop(slow);
}

static struct fire *many_fires(struct world *w, int count)
{
    struct fire *list = NULL;

    while (count-- > 0)
        list = world_list(list, one_fire(w, "FIRST"));
    return list;
}

/* The clock stands, so that every answer is quick, or goes on by as much as the test says. */
static void a_quick_address_gets_more_until_it_is_slow(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){.threads = 1, .per_address = 16});

    world_mono_frozen_ms = clock_mono_ms(clock_system());
    world_submit(w, many_fires(w, 200));
    assert_true(world_wait_done(w));
    fake_server_set(f->server, FAKE_SILENT, 200, "");
    world_submit(w, many_fires(w, 40));
    assert_true(WORLD_WAIT(COUNT(w, DISPATCH_IN_FLIGHT) == 16 && COUNT(w, DISPATCH_QUEUED) == 24));
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == 216));
    world_mono_frozen_ms += 500;
    fake_server_release(f->server); /* now these are slow, and so are all that follow */
    assert_true(WORLD_WAIT(COUNT(w, DISPATCH_IN_FLIGHT) == 4 && COUNT(w, DISPATCH_QUEUED) == 20));
    fake_server_set(f->server, FAKE_ANSWER, 200, "{\"code\":200}");
    fake_server_release(f->server);
    assert_true(world_wait_done(w));
    assert_int_equal(COUNT(w, FIRES_DELIVERED), 240);
    world_destroy(w);
}

/* One that was quick a while ago may hang by now. */
static void after_a_silence_an_address_gets_few(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){.threads = 1, .per_address = 16});

    world_mono_frozen_ms = clock_mono_ms(clock_system());
    world_submit(w, many_fires(w, 200));
    assert_true(world_wait_done(w));
    world_mono_frozen_ms += 500;
    fake_server_set(f->server, FAKE_SILENT, 200, "");
    world_submit(w, many_fires(w, 40));
    assert_true(WORLD_WAIT(COUNT(w, DISPATCH_IN_FLIGHT) == 4 && COUNT(w, DISPATCH_QUEUED) == 36));
    fake_server_set(f->server, FAKE_ANSWER, 200, "{\"code\":200}");
    fake_server_release(f->server);
    assert_true(world_wait_done(w));
    world_destroy(w);
}

static void too_many_waiting_fires_end_at_once(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){.per_address = 1, .queue_max = 10});
    struct fire *list = NULL;

    fake_server_set(f->server, FAKE_SILENT, 0, "");
    world_set_access(w, "", 15000);
    for (int i = 0; i < 25; i++)
        list = world_list(list, one_fire(w, "FIRST"));
    world_submit(w, list);
    assert_true(WORLD_WAIT(dispatch_count_open(w->dispatch) == 10));
    assert_int_equal(COUNT(w, FIRES_FAILED), 15);
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == 1));
    fake_server_set(f->server, FAKE_ANSWER, 200, "{\"code\":200}");
    fake_server_release(f->server);
    assert_true(world_wait_done(w));
    assert_int_equal(COUNT(w, FIRES_DELIVERED), 10);
    for (int i = 1; i <= 15; i++) /* the list was last to first */
        assert_ends(w, i, 500, "not sent: too many fires waiting");
    assert_int_equal(world_sent_total(w), 25);
    world_destroy(w);
}

static void without_room_for_results_nothing_is_sent(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){.per_address = 50, .results_max = 7});
    struct fire *list = NULL;

    fake_store_block(&w->store, true);
    for (int i = 0; i < 60; i++)
        list = world_list(list, world_fire(w, world_job(8 + i, "ROUND"), world_now_s(w)));
    assert_true(dispatch_has_room(w->dispatch));
    world_submit(w, list);
    assert_true(WORLD_WAIT(COUNT(w, RESULTS_QUEUED) == 7 && COUNT(w, RESULT_FAILURES) >= 2));
    assert_int_equal(fake_server_arrivals(f->server), 7);
    assert_int_equal(dispatch_count_open(w->dispatch), 60);
    assert_false(dispatch_has_room(w->dispatch));
    fake_store_block(&w->store, false);
    assert_true(world_wait_done(w));
    assert_int_equal(COUNT(w, FIRES_DELIVERED), 60);
    assert_int_equal(fake_server_arrivals(f->server), 60);
    assert_true(WORLD_WAIT(dispatch_has_room(w->dispatch)));
    assert_int_equal(w->store.row_count, 60);
    world_destroy(w);
}

/* What goes out beyond it would only hold up those that are not written yet. */
static void an_eighth_of_the_room_is_the_most_for_fires_to_go_out(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){.per_address = 50, .results_max = 8088});
    struct fire *list = NULL;

    fake_store_block(&w->store, true);
    for (int i = 0; i < 1010; i++)
        list = world_list(list, one_fire(w, "FIRST"));
    world_submit(w, list);
    assert_true(WORLD_WAIT(COUNT(w, RESULTS_QUEUED) == 1010));
    assert_true(dispatch_has_room(w->dispatch));
    world_submit(w, world_list(NULL, one_fire(w, "FIRST")));
    assert_true(WORLD_WAIT(COUNT(w, RESULTS_QUEUED) == 1011));
    assert_false(dispatch_has_room(w->dispatch));
    fake_store_block(&w->store, false);
    assert_true(world_wait_done(w));
    assert_true(dispatch_has_room(w->dispatch));
    world_destroy(w);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

static void results_are_repeated_until_they_are_committed(void **state)
{
    static const enum err errors[] = {ERR_LOST, ERR_UNKNOWN, ERR_CONFLICT, ERR_TIMEOUT};
    struct fixture *f = *state;

    for (size_t i = 0; i < ARRAY_LEN(errors); i++) {
        struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});

        w->store.fail_sessions = 1;
        w->store.fail_writes = 2;
        w->store.fail_with = errors[i];
        w->store.fail_after_write = errors[i] == ERR_UNKNOWN;
        world_submit(w, one_fire(w, "FIRST"));
        world_submit(w, one_fire(w, "FIRST"));
        assert_true(world_wait_done(w));
        assert_int_equal(w->store.row_count, 2);
        assert_ends(w, 1, 200, "trigger type: cron<br>node: ");
        assert_ends(w, 2, 200, "trigger type: cron<br>node: ");
        assert_int_equal(w->store.writes, 3);
        assert_int_equal(w->store.commits, 1); /* both in one batch */
        assert_int_equal(COUNT(w, RESULT_FAILURES), 3);
        world_destroy(w);
    }
}

static void a_row_that_the_database_refuses_hurts_no_other(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 2, (struct dispatch_opts){0});
    struct fire *list = NULL;

    w->store.refused_log = 3;
    for (int i = 0; i < 6; i++)
        list = world_list(list, one_fire(w, "FIRST"));
    world_submit(w, list);
    assert_true(world_wait_done(w));
    assert_int_equal(w->store.row_count, 6);
    assert_ends(w, 3, 200, "the database refused the text");
    assert_null(get_row(w, 3)->address);
    assert_ends(w, 4, 200, "trigger type: cron<br>node: ");
    assert_int_equal(fake_server_arrivals(f->server), 6);
    /* And where even that is refused, the others and the next ones still come through. */
    w->store.refuse_plain_too = true;
    w->store.refused_log = 7;
    world_submit(w, one_fire(w, "FIRST"));
    world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_null(fake_store_find(&w->store, 7));
    assert_ends(w, 8, 200, "trigger type: cron<br>node: ");
    world_destroy(w);
}

static void results_are_written_in_batches(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 0, (struct dispatch_opts){0});
    struct fire *list = NULL;

    fake_store_block(&w->store, true);
    world_submit(w, one_fire(w, "FIRST"));
    assert_true(WORLD_WAIT(COUNT(w, RESULT_FAILURES) >= 1)); /* the others come while this one is under way */
    for (int i = 0; i < 1250; i++)
        list = world_list(list, one_fire(w, "FIRST"));
    world_submit(w, list);
    assert_true(WORLD_WAIT(COUNT(w, RESULTS_QUEUED) == 1251));
    fake_store_block(&w->store, false);
    assert_true(world_wait_done(w));
    assert_int_equal(w->store.row_count, 1251);
    assert_int_equal(w->store.biggest_batch, 1000);
    assert_int_equal(w->store.commits, 3);
    (void)f;
    world_destroy(w);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static void drain_waits_for_answers_and_sends_nothing_new(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){.per_address = 2});

    world_set_access(w, "", 15000);
    fake_server_set(f->server, FAKE_SILENT, 0, "");
    for (int i = 0; i < 10; i++)
        world_submit(w, one_fire(w, "FIRST"));
    world_submit(w, world_fire(w, world_job(8, "FIRST"), world_now_s(w) + 1000));
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == 2));
    assert_false(dispatch_drain(w->dispatch, clock_mono_ms(&w->clock) + 1)); /* two answers are missing */
    assert_true(WORLD_WAIT(dispatch_count_open(w->dispatch) == 2));
    fake_server_release(f->server);
    assert_true(dispatch_drain(w->dispatch, clock_mono_ms(&w->clock) + WORLD_DEADLINE_MS));
    assert_int_equal(fake_server_arrivals(f->server), 2);
    assert_int_equal(w->store.row_count, 11);
    assert_int_equal(COUNT(w, FIRES_DELIVERED), 2);
    assert_ends(w, 11, 500, "not sent: this node is stopping");
    assert_int_equal(world_sent_total(w), 11);
    /* Later ones end, too. */
    world_submit(w, one_fire(w, "FIRST"));
    assert_true(world_wait_done(w));
    assert_ends(w, 12, 500, "not sent: this node is stopping");
    world_destroy(w);
}

static void stop_without_drain_leaves_no_fire_without_a_result(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){.per_address = 2});

    world_set_access(w, "", 15000);
    fake_server_set(f->server, FAKE_SILENT, 0, "");
    for (int i = 0; i < 10; i++)
        world_submit(w, one_fire(w, "FIRST"));
    assert_true(WORLD_WAIT(fake_server_arrivals(f->server) == 2));
    world_stop(w);
    assert_int_equal(dispatch_count_open(w->dispatch), 0);
    assert_int_equal(w->store.row_count, 10);
    assert_ends(w, 1, 500, "delivery unknown");
    assert_ends(w, 10, 500, "not sent: this node is stopping");
    assert_int_equal(world_sent_total(w), 10);
    world_submit(w, one_fire(w, "FIRST")); /* nobody is there any more: it must not leak or hang */
    assert_int_equal(world_sent_total(w), 11);
    world_destroy(w);
}

static void stop_ends_also_while_the_database_is_away(void **state)
{
    struct fixture *f = *state;
    struct world *w = world_create(f->addresses, 1, (struct dispatch_opts){0});

    fake_store_block(&w->store, true);
    for (int i = 0; i < 10; i++)
        world_submit(w, one_fire(w, "FIRST"));
    assert_true(WORLD_WAIT(COUNT(w, RESULT_FAILURES) >= 1));
    assert_false(dispatch_drain(w->dispatch, clock_mono_ms(&w->clock) + 1));
    assert_int_equal(dispatch_count_open(w->dispatch), 10);
    world_destroy(w);
}

static void bad_options_are_refused(void **state)
{
    struct dispatch_opts opts = {.threads = 0, .per_address = 1, .queue_max = 1, .results_max = 1};
    struct dispatch *d = NULL;
    struct errctx ec;

    (void)state;
    assert_int_equal(dispatch_create(&opts, NULL, NULL, clock_system(), NULL, &d, &ec), ERR_INPUT);
    assert_null(d);
    dispatch_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_fire_arrives_and_its_result_is_committed),
        T(addresses_of_its_own_override_the_group),
        T(what_found_nobody_is_told_from_other_failures),
        T(the_gauges_return_to_zero),
        T(changed_job_columns_are_written_too),
        T(a_success_as_planned_is_its_code_alone),
        T(fires_of_a_moved_job_go_to_its_group),
        T(a_refusal_keeps_the_executors_code),
        T(nobody_to_send_to_is_a_result),
        T(unreached_silent_and_broken_executors_are_results),
        T(a_dying_kept_connection_costs_one_fire_and_no_second_post),
        T(the_other_path_is_tried_once_and_remembered),
        T(two_unknown_paths_end_the_fire),
        T(fires_wait_for_their_second_and_leave_with_it),
        T(later_seconds_do_not_hold_up_earlier_ones),
        T(a_fire_past_its_deadline_is_not_sent),
        T(what_waits_too_long_is_not_sent),
        T(a_slow_address_delays_no_other),
        T(a_quick_address_gets_more_until_it_is_slow),
        T(after_a_silence_an_address_gets_few),
        T(too_many_waiting_fires_end_at_once),
        T(without_room_for_results_nothing_is_sent),
        T(an_eighth_of_the_room_is_the_most_for_fires_to_go_out),
        T(results_are_repeated_until_they_are_committed),
        T(a_row_that_the_database_refuses_hurts_no_other),
        T(results_are_written_in_batches),
        T(drain_waits_for_answers_and_sends_nothing_new),
        T(stop_without_drain_leaves_no_fire_without_a_result),
        T(stop_ends_also_while_the_database_is_away),
        T(bad_options_are_refused),
    };
    return cmocka_run_group_tests_name("dispatch", tests, NULL, NULL);
}
