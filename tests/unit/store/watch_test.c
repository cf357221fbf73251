/* SPDX-License-Identifier: MIT */
/* What did not happen, and what channels missed in their quiet hours. */
#include "store/test_schema.h"
#include "shardwheel/store/alarm.h"
#include "shardwheel/store/watch.h"

#define NOW_S INT64_C(1700000000)
#define LEASE_MS 30000

static const char *list_held(void)
{
    return test_text("SELECT COALESCE(GROUP_CONCAT(CONCAT_WS(':', channel, kind, target, is_over) ORDER BY channel, "
                     "kind, target), '') FROM shardwheel_held");
}

static const char *list_states(void)
{
    return test_text("SELECT COALESCE(GROUP_CONCAT(CONCAT_WS(':', kind, target, phase) ORDER BY kind, target), '') "
                     "FROM shardwheel_watch");
}

/* Whoever cannot tell what came of a call makes it again, as another node does. */
static void what_is_held_back_first_stays_however_often_it_is_told(void **state)
{
    static const char *const both[] = {"a", "b"};
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);

    (void)state;
    assert_ok(store_hold_back(s, both, 1, "no_success", 7, false, ec));
    for (int i = 0; i < 2; i++) {
        assert_ok(store_hold_back(s, both, 2, "no_success", 7, true, ec));
        assert_string_equal(list_held(), "a:no_success:7:0,b:no_success:7:1");
    }
    assert_ok(store_drop_held(s, &(struct held_alarm){"b", "no_success", 7, false}, ec)); /* it is another by now */
    assert_string_equal(list_held(), "a:no_success:7:0,b:no_success:7:1");
    assert_ok(store_drop_held(s, &(struct held_alarm){"b", "no_success", 7, true}, ec));
    assert_string_equal(list_held(), "a:no_success:7:0");
    store_give_session(st, s);
    store_destroy(st);
}

static void each_channel_has_its_own_share(void **state)
{
    static const char *const a = "a", *const b = "b";
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct held_channels channels;
    struct held_alarms list;

    (void)state;
    for (int64_t target = 1; target <= HELD_AT_ONCE + 2; target++)
        assert_ok(store_hold_back(s, &a, 1, "not_done", target, false, ec));
    assert_ok(store_hold_back(s, &b, 1, HELD_JOB_FAILED, 3, true, ec));
    assert_ok(store_load_held_channels(s, &channels, ec));
    assert_int_equal(channels.count, 2);
    assert_string_equal(channels.rows[1].name, "b");
    held_channels_fini(&channels);

    assert_ok(store_load_held(s, "a", &list, ec));
    assert_int_equal(list.count, HELD_AT_ONCE);
    assert_int_equal(list.rows[HELD_AT_ONCE - 1].target, HELD_AT_ONCE);
    held_alarms_fini(&list);
    assert_ok(store_load_held(s, "b", &list, ec));
    assert_int_equal(list.count, 1);
    assert_true(list.rows[0].over);
    held_alarms_fini(&list);

    assert_ok(store_drop_held_channel(s, "a", ec));
    assert_string_equal(list_held(), "b:job_failed:3:1");
    store_give_session(st, s);
    store_destroy(st);
}

static enum err write_one(struct store_session *s, const char *incarnation, enum watch_change_kind what, int64_t target,
                          struct errctx *why)
{
    struct watch_change change = {.what = what, .kind = WATCH_NO_SUCCESS, .target = target, .detail = "late"};

    return store_write_watch_changes(s, incarnation, &change, 1, why);
}

static void the_node_with_the_lease_alone_opens_and_ends(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct errctx why = {{0}};
    bool held = false;
    int64_t count;

    (void)state;
    assert_int_equal(write_one(s, "one", WATCH_OPENS, 7, &why), ERR_STATE); /* nobody has it */
    assert_ok(store_hold_alarms(s, "one", LEASE_MS, &held, ec));
    assert_true(held);
    assert_int_equal(write_one(s, "two", WATCH_OPENS, 7, &why), ERR_STATE);
    assert_string_equal(list_states(), "");
    count = test_int("SELECT failures FROM shardwheel_alarm WHERE job_id = 0");
    assert_ok(write_one(s, "one", WATCH_OPENS, 7, ec));
    assert_ok(write_one(s, "one", WATCH_OPENS, 7, ec));
    assert_string_equal(list_states(), "no_success:7:0");
    /* The row of the lease is written: a Galera cluster compares what is written, and no locks. */
    assert_int_equal(test_int("SELECT failures FROM shardwheel_alarm WHERE job_id = 0"), count + 2);

    assert_ok(write_one(s, "one", WATCH_ENDS, 7, ec)); /* nobody was told yet */
    assert_string_equal(list_states(), "no_success:7:0");
    assert_ok(store_end_watch_telling(s, "no_success", 7, WATCH_NEW, ec));
    assert_ok(write_one(s, "one", WATCH_ENDS, 7, ec));
    assert_ok(write_one(s, "one", WATCH_OPENS, 7, ec)); /* its end is told first */
    assert_string_equal(list_states(), "no_success:7:2");
    assert_ok(store_end_watch_telling(s, "no_success", 7, WATCH_NEW, ec)); /* it is in another phase */
    assert_string_equal(list_states(), "no_success:7:2");
    assert_ok(store_end_watch_telling(s, "no_success", 7, WATCH_OVER, ec));
    assert_ok(write_one(s, "one", WATCH_OPENS, 8, ec));
    assert_ok(write_one(s, "one", WATCH_DROPS, 8, ec));
    assert_string_equal(list_states(), "");
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- what is looked at ------------------------------------------------------------------------------------------- */

/* In seconds behind NOW_S; ended_s 0: it has no such time. */
static void add_run(int64_t id, int64_t job, int trigger_code, int handle_code, int begun_s, int ended_s)
{
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code, trigger_time, handle_time) "
             "VALUES (%" PRId64 ", 1, %" PRId64 ", %d, %d, '2023-11-15 06:13:20' + INTERVAL %d SECOND, "
             "IF(%d = 0, NULL, '2023-11-15 06:13:20' + INTERVAL %d SECOND))",
             id, job, trigger_code, handle_code, begun_s, ended_s, ended_s);
}

static const char *show_successes(struct store_session *s, const int64_t *jobs, size_t count, int64_t each)
{
    static char out[200];
    struct job_success *list = NULL;
    size_t found = 0, n = 0;
    bool indexed = false;

    assert_ok(store_load_successes(s, jobs, count, each, &list, &found, &indexed, ec));
    strcpy(out, indexed ? "" : "no index");
    for (size_t i = 0; i < found; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%" PRId64 ":%" PRId64 ":%" PRId64 ":%" PRId64 " ",
                              list[i].job_id, list[i].ended, list[i].success_s ? list[i].success_s - NOW_S : -1,
                              list[i].begun_s ? list[i].begun_s - NOW_S : -1);
    free(list);
    return out;
}

static void successes_are_among_the_newest_that_ended(void **state)
{
    static const int64_t some[] = {1, 2, 3};
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t many[401];

    (void)state;
    add_run(1, 1, 200, 200, 10, 20);
    add_run(2, 1, 200, 500, 11, 70);
    add_run(3, 1, 200, 200, 5, 40);
    add_run(4, 1, 200, 0, 50, 0); /* it goes on */
    add_run(5, 1, 500, 0, 51, 0); /* it reached nobody */
    add_run(6, 1, 0, 0, 60, 0);   /* it is not sent yet */
    add_run(7, 3, 200, 502, 1, 2);
    add_run(8, 401, 200, 200, 3, 4);
    assert_string_equal(show_successes(s, some, 3, 9), "1:4:40:10 3:1:-1:-1 ");
    assert_string_equal(show_successes(s, some, 1, 3), "1:3:40:5 ");
    assert_string_equal(show_successes(s, some, 1, 1), "1:1:-1:-1 ");
    assert_string_equal(show_successes(s, some + 1, 1, 9), "");
    for (int64_t i = 0; i < 401; i++)
        many[i] = i + 1;
    assert_string_equal(show_successes(s, many, 401, 9), "1:4:40:10 3:1:-1:-1 401:1:4:3 ");
    store_give_session(st, s);
    store_destroy(st);

    test_make_family("2.3"); /* whose log has no index that would do */
    st = test_store();
    s = test_take(st, SESSION_NORMAL);
    assert_string_equal(show_successes(s, some, 3, 9), "no index");
    store_give_session(st, s);
    store_destroy(st);
}

static void durations_are_those_of_successes(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t list[9];
    size_t count = 0;

    (void)state;
    add_run(1, 1, 200, 200, 10, 17);
    add_run(2, 1, 200, 200, 10, 12);
    add_run(3, 1, 200, 500, 10, 99);
    add_run(4, 1, 200, 0, 10, 0);
    add_run(5, 1, 200, 200, 10, 0);
    add_run(6, 1, 200, 200, 10, 7); /* the clock of its executor is behind */
    add_run(7, 2, 200, 200, 10, 11);
    assert_ok(store_load_durations(s, 1, list, 9, &count, ec));
    assert_int_equal(count, 3);
    assert_int_equal(list[0], 0);
    assert_int_equal(list[1], 2);
    assert_int_equal(list[2], 7);
    assert_ok(store_load_durations(s, 1, list, 2, &count, ec));
    assert_int_equal(count, 2);
    assert_ok(store_load_durations(s, 9, list, 9, &count, ec));
    assert_int_equal(count, 0);
    store_give_session(st, s);
    store_destroy(st);
}

static void jobs_are_watched_that_have_a_setting_for_it(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct watched_jobs jobs = {0};

    (void)state;
    for (int64_t id = 1; id <= 5; id++)
        test_add_job(id, NOW_S * 1000);
    test_sql("UPDATE xxl_job_info SET trigger_status = 0, job_group = 99 WHERE id = 4");
    test_sql("INSERT INTO shardwheel_job (job_id, success_within_s, longest_run_s, done_by, tags) VALUES "
             "(1, 60, NULL, NULL, NULL), (2, NULL, 0, NULL, 'a,b'), (3, NULL, NULL, NULL, 'c'), "
             "(4, NULL, NULL, '06:30', NULL)");
    assert_ok(store_load_watched_jobs(s, false, &jobs, ec));
    assert_int_equal(jobs.count, 3);
    assert_int_equal(jobs.rows[0].job_id, 1);
    assert_int_equal(jobs.rows[0].success_within_s, 60);
    assert_int_equal(jobs.rows[0].longest_run_s, -1);
    assert_true(jobs.rows[0].started);
    assert_string_equal(jobs.rows[0].app_name, "xxl-job-executor-sample");
    assert_string_equal(jobs.rows[0].tags, "");
    assert_int_equal(jobs.rows[1].longest_run_s, 0);
    assert_string_equal(jobs.rows[1].tags, "a,b");
    assert_int_equal(jobs.rows[2].job_id, 4);
    assert_false(jobs.rows[2].started);
    assert_string_equal(jobs.rows[2].done_by, "06:30");
    assert_string_equal(jobs.rows[2].app_name, ""); /* its group is gone */
    watched_jobs_fini(&jobs);
    assert_ok(store_load_watched_jobs(s, true, &jobs, ec));
    assert_int_equal(jobs.count, 5);
    watched_jobs_fini(&jobs);
    store_give_session(st, s);
    store_destroy(st);
}

static void cursors_are_those_of_shards_that_there_are(void **state)
{
    struct store *st = test_db_fresh(3, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct shard_lateness *list = NULL;
    size_t count = 0;

    (void)state;
    test_sql("UPDATE shardwheel_cursor SET cursor_s = cursor_s + 10 * shard");
    test_sql("UPDATE shardwheel_cluster SET shards = 2");
    assert_ok(store_load_shard_cursors(s, &list, &count, ec));
    assert_int_equal(count, 2);
    assert_int_equal(list[0].shard, 0);
    assert_int_equal(list[1].shard, 1);
    assert_int_equal(list[1].cursor_s - list[0].cursor_s, 10);
    free(list);
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_held_back_first_stays_however_often_it_is_told),
        cmocka_unit_test(each_channel_has_its_own_share),
        cmocka_unit_test(the_node_with_the_lease_alone_opens_and_ends),
        cmocka_unit_test(successes_are_among_the_newest_that_ended),
        cmocka_unit_test(durations_are_those_of_successes),
        cmocka_unit_test(jobs_are_watched_that_have_a_setting_for_it),
        cmocka_unit_test(cursors_are_those_of_shards_that_there_are),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
