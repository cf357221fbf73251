/* SPDX-License-Identifier: MIT */
/* Rows of nodes, what is asked of them, and the status. */
#include "store/test_db.h"

#include "store/conn/datetime.h"

#define NOW_S INT64_C(1700000000)

static const struct node_beat beat_a = {.incarnation = "aaaa",
                                        .node = "node-a",
                                        .url = "http://10.0.0.1:8080",
                                        .version = "0.1.0",
                                        .started_ms = 1234,
                                        .clock_ms = -7,
                                        .owned = 3,
                                        .released = -1};

static struct node_row load_one(struct store_session *s, const char *incarnation)
{
    struct node_row *rows = NULL;
    struct node_row found = {0};
    size_t count = 0;
    int64_t now_ms = 0;

    assert_ok(store_load_nodes(s, &rows, &count, &now_ms, ec));
    for (size_t i = 0; i < count; i++)
        if (strcmp(rows[i].incarnation, incarnation) == 0)
            found = rows[i];
    free(rows);
    return found;
}

static struct cluster_view load_view(struct store_session *s, const char *incarnation)
{
    struct cluster_view view = {0};

    assert_ok(store_load_cluster(s, incarnation, &view, ec));
    return view;
}

static void a_beat_says_what_the_node_is(void **state)
{
    struct store *st = test_db_fresh(3, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    struct node_beat beat = beat_a;
    struct cluster_view view = load_view(s, "aaaa");
    struct node_row row;
    int64_t first_ms, before_s = test_now_s();

    (void)state;
    assert_false(view.known);
    assert_int_equal(view.shards, 3);
    assert_int_equal(view.wish.shards, 0);
    assert_int_equal(view.release_shard, -1);
    assert_ok(store_write_beat(s, &beat, ec));
    row = load_one(s, "aaaa");
    assert_string_equal(row.node, "node-a");
    assert_string_equal(row.url, "http://10.0.0.1:8080");
    assert_string_equal(row.version, "0.1.0");
    assert_int_equal(row.started_ms, 1234);
    assert_int_equal(row.clock_ms, -7);
    assert_int_equal(row.owned, 3);
    assert_false(row.drain);
    assert_int_equal(row.release_shard, -1);
    first_ms = row.beat_ms;
    assert_in_range(first_ms / 1000, before_s, test_now_s()); /* whatever the zone of the database */
    test_pause();
    beat.owned = 2;
    beat.clock_ms = 5;
    beat.started_ms = 99; /* of a row that is there it stays */
    assert_ok(store_write_beat(s, &beat, ec));
    row = load_one(s, "aaaa");
    assert_int_equal(row.owned, 2);
    assert_int_equal(row.clock_ms, 5);
    assert_int_equal(row.started_ms, 1234);
    assert_true(row.beat_ms > first_ms);
    assert_true(load_view(s, "aaaa").known);
    store_give_session(st, s);
    store_destroy(st);
}

static void what_is_asked_survives_beats(void **state)
{
    struct store *st = test_db_fresh(3, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    struct node_beat beat = beat_a;
    struct errctx why;

    (void)state;
    assert_int_equal(store_set_drain(s, "aaaa", true, NULL, &why), ERR_NOTFOUND);
    assert_int_equal(store_ask_release(s, "aaaa", 1, NULL, &why), ERR_NOTFOUND);
    assert_ok(store_write_beat(s, &beat, ec));
    assert_ok(store_set_drain(s, "aaaa", true, NULL, ec));
    assert_ok(store_set_drain(s, "aaaa", true, NULL, ec)); /* again */
    assert_ok(store_ask_release(s, "aaaa", 1, NULL, ec));
    assert_ok(store_ask_release(s, "aaaa", 1, NULL, ec));
    assert_int_equal(store_ask_release(s, "aaaa", 2, NULL, &why), ERR_BUSY);
    assert_ok(store_write_beat(s, &beat, ec));
    assert_true(load_view(s, "aaaa").drain);
    assert_int_equal(load_view(s, "aaaa").release_shard, 1);
    /* What was taken is reset, what came since is not. */
    beat.released = 0;
    assert_ok(store_write_beat(s, &beat, ec));
    assert_int_equal(load_view(s, "aaaa").release_shard, 1);
    beat.released = 1;
    assert_ok(store_write_beat(s, &beat, ec));
    assert_int_equal(load_view(s, "aaaa").release_shard, -1);
    assert_ok(store_ask_release(s, "aaaa", 2, NULL, ec));
    assert_ok(store_withdraw_release(s, "aaaa", 1, ec)); /* another one: stays */
    assert_int_equal(load_view(s, "aaaa").release_shard, 2);
    assert_ok(store_withdraw_release(s, "aaaa", 2, ec));
    assert_int_equal(load_view(s, "aaaa").release_shard, -1);
    assert_ok(store_set_drain(s, "aaaa", false, NULL, ec));
    assert_false(load_view(s, "aaaa").drain);
    store_give_session(st, s);
    store_destroy(st);
}

static void nodes_that_are_gone_are_forgotten(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    struct node_beat beat = beat_a;

    (void)state;
    assert_ok(store_write_beat(s, &beat, ec));
    beat.incarnation = "bbbb";
    assert_ok(store_write_beat(s, &beat, ec));
    test_sql("UPDATE shardwheel_node SET beat_ms = beat_ms - 30000 WHERE incarnation = 'aaaa'");
    assert_ok(store_forget_nodes(s, 60000, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_node"), 2);
    assert_ok(store_forget_nodes(s, 20000, ec));
    assert_string_equal(test_text("SELECT GROUP_CONCAT(incarnation) FROM shardwheel_node"), "bbbb");
    /* A drained node that others took for gone is still drained when it comes back. */
    beat.incarnation = "aaaa";
    beat.drain = true;
    assert_ok(store_write_beat(s, &beat, ec));
    assert_true(load_one(s, "aaaa").drain);
    beat.drain = false; /* of a row that is there it says nothing */
    assert_ok(store_write_beat(s, &beat, ec));
    assert_true(load_one(s, "aaaa").drain);
    assert_ok(store_delete_node(s, "aaaa", ec));
    assert_ok(store_delete_node(s, "aaaa", ec));
    assert_string_equal(test_text("SELECT GROUP_CONCAT(incarnation) FROM shardwheel_node"), "bbbb");
    store_give_session(st, s);
    store_destroy(st);
}

static void add_planned(int64_t job, const char *message, int64_t due_s, int trigger_code)
{
    char text[DATETIME_TEXT_MAX];
    struct zone *zone = NULL;

    assert_ok(zone_load("Asia/Shanghai", &zone, ec));
    datetime_format(zone, due_s, text);
    zone_destroy(zone);
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, trigger_msg, handle_code) "
             "VALUES (1, %" PRId64 ", '%s', %d, '%s', 0)",
             job, text, trigger_code, message);
}

static void the_status_counts_what_is_planned(void **state)
{
    struct store *st = test_db_fresh(3, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct cluster_status status = {0};
    char mark[3][60];
    int64_t epoch, cursor_s, now_s = clock_wall_ms(clock_system()) / 1000;

    (void)state;
    test_sql("INSERT INTO shardwheel_shard (shard, epoch, owner) VALUES (3, 9, 'old')"); /* of a larger N of before */
    assert_ok(store_take_shard(s, 1, 3, "node-a", 0, 0, &epoch, &cursor_s, ec));
    for (int i = 0; i < 3; i++)
        snprintf(mark[i], sizeof mark[i], "<!--sw:p:%" PRId64 ":%d-->", NOW_S - 1 + i, i);
    add_planned(4, mark[0], NOW_S - 1, 0); /* shard 1 */
    add_planned(4, mark[1], NOW_S, 0);
    add_planned(4, mark[2], NOW_S + 1, 0);
    add_planned(7, mark[2], NOW_S + 1, 0);
    add_planned(4, mark[2], NOW_S + 1, 200); /* sent */
    add_planned(2, mark[2], NOW_S + 1, 0);   /* shard 2 */
    add_planned(2, "<!--sw:p:12", NOW_S + 1, 0);
    add_planned(2, "other words", NOW_S + 1, 0);
    assert_ok(store_load_status(s, true, &status, ec));
    assert_int_equal(status.shards, 3);
    assert_int_equal(status.count, 3);
    assert_string_equal(status.rows[0].owner, "");
    assert_string_equal(status.rows[1].owner, "node-a");
    assert_int_equal(status.rows[1].epoch, 1);
    assert_int_equal(status.rows[1].cursor_s, NOW_S);
    assert_true(llabs(status.rows[1].taken_s - now_s) < 5); /* the column holds local time of Asia/Shanghai */
    assert_int_equal(status.rows[0].planned + status.rows[0].open_before, 0);
    assert_int_equal(status.rows[1].planned, 2);
    assert_int_equal(status.rows[1].open_before, 2);
    assert_int_equal(status.rows[2].planned, 1);
    assert_int_equal(status.rows[2].open_before, 0);
    cluster_status_fini(&status);
    assert_ok(store_load_status(s, false, &status, ec));
    assert_int_equal(status.rows[1].planned, 0);
    cluster_status_fini(&status);
    /* Nothing is there yet, or was lost. */
    test_sql("DELETE FROM shardwheel_cursor WHERE shard = 1");
    assert_ok(store_load_status(s, true, &status, ec));
    assert_int_equal(status.rows[1].cursor_s, 0);
    cluster_status_fini(&status);
    test_sql("DELETE FROM shardwheel_cluster");
    assert_ok(store_load_status(s, true, &status, ec));
    assert_int_equal(status.shards, 0);
    assert_int_equal(status.count, 0);
    cluster_status_fini(&status);
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_beat_says_what_the_node_is),
        cmocka_unit_test(what_is_asked_survives_beats),
        cmocka_unit_test(nodes_that_are_gone_are_forgotten),
        cmocka_unit_test(the_status_counts_what_is_planned),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
