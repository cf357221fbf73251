/* SPDX-License-Identifier: MIT */
#include "store/test_db.h"

#include "store/conn/datetime.h"
#include "shardwheel/job.h"
#include "shardwheel/store/plan.h"

#define NOW_S INT64_C(1700000000)

/* A row of job `job` whose trigger_time is due_s in the zone of the store, with that trigger_msg. The id. */
static int64_t add_log(struct store *st, int64_t job, int64_t due_s, const char *msg)
{
    char at[DATETIME_TEXT_MAX];

    datetime_format(store_get_zone(st), due_s, at);
    test_sql(
        "INSERT INTO xxl_job_log (job_group, job_id, executor_handler, executor_param, trigger_time, trigger_code, "
        "trigger_msg, handle_code) VALUES (3, %" PRId64 ", 'demo', 'p', '%s', 0, '%s', 0)",
        job, at, msg);
    return test_int("SELECT MAX(id) FROM xxl_job_log");
}

static int64_t add_marked(struct store *st, int64_t job, int64_t due_s, int64_t epoch)
{
    char mark[100];

    fire_format_mark(&(struct fire){.due_s = due_s, .original_due_s = due_s, .epoch = epoch}, mark);
    return add_log(st, job, due_s, mark);
}

struct loaded {
    struct fire *beyond;
    size_t beyond_count;
    struct fire *before;
    size_t before_count;
};

static struct loaded load(struct store_session *s, int shard, int n, int64_t epoch, int64_t cursor_s)
{
    struct loaded l = {0};

    assert_ok(store_load_before(s, shard, n, epoch, cursor_s, 0, &l.before, &l.before_count, ec));
    assert_ok(store_load_beyond(s, shard, n, epoch, cursor_s, &l.beyond, &l.beyond_count, ec));
    return l;
}

static void drop(struct loaded *l)
{
    fire_destroy_list(l->beyond);
    fire_destroy_list(l->before);
}

static void planned_rows_are_sorted_out_by_the_cursor(void **state)
{
    struct store *st = test_db_fresh(2, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);

    (void)state;
    int64_t later = add_marked(st, 2, NOW_S + 3, 4);
    int64_t next = add_marked(st, 4, NOW_S + 1, 4);
    int64_t next_too = add_marked(st, 6, NOW_S + 1, 5);
    int64_t at_cursor = add_marked(st, 2, NOW_S, 4);
    int64_t old = add_marked(st, 4, NOW_S - 899, 1);
    add_marked(st, 2, NOW_S - 10, 5);   /* planned under the present epoch: its sender is alive */
    add_marked(st, 3, NOW_S + 1, 4);    /* of the other shard */
    add_marked(st, 2, NOW_S - 2000, 1); /* too old to look at */
    add_log(st, 2, NOW_S + 1, "");      /* a Java admin's */
    add_log(st, 2, NOW_S + 1, "<!--sw:d:node-->");
    add_log(st, 2, NOW_S + 1, "<!--SW:P:1700000001:4-->"); /* a mark to the collation only */
    test_sql("UPDATE xxl_job_log SET trigger_code = 200 WHERE id = %" PRId64, add_marked(st, 2, NOW_S + 1, 4));
    test_sql("UPDATE xxl_job_log SET handle_code = 200 WHERE id = %" PRId64, add_marked(st, 2, NOW_S + 1, 4));
    struct loaded l = load(s, 0, 2, 5, NOW_S);
    assert_int_equal(l.before_count, 2);
    assert_int_equal(l.before->log_id, old);
    assert_int_equal(l.before->due_s, NOW_S - 899);
    assert_int_equal(l.before->epoch, 5);
    assert_int_equal(l.before->next->log_id, at_cursor);
    assert_null(l.before->next->next);
    assert_int_equal(l.beyond_count, 3);
    const struct fire *f = l.beyond;
    assert_int_equal(f->log_id, next);
    assert_int_equal(f->job_id, 4);
    assert_int_equal(f->group, 3);
    assert_int_equal(f->due_s, NOW_S + 1);
    assert_int_equal(f->original_due_s, NOW_S + 1);
    assert_int_equal(f->epoch, 5);
    assert_int_equal(f->shard, 0);
    assert_int_equal(f->shard_total, 1);
    assert_false(f->broadcast);
    assert_null(f->address);
    assert_int_equal(f->row_hash, fire_row_hash(3, "demo", "p", 0));
    assert_int_equal(f->next->log_id, next_too);
    assert_int_equal(f->next->next->log_id, later);
    assert_null(f->next->next->next);
    drop(&l);
    l = load(s, 1, 2, 5, NOW_S + 500);
    assert_null(l.beyond);
    assert_int_equal(l.before_count, 1);
    drop(&l);
    /* Only what is due after a second that is settled. */
    assert_ok(store_load_before(s, 0, 2, 5, NOW_S, NOW_S - 899, &l.before, &l.before_count, ec));
    assert_int_equal(l.before_count, 1);
    assert_int_equal(l.before->log_id, at_cursor);
    fire_destroy_list(l.before);
    store_give_session(st, s);
    store_destroy(st);
}

static void broadcast_rows_keep_their_address(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);

    (void)state;
    int64_t id = add_log(st, 2, NOW_S + 2, "<!--sw:p:1700000002:1:L:M:O1699999000-->");
    test_sql("UPDATE xxl_job_log SET executor_sharding_param = '1/3', executor_address = 'http://b/', "
             "executor_handler = NULL, executor_param = NULL, executor_fail_retry_count = 2 WHERE id = %" PRId64,
             id);
    id = add_marked(st, 2, NOW_S + 3, 1);
    test_sql("UPDATE xxl_job_log SET executor_sharding_param = 'x/3', executor_address = 'http://c/' WHERE id = "
             "%" PRId64,
             id);
    struct loaded l = load(s, 0, 1, 2, NOW_S);
    assert_true(l.beyond->broadcast);
    assert_int_equal(l.beyond->shard_index, 1);
    assert_int_equal(l.beyond->shard_total, 3);
    assert_string_equal(l.beyond->address, "http://b/");
    assert_int_equal(l.beyond->kind, TRIGGER_MISFIRE);
    assert_int_equal(l.beyond->flags, FIRE_LAST);
    assert_int_equal(l.beyond->original_due_s, 1699999000);
    assert_int_equal(l.beyond->row_hash, fire_row_hash(3, "", NULL, 2));
    assert_false(l.beyond->next->broadcast);
    assert_null(l.beyond->next->address);
    assert_int_equal(l.beyond->next->shard_total, 1);
    drop(&l);
    store_give_session(st, s);
    store_destroy(st);
}

/* The clock goes back, and ahead, between cursor and rows. */
static void rows_are_found_across_dst(void **state)
{
    static const int64_t changes[] = {1698541200, 1679792400};

    (void)state;
    test_db.opts.zone = "Europe/Berlin";
    for (size_t i = 0; i < ARRAY_LEN(changes); i++)
        for (int64_t cursor_s = changes[i] - 700; cursor_s <= changes[i] + 700; cursor_s += 200) {
            struct store *st = test_store();
            struct store_session *s;
            if (cursor_s == changes[i] - 700) {
                store_destroy(st);
                st = test_db_fresh(1, NOW_S);
            }
            s = test_take(st, SESSION_NORMAL);
            test_sql("DELETE FROM xxl_job_log");
            for (int64_t d = -600; d <= 600; d += 100)
                add_marked(st, 1, cursor_s + d, 1);
            struct loaded l = load(s, 0, 1, 2, cursor_s);
            assert_int_equal(l.before_count, 7);
            size_t n = 0;
            for (const struct fire *f = l.beyond; f; f = f->next)
                n++;
            assert_int_equal(n, 6);
            drop(&l);
            store_give_session(st, s);
            store_destroy(st);
        }
    test_db.opts.zone = "Asia/Shanghai";
}

/* Among many old rows the server must read a range of an index: see what it would do. */
static void loading_does_not_read_the_whole_log(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);

    (void)state;
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, trigger_msg, handle_code) "
             "SELECT 1, seq %% 100, '2023-11-01 00:00:00' + INTERVAL seq * 20 SECOND, 200, 'x', 200 FROM "
             "seq_1_to_60000");
    test_sql("ANALYZE TABLE xxl_job_log");
    add_marked(st, 1, NOW_S + 1, 1);
    struct loaded l = load(s, 0, 1, 2, NOW_S);
    assert_non_null(l.beyond);
    drop(&l);
    /* The statement as it was sent is still in the session's buffer. */
    struct buf sql = {0};
    buf_puts(&sql, "EXPLAIN ");
    buf_append(&sql, s->sql.text.data, s->sql.text.len);
    struct db_rows *rows = NULL;
    assert_ok(db_query(test_db.sql, sql.data, sql.len, &rows, ec));
    assert_true(db_rows_next(rows));
    assert_string_not_equal(db_text(rows, 3), "ALL"); /* type */
    assert_true(db_int(rows, 8) < 1000);              /* rows */
    db_rows_destroy(rows);
    buf_fini(&sql);
    store_give_session(st, s);
    store_destroy(st);
}

static void unknown_deliveries_end_once(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t ids[605];
    size_t ended = 0;

    (void)state;
    for (int i = 0; i < 5; i++)
        ids[i] = add_marked(st, 1, NOW_S, 1);
    for (int i = 5; i < 605; i++)
        ids[i] = 100000 + i; /* not there */
    ids[604] = add_marked(st, 1, NOW_S, 1);
    test_sql("UPDATE xxl_job_log SET trigger_code = 200 WHERE id = %" PRId64, ids[1]);
    test_sql("UPDATE xxl_job_log SET handle_code = 200 WHERE id = %" PRId64, ids[2]);
    test_sql("UPDATE xxl_job_log SET trigger_msg = NULL WHERE id = %" PRId64, ids[3]);
    assert_ok(store_end_unknown(s, ids, 605, &ended, ec));
    assert_int_equal(ended, 3);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code = 500 AND handle_code = 0 AND "
                              "alarm_status = 0 AND trigger_msg LIKE '<!--sw:p:1700000000:1-->delivery unknown%%'"),
                     3);
    assert_int_equal(test_int("SELECT trigger_code FROM xxl_job_log WHERE id = %" PRId64, ids[604]), 500);
    assert_ok(store_end_unknown(s, ids, 605, &ended, ec));
    assert_int_equal(ended, 0);
    assert_ok(store_end_unknown(s, ids, 0, &ended, ec));
    store_give_session(st, s);
    store_destroy(st);
}

static void cancelled_rows_go_where_they_are_open(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t ids[4];

    (void)state;
    for (int i = 0; i < 4; i++)
        ids[i] = add_marked(st, 1, NOW_S, 1);
    add_marked(st, 1, NOW_S, 1); /* not named */
    test_sql("UPDATE xxl_job_log SET trigger_code = 200 WHERE id = %" PRId64, ids[1]);
    test_sql("UPDATE xxl_job_log SET handle_code = 500 WHERE id = %" PRId64, ids[2]);
    test_sql("UPDATE xxl_job_log SET trigger_msg = 'x' WHERE id = %" PRId64, ids[3]);
    assert_ok(store_cancel_planned(s, ids, 4, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 4);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE id = %" PRId64, ids[0]), 0);
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(planned_rows_are_sorted_out_by_the_cursor),
        cmocka_unit_test(broadcast_rows_keep_their_address),
        cmocka_unit_test(rows_are_found_across_dst),
        cmocka_unit_test(loading_does_not_read_the_whole_log),
        cmocka_unit_test(unknown_deliveries_end_once),
        cmocka_unit_test(cancelled_rows_go_where_they_are_open),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
