/* SPDX-License-Identifier: MIT */
/* The scanner on a clock of the test's own, with a stand-in for the database: no thread, no waiting. */
#include "test.h"

#include "schedule/fake_clock.h"
#include "schedule/fake_session.h"
#include "schedule/look/scanner.h"
#include "schedule/plan/planner.h"
#include "shardwheel/job/times.h"
#include "shardwheel/store/later.h"
#include "shardwheel/store/plan.h"

#include <stdlib.h>
#include <string.h>

#define T_S INT64_C(1767225600)
#define SHARDS 4

static struct world {
    struct fake_clock time;
    struct scanner *scanner;
    struct due_id due[8];
    size_t due_count;
    struct later_id later[8];
    size_t later_count;
    bool later_complete;
    int sweeps;
    int told_before_sweep;
    bool sweep_fails;
    int64_t sweep_takes_ms;
    size_t swept; /* by each */
    bool complete;
    bool away;
    int scans;
    int64_t scanned_ms; /* wall clock of the last one */
    int wanted[SHARDS];
    size_t wanted_count;
    int told[SHARDS];
    void (*during_scan)(void); /* called once */
} w;

enum err store_scan_due(struct store_session *s, const int *shards, size_t shard_count, int n, int64_t until_ms,
                        size_t limit, struct due_scan *out, struct errctx *ec)
{
    (void)s;
    assert_int_equal(n, SHARDS);
    assert_int_equal(until_ms, clock_wall_ms(&w.time.clock) + PLAN_AHEAD_MS);
    assert_int_equal(limit, SCAN_LIMIT);
    w.scans++;
    w.scanned_ms = clock_wall_ms(&w.time.clock);
    memcpy(w.wanted, shards, shard_count * sizeof *shards);
    w.wanted_count = shard_count;
    if (w.during_scan) {
        void (*call)(void) = w.during_scan;

        w.during_scan = NULL;
        call();
    }
    if (w.away)
        return err_set(ec, ERR_LOST, "away");
    *out = (struct due_scan){.complete = w.complete};
    out->list = calloc(w.due_count + 1, sizeof *out->list);
    assert_non_null(out->list);
    for (size_t i = 0; i < w.due_count; i++)
        for (size_t k = 0; k < shard_count; k++)
            if (w.due[i].id % n == shards[k])
                out->list[out->count++] = w.due[i];
    return ERR_OK;
}

enum err store_scan_later(struct store_session *s, const int *shards, size_t shard_count, int n, int64_t until_s,
                          size_t limit, struct later_scan *out, struct errctx *ec)
{
    (void)s, (void)ec;
    assert_int_equal(n, SHARDS);
    assert_int_equal(until_s, (w.scanned_ms + PLAN_AHEAD_MS) / 1000);
    assert_int_equal(limit, SCAN_LATER_LIMIT);
    *out = (struct later_scan){.complete = w.later_complete, .list = calloc(w.later_count + 1, sizeof *out->list)};
    assert_non_null(out->list);
    for (size_t i = 0; i < w.later_count; i++)
        for (size_t k = 0; k < shard_count; k++)
            if (w.later[i].job_id % n == shards[k])
                out->list[out->count++] = w.later[i];
    return ERR_OK;
}

enum err store_end_later(struct store_session *s, size_t limit, size_t *ended, struct errctx *ec)
{
    (void)s;
    assert_int_equal(limit, SCAN_LATER_LIMIT);
    assert_true(w.told[0] > w.told_before_sweep); /* its shard has its part by now */
    w.told_before_sweep = w.told[0];
    w.sweeps++;
    *ended = w.swept;
    fake_clock_pass_ms(&w.time, w.sweep_takes_ms);
    return w.sweep_fails ? err_set(ec, ERR_CONFLICT, "locked") : ERR_OK;
}

static void on_ready(void *arg, int shard)
{
    assert_ptr_equal(arg, &w);
    w.told[shard]++;
}

static int setup(void **state)
{
    (void)state;
    memset(&w, 0, sizeof w);
    w.time = fake_clock_at(T_S * 1000 + 450);
    w.complete = w.later_complete = true;
    assert_int_equal(
        scanner_create(&(struct look_opts){.shards = SHARDS, .clock = &w.time.clock, .ready = on_ready, .arg = &w},
                       &w.scanner, NULL),
        ERR_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    scanner_destroy(w.scanner);
    return 0;
}

static void run_ms(int64_t ms)
{
    for (int64_t end_ms = w.time.mono_ms + ms; w.time.mono_ms < end_ms;) {
        int64_t wait_ms = scanner_turn(w.scanner);

        if (wait_ms > end_ms - w.time.mono_ms)
            wait_ms = end_ms - w.time.mono_ms;
        fake_clock_pass_ms(&w.time, wait_ms);
    }
}

static void add_due(int64_t id, int64_t next_ms)
{
    w.due[w.due_count++] = (struct due_id){.id = id, .next_ms = next_ms};
}

static void assert_part(int shard, const int64_t *ids, size_t count)
{
    struct scan_part part;

    assert_true(scanner_take(w.scanner, shard, &part));
    assert_int_equal(part.count, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(part.ids[i], ids[i]);
    assert_int_equal(part.until_ms, w.scanned_ms + PLAN_AHEAD_MS);
    assert_int_equal(part.complete, w.complete);
    scan_part_fini(&part);
    assert_false(scanner_take(w.scanner, shard, &part)); /* once */
}

static void one_look_a_second_serves_all_shards(void **state)
{
    (void)state;
    add_due(5, 3);
    add_due(2, 4);
    add_due(1, 9);
    w.complete = false;
    for (int second = 1; second <= 3; second++) {
        for (int k = 0; k < 3; k++) {
            scanner_ask(w.scanner, k, false);
            run_ms(10);
        }
        run_ms(970);
        assert_int_equal(w.scans, second);
        assert_int_equal(w.scanned_ms % 1000, SCAN_PHASE_MS);
        assert_int_equal(w.wanted_count, 3);
        assert_int_equal(w.told[1], second);
        assert_int_equal(w.told[3], 0);
        assert_part(0, NULL, 0);
        assert_part(1, (int64_t[]){5, 1}, 2);
        assert_part(2, (int64_t[]){2}, 1);
    }
    run_ms(3000);
    assert_int_equal(w.scans, 3); /* nobody asked */
}

/* Eight takeovers are not eight looks. */
static void haste_is_served_at_once_and_together(void **state)
{
    (void)state;
    scanner_ask(w.scanner, 3, false);
    scanner_ask(w.scanner, 0, true);
    run_ms(1);
    assert_int_equal(w.scans, 1);
    assert_int_equal(w.wanted_count, 1); /* 3 has time */
    scanner_ask(w.scanner, 1, true);
    run_ms(20);
    scanner_ask(w.scanner, 2, true);
    run_ms(60);
    assert_int_equal(w.scans, 1);
    run_ms(30);
    assert_int_equal(w.scans, 2);
    assert_int_equal(w.wanted_count, 2);
    scanner_ask(w.scanner, 3, true); /* asked for already, but not in haste */
    run_ms(110);
    assert_int_equal(w.scans, 3);
    assert_int_equal(w.told[3], 1);
}

static void a_look_that_failed_is_made_again(void **state)
{
    struct scan_part part;

    (void)state;
    w.away = true;
    scanner_ask(w.scanner, 0, true);
    run_ms(100);
    assert_int_equal(w.scans, 1);
    assert_false(scanner_take(w.scanner, 0, &part));
    w.away = false;
    run_ms(SCAN_RETRY_MS);
    assert_int_equal(w.scans, 2);
    assert_part(0, NULL, 0);
}

static void drop_and_ask(void)
{
    scanner_drop(w.scanner, 1);
    scanner_ask(w.scanner, 1, true);
}

/* A shard that was lost and taken over again: what was looked up before may have been planned by others since. */
static void a_part_is_younger_than_its_asking(void **state)
{
    struct scan_part part;

    (void)state;
    add_due(1, 1);
    scanner_ask(w.scanner, 1, true);
    w.during_scan = drop_and_ask;
    run_ms(1);
    assert_int_equal(w.scans, 1);
    assert_false(scanner_take(w.scanner, 1, &part));
    run_ms(200);
    assert_int_equal(w.scans, 2);
    assert_part(1, (int64_t[]){1}, 1);

    scanner_ask(w.scanner, 1, true);
    run_ms(200);
    scanner_drop(w.scanner, 1);
    assert_false(scanner_take(w.scanner, 1, &part));
}

static void later_rows_come_along(void **state)
{
    struct scan_part part;

    (void)state;
    w.later[0] = (struct later_id){.id = 70, .job_id = 5};
    w.later[1] = (struct later_id){.id = 60, .job_id = 2};
    w.later[2] = (struct later_id){.id = 50, .job_id = 1};
    w.later_count = 3;
    for (int k = 0; k < 4; k++) {
        w.complete = k & 1;
        w.later_complete = k & 2;
        scanner_ask(w.scanner, 1, true);
        run_ms(200);
        assert_true(scanner_take(w.scanner, 1, &part));
        assert_int_equal(part.count, 0);
        assert_int_equal(part.later_count, 2);
        assert_int_equal(part.later[0], 70);
        assert_int_equal(part.later[1], 50);
        assert_int_equal(part.complete, w.complete);
        assert_int_equal(part.later_more, !w.later_complete);
        scan_part_fini(&part);
    }
}

static void one_node_deletes_those_that_have_ended(void **state)
{
    (void)state;
    scanner_ask(w.scanner, 1, true); /* shard 0 is somebody else's */
    run_ms(200);
    assert_int_equal(w.sweeps, 0);
    for (int i = 0; i < 3; i++) { /* as long as there are more */
        scanner_drop(w.scanner, 0);
        w.swept = i < 2 ? SCAN_LATER_LIMIT : 7;
        scanner_ask(w.scanner, 0, true);
        run_ms(200);
        assert_int_equal(w.sweeps, i + 1);
    }
    scanner_drop(w.scanner, 0);
    scanner_ask(w.scanner, 0, true);
    run_ms(LATER_SWEEP_S * 1000 - 400);
    assert_int_equal(w.sweeps, 3);
    run_ms(400);
    scanner_drop(w.scanner, 0);
    scanner_ask(w.scanner, 0, true);
    run_ms(200);
    assert_int_equal(w.sweeps, 4);
}

/* The parts of its look are good all the same, and it is not tried with each look. */
static void a_sweep_that_fails_or_takes_long_holds_nobody_up(void **state)
{
    (void)state;
    w.sweep_fails = true;
    w.sweep_takes_ms = 700;
    for (int i = 0; i < 12; i++) {
        struct scan_part part;

        w.told_before_sweep = w.told[0];
        scanner_ask(w.scanner, 0, true);
        run_ms(1000);
        assert_true(scanner_take(w.scanner, 0, &part));
        scan_part_fini(&part);
    }
    assert_int_equal(w.sweeps, 1);
}

int main(void)
{
#define SCANNER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        SCANNER_TEST(one_look_a_second_serves_all_shards),
        SCANNER_TEST(haste_is_served_at_once_and_together),
        SCANNER_TEST(a_look_that_failed_is_made_again),
        SCANNER_TEST(a_part_is_younger_than_its_asking),
        SCANNER_TEST(later_rows_come_along),
        SCANNER_TEST(one_node_deletes_those_that_have_ended),
        SCANNER_TEST(a_sweep_that_fails_or_takes_long_holds_nobody_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
