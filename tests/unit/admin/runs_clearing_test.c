/* SPDX-License-Identifier: MIT */
/* Rows that people clear, on a real database: also while somebody holds some, and when the node stops. */
#include "admin/runs/clearing.h"
#include "shardwheel/admin/runs.h"
#include "store/test_db.h"

#define NOW_S INT64_C(1700000000)

static struct store *st;
static struct run_clearing *clearing;

static int set_up(void **state)
{
    (void)state;
    st = test_db_fresh(1, NOW_S);
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_time, trigger_code, handle_code) SELECT seq, 1, "
             "1, '2023-11-15 00:00:00' + INTERVAL seq SECOND, 200, 200 FROM seq_1_to_3000");
    clearing = run_clearing_create(st, clock_system());
    assert_non_null(clearing);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    run_clearing_destroy(clearing);
    store_destroy(st);
    return 0;
}

struct waiter {
    struct thread thread;
    struct clear_order order;
    int64_t wait_ms;
    struct run_cleared got;
    enum err e;
};

static void submit(void *arg)
{
    struct waiter *w = arg;
    struct errctx ec;

    w->e = run_clearing_submit(clearing, &w->order, w->wait_ms, &w->got, &ec);
}

static void orders_are_done_one_after_the_other(void **state)
{
    struct waiter all[3] = {{.order.keep = 2500}, {.order.keep = 1000}, {.order.keep = 5000}};
    struct errctx ec;
    int64_t deleted = 0;
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        all[i].wait_ms = TEST_DEADLINE_MS;
        assert_int_equal(thread_start(&all[i].thread, "waiter", submit, &all[i], &ec), ERR_OK);
    }
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        thread_join(&all[i].thread);
        assert_int_equal(all[i].e, ERR_OK);
        assert_true(all[i].got.done);
        deleted += all[i].got.deleted;
    }
    assert_int_equal(deleted, 2000);
    assert_int_equal(all[2].got.deleted, 0);
    assert_string_equal(test_text("SELECT CONCAT_WS(' ', COUNT(*), MIN(id)) FROM xxl_job_log"), "1000 2001");
}

/* Whoever asked goes; the rest is removed when the rows are free. */
static void rows_that_are_held_are_waited_for(void **state)
{
    struct waiter w = {.wait_ms = 300};
    struct db *other = test_connect();
    (void)state;

    test_run(other, "USE xxl_job");
    test_run(other, "BEGIN");
    test_run(other, "UPDATE xxl_job_log SET handle_msg = 'x' WHERE id = 2990");
    submit(&w);
    assert_int_equal(w.e, ERR_OK);
    assert_false(w.got.done);
    test_run(other, "COMMIT");
    test_wait("SELECT COUNT(*) = 0 FROM xxl_job_log");
    db_close(other);
}

static void a_stop_waits_for_nobody(void **state)
{
    struct waiter w = {.wait_ms = 3600000};
    struct db *other = test_connect();
    struct errctx ec;
    (void)state;

    test_run(other, "USE xxl_job");
    test_run(other, "BEGIN");
    test_run(other, "UPDATE xxl_job_log SET handle_msg = 'x' WHERE id = 2990");
    assert_int_equal(thread_start(&w.thread, "waiter", submit, &w, &ec), ERR_OK);
    test_wait("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'DELETE FROM xxl_job_log%'");
    run_clearing_stop(clearing);
    thread_join(&w.thread);
    run_clearing_destroy(clearing); /* the statement waits a second for its lock */
    assert_int_equal(w.e, ERR_OK);
    assert_false(w.got.done);
    clearing = run_clearing_create(st, clock_system());
    run_clearing_stop(clearing);
    submit(&w);
    assert_int_equal(w.e, ERR_BUSY);
    db_close(other);
}

/* Each piece says how far it got; the next one goes on there and none removes anything behind its end. */
static void a_piece_ends_with_its_time(void **state)
{
    struct waiter w = {.wait_ms = 30, .order = {.keep = 10, .in_pieces = true}};
    int64_t deleted = 0, pieces = 0;
    (void)state;

    for (; !w.got.done; pieces++) {
        submit(&w);
        assert_int_equal(w.e, ERR_OK);
        deleted += w.got.deleted;
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 3000 - deleted);
        w.order.from = w.got.at;
    }
    assert_true(pieces > 1);
    assert_int_equal(deleted, 2990);
    assert_int_equal(test_int("SELECT MIN(id) FROM xxl_job_log"), 2991);
}

/* A piece that waits behind another order, whose row is held, is taken back when its time is over. */
static void a_piece_does_not_wait_in_line(void **state)
{
    struct waiter first = {.wait_ms = 0}, w = {.wait_ms = 50, .order = {.keep = 10, .in_pieces = true}};
    struct db *other = test_connect();
    (void)state;

    test_run(other, "USE xxl_job");
    test_run(other, "BEGIN");
    test_run(other, "UPDATE xxl_job_log SET handle_msg = 'x' WHERE id = 2990");
    submit(&first);
    submit(&w);
    assert_int_equal(w.e, ERR_OK);
    assert_false(w.got.done);
    assert_int_equal(w.got.deleted, 0);
    assert_int_equal(w.got.at.id, 0);
    test_run(other, "COMMIT");
    test_wait("SELECT COUNT(*) = 0 FROM xxl_job_log");
    db_close(other);
}

static void too_many_orders_are_refused(void **state)
{
    struct db *other = test_connect();
    struct waiter w = {.wait_ms = 0};
    (void)state;

    test_run(other, "USE xxl_job");
    test_run(other, "BEGIN");
    test_run(other, "UPDATE xxl_job_log SET handle_msg = 'x' WHERE id = 2990");
    for (int i = 0; i < RUNS_CLEARS_MAX; i++) {
        submit(&w);
        assert_int_equal(w.e, ERR_OK);
    }
    submit(&w);
    assert_int_equal(w.e, ERR_BUSY);
    db_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(orders_are_done_one_after_the_other, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rows_that_are_held_are_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_stop_waits_for_nobody, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_piece_ends_with_its_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_piece_does_not_wait_in_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(too_many_orders_are_refused, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
