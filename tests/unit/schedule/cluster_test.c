/* SPDX-License-Identifier: MIT */
/* The node's side of the cluster's tables, on a clock of the test's own, with a stand-in for the database. */
#include "test.h"

#include "schedule/cluster.h"
#include "schedule/fake_clock.h"
#include "shardwheel/store/cluster.h"

#include <stdlib.h>
#include <string.h>

#define T_MS (INT64_C(1767225600) * 1000)

/* ---- the world around it ----------------------------------------------------------------------------------------- */

static struct world {
    struct fake_clock time;
    int64_t round_trip_ms; /* that a query takes */
    struct cluster *cluster;

    struct cluster_view db; /* what the next look finds; now_ms is made up from the two below */
    int64_t db_ahead_ms;
    bool db_away;
    enum err beat_result;
    struct node_beat beat; /* the last one */
    int beats;
    int forgets;
    int deletes;
    int sessions; /* taken and not given back */
    int pings;
    enum reshard_outcome outcome;
    enum err step_result;
    int steps;

    int owned;
    bool drained;
    int drained_calls;
    int64_t hold_s;
    int hold_calls;
    int released[10];
    int releases;
} w;

struct store_session {
    int unused;
};
static struct store_session the_session;

static enum err answer(struct errctx *ec)
{
    return w.db_away ? err_set(ec, ERR_LOST, "away") : ERR_OK;
}

enum err store_take_session(struct store *st, enum session_kind kind, struct store_session **out, struct errctx *ec)
{
    (void)st;
    assert_int_equal(kind, SESSION_CLAIM);
    if (w.db_away)
        return answer(ec);
    w.sessions++;
    *out = &the_session;
    return ERR_OK;
}

void store_give_session(struct store *st, struct store_session *s)
{
    (void)st;
    w.sessions -= s != NULL;
}

enum err store_ping(struct store_session *s, struct errctx *ec)
{
    assert_ptr_equal(s, &the_session);
    w.pings++;
    return answer(ec);
}

enum err store_load_cluster(struct store_session *s, const char *incarnation, struct cluster_view *out,
                            struct errctx *ec)
{
    assert_ptr_equal(s, &the_session);
    assert_string_equal(incarnation, "aaaa");
    *out = w.db;
    out->now_ms = clock_wall_ms(&w.time.clock) + w.round_trip_ms / 2 + w.db_ahead_ms;
    fake_clock_pass_ms(&w.time, w.round_trip_ms);
    return answer(ec);
}

enum err store_write_beat(struct store_session *s, const struct node_beat *beat, struct errctx *ec)
{
    assert_ptr_equal(s, &the_session);
    if (w.db_away || w.beat_result)
        return err_set(ec, w.beat_result ? w.beat_result : ERR_UNKNOWN, "beat");
    w.beat = *beat;
    w.beats++;
    w.db.known = true;
    if (beat->released == w.db.release_shard)
        w.db.release_shard = -1;
    return ERR_OK;
}

enum err store_forget_nodes(struct store_session *s, int64_t older_than_ms, struct errctx *ec)
{
    (void)s;
    assert_int_equal(older_than_ms, 600000);
    w.forgets++;
    return answer(ec);
}

enum err store_delete_node(struct store_session *s, const char *incarnation, struct errctx *ec)
{
    (void)s;
    assert_string_equal(incarnation, "aaaa");
    w.deletes++;
    return answer(ec);
}

enum err store_step_reshard(struct store_session *s, const struct reshard_wish *wish, struct reshard_step *out,
                            struct errctx *ec)
{
    (void)s;
    /* The ring was told before. */
    assert_int_equal(w.hold_s, wish->last_s);
    w.steps++;
    if (w.db_away || w.step_result)
        return err_set(ec, w.step_result ? w.step_result : ERR_LOST, "step");
    *out = (struct reshard_step){.outcome = w.outcome, .shards = w.db.shards, .last_s = wish->last_s};
    if (w.outcome == RESHARD_DONE) {
        w.db.shards = wish->shards;
        w.db.wish.shards = 0;
    } else if (w.outcome == RESHARD_POSTPONED) {
        w.db.wish.last_s += 10;
    } else if (w.outcome == RESHARD_GIVEN_UP) {
        w.db.wish.shards = 0;
    }
    return ERR_OK;
}

static int count_owned(void *arg)
{
    (void)arg;
    return w.owned;
}

static void on_drained(void *arg, bool drained)
{
    (void)arg;
    w.drained = drained;
    w.drained_calls++;
}

static void on_hold(void *arg, int64_t last_s)
{
    (void)arg;
    w.hold_s = last_s;
    w.hold_calls++;
}

static void on_release(void *arg, int shard)
{
    (void)arg;
    w.released[w.releases++] = shard;
}

/* ---- helpers ----------------------------------------------------------------------------------------------------- */

static int setup(void **state)
{
    struct errctx ec;

    (void)state;
    w = (struct world){.time = fake_clock_at(T_MS), .db = {.shards = 8, .release_shard = -1}, .hold_s = 1, .owned = 3};
    assert_int_equal(cluster_create(&(struct cluster_opts){.shards = 8,
                                                           .incarnation = "aaaa",
                                                           .node_name = "node-a",
                                                           .url = "http://a",
                                                           .version = "1",
                                                           .count_owned = count_owned,
                                                           .drained = on_drained,
                                                           .hold = on_hold,
                                                           .release = on_release},
                                    &w.time.clock, NULL, &w.cluster, &ec),
                     ERR_OK);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    cluster_destroy(w.cluster);
    return 0;
}

static int64_t turn(void)
{
    int64_t wait_ms = cluster_turn(w.cluster);

    fake_clock_pass_ms(&w.time, wait_ms);
    return wait_ms;
}

/* ---- beats ------------------------------------------------------------------------------------------------------- */

static void a_beat_each_second(void **state)
{
    (void)state;
    assert_int_equal(turn(), 1000);
    assert_int_equal(w.beats, 1);
    assert_string_equal(w.beat.incarnation, "aaaa");
    assert_string_equal(w.beat.node, "node-a");
    assert_string_equal(w.beat.url, "http://a");
    assert_string_equal(w.beat.version, "1");
    assert_int_equal(w.beat.started_ms, T_MS);
    assert_int_equal(w.beat.owned, 3);
    assert_int_equal(w.beat.released, -1);
    assert_false(w.beat.drain);
    assert_int_equal(w.hold_s, INT64_MAX);
    assert_false(w.drained);
    w.owned = 5;
    for (int i = 0; i < 59; i++)
        assert_int_equal(turn(), 1000);
    assert_int_equal(w.beats, 60);
    assert_int_equal(w.beat.owned, 5);
    assert_int_equal(w.beat.started_ms, T_MS);
    assert_int_equal(w.forgets, 0);
    turn();
    assert_int_equal(w.forgets, 1);
    assert_int_equal(w.sessions, 1);
}

static void a_clock_that_differs_is_measured_without_the_way(void **state)
{
    (void)state;
    w.round_trip_ms = 800;
    w.db_ahead_ms = -1300; /* the node is ahead; 400 of it may be the way */
    turn();
    turn();
    assert_int_equal(w.beat.clock_ms, 1300);
    w.db_ahead_ms = 250;
    turn();
    assert_int_equal(w.beat.clock_ms, -250);
}

static void an_absent_database_changes_nothing(void **state)
{
    (void)state;
    w.db.drain = true;
    w.db.known = true;
    w.db.wish = (struct reshard_wish){.shards = 4, .last_s = 77, .tries = 1};
    turn();
    assert_true(w.drained);
    assert_int_equal(w.hold_s, 77);
    w.db_away = true;
    w.db = (struct cluster_view){.shards = 9, .release_shard = 1};
    assert_int_equal(turn(), 1000);
    assert_int_equal(turn(), 1000);
    assert_int_equal(w.hold_calls, 1);
    assert_int_equal(w.drained_calls, 1);
    assert_int_equal(w.releases, 0);
    assert_int_equal(cluster_get_wanted_shards(w.cluster), 0);
    assert_int_equal(w.sessions, 0);
    w.db_away = false;
    turn();
    assert_int_equal(w.hold_s, INT64_MAX);
    assert_int_equal(w.sessions, 1);
}

/* ---- what is asked ----------------------------------------------------------------------------------------------- */

static void drain_and_back(void **state)
{
    (void)state;
    turn();
    w.db.drain = true;
    turn();
    assert_true(w.drained);
    /* Taken for gone by others: the wish holds, and comes with the new row. */
    w.db.known = false;
    w.db.drain = false;
    turn();
    assert_true(w.drained);
    assert_true(w.beat.drain);
    w.db.drain = true; /* as that beat wrote it */
    turn();
    assert_true(w.drained);
    w.db.drain = false;
    turn();
    assert_false(w.drained);
}

static void a_release_is_told_once(void **state)
{
    (void)state;
    turn();
    w.db.release_shard = 2;
    w.beat_result = ERR_CONFLICT; /* it cannot be written back */
    turn();
    turn();
    assert_int_equal(w.releases, 1);
    assert_int_equal(w.released[0], 2);
    w.beat_result = ERR_OK;
    turn();
    assert_int_equal(w.releases, 1);
    assert_int_equal(w.db.release_shard, -1);
    w.db.release_shard = 2; /* asked anew */
    turn();
    assert_int_equal(w.releases, 2);
    turn();
    w.db.release_shard = 8; /* there is none: reset all the same */
    turn();
    assert_int_equal(w.releases, 2);
    assert_int_equal(w.db.release_shard, -1);
}

/* ---- another number of shards ------------------------------------------------------------------------------------ */

static void a_wish_holds_the_ring_until_it_is_carried_out(void **state)
{
    (void)state;
    turn();
    w.db.wish = (struct reshard_wish){.shards = 16, .last_s = 100, .tries = 1};
    assert_int_equal(turn(), 250);
    assert_int_equal(w.hold_s, 100);
    assert_int_equal(w.steps, 1);
    assert_int_equal(cluster_get_wanted_shards(w.cluster), 0);
    w.step_result = ERR_CONFLICT;
    assert_int_equal(turn(), 250);
    w.step_result = ERR_OK;
    w.outcome = RESHARD_POSTPONED;
    assert_int_equal(turn(), 0);
    w.outcome = RESHARD_WAITING;
    assert_int_equal(turn(), 250);
    assert_int_equal(w.hold_s, 110);
    w.outcome = RESHARD_DONE;
    assert_int_equal(turn(), 0);
    assert_int_equal(turn(), 250);
    assert_int_equal(w.hold_s, INT64_MAX);
    assert_int_equal(cluster_get_wanted_shards(w.cluster), 16);
    assert_int_equal(w.steps, 5);
    cluster_suspend(w.cluster);
    assert_int_equal(cluster_get_wanted_shards(w.cluster), 16);
    cluster_resume(w.cluster, 16);
    assert_int_equal(cluster_get_wanted_shards(w.cluster), 0);
    assert_int_equal(turn(), 1000);
    assert_int_equal(cluster_get_wanted_shards(w.cluster), 0);
}

static void a_wish_given_up_lifts_the_hold(void **state)
{
    (void)state;
    w.db.wish = (struct reshard_wish){.shards = 16, .last_s = 100, .tries = 5};
    w.outcome = RESHARD_GIVEN_UP;
    assert_int_equal(turn(), 0);
    assert_int_equal(turn(), 1000);
    assert_int_equal(w.hold_s, INT64_MAX);
    assert_int_equal(cluster_get_wanted_shards(w.cluster), 0);
}

static void nobody_stops_for_a_wish_that_cannot_be(void **state)
{
    static const int numbers[] = {-1, STORE_SHARDS_MAX + 1};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        w.db.wish = (struct reshard_wish){.shards = numbers[i], .last_s = 100, .tries = 1};
        turn();
        assert_int_equal(w.hold_s, INT64_MAX);
        assert_int_equal(w.steps, 0);
    }
}

/* Who works with another number than the cluster has nothing to hold for: first it goes over. */
static void a_node_behind_the_cluster_goes_over_first(void **state)
{
    (void)state;
    w.db.shards = 5;
    w.db.wish = (struct reshard_wish){.shards = 6, .last_s = 100, .tries = 1};
    assert_int_equal(turn(), 250);
    assert_int_equal(cluster_get_wanted_shards(w.cluster), 5);
    assert_int_equal(w.hold_s, INT64_MAX);
    assert_int_equal(w.steps, 0);
    cluster_resume(w.cluster, 5);
    turn();
    assert_int_equal(w.hold_s, 100);
    assert_int_equal(w.steps, 1);
    /* The table emptied, or nonsense in it. */
    w.db.wish.shards = 0;
    w.db.shards = 0;
    turn();
    assert_int_equal(cluster_get_wanted_shards(w.cluster), 0);
    w.db.shards = STORE_SHARDS_MAX + 1;
    turn();
    assert_int_equal(cluster_get_wanted_shards(w.cluster), 0);
}

static void suspended_it_only_beats(void **state)
{
    int hold_calls, drained_calls;

    (void)state;
    turn();
    hold_calls = w.hold_calls;
    drained_calls = w.drained_calls;
    cluster_suspend(w.cluster);
    cluster_suspend(w.cluster);
    w.db.wish = (struct reshard_wish){.shards = 16, .last_s = 100, .tries = 1};
    w.db.drain = true;
    w.db.release_shard = 3;
    turn();
    assert_int_equal(w.beats, 2);
    assert_int_equal(w.beat.owned, 0);
    assert_int_equal(w.hold_calls, hold_calls);
    assert_int_equal(w.drained_calls, drained_calls);
    assert_int_equal(w.releases, 0);
    assert_int_equal(w.steps, 0);
    assert_int_equal(w.db.release_shard, 3);
    cluster_resume(w.cluster, 8);
    turn();
    assert_int_equal(w.hold_s, 100);
    assert_true(w.drained);
    assert_int_equal(w.releases, 1);
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static void the_thread_removes_its_row(void **state)
{
    struct errctx ec;

    (void)state;
    w.time.clock = *clock_system();
    assert_int_equal(cluster_start(w.cluster, &ec), ERR_OK);
    cluster_stop(w.cluster);
    cluster_stop(w.cluster);
    cluster_join(w.cluster);
    assert_int_equal(w.beats, 1);
    assert_int_equal(w.deletes, 1);
    assert_int_equal(w.sessions, 0);
}

static void the_stop_does_not_wait_for_an_absent_database(void **state)
{
    struct errctx ec;

    (void)state;
    w.time.clock = *clock_system();
    w.db_away = true;
    assert_int_equal(cluster_start(w.cluster, &ec), ERR_OK);
    cluster_stop(w.cluster);
    cluster_join(w.cluster);
    assert_int_equal(w.deletes, 0);
    assert_int_equal(w.sessions, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_beat_each_second, setup, teardown),
        cmocka_unit_test_setup_teardown(a_clock_that_differs_is_measured_without_the_way, setup, teardown),
        cmocka_unit_test_setup_teardown(an_absent_database_changes_nothing, setup, teardown),
        cmocka_unit_test_setup_teardown(drain_and_back, setup, teardown),
        cmocka_unit_test_setup_teardown(a_release_is_told_once, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wish_holds_the_ring_until_it_is_carried_out, setup, teardown),
        cmocka_unit_test_setup_teardown(a_wish_given_up_lifts_the_hold, setup, teardown),
        cmocka_unit_test_setup_teardown(nobody_stops_for_a_wish_that_cannot_be, setup, teardown),
        cmocka_unit_test_setup_teardown(a_node_behind_the_cluster_goes_over_first, setup, teardown),
        cmocka_unit_test_setup_teardown(suspended_it_only_beats, setup, teardown),
        cmocka_unit_test_setup_teardown(the_thread_removes_its_row, setup, teardown),
        cmocka_unit_test_setup_teardown(the_stop_does_not_wait_for_an_absent_database, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
