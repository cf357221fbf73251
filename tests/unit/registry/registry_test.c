/* SPDX-License-Identifier: MIT */
#include "registry/fake_store.h"
#include "shardwheel/registry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>

static struct counters counters;

/* The system's clock, moved ahead by the test. */
static _Atomic int64_t ahead_ms;
static _Atomic int64_t still_ms; /* where the monotonic one stands; 0 when it runs */
static int64_t test_wall_us(const struct clock *clock)
{
    (void)clock;
    return clock_wall_us(clock_system()) + atomic_load(&ahead_ms) * 1000;
}
static int64_t test_mono_ms(const struct clock *clock)
{
    int64_t still = atomic_load(&still_ms);

    (void)clock;
    return still ? still : clock_mono_ms(clock_system()) + atomic_load(&ahead_ms);
}
static const struct clock test_clock = {test_wall_us, test_mono_ms, test_mono_ms};

struct fixture {
    struct store *st;
    struct registry *r;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));
    struct errctx ec;
    memset(&counters, 0, sizeof(counters));
    atomic_store(&ahead_ms, 0);
    atomic_store(&still_ms, 0);
    f->st = fake_create();
    fake_add_group(f->st, 1, "app", false, "", "");
    fake_add_group(f->st, 2, "manual", true, " http://m1/ ,, http://m2/", "secret");
    fake_add_group(f->st, 7, "app2", false, "http://old/", "");
    *state = f;
    return registry_create(f->st, &test_clock, &counters, &f->r, &ec);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    registry_stop(f->r);
    registry_join(f->r);
    registry_destroy(f->r);
    fake_destroy(f->st);
    free(f);
    return 0;
}

static void start(struct fixture *f)
{
    struct errctx ec;
    assert_int_equal(registry_start(f->r, &ec), ERR_OK);
}

static void beat(struct fixture *f, const char *key, const char *value, bool remove)
{
    struct errctx ec;
    assert_int_equal(registry_submit_beat(f->r, "EXECUTOR", key, value, remove, &ec), ERR_OK);
}

struct wish {
    struct fixture *f;
    int64_t id;
    const char *list; /* of the group, in the database and in the snapshot */
    int count;        /* what a counter must reach */
};

static bool has_list(void *arg)
{
    struct wish *w = arg;
    char list[1000], seen[1000] = "";
    fake_get_list(w->f->st, w->id, list, sizeof(list));
    const struct registry_snapshot *snap = registry_get_snapshot(w->f->r);
    const struct registry_group *g = registry_find_group(snap, w->id);
    for (size_t i = 0; g && i < g->count; i++) {
        strcat(seen, i ? "," : "");
        strcat(seen, g->addresses[i]);
    }
    registry_put_snapshot(snap);
    return !strcmp(list, w->list) && !strcmp(seen, w->list);
}

static void wait_list(struct fixture *f, int64_t id, const char *list)
{
    struct wish w = {.f = f, .id = id, .list = list};
    assert_true(fake_poll(has_list, &w));
}

static bool has_group_loads(void *arg)
{
    struct wish *w = arg;
    fake_lock(w->f->st);
    bool ok = w->f->st->group_loads >= w->count;
    fake_unlock(w->f->st);
    return ok;
}

static void wait_group_loads(struct fixture *f, int more)
{
    fake_lock(f->st);
    struct wish w = {.f = f, .count = f->st->group_loads + more};
    fake_unlock(f->st);
    assert_true(fake_poll(has_group_loads, &w));
}

static bool has_rows(void *arg)
{
    struct wish *w = arg;
    fake_lock(w->f->st);
    bool ok = (int)w->f->st->rows_count == w->count;
    fake_unlock(w->f->st);
    return ok;
}

static void snapshot_is_there_after_start(void **state)
{
    struct fixture *f = *state;
    start(f);
    const struct registry_snapshot *snap = registry_get_snapshot(f->r);
    assert_int_equal(snap->count, 3);
    const struct registry_group *g = registry_find_app(snap, "manual");
    assert_int_equal(g->id, 2);
    assert_true(g->manual);
    assert_string_equal(g->access_token, "secret");
    assert_int_equal(g->count, 2);
    assert_string_equal(g->addresses[0], "http://m1/");
    assert_string_equal(g->addresses[1], "http://m2/");
    assert_null(registry_find_app(snap, "Manual"));
    assert_null(registry_find_group(snap, 3));
    assert_non_null(registry_find_group(snap, 7));
    registry_put_snapshot(snap);
}

static void start_needs_the_database(void **state)
{
    struct fixture *f = *state;
    struct errctx ec;
    fake_set_error(f->st, ERR_LOST);
    assert_int_equal(registry_start(f->r, &ec), ERR_LOST);
    assert_non_null(strstr(ec.text, "executor groups"));
}

static void new_address_is_listed_and_removal_takes_it_out(void **state)
{
    struct fixture *f = *state;
    start(f);
    beat(f, "app", "http://b/", false);
    beat(f, "app", "http://a/", false);
    wait_list(f, 1, "http://a/,http://b/");
    beat(f, "app", "http://b/", true);
    wait_list(f, 1, "http://a/");
    wait_list(f, 7, ""); /* nobody beats for it */
    assert_int_equal(counters_get(&counters, COUNTER_EXECUTOR_GROUPS), 1);
    assert_int_equal(counters_get(&counters, COUNTER_EXECUTOR_GROUPS_OFFLINE), 1);
    assert_int_equal(counters_get(&counters, COUNTER_BEATS), 3);
}

/* The executor was there first; its group is made while we run. */
static void a_new_group_finds_executors_that_registered_before(void **state)
{
    struct fixture *f = *state;
    start(f);
    beat(f, "late", "http://late/", false);
    struct wish w = {.f = f, .count = 1};
    assert_true(fake_poll(has_rows, &w));
    wait_group_loads(f, 3);
    fake_lock(f->st);
    fake_add_group(f->st, 9, "late", false, "", "");
    fake_unlock(f->st);
    wait_list(f, 9, "http://late/");
}

static void beats_of_known_addresses_cost_no_recomputation(void **state)
{
    struct fixture *f = *state;
    start(f);
    beat(f, "app", "http://a/", false);
    wait_list(f, 1, "http://a/");
    wait_group_loads(f, 2);
    fake_lock(f->st);
    int loads = f->st->registry_loads, batches = f->st->beat_batches;
    fake_unlock(f->st);
    beat(f, "app", "http://a/", false);
    beat(f, "manual", "http://m9/", false);
    beat(f, "nobody", "http://n/", false);
    wait_group_loads(f, 3);
    fake_lock(f->st);
    assert_int_equal(f->st->registry_loads, loads);
    assert_true(f->st->beat_batches > batches);
    fake_unlock(f->st);
}

static void snapshot_stays_the_same_object_until_something_changes(void **state)
{
    struct fixture *f = *state;
    start(f);
    wait_list(f, 7, ""); /* the first pass of the monitor is over */
    const struct registry_snapshot *a = registry_get_snapshot(f->r);
    wait_group_loads(f, 2);
    const struct registry_snapshot *b = registry_get_snapshot(f->r);
    assert_ptr_equal(a, b);
    registry_put_snapshot(b);
    fake_lock(f->st);
    strcpy(f->st->groups[1].token, "other");
    fake_unlock(f->st);
    wait_group_loads(f, 3);
    b = registry_get_snapshot(f->r);
    assert_ptr_not_equal(a, b);
    assert_string_equal(registry_find_app(b, "manual")->access_token, "other");
    assert_string_equal(registry_find_app(a, "manual")->access_token, "secret"); /* an old one never changes */
    registry_put_snapshot(a);
    registry_put_snapshot(b);
}

static void refuses_bad_beats_by_name(void **state)
{
    struct fixture *f = *state;
    struct errctx ec;
    char text[300];
    memset(text, 'x', sizeof(text));
    text[256] = '\0';
    assert_int_equal(registry_submit_beat(f->r, "EXECUTOR", " ", "http://a/", false, &ec), ERR_INPUT);
    assert_string_equal(ec.text, "registryKey is blank");
    assert_int_equal(registry_submit_beat(f->r, "EXECUTOR", "app", text, false, &ec), ERR_INPUT);
    assert_string_equal(ec.text, "registryValue has 256 characters, 255 are allowed");
    text[255] = '\0';
    assert_int_equal(registry_submit_beat(f->r, "EXECUTOR", "app", text, false, &ec), ERR_OK);
    text[51] = '\0';
    assert_int_equal(registry_submit_beat(f->r, text, "app", "http://a/", false, &ec), ERR_INPUT);
    for (int i = 0; i < 50; i++)
        memcpy(text + 2 * i, "\xc3\xa9", 2); /* 50 characters of two bytes fit */
    text[100] = '\0';
    assert_int_equal(registry_submit_beat(f->r, text, "app", "http://a/", false, &ec), ERR_OK);
}

static void digests_ten_thousand_beats_of_one_instant(void **state)
{
    struct fixture *f = *state;
    char value[64];
    start(f);
    for (int i = 0; i < 10000; i++) {
        snprintf(value, sizeof(value), "http://10.%d.%d.1:9999/", i / 100, i % 100);
        beat(f, "nobody", value, false);
    }
    struct wish w = {.f = f, .count = 10000};
    assert_true(fake_poll(has_rows, &w));
    fake_lock(f->st);
    assert_true(f->st->beat_batches <= 100 && f->st->beat_max <= 1000);
    fake_unlock(f->st);
}

static int count_batches(struct fixture *f)
{
    fake_lock(f->st);
    int batches = f->st->beat_batches;
    fake_unlock(f->st);
    return batches;
}

/* Executors that beat at once are answered first: what they said is written when no more come, or after a second. */
static void beats_are_written_when_no_more_come_or_after_a_second(void **state)
{
    struct fixture *f = *state;
    struct wish w = {.f = f, .count = 2};

    start(f);
    wait_group_loads(f, 1);
    atomic_store(&still_ms, clock_mono_ms(clock_system()));
    beat(f, "nobody", "http://a/", false);
    still_ms += 40;
    usleep(100000); /* for the thread to look at the clock */
    assert_int_equal(count_batches(f), 0);
    beat(f, "nobody", "http://b/", false);
    still_ms += 49;
    usleep(100000);
    assert_int_equal(count_batches(f), 0);
    still_ms += 1;
    assert_true(fake_poll(has_rows, &w));
    assert_int_equal(count_batches(f), 1);

    for (int i = 0; i < 25; i++) { /* 40 ms apart, so that it is never quiet */
        char value[64];
        snprintf(value, sizeof(value), "http://c%d/", i);
        beat(f, "nobody", value, false);
        still_ms += 40; /* in the end it is a second since the first */
    }
    w.count = 27;
    assert_true(fake_poll(has_rows, &w));
    assert_int_equal(count_batches(f), 2);
}

static void keeps_the_snapshot_and_the_beats_while_the_database_is_away(void **state)
{
    struct fixture *f = *state;
    start(f);
    beat(f, "app", "http://a/", false);
    wait_list(f, 1, "http://a/");
    fake_set_error(f->st, ERR_LOST);
    for (int i = 0; i < 3; i++) {
        beat(f, "app", "http://a/", false);
        beat(f, "app", "http://late/", false);
    }
    const struct registry_snapshot *snap = registry_get_snapshot(f->r);
    assert_int_equal(registry_find_app(snap, "app")->count, 1);
    registry_put_snapshot(snap);
    fake_set_error(f->st, ERR_OK);
    wait_list(f, 1, "http://a/,http://late/");
}

static void refused_beat_is_dropped_alone(void **state)
{
    struct fixture *f = *state;
    char value[64];
    f->st->refuse = "poison";
    start(f);
    for (int i = 0; i < 40; i++) {
        snprintf(value, sizeof(value), i == 23 ? "http://poison/" : "http://h%d/", i);
        beat(f, "nobody", value, false);
    }
    struct wish w = {.f = f, .count = 39};
    assert_true(fake_poll(has_rows, &w));
}

static void deadlocks_are_tried_again(void **state)
{
    struct fixture *f = *state;
    start(f);
    fake_lock(f->st);
    f->st->conflicts = 3;
    fake_unlock(f->st);
    beat(f, "app", "http://a/", false);
    wait_list(f, 1, "http://a/");
    fake_lock(f->st);
    assert_int_equal(f->st->session_writes_max, 4); /* at once, not with the next turn */
    f->st->conflicts = 6;
    fake_unlock(f->st);
    beat(f, "app", "http://b/", false);
    wait_list(f, 1, "http://a/,http://b/"); /* given back into the queue, and written a second later */
}

static void stop_writes_what_was_taken_in(void **state)
{
    struct fixture *f = *state;
    struct errctx ec;
    start(f);
    beat(f, "nobody", "http://a/", false);
    registry_stop(f->r);
    registry_join(f->r);
    assert_int_equal(f->st->rows_count, 1);
    assert_int_equal(registry_submit_beat(f->r, "EXECUTOR", "a", "b", false, &ec), ERR_STATE);
}

static bool registry_was_loaded(void *arg)
{
    struct wish *w = arg;
    fake_lock(w->f->st);
    bool ok = w->f->st->registry_loads >= w->count;
    fake_unlock(w->f->st);
    return ok;
}

/* After a start executors get a beat's time to show that they live; later rows are dead after 90 s. */
static void rows_die_after_ninety_seconds_but_not_at_once_after_a_start(void **state)
{
    struct fixture *f = *state;
    /* Behind the system's clock, by which threads wait: so every wait ends at once, and a step forward is seen at
     * once. */
    atomic_store(&ahead_ms, -60000);
    int64_t now_s = test_wall_us(NULL) / 1000000;
    fake_add_row(f->st, "app", "http://quiet/", now_s - 200);
    fake_add_row(f->st, "app", "http://dead/", now_s - 2000);
    start(f);
    wait_list(f, 1, "http://quiet/");
    for (int i = 0; i < 2; i++) { /* in two steps, so that it is no outage of the database */
        atomic_fetch_add(&ahead_ms, 25000);
        wait_group_loads(f, 2);
    }
    struct wish w = {.f = f, .count = 2};
    assert_true(fake_poll(registry_was_loaded, &w));
    fake_lock(f->st);
    int64_t age = test_wall_us(NULL) / 1000000 - f->st->dead_before_s;
    fake_unlock(f->st);
    assert_in_range(age, 90, 93);
    wait_list(f, 1, "");
}

/* The original's rule: its monitor does nothing at all then. */
static void without_an_automatic_group_no_row_dies(void **state)
{
    struct fixture *f = *state;
    atomic_store(&ahead_ms, -60000);
    for (size_t i = 0; i < f->st->groups_count; i++)
        f->st->groups[i].manual = true;
    fake_add_row(f->st, "app", "http://dead/", test_wall_us(NULL) / 1000000 - 2000);
    start(f);
    atomic_fetch_add(&ahead_ms, 31000);
    wait_group_loads(f, 4); /* the monitor's among them */
    fake_lock(f->st);
    assert_int_equal(f->st->registry_loads, 0);
    assert_int_equal(f->st->rows_count, 1);
    f->st->groups[0].manual = false;
    fake_unlock(f->st);
    wait_list(f, 1, "");
    atomic_fetch_add(&ahead_ms, 31000);
    struct wish w = {.f = f, .count = 0};
    assert_true(fake_poll(has_rows, &w));
}

/* Whoever was alive when a node began to miss beats stays listed until that is over. */
static void nobody_dies_while_beats_are_missed(void **state)
{
    struct fixture *f = *state;
    atomic_store(&ahead_ms, -200000);
    int64_t now_s = test_wall_us(NULL) / 1000000;
    fake_add_row(f->st, "app", "http://quiet/", now_s - 200);
    f->st->missed_age_s = 300;
    start(f);
    wait_list(f, 1, "http://quiet/");
    for (int i = 0; i < 2; i++) {
        atomic_fetch_add(&ahead_ms, 25000);
        wait_group_loads(f, 2);
    }
    struct wish w = {.f = f, .count = 2};
    assert_true(fake_poll(registry_was_loaded, &w));
    fake_lock(f->st);
    int64_t age = test_wall_us(NULL) / 1000000 - f->st->dead_before_s;
    f->st->missed_age_s = -1;
    fake_unlock(f->st);
    assert_in_range(age, 390, 393);
    wait_list(f, 1, "http://quiet/");
    assert_int_equal(counters_get(&counters, COUNTER_EXPIRY_HELD), 1);
    for (int i = 0; i < 2; i++) {
        atomic_fetch_add(&ahead_ms, 25000);
        wait_group_loads(f, 2);
    }
    wait_list(f, 1, "");
    assert_int_equal(counters_get(&counters, COUNTER_EXPIRY_HELD), 0);
}

struct notes {
    struct fixture *f;
    int count;
};

static bool was_noted(void *arg)
{
    struct notes *n = arg;
    fake_lock(n->f->st);
    bool ok = n->f->st->missed_notes >= n->count;
    fake_unlock(n->f->st);
    return ok;
}

static void wait_notes(struct fixture *f, int count)
{
    struct notes n = {.f = f, .count = count};
    assert_true(fake_poll(was_noted, &n));
}

/* The cluster is told of beats that were turned away, that did not fit, and that waited through an outage. */
static void missed_beats_are_told_to_the_cluster(void **state)
{
    struct fixture *f = *state;
    struct errctx ec;
    char value[60];
    enum err e = ERR_OK;
    atomic_store(&ahead_ms, -200000);
    start(f);
    wait_group_loads(f, 2);
    assert_int_equal(f->st->missed_notes, 0);
    registry_note_missed(f->r);
    wait_notes(f, 1);

    fake_lock(f->st);
    f->st->gate_closed = true;
    fake_unlock(f->st);
    for (int i = 0; i < 30000 && !e; i++) {
        snprintf(value, sizeof(value), "http://10.0.0.1:%d/", i);
        e = registry_submit_beat(f->r, "EXECUTOR", "app", value, false, &ec);
    }
    assert_int_equal(e, ERR_BUSY);
    atomic_fetch_add(&ahead_ms, 10000);
    fake_lock(f->st);
    f->st->gate_closed = false;
    fake_unlock(f->st);
    wait_notes(f, 2);

    fake_set_error(f->st, ERR_LOST);
    atomic_fetch_add(&ahead_ms, 31000);
    wait_group_loads(f, 0);
    fake_set_error(f->st, ERR_OK);
    wait_notes(f, 3);
}

static void generation_is_remembered_trimmed(void **state)
{
    struct fixture *f = *state;
    registry_note_generation(f->r, " http://a/ ", true);
    assert_true(registry_is_trigger_path(f->r, "http://a/"));
    assert_false(registry_is_trigger_path(f->r, "http://b/"));
}

int main(void)
{
    log_set_level(LOG_ERROR);
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(snapshot_is_there_after_start),
        T(start_needs_the_database),
        T(new_address_is_listed_and_removal_takes_it_out),
        T(a_new_group_finds_executors_that_registered_before),
        T(beats_of_known_addresses_cost_no_recomputation),
        T(snapshot_stays_the_same_object_until_something_changes),
        T(refuses_bad_beats_by_name),
        T(digests_ten_thousand_beats_of_one_instant),
        T(beats_are_written_when_no_more_come_or_after_a_second),
        T(keeps_the_snapshot_and_the_beats_while_the_database_is_away),
        T(refused_beat_is_dropped_alone),
        T(deadlocks_are_tried_again),
        T(without_an_automatic_group_no_row_dies),
        T(stop_writes_what_was_taken_in),
        T(rows_die_after_ninety_seconds_but_not_at_once_after_a_start),
        T(nobody_dies_while_beats_are_missed),
        T(missed_beats_are_told_to_the_cluster),
        T(generation_is_remembered_trimmed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
