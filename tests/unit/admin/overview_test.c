/* SPDX-License-Identifier: MIT */
/* What rows say by job; overviews are made once for all who ask; the health line. */
#include "admin/jobs_fixture.h"

#include <stdlib.h>

#include "shardwheel/admin/overview.h"

/* ---- pure -------------------------------------------------------------------------------------------------------- */

#define NOW_S INT64_C(1700000000)

static void runs_are_counted_by_job(void **state)
{
    static struct notable_run rows[] = {
        {.id = 9, .job_id = 1, .group = 5, .trigger_s = NOW_S - 10, .state = RUN_FAILED},
        {.id = 8, .job_id = 2, .group = 6, .trigger_s = NOW_S - 3600, .state = RUN_LOST, .alarm_failed = true},
        {.id = 7, .job_id = 2, .group = 6, .trigger_s = NOW_S - 3601, .state = RUN_UNKNOWN},
        {.id = 6, .job_id = 3, .group = 6, .trigger_s = NOW_S - 86401, .state = RUN_FAILED, .alarm_failed = true},
        {.id = 5, .job_id = 1, .group = 5, .trigger_s = NOW_S - 20, .state = RUN_FAILED},
        {.id = 4, .job_id = 4, .group = 5, .trigger_s = NOW_S - 20, .state = RUN_SKIPPED, .skipped = 7},
        {.id = 3, .job_id = 4, .group = 5, .trigger_s = NOW_S - 3700, .state = RUN_SKIPPED, .skipped = 9},
        {.id = 2, .job_id = 4, .group = 5, .trigger_s = NOW_S, .state = RUN_RUNNING},
        {.id = 1, .job_id = 4, .group = 5, .trigger_s = INT64_MIN, .state = RUN_WAITING},
    };
    struct overview o = {.notable = {.items = rows, .count = ARRAY_LEN(rows)}};
    struct overview_jobs failed;
    (void)state;

    assert_true(overview_count_runs(&o, NOW_S, &failed));
    assert_int_equal(o.running, 1);
    assert_int_equal(o.waiting, 1);
    assert_int_equal(o.failures_hour, 3);
    assert_int_equal(o.failures_day, 4);
    assert_int_equal(o.skipped_hour, 7);
    assert_int_equal(o.alarms_failed_day, 1);
    assert_int_equal(failed.count, 3);
    assert_int_equal(failed.items[0].job_id, 1);
    assert_int_equal(failed.items[0].hour, 2);
    assert_int_equal(failed.items[0].last_run, 9);
    assert_int_equal(failed.items[1].job_id, 2);
    assert_int_equal(failed.items[1].hour, 1);
    assert_int_equal(failed.items[1].day, 2);
    assert_int_equal(failed.items[2].job_id, 3);
    assert_int_equal(o.top.count, 2); /* job 3 has not failed for a day */
    assert_int_equal(o.ranked.count, 2);
    assert_int_equal(o.ranked.items[1].job_id, 2); /* as many as job 1 has, and newer */
    free(o.ranked.items);
    free(failed.items);
    free(o.top.items);
}

static void late_runs_are_counted_by_job(void **state)
{
    static const struct late_run rows[] = {
        {9, 1, 5, NOW_S - 10, 3}, {8, 1, 5, NOW_S - 20, 12}, {7, 2, 5, NOW_S - 5, 60}, {6, 2, 5, NOW_S - 3601, 99}};
    struct overview o = {0};
    (void)state;

    assert_true(overview_count_late(&o, NOW_S, rows, ARRAY_LEN(rows)));
    assert_int_equal(o.late_hour, 3);
    assert_int_equal(o.late.count, 2);
    assert_int_equal(o.late.items[0].job_id, 1);
    assert_int_equal(o.late.items[0].hour, 2);
    assert_int_equal(o.late.items[0].worst_s, 12);
    assert_int_equal(o.late.items[0].last_run, 9);
    assert_int_equal(o.late.items[1].worst_s, 60);
    free(o.late.items);
}

/* ---- with a database --------------------------------------------------------------------------------------------- */

#define SHANGHAI "UTC_TIMESTAMP() + INTERVAL 8 HOUR" /* the zone of the database */

/* Two jobs of group 1 and one of group 2, all with failures, as a removed one has; the first of group 1 works again. */
static void add_failures(void)
{
    test_sql("INSERT INTO xxl_job_info (id, job_group, job_desc, trigger_status, trigger_next_time, schedule_type, "
             "misfire_strategy, executor_fail_retry_count, executor_timeout, glue_type) VALUES "
             "(1, 1, 'well again', 1, 0, 'NONE', 'DO_NOTHING', 0, 0, 'BEAN'), (2, 1, 'bad', 1, 0, 'NONE', "
             "'DO_NOTHING', 0, 0, 'BEAN'), (3, 2, 'bad elsewhere', 0, 0, 'NONE', 'DO_NOTHING', 0, 0, 'BEAN')");
    for (int job = 1; job <= 4; job++)
        test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, alarm_status, "
                 "handle_time) VALUES (%d, %d, " SHANGHAI ", 200, 500, 0, " SHANGHAI ")",
                 job == 3 ? 2 : 1, job);
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, alarm_status) "
             "VALUES (1, 1, " SHANGHAI ", 200, 200, 0)");
}

static const struct overview *get(const struct actor *actor)
{
    const struct overview *o = NULL;

    assert_fine(admin_get_overview(w.admin, actor, &o, &why));
    return o;
}

static void everybody_sees_his_groups(void **state)
{
    (void)state;
    add_failures();

    const struct overview *o = get(&root);
    assert_int_equal(o->incomplete, 0);
    assert_int_equal(o->jobs, 3);
    assert_int_equal(o->jobs_running, 2);
    assert_int_equal(o->failures_hour, 4);
    assert_int_equal(o->failing.count, 2);
    assert_int_equal(o->top.count, 4);
    assert_string_equal(names_find(&o->job_names, 3)->name, "bad elsewhere");
    overview_put(o);
    o = get(&user);
    assert_int_equal(o->jobs, 2);
    assert_int_equal(o->failures_hour, 3);
    assert_int_equal(o->failing.count, 1);
    assert_int_equal(o->failing.items[0].job_id, 2);
    overview_put(o);
    o = get(&(struct actor){.rights = RIGHTS_ALL, .role = ROLE_USER});
    assert_int_equal(o->jobs, 0);
    assert_int_equal(o->failures_hour, 0);
    overview_put(o);
    assert_int_not_equal(
        admin_get_overview(w.admin, &(struct actor){.rights = RIGHT_RUN, .role = ROLE_ADMIN}, &o, &why), ERR_OK);
}

static void one_is_made_for_all_who_ask(void **state)
{
    (void)state;
    add_failures();

    const struct overview *a = get(&root), *b = get(&root);
    assert_ptr_equal(a, b);
    const struct overview *own = get(&user);
    assert_ptr_not_equal(a, own);
    overview_put(a);
    overview_put(own);
    assert_int_equal(b->jobs, 3); /* it lives as long as somebody has it */
    overview_put(b);
}

static void health_says_what_is_wrong(void **state)
{
    struct health h;
    (void)state;

    test_sql("DELETE FROM shardwheel_node");
    test_sql("UPDATE shardwheel_cluster SET shards = 8");
    test_sql(
        "INSERT INTO shardwheel_node VALUES ('a', 'n1', '', '', 0, %s, 0, 3, 0, -1, 1), ('b', 'n2', '', '', 0, %s, "
        "0, 5, 1, -1, 1), ('c', 'n3', '', '', 0, 0, 0, 8, 0, -1, 1)",
        "4102444800000", "4102444800000");
    assert_fine(admin_load_health(w.admin, &h, &why));
    assert_int_equal(h.nodes, 3);
    assert_int_equal(h.nodes_live, 2);
    assert_int_equal(h.nodes_draining, 1);
    assert_int_equal(h.shards, 8);
    assert_int_equal(h.shards_owned, 8);
    assert_string_equal(h.zookeeper, "none");
    assert_string_equal(h.trouble, "node-silent");
    assert_true(h.database_ms >= 0);
    test_sql("DELETE FROM shardwheel_node"); /* it is asked for again after some seconds alone */
    assert_fine(admin_load_health(w.admin, &h, &why));
    assert_int_equal(h.nodes, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_counted_by_job),
        cmocka_unit_test(late_runs_are_counted_by_job),
        cmocka_unit_test_setup_teardown(everybody_sees_his_groups, setup, teardown),
        cmocka_unit_test_setup_teardown(one_is_made_for_all_who_ask, setup, teardown),
        cmocka_unit_test_setup_teardown(health_says_what_is_wrong, setup, teardown),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
