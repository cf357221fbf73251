/* SPDX-License-Identifier: MIT */
/* The loader on a clock of the test's own, with a log in memory that costs time for each row: no thread, no waiting. */
#include "test.h"

#include "schedule/fake_clock.h"
#include "schedule/fake_session.h"
#include "schedule/look/loader.h"
#include "shardwheel/store/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T_S INT64_C(1767225600)
#define SHARDS 4
#define SECONDS 2000

static struct world {
    struct fake_clock time;
    struct loader *loader;
    int64_t weight[SECONDS]; /* rows of each second from T_S - SECONDS / 2 on, none of them planned and open */
    struct row {
        int64_t id, job_id, due_s, epoch;
    } rows[16];
    size_t row_count;
    int64_t rows_per_ms; /* that the server reads */
    bool away;
    int statements, refused; /* refused: came to the limit */
    int64_t longest_ms;
    int64_t rows_read;
    int told[SHARDS];
    void (*during)(void); /* called once */
} w;

/* Ids go by the second, in steps of 1,000,000; a second's planned rows have its lowest ones. */
static int64_t first_id(int64_t due_s)
{
    return (due_s - T_S + SECONDS) * 1000000;
}

enum err store_load_planned(struct store_session *s, const struct log_slice *slice, struct fire **out, int64_t *last_id,
                            struct errctx *ec)
{
    int64_t after_id = slice->after_id; /* last_id may be the very same place */
    int64_t rows = 0, skipped = 0, cost_ms;

    assert_ptr_equal(s, &the_session);
    assert_true(slice->from_s < slice->to_s);
    assert_int_equal(slice->limit_ms, slice->page_rows > 0 ? LOAD_PAGE_LIMIT_MS : LOAD_LIMIT_MS);
    w.statements++;
    if (w.during) {
        void (*call)(void) = w.during;

        w.during = NULL;
        call();
    }
    if (w.away)
        return err_set(ec, ERR_LOST, "away");
    for (int64_t t = slice->from_s + 1; t <= slice->to_s; t++)
        if (t >= T_S - SECONDS / 2 && t < T_S + SECONDS / 2)
            rows += w.weight[t - T_S + SECONDS / 2];
    *last_id = 0;
    if (slice->page_rows > 0) {
        assert_int_equal(slice->to_s, slice->from_s + 1);
        skipped = after_id ? after_id - first_id(slice->to_s) : 0;
        rows -= skipped;
        if (rows > slice->page_rows) {
            rows = slice->page_rows;
            *last_id = first_id(slice->to_s) + skipped + rows;
        }
    }
    cost_ms = rows / w.rows_per_ms;
    if (cost_ms > slice->limit_ms)
        cost_ms = slice->limit_ms;
    fake_clock_pass_ms(&w.time, cost_ms);
    if (cost_ms > w.longest_ms)
        w.longest_ms = cost_ms;
    if (cost_ms == slice->limit_ms) {
        w.refused++;
        return err_set(ec, ERR_TIMEOUT, "too long");
    }
    w.rows_read += rows;
    *out = NULL;
    for (size_t i = 0; i < w.row_count; i++) {
        const struct row *row = &w.rows[i];
        struct fire *f;

        if (row->due_s <= slice->from_s || row->due_s > slice->to_s || (slice->page_rows > 0 && skipped > 0))
            continue;
        f = fire_create();
        assert_non_null(f);
        f->log_id = row->id;
        f->job_id = row->job_id;
        f->due_s = row->due_s;
        f->epoch = row->epoch;
        f->next = *out;
        *out = f;
    }
    return ERR_OK;
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
    w.time = fake_clock_at(T_S * 1000);
    w.rows_per_ms = 1000;
    assert_int_equal(
        loader_create(&(struct look_opts){.shards = SHARDS, .clock = &w.time.clock, .ready = on_ready, .arg = &w},
                      &w.loader, NULL),
        ERR_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    loader_destroy(w.loader);
    return 0;
}

static void add_row(int64_t id, int64_t job_id, int64_t due_s, int64_t epoch)
{
    w.rows[w.row_count++] = (struct row){id, job_id, due_s, epoch};
}

static void ask(int shard, int64_t from_s, int64_t to_s, bool urgent)
{
    loader_ask(w.loader, shard,
               &(struct load_ask){.from_s = from_s, .to_s = to_s, .under = 50, .epoch = 50, .urgent = urgent});
}

static enum err take(int shard, struct fire **list, size_t *count)
{
    struct errctx ec;

    errctx_clear(&ec);
    return loader_take(w.loader, shard, list, count, &ec);
}

/* Turns until that shard has been told so often; the time that it took. */
static int64_t run_until(int shard, int told)
{
    int64_t began_ms = w.time.mono_ms;

    while (w.told[shard] < told) {
        fake_clock_pass_ms(&w.time, loader_turn(w.loader));
        assert_true(w.time.mono_ms - began_ms < 600000);
    }
    return w.time.mono_ms - began_ms;
}

/* "id id ..." of what the shard is given, oldest first. */
static void check_given(int shard, const char *expected)
{
    struct fire *list = NULL;
    size_t count = 0, n = 0;
    char text[200] = "";

    assert_int_equal(take(shard, &list, &count), ERR_OK);
    for (const struct fire *f = list; f; f = f->next, n++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), n ? " %d" : "%d", (int)f->log_id);
        assert_int_equal(f->shard, shard);
        assert_int_equal(f->epoch, 50);
    }
    assert_int_equal(n, count);
    assert_string_equal(text, expected);
    fire_destroy_list(list);
    assert_int_equal(take(shard, &list, &count), ERR_STATE); /* once */
}

static void each_shard_gets_its_own_of_one_look(void **state)
{
    struct fire *list;
    size_t count;

    (void)state;
    add_row(1, 4, T_S - 5, 7);
    add_row(2, 8, T_S - 9, 7);
    add_row(3, 4, T_S - 5, 7);
    add_row(4, 5, T_S - 5, 7);
    add_row(5, 9, T_S - 100, 7); /* too early */
    add_row(6, 13, T_S, 7);
    add_row(7, 13, T_S + 1, 7); /* too late */
    add_row(8, 5, T_S - 5, 50); /* not under an older epoch */
    add_row(9, 6, T_S - 5, 7);  /* shard 2 asks for nothing */
    assert_int_equal(loader_turn(w.loader), 1000);
    assert_int_equal(take(0, &list, &count), ERR_STATE);
    ask(0, T_S - 900, T_S, false);
    ask(1, T_S - 100, T_S, false);
    assert_int_equal(take(0, &list, &count), ERR_BUSY);
    run_until(1, 1);
    assert_int_equal(w.statements, 1);
    assert_int_equal(w.told[0], 1);
    check_given(0, "2 1 3");
    check_given(1, "4 6");
    assert_int_equal(loader_turn(w.loader), 1000);
    assert_int_equal(w.statements, 1);
}

/* 5 million rows in fifteen minutes, of which the server reads 500,000 in a second. */
static void a_large_log_is_read_in_pieces(void **state)
{
    (void)state;
    w.rows_per_ms = 500;
    for (int t = 0; t < SECONDS; t++)
        w.weight[t] = 5500;
    for (int i = 0; i < 9; i++)
        add_row(i + 1, 4 * i, T_S - 899 + 100 * i, 7);
    for (int k = 0; k < SHARDS; k++)
        ask(k, T_S - 900, T_S, false);
    run_until(3, 1);
    check_given(0, "1 2 3 4 5 6 7 8 9");
    assert_true(w.refused <= 3); /* all of it, and the first parts */
    assert_int_equal(w.longest_ms, LOAD_LIMIT_MS);
    w.longest_ms = 0;
    assert_int_equal(w.rows_read, 900 * 5500); /* once for all of them */
    /* It has learned how much may be read at once. */
    ask(0, T_S - 900, T_S, false);
    run_until(0, 2);
    assert_true(w.longest_ms <= 2 * LOAD_SLOW_MS);
    /* ... and unlearns it. */
    memset(w.weight, 0, sizeof w.weight);
    for (int i = 3; i < 13; i++) {
        ask(0, T_S - 900, T_S, false);
        run_until(0, i);
    }
    w.statements = 0;
    ask(0, T_S - 900, T_S, false);
    run_until(0, 13);
    assert_int_equal(w.statements, 1);
}

static void a_second_that_is_too_large_is_read_in_pages(void **state)
{
    (void)state;
    w.rows_per_ms = 100;
    w.weight[SECONDS / 2] = 1000000;
    add_row(1, 4, T_S, 7);
    add_row(2, 4, T_S + 1, 7);
    ask(0, T_S - 10, T_S + 600, true);
    run_until(0, 1);
    check_given(0, "1 2");
    assert_true(w.rows_read >= 1000000);
}

/* A takeover does not wait for what has time. */
static void what_is_urgent_goes_first(void **state)
{
    struct fire *list;
    size_t count;

    (void)state;
    for (int t = 0; t < SECONDS; t++)
        w.weight[t] = 100000;
    add_row(1, 4, T_S - 800, 7);
    add_row(2, 5, T_S + 3, 7);
    ask(0, T_S - 900, T_S, false);
    for (int i = 0; i < 8; i++)
        loader_turn(w.loader);
    assert_int_equal(take(0, &list, &count), ERR_BUSY);
    memset(w.weight + SECONDS / 2, 0, SECONDS / 2 * sizeof w.weight[0]);
    ask(1, T_S, T_S + 600, true);
    assert_true(run_until(1, 1) < 1000);
    check_given(1, "2");
    assert_int_equal(take(0, &list, &count), ERR_BUSY);
    run_until(0, 1);
    check_given(0, "1");
}

/* The pause is as long as the reading. */
static void what_has_time_leaves_the_server_half_of_its(void **state)
{
    int64_t took_ms;

    (void)state;
    for (int t = 0; t < SECONDS; t++)
        w.weight[t] = 1000;
    ask(0, T_S - 900, T_S, false);
    ask(1, T_S - 900, T_S, false);
    run_until(0, 1); /* in one piece, which is a large one */
    ask(0, T_S - 900, T_S, false);
    run_until(0, 2);
    ask(0, T_S - 900, T_S, false);
    took_ms = run_until(0, 3);
    assert_in_range(took_ms, 1800 - LOAD_SLOW_MS, 1800 + LOAD_SLOW_MS);
    ask(0, T_S - 900, T_S, true);
    assert_in_range(run_until(0, 4), 850, 1000);
}

static void a_failure_is_told_and_the_look_goes_on(void **state)
{
    struct fire *list;
    struct errctx ec;
    size_t count;

    (void)state;
    w.rows_per_ms = 10;
    for (int t = 0; t < SECONDS; t++)
        w.weight[t] = 1000;
    add_row(1, 4, T_S - 899, 7);
    add_row(2, 4, T_S, 7);
    ask(0, T_S - 900, T_S, false);
    for (int i = 0; i < 100; i++)
        fake_clock_pass_ms(&w.time, loader_turn(w.loader));
    assert_int_equal(take(0, &list, &count), ERR_BUSY);
    w.away = true;
    for (int i = 0; i < 10 && w.told[0] == 0; i++)
        fake_clock_pass_ms(&w.time, loader_turn(w.loader));
    errctx_clear(&ec);
    assert_int_equal(loader_take(w.loader, 0, &list, &count, &ec), ERR_LOST);
    assert_string_equal(ec.text, "away");
    assert_int_equal(take(0, &list, &count), ERR_LOST); /* until it goes on */
    w.statements = 0;
    w.rows_read = 0;
    w.away = false;
    while (w.statements == 0)
        fake_clock_pass_ms(&w.time, loader_turn(w.loader));
    assert_int_equal(take(0, &list, &count), ERR_BUSY);
    run_until(0, 2);
    assert_true(w.rows_read < 880 * 1000); /* not from the beginning */
    check_given(0, "1 2");
}

static void drop_and_ask(void)
{
    add_row(2, 5, T_S + 2, 7);
    loader_drop(w.loader, 1);
    ask(1, T_S, T_S + 600, true);
}

/* A shard that was lost and taken over again: what was read before may be others' by now. */
static void what_is_given_out_is_younger_than_its_asking(void **state)
{
    struct fire *list;
    size_t count;

    (void)state;
    add_row(1, 5, T_S + 1, 7);
    ask(1, T_S, T_S + 600, true);
    w.during = drop_and_ask;
    loader_turn(w.loader);
    assert_int_equal(take(1, &list, &count), ERR_BUSY);
    run_until(1, 1);
    check_given(1, "1 2");
    ask(1, T_S, T_S + 600, true);
    loader_turn(w.loader);
    loader_drop(w.loader, 1);
    assert_int_equal(take(1, &list, &count), ERR_STATE);
    /* One that joins is not given less. */
    ask(0, T_S - 10, T_S + 600, false);
    ask(1, T_S - 900, T_S + 600, false);
    run_until(1, 3);
    check_given(1, "1 2");
}

int main(void)
{
#define LOADER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        LOADER_TEST(each_shard_gets_its_own_of_one_look),          LOADER_TEST(a_large_log_is_read_in_pieces),
        LOADER_TEST(a_second_that_is_too_large_is_read_in_pages),  LOADER_TEST(what_is_urgent_goes_first),
        LOADER_TEST(what_has_time_leaves_the_server_half_of_its),  LOADER_TEST(a_failure_is_told_and_the_look_goes_on),
        LOADER_TEST(what_is_given_out_is_younger_than_its_asking),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
