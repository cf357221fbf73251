/* SPDX-License-Identifier: MIT */
/* Runs without a result: found by pieces, ended once, and what a callback does afterwards. */
#include "store/test_schema.h"

#include "shardwheel/store/lost.h"
#include "shardwheel/store/run.h"
#include "shardwheel/store/schema.h"

#define NOW_S INT64_C(1700000000) /* 2023-11-15 06:13:20 in the zone of the store */

static int64_t add_log(int64_t job, int trigger_code, int handle_code, const char *address)
{
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, executor_address, executor_fail_retry_count, trigger_time, "
             "trigger_code, trigger_msg, handle_code) VALUES (3, %" PRId64 ", %s, 2, '2023-11-15 06:13:20', %d, 'x', "
             "%d)",
             job, address, trigger_code, handle_code);
    return test_int("SELECT MAX(id) FROM xxl_job_log");
}

static const char *row(int64_t id)
{
    return test_text("SELECT CONCAT_WS('|', handle_code, IFNULL(handle_time, '-'), IFNULL(handle_msg, '-'), "
                     "trigger_code, executor_fail_retry_count, alarm_status) FROM xxl_job_log WHERE id = %" PRId64,
                     id);
}

/* By the index of handle_code, and without one. */
static void open_runs_are_found_piece_by_piece(void **state)
{
    (void)state;
    for (int index = 1; index >= 0; index--) {
        struct store *st = test_db_fresh(1, NOW_S);
        struct store_session *s = test_take(st, SESSION_CLAIM);
        struct store_features features;
        struct open_runs runs = {0};
        int64_t found[100], newest, at = 0;
        size_t n = 0, pieces = 0;

        if (!index)
            test_sql("ALTER TABLE xxl_job_log DROP KEY I_handle_code");
        assert_ok(store_load_features(st, &features, ec));
        assert_int_equal(features.log_handle_code_name[0] != '\0', index);
        for (int i = 0; i < 40; i++)
            add_log(i, i % 4 == 0 ? 500 : i % 4 == 1 ? 0 : 200, i % 4 == 2 ? 200 : 0, "'http://a/'");
        test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code) VALUES (5000000000, 1, "
                 "77, 200, 0)");
        assert_ok(store_load_newest_log(s, &newest, ec));
        assert_int_equal(newest, 5000000000);
        while (at < newest) {
            assert_true(pieces++ < 50);
            assert_ok(store_load_open_runs(s, at, newest, 7, &runs, ec));
            assert_true(runs.until_id > at);
            for (size_t i = 0; i < runs.count; i++)
                found[n++] = runs.rows[i].job_id;
            if (n == 1) {
                assert_int_equal(runs.rows[0].group, 3);
                assert_int_equal(runs.rows[0].triggered_s, NOW_S);
                assert_string_equal(runs.rows[0].address, "http://a/");
            }
            if (runs.count > 0 && runs.rows[runs.count - 1].id == newest) {
                assert_true(runs.rows[runs.count - 1].triggered_s == INT64_MIN);
                assert_string_equal(runs.rows[runs.count - 1].address, "");
            }
            at = runs.until_id;
            open_runs_fini(&runs);
        }
        assert_int_equal(n, 11);
        for (size_t i = 0; i < 10; i++)
            assert_int_equal(found[i], i * 4 + 3);
        assert_int_equal(found[10], 77);
        assert_true(pieces >= 3);
        store_give_session(st, s);
        store_destroy(st);
    }
}

/* However many rows have ended: a piece reads what has not. */
static void a_piece_reads_what_it_finds(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    struct open_runs runs = {0};
    int64_t before;

    (void)state;
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code) "
             "SELECT 1, seq, '2023-11-15 06:13:20', 200, IF(seq %% 1000, 200, 0) FROM seq_1_to_50000");
    before = test_int("SELECT SUM(variable_value) FROM information_schema.global_status WHERE variable_name LIKE "
                      "'HANDLER_READ%%'");
    assert_ok(store_load_open_runs(s, 0, 50000, 2000, &runs, ec));
    assert_int_equal(runs.count, 50);
    assert_true(test_int("SELECT SUM(variable_value) FROM information_schema.global_status WHERE variable_name LIKE "
                         "'HANDLER_READ%%'") -
                    before <
                2000);
    open_runs_fini(&runs);
    store_give_session(st, s);
    store_destroy(st);
}

static void those_that_are_still_open_are_kept(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    int64_t ids[1200];
    size_t count = 1200;

    (void)state;
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code) SELECT seq, 1, 1, "
             "IF(seq %% 3 = 1, 500, 200), IF(seq %% 3 = 2, 200, 0) FROM seq_1_to_1199");
    for (int i = 0; i < 1200; i++)
        ids[i] = i + 1;
    assert_ok(store_keep_open_runs(s, ids, &count, ec));
    assert_int_equal(count, 399);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(ids[i], (int64_t)(i + 1) * 3);
    count = 0;
    assert_ok(store_keep_open_runs(s, ids, &count, ec));
    assert_int_equal(count, 0);
    store_give_session(st, s);
    store_destroy(st);
}

/* As the original compares them: letter case and blanks at the end do not count, a slash does. */
static void addresses_are_compared_as_the_original_does(void **state)
{
    static const struct {
        const char *address;
        bool found;
    } cases[] = {{"http://A.example:9999/", true}, {"http://a.EXAMPLE:9999/", true},  {"http://A.example:9999/ ", true},
                 {"http://A.example:9999", false}, {"http://b.example:9999/", false}, {"it's", false}};
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    struct address_list list = {0};
    bool found;

    (void)state;
    test_sql("INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES "
             "('EXECUTOR', 'app', 'http://z/', NULL), ('OTHER', 'x', 'http://A.example:9999/', '2000-01-01')");
    assert_ok(store_load_addresses(s, &list, ec));
    assert_int_equal(list.count, 2);
    assert_string_equal(list.list[0], "http://A.example:9999/");
    assert_string_equal(list.list[1], "http://z/");
    address_list_fini(&list);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_ok(store_is_registered(s, cases[i].address, &found, ec));
        if (found != cases[i].found)
            fail_msg("%s: %d", cases[i].address, found);
    }
    store_give_session(st, s);
    store_destroy(st);
}

static void lost_runs_end_once(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    size_t ended = 0;

    (void)state;
    test_sql("INSERT INTO shardwheel_job (job_id, resend_lost) VALUES (8, 1), (9, NULL)");
    int64_t plain = add_log(7, 200, 0, "NULL"), resent = add_log(8, 200, 0, "NULL"), other = add_log(9, 200, 0, "NULL");
    int64_t done = add_log(8, 200, 200, "NULL"), refused = add_log(8, 500, 0, "NULL");
    int64_t planned = add_log(8, 0, 0, "NULL");
    test_sql("UPDATE xxl_job_log SET handle_msg = 'before' WHERE id = %" PRId64, plain);
    const int64_t ids[] = {plain, resent, other, done, refused, planned, planned + 1};
    const int64_t jobs[] = {7, 8, 9, 8, 8, 8, 8};
    assert_ok(store_end_lost(s, ids, jobs, ARRAY_LEN(ids), "it's lost", NOW_S + 1, &ended, ec));
    assert_int_equal(ended, 3);
    assert_string_equal(row(plain), "500|2023-11-15 06:13:21|" LOST_MARK "it's lost|200|2|0");
    assert_string_equal(row(resent), "500|2023-11-15 06:13:21|" LOST_MARK "it's lost|200|3|0");
    assert_string_equal(row(other), "500|2023-11-15 06:13:21|" LOST_MARK "it's lost|200|2|0");
    assert_string_equal(row(done), "200|-|-|200|2|0");
    assert_string_equal(row(refused), "0|-|-|500|2|0");
    assert_string_equal(row(planned), "0|-|-|0|2|0");
    assert_ok(store_end_lost(s, ids, jobs, ARRAY_LEN(ids), "again", NOW_S + 9, &ended, ec));
    assert_int_equal(ended, 0);
    assert_string_equal(row(resent), "500|2023-11-15 06:13:21|" LOST_MARK "it's lost|200|3|0");
    store_give_session(st, s);
    store_destroy(st);
}

/* Each retry of a lost run knows how many were lost before it, however it is made; the fourth is not sent again. */
static void a_chain_of_lost_runs_has_an_end(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    static const char *const marks[] = {"<!--sw:d:0123456789abcdef:1700000000:R:G3000-->",
                                        "<!--sw:p:1700000000:1:KR:G3004-->",
                                        "<!--sw:d:0123456789abcdef:1700000000:R:G2099-->", "<!--sw:p:1700000000:1-->"};
    int64_t ids[ARRAY_LEN(marks)], jobs[ARRAY_LEN(marks)];
    size_t ended = 0;

    (void)state;
    test_sql("INSERT INTO shardwheel_job (job_id, resend_lost) VALUES (8, 1)");
    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        ids[i] = add_log(8, 200, 0, "NULL");
        jobs[i] = 8;
        test_sql("UPDATE xxl_job_log SET trigger_msg = '%s' WHERE id = %" PRId64, marks[i], ids[i]);
    }
    assert_ok(store_end_lost(s, ids, jobs, ARRAY_LEN(ids), "lost", NOW_S + 1, &ended, ec));
    assert_int_equal(ended, ARRAY_LEN(ids));
    for (size_t i = 0; i < ARRAY_LEN(marks); i++)
        assert_string_equal(row(ids[i]), i < 2 ? "500|2023-11-15 06:13:21|" LOST_MARK
                                                 "lost; not sent again: that was done 3 times|200|2|0"
                                               : "500|2023-11-15 06:13:21|" LOST_MARK "lost|200|3|0");
    store_give_session(st, s);
    store_destroy(st);
}

/* Its flow makes another try, or none. */
static void a_lost_step_of_a_flow_gets_no_retry(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    int64_t ids[4], jobs[4] = {8, 8, 8, 8};
    size_t ended = 0;

    (void)state;
    test_sql("INSERT INTO shardwheel_job (job_id, resend_lost) VALUES (8, 1)");
    for (int i = 0; i < 4; i++)
        ids[i] = add_log(jobs[i], 200, 0, "NULL");
    for (int i = 1; i < 4; i += 2)
        test_sql("UPDATE xxl_job_log SET trigger_msg = '<!--sw:d:0123456789abcdef:1700000000:W77.2-->' WHERE id = "
                 "%" PRId64,
                 ids[i]);
    test_sql("UPDATE xxl_job_log SET trigger_msg = '<!--sw:d:0123456789abcdef:1700000000:R:G3000-->' WHERE id = "
             "%" PRId64,
             ids[2]);
    assert_ok(store_end_lost(s, ids, jobs, 4, "lost", NOW_S + 1, &ended, ec));
    assert_int_equal(ended, 4);
    for (int i = 1; i < 4; i += 2)
        assert_string_equal(row(ids[i]), "500|2023-11-15 06:13:21|" LOST_MARK "lost|200|2|0");
    assert_string_equal(row(ids[0]), "500|2023-11-15 06:13:21|" LOST_MARK "lost|200|3|0");
    assert_string_equal(row(ids[2]),
                        "500|2023-11-15 06:13:21|" LOST_MARK "lost; not sent again: that was done 3 times|200|2|0");
    store_give_session(st, s);
    store_destroy(st);
}

/* A success overwrites the reason and nothing else does; a failed row that is not lost stays as it is. */
static void a_late_success_overwrites_the_reason(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    size_t ended = 0;

    (void)state;
    int64_t ids[4], jobs[4] = {1, 1, 1, 1};
    for (int i = 0; i < 4; i++)
        ids[i] = add_log(1, 200, 0, "NULL");
    int64_t failed = add_log(1, 200, 500, "NULL");
    test_sql("UPDATE xxl_job_log SET handle_msg = 'x" LOST_MARK "' WHERE id = %" PRId64, failed);
    assert_ok(store_end_lost(s, ids, jobs, 4, "lost", NOW_S, &ended, ec));
    struct callback_entry first[] = {{.log_id = ids[0], .code = 500, .message = "killed"},
                                     {.log_id = ids[1], .code = 200, .message = "done"},
                                     {.log_id = failed, .code = 200, .message = "late"}};
    assert_ok(store_write_callbacks(s, first, 3, NOW_S + 5, NULL, ec));
    assert_int_equal(first[0].outcome, CALLBACK_REPEATED);
    assert_int_equal(first[1].outcome, CALLBACK_STORED);
    assert_int_equal(first[2].outcome, CALLBACK_REPEATED);
    assert_string_equal(row(ids[0]), "500|2023-11-15 06:13:20|" LOST_MARK "lost|200|2|0");
    assert_string_equal(row(ids[1]), "200|2023-11-15 06:13:25|done|200|2|0");
    assert_string_equal(row(failed), "500|-|x" LOST_MARK "|200|2|0");
    struct callback_entry later[] = {{.log_id = ids[1], .code = 200, .message = "again"},
                                     {.log_id = ids[2], .code = 200, .message = NULL},
                                     {.log_id = ids[2], .code = 200, .message = "twice"}};
    assert_ok(store_write_callbacks(s, later, 3, NOW_S + 9, NULL, ec));
    assert_int_equal(later[0].outcome, CALLBACK_REPEATED);
    assert_int_equal(later[1].outcome, CALLBACK_STORED);
    assert_int_equal(later[2].outcome, CALLBACK_REPEATED);
    assert_string_equal(row(ids[2]), "200|2023-11-15 06:13:29||200|2|0");
    /* What is a success by now is retried by nobody. */
    struct log_state *states = NULL;
    size_t count = 0;
    assert_ok(store_load_log_list(s, ids, 4, &states, &count, ec));
    assert_int_equal(count, 2);
    free(states);
    store_give_session(st, s);
    store_destroy(st);
}

/* A retry that waits is cancelled by it; one that is planned, or another run's, goes on. */
static void a_late_success_cancels_a_waiting_retry(void **state)
{
    static const struct {
        const char *line; /* at the end of trigger_msg */
        int left;         /* later rows */
    } cases[] = {{"<br><br><span>retry: at 2023-11-15 06:15:00</span>", 4},
                 {"<br><br><span>retry: at 2023-11-15 06:15:01</span>", 5},
                 {"<br><br><span>retry: sent again as log 12</span>", 5},
                 {"", 5}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct store *st = test_db_fresh(1, NOW_S);
        struct store_session *s = test_take(st, SESSION_CLAIM);
        size_t ended = 0;

        int64_t id = add_log(1, 200, 0, "NULL"), job = 1;
        assert_ok(store_end_lost(s, &id, &job, 1, "lost", NOW_S, &ended, ec));
        test_sql("UPDATE xxl_job_log SET alarm_status = 2, executor_param = 'p', trigger_msg = 'x%s'", cases[i].line);
        test_sql(
            "INSERT INTO shardwheel_later (planned, due_s, job_id, kind, param, retries_left, original_due_s, "
            "generation) "
            "VALUES (0, 1700000100, 1, 'R', 'p', 1, 1700000100, 0), (1, 1700000100, 1, 'R', 'p', 1, 1700000100, 0), "
            "(0, 1700000100, 1, 'R', 'q', 1, 1700000100, 0), (0, 1700000100, 2, 'R', 'p', 1, 1700000100, 0), "
            "(0, 1700000100, 1, 'M', 'p', 1, 1700000100, 0)");
        struct callback_entry entry = {.log_id = id, .code = 200, .message = "done"};
        assert_ok(store_write_callbacks(s, &entry, 1, NOW_S + 5, NULL, ec));
        assert_int_equal(entry.outcome, CALLBACK_STORED);
        assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_later"), cases[i].left);
        assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_later WHERE planned = 1 OR kind = 'M' OR job_id = 2 "
                                  "OR param = 'q'"),
                         4);
        store_give_session(st, s);
        store_destroy(st);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_runs_are_found_piece_by_piece),
        cmocka_unit_test(a_piece_reads_what_it_finds),
        cmocka_unit_test(those_that_are_still_open_are_kept),
        cmocka_unit_test(addresses_are_compared_as_the_original_does),
        cmocka_unit_test(lost_runs_end_once),
        cmocka_unit_test(a_chain_of_lost_runs_has_an_end),
        cmocka_unit_test(a_lost_step_of_a_flow_gets_no_retry),
        cmocka_unit_test(a_late_success_overwrites_the_reason),
        cmocka_unit_test(a_late_success_cancels_a_waiting_retry),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
