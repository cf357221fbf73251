/* SPDX-License-Identifier: MIT */
/* Later rows on a real server: what the contract does not say. */
#include "store/test_schema.h"
#include "shardwheel/job.h"
#include "shardwheel/store/going_back.h"
#include "shardwheel/store/later.h"
#include "shardwheel/store/plan.h"
#include "shardwheel/store/run.h"

#define NOW_S INT64_C(1700000000)

static struct store *st;
static struct store_session *s;

static int setup(void **state)
{
    (void)state;
    st = test_db_fresh(1, NOW_S);
    s = test_take(st, SESSION_CLAIM);
    test_add_job(7, 0);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    store_give_session(st, s);
    store_destroy(st);
    return 0;
}

static int64_t add(int64_t due_s, enum trigger_kind kind, const char *param)
{
    int64_t id = 0;

    assert_ok(store_add_later(
        s,
        &(struct later_row){
            .job_id = 7, .due_s = due_s, .original_due_s = due_s, .kind = kind, .param = param, .retries_left = -1},
        NULL, &id, ec));
    return id;
}

/* Plans it with the job as it is; the id of its log. */
static int64_t plan(int64_t id, int64_t epoch)
{
    struct later_page page;
    struct later_claim claim = {.fate = LATER_PLAN};
    struct fire *f = fire_create();
    int64_t log_id, job = 7;

    assert_ok(store_load_later(s, &id, 1, &page, ec));
    assert_int_equal(page.count, 1);
    claim.row = &page.rows[0];
    claim.fires = f;
    assert_ok(store_load_job_specs(s, &job, 1, &f->job, ec));
    f->job_id = 7;
    f->group = 1;
    f->due_s = claim.row->due_s;
    f->original_due_s = claim.row->original_due_s;
    f->epoch = epoch;
    f->kind = claim.row->kind;
    f->flags = FIRE_LATER;
    if (claim.row->param) {
        struct job_spec *own = job_spec_copy(f->job, claim.row->param, 0);
        job_spec_unref(f->job);
        f->job = own;
    }
    assert_ok(store_claim_later(s, 0, epoch, &claim, 1, ec));
    assert_true(claim.done);
    log_id = f->log_id;
    fire_destroy_list(f);
    later_page_fini(&page);
    return log_id;
}

static int64_t take(void)
{
    int64_t epoch, cursor_s;

    assert_ok(store_take_shard(s, 0, 1, "n", 0, 0, &epoch, &cursor_s, ec));
    return epoch;
}

static void rows_are_listed_by_their_second(void **state)
{
    struct later_page page;
    int64_t late = add(NOW_S + 9, TRIGGER_MANUAL, "p"), soon = add(NOW_S + 1, TRIGGER_RETRY, NULL);

    (void)state;
    assert_ok(store_list_later(s, 0, 10, &page, ec));
    assert_int_equal(page.count, 2);
    assert_int_equal(page.rows[0].id, soon);
    assert_int_equal(page.rows[0].kind, TRIGGER_RETRY);
    assert_null(page.rows[0].param);
    assert_int_equal(page.rows[1].id, late);
    later_page_fini(&page);
    assert_ok(store_list_later(s, 8, 10, &page, ec));
    assert_int_equal(page.count, 0);
    later_page_fini(&page);
    assert_ok(store_list_later(s, 7, 1, &page, ec));
    assert_int_equal(page.count, 1);
    later_page_fini(&page);
    test_sql("UPDATE shardwheel_later SET kind = 'Z' WHERE id = %" PRId64, soon); /* of a release to come */
    assert_ok(store_list_later(s, 0, 10, &page, ec));
    assert_int_equal(page.count, 1);
    assert_int_equal(page.rows[0].id, late);
    later_page_fini(&page);
}

static void what_waits_can_be_cancelled(void **state)
{
    struct errctx why;
    int64_t epoch = take(), waits = add(NOW_S, TRIGGER_MANUAL, NULL), goes = add(NOW_S, TRIGGER_MANUAL, NULL), log_id;

    (void)state;
    assert_ok(store_cancel_later(s, waits, NULL, ec));
    assert_int_equal(store_cancel_later(s, waits, NULL, &why), ERR_NOTFOUND);
    log_id = plan(goes, epoch);
    assert_int_equal(store_cancel_later(s, goes, NULL, &why), ERR_STATE);
    /* One that waits for an executor has a row of the log, which ends. */
    test_sql("UPDATE shardwheel_later SET planned = 0 WHERE id = %" PRId64, goes);
    test_sql("UPDATE xxl_job_log SET trigger_msg = '<!--sw:h-->waits' WHERE id = %" PRId64, log_id);
    assert_ok(store_cancel_later(s, goes, NULL, ec));
    assert_string_equal(test_text("SELECT CONCAT_WS('|', trigger_code, alarm_status, trigger_msg) FROM xxl_job_log "
                                  "WHERE id = %" PRId64,
                                  log_id),
                        "500|1|<!--sw:h-->waits<br>cancelled");
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_later"), 0);
}

/* Between what a claim read and its transaction somebody cancels. */
static void what_is_cancelled_is_not_planned(void **state)
{
    struct later_page page;
    struct later_claim claim = {.fate = LATER_PLAN};
    struct fire *f = fire_create();
    int64_t epoch = take(), id = add(NOW_S, TRIGGER_MANUAL, NULL), job = 7;

    (void)state;
    assert_ok(store_load_later(s, &id, 1, &page, ec));
    claim.row = &page.rows[0];
    claim.fires = f;
    assert_ok(store_load_job_specs(s, &job, 1, &f->job, ec));
    f->flags = FIRE_LATER;
    assert_ok(store_cancel_later(s, id, NULL, ec));
    assert_ok(store_claim_later(s, 0, epoch, &claim, 1, ec));
    assert_false(claim.done);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 0);
    fire_destroy_list(f);
    later_page_fini(&page);
}

static void more_than_a_million_are_refused(void **state)
{
    struct errctx why;
    int64_t id = 0, room_for = LATER_MAX - 3;
    struct later_row row = {.job_id = 7, .kind = TRIGGER_MANUAL, .retries_left = -1};

    (void)state;
    test_sql("INSERT INTO shardwheel_later (planned, due_s, job_id, kind, retries_left, generation, original_due_s) "
             "SELECT 0, 99, 7, 'M', -1, 0, 99 FROM seq_1_to_%" PRId64,
             room_for);
    for (int i = 0; i < 3; i++)
        assert_ok(store_add_later(s, &row, NULL, &id, ec));
    assert_int_equal(store_add_later(s, &row, NULL, &id, &why), ERR_BUSY);
    assert_non_null(strstr(why.text, "1000000"));
    /* Wide gaps in the ids are no rows. */
    test_sql("DELETE FROM shardwheel_later WHERE id > 5 AND id < %d", LATER_MAX);
    assert_ok(store_add_later(s, &row, NULL, &id, ec));
}

/* However many rows wait for another time, the look reads none of them. */
static void a_look_reads_what_is_due_alone(void **state)
{
    struct later_scan scan;
    static const int shards[] = {0};
    int64_t before, after;

    (void)state;
    test_sql("INSERT INTO shardwheel_later (planned, due_s, job_id, kind, retries_left, generation, original_due_s) "
             "SELECT seq %% 2, %" PRId64 " + seq, 7, 'M', -1, 0, 99 FROM seq_1_to_20000",
             NOW_S);
    before = test_int("SELECT SUM(variable_value) FROM information_schema.global_status WHERE variable_name LIKE "
                      "'handler_read%%'");
    for (int i = 0; i < 20; i++) {
        assert_ok(store_scan_later(s, shards, 1, 1, NOW_S + 4, 10, &scan, ec));
        assert_int_equal(scan.count, 2);
        free(scan.list);
    }
    after = test_int("SELECT SUM(variable_value) FROM information_schema.global_status WHERE variable_name LIKE "
                     "'handler_read%%'");
    assert_true(after - before < 2000); /* the query of the counters reads some hundred itself */
}

/* ... nor the rows of what is due of other shards: the index has all that the look asks for. One that was made before
 * its key held the job serves too. */
static void a_look_is_served_by_its_index(void **state)
{
    static const char *const extra[] = {"Using where; Using index", "Using index condition; Using where"};
    static const int shards[] = {0};

    (void)state;
    test_sql("INSERT INTO shardwheel_later (planned, due_s, job_id, kind, retries_left, generation, original_due_s) "
             "SELECT 0, %" PRId64 " - seq %% 9, 1 + seq %% 2, 'M', -1, 0, 99 FROM seq_1_to_2000",
             NOW_S);
    for (int older = 0; older < 2; older++) {
        struct later_scan scan;
        struct db_rows *rows = NULL;
        struct buf sql = {0};

        if (older)
            test_sql("ALTER TABLE shardwheel_later DROP KEY shardwheel_later_due, ADD KEY shardwheel_later_due "
                     "(planned, due_s)");
        assert_ok(store_scan_later(s, shards, 1, 2, NOW_S + 5, 900, &scan, ec));
        assert_int_equal(scan.count, 900);
        assert_false(scan.complete);
        for (size_t i = 0; i < scan.count; i++)
            assert_int_equal(scan.list[i].job_id, 2);
        free(scan.list);
        buf_printf(&sql, "EXPLAIN %s", s->sql.text.data);
        assert_ok(db_query(test_db.sql, sql.data, sql.len, &rows, ec));
        assert_true(db_rows_next(rows));
        assert_string_equal(db_text_or_empty(rows, 5), "shardwheel_later_due");
        assert_string_equal(db_text_or_empty(rows, 9), extra[older]);
        db_rows_destroy(rows);
        buf_fini(&sql);
        (void)add(NOW_S, TRIGGER_MANUAL, NULL);
    }
}

/* Somebody holds the later row of one, and the row of the log of another: the third is planned without a wait. */
static void what_somebody_holds_is_passed_by(void **state)
{
    struct later_claim claims[3] = {0};
    struct later_page page;
    int64_t epoch = take(), ids[3];
    struct db *other = NULL;
    char sql[120];

    (void)state;
    for (int i = 0; i < 3; i++)
        ids[i] = add(NOW_S, TRIGGER_MANUAL, NULL);
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, trigger_msg, handle_code) "
             "VALUES (900, 1, 7, 0, '<!--sw:h-->waits', 0)");
    test_sql("UPDATE shardwheel_later SET log_id = 900, hold_until_s = %" PRId64 " WHERE id = %" PRId64, NOW_S + 60,
             ids[1]);
    assert_ok(store_load_later(s, ids, 3, &page, ec));
    for (int i = 0; i < 3; i++)
        claims[i] = (struct later_claim){.row = &page.rows[i], .fate = i == 1 ? LATER_DROP : LATER_WAIT, .again_s = 99};
    other = test_connect();
    test_run(other, "BEGIN");
    snprintf(sql, sizeof sql, "UPDATE shardwheel_later SET due_s = 5 WHERE id = %" PRId64, ids[0]);
    test_run(other, sql);
    test_run(other, "UPDATE xxl_job_log SET alarm_status = 0 WHERE id = 900");
    assert_ok(store_claim_later(s, 0, epoch, claims, 3, ec));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(claims[i].locked, i < 2);
        assert_int_equal(claims[i].done, i == 2);
    }
    test_run(other, "ROLLBACK");
    assert_ok(store_claim_later(s, 0, epoch, claims, 3, ec));
    for (int i = 0; i < 3; i++)
        assert_true(claims[i].done && !claims[i].locked);
    assert_int_equal(test_int("SELECT trigger_code FROM xxl_job_log WHERE id = 900"), 500);
    later_page_fini(&page);
    db_close(other);
}

/* Old tables: what does not fit a column of the log is cut there; the run has it whole. */
static void a_long_parameter_is_whole_in_the_run(void **state)
{
    struct log_slice slice = {.from_s = NOW_S - 600, .to_s = NOW_S + 600, .limit_ms = 60000};
    struct fire *list = NULL;
    char param[2001];
    int64_t last_id;

    (void)state;
    memset(param, 'x', sizeof param - 1);
    param[sizeof param - 1] = '\0';
    test_sql("ALTER TABLE xxl_job_log MODIFY executor_param VARCHAR(512)");
    (void)plan(add(NOW_S, TRIGGER_API, param), take());
    assert_int_equal(test_int("SELECT LENGTH(executor_param) FROM xxl_job_log"), 512);
    assert_ok(store_load_planned(s, &slice, &list, &last_id, ec));
    assert_non_null(list);
    assert_string_equal(list->own->param, param);
    fire_destroy_list(list);
}

static void rows_are_summed_by_kind(void **state)
{
    struct later_sum sum;
    int64_t epoch = take();

    (void)state;
    add(NOW_S + 9, TRIGGER_MANUAL, NULL);
    add(NOW_S + 5, TRIGGER_MANUAL, NULL);
    add(NOW_S + 7, TRIGGER_RETRY, NULL);
    (void)plan(add(NOW_S, TRIGGER_MANUAL, NULL), epoch);
    test_sql("UPDATE shardwheel_later SET hold_until_s = %" PRId64 " WHERE id = %" PRId64, NOW_S + 60,
             add(NOW_S + 3, TRIGGER_CRON, NULL));
    assert_ok(store_sum_later(s, &sum, ec));
    assert_int_equal(sum.kind[TRIGGER_MANUAL].count, 2);
    assert_int_equal(sum.kind[TRIGGER_MANUAL].first_due_s, NOW_S + 5);
    assert_int_equal(sum.kind[TRIGGER_RETRY].count, 1);
    assert_int_equal(sum.kind[TRIGGER_CRON].count, 0);
    assert_int_equal(sum.held.count, 1);
    assert_int_equal(sum.held.first_due_s, NOW_S + 3);
    assert_int_equal(sum.planned, 1);
}

/* A trigger that went out at once and found nobody takes along what it was given; a retry its parameter alone. */
static void direct_fires_wait_with_what_they_were_given(void **state)
{
    static const struct {
        enum trigger_kind kind;
        bool given;
        const char *row;
    } cases[] = {
        {TRIGGER_MANUAL, true, "0|1700000010|M|given|http://a/,http://b/|4|1700000060|1"},
        {TRIGGER_API, true, "0|1700000010|A|given|http://a/,http://b/|4|1700000060|1"},
        {TRIGGER_API, false, "0|1700000010|A|given|-|4|1700000060|1"}, /* the list of a group that somebody typed in */
        {TRIGGER_RETRY, false, "0|1700000010|R|given|-|4|1700000060|1"},
    };

    (void)state;
    test_sql("INSERT INTO shardwheel_job (job_id, hold_s) VALUES (7, 60)");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fire *f = fire_create();
        struct job_spec *job = NULL;
        int64_t id = 7;
        char mark[100];

        assert_ok(store_load_job_specs(s, &id, 1, &job, ec));
        f->job = job_spec_copy(job, "given", 4);
        job_spec_unref(job);
        f->target = group_spec_create(1, "app", "", /*manual=*/true, "http://a/,http://b/");
        f->addresses_given = cases[i].given;
        f->job_id = 7;
        f->due_s = f->original_due_s = NOW_S;
        f->shard = -1;
        f->kind = cases[i].kind;
        f->generation = 1;
        f->log_id = 1000 + (int64_t)i;
        fire_format_direct_mark(f, "0123456789abcdef", mark);
        test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, trigger_msg, handle_code) "
                 "VALUES (%" PRId64 ", 1, 7, 0, '%s', 0)",
                 f->log_id, mark);
        struct fire_result away = {.log_id = f->log_id, .code = 500, .message = "nobody", .away = f};
        assert_ok(store_write_results(s, &away, 1, ec));
        assert_string_equal(test_text("SELECT CONCAT_WS('|', planned, due_s, kind, param, COALESCE(addresses, '-'), "
                                      "retries_left, hold_until_s, generation) FROM shardwheel_later WHERE log_id = "
                                      "%" PRId64,
                                      f->log_id),
                            cases[i].row);
        fire_destroy(f);
    }
}

/* Every table there is takes a planned fire of a later row, and lets it wait and go on. */
static void each_family_takes_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(test_families); i++) {
        struct log_slice slice = {.from_s = NOW_S - 600, .to_s = NOW_S + 600, .limit_ms = 60000};
        struct fire *list = NULL;
        int64_t last_id, epoch, id, log_id;

        store_give_session(st, s);
        store_destroy(st);
        st = test_db_fresh(1, NOW_S);
        test_add_job(7, 0);
        test_make_family(test_families[i]);
        store_destroy(st);
        st = test_store();
        s = test_take(st, SESSION_CLAIM);
        test_sql("INSERT INTO shardwheel_job (job_id, hold_s) VALUES (7, 60)");
        epoch = take();
        id = add(NOW_S, TRIGGER_MANUAL, "\xf0\x9f\x98\x80");
        log_id = plan(id, epoch);
        for (int again = 0; again < 2; again++) {
            assert_ok(store_load_planned(s, &slice, &list, &last_id, ec));
            assert_non_null(list);
            assert_string_equal(list->own->param, "\xf0\x9f\x98\x80");
            assert_ok(store_load_job_specs(s, &list->job_id, 1, &list->job, ec));
            struct fire_result away = {.log_id = log_id, .code = 500, .message = "nobody", .away = list};
            assert_ok(store_write_results(s, &away, 1, ec));
            fire_destroy_list(list);
            assert_string_equal(test_text("SELECT LEFT(trigger_msg, 11) FROM xxl_job_log WHERE id = %" PRId64, log_id),
                                "<!--sw:h-->");
            assert_int_equal(plan(id, epoch), log_id);
        }
    }
}

/* A Java admin ends no fire of a node that died; what may be on its way is none. */
static void fires_of_a_dead_node_are_told(void **state)
{
    static const char *const rows[] = {
        "'2023-11-15 06:12:20', '<!--sw:p:1:1-->', 0, 0",   "'2023-11-15 06:13:30', '<!--sw:d:ab:1:R-->', 0, 0",
        "'2023-11-15 06:12:19', '<!--sw:p:1:1-->', 0, 0",   "'2023-11-15 06:13:31', '<!--sw:p:1:1-->', 0, 0",
        "'2023-11-15 06:13:20', '<!--sw:h-->', 0, 0",       "'2023-11-15 06:13:20', 'of Java', 0, 0",
        "'2023-11-15 06:13:20', '<!--sw:p:1:1-->', 500, 0", "'2023-11-15 06:13:20', '<!--sw:p:1:1-->', 0, 200",
    };
    struct going_back g;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_time, trigger_msg, trigger_code, handle_code) "
                 "VALUES (1, 7, %s)",
                 rows[i]);
    assert_ok(store_load_going_back(s, &g, ec));
    assert_int_equal(g.left_open, 2);
    assert_true(going_back_is_empty(&g));
    /* Nodes live: this one is being sent. */
    test_sql("UPDATE shardwheel_cursor SET cursor_s = UNIX_TIMESTAMP()");
    test_sql("UPDATE xxl_job_log SET trigger_time = DATE_ADD(UTC_TIMESTAMP(), INTERVAL 8 HOUR)");
    assert_ok(store_load_going_back(s, &g, ec));
    assert_int_equal(g.left_open, 0);
}

int main(void)
{
#define LATER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        LATER_TEST(rows_are_listed_by_their_second),  LATER_TEST(what_waits_can_be_cancelled),
        LATER_TEST(what_is_cancelled_is_not_planned), LATER_TEST(more_than_a_million_are_refused),
        LATER_TEST(a_look_reads_what_is_due_alone),   LATER_TEST(a_look_is_served_by_its_index),
        LATER_TEST(what_somebody_holds_is_passed_by), LATER_TEST(a_long_parameter_is_whole_in_the_run),
        LATER_TEST(rows_are_summed_by_kind),          LATER_TEST(direct_fires_wait_with_what_they_were_given),
        LATER_TEST(each_family_takes_them),           LATER_TEST(fires_of_a_dead_node_are_told),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
