/* SPDX-License-Identifier: MIT */
/* What a loop does ahead of the due second, and with what it cannot send in time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <linux/filter.h>

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

/* A port whose calls get no answer at all, as of a host that is off. */
static int listen_as_if_off(int *fd)
{
    struct sock_filter nothing = {BPF_RET | BPF_K, 0, 0, 0};
    struct sock_fprog drop = {1, &nothing};
    int port = fake_listen(/*listening=*/true, fd);

    assert_int_equal(setsockopt(*fd, SOL_SOCKET, SO_ATTACH_FILTER, &drop, sizeof drop), 0);
    return port;
}

static long count_held(struct world *w, int fires)
{
    long held = 0;

    for (int i = 1; i <= fires; i++) {
        const struct fake_row *row = fake_store_find(&w->store, i);

        assert_non_null(row);
        held += row->away;
    }
    return held;
}

/* Each try takes the time of a call and few are under way: most expire in the queue, and nothing was written to
 * anybody. */
static void what_expires_behind_a_host_that_is_off_found_nobody(void **state)
{
    enum { FIRES = 200, WINDOW = 4 };
    char url[64];
    const char *addresses[] = {url};
    struct world *w;
    int fd;

    (void)state;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", listen_as_if_off(&fd));
    w = world_create(addresses, 1, (struct dispatch_opts){.threads = 1, .per_address = WINDOW});
    world_mono_frozen_ms = world_mono_ms(&w->clock);
    submit_ahead(w, FIRES, world_now_s(w));
    assert_true(WORLD_WAIT(counters_get(&w->counters, COUNTER_DISPATCH_QUEUED) == FIRES - WINDOW));
    world_mono_frozen_ms += 3000; /* the time of a call */
    assert_true(WORLD_WAIT(counters_get(&w->counters, COUNTER_FIRES_FAILED) == WINDOW));
    world_boot_offset_ms = 20001;
    world_mono_frozen_ms += 250; /* a sweep */
    assert_true(WORLD_WAIT(counters_get(&w->counters, COUNTER_FIRES_TOO_LATE) == FIRES - 2 * WINDOW));
    world_mono_frozen_ms += 3000;
    assert_true(WORLD_WAIT(counters_get(&w->counters, COUNTER_FIRES_FAILED) == 2 * WINDOW));
    world_mono_frozen_ms = 0;
    assert_true(world_wait_done(w));
    assert_int_equal(count_held(w, FIRES), FIRES);
    world_destroy(w);
    close(fd);
}

/* It was off, and takes connections again: what expires now does so because it is slow. */
static void what_expires_behind_a_slow_executor_found_it(void **state)
{
    char url[64];
    const char *addresses[] = {url};
    struct world *w;
    int fd;

    (void)state;
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", fake_listen(/*listening=*/false, &fd));
    w = world_create(addresses, 1, (struct dispatch_opts){.threads = 1, .per_address = 1});
    world_mono_frozen_ms = world_mono_ms(&w->clock);
    submit_ahead(w, 1, world_now_s(w));
    assert_true(WORLD_WAIT(counters_get(&w->counters, COUNTER_FIRES_FAILED) == 1));
    assert_int_equal(listen(fd, 10), 0);
    submit_ahead(w, 3, world_now_s(w));
    assert_true(WORLD_WAIT(world_sent_total(w) == 2));
    world_mono_frozen_ms += 3000;
    assert_true(WORLD_WAIT(counters_get(&w->counters, COUNTER_FIRES_FAILED) == 2));
    world_boot_offset_ms = 20001;
    world_mono_frozen_ms += 250;
    assert_true(WORLD_WAIT(counters_get(&w->counters, COUNTER_FIRES_TOO_LATE) >= 1));
    world_mono_frozen_ms += 3000;
    assert_true(WORLD_WAIT(
        counters_get(&w->counters, COUNTER_FIRES_FAILED) + counters_get(&w->counters, COUNTER_FIRES_TOO_LATE) == 4));
    world_mono_frozen_ms = 0;
    assert_true(world_wait_done(w));
    assert_int_equal(count_held(w, 4), 1);
    world_destroy(w);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connections_open_ahead_for_as_many_as_come_up_to_the_bound),
        cmocka_unit_test(what_expires_before_its_second_is_no_longer_expected),
        cmocka_unit_test(sending_is_told_while_more_is_due),
        cmocka_unit_test(what_expires_behind_a_host_that_is_off_found_nobody),
        cmocka_unit_test(what_expires_behind_a_slow_executor_found_it),
    };
    return cmocka_run_group_tests_name("dispatch.loop", tests, NULL, NULL);
}
