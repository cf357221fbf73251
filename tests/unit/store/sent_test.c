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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_lost_is_written_again),
        cmocka_unit_test(what_it_came_from_is_not_sent_again),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
