/* SPDX-License-Identifier: MIT */
/* Logs of runs that are kept. */
#include "store/test_schema.h"

#include "shardwheel/store/jobs.h"
#include "shardwheel/store/kept.h"
#include "shardwheel/store/runs.h"
#include "shardwheel/store/schema.h"
#include "shardwheel/store/upkeep.h"

#define NOW_S INT64_C(1700000000)

static int64_t add_run(int64_t job, int trigger_code, int handle_code, const char *address)
{
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, handle_code, executor_address) "
             "VALUES (1, %" PRId64 ", '2023-11-15 06:13:20', %d, %d, %s)",
             job, trigger_code, handle_code, address);
    return test_int("SELECT MAX(id) FROM xxl_job_log");
}

static struct kept_log make_log(int64_t id, int64_t job, const char *data)
{
    return (struct kept_log){
        .log_id = id, .job_id = job, .text_len = 77, .data = (const unsigned char *)data, .len = strlen(data)};
}

static size_t write_logs(struct store_session *s, const struct kept_log *logs, size_t count)
{
    size_t written = 0;

    assert_ok(store_write_kept(s, logs, count, &written, ec));
    return written;
}

static bool is_kept(int64_t id)
{
    return test_int("SELECT COUNT(*) FROM shardwheel_kept_log WHERE log_id = %" PRId64, id) == 1;
}

static void runs_that_have_ended_at_an_executor_are_found(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct kept_runs found;
    int64_t ids[6];

    (void)state;
    test_sql("INSERT INTO shardwheel_job (job_id, kept_logs) VALUES (2, 0), (3, 2)");
    ids[0] = add_run(1, 200, 500, "'http://a:1/'");
    ids[1] = add_run(2, 0, 200, "'http://b:1/'"); /* its callback came before the result of its request */
    ids[2] = add_run(1, 200, 0, "'http://a:1/'");
    ids[3] = add_run(1, 500, 500, "'http://a:1/'");
    ids[4] = add_run(1, 200, 500, "NULL");
    ids[5] = add_run(3, 200, 500, "'http://a:1/'");
    write_logs(s, (struct kept_log[]){make_log(ids[5], 3, "x")}, 1);
    assert_ok(store_load_kept_runs(s, ids, ARRAY_LEN(ids), &found, ec));
    assert_int_equal(found.count, 2);
    assert_int_equal(found.runs[0].log_id, ids[0]);
    assert_int_equal(found.runs[0].trigger_ms, NOW_S * 1000);
    assert_int_equal(found.runs[0].handle_code, 500);
    assert_int_equal(found.runs[0].own, -1);
    assert_string_equal(found.runs[0].address, "http://a:1/");
    assert_int_equal(found.runs[1].log_id, ids[1]);
    assert_int_equal(found.runs[1].own, KEPT_NONE);
    kept_runs_fini(&found);
    enum kept_which own = KEPT_NONE;
    assert_ok(store_load_own_kept(s, &own, ec));
    assert_int_equal(own, KEPT_ALL);
    store_give_session(st, s);
    store_destroy(st);
}

static void the_first_of_two_stays_and_is_read_as_it_was(void **state)
{
    static const unsigned char bytes[] = {0, 1, 0xff, 0x27, 0x5c, '\n', 0xab};
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct kept_log first = {.log_id = 7, .job_id = 3, .is_cut = true, .text_len = 9, .data = bytes, .len = 7}, read;
    struct errctx why = {{0}};
    void *memory;

    (void)state;
    assert_int_equal(write_logs(s, &first, 1), 1);
    assert_int_equal(write_logs(s, (struct kept_log[]){make_log(7, 3, "late"), make_log(8, 3, "")}, 2), 1);
    assert_ok(store_load_kept(s, 7, 3, &read, &memory, ec));
    assert_int_equal(read.len, sizeof bytes);
    assert_memory_equal(read.data, bytes, sizeof bytes);
    assert_true(read.is_cut);
    assert_int_equal(read.text_len, 9);
    assert_true(read.at_ms > 0);
    free(memory);
    assert_int_equal(store_load_kept(s, 9, 3, &read, &memory, &why), ERR_NOTFOUND);
    /* An id that was given out again is another run. */
    assert_int_equal(store_load_kept(s, 7, 4, &read, &memory, &why), ERR_NOTFOUND);
    store_give_session(st, s);
    store_destroy(st);
}

static void kept_logs_go_with_their_runs(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct clean_walk walk = {.before_day = 19800, .except = true};
    int64_t ids[4];
    size_t deleted;
    bool more;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ids); i++) {
        ids[i] = add_run(i == 3 ? 9 : 1, 200, 500, "'http://a:1/'");
        write_logs(s, (struct kept_log[]){make_log(ids[i], 1, "x")}, 1);
    }
    assert_ok(store_clear_runs(s, ids, 1, &deleted, ec));
    assert_false(is_kept(ids[0]));
    assert_ok(store_delete_expired(s, &walk, &ids[1], 1, &deleted, ec));
    assert_int_equal(deleted, 1);
    assert_false(is_kept(ids[1]));
    test_sql("INSERT INTO shardwheel_removed (job_id, at_ms, log_id, last_id) VALUES (9, 0, 0, %" PRId64 ")", ids[3]);
    assert_ok(store_delete_removed(s, 9, 0, &deleted, &more, ec));
    assert_false(is_kept(ids[3]));
    assert_true(is_kept(ids[2]));
    store_give_session(st, s);
    store_destroy(st);
}

static void the_oldest_go_first(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t bytes = 0;
    size_t removed = 0;

    (void)state;
    for (int64_t id = 1; id <= 6; id++) {
        write_logs(s, (struct kept_log[]){make_log(id, 1, "0123456789")}, 1);
        test_sql("UPDATE shardwheel_kept_log SET at_ms = %" PRId64 " WHERE log_id = %" PRId64, 1000 - id, id);
    }
    assert_ok(store_measure_kept(s, &bytes, ec));
    assert_int_equal(bytes, 60);
    assert_ok(store_clean_kept(s, 995, 0, 500, &removed, &bytes, ec)); /* by age */
    assert_int_equal(removed, 1);
    assert_int_equal(bytes, 10);
    assert_false(is_kept(6));
    assert_ok(store_clean_kept(s, 0, 11, 500, &removed, &bytes, ec)); /* by size */
    assert_int_equal(removed, 2);
    assert_true(is_kept(3) && is_kept(2) && is_kept(1) && !is_kept(4));
    assert_ok(store_clean_kept(s, 2000, 0, 2, &removed, &bytes, ec));
    assert_int_equal(removed, 2);
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_that_have_ended_at_an_executor_are_found),
        cmocka_unit_test(the_first_of_two_stays_and_is_read_as_it_was),
        cmocka_unit_test(kept_logs_go_with_their_runs),
        cmocka_unit_test(the_oldest_go_first),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
