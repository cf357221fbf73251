/* SPDX-License-Identifier: MIT */
/* What one node does for all: numbers of the log report, cleaning, settings of jobs that are gone. */
#include "store/test_schema.h"

#include "shardwheel/store/schema.h"
#include "shardwheel/store/upkeep.h"

#define NOW_S INT64_C(1700000000) /* 2023-11-15 06:13:20 in the zone of the store */
#define TODAY INT64_C(19676)      /* 2023-11-15 */

static int64_t add_log(const char *time, int64_t job, int trigger_code, int handle_code, int alarm, const char *msg)
{
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, alarm_status, "
             "trigger_msg) VALUES (1, %" PRId64 ", '%s', %d, %d, %d, %s)",
             job, time, trigger_code, handle_code, alarm, msg);
    return test_int("SELECT MAX(id) FROM xxl_job_log");
}

static bool is_there(int64_t id)
{
    return test_int("SELECT COUNT(*) FROM xxl_job_log WHERE id = %" PRId64, id) == 1;
}

/* ---- epoch ------------------------------------------------------------------------------------------------------- */

static void an_epoch_is_compared_without_a_lock(void **state)
{
    struct store *st = test_db_fresh(2, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    struct db *other = test_connect();
    struct errctx why = {{0}};

    (void)state;
    test_sql("UPDATE shardwheel_shard SET epoch = 7 WHERE shard = 0");
    test_run(other, "USE xxl_job");
    test_run(other, "BEGIN");
    test_run(other, "SELECT * FROM shardwheel_shard FOR UPDATE");
    assert_ok(store_check_epoch(s, 0, 7, ec));
    assert_int_equal(store_check_epoch(s, 0, 6, &why), ERR_CONFLICT);
    assert_int_equal(store_check_epoch(s, 1, 7, &why), ERR_CONFLICT);
    assert_int_equal(store_check_epoch(s, 9, 7, &why), ERR_CONFLICT);
    db_close(other);
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- log report -------------------------------------------------------------------------------------------------- */

static void rows_are_counted_by_their_state(void **state)
{
    static const struct {
        int trigger_code, handle_code, alarm;
        const char *msg;
        char as; /* r, s, f, k */
    } rows[] = {
        {0, 0, 0, "NULL", 'r'},
        {0, 0, 0, "'<!--sw:p:1:1-->'", 'r'},
        {200, 0, 0, "''", 'r'},
        {200, 200, 0, "''", 's'},
        {0, 200, 0, "''", 's'},
        {500, 200, 2, "''", 's'},
        {200, 500, 0, "''", 'f'},
        {200, 502, 2, "''", 'f'},
        {0, 500, 0, "NULL", 'f'},
        {500, 0, 0, "''", 'f'},
        {500, 0, 1, "NULL", 'f'},
        {500, 0, 1, "'<!--sw:p:1:1-->dropped'", 'f'},
        {201, 0, 0, "''", 'f'},
        {200, -1, 0, "''", 'f'},
        {500, 0, 1, "'<!--sw:s:1700000000:3-->skipped'", 'k'},
        {500, 0, 0, "'<!--sw:s:1700000000:3-->skipped'", 'f'},
    };
    struct report_counts counts[3] = {0}, expected = {0};
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        add_log("2023-11-15 06:13:20", 1, rows[i].trigger_code, rows[i].handle_code, rows[i].alarm, rows[i].msg);
        assert_ok(store_count_minutes(s, TODAY, 6 * 60 + 12, 3, 1000, counts, ec));
        expected.total++;
        expected.running += rows[i].as == 'r';
        expected.success += rows[i].as == 's';
        expected.skipped += rows[i].as == 'k';
        assert_int_equal(counts[0].total, 0);
        assert_memory_equal(&counts[1], &expected, sizeof expected);
        assert_int_equal(counts[2].total, 0);
    }
    store_give_session(st, s);
    store_destroy(st);
}

static void a_minute_has_its_own_rows(void **state)
{
    struct report_counts counts[DAY_MINUTES] = {0};
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int minute = 0;
    int64_t sum = 0;

    (void)state;
    assert_int_equal(store_find_day(st, NOW_S, &minute), TODAY);
    assert_int_equal(minute, 6 * 60 + 13);
    assert_int_equal(store_find_day(st, NOW_S - (6 * 60 + 14) * 60, &minute), TODAY - 1);
    assert_int_equal(minute, 1439);
    add_log("2023-11-14 23:59:59", 1, 200, 200, 0, "''");
    add_log("2023-11-15 00:00:00", 1, 200, 200, 0, "''");
    add_log("2023-11-15 06:13:59", 1, 200, 200, 0, "''");
    add_log("2023-11-15 06:14:00", 1, 200, 200, 0, "''");
    add_log("2023-11-15 23:59:59", 1, 200, 200, 0, "''");
    add_log("2023-11-16 00:00:00", 1, 200, 200, 0, "''");
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code) VALUES (1, 1, 0, 0)");
    assert_ok(store_count_minutes(s, TODAY, 0, DAY_MINUTES, 1000, counts, ec));
    for (int i = 0; i < DAY_MINUTES; i++)
        sum += counts[i].total;
    assert_int_equal(sum, 4);
    assert_int_equal(counts[0].total, 1);
    assert_int_equal(counts[6 * 60 + 13].total, 1);
    assert_int_equal(counts[6 * 60 + 14].total, 1);
    assert_int_equal(counts[1439].success, 1);
    store_give_session(st, s);
    store_destroy(st);
}

static void the_row_of_a_day_is_written(void **state)
{
    const struct report_counts first = {.total = 10, .running = 1, .success = 2, .skipped = 3};
    const struct report_counts later = {.total = 12, .running = 0, .success = 8, .skipped = 3};
    const struct report_counts none = {0};
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);

    (void)state;
    test_sql("INSERT INTO xxl_job_log_report (trigger_day, running_count, suc_count, fail_count) VALUES "
             "('2023-11-13 00:00:00', 1, 2, 3)");
    assert_ok(store_write_report(s, TODAY, &first, NOW_S, ec));
    assert_ok(store_write_report(s, TODAY - 1, &none, NOW_S, ec));
    assert_ok(store_write_report(s, TODAY, &later, NOW_S, ec));
    assert_ok(store_write_report(s, TODAY, &later, NOW_S, ec)); /* the same again finds its row, too */
    assert_string_equal(test_text("SELECT GROUP_CONCAT(CONCAT_WS(' ', trigger_day, running_count, suc_count, "
                                  "fail_count, COALESCE(update_time, '-')) ORDER BY trigger_day SEPARATOR '; ') "
                                  "FROM xxl_job_log_report"),
                        "2023-11-13 00:00:00 1 2 3 -; 2023-11-14 00:00:00 0 0 0 2023-11-15 06:13:20; "
                        "2023-11-15 00:00:00 0 8 1 2023-11-15 06:13:20");
    assert_int_equal(test_int("SELECT MAX(id) FROM xxl_job_log_report"), 3);
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- cleaning ---------------------------------------------------------------------------------------------------- */

/* Walks to the end, `max` rows at a time. */
static size_t clean(struct store_session *s, struct clean_walk walk, size_t max)
{
    int64_t ids[CLEAN_BATCH_MAX];
    size_t count, deleted, sum = 0;
    bool done = false;

    for (int steps = 0; !done; steps++) {
        assert_true(steps < 1000);
        assert_ok(store_find_expired(s, &walk, max, ids, &count, &done, ec));
        assert_true(count <= max);
        for (size_t i = 1; i < count; i++)
            assert_true(ids[i - 1] < ids[i]);
        assert_ok(store_delete_expired(s, &walk, ids, count, &deleted, ec));
        sum += deleted;
    }
    return sum;
}

static void old_rows_of_all_jobs_go_but_open_ones(void **state)
{
    static const int64_t kept_jobs[] = {5, 7};

    (void)state;
    for (size_t max = 1; max <= CLEAN_BATCH_MAX; max *= 4) {
        struct store *st = test_db_fresh(1, NOW_S);
        struct store_session *s = test_take(st, SESSION_CLAIM);
        const struct clean_walk walk = {.before_day = TODAY - 3, .job_ids = kept_jobs, .job_count = 2, .except = true};

        for (int i = 0; i < 30; i++) /* many of one second, in no order of time and id */
            add_log(i % 2 ? "2023-11-10 01:00:00" : "2023-11-09 02:00:00", i % 3 + 1, 200, 200, 2, "''");
        int64_t midnight = add_log("2023-11-12 00:00:00", 1, 200, 0, 0, "''");
        int64_t java_open = add_log("2023-11-11 00:00:00", 1, 0, 0, 0, "NULL");
        int64_t failed = add_log("2023-11-11 00:00:00", 1, 500, 0, 0, "'<!--sw:p:1:1-->x'");
        int64_t ended = add_log("2023-11-11 00:00:00", 1, 0, 500, 0, "'<!--sw:p:1:1-->x'");
        int64_t young = add_log("2023-11-12 00:00:01", 1, 200, 200, 0, "''");
        int64_t planned = add_log("2023-11-01 00:00:00", 1, 0, 0, 0, "'<!--sw:p:1:1-->'");
        int64_t direct = add_log("2023-11-11 00:00:00", 1, 0, 0, 0, "'<!--sw:d:abc:1:R-->'");
        int64_t other = add_log("2023-11-01 00:00:00", 5, 200, 200, 0, "''");
        assert_int_equal(clean(s, walk, max), 34);
        assert_false(is_there(midnight) || is_there(java_open) || is_there(failed) || is_there(ended));
        assert_true(is_there(young) && is_there(planned) && is_there(direct) && is_there(other));
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 4);
        assert_int_equal(clean(s, walk, max), 0);
        int64_t ids[CLEAN_BATCH_MAX];
        size_t count = 1;
        bool done = false;
        struct clean_walk again = walk;
        assert_ok(
            store_find_expired(s, &again, CLEAN_BATCH_MAX, ids, &count, &done, ec)); /* nothing is tried in vain */
        assert_int_equal(count, 0);
        assert_true(done);
        store_give_session(st, s);
        store_destroy(st);
    }
}

/* By the index of job_id where the schema has one, else through the whole table: the same rows. */
static void old_rows_of_some_jobs_go(void **state)
{
    static const int64_t jobs[] = {2, 3, 40};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(test_families); i++) {
        struct store *st = test_db_fresh(1, NOW_S);
        struct store_session *s = test_take(st, SESSION_CLAIM);
        const struct clean_walk walk = {.before_day = TODAY - 1, .job_ids = jobs, .job_count = 3};
        struct store_features features;

        test_make_family(test_families[i]);
        assert_ok(store_load_features(st, &features, ec));
        assert_int_equal(features.log_job_id_name[0] != '\0', i > 0);
        for (int k = 0; k < 40; k++)
            add_log("2023-11-10 01:00:00", k % 4, 200, 200, 2, "''");
        int64_t planned = add_log("2023-11-10 01:00:00", 3, 0, 0, 0, "'<!--sw:p:1:1-->'");
        int64_t at_midnight = add_log("2023-11-14 00:00:00", 3, 200, 200, 0, "''");
        int64_t young = add_log("2023-11-14 00:00:01", 3, 200, 200, 0, "''");
        assert_int_equal(clean(s, walk, 3), 21);
        assert_true(is_there(planned) && is_there(young) && !is_there(at_midnight));
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE job_id IN (0, 1)"), 20);
        /* Beyond a wide gap of ids. */
        test_sql("DELETE FROM xxl_job_log WHERE id = %" PRId64, young);
        test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_time, trigger_code, handle_code) VALUES "
                 "(9000000000, 1, 40, '2023-11-10 01:00:00', 200, 200)");
        assert_int_equal(clean(s, walk, 500), 1);
        store_give_session(st, s);
        store_destroy(st);
    }
}

/* What was found is looked at again when it is removed. */
static void a_row_that_changed_meanwhile_stays(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    struct clean_walk walk = {.before_day = TODAY, .except = true};
    int64_t ids[CLEAN_BATCH_MAX];
    size_t count, deleted;
    bool done;

    (void)state;
    int64_t first = add_log("2023-11-10 01:00:00", 1, 200, 200, 0, "''");
    int64_t second = add_log("2023-11-10 01:00:00", 1, 200, 200, 0, "''");
    add_log("2023-11-10 01:00:00", 1, 200, 200, 0, "''");
    assert_ok(store_find_expired(s, &walk, 10, ids, &count, &done, ec));
    assert_int_equal(count, 3);
    test_sql("UPDATE xxl_job_log SET trigger_time = '2023-11-15 00:00:01' WHERE id = %" PRId64, first);
    test_sql("UPDATE xxl_job_log SET trigger_code = 0, handle_code = 0, trigger_msg = '<!--sw:p:1:1-->' WHERE id = "
             "%" PRId64,
             second);
    assert_ok(store_delete_expired(s, &walk, ids, count, &deleted, ec));
    assert_int_equal(deleted, 1);
    assert_true(is_there(first) && is_there(second));
    store_give_session(st, s);
    store_destroy(st);
}

/* However many rows there are: a step reads about as many as it finds. */
static void a_step_reads_what_it_removes(void **state)
{
    static const int64_t job = 7;
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    int64_t ids[CLEAN_BATCH_MAX], before;
    size_t count, deleted;
    bool done;

    (void)state;
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code) "
             "SELECT 1, seq %% 100, '2023-11-01' + INTERVAL seq SECOND, 200, 200 FROM seq_1_to_50000");
    test_sql("ANALYZE TABLE xxl_job_log");
    for (int by_job = 0; by_job < 2; by_job++) {
        struct clean_walk walk = {.before_day = TODAY, .job_ids = &job, .job_count = by_job ? 1 : 0, .except = !by_job};
        for (int steps = 0; steps < 3; steps++) {
            before = test_int("SELECT SUM(variable_value) FROM information_schema.global_status WHERE variable_name "
                              "LIKE 'HANDLER_READ%%'");
            assert_ok(store_find_expired(s, &walk, 50, ids, &count, &done, ec));
            assert_ok(store_delete_expired(s, &walk, ids, count, &deleted, ec));
            assert_int_equal(deleted, 50);
            assert_true(test_int("SELECT SUM(variable_value) FROM information_schema.global_status WHERE "
                                 "variable_name LIKE 'HANDLER_READ%%'") -
                            before <
                        2500); /* the query of the test itself reads about 600 */
        }
    }
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- settings of jobs that are gone ------------------------------------------------------------------------------ */

static void settings_of_jobs_that_are_gone_are_removed(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    size_t deleted = 0;

    (void)state;
    test_add_job(50, 0);
    test_sql("INSERT INTO shardwheel_job (job_id, hold_s, update_time) VALUES (50, 1, '2023-11-01 00:00:00'), "
             "(51, 1, '2023-11-15 06:03:19'), (52, 1, '2023-11-15 06:03:20'), (53, 1, NULL)");
    assert_ok(store_delete_orphan_settings(s, NOW_S - 600, &deleted, ec));
    assert_int_equal(deleted, 2);
    assert_string_equal(test_text("SELECT GROUP_CONCAT(job_id ORDER BY job_id) FROM shardwheel_job"), "50,52");
    assert_ok(store_delete_orphan_settings(s, NOW_S - 600, &deleted, ec));
    assert_int_equal(deleted, 0);
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_is_compared_without_a_lock),
        cmocka_unit_test(rows_are_counted_by_their_state),
        cmocka_unit_test(a_minute_has_its_own_rows),
        cmocka_unit_test(the_row_of_a_day_is_written),
        cmocka_unit_test(old_rows_of_all_jobs_go_but_open_ones),
        cmocka_unit_test(old_rows_of_some_jobs_go),
        cmocka_unit_test(a_row_that_changed_meanwhile_stays),
        cmocka_unit_test(a_step_reads_what_it_removes),
        cmocka_unit_test(settings_of_jobs_that_are_gone_are_removed),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
