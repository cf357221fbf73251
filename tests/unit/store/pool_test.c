/* SPDX-License-Identifier: MIT */
#include "store/test_db.h"

#define NOW_S INT64_C(1700000000)

static enum err try_connect(struct store_opts opts, struct errctx *why)
{
    struct store_session *s = NULL;
    struct store *st = NULL;
    enum err e;

    assert_ok(store_create(&opts, clock_system(), NULL, &st, ec));
    e = store_take_session(st, SESSION_NORMAL, &s, why);
    store_give_session(st, s);
    store_destroy(st);
    return e;
}

static void refusals_say_what_and_where(void **state)
{
    struct store_opts opts = test_db.opts;
    struct errctx why;
    struct store *st = NULL;

    (void)state;
    test_db_empty();
    test_sql("CREATE OR REPLACE USER bob IDENTIFIED BY 'right'");
    opts.user = "bob";
    opts.password = "wrong";
    assert_int_equal(try_connect(opts, &why), ERR_DENIED);
    assert_non_null(strstr(why.text, test_db.socket));
    assert_non_null(strstr(why.text, "as user bob"));
    assert_null(strstr(why.text, "wrong"));
    opts.password = "right"; /* but no right to the database */
    assert_int_equal(try_connect(opts, &why), ERR_DENIED);
    opts = test_db.opts;
    opts.database = "absent";
    assert_int_equal(try_connect(opts, &why), ERR_NOTFOUND);
    assert_non_null(strstr(why.text, "absent"));
    opts = test_db.opts;
    opts.socket = "/nonexistent/socket";
    assert_int_equal(try_connect(opts, &why), ERR_LOST);
    opts.socket = NULL;
    opts.host = "127.0.0.1";
    opts.port = 1;
    assert_int_equal(try_connect(opts, &why), ERR_LOST);
    assert_non_null(strstr(why.text, "127.0.0.1:1"));

    opts = test_db.opts;
    opts.zone = "Mars/Olympus";
    assert_int_equal(store_create(&opts, clock_system(), NULL, &st, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "Mars/Olympus"));
    opts = test_db.opts;
    opts.database = "";
    assert_int_equal(store_create(&opts, clock_system(), NULL, &st, &why), ERR_INPUT);
    opts = test_db.opts;
    opts.socket = NULL;
    assert_int_equal(store_create(&opts, clock_system(), NULL, &st, &why), ERR_INPUT);
    opts.host = "h";
    opts.port = 70000;
    assert_int_equal(store_create(&opts, clock_system(), NULL, &st, &why), ERR_INPUT);
    assert_null(st);
}

static void required_tls_is_not_left_out(void **state)
{
    struct store_opts opts = test_db.opts;
    struct errctx why;

    (void)state;
    test_db_empty();
    opts.tls = true;
    assert_int_equal(try_connect(opts, &why), ERR_OK); /* this server has none, and it was only asked for */
    opts.tls_require = true;
    assert_int_equal(try_connect(opts, &why), ERR_DENIED);
    opts.tls_require = false;
    opts.tls_verify = true;
    assert_int_equal(try_connect(opts, &why), ERR_DENIED);
}

static const char *variable(struct store_session *s, const char *name)
{
    static char text[200];
    struct db_rows *rows = NULL;
    char sql[100];

    snprintf(sql, sizeof sql, "SELECT @@SESSION.%s", name);
    assert_ok(db_query(s->db, sql, strlen(sql), &rows, ec));
    assert_true(db_rows_next(rows));
    snprintf(text, sizeof text, "%s", db_text_or_empty(rows, 0));
    db_rows_destroy(rows);
    return text;
}

static void sessions_are_set_up_by_kind(void **state)
{
    struct store *st;
    struct store_session *s[SESSION_KINDS];

    (void)state;
    test_db_empty();
    test_sql("SET GLOBAL sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES', GLOBAL wait_timeout = 600");
    st = test_store();
    for (int kind = 0; kind < SESSION_KINDS; kind++)
        s[kind] = test_take(st, (enum session_kind)kind);
    test_sql("SET GLOBAL sql_mode = DEFAULT, GLOBAL wait_timeout = DEFAULT");
    for (int kind = 0; kind < SESSION_KINDS; kind++) {
        assert_string_equal(variable(s[kind], "sql_mode"), "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION");
        assert_string_equal(variable(s[kind], "tx_isolation"), "READ-COMMITTED");
        assert_string_equal(variable(s[kind], "character_set_client"), "utf8mb4");
        assert_string_equal(variable(s[kind], "autocommit"), "1");
    }
    assert_string_equal(variable(s[SESSION_NORMAL], "wait_timeout"), "600");
    assert_string_equal(variable(s[SESSION_CLAIM], "wait_timeout"), "2");
    assert_string_equal(variable(s[SESSION_NORMAL], "innodb_lock_wait_timeout"), "8"); /* below the read timeout */
    assert_string_equal(variable(s[SESSION_RING], "innodb_lock_wait_timeout"), "1");
    for (int kind = 0; kind < SESSION_KINDS; kind++)
        store_give_session(st, s[kind]);
    store_destroy(st);
}

/* ---- the pool ------------------------------------------------------------------------------------------------ */

static void sessions_are_used_again(void **state)
{
    struct store *st;
    struct counters counters = {0};
    struct store_opts opts = test_db.opts;

    (void)state;
    test_db_empty();
    opts.max_sessions = 2;
    assert_ok(store_create(&opts, clock_system(), &counters, &st, ec));
    struct store_session *a = test_take(st, SESSION_NORMAL);
    assert_int_equal(counters_get(&counters, COUNTER_DB_CONNECTIONS), 1);
    assert_int_equal(counters_get(&counters, COUNTER_DB_UP), 1);
    int64_t id = test_connection_id(a);
    store_give_session(st, a);
    a = test_take(st, SESSION_NORMAL);
    assert_int_equal(test_connection_id(a), id);
    store_give_session(st, a);
    /* Another kind takes the place of an idle one where there is no other place. */
    a = test_take(st, SESSION_CLAIM);
    assert_int_equal(counters_get(&counters, COUNTER_DB_CONNECTIONS), 2);
    struct store_session *b = test_take(st, SESSION_RING);
    assert_int_equal(counters_get(&counters, COUNTER_DB_CONNECTIONS), 2);
    assert_int_equal(b->kind, SESSION_RING);
    store_give_session(st, a);
    store_give_session(st, b);
    store_give_session(st, NULL);
    store_destroy(st);
    assert_int_equal(counters_get(&counters, COUNTER_DB_CONNECTIONS), 0);
}

struct giver {
    struct thread thread;
    struct store *st;
    struct store_session *s;
};

static void run_giver(void *arg)
{
    struct giver *g = arg;

    /* Not before the other thread waits: that it takes nothing idle shows in the list. */
    assert_ok(store_ping(g->s, ec));
    store_give_session(g->st, g->s);
}

static void a_full_pool_is_waited_for(void **state)
{
    struct store *st;
    struct store_opts opts = test_db.opts;
    struct store_session *s = NULL;
    struct errctx why;

    (void)state;
    test_db_empty();
    opts.max_sessions = 1;
    opts.connect_timeout_ms = 300;
    assert_ok(store_create(&opts, clock_system(), NULL, &st, ec));
    struct giver g = {.st = st, .s = test_take(st, SESSION_NORMAL)};
    assert_int_equal(store_take_session(st, SESSION_NORMAL, &s, &why), ERR_TIMEOUT);
    assert_non_null(strstr(why.text, "all 1 database sessions are in use"));
    st->opts.connect_timeout_ms = 20000;
    assert_ok(thread_start(&g.thread, "giver", run_giver, &g, ec));
    s = test_take(st, SESSION_CLAIM);
    thread_join(&g.thread);
    store_give_session(st, s);
    store_destroy(st);
}

static void kill_connection(int64_t id)
{
    char sql[200];

    test_sql("KILL CONNECTION %" PRId64, id);
    snprintf(sql, sizeof sql, "SELECT COUNT(*) = 0 FROM information_schema.processlist WHERE id = %" PRId64, id);
    test_wait(sql);
}

static void a_session_that_the_server_closed_connects_anew(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    struct cursor_move move = {0, 0, false};
    struct shard_row *rows = NULL;
    size_t count = 0;

    (void)state;
    for (int i = 0; i < 4; i++) {
        int64_t id = test_connection_id(s);
        kill_connection(id);
        if (i == 0)
            assert_ok(store_ping(s, ec));
        else if (i == 1)
            assert_ok(store_move_cursors(s, &move, 1, NOW_S + 1, ec));
        else if (i == 2)
            assert_ok(store_load_shards(s, &rows, &count, ec));
        else
            assert_ok(store_init_shards(s, 1, NOW_S, &(int){0}, ec));
        assert_true(test_connection_id(s) != id);
    }
    assert_true(move.moved);
    free(rows);
    /* Killed while idle in the pool. */
    int64_t id = test_connection_id(s);
    store_give_session(st, s);
    kill_connection(id);
    s = test_take(st, SESSION_CLAIM);
    assert_true(test_connection_id(s) != id);
    store_give_session(st, s);
    store_destroy(st);
}

/* What the transaction has read or locked is gone: no later statement of it may do anything. */
static void within_a_transaction_nothing_connects_anew(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_CLAIM);
    struct errctx why;

    (void)state;
    assert_ok(store_begin_txn(s, ec));
    kill_connection(test_connection_id(s));
    for (int i = 0; i < 3; i++)
        assert_int_equal(store_exec(s, NULL, &why, "DELETE FROM shardwheel_shard"), ERR_LOST);
    assert_int_equal(store_begin_txn(s, &why), ERR_LOST);
    assert_int_equal(store_commit_txn(s, &why), ERR_LOST);
    assert_int_equal(store_exec(s, NULL, &why, "DELETE FROM shardwheel_shard"), ERR_LOST);
    store_end_txn(s);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_shard"), 1);
    assert_ok(store_ping(s, ec));
    store_give_session(st, s);
    store_destroy(st);
}

static void a_session_that_is_bound_connects_anew_when_asked_alone(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct errctx why;

    (void)state;
    s->is_bound = true;
    kill_connection(test_connection_id(s));
    for (int i = 0; i < 3; i++)
        assert_int_equal(store_ping(s, &why), ERR_LOST);
    assert_true(s->is_bound);
    assert_ok(store_ready_session(s, ec));
    assert_false(s->is_bound);
    assert_ok(store_ping(s, ec));
    store_give_session(st, s);
    store_destroy(st);
}

static void the_time_is_that_of_the_server(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t before = clock_wall_ms(clock_system()), at = 0;

    (void)state;
    assert_ok(store_load_wall_ms(s, &at, ec));
    assert_in_range(at, before - 5, clock_wall_ms(clock_system()) + 5);
    store_give_session(st, s);
    store_destroy(st);
}

struct mover {
    struct thread thread;
    struct store_session *s;
    struct cursor_move move;
    enum err e;
    struct errctx why;
};

static void run_mover(void *arg)
{
    struct mover *m = arg;

    m->e = store_move_cursors(m->s, &m->move, 1, NOW_S + 5, &m->why);
}

/* A statement that commits by itself: when its connection breaks, nobody knows. */
static void a_broken_write_is_unknown_and_can_be_repeated(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct mover m = {.s = test_take(st, SESSION_NORMAL)};
    struct db *holder = test_connect();

    (void)state;
    int64_t id = test_connection_id(m.s);
    test_run(holder, "START TRANSACTION");
    test_run(holder, "UPDATE shardwheel_cursor SET cursor_s = cursor_s + 1");
    assert_ok(thread_start(&m.thread, "mover", run_mover, &m, ec));
    test_wait("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'UPDATE shardwheel_cursor FORCE%'");
    test_sql("KILL CONNECTION %" PRId64, id);
    thread_join(&m.thread);
    assert_int_equal(m.e, ERR_UNKNOWN);
    assert_false(m.move.moved);
    db_close(holder);
    run_mover(&m);
    assert_int_equal(m.e, ERR_OK);
    assert_true(m.move.moved);
    store_give_session(st, m.s);
    store_destroy(st);
}

static void refused_sql_is_the_caller_s_fault(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct shard_row *rows = NULL;
    size_t count;
    struct errctx why;

    (void)state;
    test_sql("DROP TABLE shardwheel_cursor");
    assert_int_equal(store_load_shards(s, &rows, &count, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "shardwheel_cursor"));
    assert_ok(store_ping(s, ec));
    store_give_session(st, s);
    store_destroy(st);
}

/* As the members of a Galera cluster say it: `number` and `said` by a statement outside of a transaction. */
static enum err signal_error(const char *number, const char *said, struct errctx *why)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    enum err e;

    sql_puts(store_start_sql(s, "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = "), number);
    sql_puts(&s->sql, ", MESSAGE_TEXT = ");
    sql_text(&s->sql, said);
    e = store_write_sql(s, NULL, why);
    store_give_session(st, s);
    store_destroy(st);
    return e;
}

static void what_members_of_a_cluster_refuse(void **state)
{
    struct errctx why;

    (void)state;
    assert_int_equal(signal_error("1213", "Deadlock found", &why), ERR_CONFLICT);
    assert_int_equal(signal_error("1205", "Lock wait timeout exceeded", &why), ERR_CONFLICT);
    assert_int_equal(signal_error("1047", "WSREP has not yet prepared node for application use", &why), ERR_UNKNOWN);
    assert_int_equal(signal_error("1180", "Got error 6 during COMMIT", &why), ERR_UNKNOWN);
    assert_int_equal(
        signal_error("1105", "Percona-XtraDB-Cluster prohibits use of GET_LOCK with pxc_strict_mode = ENFORCING", &why),
        ERR_INPUT);
    assert_non_null(strstr(why.text, "pxc_strict_mode=PERMISSIVE allows named locks"));
    assert_non_null(strstr(why.text, "shardwheel.java-guard=off"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refusals_say_what_and_where),
        cmocka_unit_test(required_tls_is_not_left_out),
        cmocka_unit_test(sessions_are_set_up_by_kind),
        cmocka_unit_test(sessions_are_used_again),
        cmocka_unit_test(a_full_pool_is_waited_for),
        cmocka_unit_test(a_session_that_the_server_closed_connects_anew),
        cmocka_unit_test(within_a_transaction_nothing_connects_anew),
        cmocka_unit_test(a_session_that_is_bound_connects_anew_when_asked_alone),
        cmocka_unit_test(the_time_is_that_of_the_server),
        cmocka_unit_test(a_broken_write_is_unknown_and_can_be_repeated),
        cmocka_unit_test(refused_sql_is_the_caller_s_fault),
        cmocka_unit_test(what_members_of_a_cluster_refuse),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
