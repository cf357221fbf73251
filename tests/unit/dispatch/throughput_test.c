/* SPDX-License-Identifier: MIT */
/*
 * Many fires at once: every one arrives exactly once and ends with a result. The figures are printed, not judged: they say
 * something on a quiet machine and in a release build only. Larger runs:
 *   SHARDWHEEL_FIRES=200000 SHARDWHEEL_PER_ADDRESS=8 build/release/dispatch_throughput_test
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/resource.h>

#include "dispatch/fake_server.h"
#include "dispatch/fake_world.h"

enum { ADDRESSES = 100 };

static long get_number(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text ? atol(text) : otherwise;
}

static int compare_ids(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* CPU time of this process; the server's thread is a part of it. */
static int64_t cpu_us(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * (int64_t)1000000 + u.ru_utime.tv_usec + u.ru_stime.tv_usec;
}

static void a_burst_of_one_second_arrives_whole_and_once(void **state)
{
    const long fires = get_number("SHARDWHEEL_FIRES", 10000);
    struct fake_server *server = fake_server_start(ADDRESSES);
    char urls[ADDRESSES][64];
    const char *addresses[ADDRESSES];
    struct world *w;
    struct fire *list = NULL;
    int64_t due_s, submit_us, cpu, done_us;

    (void)state;
    for (int i = 0; i < ADDRESSES; i++) {
        fake_server_url(server, i, "/", urls[i]);
        addresses[i] = urls[i];
    }
    w = world_create(addresses, ADDRESSES,
                     (struct dispatch_opts){.per_address = (int)get_number("SHARDWHEEL_PER_ADDRESS", 4),
                                            .queue_max = (size_t)fires,
                                            .results_max = (size_t)fires});
    dispatch_set_limits(w->dispatch, "token", 20000);
    for (int round = 0; round < 2; round++) { /* the second one finds open connections */
        long before = fake_server_arrivals(server);

        due_s = world_now_s(w) + 1;
        list = NULL;
        for (long i = 0; i < fires; i++)
            list = world_list(list, world_fire(w, world_job(8 + i, "CONSISTENT_HASH"), due_s));
        world_wall_offset_us = 1000000 - 200000 - clock_wall_us(clock_system()) % 1000000;
        for (struct fire *f = list; f; f = f->next)
            f->due_s = f->original_due_s = world_now_s(w) + 1;
        due_s = list->due_s;
        pthread_mutex_lock(&server->lock);
        server->first_arrival_us = 0;
        pthread_mutex_unlock(&server->lock);
        submit_us = clock_wall_us(clock_system());
        cpu = cpu_us();
        world_submit(w, list);
        submit_us = clock_wall_us(clock_system()) - submit_us;
        assert_true(world_wait_done(w));
        done_us = clock_wall_us(&w->clock) - due_s * 1000000;
        assert_int_equal(fake_server_arrivals(server), before + fires);
        print_message(
            "round %d: %ld fires, submit %.1f ms, first arrival %+.2f ms, last %+.1f ms (%.0f/s), committed %+.1f ms, "
            "CPU %.1f us a fire with the server\n",
            round + 1, fires, (double)submit_us / 1e3,
            (double)(server->first_arrival_us + world_wall_offset_us - due_s * 1000000) / 1e3,
            (double)(server->last_arrival_us + world_wall_offset_us - due_s * 1000000) / 1e3,
            (double)fires * 1e6 / (double)(server->last_arrival_us - server->first_arrival_us + 1),
            (double)done_us / 1e3, (double)(cpu_us() - cpu) / (double)fires);
        assert_true(server->first_arrival_us + world_wall_offset_us >= due_s * 1000000);
    }
    assert_int_equal(counters_get(&w->counters, COUNTER_FIRES_DELIVERED), 2 * fires);
    assert_int_equal(w->store.row_count, 2 * fires);
    assert_int_equal(world_sent_total(w), 2 * fires);
    qsort(server->seen, server->seen_count, sizeof *server->seen, compare_ids);
    for (long i = 0; i < 2 * fires; i++)
        assert_int_equal(server->seen[i], i + 1);
    world_destroy(w);
    fake_server_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_of_one_second_arrives_whole_and_once),
    };
    return cmocka_run_group_tests_name("dispatch.throughput", tests, NULL, NULL);
}
