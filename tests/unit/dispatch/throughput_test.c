/* SPDX-License-Identifier: MIT */
/*
 * Many fires at once: every one arrives exactly once and ends with a result. The figures are printed, not judged: they
 * say something on a quiet machine and in a release build only. Larger runs:
 *   SHARDWHEEL_FIRES=200000 SHARDWHEEL_PER_ADDRESS=8 SHARDWHEEL_ADDRESSES=20 SHARDWHEEL_LOOPS=1 \
 *     build/release/dispatch_throughput_test
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>

#include "executor/fake_server.h"
#include "dispatch/fake_world.h"

enum { ADDRESSES_MAX = 100 };

static long get_number(const char *name, long otherwise)
{
    const char *text = getenv(name);

    return text ? atol(text) : otherwise;
}

/* CPU time, user and system, that the threads whose name begins so have used so far. */
static int64_t cpu_us(const char *name)
{
    DIR *tasks = opendir("/proc/self/task");
    struct dirent *entry;
    int64_t sum = 0;

    while (tasks && (entry = readdir(tasks)) != NULL) {
        char path[300], comm[32] = "";
        struct timespec t;
        FILE *f;

        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        f = fopen(path, "r");
        if (!f)
            continue;
        /* The clock of a thread of ours, as Linux numbers them. */
        if (fgets(comm, sizeof comm, f) && strncmp(comm, name, strlen(name)) == 0 &&
            clock_gettime((clockid_t)(~(unsigned)atoi(entry->d_name) << 3 | 6), &t) == 0)
            sum += t.tv_sec * (int64_t)1000000 + t.tv_nsec / 1000;
        fclose(f);
    }
    if (tasks)
        closedir(tasks);
    return sum;
}

static void a_burst_of_one_second_arrives_whole_and_once(void **state)
{
    const long fires = get_number("SHARDWHEEL_FIRES", 10000);
    const int address_count = (int)get_number("SHARDWHEEL_ADDRESSES", ADDRESSES_MAX);
    struct fake_server *server = fake_server_start(address_count);
    char urls[ADDRESSES_MAX][64];
    const char *addresses[ADDRESSES_MAX];
    struct world *w;
    struct fire *list = NULL;
    int64_t due_s, submit_us, loops_us, results_us, done_us;

    (void)state;
    for (int i = 0; i < address_count; i++) {
        fake_server_url(server, i, "/", urls[i]);
        addresses[i] = urls[i];
    }
    w = world_create(addresses, (size_t)address_count,
                     (struct dispatch_opts){.threads = (int)get_number("SHARDWHEEL_LOOPS", 2),
                                            .per_address = (int)get_number("SHARDWHEEL_PER_ADDRESS", 4),
                                            .queue_max = (size_t)fires,
                                            .results_max = (size_t)fires});
    world_set_access(w, "token", 20000);
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
        loops_us = cpu_us("dispatch-");
        results_us = cpu_us("results");
        world_submit(w, list);
        submit_us = clock_wall_us(clock_system()) - submit_us;
        assert_true(world_wait_done(w));
        done_us = clock_wall_us(&w->clock) - due_s * 1000000;
        assert_int_equal(fake_server_arrivals(server), before + fires);
        print_message(
            "round %d: %ld fires, submit %.1f ms, first arrival %+.2f ms, last %+.1f ms (%.0f/s), committed %+.1f ms, "
            "CPU a fire: loops %.1f us, results %.1f us\n",
            round + 1, fires, (double)submit_us / 1e3,
            (double)(server->first_arrival_us + world_wall_offset_us - due_s * 1000000) / 1e3,
            (double)(server->last_arrival_us + world_wall_offset_us - due_s * 1000000) / 1e3,
            (double)fires * 1e6 / (double)(server->last_arrival_us - server->first_arrival_us + 1),
            (double)done_us / 1e3, (double)(cpu_us("dispatch-") - loops_us) / (double)fires,
            (double)(cpu_us("results") - results_us) / (double)fires);
        assert_true(server->first_arrival_us + world_wall_offset_us >= due_s * 1000000);
    }
    assert_int_equal(counters_get(&w->counters, COUNTER_FIRES_DELIVERED), 2 * fires);
    assert_int_equal(w->store.row_count, 2 * fires);
    assert_int_equal(world_sent_total(w), 2 * fires);
    qsort(server->seen, server->seen_count, sizeof *server->seen, compare_int64);
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
