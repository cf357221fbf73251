/* SPDX-License-Identifier: MIT */
#include "store/test_db.h"
#include "shardwheel/store/run.h"

#define NOW_S INT64_C(1700000000)

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

static void add_logs(int n)
{
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_time, trigger_code, trigger_msg, handle_code) "
             "SELECT seq, 1, seq, '2023-11-15 06:13:20', 200, 'x', 0 FROM seq_1_to_%d",
             n);
}

static const char *row(int64_t id)
{
    return test_text(
        "SELECT CONCAT_WS('|', handle_code, IFNULL(handle_time, '-'), IFNULL(handle_msg, '-'), trigger_code, "
        "trigger_msg, alarm_status) FROM xxl_job_log WHERE id = %" PRId64,
        id);
}

static void first_stored_result_wins(void **state)
{
    struct callback_entry c[] = {
        {.log_id = 3, .code = 200, .message = NULL},
        {.log_id = 1,
         .code = 500,
         .message = "it's b\xc3\xa4"
                    "d"},
        {.log_id = 99, .code = 200, .message = "gone"},
        {.log_id = 2, .code = 200, .message = "again"},
        {.log_id = 4, .code = 200, .message = "more"},
        {.log_id = 5, .code = 502, .message = "\xff"},
        {.log_id = 6, .code = -1, .message = "neg"},
    };

    (void)state;
    add_logs(6);
    test_sql("UPDATE xxl_job_log SET handle_code = 500, handle_msg = 'first' WHERE id = 2");
    test_sql("UPDATE xxl_job_log SET handle_msg = 'so far', trigger_code = 0 WHERE id = 4");
    test_sql("UPDATE xxl_job_log SET handle_msg = '', handle_code = -5, trigger_code = 500 WHERE id = 5");
    assert_ok(store_write_callbacks(s, c, ARRAY_LEN(c), NOW_S, NULL, ec));
    assert_int_equal(c[0].outcome, CALLBACK_STORED);
    assert_int_equal(c[1].outcome, CALLBACK_STORED);
    assert_int_equal(c[2].outcome, CALLBACK_UNKNOWN_LOG);
    assert_int_equal(c[3].outcome, CALLBACK_REPEATED);
    assert_int_equal(c[4].outcome, CALLBACK_STORED);
    assert_int_equal(c[5].outcome, CALLBACK_STORED);
    assert_int_equal(c[6].outcome, CALLBACK_STORED);
    assert_string_equal(row(1), "500|2023-11-15 06:13:20|it's b\xc3\xa4"
                                "d|200|x|0");
    assert_string_equal(row(2), "500|-|first|200|x|0");
    assert_string_equal(row(3), "200|2023-11-15 06:13:20||200|x|0");
    assert_string_equal(row(4), "200|2023-11-15 06:13:20|so far<br>more|0|x|0");
    assert_string_equal(row(5), "502|2023-11-15 06:13:20|?|500|x|0");
    assert_string_equal(row(6), "-1|2023-11-15 06:13:20|neg|200|x|0");
    assert_ok(store_write_callbacks(s, c, ARRAY_LEN(c), NOW_S + 9, NULL, ec));
    assert_int_equal(c[0].outcome, CALLBACK_REPEATED);
    assert_int_equal(c[6].outcome, CALLBACK_STORED);
    assert_string_equal(row(6), "-1|2023-11-15 06:13:29|neg<br>neg|200|x|0");
    assert_ok(store_write_callbacks(s, c, 0, NOW_S, NULL, ec));
}

static void repeats_in_one_batch_go_in_order(void **state)
{
    struct callback_entry c[] = {
        {.log_id = 1, .code = 0, .message = "z"},    {.log_id = 2, .code = 200, .message = "won"},
        {.log_id = 1, .code = 0, .message = "a"},    {.log_id = 2, .code = 500, .message = "late"},
        {.log_id = 1, .code = 200, .message = "m"},  {.log_id = 1, .code = 500, .message = "n"},
        {.log_id = 3, .code = 0, .message = "open"},
    };
    static const enum callback_outcome expected[] = {CALLBACK_STORED,   CALLBACK_STORED, CALLBACK_STORED,
                                                     CALLBACK_REPEATED, CALLBACK_STORED, CALLBACK_REPEATED,
                                                     CALLBACK_STORED};

    (void)state;
    add_logs(3);
    assert_ok(store_write_callbacks(s, c, ARRAY_LEN(c), NOW_S, NULL, ec));
    for (size_t i = 0; i < ARRAY_LEN(c); i++)
        assert_int_equal(c[i].outcome, expected[i]);
    assert_string_equal(row(1), "200|2023-11-15 06:13:20|z<br>a<br>m|200|x|0");
    assert_string_equal(row(2), "200|2023-11-15 06:13:20|won|200|x|0");
    assert_string_equal(row(3), "0|2023-11-15 06:13:20|open|200|x|0");
}

static void each_row_gets_its_own_result(void **state)
{
    enum { N = 1200 };
    static struct callback_entry c[N];
    static char message[N][40];

    (void)state;
    add_logs(N);
    for (int i = 0; i < N; i++) {
        int kind = i < 700 ? 0 : i < 800 ? i % 20 : i;
        snprintf(message[i], sizeof message[i], "kind %d", kind);
        c[i] = (struct callback_entry){.log_id = N - i, .code = kind % 5 == 2 ? 500 : 200, .message = message[i]};
    }
    assert_ok(store_write_callbacks(s, c, N, NOW_S, NULL, ec));
    for (int i = 0; i < N; i++) {
        char expected[80];
        assert_int_equal(c[i].outcome, CALLBACK_STORED);
        snprintf(expected, sizeof expected, "%d|2023-11-15 06:13:20|%.39s|200|x|0", c[i].code, message[i]);
        assert_string_equal(row(N - i), expected);
    }
}

/* 12 MB in one entry, and 12 MB in 200, to a server that takes 4 MB in a statement. */
static void long_messages_are_cut(void **state)
{
    static struct callback_entry c[201];
    char *whole = malloc(12000001), *some = malloc(60001);

    (void)state;
    add_logs(201);
    for (int i = 0; i < 12000000; i += 4)
        memcpy(whole + i, "\xf0\x9f\x98\x80", 4);
    whole[12000000] = '\0';
    memset(some, '\'', 60000);
    some[60000] = '\0';
    c[0] = (struct callback_entry){.log_id = 1, .code = 200, .message = whole};
    for (int i = 1; i <= 200; i++)
        c[i] = (struct callback_entry){.log_id = i + 1, .code = 200 + i, .message = some};
    assert_ok(store_write_callbacks(s, c, 201, NOW_S, NULL, ec));
    assert_int_equal(test_int("SELECT handle_msg = REPEAT('\xf0\x9f\x98\x80', 7500) FROM xxl_job_log WHERE id = 1"), 1);
    assert_int_equal(
        test_int("SELECT COUNT(*) FROM xxl_job_log WHERE handle_msg = REPEAT('''', 15000) AND handle_code = "
                 "199 + id"),
        200);
    /* With an older message the whole is cut. */
    test_sql("UPDATE xxl_job_log SET handle_code = 0 WHERE id = 2");
    assert_ok(store_write_callbacks(s, c + 1, 1, NOW_S, NULL, ec));
    assert_int_equal(test_int("SELECT CHAR_LENGTH(handle_msg) FROM xxl_job_log WHERE id = 2"), 15000);
    free(whole);
    free(some);
}

static void odd_charsets_lose_a_character_not_the_batch(void **state)
{
    static struct callback_entry c[40];

    (void)state;
    test_sql("ALTER TABLE xxl_job_log CONVERT TO CHARACTER SET utf8mb3");
    add_logs(40);
    test_sql("UPDATE xxl_job_log SET handle_msg = '\xe4\xbb\xbb' WHERE id = 1");
    for (int i = 0; i < 40; i++)
        c[i] = (struct callback_entry){
            .log_id = i + 1, .code = 200, .message = i % 2 ? "\xe4\xbb\xbb" : "\xf0\x9f\x98\x80\xe4\xbb\xbb"};
    assert_ok(store_write_callbacks(s, c, 40, NOW_S, NULL, ec));
    for (int i = 0; i < 40; i++)
        assert_int_equal(c[i].outcome, CALLBACK_STORED);
    assert_string_equal(test_text("SELECT handle_msg FROM xxl_job_log WHERE id = 1"), "\xe4\xbb\xbb<br>?\xe4\xbb\xbb");
    assert_string_equal(test_text("SELECT handle_msg FROM xxl_job_log WHERE id = 2"), "\xe4\xbb\xbb");
    assert_string_equal(test_text("SELECT handle_msg FROM xxl_job_log WHERE id = 3"), "?\xe4\xbb\xbb");
}

/* ---- without a look at the rows ----------------------------------------------------------------------------- */

enum { EXPECTED = 30 };

/* Rows as a claim leaves them, open; every third waits for its result, and callbacks of all, which bring it along
 * there. */
static struct callback_entry *expect_all(void)
{
    static struct callback_entry c[EXPECTED];

    add_logs(EXPECTED);
    test_sql("UPDATE xxl_job_log SET trigger_msg = 'x" STORE_SLACK "', trigger_code = IF(id %% 3 = 0, 0, 200)");
    for (int i = 0; i < EXPECTED; i++) {
        int64_t id = EXPECTED - i;
        c[i] = (struct callback_entry){.log_id = id,
                                       .code = id % 2 ? 200 : 500,
                                       .message = id % 2 ? "" : "it's bad",
                                       .delivers = id % 3 == 0,
                                       .outcome = CALLBACK_UNKNOWN_LOG};
    }
    return c;
}

static void assert_stored(int64_t id)
{
    assert_string_equal(row(id),
                        id % 2 ? "200|2023-11-15 06:13:20||200|x|0" : "500|2023-11-15 06:13:20|it's bad|200|x|0");
}

static void open_rows_are_written_by_one_statement(void **state)
{
    struct callback_entry *c = expect_all();
    int64_t updates = test_commands("COM_UPDATE");

    (void)state;
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code) VALUES (99, 1, 1, 0, 0)");
    assert_ok(store_write_callbacks(s, c, EXPECTED, NOW_S, NULL, ec));
    assert_int_equal(test_commands("COM_UPDATE") - updates, 1);
    for (int i = 0; i < EXPECTED; i++) {
        assert_int_equal(c[i].outcome, CALLBACK_STORED);
        assert_stored(c[i].log_id);
    }
    assert_int_equal(test_int("SELECT trigger_code + handle_code FROM xxl_job_log WHERE id = 99"), 0);
}

/* One row that is otherwise: it goes its own way, the others theirs, and those that bring their result along keep
 * it. */
static void rows_that_are_otherwise_go_their_own_way(void **state)
{
    static const struct {
        const char *change; /* of rows 5 and 6: 6 brings its result along */
        enum callback_outcome outcome;
        const char *five, *six;
    } cases[] = {
        {"handle_code = 502, handle_msg = 'first'", CALLBACK_REPEATED, "502|-|first|200|x" STORE_SLACK "|0",
         "502|-|first|200|x" STORE_SLACK "|0"},
        {"handle_code = 502", CALLBACK_REPEATED, "502|-|-|200|x" STORE_SLACK "|0", "502|-|-|200|x" STORE_SLACK "|0"},
        {"handle_code = -1", CALLBACK_STORED, "200|2023-11-15 06:13:20||200|x|0",
         "500|2023-11-15 06:13:20|it's bad|200|x|0"},
        {"handle_msg = 'so far'", CALLBACK_STORED, "200|2023-11-15 06:13:20|so far<br>|200|x|0",
         "500|2023-11-15 06:13:20|so far<br>it's bad|200|x|0"},
        {"trigger_code = 500", CALLBACK_STORED, "200|2023-11-15 06:13:20||500|x|0",
         "500|2023-11-15 06:13:20|it's bad|500|x|0"},
        {"trigger_code = 0", CALLBACK_STORED, "200|2023-11-15 06:13:20||0|x|0",
         "500|2023-11-15 06:13:20|it's bad|200|x|0"},
        {"id = id + 100", CALLBACK_UNKNOWN_LOG, "(none)", "(none)"},
    };

    (void)state;
    for (size_t k = 0; k < ARRAY_LEN(cases); k++) {
        struct callback_entry *c = expect_all();
        test_sql("UPDATE xxl_job_log SET %s WHERE id IN (5, 6)", cases[k].change);
        assert_ok(store_write_callbacks(s, c, EXPECTED, NOW_S, NULL, ec));
        for (int i = 0; i < EXPECTED; i++) {
            bool other = c[i].log_id == 5 || c[i].log_id == 6;
            assert_int_equal(c[i].outcome, other ? cases[k].outcome : CALLBACK_STORED);
            if (!other)
                assert_stored(c[i].log_id);
        }
        assert_string_equal(row(5), cases[k].five);
        assert_string_equal(row(6), cases[k].six);
        test_sql("DELETE FROM xxl_job_log");
    }
}

/* An id that comes twice is no matter of one statement. */
static void a_result_is_brought_along_in_any_batch(void **state)
{
    struct callback_entry *c = expect_all();

    (void)state;
    c[0].log_id = c[3].log_id = 27; /* twice in the batch; 30 is not */
    c[0].delivers = false;
    assert_ok(store_write_callbacks(s, c, EXPECTED, NOW_S, NULL, ec));
    assert_int_equal(c[0].outcome, CALLBACK_STORED);
    assert_int_equal(c[3].outcome, CALLBACK_REPEATED);
    assert_string_equal(row(27), "500|2023-11-15 06:13:20|it's bad|200|x|0");
    assert_string_equal(row(30), "0|-|-|0|x" STORE_SLACK "|0");
    for (int i = 0; i < EXPECTED; i++)
        if (c[i].log_id != 27)
            assert_stored(c[i].log_id);
}

/* The node that sent it died before it wrote that: who reports it was given it. What it was to do is in the row already
 * where it was written ahead, and only there. Three are written by one statement, the fourth with a look at its row. */
static void a_callback_proves_the_delivery(void **state)
{
    static const struct {
        const char *address, *message, *expected;
    } rows[] = {
        {"'a'", "<!--sw:p:1700000000:1-->told" STORE_SLACK, "200|<!--sw:p:1700000000:1-->told"},
        {"'a'", "<!--sw:p:1700000000:1-->" STORE_SLACK, "200|<!--sw:p:1700000000:1-->"},
        {"'a'", "<!--sw:p:1700000000:1-->", "0|<!--sw:p:1700000000:1-->"},
        {"NULL", "<!--sw:p:1700000000:1-->told", "0|<!--sw:p:1700000000:1-->told"},
        {"'a'", "told", "0|told"},
    };

    (void)state;
    for (int careful = 0; careful < 2; careful++) {
        struct callback_entry c[ARRAY_LEN(rows)] = {0};
        int64_t updates;

        test_sql("DELETE FROM xxl_job_log");
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            c[i] = (struct callback_entry){.log_id = (int64_t)i + 1, .code = 500};
            test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code, handle_msg, "
                     "executor_address, trigger_msg) VALUES (%zu, 1, 1, 0, 0, '%s', %s, '%s')",
                     i + 1, careful ? "so far" : "", rows[i].address, rows[i].message);
        }
        updates = test_commands("COM_UPDATE");
        assert_ok(store_write_callbacks(s, c, ARRAY_LEN(c), NOW_S, NULL, ec));
        if (!careful)
            assert_int_equal(test_commands("COM_UPDATE") - updates, 1);
        for (size_t i = 0; i < ARRAY_LEN(rows); i++)
            assert_string_equal(
                test_text("SELECT CONCAT_WS('|', trigger_code, trigger_msg) FROM xxl_job_log WHERE id = %zu", i + 1),
                rows[i].expected);
    }
}

/* ---- beside results ----------------------------------------------------------------------------------------- */

enum { ROWS = 300, ROUNDS = 40 };

/* Code 0 leaves the rows open, so that every round writes. The later half is written by its code alone, before the
 * others. */
static void write_results(void *arg)
{
    struct store_session *own = test_take(st, SESSION_NORMAL);
    static struct fire_result r[ROWS];
    enum err *worst = arg;
    struct errctx why;

    for (int i = 0; i < ROWS; i++)
        r[i] = (struct fire_result){.log_id = ROWS - i,
                                    .code = 0,
                                    .address = i % 2 ? "b" : "a",
                                    .message = i % 3 ? "m" : "n",
                                    .as_planned = i < ROWS / 2};
    for (int k = 0; k < ROUNDS; k++) {
        enum err e = store_write_results(own, r, ROWS, &why);
        if (e)
            *worst = e;
    }
    store_give_session(st, own);
}

/* Two writers of the same rows whose statements go by other values, neither beginning with the first row: no
 * deadlock. */
static void results_and_callbacks_of_one_row_do_not_deadlock(void **state)
{
    static struct callback_entry c[ROWS];
    static char message[ROWS][20];
    struct thread thread = {0};
    enum err worst = ERR_OK;

    (void)state;
    add_logs(ROWS);
    test_sql("UPDATE xxl_job_log SET trigger_code = 0");
    for (int i = 0; i < ROWS; i++) {
        snprintf(message[i], sizeof message[i], "%d", (i * 3 + 1) % 4);
        c[i] = (struct callback_entry){.log_id = i + 1, .code = 0, .message = message[i]};
    }
    assert_ok(thread_start(&thread, "results", write_results, &worst, ec));
    for (int k = 0; k < ROUNDS; k++)
        assert_ok(store_write_callbacks(s, c, ROWS, NOW_S, NULL, ec));
    thread_join(&thread);
    assert_int_equal(worst, ERR_OK);
}

/* A row that another session holds ends the wait with ERR_CONFLICT, and nothing of the batch is written. */
static void a_held_row_is_a_conflict(void **state)
{
    struct callback_entry c[2] = {{.log_id = 1, .code = 200, .message = "a"},
                                  {.log_id = 2, .code = 200, .message = "b"}};
    struct store_session *ring = test_take(st, SESSION_RING);
    struct db *holder = test_connect();
    struct errctx why;

    (void)state;
    add_logs(2);
    test_run(holder, "START TRANSACTION");
    test_run(holder, "UPDATE xxl_job_log SET alarm_status = 1 WHERE id = 2");
    assert_int_equal(store_write_callbacks(ring, c, 2, NOW_S, NULL, &why), ERR_CONFLICT);
    assert_non_null(strstr(why.text, "store 2 callbacks"));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE handle_code <> 0"), 0);
    db_close(holder);
    assert_ok(store_write_callbacks(s, c, 2, NOW_S, NULL, ec));
    store_give_session(st, ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(first_stored_result_wins, set_up, tear_down),
        cmocka_unit_test_setup_teardown(repeats_in_one_batch_go_in_order, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_row_gets_its_own_result, set_up, tear_down),
        cmocka_unit_test_setup_teardown(long_messages_are_cut, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_charsets_lose_a_character_not_the_batch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(open_rows_are_written_by_one_statement, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_that_are_otherwise_go_their_own_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_result_is_brought_along_in_any_batch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_callback_proves_the_delivery, set_up, tear_down),
        cmocka_unit_test_setup_teardown(results_and_callbacks_of_one_row_do_not_deadlock, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_held_row_is_a_conflict, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
