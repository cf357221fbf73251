/* SPDX-License-Identifier: MIT */
/* The guard beside Java admins: who holds the row, who sees it, and what a claim makes of it. */
#include "store/plan/claim_impl.h"
#include "store/test_claim.h"
#include "shardwheel/store/guard.h"

#define ME "0123456789abcdef"

/* A session that holds the guard, with its row in the table. */
static struct store_session *hold_guard(struct store *st, struct store_session *book, const char *incarnation)
{
    struct store_session *s = test_take(st, SESSION_GUARD);
    int64_t connection = 0, proven_ms = 0;
    bool held = false;

    assert_ok(store_ask_guard(s, incarnation, &connection, ec));
    for (int i = 0; i < 100 && !held; i++)
        assert_ok(store_wait_guard(s, incarnation, 100, &held, &proven_ms, ec));
    assert_true(held);
    assert_ok(store_write_guard(book, incarnation, connection, proven_ms, ec));
    return s;
}

static void kill_session_of(int64_t connection)
{
    test_sql("KILL CONNECTION %" PRId64, connection);
    while (test_int("SELECT COUNT(*) FROM information_schema.processlist WHERE id = %" PRId64, connection))
        test_pause();
}

/* What a Java admin does; false when somebody holds it off. */
static bool java_gets_row(struct db *java)
{
    struct errctx why;
    struct db_rows *rows = NULL;
    static const char sql[] = "SELECT * FROM xxl_job_lock WHERE lock_name = 'schedule_lock' FOR UPDATE";

    test_run(java, "SET innodb_lock_wait_timeout = 1");
    test_run(java, "START TRANSACTION");
    enum err e = db_query(java, sql, sizeof sql - 1, &rows, &why);
    db_rows_destroy(rows);
    test_run(java, "ROLLBACK");
    assert_true(e == ERR_OK || e == ERR_CONFLICT);
    return e == ERR_OK;
}

struct guarded {
    struct fixture f;
    struct store_session *book;
    struct store_session *guard;
    int64_t connection;
    struct claim_guards guards;
    struct db *other;
    struct thread thread;
    enum err e;
    struct errctx why;
};

/* A job that is due, and a guard that is held. */
static void begin(struct guarded *g)
{
    memset(g, 0, sizeof *g);
    set_up(&g->f);
    g->book = test_take(g->f.st, SESSION_GUARD);
    g->guard = hold_guard(g->f.st, g->book, ME);
    g->connection = test_connection_id(g->guard);
    g->other = test_connect();
    test_run(g->other, "USE xxl_job");
    test_add_job(1, NOW_S * 1000);
    make_claim(g->f.s, 0, 1, g->f.epoch, NOW_S * 1000, &g->f.c);
}

static void end(struct guarded *g)
{
    db_close(g->other);
    store_give_session(g->f.st, g->guard);
    store_give_session(g->f.st, g->book);
    tear_down(&g->f);
}

static enum err claim(struct guarded *g)
{
    errctx_clear(&g->why);
    return store_claim_jobs(g->f.s, 0, g->f.epoch, g->f.c.jobs, g->f.c.count, &g->guards, &g->why);
}

static void run_claim(void *arg)
{
    struct guarded *g = arg;

    g->e = claim(g);
}

static bool is_guarded(struct guarded *g)
{
    bool held = false;

    assert_ok(store_check_guards(g->f.s, &g->guards, &held, ec));
    return held;
}

static void assert_refused(struct guarded *g)
{
    assert_int_equal(claim(g), ERR_GUARD);
    assert_non_null(strstr(g->why.text, "no node keeps Java admins on standby"));
    assert_false(g->f.c.jobs[0].advanced);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 0);
    assert_int_equal(test_int("SELECT trigger_next_time FROM xxl_job_info"), NOW_S * 1000);
}

/* ---- holding ------------------------------------------------------------------------------------------------- */

static void a_guard_holds_java_off_and_lets_claims_through(void **state)
{
    struct guarded g;
    int64_t proven_ms = 0;

    (void)state;
    begin(&g);
    assert_false(java_gets_row(g.other));
    assert_ok(store_ping_guard(g.guard, &proven_ms, ec));
    assert_true(proven_ms > NOW_S * 1000);
    assert_int_equal(claim(&g), ERR_OK);
    assert_int_equal(g.guards.count, 1);
    assert_string_equal(g.guards.list[0].incarnation, ME);
    assert_int_equal(g.guards.list[0].connection, g.connection);
    assert_true(is_guarded(&g));
    store_end_guard(g.guard, ME);
    assert_true(java_gets_row(g.other));
    assert_false(is_guarded(&g));
    store_end_guard(g.guard, ME); /* nothing to end any more */
    end(&g);
}

static void no_claim_without_a_living_guard(void **state)
{
    struct guarded g;

    (void)state;
    begin(&g);
    /* Not proven lately: the server may drop it while the claim is under way. */
    test_sql("UPDATE shardwheel_guard SET proven_ms = proven_ms - 9000");
    assert_refused(&g);
    /* The row of another connection, and that of one that only asks. */
    assert_ok(store_write_guard(g.book, ME, g.connection + 1000, INT64_MAX / 2, ec));
    assert_refused(&g);
    assert_ok(store_write_guard(g.book, ME, 0, 0, ec));
    assert_refused(&g);
    assert_ok(store_write_guard(g.book, ME, g.connection, INT64_MAX / 2, ec));
    kill_session_of(g.connection);
    assert_refused(&g);
    test_sql("DELETE FROM shardwheel_guard");
    assert_refused(&g);
    /* Another node's is as good. */
    store_give_session(g.f.st, g.guard);
    g.guard = hold_guard(g.f.st, g.book, "fedcba9876543210");
    assert_int_equal(claim(&g), ERR_OK);
    end(&g);
}

/* Heard of when the claim began, and not for too long when it is to be committed: the server may drop the guard
 * first. */
static void a_proof_that_ages_during_a_claim_undoes_it(void **state)
{
    struct guarded g;

    (void)state;
    begin(&g);
    test_sql("CREATE TRIGGER ages AFTER INSERT ON xxl_job_log FOR EACH ROW UPDATE shardwheel_guard SET proven_ms = "
             "proven_ms - 9000");
    assert_int_equal(claim(&g), ERR_GUARD);
    assert_false(g.f.c.jobs[0].advanced);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 0);
    test_sql("DROP TRIGGER ages");
    assert_int_equal(claim(&g), ERR_OK);
    end(&g);
}

/* A new connection would be one that holds nothing. */
static void a_lost_guard_is_not_connected_anew(void **state)
{
    struct guarded g;
    int64_t proven_ms = 0;
    struct errctx why;

    (void)state;
    begin(&g);
    kill_session_of(g.connection);
    assert_true(java_gets_row(g.other));
    assert_int_equal(store_ping_guard(g.guard, &proven_ms, &why), ERR_LOST);
    assert_int_equal(store_ping_guard(g.guard, &proven_ms, &why), ERR_LOST);
    store_end_guard(g.guard, ME);
    end(&g);
}

static void a_missing_row_is_made(void **state)
{
    struct guarded g;

    (void)state;
    begin(&g);
    store_give_session(g.f.st, g.guard);
    g.guard = NULL;
    test_wait("SELECT IS_FREE_LOCK(CONCAT('sw_guard_', (SELECT CONCAT(incarnation, '_', connection) FROM "
              "shardwheel_guard)))");
    test_sql("DELETE FROM xxl_job_lock");
    g.guard = hold_guard(g.f.st, g.book, ME);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_lock WHERE lock_name = 'schedule_lock'"), 1);
    assert_false(java_gets_row(g.other));
    end(&g);
}

static void a_request_waits_in_the_background(void **state)
{
    struct guarded g;
    struct store_session *second;
    int64_t connection = 0, proven_ms = 0;
    bool held = true, alive = false;
    struct errctx why;

    (void)state;
    begin(&g);
    store_end_guard(g.guard, ME);
    test_run(g.other, "START TRANSACTION");
    test_run(g.other, "UPDATE xxl_job_lock SET lock_name = lock_name"); /* as exclusive as FOR UPDATE */
    for (int round = 0; round < 2; round++) {
        second = test_take(g.f.st, SESSION_GUARD);
        assert_ok(store_ask_guard(second, ME, &connection, ec));
        assert_ok(store_wait_guard(second, ME, 50, &held, &proven_ms, ec));
        assert_false(held);
        assert_ok(store_check_asking(g.book, ME, connection, &alive, ec));
        assert_true(alive);
        if (round == 0) {
            assert_ok(store_kill_session(g.book, connection, ec));
            test_wait("SELECT COUNT(*) = 0 FROM information_schema.processlist WHERE info LIKE '%SHARE MODE'");
            assert_int_equal(store_wait_guard(second, ME, 5000, &held, &proven_ms, &why), ERR_LOST);
            assert_false(held);
            assert_ok(store_check_asking(g.book, ME, connection, &alive, ec));
            assert_false(alive);
        } else {
            test_run(g.other, "ROLLBACK");
            assert_ok(store_wait_guard(second, ME, 5000, &held, &proven_ms, ec));
            assert_true(held);
        }
        store_give_session(g.f.st, second);
    }
    end(&g);
}

static void its_sessions_have_a_place_of_their_own(void **state)
{
    struct store_session *all[10], *guard;
    struct store *st = test_db_fresh(1, NOW_S);

    (void)state;
    for (int i = 0; i < test_db.opts.max_sessions; i++)
        all[i] = test_take(st, SESSION_NORMAL);
    for (int i = 0; i < 3; i++) {
        guard = test_take(st, SESSION_GUARD);
        store_give_session(st, guard);
    }
    for (int i = 0; i < test_db.opts.max_sessions; i++)
        store_give_session(st, all[i]);
    for (int i = 0; i < test_db.opts.max_sessions; i++)
        all[i] = test_take(st, SESSION_NORMAL);
    for (int i = 0; i < test_db.opts.max_sessions; i++)
        store_give_session(st, all[i]);
    store_destroy(st);
}

/* ---- the table ----------------------------------------------------------------------------------------------- */

static void others_are_counted_and_old_rows_go(void **state)
{
    struct guarded g;
    int nodes = -1, held = -1;

    (void)state;
    begin(&g);
    assert_ok(store_count_guards(g.book, ME, &nodes, &held, ec));
    assert_int_equal(nodes, 0);
    assert_int_equal(held, 0);
    assert_ok(store_write_guard(g.book, "asks", 0, 0, ec));
    test_sql(
        "INSERT INTO shardwheel_guard SELECT 'old', 77, proven_ms - 6000 FROM shardwheel_guard WHERE connection > 0");
    test_sql("INSERT INTO shardwheel_guard SELECT 'older', 77, proven_ms - 61000 FROM shardwheel_guard WHERE "
             "incarnation = '" ME "'");
    assert_ok(store_count_guards(g.book, ME, &nodes, &held, ec));
    assert_int_equal(nodes, 1);
    assert_int_equal(held, 0);
    assert_ok(store_count_guards(g.book, "asks", &nodes, &held, ec));
    assert_int_equal(nodes, 1);
    assert_int_equal(held, 1);
    assert_ok(store_delete_guard(g.book, NULL, ec));
    assert_string_equal(test_text("SELECT GROUP_CONCAT(incarnation ORDER BY 1) FROM shardwheel_guard"), ME ",asks,old");
    assert_ok(store_delete_guard(g.book, ME, ec));
    assert_string_equal(test_text("SELECT GROUP_CONCAT(incarnation ORDER BY 1) FROM shardwheel_guard"), "asks,old");
    end(&g);
}

static void assert_parsed(const char *text, int count, const char *first, int64_t connection)
{
    struct claim_guards guards;

    memset(&guards, 0xff, sizeof guards);
    store_parse_guards(text, &guards);
    assert_int_equal(guards.count, count);
    if (count) {
        assert_string_equal(guards.list[0].incarnation, first);
        assert_int_equal(guards.list[0].connection, connection);
    }
}

static void who_wants_the_table_to_himself_is_noticed(void **state)
{
    struct guarded g;
    bool in_way = true;

    (void)state;
    begin(&g);
    assert_ok(store_is_guard_in_way(g.book, &in_way, ec));
    assert_false(in_way);
    store_end_guard(g.guard, ME);
    test_run(g.other, "LOCK TABLES xxl_job_lock WRITE");
    assert_ok(store_is_guard_in_way(g.book, &in_way, ec));
    assert_true(in_way);
    test_run(g.other, "UNLOCK TABLES");
    assert_ok(store_is_guard_in_way(g.book, &in_way, ec));
    assert_false(in_way);
    end(&g);
}

static void lists_of_guards_are_read_as_far_as_they_make_sense(void **state)
{
    (void)state;
    assert_parsed(NULL, 0, NULL, 0);
    assert_parsed("", 0, NULL, 0);
    assert_parsed("a:1", 1, "a", 1);
    assert_parsed("abc:12,d:3", 2, "abc", 12);
    assert_parsed("a:1,b", 1, "a", 1); /* cut by group_concat_max_len */
    assert_parsed("a:1,b:", 1, "a", 1);
    assert_parsed("a:1,", 1, "a", 1);
    assert_parsed("a:1,b:x,c:3", 1, "a", 1);
    assert_parsed("a:0", 0, NULL, 0);
    assert_parsed(":1", 0, NULL, 0);
    assert_parsed("0123456789012345678901234567890123:1", 0, NULL, 0);
    assert_parsed("a:1,b:2,c:3,d:4,e:5,f:6,g:7,h:8,i:9", 8, "a", 1);
}

/* ---- a guard that goes during a claim ------------------------------------------------------------------------- */

static void wait_for_claim(const char *statement)
{
    int64_t deadline = clock_mono_ms(clock_system()) + 900; /* a claim waits for a row for a second */

    while (!test_int("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%s'", statement)) {
        assert_true(clock_mono_ms(clock_system()) < deadline);
        test_pause();
    }
}

/* The claim is in its transaction and waits for the job's row. */
static void start_claim_that_waits(struct guarded *g)
{
    test_run(g->other, "START TRANSACTION");
    test_run(g->other, "UPDATE xxl_job_info SET author = 'x' WHERE id = 1");
    assert_ok(thread_start(&g->thread, "claim", run_claim, g, ec));
    wait_for_claim("SELECT id, trigger_next_time%%FOR UPDATE");
}

static void a_claim_locks_no_row_of_guards(void **state)
{
    struct guarded g;

    (void)state;
    begin(&g);
    start_claim_that_waits(&g);
    assert_ok(store_write_guard(g.book, ME, g.connection, INT64_MAX / 2, ec));
    assert_ok(store_delete_guard(g.book, "nobody", ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT id, "
                              "trigger_next_time%%FOR UPDATE'"),
                     1);
    test_run(g.other, "ROLLBACK");
    thread_join(&g.thread);
    assert_int_equal(g.e, ERR_OK);
    end(&g);
}

static void a_guard_lost_before_the_commit_undoes_the_claim(void **state)
{
    struct guarded g;

    (void)state;
    begin(&g);
    start_claim_that_waits(&g);
    kill_session_of(g.connection);
    test_run(g.other, "ROLLBACK");
    thread_join(&g.thread);
    assert_int_equal(g.e, ERR_GUARD);
    assert_refused(&g);
    end(&g);
}

/* It cannot be undone then, but it is seen. With a second guard that was there from the begin, nothing was lost. */
static void a_guard_lost_during_the_commit_is_seen_after_it(void **state)
{
    (void)state;
    for (int second = 0; second < 2; second++) {
        struct guarded g;
        struct store_session *more = NULL;

        begin(&g);
        if (second)
            more = hold_guard(g.f.st, g.book, "fedcba9876543210");
        test_run(g.other, "BACKUP STAGE START"); /* in the end commits wait, and commits only */
        test_run(g.other, "BACKUP STAGE FLUSH");
        test_run(g.other, "BACKUP STAGE BLOCK_DDL");
        test_run(g.other, "BACKUP STAGE BLOCK_COMMIT");
        assert_ok(thread_start(&g.thread, "claim", run_claim, &g, ec));
        test_wait("SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'COMMIT' "
                  "AND state LIKE 'Waiting for backup%'");
        kill_session_of(g.connection);
        test_run(g.other, "BACKUP STAGE END");
        thread_join(&g.thread);
        assert_int_equal(g.e, ERR_OK);
        assert_true(g.f.c.jobs[0].advanced);
        assert_int_equal(g.guards.count, second + 1);
        assert_int_equal(is_guarded(&g), second);
        store_give_session(g.f.st, more);
        end(&g);
    }
}

static void doubtful_fires_end_with_their_reason(void **state)
{
    struct guarded g;

    (void)state;
    begin(&g);
    assert_int_equal(claim(&g), ERR_OK);
    int64_t id = g.f.c.jobs[0].fires->log_id;
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code) VALUES (999, 1, 1, 0, 0)");
    assert_ok(store_end_doubtful(g.f.s, 0, g.f.epoch, (int64_t[]){id, 999}, 2, ec));
    assert_int_equal(test_int("SELECT trigger_code FROM xxl_job_log WHERE id = %" PRId64, id), 500);
    const char *text = test_text("SELECT trigger_msg FROM xxl_job_log WHERE id = %" PRId64, id);
    assert_non_null(strstr(text, "-->delivery unknown"));
    assert_non_null(strstr(text, "Java admins"));
    assert_int_equal(test_int("SELECT trigger_code FROM xxl_job_log WHERE id = 999"), 0); /* a Java admin's own */
    assert_ok(store_end_doubtful(g.f.s, 0, g.f.epoch, NULL, 0, ec));
    end(&g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_guard_holds_java_off_and_lets_claims_through),
        cmocka_unit_test(no_claim_without_a_living_guard),
        cmocka_unit_test(a_proof_that_ages_during_a_claim_undoes_it),
        cmocka_unit_test(a_lost_guard_is_not_connected_anew),
        cmocka_unit_test(a_missing_row_is_made),
        cmocka_unit_test(a_request_waits_in_the_background),
        cmocka_unit_test(its_sessions_have_a_place_of_their_own),
        cmocka_unit_test(others_are_counted_and_old_rows_go),
        cmocka_unit_test(who_wants_the_table_to_himself_is_noticed),
        cmocka_unit_test(lists_of_guards_are_read_as_far_as_they_make_sense),
        cmocka_unit_test(a_claim_locks_no_row_of_guards),
        cmocka_unit_test(a_guard_lost_before_the_commit_undoes_the_claim),
        cmocka_unit_test(a_guard_lost_during_the_commit_is_seen_after_it),
        cmocka_unit_test(doubtful_fires_end_with_their_reason),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
