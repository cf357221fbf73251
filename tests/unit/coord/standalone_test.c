/* SPDX-License-Identifier: MIT */
#include "coord/coord_nodes.h"
#include "coord/store_stub.h"

static int store_place;

static int setup(void **state)
{
    (void)state;
    memset(&stub, 0, sizeof stub);
    mutex_init(&stub.lock, LOCK_LEAF);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    end_node(0);
    assert_int_equal(stub.sessions, 0);
    mutex_fini(&stub.lock);
    return 0;
}

static enum err begin(struct errctx *ec)
{
    struct coord_opts opts = {.shards = NODE_SHARDS,
                              .node_name = "one",
                              .store = (struct store *)&store_place,
                              .changed = on_changed,
                              .arg = &nodes[0]};
    struct coord *c = NULL;
    enum err e;

    memset(&nodes[0], 0, sizeof nodes[0]);
    assert_int_equal(coord_create(&opts, clock_system(), &nodes[0].counters, &c, ec), ERR_OK);
    e = coord_start(c, ec);
    if (e)
        coord_destroy(c);
    else
        nodes[0].coord = c;
    return e;
}

static void set_stub(bool foreign, bool away, bool break_session)
{
    mutex_lock(&stub.lock);
    stub.foreign = foreign;
    stub.away = away;
    if (break_session)
        stub.holder = NULL;
    mutex_unlock(&stub.lock);
}

static bool owns_all(void)
{
    return count_owned(0) == NODE_SHARDS;
}

static bool holds_none(void)
{
    return coord_count_held(nodes[0].coord) == 0;
}

static bool is_away(void)
{
    return !coord_is_connected(nodes[0].coord);
}

static bool is_back(void)
{
    return coord_is_connected(nodes[0].coord);
}

static void test_all_shards_at_once(void **state)
{
    (void)state;
    assert_int_equal(begin(NULL), ERR_OK);
    assert_true(wait_until(owns_all, 1000) >= 0);
    assert_int_equal(coord_count_held(nodes[0].coord), NODE_SHARDS);
    assert_true(coord_is_connected(nodes[0].coord));
    assert_int_equal(counters_get(&nodes[0].counters, COUNTER_COORD_UP), 1);
    assert_int_equal(counters_get(&nodes[0].counters, COUNTER_NODES_LIVE), 1);
    assert_int_equal(atomic_load(&nodes[0].changes), NODE_SHARDS);
}

static void test_second_node_is_refused(void **state)
{
    struct errctx ec = {0};

    (void)state;
    set_stub(/*foreign=*/true, /*away=*/false, false);
    assert_int_equal(begin(&ec), ERR_BUSY);
    assert_non_null(strstr(ec.text, "another standalone node"));
}

static void run_predecessor(void *arg)
{
    int tries = 0;

    (void)arg;
    while (tries < 3) {
        wait_a_moment();
        mutex_lock(&stub.lock);
        tries = stub.tries;
        mutex_unlock(&stub.lock);
    }
    set_stub(/*foreign=*/false, false, false);
}

static void test_predecessor_that_ends_is_waited_for(void **state)
{
    struct thread predecessor = {0};

    (void)state;
    set_stub(/*foreign=*/true, false, false);
    assert_int_equal(thread_start(&predecessor, "predecessor", run_predecessor, NULL, NULL), ERR_OK);
    assert_int_equal(begin(NULL), ERR_OK);
    thread_join(&predecessor);
    assert_true(stub.tries > 3);
}

static void test_absent_database_is_an_error(void **state)
{
    struct errctx ec = {0};

    (void)state;
    set_stub(false, /*away=*/true, false);
    assert_int_equal(begin(&ec), ERR_LOST);
    assert_non_null(strstr(ec.text, "database away"));
}

static void test_grants_stay_while_the_database_is_away(void **state)
{
    (void)state;
    assert_int_equal(begin(NULL), ERR_OK);
    assert_true(wait_until(owns_all, 1000) >= 0);
    set_stub(false, /*away=*/true, /*break_session=*/true);
    assert_true(wait_until(is_away, 3000) >= 0);
    assert_true(owns_all());
    set_stub(false, false, false);
    assert_true(wait_until(is_back, 3000) >= 0);
    assert_true(owns_all());
    assert_int_equal(stub.takes, 2);
    assert_int_equal(coord_get_grant(nodes[0].coord, 3).serial, 1);
    assert_int_equal(counters_get(&nodes[0].counters, COUNTER_COORD_SESSIONS), 2);
}

static void test_lock_of_another_node_ends_grants(void **state)
{
    int64_t ms;

    (void)state;
    assert_int_equal(begin(NULL), ERR_OK);
    assert_true(wait_until(owns_all, 1000) >= 0);
    set_stub(/*foreign=*/true, false, /*break_session=*/true);
    assert_true(wait_until(is_away, 3000) >= 0);
    assert_true(owns_all());
    ms = wait_until(holds_none, 8000);
    assert_in_range(ms, 2000, 8000); /* not before 3 s, counted from the first look */
    set_stub(false, false, false);
    assert_true(wait_until(owns_all, 3000) >= 0);
    assert_int_equal(coord_get_grant(nodes[0].coord, 3).serial, 2);
}

static void test_drained_node_gives_back_and_takes_again(void **state)
{
    struct coord_grant g;

    (void)state;
    assert_int_equal(begin(NULL), ERR_OK);
    assert_true(wait_until(owns_all, 1000) >= 0);
    coord_release(nodes[0].coord, 0, 99); /* no such serial */
    assert_int_equal(coord_get_grant(nodes[0].coord, 0).wish, COORD_OWN);
    coord_rotate(nodes[0].coord, 7);       /* there is nobody to go to: see its serial below */
    coord_set_able(nodes[0].coord, false); /* nobody else could take anything */
    coord_set_drained(nodes[0].coord, true);
    assert_true(wait_until(holds_none, 2000) >= 0);
    coord_set_drained(nodes[0].coord, false);
    assert_true(wait_until(owns_all, 2000) >= 0);
    coord_set_able(nodes[0].coord, true);
    g = coord_get_grant(nodes[0].coord, 7);
    assert_int_equal(g.serial, 2);
    coord_drain(nodes[0].coord);
    assert_true(wait_until(holds_none, 2000) >= 0);
    coord_set_able(nodes[0].coord, true);
    assert_true(holds_none());
}

static void test_bad_options(void **state)
{
    struct coord_opts opts = {.shards = 8, .node_name = "one"};
    struct coord *c = NULL;
    struct errctx ec = {0};

    (void)state;
    assert_int_equal(coord_create(&opts, clock_system(), NULL, &c, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, "database"));
    opts.store = (struct store *)&store_place;
    opts.node_name = "a/b";
    assert_int_equal(coord_create(&opts, clock_system(), NULL, &c, &ec), ERR_INPUT);
    assert_non_null(strstr(ec.text, "a/b"));
    opts.node_name = "..";
    assert_int_equal(coord_create(&opts, clock_system(), NULL, &c, &ec), ERR_INPUT);
    opts.node_name = "one";
    opts.shards = 0;
    assert_int_equal(coord_create(&opts, clock_system(), NULL, &c, &ec), ERR_INPUT);
    opts.shards = 8;
    opts.servers = "h:1";
    opts.session_timeout_ms = 4000;
    opts.base_path = "/a/b-c/d";
    assert_int_equal(coord_create(&opts, clock_system(), NULL, &c, &ec), ERR_OK);
    coord_destroy(c);
    assert_null(nodes[0].coord);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_all_shards_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_second_node_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_predecessor_that_ends_is_waited_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_absent_database_is_an_error, setup, teardown),
        cmocka_unit_test_setup_teardown(test_grants_stay_while_the_database_is_away, setup, teardown),
        cmocka_unit_test_setup_teardown(test_lock_of_another_node_ends_grants, setup, teardown),
        cmocka_unit_test_setup_teardown(test_drained_node_gives_back_and_takes_again, setup, teardown),
        cmocka_unit_test_setup_teardown(test_bad_options, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
