/* SPDX-License-Identifier: MIT */
/* What a restore makes of each row that the backup has. The clock of the session stands still, so that the second of
 * the restore is known. */
#include "store/test_db.h"

#include "shardwheel/store/restore.h"

#define NOW_S INT64_C(1700000000) /* of the backup */
#define AT_S (NOW_S + 100)
#define NOW_TEXT "2023-11-15 06:13:20"
#define EPOCHS 1000000
#define IDS 1000000

static struct store *st;
static struct store_session *s;

static void start_session(void)
{
    s = test_take(st, SESSION_NORMAL);
    test_run(s->db, "SET timestamp = 1700000100");
}

static int set_up(void **state)
{
    (void)state;
    st = test_db_fresh(2, NOW_S);
    start_session();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    store_give_session(st, s);
    store_destroy(st);
    return 0;
}

/* ---- orders ------------------------------------------------------------------------------------------------------ */

static struct {
    struct restore_next next[10]; /* of each job */
    size_t asked;
    int64_t ids[10]; /* whom it was asked of */
} asked;

static enum err find_next(void *arg, const struct job_due *job, int64_t at_s, struct restore_next *out,
                          struct errctx *ec)
{
    (void)ec;
    assert_ptr_equal(arg, &asked);
    assert_int_equal(at_s, AT_S);
    assert_in_range(job->id, 1, 9);
    asked.ids[asked.asked++] = job->id;
    *out = asked.next[job->id];
    return ERR_OK;
}

static struct restore_order make_order(void)
{
    asked.asked = 0;
    return (struct restore_order){.ids = 50, .force = true, .find_next = find_next, .arg = &asked};
}

static struct restore_result restore(struct restore_order order)
{
    struct restore_result result;

    assert_ok(store_after_restore(s, &order, &result, ec));
    assert_int_equal(result.at_s, AT_S);
    return result;
}

/* All that it could change. */
static void show_all(struct buf *out)
{
    static const char *const tables[] = {"xxl_job_log",        "xxl_job_info",        "shardwheel_later",
                                         "shardwheel_shard",   "shardwheel_cursor",   "shardwheel_takeover",
                                         "shardwheel_node",    "shardwheel_guard",    "shardwheel_reshard",
                                         "shardwheel_session", "shardwheel_flow_run", "shardwheel_audit"};

    buf_clear(out);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
        struct db_rows *rows = NULL;
        char sql[80];

        snprintf(sql, sizeof sql, "CHECKSUM TABLE %s", tables[i]);
        assert_ok(db_query(test_db.sql, sql, strlen(sql), &rows, ec));
        assert_true(db_rows_next(rows));
        buf_printf(out, "%s %s\n", tables[i], db_text_or_empty(rows, 1));
        db_rows_destroy(rows);
    }
}

/* ---- rows of the log --------------------------------------------------------------------------------------------- */

static void add_log(int64_t id, int64_t job, int trigger_code, int handle_code, int alarm_status, const char *msg,
                    int64_t behind_s)
{
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code, alarm_status, trigger_msg, "
             "trigger_time) VALUES (%" PRId64 ", 1, %" PRId64 ", %d, %d, %d, '%s', '" NOW_TEXT "' + INTERVAL %" PRId64
             " SECOND)",
             id, job, trigger_code, handle_code, alarm_status, msg, behind_s);
}

static void open_rows_end_and_failures_are_settled(void **state)
{
    static const struct {
        int trigger_code, handle_code, alarm_status;
        const char *msg;
        int64_t behind_s;
        const char *then; /* trigger_code, alarm_status, and the text where it ends */
    } cases[] = {
        {0, 0, 0, "<!--sw:p:1700000100:5-->old", 0,
         "500 1 <!--sw:p:1700000100:5-->delivery unknown: the database "
         "was restored from a backup; it may have run since"},
        {0, 0, 0, "<!--sw:p:1700000101:5-->", 0, "0 0 <!--sw:p:1700000101:5-->"},
        {0, 0, 0, "<!--sw:d:a1:1700000050:M-->", 0,
         "500 1 <!--sw:d:a1:1700000050:M-->delivery unknown: the database "
         "was restored from a backup; it may have run since"},
        {0, 0, 0, "<!--sw:h-->", 0, "0 0 <!--sw:h-->"},
        {0, 0, 0, "of a Java admin", 0, "0 1 of a Java admin"},
        {200, 0, 0, "<!--sw:p:1700000050:5-->sent", 0, "200 1 <!--sw:p:1700000050:5-->sent"},
        {200, 0, 0, "sent", 0, "200 1 sent"},
        {500, 0, 0, "failed", 0, "500 1 failed"},
        {200, 500, 0, "failed", 0, "200 1 failed"},
        {200, 502, 0, "failed", 0, "200 1 failed"},
        {200, 200, 0, "succeeded", 0, "200 0 succeeded"},
        {500, 0, 2, "told", 0, "500 2 told"},
        {200, 0, -1, "is being told", 0, "200 -1 is being told"},
        {200, 500, 0, "old", -8 * 86400, "200 1 old"},
        {200, 500, 0, "too old", -8 * 86400 - 1, "200 0 too old"},
    };
    struct restore_order order = make_order();
    struct restore_result result = {0};
    struct buf before = {0}, after = {0};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        add_log((int64_t)i + 1, 5, cases[i].trigger_code, cases[i].handle_code, cases[i].alarm_status, cases[i].msg,
                cases[i].behind_s);
    show_all(&before);
    for (int dry = 1; dry >= 0; dry--) {
        order.dry_run = dry;
        result = restore(order);
        assert_int_equal(result.unknown, 2);
        assert_int_equal(result.running, 2);
        assert_int_equal(result.unhandled, 5);
        assert_int_equal(result.count, 1);
        assert_int_equal(result.jobs[0].id, 5);
        assert_int_equal(result.jobs[0].count, 2);
        assert_int_equal(result.jobs[0].first_s, 1700000050);
        assert_int_equal(result.jobs[0].last_s, 1700000100);
        restore_result_fini(&result);
        if (dry) {
            show_all(&after);
            assert_string_equal(after.data, before.data);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(test_text("SELECT CONCAT_WS(' ', trigger_code, alarm_status, trigger_msg) FROM xxl_job_log "
                                      "WHERE id = %zu",
                                      i + 1),
                            cases[i].then);
    buf_fini(&before);
    buf_fini(&after);
}

/* ---- later rows -------------------------------------------------------------------------------------------------- */

static void add_later(int64_t id, int64_t job, char kind, int planned, int64_t due_s, const char *log_id)
{
    test_sql("INSERT INTO shardwheel_later (id, planned, due_s, job_id, kind, retries_left, generation, "
             "original_due_s, log_id) VALUES (%" PRId64 ", %d, %" PRId64 ", %" PRId64 ", '%c', -1, 0, %" PRId64 ", %s)",
             id, planned, due_s, job, kind, due_s - 7, log_id);
}

static void later_rows_that_were_due_go(void **state)
{
    struct restore_result result;

    (void)state;
    test_add_job(3, (AT_S + 1) * 1000);
    add_later(1, 3, 'M', 0, AT_S, "NULL");
    add_later(2, 3, 'M', 0, AT_S + 1, "NULL");
    add_later(3, 3, 'M', 1, NOW_S, "NULL"); /* it is planned: its row of the log says what becomes of it */
    add_later(4, 3, 'W', 0, AT_S + 500, "NULL");
    add_later(5, 3, 'C', 0, NOW_S, "71");
    add_later(6, 3, 'C', 0, NOW_S, "72");
    add_later(7, 4, 'M', 0, NOW_S, "NULL"); /* there is no such job */
    add_log(71, 3, 0, 0, 0, "<!--sw:h-->waits", 0);
    add_log(72, 3, 500, 0, 0, "<!--sw:h-->has ended", 0);
    result = restore(make_order());
    assert_int_equal(result.later, 5);
    assert_string_equal(test_text("SELECT GROUP_CONCAT(id ORDER BY id) FROM shardwheel_later"), "2,3");
    assert_string_equal(test_text("SELECT CONCAT_WS(' ', trigger_code, alarm_status, trigger_msg) FROM xxl_job_log "
                                  "WHERE id = 71"),
                        "500 1 <!--sw:h-->waits<br>delivery unknown: the database was restored from a backup; it may "
                        "have run since");
    assert_string_equal(test_text("SELECT trigger_msg FROM xxl_job_log WHERE id = 72"), "<!--sw:h-->has ended");
    /* 1 and 4 have had no row of the log. */
    assert_string_equal(test_text("SELECT GROUP_CONCAT(CONCAT_WS(' ', job_group, job_id, trigger_code, alarm_status, "
                                  "trigger_time) ORDER BY id SEPARATOR ', ') FROM xxl_job_log WHERE trigger_msg LIKE "
                                  "'<!--sw:s:1-->%%'"),
                        "1 3 500 1 2023-11-15 06:14:53, 1 3 500 1 2023-11-15 06:23:13");
    assert_int_equal(result.count, 2);
    assert_int_equal(result.jobs[0].id, 3);
    assert_int_equal(result.jobs[0].count, 4);
    assert_int_equal(result.jobs[1].id, 4);
    restore_result_fini(&result);
}

/* ---- jobs -------------------------------------------------------------------------------------------------------- */

static void jobs_that_were_due_go_on_behind_it(void **state)
{
    struct restore_result result;

    (void)state;
    for (int64_t id = 1; id <= 6; id++)
        test_add_job(id, NOW_S * 1000);
    test_sql("UPDATE xxl_job_info SET trigger_last_time = 9");
    test_sql("UPDATE xxl_job_info SET trigger_next_time = %" PRId64 " WHERE id = 3", (AT_S + 1) * 1000);
    test_sql("UPDATE xxl_job_info SET trigger_next_time = %" PRId64 " WHERE id = 4", (AT_S + 1) * 1000 - 1);
    test_sql("UPDATE xxl_job_info SET trigger_status = 0 WHERE id = 5");
    memset(&asked, 0, sizeof asked);
    asked.next[1] = (struct restore_next){
        .skipped = {.count = 3, .more = true, .first_s = NOW_S + 10, .last_s = NOW_S + 30}, .next_ms = 4000};
    asked.next[2] =
        (struct restore_next){.skipped = {.count = 1, .first_s = NOW_S + 20, .last_s = NOW_S + 20}, .stop = true};
    asked.next[4] = (struct restore_next){.next_ms = 5000};
    asked.next[6] =
        (struct restore_next){.skipped = {.count = 1, .first_s = NOW_S + 20, .last_s = NOW_S + 20}, .next_ms = 6000};
    /* Each has a fire under way, too: before and behind what it left out. */
    add_log(81, 2, 0, 0, 0, "<!--sw:p:1700000001:5-->", 0);
    add_log(82, 6, 0, 0, 0, "<!--sw:p:1700000090:5-->", 0);
    add_log(83, 1, 0, 0, 0, "<!--sw:p:1700000001:5-->", 0);
    result = restore(make_order());
    assert_int_equal(asked.asked, 4);
    assert_string_equal(test_text("SELECT GROUP_CONCAT(CONCAT_WS(' ', trigger_status, trigger_last_time, "
                                  "trigger_next_time) ORDER BY id SEPARATOR ', ') FROM xxl_job_info"),
                        "1 1700000000000 4000, 0 0 0, 1 9 1700000101000, 1 1700000100999 5000, 0 9 1700000000000, "
                        "1 1700000000000 6000");
    assert_string_equal(test_text("SELECT GROUP_CONCAT(CONCAT_WS(' ', job_group, job_id, LEFT(trigger_msg, 13)) ORDER "
                                  "BY id SEPARATOR ', ') FROM xxl_job_log WHERE trigger_msg LIKE '<!--sw:s:%%'"),
                        "1 1 <!--sw:s:3-->, 1 2 <!--sw:s:1-->, 1 6 <!--sw:s:1-->");
    assert_int_equal(result.moved, 4);
    assert_int_equal(result.stopped, 1);
    assert_int_equal(result.count, 3);
    assert_int_equal(result.jobs[0].id, 1);
    assert_int_equal(result.jobs[0].count, 4);
    assert_true(result.jobs[0].more);
    assert_false(result.jobs[0].stopped);
    assert_int_equal(result.jobs[0].first_s, NOW_S + 1);
    assert_int_equal(result.jobs[0].last_s, NOW_S + 30);
    assert_int_equal(result.jobs[1].id, 2);
    assert_true(result.jobs[1].stopped);
    assert_false(result.jobs[1].more);
    assert_int_equal(result.jobs[2].id, 6);
    assert_false(result.jobs[2].stopped);
    assert_int_equal(result.jobs[2].last_s, NOW_S + 90);
    restore_result_fini(&result);
}

/* ---- the cluster ------------------------------------------------------------------------------------------------- */

static void the_cluster_begins_anew(void **state)
{
    struct restore_result result;

    (void)state;
    test_sql("UPDATE shardwheel_shard SET epoch = 7, owner = 'node-a'");
    test_sql("UPDATE shardwheel_cursor SET epoch = 9, cursor_s = cursor_s - 5 WHERE shard = 1");
    test_sql("INSERT INTO shardwheel_takeover (shard, epoch, cursor_s, taken_ms) VALUES (0, 7, 1, 1)");
    test_sql("INSERT INTO shardwheel_node (incarnation, node, url, version, started_ms, beat_ms, clock_ms, owned, "
             "drain, release_shard) VALUES ('i', 'node-a', '', '', 1, 1, 0, 2, 0, -1)");
    test_sql("INSERT INTO shardwheel_guard (incarnation, connection, proven_ms) VALUES ('i', 1, 1)");
    test_sql("INSERT INTO shardwheel_session (id, user_id, password_hash, created_ms, used_ms, expires_ms, lives_ms, "
             "address, agent) VALUES ('x', 1, 'x', 1, 1, 1, 1, '', '')");
    test_sql("INSERT INTO shardwheel_token (hash, name, user_id, scopes, created_ms) VALUES ('a', 'a', 1, 'read', 1), "
             "('b', 'b', 1, 'read', 1)");
    result = restore(make_order());
    assert_int_equal(result.from_s, NOW_S);
    assert_int_equal(result.epoch, 9 + EPOCHS);
    assert_int_equal(result.sessions, 1);
    assert_int_equal(result.tokens, 2);
    assert_false(result.reshard);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_shard WHERE shard >= 0 AND owner = '' AND epoch = "
                              "1000009"),
                     2);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_cursor WHERE shard >= 0 AND cursor_s = 1700000100 AND "
                              "epoch = 1000009"),
                     2);
    assert_int_equal(test_int("SELECT (SELECT COUNT(*) FROM shardwheel_takeover) + (SELECT COUNT(*) FROM "
                              "shardwheel_node) + (SELECT COUNT(*) FROM shardwheel_guard) + (SELECT COUNT(*) FROM "
                              "shardwheel_session)"),
                     0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_token"), 2);
    assert_string_equal(test_text("SELECT CONCAT(action, before_json) FROM shardwheel_audit"),
                        "cluster.after-restore{\"cursorSeconds\":1700000000}");
    restore_result_fini(&result);
}

static void a_wish_for_another_number_of_shards_is_withdrawn(void **state)
{
    struct restore_result result;

    (void)state;
    test_sql("REPLACE INTO shardwheel_reshard (id, shards, last_s, tries) VALUES (1, 5, 1, 0)");
    result = restore(make_order());
    assert_true(result.reshard);
    assert_int_equal(test_int("SELECT SUM(shards) FROM shardwheel_reshard"), 0);
    restore_result_fini(&result);
}

/* Of the hour and the day before the backup, the busier one counts. */
static void ids_go_on_behind_all_that_may_be_given(void **state)
{
    static const struct {
        int64_t hour_id, day_id; /* of the first row within them; 0: there is none */
        int64_t more;            /* than IDS */
    } cases[] = {
        {0, 0, 0},
        {90000 - 7200, 0, 4 * 2 * 100},
        {0, 90000 - 86400, 4 * 1 * 100},
        {90000 - 1800, 90000 - 86400, 4 * 1 * 100},
        {90000 - 7200, 1, 4 * 2 * 100},
    };
    struct restore_order order = make_order();
    struct restore_result result;

    (void)state;
    order.ids = 0;
    order.dry_run = true;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        test_sql("DELETE FROM xxl_job_log");
        add_log(90000, 1, 200, 200, 0, "", 5);
        if (cases[i].hour_id)
            add_log(cases[i].hour_id, 1, 200, 200, 0, "", -3600);
        if (cases[i].day_id)
            add_log(cases[i].day_id, 1, 200, 200, 0, "", -86400);
        add_log(2, 1, 200, 200, 0, "", -86401);
        result = restore(order);
        assert_int_equal(result.first_id, 90000 + IDS + cases[i].more);
        restore_result_fini(&result);
    }
    order.dry_run = false;
    order.ids = 50;
    result = restore(order);
    assert_int_equal(result.first_id, 90050);
    restore_result_fini(&result);
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code) VALUES (1, 1, 0, 0)");
    assert_int_equal(test_int("SELECT MAX(id) FROM xxl_job_log"), 90051);
}

static void expect_refused(struct restore_order order, enum err expected, const char *text)
{
    struct buf before = {0}, after = {0};
    struct restore_result result;
    struct errctx why;

    show_all(&before);
    assert_int_equal(store_after_restore(s, &order, &result, &why), expected);
    assert_non_null(strstr(why.text, text));
    show_all(&after);
    assert_string_equal(after.data, before.data);
    buf_fini(&before);
    buf_fini(&after);
}

static void what_cannot_be_is_refused_and_changes_nothing(void **state)
{
    struct restore_order order = make_order();
    struct restore_result result;

    (void)state;
    add_log(1, 5, 0, 0, 0, "<!--sw:p:1700000050:5-->", 0);
    order.from_s = AT_S + 1;
    expect_refused(order, ERR_STATE, "before the backup by 1 s");
    order.from_s = 0;
    test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64 " WHERE shard = 1", AT_S + 3);
    expect_refused(order, ERR_STATE, "before the backup by 3 s");
    test_sql("UPDATE shardwheel_cursor SET cursor_s = %" PRId64, NOW_S);

    order.force = false;
    test_sql("INSERT INTO shardwheel_node (incarnation, node, url, version, started_ms, beat_ms, clock_ms, owned, "
             "drain, release_shard) VALUES ('i', 'node-a', '', '', 1, %" PRId64 ", 0, 2, 0, -1)",
             AT_S * 1000 - 1000);
    expect_refused(order, ERR_BUSY, "node node-a is running");
    order.force = true;
    order.from_s = AT_S; /* that is no mistake */
    result = restore(order);
    assert_int_equal(result.from_s, AT_S);
    restore_result_fini(&result);

    test_sql("UPDATE shardwheel_cluster SET shards = 0");
    expect_refused(order, ERR_STATE, "no node has used this database");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(open_rows_end_and_failures_are_settled),
        TEST(later_rows_that_were_due_go),
        TEST(jobs_that_were_due_go_on_behind_it),
        TEST(the_cluster_begins_anew),
        TEST(a_wish_for_another_number_of_shards_is_withdrawn),
        TEST(ids_go_on_behind_all_that_may_be_given),
        TEST(what_cannot_be_is_refused_and_changes_nothing),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
