/* SPDX-License-Identifier: MIT */
/* What a dashboard asks of the log and of all jobs: compared with what stands there, and what its bounds leave out. */
#include "store/test_schema.h"

#include <stdlib.h>

#include "shardwheel/store/overview.h"

#define NOW_S INT64_C(1700000000) /* 2023-11-14 22:13:20 UTC, 15 06:13:20 in Shanghai */
#define NOW "'2023-11-15 06:13:20'"

static const int64_t group_two[] = {2};
static const struct group_choice everywhere = {0}, two = {group_two, 1}, nowhere = {group_two, 0};

static void add_row(int64_t job, int64_t group, const char *time, int trigger_code, const char *trigger_msg,
                    int handle_code, const char *handle_msg)
{
    test_sql("INSERT INTO xxl_job_log (job_id, job_group, executor_address, trigger_time, trigger_code, trigger_msg, "
             "handle_code, handle_msg, alarm_status) VALUES (%d, %d, 'http://a', %s, %d, '%s', %d, '%s', %d)",
             (int)job, (int)group, time, trigger_code, trigger_msg, handle_code, handle_msg,
             trigger_code == 500 ? 3 : 1);
}

static struct store_session *open_store(struct store **st)
{
    *st = test_db_fresh(1, NOW_S);
    test_sql("DELETE FROM xxl_job_info");
    test_sql("DELETE FROM xxl_job_log");
    return test_take(*st, SESSION_NORMAL);
}

static void close_store(struct store *st, struct store_session *s)
{
    store_give_session(st, s);
    store_destroy(st);
}

static void notable_runs_are_all_but_successes(void **state)
{
    struct store *st;
    struct store_session *s = open_store(&st);
    struct notable_runs runs;
    (void)state;

    add_row(1, 1, NOW, 200, "", 200, "");
    add_row(1, 1, NOW, 200, "", 500, "bad");
    add_row(1, 2, NOW, 200, "", 502, "long");
    add_row(1, 1, NOW, 200, "", 7, "a code of its own");
    add_row(1, 1, NOW, 200, "", 500, "<!--sw:l-->left");
    add_row(1, 1, NOW, 500, "<!--sw:s:4-->skipped", 0, "");
    add_row(1, 1, "NULL", 500, "<!--sw:p:1:2-->delivery unknown: gone", 0, "");
    add_row(1, 1, NOW, 200, "", 0, "");
    add_row(1, 2, NOW, 0, "<!--sw:p:1:2-->", 0, "");
    static const enum run_state states[] = {RUN_PLANNED, RUN_RUNNING, RUN_UNKNOWN, RUN_SKIPPED,
                                            RUN_LOST,    RUN_FAILED,  RUN_FAILED,  RUN_FAILED};

    assert_ok(store_load_notable_runs(s, &everywhere, 100, 5000, &runs, ec));
    assert_int_equal(runs.count, ARRAY_LEN(states));
    for (size_t i = 0; i < runs.count; i++)
        assert_int_equal(runs.items[i].state, states[i]);
    assert_true(runs.complete);
    assert_int_equal(runs.items[3].skipped, 4);
    assert_true(runs.items[3].alarm_failed);
    assert_false(runs.items[5].alarm_failed);
    assert_int_equal(runs.items[2].trigger_s, INT64_MIN);
    assert_int_equal(runs.items[1].trigger_s, NOW_S);
    assert_string_equal(runs.items[1].address, "http://a");
    notable_runs_fini(&runs);

    assert_ok(store_load_notable_runs(s, &two, 100, 5000, &runs, ec));
    assert_int_equal(runs.count, 2);
    assert_int_equal(runs.items[0].state, RUN_PLANNED);
    notable_runs_fini(&runs);
    assert_ok(store_load_notable_runs(s, &nowhere, 100, 5000, &runs, ec));
    assert_int_equal(runs.count, 0);
    notable_runs_fini(&runs);
    assert_ok(store_load_notable_runs(s, &two, 2, 5000, &runs, ec)); /* of code 500 there are two, of others */
    assert_false(runs.complete);
    notable_runs_fini(&runs);
    test_sql("ALTER TABLE xxl_job_log DROP INDEX I_handle_code");
    close_store(st, s);
    st = test_store();
    s = test_take(st, SESSION_NORMAL);
    assert_ok(store_load_notable_runs(s, &everywhere, 100, 5000, &runs, ec));
    assert_int_equal(runs.count, 0);
    assert_false(runs.complete);
    notable_runs_fini(&runs);
    close_store(st, s);
}

static void late_runs_have_another_due_time_in_their_mark(void **state)
{
    struct store *st;
    struct store_session *s = open_store(&st);
    struct late_run *runs = NULL;
    size_t count;
    bool complete;
    (void)state;

    add_row(1, 1, NOW " - INTERVAL 1 HOUR", 200, "<!--sw:p:1700000000:1:O1699999000-->", 0, ""); /* too long ago */
    add_row(1, 1, NOW, 200, "<!--sw:p:1700000000:1-->", 0, "");
    add_row(2, 2, NOW, 200, "<!--sw:p:1700000000:1:M:O1699999990-->", 200, "");
    add_row(3, 1, NOW, 200, "<!--sw:p:1700000000:1:L:O1699999999-->text", 500, "");
    add_row(4, 1, NOW, 200, "<!--sw:p:no mark:O1699999999-->text", 500, "");
    assert_ok(store_load_late_runs(s, &everywhere, NOW_S - 3599, 100, 5000, &runs, &count, &complete, ec));
    assert_int_equal(count, 2);
    assert_true(complete);
    assert_int_equal(runs[0].job_id, 3);
    assert_int_equal(runs[0].late_s, 1);
    assert_int_equal(runs[1].job_id, 2);
    assert_int_equal(runs[1].late_s, 10);
    assert_int_equal(runs[1].trigger_s, NOW_S);
    free(runs);
    assert_ok(store_load_late_runs(s, &two, NOW_S - 3599, 100, 5000, &runs, &count, &complete, ec));
    assert_int_equal(count, 1);
    free(runs);
    assert_ok(store_load_late_runs(s, &everywhere, NOW_S - 3599, 2, 5000, &runs, &count, &complete, ec));
    assert_int_equal(count, 1);
    assert_false(complete);
    free(runs);
    close_store(st, s);
}

static void add_job(int id, int group, int running, int64_t next_ms)
{
    test_sql("INSERT INTO xxl_job_info (id, job_group, job_desc, trigger_status, trigger_next_time, schedule_type, "
             "misfire_strategy, executor_fail_retry_count, executor_timeout, glue_type) VALUES (%d, %d, 'j', %d, "
             "%" PRId64 ", 'NONE', 'DO_NOTHING', 0, 0, 'BEAN')",
             id, group, running, next_ms);
}

static void jobs_are_counted_by_group(void **state)
{
    struct store *st;
    struct store_session *s = open_store(&st);
    struct group_count *counts = NULL;
    size_t count;
    (void)state;

    add_job(1, 1, 1, 5000);
    add_job(2, 1, 1, 5001);
    add_job(3, 1, 0, 4000);
    add_job(4, 2, 1, 0);
    assert_ok(store_count_group_jobs(s, &everywhere, 5000, 5000, &counts, &count, ec));
    assert_int_equal(count, 2);
    assert_memory_equal(&counts[0], (&(struct group_count){1, 3, 2, 1}), sizeof *counts);
    assert_memory_equal(&counts[1], (&(struct group_count){2, 1, 1, 1}), sizeof *counts);
    free(counts);
    assert_ok(store_count_group_jobs(s, &two, 5000, 5000, &counts, &count, ec));
    assert_int_equal(count, 1);
    free(counts);
    assert_ok(store_count_group_jobs(s, &nowhere, 5000, 5000, &counts, &count, ec));
    assert_int_equal(count, 0);
    free(counts);
    close_store(st, s);
}

static void what_fires_next_is_planned_or_due(void **state)
{
    const int64_t now_ms = NOW_S * 1000;
    struct store *st;
    struct store_session *s = open_store(&st);
    struct soon_fire soon[SOON_MAX];
    int64_t planned;
    size_t count;
    (void)state;

    add_row(7, 1, NOW, 0, "<!--sw:p:1:2-->", 0, ""); /* its second has come */
    add_row(8, 1, NOW " + INTERVAL 2 SECOND", 0, "<!--sw:p:1:2-->", 0, "");
    add_row(9, 2, NOW " + INTERVAL 1 SECOND", 0, "<!--sw:p:1:2-->", 0, "");
    add_row(9, 2, NOW " + INTERVAL 1 SECOND", 500, "<!--sw:p:1:2-->", 0, ""); /* ended already */
    add_job(1, 1, 1, now_ms + 1500);
    add_job(2, 1, 0, now_ms + 1500);
    add_job(3, 1, 1, now_ms + 60001);
    assert_ok(store_load_soon(s, &everywhere, now_ms, now_ms + 60000, 5000, soon, &count, &planned, ec));
    assert_int_equal(count, 3);
    assert_int_equal(planned, 2);
    assert_int_equal(soon[0].job_id, 9);
    assert_true(soon[0].log_id > 0);
    assert_int_equal(soon[1].job_id, 1);
    assert_int_equal(soon[1].log_id, 0);
    assert_int_equal(soon[1].due_ms, now_ms + 1500);
    assert_int_equal(soon[2].job_id, 8);
    assert_ok(store_load_soon(s, &two, now_ms, now_ms + 60000, 5000, soon, &count, &planned, ec));
    assert_int_equal(count, 1);
    for (int i = 0; i < 30; i++)
        add_job(100 + i, 1, 1, now_ms + 3000 + i);
    assert_ok(store_load_soon(s, &everywhere, now_ms, now_ms + 60000, 5000, soon, &count, &planned, ec));
    assert_int_equal(count, SOON_MAX);
    assert_int_equal(soon[SOON_MAX - 1].job_id, 100 + SOON_MAX - 4);
    close_store(st, s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(notable_runs_are_all_but_successes),
        cmocka_unit_test(late_runs_have_another_due_time_in_their_mark),
        cmocka_unit_test(jobs_are_counted_by_group),
        cmocka_unit_test(what_fires_next_is_planned_or_due),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
