/* SPDX-License-Identifier: MIT */
/* Another number of shards: when it changes, what it changes, and what it must leave alone. */
#include "store/test_db.h"

#define NOW_S INT64_C(1700000000)

static struct store *st;
static struct store_session *s;

static void begin(int shards)
{
    st = test_db_fresh(shards, NOW_S);
    s = test_take(st, SESSION_CLAIM);
}

static void end(void)
{
    store_give_session(st, s);
    store_destroy(st);
}

static int64_t now_s(void)
{
    return test_int("SELECT UNIX_TIMESTAMP()");
}

static struct reshard_wish ask(int shards)
{
    struct reshard_wish wish = {0};

    assert_ok(store_ask_reshard(s, shards, NULL, &wish, ec));
    return wish;
}

static struct reshard_step try(const struct reshard_wish *wish)
{
    struct reshard_step step = {0};

    assert_ok(store_step_reshard(s, wish, &step, ec));
    return step;
}

/* As if the time had come: the wish is moved, since the clock cannot be. */
static void put_wish(struct reshard_wish *wish, int64_t last_s)
{
    wish->last_s = last_s;
    test_sql("UPDATE shardwheel_reshard SET last_s = %" PRId64, last_s);
}

static struct cluster_view view(void)
{
    struct cluster_view out = {0};

    assert_ok(store_load_cluster(s, "", &out, ec));
    return out;
}

static void a_wish_is_written_once(void **state)
{
    struct reshard_wish wish;
    struct errctx why;
    bool found = true;
    int64_t before_s;

    (void)state;
    begin(4);
    before_s = now_s();
    wish = ask(6);
    assert_int_equal(wish.shards, 6);
    assert_int_equal(wish.tries, 1);
    assert_in_range(wish.last_s, before_s + 4, now_s() + 6);
    assert_int_equal(view().wish.shards, 6);
    assert_int_equal(view().wish.last_s, wish.last_s);
    assert_int_equal(store_ask_reshard(s, 7, NULL, &wish, &why), ERR_CONFLICT);
    assert_non_null(strstr(why.text, "a change from 4 to 6 shards is in progress"));
    assert_int_equal(store_ask_reshard(s, 4, NULL, &wish, &why), ERR_CONFLICT);
    assert_ok(store_cancel_reshard(s, 7, NULL, &found, ec));
    assert_false(found);
    assert_ok(store_cancel_reshard(s, 6, NULL, &found, ec));
    assert_true(found);
    assert_int_equal(view().wish.shards, 0);
    assert_ok(store_cancel_reshard(s, 0, NULL, &found, ec));
    assert_false(found);
    assert_int_equal(store_ask_reshard(s, 4, NULL, &wish, &why), ERR_STATE);
    assert_non_null(strstr(why.text, "nothing to do"));
    /* Ahead of every cursor, also of one that an owner with a wrong clock has moved. */
    test_sql("UPDATE shardwheel_cursor SET cursor_s = UNIX_TIMESTAMP() + 100 WHERE shard = 2");
    wish = ask(6);
    assert_in_range(wish.last_s, before_s + 104, now_s() + 106);
    assert_ok(store_cancel_reshard(s, 0, NULL, &found, ec));
    assert_true(found);
    test_sql("DELETE FROM shardwheel_cluster");
    assert_int_equal(store_ask_reshard(s, 6, NULL, &wish, &why), ERR_STATE);
    assert_non_null(strstr(why.text, "no node has used this database yet"));
    end();
}

static void it_changes_when_every_cursor_is_there(void **state)
{
    struct reshard_wish wish;
    struct reshard_step step;
    int64_t epoch, cursor_s;
    struct errctx why;

    (void)state;
    begin(3);
    for (int i = 0; i < 4; i++)
        assert_ok(store_take_shard(s, 1, 3, "a", 0, 0, &epoch, &cursor_s, ec));
    wish = ask(5);
    put_wish(&wish, NOW_S);
    test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64, NOW_S - 1);
    put_wish(&wish, now_s() + 3);
    step = try(&wish);
    assert_int_equal(step.outcome, RESHARD_WAITING);
    /* All but one. */
    test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64 " WHERE shard < 2", wish.last_s);
    assert_int_equal(try(&wish).outcome, RESHARD_WAITING);
    assert_int_equal(view().shards, 3);
    /* One beyond it. */
    test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64 " WHERE shard = 2", wish.last_s + 1);
    assert_int_equal(try(&wish).outcome, RESHARD_WAITING);
    test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64 " WHERE shard = 2", wish.last_s);
    step = try(&wish);
    assert_int_equal(step.outcome, RESHARD_DONE);
    assert_int_equal(step.shards, 3);
    assert_int_equal(view().shards, 5);
    assert_int_equal(view().wish.shards, 0);
    assert_string_equal(test_text("SELECT GROUP_CONCAT(shard ORDER BY shard) FROM shardwheel_shard WHERE epoch = 5 "
                                  "AND owner = ''"),
                        "0,1,2,3,4");
    assert_int_equal(
        test_int("SELECT COUNT(*) FROM shardwheel_cursor WHERE epoch = 5 AND cursor_s = %" PRId64, wish.last_s), 5);
    /* Who tries again finds that it is over; who has not heard of it takes nothing. */
    assert_int_equal(try(&wish).outcome, RESHARD_GONE);
    assert_int_equal(store_take_shard(s, 1, 3, "a", 0, 0, &epoch, &cursor_s, &why), ERR_STATE);
    assert_non_null(strstr(why.text, "now has 5 shards, this node still uses 3"));
    assert_int_equal(test_int("SELECT epoch FROM shardwheel_shard WHERE shard = 1"), 5);
    assert_ok(store_take_shard(s, 4, 5, "a", 0, 0, &epoch, &cursor_s, ec));
    assert_int_equal(epoch, 6);
    assert_int_equal(cursor_s, wish.last_s);
    end();
}

static void fewer_shards_leave_rows_that_nobody_can_use(void **state)
{
    struct reshard_wish wish;
    int64_t epoch, cursor_s;
    struct cursor_move move = {.shard = 3};

    (void)state;
    begin(4);
    assert_ok(store_take_shard(s, 3, 4, "a", 0, 0, &move.epoch, &cursor_s, ec));
    wish = ask(2);
    put_wish(&wish, now_s() + 3);
    test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64, wish.last_s);
    assert_int_equal(try(&wish).outcome, RESHARD_DONE);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_shard WHERE epoch = 2 AND owner = ''"), 4);
    assert_ok(store_move_cursors(s, &move, 1, wish.last_s + 1, ec));
    assert_false(move.moved);
    /* Back to four: the rows of before are taken up where the others stand. */
    assert_ok(store_take_shard(s, 0, 2, "a", 0, 0, &epoch, &cursor_s, ec));
    assert_int_equal(epoch, 3);
    wish = ask(4);
    put_wish(&wish, now_s() + 30);
    test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64 " WHERE shard < 2", wish.last_s);
    assert_int_equal(try(&wish).outcome, RESHARD_DONE);
    assert_int_equal(
        test_int("SELECT COUNT(*) FROM shardwheel_cursor WHERE epoch = 4 AND cursor_s = %" PRId64, wish.last_s), 4);
    end();
}

/* A note is of jobs that are another shard's after the change: one for each new shard takes the place of all. */
static void notes_of_takeovers_are_replaced(void **state)
{
    static const char notes[] = "SELECT GROUP_CONCAT(CONCAT_WS(':', shard, epoch, cursor_s - %" PRId64
                                ") ORDER BY shard, epoch) FROM shardwheel_takeover";
    struct reshard_wish wish;
    int64_t epoch, cursor_s;

    (void)state;
    begin(3);
    for (int i = 0; i < 2; i++)
        assert_ok(store_take_shard(s, 1, 3, "a", 0, 0, &epoch, &cursor_s, ec));
    assert_ok(store_take_shard(s, 2, 3, "b", 0, 0, &epoch, &cursor_s, ec));
    test_sql("UPDATE shardwheel_takeover SET taken_ms = taken_ms - 39000");
    wish = ask(5);
    put_wish(&wish, now_s() + 3);
    assert_int_equal(try(&wish).outcome, RESHARD_WAITING);
    assert_string_equal(test_text(notes, NOW_S), "1:1:0,1:2:0,2:1:0");
    test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64, wish.last_s);
    assert_int_equal(try(&wish).outcome, RESHARD_DONE);
    assert_string_equal(test_text(notes, wish.last_s), "0:3:0,1:3:0,2:3:0,3:3:0,4:3:0");
    assert_int_equal(test_int("SELECT taken_ms > " STORE_NOW_MS " - 20000 FROM shardwheel_takeover LIMIT 1"), 1);
    /* To fewer: none is left of a shard that is no more. */
    wish = ask(2);
    put_wish(&wish, now_s() + 30);
    test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64, wish.last_s);
    assert_int_equal(try(&wish).outcome, RESHARD_DONE);
    assert_string_equal(test_text(notes, wish.last_s), "0:4:0,1:4:0");
    end();
}

static void what_does_not_stop_in_time_gets_another_second(void **state)
{
    struct reshard_wish wish;
    struct reshard_step step;

    (void)state;
    begin(4);
    test_sql("DELETE FROM shardwheel_cursor WHERE shard = 3");
    wish = ask(2);
    for (int i = 1; i <= RESHARD_TRIES; i++) {
        put_wish(&wish, now_s() - 3);
        test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64, wish.last_s);
        test_sql("UPDATE shardwheel_cursor SET cursor_s = cursor_s - 2 WHERE shard = 1");
        assert_int_equal(try(&wish).outcome, RESHARD_WAITING); /* there is patience */
        put_wish(&wish, now_s() - 7);
        test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64, wish.last_s);
        test_sql("UPDATE shardwheel_cursor SET cursor_s = cursor_s - 2 WHERE shard = 1");
        test_sql("UPDATE shardwheel_cursor SET cursor_s = cursor_s + 300 WHERE shard = 2");
        step = try(&wish);
        assert_string_equal(step.where, "shard 1: -2 s, shard 2: +300 s, 1 without a row");
        assert_int_equal(view().shards, 4);
        if (i == RESHARD_TRIES)
            break;
        assert_int_equal(step.outcome, RESHARD_POSTPONED);
        assert_int_equal(step.last_s, wish.last_s + 300 + RESHARD_AHEAD_S); /* ahead of the highest cursor */
        assert_int_equal(try(&wish).outcome, RESHARD_GONE);                 /* another node comes with the old second */
        wish = view().wish;
        assert_int_equal(wish.last_s, step.last_s);
        assert_int_equal(wish.tries, i + 1);
    }
    assert_int_equal(step.outcome, RESHARD_GIVEN_UP);
    assert_int_equal(view().wish.shards, 0);
    assert_int_equal(test_int("SELECT MAX(epoch) FROM shardwheel_shard"), 0);
    end();
}

static void many_cursors_are_listed_as_far_as_there_is_room(void **state)
{
    struct reshard_wish wish;
    struct reshard_step step;

    (void)state;
    begin(100);
    wish = ask(50);
    put_wish(&wish, now_s() - 10);
    step = try(&wish);
    assert_int_equal(step.outcome, RESHARD_POSTPONED);
    assert_int_equal(strlen(step.where), sizeof step.where - 1);
    assert_string_equal(step.where + strlen(step.where) - 3, "...");
    end();
}

static void nonsense_in_the_table_changes_nothing(void **state)
{
    struct reshard_wish wish;
    struct reshard_step step;
    struct errctx why;

    (void)state;
    begin(2);
    wish = ask(3);
    wish.shards = STORE_SHARDS_MAX + 1;
    assert_int_equal(store_step_reshard(s, &wish, &step, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "not 1 to 1024"));
    assert_int_equal(view().shards, 2);
    end();
}

/* ---- beside others ------------------------------------------------------------------------------------------- */

/* A claim or takeover under way holds a shard's row: the change waits for it, and says so after a second. */
static void a_held_row_is_waited_for(void **state)
{
    struct reshard_wish wish;
    struct reshard_step step;
    struct errctx why;
    struct db *holder;

    (void)state;
    begin(3);
    wish = ask(4);
    put_wish(&wish, now_s() + 3);
    test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64, wish.last_s);
    holder = test_connect();
    test_run(holder, "START TRANSACTION");
    test_run(holder, "UPDATE shardwheel_shard SET epoch = 7 WHERE shard = 2");
    assert_int_equal(store_step_reshard(s, &wish, &step, &why), ERR_CONFLICT);
    test_run(holder, "COMMIT");
    assert_int_equal(try(&wish).outcome, RESHARD_DONE);
    assert_int_equal(test_int("SELECT MIN(epoch) FROM shardwheel_shard"), 8);
    db_close(holder);
    end();
}

struct racer {
    struct thread thread;
    struct reshard_wish wish;
    int done;
    enum err e;
};

static void run_worker(void *arg)
{
    struct racer *w = arg;
    struct store_session *own = NULL;
    struct reshard_step step;

    w->e = store_take_session(st, SESSION_CLAIM, &own, NULL);
    for (int i = 0; i < 5 && !w->e; i++) {
        w->e = store_step_reshard(own, &w->wish, &step, NULL);
        w->done += !w->e && step.outcome == RESHARD_DONE;
    }
    store_give_session(st, own);
}

static void of_many_nodes_one_carries_it_out(void **state)
{
    (void)state;
    begin(4);
    for (int round = 0; round < 6; round++) {
        struct racer w[4] = {{.done = 0}};
        struct reshard_wish wish = ask(round % 2 ? 4 : 9);
        int done = 0;

        put_wish(&wish, now_s() + 100 + round);
        test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64, wish.last_s);
        for (int i = 0; i < 4; i++) {
            w[i].wish = wish;
            assert_ok(thread_start(&w[i].thread, "worker", run_worker, &w[i], ec));
        }
        for (int i = 0; i < 4; i++) {
            thread_join(&w[i].thread);
            assert_int_equal(w[i].e, ERR_OK);
            done += w[i].done;
        }
        assert_int_equal(done, 1);
        assert_int_equal(test_int("SELECT MIN(epoch) FROM shardwheel_cursor"), round + 1);
        assert_int_equal(test_int("SELECT MAX(epoch) FROM shardwheel_shard"), round + 1);
    }
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wish_is_written_once),
        cmocka_unit_test(it_changes_when_every_cursor_is_there),
        cmocka_unit_test(fewer_shards_leave_rows_that_nobody_can_use),
        cmocka_unit_test(notes_of_takeovers_are_replaced),
        cmocka_unit_test(what_does_not_stop_in_time_gets_another_second),
        cmocka_unit_test(many_cursors_are_listed_as_far_as_there_is_room),
        cmocka_unit_test(nonsense_in_the_table_changes_nothing),
        cmocka_unit_test(a_held_row_is_waited_for),
        cmocka_unit_test(of_many_nodes_one_carries_it_out),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
