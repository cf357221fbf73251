/* SPDX-License-Identifier: MIT */
/* What was sent is written again where it is not there. */
#include "store/test_db.h"
#include "shardwheel/store/run.h"

#define NOW_S INT64_C(1767225600)

static void what_is_lost_is_written_again(void **state)
{
    struct store *st = test_db_fresh(2, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct sent_counts counts = {0};
    const struct sent_row rows[] = {
        {.log_id = 100, .was_sent = true, .job_id = 7, .group = 1, .due_s = NOW_S, .epoch = 4, .code = 200},
        {.log_id = 101, .was_sent = true, .job_id = 7, .group = 1, .due_s = NOW_S, .kind = TRIGGER_RETRY},
        {.log_id = 102, .was_sent = true, .job_id = 7, .group = 1, .due_s = NOW_S, .epoch = 4, .code = 500},
        {.log_id = 103, .was_sent = true, .job_id = 7, .group = 1, .due_s = NOW_S, .epoch = 4, .code = 200},
        {.log_id = 104, .handle_code = 500},
        {.log_id = 105, .handle_code = 200},
        {.log_id = 106, .was_sent = true, .job_id = 7, .group = 1, .due_s = NOW_S, .epoch = 4, .handle_code = 200},
    };

    (void)state;
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code, alarm_status) VALUES "
             "(102, 1, 7, 0, 0, 0), (103, 1, 7, 0, 0, 0), (104, 1, 7, 200, 0, 0), (5000, 1, 7, 0, 0, 0)");
    for (int twice = 0; twice < 2; twice++)
        assert_ok(store_write_sent(s, rows, ARRAY_LEN(rows), "0123456789abcdef", NOW_S + 9, &counts, ec));
    assert_int_equal(counts.written, 3);
    assert_int_equal(counts.results, 2);
    assert_int_equal(counts.ends, 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 7);
    assert_int_equal(test_int("SELECT trigger_code * 10 + alarm_status FROM xxl_job_log WHERE id = 100"), 2001);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE id = 100 AND handle_code = 0 AND "
                              "trigger_msg LIKE '<!--sw:p:1767225600:4-->%%'"),
                     1);
    /* Without a code it is this node's still, and ends with it. */
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE id = 101 AND trigger_code = 0 AND "
                              "trigger_msg LIKE '<!--sw:d:0123456789abcdef:1767225600:R-->%%' AND alarm_status = 1"),
                     1);
    assert_int_equal(test_int("SELECT trigger_code * 10 + alarm_status FROM xxl_job_log WHERE id = 102"), 5001);
    assert_int_equal(test_int("SELECT trigger_code * 10 + alarm_status FROM xxl_job_log WHERE id = 103"), 2000);
    assert_int_equal(test_int("SELECT handle_code * 10 + alarm_status FROM xxl_job_log WHERE id = 104"), 5001);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE id = 105"), 0); /* somebody else's to write */
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE id = 106 AND trigger_code = 200 AND "
                              "handle_code = 200 AND handle_time IS NOT NULL"),
                     1);
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code) VALUES (1, 7, 0, 0)");
    assert_int_equal(test_int("SELECT MAX(id) FROM xxl_job_log"), 5001); /* ids go on where they were */
    store_give_session(st, s);
    store_destroy(st);
}

static void what_it_came_from_is_not_sent_again(void **state)
{
    struct store *st = test_db_fresh(2, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct sent_counts counts = {0};
    const struct sent_row rows[] = {
        {.log_id = 200, .was_sent = true, .job_id = 7, .due_s = NOW_S, .kind = TRIGGER_RETRY, .source = 100},
        {.log_id = 201, .was_sent = true, .job_id = 7, .due_s = NOW_S, .kind = TRIGGER_RETRY, .source = 101},
        {.log_id = 202, .was_sent = true, .job_id = 7, .due_s = NOW_S, .epoch = 4, .kind = TRIGGER_API, .source = 50},
        {.log_id = 203, .was_sent = true, .job_id = 7, .due_s = NOW_S, .epoch = 4, .kind = TRIGGER_API, .source = 51},
        {.log_id = 204, .was_sent = true, .job_id = 7, .due_s = NOW_S, .epoch = 4, .kind = TRIGGER_API, .source = 52},
    };

    (void)state;
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code, alarm_status) VALUES "
             "(100, 1, 7, 500, 0, 0), (101, 1, 7, 500, 0, 2), (102, 1, 7, 500, 0, 0)");
    /* The second waits for an executor again; the third is another job's, given that id anew. */
    test_sql("INSERT INTO shardwheel_later (id, planned, due_s, job_id, kind, retries_left, generation, "
             "original_due_s) VALUES (50, 0, %lld, 7, 'A', -1, 0, 1), (51, 0, %lld, 7, 'A', -1, 0, 1), "
             "(52, 0, %lld, 8, 'A', -1, 0, 1)",
             (long long)NOW_S, (long long)NOW_S + 3, (long long)NOW_S);
    for (int twice = 0; twice < 2; twice++)
        assert_ok(store_write_sent(s, rows, ARRAY_LEN(rows), "0123456789abcdef", NOW_S + 9, &counts, ec));
    assert_int_equal(counts.sources, 2);
    assert_int_equal(test_int("SELECT alarm_status FROM xxl_job_log WHERE id = 100"), 1);
    assert_int_equal(test_int("SELECT alarm_status FROM xxl_job_log WHERE id = 101"), 2);
    assert_int_equal(test_int("SELECT alarm_status FROM xxl_job_log WHERE id = 102"), 0);
    assert_int_equal(test_int("SELECT log_id FROM shardwheel_later WHERE id = 50 AND planned = 1"), 202);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_later WHERE planned = 0 AND log_id IS NULL"), 2);
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- steps of flows ---------------------------------------------------------------------------------------------- */

#define RUN 40

static void add_run(int64_t id, int state)
{
    test_sql("INSERT INTO shardwheel_flow_run (id, flow_id, version, state, kind, due_s, depth, who, created_ms, "
             "look_ms, late_told) VALUES (%lld, 1, 1, %d, 'C', %lld, 0, '', 1, 99, 0)",
             (long long)id, state, (long long)NOW_S);
}

static struct sent_row sent_step(int64_t log_id, int64_t run, int step)
{
    return (struct sent_row){.log_id = log_id,
                             .was_sent = true,
                             .job_id = 7,
                             .group = 1,
                             .due_s = NOW_S,
                             .kind = TRIGGER_FLOW,
                             .code = 200,
                             .flow_run = run,
                             .flow_step = step,
                             .flow_item = -1};
}

static struct sent_row sent_item(int64_t log_id, int64_t run, int step, int item)
{
    struct sent_row row = sent_step(log_id, run, step);

    row.flow_item = item;
    row.flow_items = 5;
    return row;
}

static struct sent_counts write_twice(struct store_session *s, const struct sent_row *rows, size_t count)
{
    struct sent_counts counts = {0};

    for (int twice = 0; twice < 2; twice++)
        assert_ok(store_write_sent(s, rows, count, "0123456789abcdef", NOW_S + 9, &counts, ec));
    return counts;
}

#define STEP "SELECT %s FROM shardwheel_flow_step WHERE run_id = 40 AND step = %d"

/* A run stands as it stood after its steps were sent: nothing is sent again, and the ends are waited for. */
static void steps_that_were_sent_have_begun(void **state)
{
    struct store *st = test_db_fresh(2, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct sent_counts counts;
    const struct sent_row rows[] = {
        {.log_id = 300, .handle_code = 200}, /* the end of step 0, which was lost alone */
        sent_step(301, RUN, 1),              /* had not begun */
        sent_step(302, RUN, 2),              /* a second try */
        sent_step(303, RUN, 3),              /* had ended */
        sent_step(304, RUN, 4),              /* has begun with a newer try, by another node */
        sent_step(305, 41, 0),               /* of a run that has ended */
        sent_step(306, 42, 0),               /* ... that is gone */
        sent_step(307, 43, 0),               /* ... that was in line */
    };

    (void)state;
    add_run(RUN, 1);
    add_run(41, 3);
    add_run(43, 0);
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code, alarm_status) VALUES "
             "(300, 1, 7, 200, 0, 0)");
    test_sql("INSERT INTO shardwheel_flow_step (run_id, step, state, log_id, tries, wake_ms, started_ms, ended_ms, "
             "code, message) VALUES (40, 0, 1, 300, 1, NULL, 5, NULL, NULL, NULL), "
             "(40, 2, 1, 299, 1, 77, 5, 6, 500, 'why'), (40, 3, 2, 298, 1, NULL, 5, 6, 200, NULL), "
             "(40, 4, 1, 9000, 1, NULL, 5, NULL, NULL, NULL)");
    counts = write_twice(s, rows, ARRAY_LEN(rows));
    assert_int_equal(counts.written, 7);
    assert_int_equal(counts.steps, 3);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE id = 301 AND trigger_msg LIKE "
                              "'<!--sw:d:0123456789abcdef:1767225600:W40.1-->%%'"),
                     1);
    /* What the executor said is not known: no step is given our words for it. */
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE id = 300 AND handle_code = 200 AND handle_msg "
                              "LIKE '" END_AGAIN_MARK "%%'"),
                     1);
    assert_int_equal(test_int(STEP " AND state = 1", "log_id", 1), 301);
    assert_int_equal(test_int(STEP, "started_ms", 1), NOW_S * 1000);
    assert_int_equal(test_int(STEP " AND wake_ms IS NULL AND ended_ms IS NULL AND message IS NULL", "log_id", 2), 302);
    assert_int_equal(test_int(STEP, "tries * 10 + started_ms", 2), 25);
    assert_int_equal(test_int(STEP, "log_id * 10 + state", 3), 2982);
    assert_int_equal(test_int(STEP, "log_id", 4), 9000);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_flow_step WHERE run_id IN (41, 42)"), 0);
    assert_int_equal(test_int("SELECT SUM(log_id) FROM shardwheel_flow_fire WHERE item = -1"), 301 + 302 + 307);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_flow_run WHERE look_ms = 0 AND state = 1"), 2);
    store_give_session(st, s);
    store_destroy(st);
}

#define ITEM "SELECT %s FROM shardwheel_flow_item WHERE run_id = 40 AND step = %d AND item = %d"

static void items_that_were_sent_have_begun(void **state)
{
    struct store *st = test_db_fresh(2, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct sent_counts counts;
    const struct sent_row rows[] = {
        sent_item(401, RUN, 1, 0), /* of a step that had not begun */
        sent_item(402, RUN, 1, 2), /* the one before it could not be sent */
        sent_item(403, RUN, 2, 1), /* a second try */
        sent_item(404, RUN, 2, 2), /* had ended */
        sent_item(405, RUN, 2, 4), /* had not begun */
    };

    (void)state;
    add_run(RUN, 1);
    test_sql(
        "INSERT INTO shardwheel_flow_step (run_id, step, state, tries, started_ms, items, items_begun, items_ended, "
        "items_failed) VALUES (40, 2, 1, 0, 5, 5, 4, 1, 0)");
    test_sql("INSERT INTO shardwheel_flow_item (run_id, step, item, state, log_id, tries, wake_ms, started_ms) VALUES "
             "(40, 2, 0, 1, 390, 1, NULL, 5), (40, 2, 1, 1, 391, 1, 77, 5), (40, 2, 2, 2, 392, 1, NULL, 5), "
             "(40, 2, 3, 1, 393, 1, NULL, 5)");
    counts = write_twice(s, rows, ARRAY_LEN(rows));
    assert_int_equal(counts.written, 5);
    assert_int_equal(counts.steps, 4);
    assert_int_equal(test_int(STEP, "items * 100 + items_begun * 10 + state", 1), 531);
    assert_int_equal(test_int(ITEM, "log_id", 1, 0), 401);
    assert_int_equal(test_int(ITEM " AND log_id IS NULL AND state = 1", "wake_ms * 10 + tries", 1, 1), 10);
    assert_int_equal(test_int(ITEM, "log_id", 1, 2), 402);
    assert_int_equal(test_int(STEP, "items * 1000 + items_begun * 100 + items_ended * 10 + state", 2), 5511);
    assert_int_equal(test_int(ITEM " AND wake_ms IS NULL", "log_id * 10 + tries", 2, 1), 4032);
    assert_int_equal(test_int(ITEM, "log_id * 10 + state", 2, 2), 3922);
    assert_int_equal(test_int(ITEM, "log_id", 2, 4), 405);
    assert_int_equal(test_int("SELECT GROUP_CONCAT(log_id * 10 + item ORDER BY log_id SEPARATOR '') = "
                              "'4010402240314054' FROM shardwheel_flow_fire"),
                     1);
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_lost_is_written_again),
        cmocka_unit_test(what_it_came_from_is_not_sent_again),
        cmocka_unit_test(steps_that_were_sent_have_begun),
        cmocka_unit_test(items_that_were_sent_have_begun),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
