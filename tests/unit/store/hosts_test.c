/* SPDX-License-Identifier: MIT */
#include "store/test_db.h"

#include <arpa/inet.h>
#include <pthread.h>

#include "shardwheel/store/cluster.h"
#include "store/hosts/hosts_impl.h"

#define NOW_S INT64_C(1700000000)

static int find_free_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    close(fd);
    return ntohs(at.sin_port);
}

static int start(void **state)
{
    test_db.port = find_free_port();
    test_db_start(state);
    test_sql("CREATE USER tcp@'127.0.0.1' IDENTIFIED BY 'tcp'");
    test_sql("GRANT ALL ON xxl_job.* TO tcp@'127.0.0.1'");
    return 0;
}

/* Addresses: the server, or a port where nobody listens (0). */
static struct store *open_with(const int *ports, size_t count)
{
    struct store_opts opts = test_db.opts;
    struct host_address list[4];
    struct store *st = NULL;

    opts.socket = NULL;
    opts.user = opts.password = "tcp";
    for (size_t i = 0; i < count; i++)
        list[i] = (struct host_address){"127.0.0.1", ports[i] ? ports[i] : 1};
    assert_ok(hosts_create(&opts, list, count, clock_system(), &opts.hosts, ec));
    opts.owns_hosts = true;
    assert_ok(store_create(&opts, clock_system(), NULL, &st, ec));
    return st;
}

static void note_trouble(void *arg)
{
    ++*(int *)arg;
}

static enum err try_session(struct store *st, struct errctx *why)
{
    struct store_session *s = NULL;
    enum err e;

    errctx_clear(why);
    e = store_take_session(st, SESSION_NORMAL, &s, why);
    store_give_session(st, s);
    return e;
}

static void a_single_host_is_in_use_as_it_is(void **state)
{
    struct store *other, *st = test_db_fresh(1, NOW_S);
    struct errctx why;

    (void)state;
    other = open_with(&test_db.port, 1);
    assert_int_equal(try_session(other, &why), ERR_OK);
    assert_int_equal(hosts_get_use(store_get_hosts(other)).index, 0);
    store_destroy(other);
    store_destroy(st);
}

static void of_several_one_that_takes_writes_is_chosen(void **state)
{
    struct store *several, *st = test_db_fresh(1, NOW_S);
    struct errctx why;

    (void)state;
    several = open_with((int[]){0, test_db.port}, 2);
    assert_int_equal(try_session(several, &why), ERR_OK);
    assert_int_equal(hosts_get_use(store_get_hosts(several)).index, 1);
    store_destroy(several);
    several = open_with((int[]){0, test_db.port}, 2);
    test_sql("SET GLOBAL read_only = 1");
    assert_int_equal(try_session(several, &why), ERR_LOST);
    assert_non_null(strstr(why.text, "read-only"));
    assert_non_null(strstr(why.text, "127.0.0.1:1: ")); /* each with its reason */
    test_sql("SET GLOBAL read_only = 0");
    assert_int_equal(try_session(several, &why), ERR_OK);
    store_destroy(several);
    store_destroy(st);
}

static void managed_none_is_in_use_until_somebody_says_so(void **state)
{
    struct store *managed, *st = test_db_fresh(1, NOW_S);
    struct host_facts facts;
    struct hosts *h;
    struct errctx why;
    int troubles = 0;

    (void)state;
    managed = open_with((int[]){0, test_db.port}, 2);
    h = store_get_hosts(managed);
    hosts_manage(h, note_trouble, &troubles);
    hosts_stop(h, "nobody has decided");
    assert_int_equal(try_session(managed, &why), ERR_LOST);
    assert_non_null(strstr(why.text, "nobody has decided"));

    hosts_probe(h, 0, &facts);
    assert_false(facts.reached || facts.takes_writes);
    assert_non_null(strstr(facts.why, "127.0.0.1:1"));
    hosts_probe(h, 1, &facts);
    assert_true(facts.reached && facts.takes_writes && facts.has_tables && !facts.galera);
    assert_int_equal(facts.generation, 0);
    hosts_use(h, 1, facts.server, 1);
    assert_int_equal(try_session(managed, &why), ERR_OK);
    assert_int_equal(troubles, 0);

    /* Another server answers at the address. */
    hosts_use(h, 1, "elsewhere:3306#7", 1);
    assert_int_equal(try_session(managed, &why), ERR_LOST);
    assert_non_null(strstr(why.text, "elsewhere:3306#7"));
    assert_non_null(strstr(why.text, facts.server));
    assert_int_equal(troubles, 1);
    hosts_use(h, 0, "elsewhere:3306#7", 2);
    assert_int_equal(try_session(managed, &why), ERR_LOST);
    assert_int_equal(troubles, 2);
    store_destroy(managed);
    store_destroy(st);
}

/* Whoever was stopped for long must not act on what it is answered. */
static void without_a_lease_nothing_counts(void **state)
{
    struct store *managed, *st = test_db_fresh(1, NOW_S);
    struct cursor_move move = {.shard = 0, .epoch = 0};
    struct store_session *s;
    struct hosts *h;
    struct errctx why;

    (void)state;
    managed = open_with(&test_db.port, 1);
    h = store_get_hosts(managed);
    s = test_take(managed, SESSION_RING);
    hosts_set_lease(h, clock_boot_ms(clock_system()) + 60000);
    assert_false(store_is_moved(s));
    hosts_set_lease(h, clock_boot_ms(clock_system()));
    assert_true(store_is_moved(s));
    errctx_clear(&why);
    assert_int_equal(store_move_cursors(s, &move, 1, NOW_S + 1, &why), ERR_LOST);
    assert_false(move.moved);
    assert_non_null(strstr(why.text, "had no connection to ZooKeeper"));
    assert_int_equal(try_session(managed, &why), ERR_LOST);
    hosts_set_lease(h, INT64_MAX);
    assert_ok(store_move_cursors(s, &move, 1, NOW_S + 1, ec));
    assert_true(move.moved);
    store_give_session(managed, s);
    store_destroy(managed);
    store_destroy(st);
}

static void *sleep_in_statement(void *session)
{
    struct store_session *s = session;
    int64_t none;
    struct errctx why;

    errctx_clear(&why);
    store_start_sql(s, "SELECT SLEEP(60)");
    return (void *)(intptr_t)store_query_number(s, 0, &none, &why);
}

/* Also who waits for an answer: at once, not when its time is over. */
static void all_sessions_move_together(void **state)
{
    struct store *managed, *st = test_db_fresh(1, NOW_S);
    struct store_session *waiting, *idle, *fresh;
    struct cursor_move move = {.shard = 0, .epoch = 0};
    struct host_facts facts;
    struct hosts *h;
    struct errctx why;
    pthread_t thread;
    void *outcome;

    (void)state;
    managed = open_with(&test_db.port, 1);
    h = store_get_hosts(managed);
    hosts_manage(h, NULL, NULL);
    hosts_probe(h, 0, &facts);
    hosts_use(h, 0, facts.server, 1);
    waiting = test_take(managed, SESSION_NORMAL);
    idle = test_take(managed, SESSION_RING);
    assert_false(store_is_moved(idle));
    assert_int_equal(pthread_create(&thread, NULL, sleep_in_statement, waiting), 0);
    test_wait("SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT SLEEP%%'");
    hosts_use(h, 0, facts.server, 2);
    assert_int_equal(pthread_join(thread, &outcome), 0);
    assert_int_equal((intptr_t)outcome, ERR_LOST);
    assert_true(store_is_moved(idle));
    errctx_clear(&why);
    assert_int_equal(store_begin_txn(idle, &why), ERR_OK); /* it connects anew */
    assert_false(store_is_moved(idle));
    store_end_txn(idle);

    assert_ok(store_move_cursors(idle, &move, 1, NOW_S + 1, ec));
    assert_true(move.moved);
    fresh = test_take(managed, SESSION_NORMAL);
    assert_false(store_is_moved(fresh));
    store_give_session(managed, fresh);
    store_give_session(managed, idle);
    store_give_session(managed, waiting);

    /* The same again moves nobody. */
    uint64_t serial = hosts_get_use(h).serial;
    hosts_use(h, 0, facts.server, 2);
    assert_int_equal(hosts_get_use(h).serial, serial);
    store_destroy(managed);
    store_destroy(st);
}

/* All are told to move while the answer is under way: it counts for nothing, though the server has the move. */
static void a_move_of_cursors_that_came_too_late_is_none(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S), *managed = open_with(&test_db.port, 1);
    struct cursor_move move = {.shard = 0, .epoch = 0};
    struct hosts *h = store_get_hosts(managed);
    struct store_session *s;
    struct errctx why;

    (void)state;
    s = test_take(managed, SESSION_RING);
    atomic_fetch_add(&h->serial, 1); /* before the shutdown of the sockets has reached this one */
    errctx_clear(&why);
    assert_int_equal(store_move_cursors(s, &move, 1, NOW_S + 1, &why), ERR_LOST);
    assert_non_null(strstr(why.text, "another database server"));
    assert_false(move.moved);
    assert_int_equal(test_int("SELECT cursor_s FROM shardwheel_cursor"), NOW_S + 1);
    store_give_session(managed, s);
    store_destroy(managed);
    store_destroy(st);
}

static void note_any_trouble(void *arg)
{
    ++*(_Atomic int *)arg;
}

/* Whoever decides hears at once of a server that is gone, or takes no writes any more; idle times cost nothing. */
static void a_connection_that_breaks_is_told(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S), *managed = open_with(&test_db.port, 1);
    struct hosts *h = store_get_hosts(managed);
    _Atomic int troubles = 0;
    struct store_session *s;
    struct host_facts facts;
    struct errctx why;

    (void)state;
    hosts_manage(h, note_any_trouble, &troubles);
    hosts_probe(h, 0, &facts);
    hosts_use(h, 0, facts.server, 1);
    s = test_take(managed, SESSION_NORMAL);
    errctx_clear(&why);
    test_sql("SET GLOBAL read_only = 1");
    assert_int_not_equal(store_check_writable(s, &why), ERR_OK);
    test_sql("SET GLOBAL read_only = 0");
    assert_int_equal(troubles, 1);
    assert_ok(store_check_writable(s, ec));
    assert_int_equal(troubles, 1);

    /* What broke since all moved is nobody's trouble: it belongs to the server of before. */
    assert_ok(store_begin_txn(s, ec));
    hosts_use(h, 0, facts.server, 2);
    assert_int_not_equal(store_check_writable(s, &why), ERR_OK);
    assert_int_equal(troubles, 1);
    store_give_session(managed, s);
    store_destroy(managed);
    store_destroy(st);
}

static void a_raise_fences_all_and_leaves_ids_out(void **state)
{
    struct store *managed, *st = test_db_fresh(2, NOW_S);
    struct host_facts facts;
    struct hosts *h;
    struct errctx why;

    (void)state;
    managed = open_with(&test_db.port, 1);
    h = store_get_hosts(managed);
    hosts_manage(h, NULL, NULL);
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_code, handle_code) VALUES (41, 1, 1, 200, 200)");
    /* The first row says what is, and changes nothing else. */
    assert_ok(hosts_raise(h, 0, 1, "node-a", ec));
    hosts_probe(h, 0, &facts);
    assert_int_equal(facts.generation, 1);
    assert_string_equal(facts.row_server, facts.server);
    assert_int_equal(test_int("SELECT MAX(epoch) FROM shardwheel_shard"), 0);
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code) VALUES (1, 1, 200, 200)");
    assert_int_equal(test_int("SELECT MAX(id) FROM xxl_job_log"), 42);

    test_sql("UPDATE shardwheel_shard SET epoch = 5 + shard");
    test_sql("UPDATE shardwheel_cursor SET epoch = 5 + shard, cursor_s = 77");
    errctx_clear(&why);
    assert_int_equal(hosts_raise(h, 0, 1, "node-b", &why), ERR_STATE);
    assert_non_null(strstr(why.text, "generation 1"));
    assert_int_equal(test_int("SELECT MAX(epoch) FROM shardwheel_shard"), 6);
    assert_ok(hosts_raise(h, 0, 3, "node-b", ec));
    assert_string_equal(test_text("SELECT GROUP_CONCAT(epoch ORDER BY shard) FROM shardwheel_shard"),
                        "1000005,1000006");
    assert_string_equal(test_text("SELECT GROUP_CONCAT(epoch, ' ', cursor_s ORDER BY shard) FROM shardwheel_cursor"),
                        "1000005 77,1000006 77");
    assert_string_equal(test_text("SELECT CONCAT(generation, ' ', node) FROM shardwheel_primary"), "3 node-b");
    test_sql("INSERT INTO xxl_job_log (job_group, job_id, trigger_code, handle_code) VALUES (1, 1, 200, 200)");
    assert_int_equal(test_int("SELECT MAX(id) FROM xxl_job_log"), 10000043);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 3);
    store_destroy(managed);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_single_host_is_in_use_as_it_is),
        cmocka_unit_test(of_several_one_that_takes_writes_is_chosen),
        cmocka_unit_test(managed_none_is_in_use_until_somebody_says_so),
        cmocka_unit_test(without_a_lease_nothing_counts),
        cmocka_unit_test(all_sessions_move_together),
        cmocka_unit_test(a_move_of_cursors_that_came_too_late_is_none),
        cmocka_unit_test(a_connection_that_breaks_is_told),
        cmocka_unit_test(a_raise_fences_all_and_leaves_ids_out),
    };

    return cmocka_run_group_tests(tests, start, test_db_stop);
}
