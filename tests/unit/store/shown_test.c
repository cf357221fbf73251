/* SPDX-License-Identifier: MIT */
/* What pages show beside the rows that they are about: names, figures, what leads to a run, counts by minute. */
#include "store/test_schema.h"

#include "shardwheel/store/alarm.h"
#include "shardwheel/store/figures.h"
#include "shardwheel/store/jobs.h"
#include "shardwheel/store/names.h"
#include "shardwheel/store/run.h"
#include "shardwheel/store/runs.h"

#define NOW_S INT64_C(1700000000)
#define NOW_TEXT "2023-11-15 06:13:20" /* in the zone of the store */
#define LIMIT_MS 5000

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

/* The database as another family has it. */
static void make_family(const char *family)
{
    store_give_session(st, s);
    store_destroy(st);
    test_make_family(family);
    st = test_store();
    s = test_take(st, SESSION_NORMAL);
}

static void add_run(int64_t id, int64_t job, int trigger_code, int handle_code, const char *trigger_msg,
                    const char *handle_msg, int behind_s)
{
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code, trigger_msg, handle_msg, "
             "trigger_time) VALUES (%" PRId64 ", 1, %" PRId64 ", %d, %d, '%s', '%s', '" NOW_TEXT
             "' + INTERVAL %d SECOND)",
             id, job, trigger_code, handle_code, trigger_msg, handle_msg, behind_s);
}

/* ---- names and figures ------------------------------------------------------------------------------------------- */

static void names_are_of_those_that_are_there(void **state)
{
    static const int64_t ids[] = {7, 3, 9, 3, 5};
    struct names names = {0};
    int64_t many[2001];

    (void)state;
    for (int64_t id = 3; id <= 7; id += 2)
        test_add_job(id, 0);
    test_sql("UPDATE xxl_job_info SET job_desc = CONCAT('job ', id)");
    assert_ok(store_load_job_names(s, ids, ARRAY_LEN(ids), &names, ec));
    assert_int_equal(names.count, 3);
    for (int64_t id = 1; id <= 9; id++) {
        const struct name_row *row = names_find(&names, id);
        char name[20];

        snprintf(name, sizeof name, "job %" PRId64, id);
        assert_int_equal(row != NULL, id == 3 || id == 5 || id == 7);
        if (row)
            assert_string_equal(row->name, name);
    }
    names_fini(&names);
    test_add_job(1200, 0);
    for (size_t i = 0; i < ARRAY_LEN(many); i++)
        many[i] = 2001 - (int64_t)i;
    assert_ok(store_load_job_names(s, many, ARRAY_LEN(many), &names, ec));
    assert_int_equal(names.count, 4);
    assert_string_equal(names_find(&names, 1200)->name, "job");
    names_fini(&names);
    assert_ok(store_load_job_names(s, NULL, 0, &names, ec));
    assert_int_equal(names.count, 0);
    assert_null(names_find(&names, 3));

    test_sql("INSERT INTO xxl_job_group (id, app_name, title, address_type) VALUES (7, 'app', 'Title', 0)");
    assert_ok(store_load_group_names(s, ids, ARRAY_LEN(ids), &names, ec));
    assert_int_equal(names.count, 1);
    assert_string_equal(names.items[0].name, "Title");
    assert_string_equal(names.items[0].app_name, "app");
    names_fini(&names);
}

static void figures_are_sums(void **state)
{
    struct report_days days = {0};
    int64_t all = 7, running = 7, sum = 7;

    (void)state;
    assert_ok(store_count_all_jobs(s, LIMIT_MS, &all, &running, ec));
    assert_int_equal(all, 0);
    assert_int_equal(running, 0);
    assert_ok(store_sum_report(s, &sum, ec));
    assert_int_equal(sum, 0);
    for (int64_t id = 1; id <= 3; id++)
        test_add_job(id, 0);
    test_sql("UPDATE xxl_job_info SET trigger_status = 0 WHERE id = 2");
    test_sql("ALTER TABLE xxl_job_log_report DROP KEY i_trigger_day"); /* old databases have rows of a day twice */
    test_sql("INSERT INTO xxl_job_log_report (trigger_day, running_count, suc_count, fail_count) VALUES "
             "('2023-11-13 00:00:00', 1, 2, 3), ('2023-11-14 00:00:00', 10, 20, 30), "
             "('2023-11-14 00:00:00', 1, 1, 1), ('2023-11-15 00:00:00', 4, 5, 6), ('2023-11-16 00:00:00', 7, 8, 9)");
    assert_ok(store_count_all_jobs(s, LIMIT_MS, &all, &running, ec));
    assert_int_equal(all, 3);
    assert_int_equal(running, 2);
    assert_ok(store_sum_report(s, &sum, ec));
    assert_int_equal(sum, 6 + 60 + 3 + 15 + 24);
    assert_ok(store_load_report_days(s, "2023-11-14 00:00:00", "2023-11-15 00:00:00", &days, ec));
    assert_int_equal(days.count, 2);
    assert_string_equal(days.items[0].day, "2023-11-14");
    assert_int_equal(days.items[0].running, 11);
    assert_int_equal(days.items[0].success, 21);
    assert_int_equal(days.items[0].fail, 31);
    assert_string_equal(days.items[1].day, "2023-11-15");
    report_days_fini(&days);
}

/* ---- one run, and what leads to it ------------------------------------------------------------------------------- */

static void a_run_has_what_calls_to_its_executor_need(void **state)
{
    struct run_facts facts = {0};
    struct run_job job;
    struct errctx why;

    (void)state;
    test_add_job(7, 0);
    add_run(1, 7, 200, 500, "", "", 0);
    test_sql("UPDATE xxl_job_log SET executor_address = 'http://a/'");
    add_run(2, 7, 0, 0, "", "", 0);
    test_sql("UPDATE xxl_job_log SET job_group = 99, trigger_time = NULL WHERE id = 2");
    assert_ok(store_load_run(s, 1, &facts, ec));
    assert_int_equal(facts.job_id, 7);
    assert_int_equal(facts.trigger_ms, NOW_S * 1000);
    assert_int_equal(facts.trigger_code, 200);
    assert_int_equal(facts.handle_code, 500);
    assert_string_equal(facts.address, "http://a/");
    assert_string_equal(facts.app_name, "xxl-job-executor-sample");
    assert_string_equal(facts.access_token, "");
    run_facts_fini(&facts);
    assert_ok(store_load_run(s, 2, &facts, ec));
    assert_int_equal(facts.trigger_ms, 0);
    assert_string_equal(facts.address, "");
    assert_string_equal(facts.app_name, "");
    run_facts_fini(&facts);
    assert_int_equal(store_load_run(s, 3, &facts, &why), ERR_NOTFOUND);
    assert_ok(store_load_run_job(s, 7, &job, ec));
    assert_int_equal(job.group, 1);
    assert_string_equal(job.name, "job");
    assert_int_equal(store_load_run_job(s, 8, &job, &why), ERR_NOTFOUND);

    make_family("3.5");
    test_sql("UPDATE xxl_job_group SET access_token = 'secret'");
    assert_ok(store_load_run(s, 1, &facts, ec));
    assert_string_equal(facts.access_token, "secret");
    run_facts_fini(&facts);
}

static void mentions_are_among_the_newest_rows_of_a_job(void **state)
{
    struct run_mention what = {.job_id = 7, .before_id = 1000, .text = "retry of 5"};
    int64_t ids[MENTIONS_MAX];
    size_t count = 0;
    bool indexed = false;

    (void)state;
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code, trigger_msg, handle_msg) "
             "SELECT seq, 1, 7, 200, 200, IF(seq IN (100, 500, 501, 999, 1000), 'a retry of 5.', ''), "
             "IF(seq > 900, 'retry of 5', '') FROM seq_1_to_1001");
    add_run(2000, 8, 200, 200, "retry of 5", "", 0);
    assert_ok(store_find_mentions(s, &what, LIMIT_MS, ids, &count, &indexed, ec));
    assert_true(indexed);
    assert_int_equal(count, 3); /* 999 down to 500 are looked at */
    assert_int_equal(ids[0], 999);
    assert_int_equal(ids[1], 501);
    assert_int_equal(ids[2], 500);
    what.in_result = true;
    assert_ok(store_find_mentions(s, &what, LIMIT_MS, ids, &count, &indexed, ec));
    assert_int_equal(count, MENTIONS_MAX);
    assert_int_equal(ids[0], 999);
    assert_int_equal(ids[9], 990);
    make_family("2.3");
    assert_ok(store_find_mentions(s, &what, LIMIT_MS, ids, &count, &indexed, ec));
    assert_false(indexed);
    assert_int_equal(count, 0);
}

static void parents_name_a_job_among_their_children(void **state)
{
    int64_t ids[PARENT_JOBS_MAX];
    struct job_parents parents = {0};
    size_t count = 0;

    (void)state;
    for (int64_t id = 1; id <= 6; id++)
        test_add_job(id, 0);
    test_sql("UPDATE xxl_job_info SET child_jobid = ELT(id, '7', '1, 7', '77,17', '', NULL, '7,8') WHERE id <> 5");
    assert_ok(store_find_parent_jobs(s, 7, LIMIT_MS, ids, &count, ec));
    assert_int_equal(count, 3);
    qsort(ids, count, sizeof *ids, compare_int64);
    assert_int_equal(ids[0], 1);
    assert_int_equal(ids[1], 2);
    assert_int_equal(ids[2], 6);

    assert_ok(store_load_parents(s, 4, LIMIT_MS, &parents, ec));
    assert_int_equal(parents.count, 4);
    assert_false(parents.cut);
    assert_int_equal(parents.items[1].id, 2);
    assert_string_equal(parents.items[1].children, "1, 7");
    assert_int_equal(parents.items[3].id, 6);
    job_parents_fini(&parents);
    assert_ok(store_load_parents(s, 3, LIMIT_MS, &parents, ec));
    assert_int_equal(parents.count, 3);
    assert_true(parents.cut);
    assert_int_equal(parents.items[2].id, 3);
    job_parents_fini(&parents);
}

/* ---- minutes ----------------------------------------------------------------------------------------------------- */

static struct {
    int64_t count, late;
} counted[2][RUN_STATES]; /* of the two minutes from 06:13 on */

static void take(void *arg, const struct run_minute *minute)
{
    int64_t at = (minute->at_s - (NOW_S - 20)) / 60;

    assert_ptr_equal(arg, counted);
    assert_int_equal((minute->at_s - (NOW_S - 20)) % 60, 0);
    assert_in_range(at, 0, 1);
    assert_int_equal(counted[at][minute->state].count, 0);
    counted[at][minute->state].count = minute->count;
    counted[at][minute->state].late = minute->late;
}

static void runs_are_counted_by_minute_and_state(void **state)
{
    (void)state;
    memset(counted, 0, sizeof counted);
    add_run(1, 7, 200, 200, "", "", -1); /* before */
    add_run(2, 7, 200, 200, "", "", 0);
    add_run(3, 7, 200, 200, "<!--sw:p:1:2:O1-->", "", 39);
    add_run(4, 7, 200, 200, "<!--sw:p:1:2-->:O1", "", 39);
    add_run(5, 7, 200, 200, "", "", 40);
    add_run(6, 7, 500, 0, "<!--sw:s:25-->", "", 41);
    add_run(7, 7, 500, 0, "<!--sw:s:3-->", "", 42);
    add_run(8, 7, 200, 500, "<!--sw:s:3-->", "", 42); /* it is none of these */
    add_run(9, 7, 200, 200, "", "", 60);              /* behind */
    add_run(10, 8, 200, 200, "", "", 1);              /* of another job */
    assert_ok(store_count_run_minutes(s, 7, NOW_S, NOW_S + 60, LIMIT_MS, take, counted, ec));
    assert_int_equal(counted[0][RUN_SUCCESS].count, 3);
    assert_int_equal(counted[0][RUN_SUCCESS].late, 1);
    assert_int_equal(counted[1][RUN_SUCCESS].count, 1);
    assert_int_equal(counted[1][RUN_SUCCESS].late, 0);
    assert_int_equal(counted[1][RUN_SKIPPED].count, 28);
    assert_int_equal(counted[1][RUN_FAILED].count, 1);
    for (int i = RUN_PLANNED; i < RUN_STATES; i++)
        if (i != RUN_SUCCESS)
            assert_int_equal(counted[0][i].count, 0);
}

/* ---- alarms ------------------------------------------------------------------------------------------------------ */

static void alarms_are_shown_with_their_jobs(void **state)
{
    static const int64_t groups[] = {2};
    struct alarm_state *list = NULL;
    size_t count = 0;

    (void)state;
    for (int64_t id = 1; id <= 3; id++)
        test_add_job(id, 0);
    test_sql("UPDATE xxl_job_info SET job_group = 2 WHERE id = 3");
    test_sql("INSERT INTO shardwheel_alarm (job_id, log_id, last_log, failures, failing, quiet_until_ms, incarnation) "
             "VALUES "
             "(0, NULL, 0, 1, 0, 0, ''), (1, 70, 71, 2, 1, 5, ''), "
             "(3, NULL, 72, 0, 1, 99999999999999, ''), (4, NULL, 73, 1, 0, 0, '')");
    assert_ok(store_load_alarm_states(s, 0, 9, NULL, 0, &list, &count, ec));
    assert_int_equal(count, 3);
    assert_int_equal(list[0].job_id, 1);
    assert_int_equal(list[0].job_group, 1);
    assert_string_equal(list[0].job_name, "job");
    assert_int_equal(list[0].last_log, 71);
    assert_int_equal(list[0].failures, 2);
    assert_true(list[0].failing);
    assert_true(list[0].due);
    assert_int_equal(list[0].quiet_until_ms, 0); /* it is over */
    assert_false(list[1].due);
    assert_int_equal(list[1].quiet_until_ms, INT64_C(99999999999999));
    assert_int_equal(list[2].job_id, 4);
    assert_int_equal(list[2].job_group, 0);
    assert_string_equal(list[2].job_name, "");
    free(list);
    assert_ok(store_load_alarm_states(s, 1, 1, NULL, 0, &list, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(list[0].job_id, 3);
    free(list);
    assert_ok(store_load_alarm_states(s, 0, 9, groups, 1, &list, &count, ec));
    assert_int_equal(count, 1);
    assert_int_equal(list[0].job_id, 3);
    free(list);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(names_are_of_those_that_are_there),         TEST(figures_are_sums),
        TEST(a_run_has_what_calls_to_its_executor_need), TEST(mentions_are_among_the_newest_rows_of_a_job),
        TEST(parents_name_a_job_among_their_children),   TEST(runs_are_counted_by_minute_and_state),
        TEST(alarms_are_shown_with_their_jobs),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
