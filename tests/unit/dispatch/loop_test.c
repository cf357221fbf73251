/* SPDX-License-Identifier: MIT */
/* What a loop does ahead of the due second. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "executor/fake_server.h"
#include "dispatch/fake_world.h"

struct fixture {
    struct fake_server *server;
    char url[64];
    const char *addresses[1];
    struct world *world;
};

static void begin(struct fixture *f, int per_address)
{
    f->server = fake_server_start(1);
    fake_server_url(f->server, 0, "/", f->url);
    f->addresses[0] = f->url;
    f->world = world_create(f->addresses, 1, (struct dispatch_opts){.threads = 1, .per_address = per_address});
}

static void end(struct fixture *f)
{
    world_destroy(f->world);
    fake_server_stop(f->server);
}

static void submit_ahead(struct world *w, int fires, int64_t due_s)
{
    struct fire *list = NULL;

    for (int i = 0; i < fires; i++)
        list = world_list(list, world_fire(w, world_job(8 + i, "FIRST"), due_s));
    world_submit(w, list);
}

/* Time goes on by the offset alone, so that nothing is due before the test says so. */
static void go_to(struct world *w, int64_t due_s)
{
    world_wall_offset_us += due_s * 1000000 - clock_wall_us(&w->clock) + 1000;
}

static void connections_open_ahead_for_as_many_as_come_up_to_the_bound(void **state)
{
    static const struct {
        int fires, per_address, connections;
    } rows[] = {{1, 4, 1}, {3, 4, 3}, {20, 4, 4}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct fixture f;
        struct world *w;
        int64_t due_s;

        begin(&f, rows[i].per_address);
        w = f.world;
        due_s = world_now_s(w) + 1000;
        submit_ahead(w, rows[i].fires, due_s);
        assert_true(WORLD_WAIT(atomic_load(&f.server->connections) >= rows[i].connections));
        assert_true(WORLD_WAIT(counters_get(&w->counters, COUNTER_DISPATCH_QUEUED) == rows[i].fires));
        assert_int_equal(fake_server_arrivals(f.server), 0);
        go_to(w, due_s);
        submit_ahead(w, 1, due_s); /* and wakes the loop, which waits by the clock of the system */
        assert_true(world_wait_done(w));
        assert_int_equal(fake_server_arrivals(f.server), rows[i].fires + 1);
        assert_in_range(atomic_load(&f.server->connections), rows[i].connections, rows[i].connections + 1);
        end(&f);
    }
}

/* A lane that was not used for two minutes is forgotten, with its connections, but not while fires of its are to
 * come. */
static void what_expires_before_its_second_is_no_longer_expected(void **state)
{
    struct fixture f;
    struct world *w;

    (void)state;
    begin(&f, 4);
    w = f.world;
    submit_ahead(w, 3, world_now_s(w) + 1000);
    assert_true(WORLD_WAIT(atomic_load(&f.server->connections) == 3));
    world_boot_offset_ms = 20001; /* beyond the deadline: the sweep ends them */
    assert_true(world_wait_done(w));
    assert_int_equal(counters_get(&w->counters, COUNTER_FIRES_TOO_LATE), 3);
    assert_int_equal(fake_server_arrivals(f.server), 0);
    assert_true(WORLD_WAIT(atomic_load(&f.server->closed) == 3));
    end(&f);
}

/* Others are to leave the cores to a second's fires: while more are due than went out, and shortly after the last one
 * of such. */
static void sending_is_told_while_more_is_due(void **state)
{
    struct fixture f;
    struct world *w;

    (void)state;
    begin(&f, 1);
    w = f.world;
    world_wall_frozen_us = world_now_s(w) * 1000000 + 1000; /* the age of a second's fires counts, too */
    fake_server_set(f.server, FAKE_SILENT, 200, "");
    submit_ahead(w, 1, world_now_s(w));
    assert_true(WORLD_WAIT(fake_server_arrivals(f.server) == 1));
    world_mono_offset_ms = -10000; /* back to when a loop was sending, if one ever was */
    assert_false(dispatch_is_sending(w->dispatch));
    world_mono_offset_ms = 0;
    fake_server_set(f.server, FAKE_ANSWER, 200, "{\"code\":200}");
    fake_server_release(f.server);
    assert_true(world_wait_done(w));
    fake_server_set(f.server, FAKE_SILENT, 200, "");
    submit_ahead(w, 3, world_now_s(w));
    assert_true(WORLD_WAIT(fake_server_arrivals(f.server) == 2));
    world_mono_offset_ms = -10000;
    assert_true(WORLD_WAIT(dispatch_is_sending(w->dispatch)));
    world_mono_offset_ms = 1000; /* nothing has gone out meanwhile, though two are due */
    assert_false(dispatch_is_sending(w->dispatch));
    world_wall_frozen_us += 500000; /* older ones wait for their executor, not for our cores */
    fake_server_release(f.server);
    assert_true(WORLD_WAIT(fake_server_arrivals(f.server) == 3));
    world_mono_offset_ms = 500; /* a note of the last turn would be ahead of this */
    assert_false(dispatch_is_sending(w->dispatch));
    fake_server_set(f.server, FAKE_ANSWER, 200, "{\"code\":200}");
    fake_server_release(f.server);
    assert_true(world_wait_done(w));
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_open_ahead_for_as_many_as_come_up_to_the_bound),
        cmocka_unit_test(what_expires_before_its_second_is_no_longer_expected),
        cmocka_unit_test(sending_is_told_while_more_is_due),
    };
    return cmocka_run_group_tests_name("dispatch.loop", tests, NULL, NULL);
}
