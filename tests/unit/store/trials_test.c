/* SPDX-License-Identifier: MIT */
/* The trials of a server, on one that does everything right: tests/integration/test_proxies.py has the others. */
#include "shardwheel/store/trials.h"
#include "store/test_db.h"

static void make_trials(struct store *st)
{
    struct trials trials = {.count = 99};

    assert_ok(store_make_trials(st, &trials, ec));
    if (trials.count > 0)
        fail_msg("%s", trials.faults[0].what);
}

static void a_server_that_does_everything_right(void **state)
{
    (void)state;
    struct store *st = test_db_fresh(1, 0);

    make_trials(st);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_primary"), 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_event"), 0);
    store_destroy(st);
}

static void rows_of_nodes_that_died_go_and_others_stay(void **state)
{
    (void)state;
    struct store *st = test_db_fresh(1, 0);

    test_sql("INSERT INTO shardwheel_primary VALUES (1, 7, 's', 'n', UTC_TIMESTAMP() - INTERVAL 1 DAY), "
             "(2000, 1, 'a trial', '', UTC_TIMESTAMP() - INTERVAL 11 MINUTE), "
             "(2001, 1, 'a trial', '', UTC_TIMESTAMP() - INTERVAL 9 MINUTE)");
    make_trials(st);
    assert_string_equal(test_text("SELECT GROUP_CONCAT(id ORDER BY id) FROM shardwheel_primary"), "1,2001");
    test_sql("DELETE FROM shardwheel_primary");
    store_destroy(st);
}

static void make_many(void *arg)
{
    for (int i = 0; i < 4; i++)
        make_trials(arg);
}

static void nodes_that_start_at_once_do_not_disturb_each_other(void **state)
{
    (void)state;
    struct store *st[3];
    struct thread threads[3];

    store_destroy(test_db_fresh(1, 0));
    for (int i = 0; i < 3; i++) {
        st[i] = test_store();
        assert_ok(thread_start(&threads[i], "trials", make_many, st[i], ec));
    }
    for (int i = 0; i < 3; i++) {
        thread_join(&threads[i]);
        store_destroy(st[i]);
    }
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_primary"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_server_that_does_everything_right),
        cmocka_unit_test(rows_of_nodes_that_died_go_and_others_stay),
        cmocka_unit_test(nodes_that_start_at_once_do_not_disturb_each_other),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
