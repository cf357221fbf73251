/* SPDX-License-Identifier: MIT */
#include "store/test_db.h"

#define NOW_S INT64_C(1700000000)

static void shards_are_made_once(void **state)
{
    struct store *st = test_db_fresh(3, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct shard_row *rows = NULL;
    size_t count = 0;
    struct errctx why;
    int64_t epoch, cursor_s;
    int in_force = 0;

    (void)state;
    assert_ok(store_take_shard(s, 1, 3, "node-a", 0, 0, &epoch, &cursor_s, ec));
    assert_int_equal(epoch, 1);
    assert_int_equal(cursor_s, NOW_S);
    assert_ok(store_init_shards(s, 3, NOW_S + 50, &in_force, ec)); /* again: nothing changes */
    assert_ok(store_load_shards(s, &rows, &count, ec));
    assert_int_equal(count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(rows[i].shard, i);
        assert_int_equal(rows[i].epoch, i == 1);
        assert_int_equal(rows[i].cursor_s, NOW_S);
        assert_string_equal(rows[i].owner, i == 1 ? "node-a" : "");
    }
    free(rows);
    /* The number in the database holds. */
    assert_ok(store_init_shards(s, 4, NOW_S, &in_force, ec));
    assert_int_equal(in_force, 3);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_shard"), 3);
    /* Rows that somebody lost come back, the others stay. */
    test_sql("DELETE FROM shardwheel_cursor WHERE shard = 2");
    test_sql("DELETE FROM shardwheel_shard WHERE shard = 0");
    assert_ok(store_init_shards(s, 3, NOW_S + 60, &in_force, ec));
    assert_int_equal(test_int("SELECT cursor_s FROM shardwheel_cursor WHERE shard = 2"), NOW_S + 60);
    assert_int_equal(test_int("SELECT epoch FROM shardwheel_shard WHERE shard = 1"), 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_shard"), 3);
    assert_int_equal(store_take_shard(s, 7, 3, "node-a", 0, 0, &epoch, &cursor_s, &why), ERR_NOTFOUND);
    test_sql("UPDATE shardwheel_cluster SET shards = 0");
    assert_int_equal(store_init_shards(s, 3, NOW_S, &in_force, &why), ERR_STATE);
    assert_non_null(strstr(why.text, "says 0 shards, which is not 1 to 1024"));
    store_give_session(st, s);
    store_destroy(st);
}

static void epochs_rise_beyond_both_rows(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    int64_t epoch, cursor_s;

    (void)state;
    test_sql("UPDATE shardwheel_cursor SET epoch = 41, cursor_s = 99");
    assert_ok(store_take_shard(s, 0, 1,
                               "n\xc3\xb6"
                               "de",
                               0, 0, &epoch, &cursor_s, ec));
    assert_int_equal(epoch, 42);
    assert_int_equal(cursor_s, 99);
    assert_int_equal(test_int("SELECT epoch FROM shardwheel_shard"), 42);
    assert_int_equal(test_int("SELECT epoch FROM shardwheel_cursor"), 42);
    assert_string_equal(test_text("SELECT owner FROM shardwheel_shard"), "n\xc3\xb6"
                                                                         "de");
    store_give_session(st, s);
    store_destroy(st);
}

/* The database was restored, or failed over, to where it did not know of our last takeover. */
static void epochs_rise_beyond_what_their_taker_had(void **state)
{
    struct store *st = test_db_fresh(2, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    struct cursor_move move = {.shard = 1};
    int64_t epoch, cursor_s, moved_s;

    (void)state;
    assert_ok(store_take_shard(s, 1, 2, "a", 0, 0, &epoch, &cursor_s, ec));
    assert_int_equal(epoch, 1);
    test_sql("UPDATE shardwheel_shard SET epoch = 0");
    test_sql("UPDATE shardwheel_cursor SET epoch = 0");
    assert_ok(store_take_shard(s, 1, 2, "a", epoch, 0, &epoch, &cursor_s, ec));
    assert_int_equal(epoch, 2);
    assert_int_equal(test_int("SELECT epoch FROM shardwheel_shard WHERE shard = 1"), 2);
    assert_int_equal(test_int("SELECT epoch FROM shardwheel_takeover WHERE shard = 1 ORDER BY epoch DESC LIMIT 1"), 2);
    move.epoch = epoch;
    assert_ok(store_move_cursors(s, &move, 1, NOW_S + 1, ec));
    assert_true(move.moved);
    assert_ok(store_take_shard(s, 1, 2, "b", 1, 0, &epoch, &cursor_s, ec)); /* what others had counts as well */
    assert_int_equal(epoch, 3);
    /* Nor does a cursor fall: it lost moves, too. */
    assert_ok(store_take_shard(s, 1, 2, "b", 1, cursor_s + 7, &epoch, &moved_s, ec));
    assert_int_equal(moved_s, cursor_s + 7);
    assert_int_equal(test_int("SELECT cursor_s FROM shardwheel_cursor WHERE shard = 1"), moved_s);
    assert_int_equal(test_int("SELECT MAX(cursor_s) FROM shardwheel_takeover WHERE shard = 1"), moved_s);
    assert_ok(store_take_shard(s, 1, 2, "b", 1, cursor_s, &epoch, &cursor_s, ec));
    assert_int_equal(cursor_s, moved_s);
    store_give_session(st, s);
    store_destroy(st);
}

static void shards_that_passed_are_told(void **state)
{
    struct store *st = test_db_fresh(3, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct passed_shards passed = {0};
    int64_t epoch, cursor_s;

    (void)state;
    test_sql("UPDATE shardwheel_cursor SET cursor_s = cursor_s + shard");
    test_sql("INSERT INTO shardwheel_cursor (shard, epoch, cursor_s) VALUES (7, 1, 1)"); /* of a larger number once */
    assert_ok(store_take_shard(s, 1, 3, "a", 0, 0, &epoch, &cursor_s, ec));
    assert_ok(store_load_passed(s, &passed, ec));
    assert_int_equal(passed.shards, 3);
    assert_int_equal(passed.until_s[0], NOW_S);
    assert_int_equal(passed.until_s[1], PASSED_NOT_KNOWN); /* a note stands */
    assert_int_equal(passed.until_s[2], NOW_S + 2);
    passed_shards_fini(&passed);
    assert_ok(store_delete_takeovers(s, 1, 1, false, ec));
    test_sql("DELETE FROM shardwheel_cursor WHERE shard = 0");
    assert_ok(store_load_passed(s, &passed, ec));
    assert_int_equal(passed.until_s[0], PASSED_NOT_KNOWN);
    assert_int_equal(passed.until_s[1], NOW_S + 1);
    passed_shards_fini(&passed);
    test_sql("DELETE FROM shardwheel_cursor");
    assert_ok(store_load_passed(s, &passed, ec));
    assert_int_equal(passed.shards, 3);
    assert_int_equal(passed.until_s[2], PASSED_NOT_KNOWN);
    passed_shards_fini(&passed);
    test_sql("DELETE FROM shardwheel_cluster");
    assert_ok(store_load_passed(s, &passed, ec));
    assert_int_equal(passed.shards, 0);
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- at the same time --------------------------------------------------------------------------------------- */

#define TAKES 40

struct taker {
    struct thread thread;
    struct store *st;
    int shards; /* 0: take; else init so many */
    int64_t epochs[TAKES];
    struct errctx why;
    enum err e;
};

static void run_taker(void *arg)
{
    struct taker *t = arg;
    struct store_session *s = NULL;
    int64_t cursor_s;
    int in_force;

    t->e = store_take_session(t->st, SESSION_CLAIM, &s, &t->why);
    if (!t->e && t->shards)
        t->e = store_init_shards(s, t->shards, NOW_S, &in_force, &t->why);
    for (int i = 0; i < TAKES && !t->e && !t->shards; i++)
        t->e = store_take_shard(s, 0, 1, "x", 0, 0, &t->epochs[i], &cursor_s, &t->why);
    store_give_session(t->st, s);
}

static void run_two(struct taker *t)
{
    for (int i = 0; i < 2; i++)
        assert_ok(thread_start(&t[i].thread, "taker", run_taker, &t[i], ec));
    for (int i = 0; i < 2; i++)
        thread_join(&t[i].thread);
    for (int i = 0; i < 2; i++)
        if (t[i].e)
            fail_msg("%s", t[i].why.text);
}

static void two_takers_never_get_one_epoch(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct taker t[2] = {{.st = st}, {.st = st}};
    bool seen[2 * TAKES + 1] = {false};

    (void)state;
    run_two(t);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < TAKES; k++) {
            int64_t epoch = t[i].epochs[k];
            assert_in_range(epoch, 1, 2 * TAKES);
            assert_false(seen[epoch]);
            seen[epoch] = true;
        }
    store_destroy(st);
}

static void two_nodes_make_the_shards_at_once(void **state)
{
    (void)state;
    for (int round = 0; round < 5; round++) {
        struct store *st = test_db_fresh(1, NOW_S);
        struct taker t[2] = {{.st = st, .shards = 8}, {.st = st, .shards = 8}};

        test_sql("DELETE FROM shardwheel_cluster");
        test_sql("DELETE FROM shardwheel_shard");
        test_sql("DELETE FROM shardwheel_cursor");
        run_two(t);
        assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_shard"), 8);
        assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_cursor"), 8);
        assert_int_equal(test_int("SELECT shards FROM shardwheel_cluster"), 8);
        store_destroy(st);
    }
}

/* ---- cursors ------------------------------------------------------------------------------------------------ */

static void cursors_move_where_the_epoch_holds(void **state)
{
    struct store *st = test_db_fresh(4, NOW_S);
    struct store_session *s = test_take(st, SESSION_RING);
    struct cursor_move moves[4] = {{0, 1, false}, {1, 1, false}, {2, 1, false}, {9, 1, false}};
    int64_t epoch, cursor_s;

    (void)state;
    for (int shard = 0; shard < 3; shard++)
        assert_ok(store_take_shard(s, shard, 4, "a", 0, 0, &epoch, &cursor_s, ec));
    assert_ok(store_move_cursors(s, moves, 3, NOW_S + 5, ec));
    assert_true(moves[0].moved && moves[1].moved && moves[2].moved);
    /* Again, and to an earlier second: both hold already, and no cursor goes back. */
    assert_ok(store_move_cursors(s, moves, 3, NOW_S + 5, ec));
    assert_true(moves[0].moved && moves[1].moved && moves[2].moved);
    assert_ok(store_move_cursors(s, moves, 3, NOW_S + 3, ec));
    assert_true(moves[0].moved);
    assert_int_equal(test_int("SELECT MIN(cursor_s) FROM shardwheel_cursor WHERE shard < 3"), NOW_S + 5);
    assert_int_equal(test_int("SELECT cursor_s FROM shardwheel_cursor WHERE shard = 3"), NOW_S);
    /* Taken by another node, and gone. */
    assert_ok(store_take_shard(s, 1, 4, "b", 0, 0, &epoch, &cursor_s, ec));
    assert_ok(store_move_cursors(s, moves, 4, NOW_S + 6, ec));
    assert_true(moves[0].moved);
    assert_false(moves[1].moved);
    assert_true(moves[2].moved);
    assert_false(moves[3].moved);
    assert_int_equal(test_int("SELECT cursor_s FROM shardwheel_cursor WHERE shard = 1"), NOW_S + 5);
    assert_ok(store_move_cursors(s, moves, 0, NOW_S + 7, ec));
    store_give_session(st, s);
    store_destroy(st);
}

/* One row that somebody holds keeps its own shard back for a second, and no other. */
static void a_held_cursor_stops_its_shard_alone(void **state)
{
    struct store *st = test_db_fresh(3, NOW_S);
    struct store_session *s = test_take(st, SESSION_RING);
    struct cursor_move moves[3] = {{0, 0, false}, {1, 0, false}, {2, 0, false}};
    struct db *holder = test_connect();

    (void)state;
    test_run(holder, "START TRANSACTION");
    test_run(holder, "UPDATE shardwheel_cursor SET epoch = 0 WHERE shard = 1");
    assert_ok(store_move_cursors(s, moves, 3, NOW_S + 5, ec));
    assert_true(moves[0].moved);
    assert_false(moves[1].moved);
    assert_true(moves[2].moved);
    test_run(holder, "ROLLBACK");
    db_close(holder);
    assert_ok(store_move_cursors(s, moves, 3, NOW_S + 5, ec));
    assert_true(moves[1].moved);
    store_give_session(st, s);
    store_destroy(st);
}

/* Backups do it. Nobody is fenced by it: who could have moved the cursor? */
static void a_lock_of_all_tables_moves_none_and_is_an_error(void **state)
{
    static const char *const locks[] = {"FLUSH TABLES WITH READ LOCK", "LOCK TABLES shardwheel_cursor READ"};
    struct store *st = test_db_fresh(3, NOW_S);
    struct store_session *s = test_take(st, SESSION_RING);
    struct db *holder = test_connect();

    (void)state;
    test_run(holder, "USE xxl_job");
    for (size_t i = 0; i < ARRAY_LEN(locks); i++) {
        struct cursor_move moves[3] = {{0, 0, true}, {1, 0, true}, {2, 0, true}};

        test_run(holder, locks[i]);
        assert_int_equal(store_move_cursors(s, moves, 3, NOW_S + 5, NULL), ERR_CONFLICT);
        for (int k = 0; k < 3; k++)
            assert_false(moves[k].moved);
        test_run(holder, "UNLOCK TABLES");
        assert_ok(store_move_cursors(s, moves, 3, NOW_S + 5, ec));
        assert_true(moves[0].moved && moves[1].moved && moves[2].moved);
    }
    db_close(holder);
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_are_made_once),
        cmocka_unit_test(epochs_rise_beyond_both_rows),
        cmocka_unit_test(epochs_rise_beyond_what_their_taker_had),
        cmocka_unit_test(shards_that_passed_are_told),
        cmocka_unit_test(two_takers_never_get_one_epoch),
        cmocka_unit_test(two_nodes_make_the_shards_at_once),
        cmocka_unit_test(cursors_move_where_the_epoch_holds),
        cmocka_unit_test(a_held_cursor_stops_its_shard_alone),
        cmocka_unit_test(a_lock_of_all_tables_moves_none_and_is_an_error),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
