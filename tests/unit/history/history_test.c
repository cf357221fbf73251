/* SPDX-License-Identifier: MIT */
/* The thread's turns on a clock of the test's own, with a real database. */
#include "store/test_db.h"

#include "history/others.h"
#include "shardwheel/history.h"
#include "shardwheel/store/schema.h"

#define NOW_S INT64_C(1700000000) /* 2023-11-15 06:13:20 in the zone of the store */
#define NOW_MS (NOW_S * 1000)

static struct world {
    struct clock clock;
    int64_t ms;
    int64_t epoch; /* of shard 0 */
    struct counters counters;
    struct store *st;
    struct history *h;
    struct shard_status shards[2];
} w;

static int64_t wall_us(const struct clock *clock)
{
    (void)clock;
    return (NOW_MS + w.ms) * 1000;
}

static int64_t mono_ms(const struct clock *clock)
{
    (void)clock;
    return 1000000 + w.ms;
}

static size_t load_shards(void *arg, struct shard_status *out)
{
    (void)arg;
    memcpy(out, w.shards, sizeof w.shards);
    return ARRAY_LEN(w.shards);
}

static int64_t get_epoch(void *arg)
{
    (void)arg;
    return w.epoch;
}

static int begin(void **state)
{
    (void)state;
    memset(&w, 0, sizeof w);
    w.clock = (struct clock){wall_us, mono_ms, mono_ms};
    w.st = test_db_fresh(2, NOW_S);
    w.shards[1].shard = 1;
    counters_set(&w.counters, COUNTER_DB_UP, 1);
    counters_set(&w.counters, COUNTER_COORD_UP, 1);
    assert_ok(history_create(&(struct history_opts){.node_name = "n1",
                                                    .incarnation = "aa",
                                                    .version = "1",
                                                    .store = w.st,
                                                    .load_shards = load_shards,
                                                    .get_epoch = get_epoch},
                             &w.clock, &w.counters, &w.h, ec));
    return 0;
}

static int finish(void **state)
{
    (void)state;
    history_destroy(w.h);
    store_destroy(w.st);
    return 0;
}

static void run_for(int64_t ms)
{
    for (int64_t until = w.ms + ms; w.ms < until;)
        w.ms += history_turn(w.h);
}

static const char *list_events(void)
{
    return test_text("SELECT GROUP_CONCAT(CONCAT_WS(' ', kind, shard, job_id, node) ORDER BY at_ms, id SEPARATOR ', ') "
                     "FROM shardwheel_event");
}

static void what_happens_is_written_within_a_second(void **state)
{
    (void)state;
    run_for(1000);
    assert_string_equal(list_events(), "node-joined n1");
    assert_string_equal(test_text("SELECT detail FROM shardwheel_event"), "n1 has started (version 1, run aa).");
    w.shards[1].state = SHARD_OWNED;
    w.shards[1].epoch = 4;
    counters_add(&w.counters, COUNTER_TAKEOVERS, 1);
    counters_add(&w.counters, COUNTER_FIRES_DELIVERED, 3);
    run_for(1000);
    assert_string_equal(list_events(), "node-joined n1, shard-taken 1 n1");
    run_for(60000);
    assert_string_equal(test_text("SELECT CONCAT_WS(' ', minute_s, incarnation, fires) FROM shardwheel_minute"),
                        "1699999980 aa 3");
}

/* It takes its time from the database's clock, of which it knows how far its own is ahead. */
static void times_are_those_of_the_database(void **state)
{
    (void)state;
    counters_set(&w.counters, COUNTER_CLOCK_DIFFERENCE, -7000);
    run_for(1000);
    assert_int_equal(test_int("SELECT at_ms FROM shardwheel_event"), NOW_MS + 7000);
}

static void an_outage_is_told_behind_it(void **state)
{
    (void)state;
    run_for(1000);
    counters_set(&w.counters, COUNTER_DB_UP, 0);
    run_for(30000);
    counters_add(&w.counters, COUNTER_GUARD_LOSSES, 1);
    counters_add(&w.counters, COUNTER_FIRES_FAILED, 2);
    run_for(60000);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_event"), 1);
    counters_set(&w.counters, COUNTER_DB_UP, 1);
    run_for(1000);
    assert_string_equal(list_events(), "node-joined n1, database-away n1, guard-lost n1");
    assert_int_equal(test_int("SELECT until_ms - at_ms FROM shardwheel_event WHERE kind = 'database-away'"), 90000);
    assert_int_equal(test_int("SELECT undelivered FROM shardwheel_minute"), 2);
}

/* ---- what the owner of shard 0 looks for ------------------------------------------------------------------------- */

static void edit(int64_t id, const char *conf, int64_t ago_s)
{
    struct civil at = zone_to_civil(store_get_zone(w.st), NOW_S + w.ms / 1000 - ago_s);

    test_sql("UPDATE xxl_job_info SET schedule_conf = '%s', update_time = '%04d-%02d-%02d %02d:%02d:%02d' WHERE id = "
             "%" PRId64,
             conf, (int)at.year, at.month, at.day, at.hour, at.minute, at.second, id);
}

static void edits_of_others_are_told_once(void **state)
{
    (void)state;
    test_sql("DELETE FROM xxl_job_info");
    for (int64_t id = 10; id < 13; id++)
        test_add_job(id, 0);
    edit(10, "1 * * * * ?", OTHERS_BACK_S + 100);
    edit(11, "2 * * * * ?", 100);
    edit(12, "3 * * * * ?", 100);
    run_for(70000);
    assert_string_equal(list_events(), "node-joined n1");
    w.epoch = 3;
    test_sql("INSERT INTO shardwheel_audit (at_ms, user_id, who, address, via, action, target, target_name, job_group) "
             "VALUES (%" PRId64 ", 1, 'ann', '', '', 'job.update', 12, '', 1)",
             NOW_MS - 100000);
    run_for(10000);
    assert_string_equal(list_events(), "job-changed 11 n1, node-joined n1");
    assert_string_equal(test_text("SELECT CONCAT(detail, data_json) FROM shardwheel_event WHERE job_id = 11"),
                        "Job 11 was changed outside shardwheel: schedule CRON 2 * * * * ?, started."
                        "{\"scheduleType\":\"CRON\",\"scheduleConf\":\"2 * * * * ?\",\"running\":true}");
    edit(11, "4 * * * * ?", 0);
    run_for(OTHERS_PASS_MS + 1000);
    assert_string_equal(list_events(), "job-changed 11 n1, node-joined n1, job-changed 11 n1");
    w.epoch = 5; /* owner anew: it looks at all again, and says nothing twice */
    run_for(OTHERS_PASS_MS + 1000);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_event"), 3);
}

/* No statement is spent on what the last pass has dealt with, and no more than so many on what is new. */
static void statements_are_bounded(void **state)
{
    (void)state;
    test_sql("DELETE FROM xxl_job_info");
    test_sql("INSERT INTO xxl_job_info (id, job_group, job_desc, schedule_type, schedule_conf, "
             "executor_block_strategy, glue_type, update_time) SELECT seq, 1, 'job', 'CRON', 'x', 'x', 'BEAN', "
             "'2023-11-15 06:13:00' FROM seq_1_to_%d",
             OTHERS_WRITES + 50);
    w.epoch = 3;
    run_for(20000);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_event WHERE job_id > 0"), OTHERS_WRITES);
    run_for(OTHERS_PASS_MS);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_event WHERE job_id > 0"), OTHERS_WRITES + 50);
    int64_t before = test_commands("COM_INSERT_SELECT");
    run_for(3 * OTHERS_PASS_MS);
    assert_int_equal(test_commands("COM_INSERT_SELECT"), before);
}

static void add_node(const char *incarnation, const char *node, const char *beat_ms)
{
    test_sql("INSERT INTO shardwheel_node (incarnation, node, url, version, started_ms, beat_ms, clock_ms, owned, "
             "drain, release_shard) VALUES ('%s', '%s', '', '', 0, (%s), 0, 0, 0, -1)",
             incarnation, node, beat_ms);
}

#define AGO "SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(3)) DIV 1000 - "

static void nodes_that_died_are_told_once(void **state)
{
    (void)state;
    w.epoch = 3;
    add_node("aa", "n1", AGO "60000"); /* not even our own beat is young: nobody can be judged */
    add_node("bb", "n2", AGO "60000");
    add_node("cc", "n3", AGO "100");
    run_for(60000);
    assert_string_equal(list_events(), "node-joined n1");
    test_sql("UPDATE shardwheel_node SET beat_ms = (" AGO "0) WHERE node = 'n1'");
    run_for(30000);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_event WHERE kind = 'node-died'"), 1);
    assert_string_equal(
        test_text("SELECT CONCAT(node, at_ms = (SELECT beat_ms FROM shardwheel_node WHERE node = 'n2')) "
                  "FROM shardwheel_event WHERE kind = 'node-died'"),
        "n21");
}

/* ---- its end ----------------------------------------------------------------------------------------------------- */

static void it_says_that_it_stops(void **state)
{
    (void)state;
    assert_ok(history_start(w.h, ec));
    test_wait("SELECT COUNT(*) FROM shardwheel_event");
    counters_add(&w.counters, COUNTER_RUNS_SUCCEEDED, 1);
    history_stop(w.h);
    history_join(w.h);
    assert_string_equal(list_events(), "node-joined n1, node-left n1");
    assert_int_equal(test_int("SELECT succeeded FROM shardwheel_minute"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_happens_is_written_within_a_second, begin, finish),
        cmocka_unit_test_setup_teardown(times_are_those_of_the_database, begin, finish),
        cmocka_unit_test_setup_teardown(an_outage_is_told_behind_it, begin, finish),
        cmocka_unit_test_setup_teardown(edits_of_others_are_told_once, begin, finish),
        cmocka_unit_test_setup_teardown(statements_are_bounded, begin, finish),
        cmocka_unit_test_setup_teardown(nodes_that_died_are_told_once, begin, finish),
        cmocka_unit_test_setup_teardown(it_says_that_it_stops, begin, finish),
    };
    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
