/* SPDX-License-Identifier: MIT */
/* Failed rows: found, taken once, retried and marked in one transaction. */
#include "store/test_schema.h"
#include "shardwheel/job.h"
#include "shardwheel/store/lost.h"
#include "shardwheel/store/run.h"

#define NOW_S INT64_C(1700000000)
#define INCARNATION "0123456789abcdef"

static int64_t add_log(int64_t job, int trigger_code, int handle_code, int retries, const char *msg)
{
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, executor_handler, executor_param, "
             "executor_fail_retry_count, trigger_time, trigger_code, trigger_msg, handle_code) VALUES (1, %" PRId64
             ", 'old', 'row''s \xf0\x9f\x98\x80', %d, '2023-11-15 06:13:20', %d, '%s', %d)",
             job, retries, trigger_code, msg, handle_code);
    return test_int("SELECT MAX(id) FROM xxl_job_log");
}

/* ---- what counts as failed ----------------------------------------------------------------------------------- */

static void the_rule_is_the_originals(void **state)
{
    static const struct {
        int trigger_code, handle_code;
        bool failed;
    } rows[] = {
        {0, 0, false},     {0, 200, false},  {0, 500, true},  {0, 502, true},    {200, 0, false},
        {200, 200, false}, {200, 500, true}, {500, 0, true},  {500, 200, false}, {500, 500, true},
        {201, 0, true},    {-7, 0, true},    {200, -1, true},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct log_state row = {.trigger_code = rows[i].trigger_code, .handle_code = rows[i].handle_code};
        assert_int_equal(log_state_is_failed(&row), rows[i].failed);
        for (int status = -1; status <= 3; status++) {
            row.alarm_status = status;
            assert_int_equal(log_state_is_failed(&row), rows[i].failed && status == 0);
        }
    }
}

/* ---- looking --------------------------------------------------------------------------------------------------- */

static void rows_without_an_end_are_found(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct log_state *rows = NULL;
    size_t count = 0;

    (void)state;
    add_log(1, 200, 200, 0, "");
    int64_t planned = add_log(1, 0, 0, 0, "<!--sw:p:1700000001:4-->");
    int64_t direct = add_log(1, 0, 0, 0, "<!--sw:d:" INCARNATION ":1700000002:R-->");
    int64_t failed = add_log(1, 500, 0, 0, "<!--sw:p:1:1-->delivery unknown");
    int64_t done = add_log(1, 500, 0, 0, "");
    test_sql("UPDATE xxl_job_log SET alarm_status = 2 WHERE id = %" PRId64, done);
    int64_t foreign = add_log(1, 0, 0, 0, "");
    assert_ok(store_load_log_range(s, 0, foreign, &rows, &count, ec));
    assert_int_equal(count, 4);
    assert_int_equal(rows[0].id, planned);
    assert_true(rows[0].marked);
    assert_int_equal(rows[0].due_s, 1700000001);
    assert_int_equal(rows[0].job_id, 1);
    assert_string_equal(rows[0].incarnation, "");
    assert_int_equal(rows[1].id, direct);
    assert_true(rows[1].marked);
    assert_int_equal(rows[1].due_s, 1700000002);
    assert_string_equal(rows[1].incarnation, INCARNATION);
    assert_int_equal(rows[2].id, failed);
    assert_true(log_state_is_failed(&rows[2]));
    assert_false(rows[2].marked); /* of no use any more */
    assert_int_equal(rows[3].id, foreign);
    assert_false(rows[3].marked);
    free(rows);
    assert_ok(store_load_log_range(s, planned, failed, &rows, &count, ec));
    assert_int_equal(count, 2);
    free(rows);
    assert_ok(store_load_log_list(s, (int64_t[]){planned, done, foreign, 999}, 4, &rows, &count, ec));
    assert_int_equal(count, 2);
    assert_int_equal(rows[1].id, foreign);
    free(rows);
    assert_ok(store_load_log_list(s, NULL, 0, &rows, &count, ec));
    assert_int_equal(count, 0);
    free(rows);
    store_give_session(st, s);
    store_destroy(st);
}

static void the_ends_of_the_log_are_found(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t first, last, next;

    (void)state;
    assert_ok(store_load_log_bounds(s, NOW_S, &first, &last, ec));
    assert_int_equal(first, 1);
    assert_int_equal(last, 0);
    assert_ok(store_find_next_log(s, 0, &next, ec));
    assert_int_equal(next, 0);
    int64_t id = add_log(1, 0, 0, 0, ""); /* at NOW_S in the zone of the store */
    assert_ok(store_load_log_bounds(s, NOW_S, &first, &last, ec));
    assert_int_equal(first, id);
    assert_int_equal(last, id);
    assert_ok(store_load_log_bounds(s, NOW_S + 1, &first, &last, ec));
    assert_int_equal(first, id + 1);
    test_sql(
        "INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code) VALUES (5000000000, 1, 1, 0, 0)");
    assert_ok(store_find_next_log(s, id, &next, ec));
    assert_int_equal(next, 5000000000);
    store_give_session(st, s);
    store_destroy(st);
}

/* A step reads its ids and no more, however large the table is. */
static void looking_reads_what_it_looks_at(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct log_state *rows = NULL;
    size_t count;
    int64_t first, last;

    (void)state;
    /* All are failures that were dealt with, so no index but the primary key helps; half of them are after NOW_S. */
    test_sql(
        "INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, alarm_status) SELECT "
        "1, 1, '2023-11-15 03:26:40' + INTERVAL seq SECOND, 500, 500, 2 FROM seq_1_to_20000");
    test_sql("FLUSH LOCAL STATUS");
    int64_t before = test_int("SELECT SUM(variable_value) FROM information_schema.global_status WHERE variable_name "
                              "LIKE 'handler_read%%' OR variable_name = 'handler_icp_attempts'");
    assert_ok(store_load_log_bounds(s, NOW_S, &first, &last, ec));
    assert_ok(store_load_log_range(s, 15000, 15100, &rows, &count, ec));
    free(rows);
    assert_ok(store_load_log_list(s, (int64_t[]){5, 10000}, 2, &rows, &count, ec));
    free(rows);
    assert_ok(store_find_next_log(s, 100, &first, ec));
    int64_t after = test_int("SELECT SUM(variable_value) FROM information_schema.global_status WHERE variable_name "
                             "LIKE 'handler_read%%' OR variable_name = 'handler_icp_attempts'");
    /* The two queries of the counters read some hundred themselves. */
    assert_true(after - before < 3000);
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- dealing with them ------------------------------------------------------------------------------------------ */

/* One retry for each row that has some left; alarm as told. */
struct script {
    enum alarm_status alarm;
    int asked;
    enum err error;
    size_t fires;
    int64_t at_s; /* they wait until then */
};

static enum err decide(void *arg, struct failed_row *row, struct errctx *ec)
{
    struct script *script = arg;

    script->asked++;
    if (script->error)
        return err_set(ec, script->error, "as told");
    row->alarm = script->alarm;
    row->retry_at_s = row->retry_wait_s > 0 && row->retries_left > 0 ? script->at_s : 0;
    for (size_t i = 0; row->job && row->retries_left > 0 && i < script->fires; i++) {
        struct fire *f = fire_create();
        assert_non_null(f);
        f->job = job_spec_copy(row->job, row->param, row->retries_left - 1);
        assert_non_null(f->job);
        f->job_id = row->job_id;
        f->group = f->job->group;
        f->due_s = f->original_due_s = NOW_S;
        f->shard = -1;
        f->kind = TRIGGER_RETRY;
        f->next = row->retries;
        row->retries = f;
    }
    return ERR_OK;
}

static void each_family_takes_retry_and_status(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(test_families); i++) {
        struct store *st = test_db_fresh(1, NOW_S);
        test_add_job(7, 0);
        test_make_family(test_families[i]);
        store_destroy(st);
        st = test_store();
        struct store_session *s = test_take(st, SESSION_NORMAL);
        struct failed_batch batch = {0};
        struct script script = {.alarm = ALARM_LOCKED, .fires = 1};
        test_sql("UPDATE xxl_job_info SET alarm_email = ' a@b ' WHERE id = 7");
        int64_t one = add_log(7, 500, 0, 3, "<!--sw:p:1:1-->delivery unknown");
        int64_t two = add_log(8, 200, 500, 3, "");
        int64_t won = add_log(7, 500, 200, 3, "");
        int64_t ours = add_log(7, 500, 0, 3, "");
        test_sql("UPDATE xxl_job_log SET alarm_status = -1 WHERE id = %" PRId64, ours);
        int64_t open = add_log(7, 0, 0, 3, "<!--sw:p:1:1-->");
        int64_t ids[] = {one, two, won, ours, open, 4711};
        assert_ok(store_handle_failures(s, ids, 6, INCARNATION, decide, &script, &batch, ec));
        assert_int_equal(script.asked, 2);
        assert_int_equal(batch.count, 2);
        assert_int_equal(batch.rows[0].id, one);
        assert_true(batch.rows[0].has_mail && batch.rows[0].group_exists);
        assert_int_equal(batch.rows[0].job->id, 7);
        assert_string_equal(batch.rows[0].param, "row's \xf0\x9f\x98\x80");
        assert_null(batch.rows[1].job);
        assert_null(batch.rows[1].retries);
        const struct fire *f = batch.rows[0].retries;
        assert_int_equal(f->log_id, open + 1);
        assert_int_equal(f->row_hash, fire_row_hash(1, "demo", "row's \xf0\x9f\x98\x80", 2));
        assert_string_equal(test_text("SELECT CONCAT_WS('|', job_group, job_id, executor_handler, executor_param, "
                                      "executor_fail_retry_count, trigger_time, trigger_code, trigger_msg, "
                                      "handle_code, alarm_status) FROM xxl_job_log WHERE id = %" PRId64,
                                      f->log_id),
                            "1|7|demo|row's \xf0\x9f\x98\x80|2|2023-11-15 06:13:20|0|<!--sw:d:" INCARNATION
                            ":1700000000:R-->|0|0");
        assert_string_equal(test_text("SELECT GROUP_CONCAT(alarm_status ORDER BY id) FROM xxl_job_log"),
                            "-1,-1,0,-1,0,0");
        assert_string_equal(test_text("SELECT REPLACE(trigger_msg, '%" PRId64 "', 'N') FROM xxl_job_log WHERE id = "
                                      "%" PRId64,
                                      f->log_id, one),
                            "<!--sw:p:1:1-->delivery unknown<br><br><span style=\"color:#00c0ef;\">retry: sent again "
                            "as log N</span><!--sw:r:N-->");
        failed_batch_fini(&batch);
        store_give_session(st, s);
        store_destroy(st);
    }
}

/* A retry that waits is a later row, written with the status of the failed one. */
static void retries_that_wait_are_later_rows(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(test_families); i++) {
        struct store *st = test_db_fresh(1, NOW_S);
        test_add_job(7, 0);
        test_add_job(8, 0);
        test_make_family(test_families[i]);
        store_destroy(st);
        st = test_store();
        struct store_session *s = test_take(st, SESSION_NORMAL);
        struct failed_batch batch = {0};
        struct script script = {.alarm = ALARM_LOCKED, .at_s = NOW_S + 30};
        test_sql("INSERT INTO shardwheel_job (job_id, retry_wait_s, retry_wait_max_s) VALUES (7, 30, 600)");
        int64_t one = add_log(7, 500, 0, 3, "x");
        int64_t other = add_log(8, 500, 0, 3, "x");
        test_sql("UPDATE xxl_job_log SET executor_sharding_param = '1/3' WHERE id = %" PRId64, one);
        assert_ok(store_handle_failures(s, (int64_t[]){one, other}, 2, INCARNATION, decide, &script, &batch, ec));
        assert_int_equal(batch.count, 2);
        assert_int_equal(batch.rows[0].retry_wait_s, 30);
        assert_int_equal(batch.rows[0].retry_wait_max_s, 600);
        assert_int_equal(batch.rows[1].retry_wait_s, 0);
        assert_string_equal(test_text("SELECT GROUP_CONCAT(CONCAT_WS('|', planned, due_s, job_id, kind, param, "
                                      "COALESCE(addresses, '-'), sharding, retries_left, original_due_s, "
                                      "COALESCE(hold_until_s, '-'), COALESCE(log_id, '-'))) FROM shardwheel_later"),
                            "0|1700000030|7|R|row's \xf0\x9f\x98\x80|-|1/3|2|1700000030|-|-");
        assert_string_equal(test_text("SELECT GROUP_CONCAT(alarm_status ORDER BY id) FROM xxl_job_log"), "-1,-1");
        assert_string_equal(test_text("SELECT trigger_msg FROM xxl_job_log WHERE id = %" PRId64, one),
                            "x<br><br><span style=\"color:#00c0ef;\">retry: at 2023-11-15 06:13:50</span>");
        bool happened = false;
        assert_ok(store_find_failures(s, &batch, INCARNATION, &happened, ec));
        assert_true(happened);
        failed_batch_fini(&batch);
        store_give_session(st, s);
        store_destroy(st);
    }
}

/* While up to 50 rows of the log are locked. */
static void retries_that_wait_are_one_insert(void **state)
{
    int64_t inserts[2];

    (void)state;
    struct store *st = test_store();
    struct store_session *s = test_take(st, SESSION_NORMAL);
    test_sql("DELETE FROM shardwheel_later");
    test_sql("REPLACE INTO shardwheel_job (job_id, retry_wait_s, retry_wait_max_s) VALUES (7, 30, 600)");
    for (int many = 0; many < 2; many++) {
        struct failed_batch batch = {0};
        struct script script = {.alarm = ALARM_NOT_NEEDED, .at_s = NOW_S + 30};
        int64_t ids[20];
        size_t n = many ? 20 : 1;

        for (size_t i = 0; i < n; i++)
            ids[i] = add_log(7, 500, 0, 3, "x");
        inserts[many] = test_commands("COM_INSERT");
        assert_ok(store_handle_failures(s, ids, n, INCARNATION, decide, &script, &batch, ec));
        inserts[many] = test_commands("COM_INSERT") - inserts[many];
        assert_int_equal(batch.count, n);
        failed_batch_fini(&batch);
    }
    assert_int_equal(inserts[0], 1);
    assert_int_equal(inserts[1], 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_later"), 21);
    store_give_session(st, s);
    store_destroy(st);
}

static void long_messages_make_room(void **state)
{
    static const char *const fillers[] = {"x", "\xc3\xbc", "\xe6\x97\xa5", "\xf0\x9f\x98\x80"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(fillers); i++) {
        struct store *st = test_db_fresh(1, NOW_S);
        struct store_session *s = test_take(st, SESSION_NORMAL);
        struct failed_batch batch = {0};
        struct script script = {.alarm = ALARM_DONE, .fires = 3};
        test_add_job(7, 0);
        int64_t id = add_log(7, 500, 0, 1, "");
        test_sql(
            "UPDATE xxl_job_log SET trigger_msg = CONCAT('<!--sw:p:1:1-->', REPEAT('%s', %zu)) WHERE id = %" PRId64,
            fillers[i], (65535 - 15) / strlen(fillers[i]), id);
        int64_t empty = add_log(7, 500, 0, 1, "");
        test_sql("UPDATE xxl_job_log SET trigger_msg = NULL WHERE id = %" PRId64, empty);
        assert_ok(store_handle_failures(s, (int64_t[]){id, empty}, 2, INCARNATION, decide, &script, &batch, ec));
        assert_int_equal(test_int("SELECT alarm_status FROM xxl_job_log WHERE id = %" PRId64, id), 2);
        int64_t len = test_int("SELECT LENGTH(trigger_msg) FROM xxl_job_log WHERE id = %" PRId64, id);
        assert_in_range(len, 65535 - 500, 65535);
        assert_string_equal(test_text("SELECT CONCAT(LEFT(trigger_msg, 15), RIGHT(REGEXP_REPLACE(trigger_msg, "
                                      "'<!--sw:r:[0-9]+-->$', ''), 18)) FROM xxl_job_log WHERE id = %" PRId64,
                                      id),
                            "<!--sw:p:1:1--> and 2 more</span>");
        assert_int_equal(test_int("SELECT LEFT(trigger_msg, 4) = '<br>' FROM xxl_job_log WHERE id = %" PRId64, empty),
                         1);
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 2 + 2 * 3);
        failed_batch_fini(&batch);
        store_give_session(st, s);
        store_destroy(st);
    }
}

/* What an old table cannot hold costs a character, not the retry. */
static void narrow_columns_are_fitted(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct failed_batch batch = {0};
    struct script script = {.alarm = ALARM_DONE, .fires = 1};

    (void)state;
    test_add_job(7, 0);
    int64_t id = add_log(7, 500, 0, 1, "");
    test_sql("UPDATE xxl_job_info SET executor_handler = REPEAT('h', 255) WHERE id = 7");
    test_sql("ALTER TABLE xxl_job_log MODIFY executor_handler VARCHAR(255) CHARACTER SET latin1");
    test_sql("UPDATE xxl_job_info SET executor_handler = '\xe6\x97\xa5h' WHERE id = 7");
    assert_ok(store_handle_failures(s, &id, 1, INCARNATION, decide, &script, &batch, ec));
    assert_string_equal(test_text("SELECT executor_handler FROM xxl_job_log WHERE id > %" PRId64, id), "?h");
    failed_batch_fini(&batch);
    store_give_session(st, s);
    store_destroy(st);
}

/* The retry of a lost run says so, and of which child; also one that waits. */
static void a_retry_counts_lost_runs(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct failed_batch batch = {0};
    struct script script = {.alarm = ALARM_DONE, .at_s = NOW_S + 30};
    static const struct {
        const char *mark, *message;
        int generation;
    } rows[] = {{"<!--sw:d:ab:1:P:G4-->", LOST_MARK "lost", 1004},
                {"<!--sw:d:ab:1:R:G1004-->", LOST_MARK "lost", 2004},
                {"<!--sw:d:ab:1:R:G1004-->", "failed", 1004},
                {"<!--sw:p:1:1-->", LOST_MARK, 1000},
                {"<!--sw:p:1:1-->", "x" LOST_MARK, 0}};
    int64_t ids[ARRAY_LEN(rows)];

    (void)state;
    test_add_job(7, 0);
    test_sql("INSERT INTO shardwheel_job (job_id, retry_wait_s) VALUES (7, 30)");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        ids[i] = add_log(7, 200, 500, 3, rows[i].mark);
        test_sql("UPDATE xxl_job_log SET handle_msg = '%s' WHERE id = %" PRId64, rows[i].message, ids[i]);
    }
    assert_ok(store_handle_failures(s, ids, ARRAY_LEN(ids), INCARNATION, decide, &script, &batch, ec));
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_int_equal(batch.rows[i].generation, rows[i].generation);
    assert_string_equal(test_text("SELECT GROUP_CONCAT(generation ORDER BY id) FROM shardwheel_later"),
                        "1004,2004,1004,1000,0");
    failed_batch_fini(&batch);
    store_give_session(st, s);
    store_destroy(st);
}

static void an_error_leaves_nothing(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct failed_batch batch = {0};
    struct script script = {.alarm = ALARM_DONE, .fires = 1};
    struct errctx text = {{0}};

    (void)state;
    test_add_job(7, 0);
    int64_t id = add_log(7, 500, 0, 1, "m");
    script.error = ERR_NOMEM;
    assert_int_equal(store_handle_failures(s, &id, 1, INCARNATION, decide, &script, &batch, &text), ERR_NOMEM);
    script.error = ERR_OK;
    test_sql("CREATE TRIGGER refuse BEFORE UPDATE ON xxl_job_log FOR EACH ROW SIGNAL SQLSTATE '45000'");
    assert_int_equal(store_handle_failures(s, &id, 1, INCARNATION, decide, &script, &batch, &text), ERR_INPUT);
    assert_int_equal(batch.count, 0);
    test_sql("DROP TRIGGER refuse");
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 1);
    assert_string_equal(test_text("SELECT CONCAT(alarm_status, trigger_msg) FROM xxl_job_log"), "0m");
    assert_ok(store_set_aside_failure(s, id, ec));
    assert_int_equal(test_int("SELECT alarm_status FROM xxl_job_log"), 3);
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- commits of unknown outcome ---------------------------------------------------------------------------------- */

static void a_doubtful_commit_is_looked_up(void **state)
{
    (void)state;
    for (int with_retry = 0; with_retry < 2; with_retry++) {
        struct store *st = test_db_fresh(1, NOW_S);
        struct store_session *s = test_take(st, SESSION_NORMAL);
        struct failed_batch batch = {0};
        struct script script = {.alarm = ALARM_LOCKED, .fires = 1};
        bool happened = false;
        test_add_job(7, 0);
        int64_t id = add_log(7, 500, 0, with_retry, "");
        assert_ok(store_handle_failures(s, &id, 1, INCARNATION, decide, &script, &batch, ec));
        assert_ok(store_find_failures(s, &batch, INCARNATION, &happened, ec));
        assert_true(happened);
        /* As if it had been rolled back; the id is given out again, to another fire. */
        test_sql("DELETE FROM xxl_job_log WHERE id > %" PRId64, id);
        test_sql("UPDATE xxl_job_log SET alarm_status = 0");
        assert_ok(store_find_failures(s, &batch, INCARNATION, &happened, ec));
        assert_false(happened);
        test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, trigger_msg, handle_code) VALUES "
                 "(%" PRId64 ", 1, 7, 0, '<!--sw:d:fedcba9876543210:1700000000:R-->', 0)",
                 id + 1);
        assert_ok(store_find_failures(s, &batch, INCARNATION, &happened, ec));
        assert_false(happened);
        failed_batch_fini(&batch);
        store_give_session(st, s);
        store_destroy(st);
    }
}

/* ---- two nodes --------------------------------------------------------------------------------------------------- */

static void of_two_nodes_one_takes_a_row(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *a = test_take(st, SESSION_NORMAL), *b = test_take(st, SESSION_NORMAL);
    struct failed_batch first = {0}, second = {0};
    struct script script = {.alarm = ALARM_DONE, .fires = 1};

    (void)state;
    test_add_job(7, 0);
    int64_t id = add_log(7, 500, 0, 1, "");
    assert_ok(store_handle_failures(a, &id, 1, INCARNATION, decide, &script, &first, ec));
    assert_ok(store_handle_failures(b, &id, 1, "fedcba9876543210", decide, &script, &second, ec));
    assert_int_equal(first.count, 1);
    assert_int_equal(second.count, 0);
    assert_int_equal(script.asked, 1);
    failed_batch_fini(&first);
    failed_batch_fini(&second);
    store_give_session(st, a);
    store_give_session(st, b);
    store_destroy(st);
}

/* A callback that is being stored when the monitor comes by is waited for, and counts. */
struct handling {
    struct store_session *s;
    int64_t id;
    struct script script;
    struct failed_batch batch;
    struct errctx ec;
    enum err result;
};

static void run_handling(void *arg)
{
    struct handling *h = arg;

    h->result = store_handle_failures(h->s, &h->id, 1, INCARNATION, decide, &h->script, &h->batch, &h->ec);
}

static void a_callback_under_way_cancels_the_retry(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct handling h = {.s = test_take(st, SESSION_NORMAL), .script = {.alarm = ALARM_DONE, .fires = 1}};
    struct db *callback = test_connect();
    struct thread thread = {0};

    (void)state;
    test_add_job(7, 0);
    h.id = add_log(7, 500, 0, 1, "");
    test_run(callback, "START TRANSACTION");
    test_run(callback, "UPDATE xxl_job_log SET handle_code = 200");
    assert_ok(thread_start(&thread, "handling", run_handling, &h, ec));
    test_wait(
        "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT id, trigger_code%FOR UPDATE'");
    test_run(callback, "COMMIT");
    thread_join(&thread);
    assert_int_equal(h.result, ERR_OK);
    assert_int_equal(h.script.asked, 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE alarm_status = 0"), 1);
    failed_batch_fini(&h.batch);
    db_close(callback);
    store_give_session(st, h.s);
    store_destroy(st);
}

/* ---- nodes that are gone ----------------------------------------------------------------------------------------- */

static void add_node(const char *incarnation, int64_t age_ms)
{
    test_sql(
        "INSERT INTO shardwheel_node (incarnation, node, url, version, started_ms, beat_ms, clock_ms, owned, drain, "
        "release_shard) VALUES ('%s', 'n', '', '', 0, UNIX_TIMESTAMP(NOW(3)) * 1000 - %" PRId64 ", 0, 0, 0, -1)",
        incarnation, age_ms);
}

static void nodes_without_a_beat_are_gone(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    char(*live)[INCARNATION_MAX] = NULL;
    size_t count = 0, ended = 0;

    (void)state;
    add_node("aa", 1000);
    add_node("bb", 60000);
    assert_ok(store_load_live_nodes(s, 40000, &live, &count, ec));
    assert_int_equal(count, 1);
    assert_string_equal(live[0], "aa");
    free(live);

    int64_t open = add_log(1, 0, 0, 0, "<!--sw:d:bb:1700000000:R-->");
    int64_t planned = add_log(1, 0, 0, 0, "<!--sw:p:1700000000:1-->");
    int64_t sent = add_log(1, 200, 0, 0, "<!--sw:d:bb:1700000000:R-->ok");
    int64_t called = add_log(1, 0, 200, 0, "<!--sw:d:bb:1700000000:R-->");
    int64_t foreign = add_log(1, 0, 0, 0, "");
    int64_t ids[] = {open, planned, sent, called, foreign};
    assert_ok(store_end_direct(s, ids, ARRAY_LEN(ids), &ended, ec));
    assert_int_equal(ended, 1);
    assert_string_equal(test_text("SELECT GROUP_CONCAT(trigger_code ORDER BY id) FROM xxl_job_log"), "500,0,200,0,0");
    assert_string_equal(test_text("SELECT LEFT(trigger_msg, 43) FROM xxl_job_log WHERE id = %" PRId64, open),
                        "<!--sw:d:bb:1700000000:R-->delivery unknown");
    int64_t begun = test_commands("COM_BEGIN");
    assert_ok(store_end_direct(s, ids, 0, &ended, ec)); /* once a second, until a node has been away long enough */
    assert_int_equal(ended, 0);
    assert_int_equal(test_commands("COM_BEGIN"), begun);
    store_give_session(st, s);
    store_destroy(st);
}

/* The mark of a direct fire stays at the head of what dispatch writes, and comes off for nobody but the parser. */
static void results_keep_the_direct_mark(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct fire out = {0};
    char incarnation[INCARNATION_MAX];

    (void)state;
    int64_t id = add_log(1, 0, 0, 0, "<!--sw:d:" INCARNATION ":1700000000:R-->");
    struct fire_result r = {.log_id = id, .code = 200, .message = "sent"};
    assert_ok(store_write_results(s, &r, 1, ec));
    const char *text = test_text("SELECT trigger_msg FROM xxl_job_log");
    assert_string_equal(text, "<!--sw:d:" INCARNATION ":1700000000:R-->sent");
    assert_true(fire_parse_direct_mark(text, &out, incarnation));
    assert_string_equal(incarnation, INCARNATION);
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_is_the_originals),
        cmocka_unit_test(rows_without_an_end_are_found),
        cmocka_unit_test(the_ends_of_the_log_are_found),
        cmocka_unit_test(looking_reads_what_it_looks_at),
        cmocka_unit_test(each_family_takes_retry_and_status),
        cmocka_unit_test(retries_that_wait_are_later_rows),
        cmocka_unit_test(retries_that_wait_are_one_insert),
        cmocka_unit_test(long_messages_make_room),
        cmocka_unit_test(narrow_columns_are_fitted),
        cmocka_unit_test(a_retry_counts_lost_runs),
        cmocka_unit_test(an_error_leaves_nothing),
        cmocka_unit_test(a_doubtful_commit_is_looked_up),
        cmocka_unit_test(of_two_nodes_one_takes_a_row),
        cmocka_unit_test(a_callback_under_way_cancels_the_retry),
        cmocka_unit_test(nodes_without_a_beat_are_gone),
        cmocka_unit_test(results_keep_the_direct_mark),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
