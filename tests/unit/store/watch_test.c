/* SPDX-License-Identifier: MIT */
/* What did not happen, and what channels missed in their quiet hours. */
#include "store/test_schema.h"
#include "shardwheel/store/alarm.h"
#include "shardwheel/store/watch.h"

#define NOW_S INT64_C(1700000000)
#define LEASE_MS 30000

static const char *list_held(void)
{
    return test_text("SELECT COALESCE(GROUP_CONCAT(CONCAT_WS(':', channel, kind, target, is_over) ORDER BY channel, "
                     "kind, target), '') FROM shardwheel_held");
}

static const char *list_states(void)
{
    return test_text("SELECT COALESCE(GROUP_CONCAT(CONCAT_WS(':', kind, target, phase) ORDER BY kind, target), '') "
                     "FROM shardwheel_watch");
}

/* Whoever cannot tell what came of a call makes it again, as another node does. */
static void what_is_held_back_first_stays_however_often_it_is_told(void **state)
{
    static const char *const both[] = {"a", "b"};
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);

    (void)state;
    assert_ok(store_hold_back(s, both, 1, "no_success", 7, false, ec));
    for (int i = 0; i < 2; i++) {
        assert_ok(store_hold_back(s, both, 2, "no_success", 7, true, ec));
        assert_string_equal(list_held(), "a:no_success:7:0,b:no_success:7:1");
    }
    assert_ok(store_drop_held(s, &(struct held_alarm){"b", "no_success", 7, false}, ec)); /* it is another by now */
    assert_string_equal(list_held(), "a:no_success:7:0,b:no_success:7:1");
    assert_ok(store_drop_held(s, &(struct held_alarm){"b", "no_success", 7, true}, ec));
    assert_string_equal(list_held(), "a:no_success:7:0");
    store_give_session(st, s);
    store_destroy(st);
}

static void each_channel_has_its_own_share(void **state)
{
    static const char *const a = "a", *const b = "b";
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct held_channels channels;
    struct held_alarms list;

    (void)state;
    for (int64_t target = 1; target <= HELD_AT_ONCE + 2; target++)
        assert_ok(store_hold_back(s, &a, 1, "not_done", target, false, ec));
    assert_ok(store_hold_back(s, &b, 1, HELD_JOB_FAILED, 3, true, ec));
    assert_ok(store_load_held_channels(s, &channels, ec));
    assert_int_equal(channels.count, 2);
    assert_string_equal(channels.rows[1].name, "b");
    held_channels_fini(&channels);

    assert_ok(store_load_held(s, "a", &list, ec));
    assert_int_equal(list.count, HELD_AT_ONCE);
    assert_int_equal(list.rows[HELD_AT_ONCE - 1].target, HELD_AT_ONCE);
    held_alarms_fini(&list);
    assert_ok(store_load_held(s, "b", &list, ec));
    assert_int_equal(list.count, 1);
    assert_true(list.rows[0].over);
    held_alarms_fini(&list);

    assert_ok(store_drop_held_channel(s, "a", ec));
    assert_string_equal(list_held(), "b:job_failed:3:1");
    store_give_session(st, s);
    store_destroy(st);
}

static enum err write_one(struct store_session *s, const char *incarnation, enum watch_change_kind what, int64_t target,
                          struct errctx *why)
{
    struct watch_change change = {.what = what, .kind = WATCH_NO_SUCCESS, .target = target, .detail = "late"};

    return store_write_watch_changes(s, incarnation, &change, 1, why);
}

static void the_node_with_the_lease_alone_opens_and_ends(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct errctx why = {{0}};
    bool held = false;
    int64_t count;

    (void)state;
    assert_int_equal(write_one(s, "one", WATCH_OPENS, 7, &why), ERR_STATE); /* nobody has it */
    assert_ok(store_hold_alarms(s, "one", LEASE_MS, &held, ec));
    assert_true(held);
    assert_int_equal(write_one(s, "two", WATCH_OPENS, 7, &why), ERR_STATE);
    assert_string_equal(list_states(), "");
    count = test_int("SELECT failures FROM shardwheel_alarm WHERE job_id = 0");
    assert_ok(write_one(s, "one", WATCH_OPENS, 7, ec));
    assert_ok(write_one(s, "one", WATCH_OPENS, 7, ec));
    assert_string_equal(list_states(), "no_success:7:0");
    /* The row of the lease is written: a Galera cluster compares what is written, and no locks. */
    assert_int_equal(test_int("SELECT failures FROM shardwheel_alarm WHERE job_id = 0"), count + 2);

    assert_ok(write_one(s, "one", WATCH_ENDS, 7, ec)); /* nobody was told yet */
    assert_string_equal(list_states(), "no_success:7:0");
    assert_ok(store_end_watch_telling(s, "no_success", 7, WATCH_NEW, ec));
    assert_ok(write_one(s, "one", WATCH_ENDS, 7, ec));
    assert_ok(write_one(s, "one", WATCH_OPENS, 7, ec)); /* its end is told first */
    assert_string_equal(list_states(), "no_success:7:2");
    assert_ok(store_end_watch_telling(s, "no_success", 7, WATCH_NEW, ec)); /* it is in another phase */
    assert_string_equal(list_states(), "no_success:7:2");
    assert_ok(store_end_watch_telling(s, "no_success", 7, WATCH_OVER, ec));
    assert_ok(write_one(s, "one", WATCH_OPENS, 8, ec));
    assert_ok(write_one(s, "one", WATCH_DROPS, 8, ec));
    assert_string_equal(list_states(), "");
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_held_back_first_stays_however_often_it_is_told),
        cmocka_unit_test(each_channel_has_its_own_share),
        cmocka_unit_test(the_node_with_the_lease_alone_opens_and_ends),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
