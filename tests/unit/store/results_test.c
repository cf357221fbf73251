/* SPDX-License-Identifier: MIT */
#include "store/test_db.h"
#include "shardwheel/store/run.h"

#define NOW_S INT64_C(1700000000)
#define MARK "<!--sw:p:1700000000:1-->"

static struct store *st;
static struct store_session *s;

static int set_up(void **state)
{
    (void)state;
    st = test_db_fresh(1, NOW_S);
    s = test_take(st, SESSION_NORMAL);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_give_session(st, s);
    store_destroy(st);
    return 0;
}

/* Rows 1..n, planned and open. */
static void add_logs(int n)
{
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, executor_handler, executor_param, trigger_time, "
             "trigger_code, "
             "trigger_msg, handle_code) SELECT seq, 1, seq, 'demo', 'p', '2023-11-15 06:13:20', 0, '" MARK "', 0 "
             "FROM seq_1_to_%d",
             n);
}

static void each_row_gets_its_own_values(void **state)
{
    struct fire_result r[600];
    char address[600][40], message[600][60];

    (void)state;
    add_logs(602);
    for (int i = 0; i < 600; i++) {
        /* A large group, groups too small for a statement of their own, and single rows; given in falling order. */
        int kind = i < 300 ? 0 : i < 400 ? i % 10 : i;
        snprintf(address[i], sizeof address[i], "http://10.0.0.%d:9999/", kind);
        snprintf(message[i], sizeof message[i], "kind %d 'h\xc3\xa9'", kind);
        r[i] = (struct fire_result){.log_id = 600 - i,
                                    .code = kind % 7 == 3 ? 500 : 200,
                                    .address = kind == 5 ? NULL : address[i],
                                    .message = message[i]};
    }
    assert_ok(store_write_results(s, r, 600, ec));
    for (int i = 0; i < 600; i++) {
        char expected[200];
        snprintf(expected, sizeof expected, "%d|%.59s|" MARK "%.59s|demo|p|0", r[i].code,
                 r[i].address ? r[i].address : "-", message[i]);
        assert_string_equal(test_text("SELECT CONCAT_WS('|', trigger_code, IFNULL(executor_address, '-'), trigger_msg, "
                                      "executor_handler, executor_param, handle_code) FROM xxl_job_log WHERE id = %d",
                                      600 - i),
                            expected);
    }
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code = 0"), 2);
}

static void only_open_rows_are_written(void **state)
{
    struct fire_result r[4];

    (void)state;
    add_logs(4);
    test_sql("UPDATE xxl_job_log SET trigger_code = 500, trigger_msg = 'ended' WHERE id = 1");
    test_sql("UPDATE xxl_job_log SET handle_code = 200, handle_msg = 'early' WHERE id = 2"); /* called back already */
    test_sql("UPDATE xxl_job_log SET trigger_msg = NULL WHERE id = 3");
    test_sql("UPDATE xxl_job_log SET trigger_msg = 'of a --> Java admin' WHERE id = 4");
    for (int i = 0; i < 4; i++)
        r[i] = (struct fire_result){.log_id = i + 1, .code = 200, .address = "a", .message = "m"};
    assert_ok(store_write_results(s, r, 4, ec));
    assert_string_equal(test_text("SELECT trigger_msg FROM xxl_job_log WHERE id = 1"), "ended");
    assert_string_equal(test_text("SELECT CONCAT(trigger_code, handle_code, handle_msg) FROM xxl_job_log WHERE id = 2"),
                        "200200early");
    assert_string_equal(test_text("SELECT trigger_msg FROM xxl_job_log WHERE id = 3"), "m");
    assert_string_equal(test_text("SELECT trigger_msg FROM xxl_job_log WHERE id = 4"), "m");
    /* Again, with other values, and for a row that is gone: nothing changes. */
    r[3].message = "again";
    r[2].log_id = 99;
    assert_ok(store_write_results(s, r, 4, ec));
    assert_string_equal(test_text("SELECT trigger_msg FROM xxl_job_log WHERE id = 4"), "m");
    assert_ok(store_write_results(s, r, 0, ec));
}

/* Its callback was first, at another node, and took it for sent as planned. */
static void a_delivery_knows_better_than_its_callback(void **state)
{
    struct fire_result r[4];

    (void)state;
    add_logs(4);
    test_sql("UPDATE xxl_job_log SET trigger_code = 200, handle_code = 500, handle_time = '2023-11-15 06:13:20', "
             "executor_address = 'planned'");
    test_sql("UPDATE xxl_job_log SET alarm_status = 2 WHERE id = 2");   /* with a line about its retry */
    test_sql("UPDATE xxl_job_log SET handle_time = NULL WHERE id = 3"); /* no callback's */
    for (int i = 0; i < 4; i++)
        r[i] = (struct fire_result){.log_id = i + 1, .code = i == 3 ? 500 : 200, .address = "other", .message = "m"};
    assert_ok(store_write_results(s, r, 4, ec));
    for (int i = 0; i < 4; i++)
        assert_string_equal(
            test_text(
                "SELECT CONCAT_WS('|', trigger_code, executor_address, trigger_msg) FROM xxl_job_log WHERE id = %d",
                i + 1),
            i == 0 ? "200|other|" MARK "m" : "200|planned|" MARK);
    /* Alone, and many of one kind. */
    test_sql("UPDATE xxl_job_log SET executor_address = 'planned', trigger_msg = '" MARK "'");
    assert_ok(store_write_results(s, r, 1, ec));
    assert_ok(store_write_results(s, r + 3, 1, ec));
    assert_string_equal(test_text("SELECT GROUP_CONCAT(executor_address ORDER BY id) FROM xxl_job_log"),
                        "other,planned,planned,planned");
}

static void edited_jobs_are_written_along(void **state)
{
    struct fire_result r[4];

    (void)state;
    add_logs(4);
    for (int i = 0; i < 4; i++)
        r[i] = (struct fire_result){.log_id = i + 1,
                                    .code = 200,
                                    .address = "a",
                                    .message = NULL,
                                    .write_job = i > 0,
                                    .group = i == 3 ? 8 : 7,
                                    .handler = "new'",
                                    .param = i == 1 ? NULL : "q",
                                    .retry_count = 4,
                                    .sharding = i > 1 ? "0/2" : NULL};
    assert_ok(store_write_results(s, r, 4, ec));
    const char *sql =
        "SELECT CONCAT_WS('|', job_group, executor_handler, IFNULL(executor_param, '-'), executor_fail_retry_count, "
        "IFNULL(executor_sharding_param, '-'), trigger_msg) FROM xxl_job_log WHERE id = ";
    assert_string_equal(test_text("%s1", sql), "1|demo|p|0|-|" MARK);
    assert_string_equal(test_text("%s2", sql), "7|new'|-|4|-|" MARK);
    assert_string_equal(test_text("%s3", sql), "7|new'|q|4|0/2|" MARK);
    assert_string_equal(test_text("%s4", sql), "8|new'|q|4|0/2|" MARK); /* the group alone differs */
}

static void rows_written_ahead_get_their_code_alone(void **state)
{
    enum { N = 700 };
    static struct fire_result r[N];

    (void)state;
    add_logs(N);
    test_sql("UPDATE xxl_job_log SET executor_address = 'ahead', trigger_msg = CONCAT(trigger_msg, 'text')");
    test_sql("UPDATE xxl_job_log SET trigger_code = 500 WHERE id = 7");
    /* The tenth of them went otherwise. */
    for (int i = 0; i < N; i++)
        r[i] = (struct fire_result){.log_id = N - i, .code = 200, .as_planned = true};
    for (int i = 0; i < N; i += 10)
        r[i] = (struct fire_result){.log_id = N - i, .code = 500, .address = "other", .message = "failed"};
    int64_t updates = test_commands("COM_UPDATE");
    assert_ok(store_write_results(s, r, N, ec));
    /* Two lists of the many, one of the few. */
    assert_int_equal(test_commands("COM_UPDATE") - updates, (N - N / 10 + STORE_LIST_MAX - 1) / STORE_LIST_MAX + 1);
    assert_int_equal(
        test_int("SELECT COUNT(*) FROM xxl_job_log WHERE id <> 7 AND id %% 10 <> 0 AND trigger_code = 200 AND "
                 "executor_address = 'ahead' AND trigger_msg = '" MARK "text'"),
        N - N / 10 - 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE id %% 10 = 0 AND trigger_code = 500 AND "
                              "executor_address = 'other' AND trigger_msg = '" MARK "failed'"),
                     N / 10);
    assert_int_equal(test_int("SELECT trigger_code FROM xxl_job_log WHERE id = 7"), 500);
}

/* 12 MB in one batch, to a server that takes 4 MB in a statement, and each more than the column holds. */
static void long_messages_are_cut_and_split(void **state)
{
    enum { N = 100 };
    struct fire_result r[N];
    char *message[N];

    (void)state;
    add_logs(N);
    for (int i = 0; i < N; i++) {
        message[i] = malloc(120001);
        for (int k = 0; k < 120000; k += 3)
            memcpy(message[i] + k, i % 2 ? "\xe4\xbb\xbb" : "'''", 3);
        message[i][0] = message[i][1] = message[i][2] = (char)('0' + i % 10);
        message[i][120000] = '\0';
        r[i] = (struct fire_result){.log_id = i + 1, .code = 200, .address = "a", .message = message[i]};
    }
    assert_ok(store_write_results(s, r, N, ec));
    assert_int_equal(
        test_int("SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code = 200 AND LENGTH(trigger_msg) BETWEEN "
                 "65000 AND 65535 AND trigger_msg LIKE CONCAT('" MARK "', REPEAT((id - 1) %% 10, 3), "
                 "IF(id %% 2, '''%%''', '\xe4\xbb\xbb%%\xe4\xbb\xbb'))"),
        N);
    for (int i = 0; i < N; i++)
        free(message[i]);
}

static void odd_charsets_lose_a_character_not_the_batch(void **state)
{
    struct fire_result r[40];

    (void)state;
    test_sql(
        "ALTER TABLE xxl_job_log MODIFY trigger_msg TEXT CHARACTER SET latin1, MODIFY executor_param VARCHAR(512)");
    add_logs(40);
    for (int i = 0; i < 40; i++)
        r[i] = (struct fire_result){.log_id = i + 1,
                                    .code = 200,
                                    .address = "a",
                                    .message = i == 7   ? "\xe4\xbb\xbb h\xc3\xa9 \xff"
                                               : i < 20 ? "h\xc3\xa9"
                                                        : "\xf0\x9f\x98\x80"};
    char param[2000];
    memset(param, 'x', sizeof param - 1);
    param[sizeof param - 1] = '\0';
    r[9].address = param; /* 255 characters fit */
    r[8].write_job = true;
    r[8].param = param;
    r[8].handler = "h";
    assert_ok(store_write_results(s, r, 40, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code = 200"), 40);
    assert_string_equal(test_text("SELECT trigger_msg FROM xxl_job_log WHERE id = 8"), MARK "? h? ?");
    assert_string_equal(test_text("SELECT trigger_msg FROM xxl_job_log WHERE id = 7"), MARK "h\xc3\xa9");
    assert_string_equal(test_text("SELECT trigger_msg FROM xxl_job_log WHERE id = 40"), MARK "?");
    assert_int_equal(test_int("SELECT LENGTH(executor_address) FROM xxl_job_log WHERE id = 10"), 255);
    assert_int_equal(test_int("SELECT LENGTH(executor_param) FROM xxl_job_log WHERE id = 9"), 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_row_gets_its_own_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_open_rows_are_written, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_delivery_knows_better_than_its_callback, set_up, tear_down),
        cmocka_unit_test_setup_teardown(edited_jobs_are_written_along, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_written_ahead_get_their_code_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_messages_are_cut_and_split, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_charsets_lose_a_character_not_the_batch, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
