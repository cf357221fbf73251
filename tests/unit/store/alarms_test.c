/* SPDX-License-Identifier: MIT */
/* shardwheel_alarm: what is told, once, by one node, and not lost with it. */
#include "store/test_schema.h"
#include "shardwheel/store/alarm.h"
#include "shardwheel/store/channel.h"
#include "shardwheel/store/registry.h"

#define NOW_S INT64_C(1700000000)
#define LEASE_MS 30000

static int64_t add_log(int64_t job, int trigger_code, int handle_code)
{
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, trigger_msg, handle_code) VALUES "
             "(1, %" PRId64 ", '2023-11-15 06:13:20', %d, 'why', %d)",
             job, trigger_code, handle_code);
    return test_int("SELECT MAX(id) FROM xxl_job_log");
}

static enum err decide(void *arg, struct failed_row *row, struct errctx *ec)
{
    (void)arg, (void)ec;
    row->alarm = row->job_id == 9 ? ALARM_DONE : ALARM_LOCKED; /* nobody is to be told of 9 */
    return ERR_OK;
}

/* The statuses that the rows got, and G for grouped. */
static const char *handle(struct store_session *s, const int64_t *ids, size_t count)
{
    static char text[100];
    struct failed_batch batch = {0};

    assert_ok(store_handle_failures(s, ids, count, "node", decide, NULL, &batch, ec));
    text[0] = '\0';
    for (size_t i = 0; i < batch.count; i++)
        sprintf(text + strlen(text), "%s%d%s", i ? "," : "", batch.rows[i].alarm, batch.rows[i].grouped ? "G" : "");
    failed_batch_fini(&batch);
    return text;
}

static const char *table(void)
{
    return test_text("SELECT GROUP_CONCAT(CONCAT_WS(':', job_id, COALESCE(log_id, '-'), last_log, failures, failing) "
                     "ORDER BY job_id) FROM shardwheel_alarm WHERE job_id > 0");
}

static size_t load_due(struct store_session *s, struct due_alarm *first)
{
    struct due_alarm *list = NULL;
    size_t count = 0;

    assert_ok(store_load_due_alarms(s, 100, &list, &count, ec));
    if (count > 0)
        *first = list[0];
    free(list);
    return count;
}

static void the_first_failure_of_a_quiet_job_is_told_and_others_counted(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct due_alarm due;

    (void)state;
    test_add_job(7, 0);
    int64_t a = add_log(7, 500, 0), b = add_log(8, 500, 0), c = add_log(7, 200, 500), d = add_log(9, 500, 0);
    assert_string_equal(handle(s, (int64_t[]){a, b, c, d}, 4), "-1,-1,2G,2");
    assert_string_equal(table(), "7:1:3:2:0,8:2:2:1:0");
    assert_string_equal(test_text("SELECT GROUP_CONCAT(alarm_status ORDER BY id) FROM xxl_job_log"), "-1,-1,2,2");
    assert_int_equal(load_due(s, &due), 2);
    assert_int_equal(due.job_id, 7);
    assert_int_equal(due.log_id, a);
    assert_int_equal(due.last_log, c);
    assert_int_equal(due.failures, 2);
    /* While it is being told, and while it is quiet, others are counted. */
    int64_t e = add_log(7, 500, 0);
    assert_string_equal(handle(s, &e, 1), "2G");
    assert_ok(store_end_alarm(s, &due, ALARM_FAILED, 600000, ec));
    assert_int_equal(test_int("SELECT alarm_status FROM xxl_job_log WHERE id = %" PRId64, a), 3);
    assert_string_equal(table(), "7:-:5:1:1,8:2:2:1:0");
    assert_ok(store_end_alarm(s, &due, ALARM_DONE, 600000, ec)); /* a repeat changes nothing */
    assert_string_equal(table(), "7:-:5:1:1,8:2:2:1:0");
    assert_int_equal(test_int("SELECT alarm_status FROM xxl_job_log WHERE id = %" PRId64, a), 3);
    int64_t f = add_log(7, 500, 0);
    assert_string_equal(handle(s, &f, 1), "2G");
    assert_int_equal(load_due(s, &due), 1); /* 8 alone */
    /* The quiet time is over. */
    test_sql("UPDATE shardwheel_alarm SET quiet_until_ms = quiet_until_ms - 600000 WHERE job_id = 7");
    assert_int_equal(load_due(s, &due), 2);
    test_sql("DELETE FROM shardwheel_alarm WHERE job_id = 8");
    assert_int_equal(load_due(s, &due), 1);
    assert_int_equal(due.log_id, 0);
    assert_int_equal(due.last_log, f);
    assert_int_equal(due.failures, 2);
    assert_ok(store_end_alarm(s, &due, ALARM_DONE, 0, ec));
    assert_string_equal(table(), "7:-:6:0:1");
    int64_t g = add_log(7, 500, 0);
    assert_string_equal(handle(s, &g, 1), "-1");
    assert_int_equal(load_due(s, &due), 1);
    assert_ok(store_end_alarm(s, &due, ALARM_NOT_NEEDED, 0, ec)); /* the job is gone */
    assert_string_equal(table(), "(null)");
    assert_int_equal(test_int("SELECT alarm_status FROM xxl_job_log WHERE id = %" PRId64, g), 1);
    store_give_session(st, s);
    store_destroy(st);
}

/* What is to be told is written with the status, or not at all. */
static void an_error_leaves_neither(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct failed_batch batch = {0};
    struct errctx text = {{0}};

    (void)state;
    test_add_job(7, 0);
    int64_t id = add_log(7, 500, 0);
    test_sql("CREATE TRIGGER refuse BEFORE UPDATE ON xxl_job_log FOR EACH ROW SIGNAL SQLSTATE '45000'");
    assert_int_equal(store_handle_failures(s, &id, 1, "node", decide, NULL, &batch, &text), ERR_INPUT);
    test_sql("DROP TRIGGER refuse");
    assert_string_equal(table(), "(null)");
    assert_int_equal(test_int("SELECT alarm_status FROM xxl_job_log"), 0);
    store_give_session(st, s);
    store_destroy(st);
}

static bool hold(struct store_session *s, const char *incarnation)
{
    bool held = false;

    assert_ok(store_hold_alarms(s, incarnation, LEASE_MS, &held, ec));
    return held;
}

static void one_incarnation_tells_at_a_time(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *a = test_take(st, SESSION_NORMAL), *b = test_take(st, SESSION_NORMAL);
    struct due_alarm due;

    (void)state;
    test_add_job(7, 0);
    assert_true(hold(a, "aa"));
    assert_false(hold(b, "bb"));
    assert_true(hold(a, "aa"));
    int64_t id = add_log(7, 500, 0);
    assert_string_equal(handle(a, &id, 1), "-1");
    int64_t foreign = add_log(8, 500, 0);
    test_sql("UPDATE xxl_job_log SET alarm_status = -1 WHERE id = %" PRId64, foreign); /* of a Java admin */
    /* It dies: its lease runs out, and the other one finds what was due, and nothing else. */
    test_sql("UPDATE shardwheel_alarm SET quiet_until_ms = quiet_until_ms - 30001 WHERE job_id = 0");
    assert_true(hold(b, "bb"));
    assert_false(hold(a, "aa"));
    assert_int_equal(load_due(b, &due), 1);
    assert_int_equal(due.log_id, id);
    assert_ok(store_end_alarm(b, &due, ALARM_DONE, 1000, ec));
    assert_string_equal(test_text("SELECT GROUP_CONCAT(alarm_status ORDER BY id) FROM xxl_job_log"), "2,-1");
    /* One that leaves makes room at once; who has no lease ends nobody's. */
    assert_ok(store_release_alarms(a, "aa", ec));
    assert_false(hold(a, "aa"));
    assert_ok(store_release_alarms(b, "bb", ec));
    assert_true(hold(a, "aa"));
    store_give_session(st, a);
    store_give_session(st, b);
    store_destroy(st);
}

static void jobs_that_work_again_are_forgotten(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct failing_job *jobs = NULL;
    struct job_run *runs = NULL;
    struct due_alarm due;
    size_t count = 0;

    (void)state;
    test_add_job(7, 0);
    int64_t failed = add_log(7, 500, 0);
    handle(s, &failed, 1);
    load_due(s, &due);
    assert_ok(store_load_failing_jobs(s, 10, &jobs, &count, ec));
    assert_int_equal(count, 0); /* nobody was told yet */
    free(jobs);
    assert_ok(store_end_alarm(s, &due, ALARM_DONE, 0, ec));
    assert_ok(store_load_failing_jobs(s, 10, &jobs, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(jobs[0].job_id, 7);
    assert_int_equal(jobs[0].last_log, failed);

    int64_t open = add_log(7, 200, 0), other = add_log(8, 200, 200), good = add_log(7, 200, 200);
    add_log(7, 200, 500);
    assert_ok(store_load_runs(s, failed, good + 1, (int64_t[]){7}, 1, &runs, &count, ec));
    assert_int_equal(count, 2);
    assert_int_equal(runs[0].log_id, open);
    assert_true(runs[0].open);
    assert_int_equal(runs[1].log_id, good);
    assert_false(runs[1].open);
    free(runs);
    assert_ok(store_load_run_list(s, (int64_t[]){open, other, 4711}, 3, &runs, &count, ec));
    assert_int_equal(count, 2);
    free(runs);

    assert_ok(store_forget_alarms(s, 1000000, ec));
    assert_string_equal(table(), "7:-:1:0:1"); /* it may work again */
    struct failing_job stale = {7, failed - 1};
    assert_ok(store_end_failing(s, &stale, ec)); /* it has failed since */
    assert_string_equal(table(), "7:-:1:0:1");
    assert_ok(store_end_failing(s, &jobs[0], ec));
    assert_string_equal(table(), "7:-:1:0:0");
    assert_ok(store_forget_alarms(s, 1000000, ec));
    assert_string_equal(table(), "(null)");
    free(jobs);
    store_give_session(st, s);
    store_destroy(st);
}

static void facts_are_those_of_row_job_and_group(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(test_families); i++) {
        struct store *st = test_db_fresh(1, NOW_S);
        test_add_job(7, 0);
        test_make_family(test_families[i]);
        store_destroy(st);
        st = test_store();
        struct store_session *s = test_take(st, SESSION_NORMAL);
        struct alarm_facts facts = {0};
        struct errctx ec_text = {{0}};
        test_sql("UPDATE xxl_job_info SET alarm_email = 'a@b,c@d' WHERE id = 7");
        int64_t id = add_log(7, 500, 502);
        int64_t orphan = add_log(8, 500, 0);
        assert_ok(store_load_alarm(s, id, &facts, ec));
        assert_true(facts.job_exists);
        assert_int_equal(facts.job_id, 7);
        assert_string_equal(facts.emails, "a@b,c@d");
        assert_string_equal(facts.job_name, "job");
        assert_non_null(facts.group_name);
        assert_string_equal(facts.app_name, test_text("SELECT app_name FROM xxl_job_group WHERE id = 1"));
        assert_string_equal(facts.time, "2023-11-15 06:13:20");
        assert_int_equal(facts.trigger_code, 500);
        assert_int_equal(facts.handle_code, 502);
        assert_string_equal(facts.trigger_msg, "why");
        assert_string_equal(facts.handle_msg, "");
        alarm_facts_fini(&facts);
        assert_ok(store_load_alarm(s, orphan, &facts, ec));
        assert_false(facts.job_exists);
        assert_null(facts.group_name);
        alarm_facts_fini(&facts);
        assert_int_equal(store_load_alarm(s, 999, &facts, &ec_text), ERR_NOTFOUND);
        store_give_session(st, s);
        store_destroy(st);
    }
}

static void executors_have_the_age_of_their_beat(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct beat beats[] = {{"EXECUTOR", "b", "http://1/", false},
                           {"EXECUTOR", "a", "http://2/", false},
                           {"ADMIN", "c", "http://3/", false}};
    struct executor_beats list = {0};

    (void)state;
    assert_ok(store_write_beats(s, beats, ARRAY_LEN(beats), NOW_S - 85, ec));
    assert_ok(store_load_executor_beats(s, NOW_S, &list, ec));
    assert_int_equal(list.count, 2);
    assert_string_equal(list.rows[0].app_name, "a");
    assert_string_equal(list.rows[1].address, "http://1/");
    assert_int_equal(list.rows[1].age_s, 85);
    executor_beats_fini(&list);
    store_give_session(st, s);
    store_destroy(st);
}

static const struct audit_row who = {.who = "ann", .action = "channel.test"};

static void channels_have_a_name_each(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct channel_row row = {
        .name = "a", .kind = "json", .target = "https://a/", .secret = "", .app_names = "x,y", .tags = "", .quiet = ""};
    struct channel_rows list;
    int64_t a = 0, b = 0;
    struct errctx why;

    (void)state;
    assert_ok(store_put_channel(s, &row, 2, &who, &a, ec));
    assert_int_equal(store_put_channel(s, &row, 2, &who, &b, &why), ERR_STATE);
    row.name = "b";
    assert_ok(store_put_channel(s, &row, 2, &who, &b, ec));
    row.name = "c";
    assert_int_equal(store_put_channel(s, &row, 2, &who, &b, &why), ERR_BUSY);
    row.id = a;
    row.name = "b";
    assert_int_equal(store_put_channel(s, &row, 2, &who, NULL, &why), ERR_STATE);
    row.name = "a2";
    row.secret = "'\"";
    assert_ok(store_put_channel(s, &row, 2, &who, NULL, ec));
    row.id = 999;
    assert_int_equal(store_put_channel(s, &row, 2, &who, NULL, &why), ERR_NOTFOUND);
    assert_ok(store_load_channels(s, &list, ec));
    assert_int_equal(list.count, 2);
    assert_string_equal(list.rows[0].name, "a2");
    assert_string_equal(list.rows[0].secret, "'\"");
    assert_string_equal(list.rows[0].app_names, "x,y");
    assert_true(list.rows[0].changed_ms > 0);
    channel_rows_fini(&list);
    assert_ok(store_remove_channel(s, a, &who, ec));
    assert_int_equal(store_remove_channel(s, a, &who, &why), ERR_NOTFOUND);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 4); /* of what was done alone */
    assert_int_equal(test_int("SELECT MIN(target) FROM shardwheel_audit WHERE target > 0"), a);
    store_give_session(st, s);
    store_destroy(st);
}

static size_t count_sent(struct store_session *s, struct sent_filter filter, int64_t before)
{
    struct sent_alarms list;

    assert_ok(store_load_told(s, &filter, before, 10, &list, ec));
    size_t count = list.count;
    for (size_t i = 1; i < count; i++)
        assert_true(list.rows[i].id < list.rows[i - 1].id);
    sent_alarms_fini(&list);
    return count;
}

static void what_was_told_is_kept_for_a_while(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    const struct sent_alarm rows[] = {
        {.event = "job_failed",
         .job_id = 7,
         .log_id = 70,
         .app_name = "app",
         .channel = "chat",
         .receiver = "",
         .title = "it's",
         .error = NULL},
        {.event = "job_failed",
         .job_id = 8,
         .log_id = 80,
         .app_name = "app",
         .channel = "chat",
         .receiver = "",
         .title = "t",
         .error = "HTTP status 404"},
        {.event = "executor_offline", .app_name = "app", .channel = "mail", .receiver = "a@b.c", .title = "t"},
    };

    (void)state;
    test_add_job(7, 0);
    assert_ok(store_add_told(s, rows, ARRAY_LEN(rows), ec));
    assert_int_equal(count_sent(s, (struct sent_filter){0}, INT64_MAX), 3);
    assert_int_equal(count_sent(s, (struct sent_filter){0}, test_int("SELECT MAX(id) FROM shardwheel_told")), 2);
    assert_int_equal(count_sent(s, (struct sent_filter){.failed = true}, INT64_MAX), 1);
    assert_int_equal(count_sent(s, (struct sent_filter){.job_id = 7}, INT64_MAX), 1);
    assert_int_equal(count_sent(s, (struct sent_filter){.channel = "mail"}, INT64_MAX), 1);
    int64_t group = test_int("SELECT job_group FROM xxl_job_info WHERE id = 7");
    assert_int_equal(count_sent(s, (struct sent_filter){.groups = &group, .group_count = 1}, INT64_MAX), 1);
    /* The oldest go: by their age, and by how many came behind them. */
    assert_ok(store_forget_told(s, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_told"), 3);
    test_sql("UPDATE shardwheel_told SET at_ms = at_ms - %" PRId64 " WHERE job_id = 8",
             TOLD_DAYS * INT64_C(24) * 3600 * 1000 + 1000);
    assert_ok(store_forget_told(s, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_told"), 2);
    test_sql("UPDATE shardwheel_told SET id = id + %d WHERE job_id = 0", TOLD_KEPT);
    assert_ok(store_forget_told(s, ec));
    assert_string_equal(test_text("SELECT GROUP_CONCAT(job_id) FROM shardwheel_told"), "0");
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_failure_of_a_quiet_job_is_told_and_others_counted),
        cmocka_unit_test(an_error_leaves_neither),
        cmocka_unit_test(one_incarnation_tells_at_a_time),
        cmocka_unit_test(jobs_that_work_again_are_forgotten),
        cmocka_unit_test(facts_are_those_of_row_job_and_group),
        cmocka_unit_test(executors_have_the_age_of_their_beat),
        cmocka_unit_test(channels_have_a_name_each),
        cmocka_unit_test(what_was_told_is_kept_for_a_while),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
