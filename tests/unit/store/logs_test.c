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

static int compare_fires(const void *a, const void *b)
{
    const struct fire *x = *(struct fire *const *)a, *y = *(struct fire *const *)b;

    return x->due_s != y->due_s ? (x->due_s < y->due_s ? -1 : 1) : (x->log_id > y->log_id) - (x->log_id < y->log_id);
}

struct loaded {
    struct fire *fires[1000]; /* by due second, then id */
    size_t count;
};

static struct loaded load(struct store_session *s, int64_t from_s, int64_t to_s, int64_t page_rows)
{
    struct log_slice slice = {.from_s = from_s, .to_s = to_s, .limit_ms = 60000, .page_rows = page_rows};
    struct loaded l = {0};

    do {
        struct fire *list = NULL;
        int64_t begun = test_commands("COM_BEGIN");

        assert_ok(store_load_planned(s, &slice, &list, &slice.after_id, ec));
        assert_int_equal(test_commands("COM_BEGIN") - begun, 1); /* a proxy may send other reads elsewhere */
        for (; list; list = list->next)
            l.fires[l.count++] = list;
    } while (slice.after_id > 0);
    qsort(l.fires, l.count, sizeof(struct fire *), compare_fires);
    return l;
}

static void drop(struct loaded *l)
{
    for (size_t i = 0; i < l->count; i++)
        fire_destroy(l->fires[i]);
}

static void open_planned_rows_of_a_slice_are_found(void **state)
{
    struct store *st = test_db_fresh(2, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);

    (void)state;
    int64_t later = add_marked(st, 2, NOW_S + 3, 4);
    int64_t next = add_marked(st, 4, NOW_S + 1, 4);
    int64_t next_too = add_marked(st, 3, NOW_S + 1, 5);
    add_marked(st, 2, NOW_S, 4);     /* at the edge: of the slice before */
    add_marked(st, 2, NOW_S + 4, 5); /* of the next one */
    add_log(st, 2, NOW_S + 1, "");   /* a Java admin's */
    add_log(st, 2, NOW_S + 1, "<!--sw:d:node-->");
    add_log(st, 2, NOW_S + 1, "<!--SW:P:1700000001:4-->"); /* a mark to the collation only */
    test_sql("UPDATE xxl_job_log SET trigger_code = 200 WHERE id = %" PRId64, add_marked(st, 2, NOW_S + 1, 4));
    test_sql("UPDATE xxl_job_log SET handle_code = 200 WHERE id = %" PRId64, add_marked(st, 2, NOW_S + 1, 4));
    /* At once, and in pages that end behind any row, also behind the last one. */
    for (int64_t page_rows = 0; page_rows < 12; page_rows++) {
        struct loaded l = load(s, NOW_S, NOW_S + 3, page_rows);
        const struct fire *f = l.fires[0];

        assert_int_equal(l.count, 3);
        assert_int_equal(f->log_id, next);
        assert_int_equal(f->job_id, 4);
        assert_int_equal(f->group, 3);
        assert_int_equal(f->due_s, NOW_S + 1);
        assert_int_equal(f->original_due_s, NOW_S + 1);
        assert_int_equal(f->epoch, 4);
        assert_int_equal(f->shard_total, 1);
        assert_false(f->broadcast);
        assert_null(f->address);
        assert_int_equal(f->row_hash, fire_row_hash(3, "demo", "p", 0));
        assert_int_equal(l.fires[1]->log_id, next_too);
        assert_int_equal(l.fires[1]->epoch, 5);
        assert_int_equal(l.fires[2]->log_id, later);
        drop(&l);
    }
    struct loaded l = load(s, NOW_S + 100, NOW_S + 200, 0);
    assert_int_equal(l.count, 0);
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
    struct loaded l = load(s, NOW_S, NOW_S + 600, 0);
    assert_int_equal(l.count, 2);
    assert_true(l.fires[0]->broadcast);
    assert_int_equal(l.fires[0]->shard_index, 1);
    assert_int_equal(l.fires[0]->shard_total, 3);
    assert_string_equal(l.fires[0]->address, "http://b/");
    assert_int_equal(l.fires[0]->kind, TRIGGER_MISFIRE);
    assert_int_equal(l.fires[0]->flags, FIRE_LAST);
    assert_int_equal(l.fires[0]->original_due_s, 1699999000);
    assert_int_equal(l.fires[0]->row_hash, fire_row_hash(3, "", NULL, 2));
    assert_false(l.fires[1]->broadcast);
    assert_null(l.fires[1]->address);
    assert_int_equal(l.fires[1]->shard_total, 1);
    drop(&l);
    store_give_session(st, s);
    store_destroy(st);
}

/* The clock goes back, and ahead, within and between slices: each row is found once. */
static void rows_are_found_across_dst(void **state)
{
    static const int64_t changes[] = {1698541200, 1679792400};

    (void)state;
    test_db.opts.zone = "Europe/Berlin";
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        struct store *st = test_db_fresh(1, NOW_S);
        struct store_session *s = test_take(st, SESSION_NORMAL);

        for (int64_t d = -5000; d <= 5000; d += 100)
            add_marked(st, 1, changes[i] + d, 1);
        for (int64_t size = 150; size <= 9600; size *= 2) {
            size_t found = 0;
            for (int64_t from_s = changes[i] - 5001; from_s < changes[i] + 5000; from_s += size) {
                struct loaded l = load(s, from_s, from_s + size, 0);
                found += l.count;
                drop(&l);
            }
            assert_int_equal(found, 101);
        }
        store_give_session(st, s);
        store_destroy(st);
    }
    test_db.opts.zone = "Asia/Shanghai";
}

/* What the server would do for the statement that was sent last: it is still in the session's buffer. */
static struct db_rows *explain(struct store_session *s)
{
    struct db_rows *rows = NULL;
    struct buf sql = {0};

    buf_puts(&sql, "EXPLAIN ");
    buf_puts(&sql, strstr(s->sql.text.data, "SELECT"));
    assert_ok(db_query(test_db.sql, sql.data, sql.len, &rows, ec));
    assert_true(db_rows_next(rows));
    buf_fini(&sql);
    return rows;
}

/* What a search for runs reads does not grow with the log, whatever indexes its schema has. */
static void a_search_for_runs_reads_their_second(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct run_key key = {1, NOW_S + 1, NOW_S + 1};
    struct found_run *rows = NULL;
    struct db_rows *plan;
    size_t count = 0;

    (void)state;
    test_sql("ALTER TABLE xxl_job_log DROP KEY I_jobgroup, DROP KEY I_jobid");
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, trigger_msg, handle_code) "
             "SELECT 1, seq %% 100, '2023-11-01 00:00:00' + INTERVAL seq * 20 SECOND, 200, 'x', 200 FROM "
             "seq_1_to_20000");
    test_sql("ANALYZE TABLE xxl_job_log");
    add_marked(st, 1, NOW_S + 1, 1);
    assert_ok(store_find_runs(s, &key, 1, 1000, &rows, &count, ec));
    assert_int_equal(count, 1);
    plan = explain(s);
    assert_string_equal(db_text_or_empty(plan, 5), "I_trigger_time");
    assert_null(strstr(db_text_or_empty(plan, 9), "filesort"));
    db_rows_destroy(plan);
    assert_non_null(strstr(s->sql.text.data, "IGNORE INDEX (PRIMARY)")); /* whatever the server believes of its rows */
    free(rows);
    store_give_session(st, s);
    store_destroy(st);
}

/* Among many old rows the server must read a range of an index: see what it would do. */
static void loading_does_not_read_the_whole_log(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct fire *list = NULL;
    struct db_rows *rows;
    int64_t last;

    (void)state;
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, trigger_msg, handle_code) "
             "SELECT 1, seq %% 100, '2023-11-01 00:00:00' + INTERVAL seq * 20 SECOND, 200, 'x', 200 FROM "
             "seq_1_to_60000");
    test_sql("ANALYZE TABLE xxl_job_log");
    add_marked(st, 1, NOW_S + 1, 1);
    struct loaded l = load(s, NOW_S, NOW_S + 600, 0);
    assert_int_equal(l.count, 1);
    drop(&l);
    rows = explain(s);
    assert_string_not_equal(db_text(rows, 3), "ALL"); /* type */
    assert_true(db_int(rows, 8) < 1000);              /* rows */
    db_rows_destroy(rows);
    /* All in one second, none of them with an end: the pages go by the index of trigger_time. */
    test_sql("UPDATE xxl_job_log SET handle_code = 0, trigger_time = '2023-11-15 06:13:22' WHERE id > 20000");
    test_sql("ANALYZE TABLE xxl_job_log");
    assert_ok(store_load_planned(
        s,
        &(struct log_slice){
            .from_s = NOW_S + 1, .to_s = NOW_S + 2, .limit_ms = 60000, .page_rows = 300, .after_id = 30000},
        &list, &last, ec));
    assert_null(list);
    assert_int_equal(last, 30300);
    store_give_session(st, s);
    store_destroy(st);
}

/* Nobody waits for a statement whose connection was given up: the server has to end it by itself, and soon. */
static void the_server_ends_what_takes_too_long(void **state)
{
    struct log_slice slice = {.from_s = NOW_S - 60000, .to_s = NOW_S + 60000, .limit_ms = 1};
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t connection = test_connection_id(s), last;
    struct fire *list = NULL;
    struct errctx why;

    (void)state;
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_code, trigger_msg, handle_code) "
             "SELECT 1, 1, '2023-11-15 06:13:21', 200, REPEAT('x', 500), 0 FROM seq_1_to_100000");
    assert_int_equal(store_load_planned(s, &slice, &list, &last, &why), ERR_TIMEOUT);
    slice.page_rows = 90000;
    assert_int_equal(store_load_planned(s, &slice, &list, &last, &why), ERR_TIMEOUT);
    /* The session is the same one, and good. */
    slice = (struct log_slice){.from_s = NOW_S, .to_s = NOW_S + 2, .limit_ms = 60000};
    assert_ok(store_load_planned(s, &slice, &list, &last, ec));
    assert_int_equal(test_connection_id(s), connection);
    assert_non_null(strstr(s->sql.text.data, "max_statement_time=7.5")); /* of a read timeout of 10 s */
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
    assert_ok(store_end_unknown(s, ids, 605, INT64_MAX, &ended, ec));
    assert_int_equal(ended, 3);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE trigger_code = 500 AND handle_code = 0 AND "
                              "alarm_status = 0 AND trigger_msg LIKE '<!--sw:p:1700000000:1-->delivery unknown%%'"),
                     3);
    assert_int_equal(test_int("SELECT trigger_code FROM xxl_job_log WHERE id = %" PRId64, ids[604]), 500);
    assert_ok(store_end_unknown(s, ids, 605, INT64_MAX, &ended, ec));
    assert_int_equal(ended, 0);
    assert_ok(store_end_unknown(s, ids, 0, INT64_MAX, &ended, ec));
    store_give_session(st, s);
    store_destroy(st);
}

static void cancelled_rows_go_where_they_are_open(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t ids[4], resent, epoch, cursor_s;
    const struct gone_fires gone = {.ids = ids, .count = 4, .resent_ids = &resent, .resent_count = 1};
    struct errctx why;

    (void)state;
    for (int i = 0; i < 4; i++)
        ids[i] = add_marked(st, 1, NOW_S, 1);
    add_marked(st, 1, NOW_S, 1); /* not named */
    resent = add_marked(st, 1, NOW_S, 1);
    test_sql("UPDATE xxl_job_log SET trigger_code = 200 WHERE id = %" PRId64, ids[1]);
    test_sql("UPDATE xxl_job_log SET handle_code = 500 WHERE id = %" PRId64, ids[2]);
    test_sql("UPDATE xxl_job_log SET trigger_msg = 'x' WHERE id = %" PRId64, ids[3]);
    assert_ok(store_take_shard(s, 0, 1, "a", 0, 0, &epoch, &cursor_s, ec));
    assert_int_equal(store_cancel_planned(s, 0, epoch - 1, &gone, &why), ERR_STATE);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 6);
    assert_ok(store_cancel_planned(s, 0, epoch, &gone, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 5);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE id = %" PRId64, ids[0]), 0);
    assert_int_equal(test_int("SELECT trigger_code FROM xxl_job_log WHERE id = %" PRId64, resent), 500);
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(open_planned_rows_of_a_slice_are_found),
        cmocka_unit_test(broadcast_rows_keep_their_address),
        cmocka_unit_test(rows_are_found_across_dst),
        cmocka_unit_test(a_search_for_runs_reads_their_second),
        cmocka_unit_test(loading_does_not_read_the_whole_log),
        cmocka_unit_test(the_server_ends_what_takes_too_long),
        cmocka_unit_test(unknown_deliveries_end_once),
        cmocka_unit_test(cancelled_rows_go_where_they_are_open),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
