/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/registry.h"
#include "store/test_schema.h"

#define NOW_S INT64_C(1700000000)

static void beats_renew_insert_and_remove(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(test_families); i++) {
        struct store *st = test_db_fresh(1, NOW_S);
        struct store_session *s = test_take(st, SESSION_NORMAL);
        const struct beat first[] = {
            {"EXECUTOR", "app", "http://a/", false}, {"EXECUTOR", "app", "http://b'/", false},
            {"EXECUTOR", "App", "http://a/", false}, {"EXECUTOR", "app", "http://c/", false},
            {"EXECUTOR", "app", "http://c/", true},  {"EXECUTOR", "no", "http://d/", true},
            {"EXECUTOR", "two", "http://d/", false}, {"EXECUTOR", "two", "http://d/", false},
        };
        struct registry_list list;

        test_make_family(test_families[i]);
        store_give_session(st, s);
        store_destroy(st);
        st = test_store(); /* one that has not read the features yet */
        s = test_take(st, SESSION_NORMAL);
        assert_ok(store_write_beats(s, first, ARRAY_LEN(first), NOW_S, ec));
        assert_ok(store_load_registry(s, NOW_S, &list, ec));
        assert_int_equal(list.count, 3); /* App is app to the collation */
        assert_string_equal(list.rows[0].group, "EXECUTOR");
        assert_string_equal(list.rows[0].key, "app");
        assert_string_equal(list.rows[1].value, "http://b'/");
        registry_list_fini(&list);
        /* A beat later all are renewed, and no id was used up. */
        assert_ok(store_write_beats(s, first, 2, NOW_S + 30, ec));
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_registry WHERE update_time = '2023-11-15 06:13:50'"),
                         2);
        assert_int_equal(test_int("SELECT MAX(id) < 10 FROM xxl_job_registry"), 1);
        /* What was not renewed in time goes. */
        assert_ok(store_load_registry(s, NOW_S + 1, &list, ec));
        assert_int_equal(list.count, 2);
        registry_list_fini(&list);
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_registry"), 2);
        assert_ok(store_write_beats(s, first, 0, NOW_S, ec));
        store_give_session(st, s);
        store_destroy(st);
    }
}

static void many_beats_one_of_them_new(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    static struct beat beats[351];
    static char value[351][40];

    (void)state;
    for (int i = 0; i < 351; i++) {
        snprintf(value[i], sizeof value[i], "http://10.0.0.%d:9999/", i);
        beats[i] = (struct beat){"EXECUTOR", "app", value[i], false};
    }
    assert_ok(store_write_beats(s, beats, 349, NOW_S, ec));
    assert_ok(store_write_beats(s, beats, 350, NOW_S + 30, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_registry WHERE update_time = '2023-11-15 06:13:50'"), 350);
    /* No id was used up for those that were there. */
    assert_ok(store_write_beats(s, beats + 350, 1, NOW_S + 30, ec));
    assert_int_equal(test_int("SELECT MAX(id) FROM xxl_job_registry"), 351);
    store_give_session(st, s);
    store_destroy(st);
}

/* Old schemas let a row be there twice: as many rows renewed as beats does not say that all were there. */
static void a_double_row_hides_no_missing_one(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    const struct beat beats[] = {{"EXECUTOR", "app", "http://a/", false}, {"EXECUTOR", "app", "http://b/", false}};

    (void)state;
    test_make_family("2.3");
    store_give_session(st, s);
    store_destroy(st);
    st = test_store();
    s = test_take(st, SESSION_NORMAL);
    for (int i = 0; i < 2; i++)
        test_sql("INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value) VALUES ('EXECUTOR', "
                 "'app', 'http://a/')");
    assert_ok(store_write_beats(s, beats, 2, NOW_S, ec));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_registry WHERE registry_value = 'http://b/'"), 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_registry WHERE update_time IS NOT NULL"), 3);
    store_give_session(st, s);
    store_destroy(st);
}

/* By local time every row would be dead for an hour when the clocks go back. */
static void nobody_dies_when_the_clocks_go_back(void **state)
{
    const int64_t back_s = 1698541200;
    const struct beat beats[] = {{"EXECUTOR", "app", "http://a/", false}};

    (void)state;
    test_db.opts.zone = "Europe/Berlin";
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    for (int64_t t = back_s - 120; t <= back_s + 120; t += 30) {
        struct registry_list list;
        assert_ok(store_write_beats(s, beats, 1, t, ec));
        assert_ok(store_load_registry(s, t + 20 - 90, &list, ec));
        assert_int_equal(list.count, 1);
        registry_list_fini(&list);
    }
    test_sql("UPDATE xxl_job_registry SET update_time = NULL");
    struct registry_list list;
    assert_ok(store_load_registry(s, NOW_S, &list, ec));
    assert_int_equal(list.count, 0);
    registry_list_fini(&list);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_registry"), 1);
    test_db.opts.zone = "Asia/Shanghai";
    store_give_session(st, s);
    store_destroy(st);
}

static void a_beat_that_does_not_fit_keeps_no_other_out(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    const struct beat beats[] = {{"EXECUTOR", "a", "http://a/", false},
                                 {"EXECUTOR", "\xe4\xbb\xbb", "http://b/", false},
                                 {"EXECUTOR", "c", "http://c/", false}};

    (void)state;
    test_sql("ALTER TABLE xxl_job_registry CONVERT TO CHARACTER SET latin1");
    assert_ok(store_write_beats(s, beats, 3, NOW_S, ec));
    assert_string_equal(test_text("SELECT GROUP_CONCAT(registry_key ORDER BY id) FROM xxl_job_registry"), "a,c");
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- groups -------------------------------------------------------------------------------------------------- */

static void groups_are_read_in_every_family(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(test_families); i++) {
        struct store *st = test_db_fresh(1, NOW_S);
        struct store_session *s = test_take(st, SESSION_NORMAL);
        struct group_list list;
        bool is_35 = i == 4;

        test_make_family(test_families[i]);
        store_give_session(st, s);
        store_destroy(st);
        st = test_store(); /* one that has not read the features yet */
        s = test_take(st, SESSION_NORMAL);
        test_sql("INSERT INTO xxl_job_group (id, app_name, %s, address_type, address_list) VALUES (7, 'h\xc3\xa9', "
                 "'t', 1, 'a,b')",
                 is_35 ? "name" : "title");
        if (is_35)
            test_sql("UPDATE xxl_job_group SET access_token = 'secret' WHERE id = 7");
        assert_ok(store_load_groups(s, &list, ec));
        assert_int_equal(list.count, 2);
        assert_int_equal(list.rows[0].id, 1);
        assert_false(list.rows[0].manual);
        assert_string_equal(list.rows[0].app_name, "xxl-job-executor-sample");
        assert_string_equal(list.rows[0].address_list, "");
        assert_string_equal(list.rows[0].access_token, "");
        assert_int_equal(list.rows[1].id, 7);
        assert_true(list.rows[1].manual);
        assert_string_equal(list.rows[1].app_name, "h\xc3\xa9");
        assert_string_equal(list.rows[1].address_list, "a,b");
        assert_string_equal(list.rows[1].access_token, is_35 ? "secret" : "");
        group_list_fini(&list);
        store_give_session(st, s);
        store_destroy(st);
    }
}

static void addresses_change_where_the_list_is_what_was_read(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct errctx why;

    (void)state;
    assert_ok(store_update_group_addresses(s, 1, "", "http://a/,http://b/", NOW_S, ec));
    assert_string_equal(test_text("SELECT CONCAT(address_list, ' ', update_time) FROM xxl_job_group"),
                        "http://a/,http://b/ 2023-11-15 06:13:20");
    assert_int_equal(store_update_group_addresses(s, 1, "http://A/,http://b/", "x", NOW_S, &why), ERR_CONFLICT);
    assert_int_equal(store_update_group_addresses(s, 1, "", "x", NOW_S, &why), ERR_CONFLICT);
    assert_int_equal(store_update_group_addresses(s, 9, "", "x", NOW_S, &why), ERR_CONFLICT);
    assert_non_null(strstr(why.text, "group 9"));
    /* The same once more changes nothing, but the row was found: that is no conflict. */
    assert_ok(store_update_group_addresses(s, 1, "http://a/,http://b/", "http://a/,http://b/", NOW_S, ec));
    assert_ok(store_update_group_addresses(s, 1, "http://a/,http://b/", "http://a/,http://b/", NOW_S, ec));
    /* The same list again renews the time alone. */
    assert_ok(store_update_group_addresses(s, 1, "http://a/,http://b/", "http://a/,http://b/", NOW_S + 1, ec));
    assert_string_equal(test_text("SELECT update_time FROM xxl_job_group"), "2023-11-15 06:13:21");
    assert_ok(store_update_group_addresses(s, 1, "http://a/,http://b/", "", NOW_S, ec));
    assert_string_equal(test_text("SELECT address_list FROM xxl_job_group"), "(null)");
    test_sql("UPDATE xxl_job_group SET address_type = 1");
    assert_int_equal(store_update_group_addresses(s, 1, "", "x", NOW_S, &why), ERR_CONFLICT);
    store_give_session(st, s);
    store_destroy(st);
}

/* ---- standalone -----------------------------------------------------------------------------------------------
 */

static void one_standalone_node_at_a_time(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *a = test_take(st, SESSION_NORMAL), *b = test_take(st, SESSION_NORMAL);
    struct errctx why;
    bool held = true;

    (void)state;
    assert_ok(store_lock_standalone(a, ec));
    assert_int_equal(store_lock_standalone(b, &why), ERR_BUSY);
    test_wait("SELECT NOT IS_FREE_LOCK(CONCAT('shardwheel_', MD5(DATABASE())))"); /* the name, for other releases */
    assert_ok(store_check_standalone(a, &held, ec));
    assert_true(held);
    assert_ok(store_check_standalone(b, &held, ec));
    assert_false(held);
    /* Killed: the session connects anew, but the lock is lost, and the session does not think it has it. */
    test_sql("KILL CONNECTION %" PRId64, test_connection_id(a));
    test_wait("SELECT IS_FREE_LOCK(CONCAT('shardwheel_', MD5(DATABASE())))");
    enum err e = store_check_standalone(a, &held, &why);
    if (e == ERR_LOST)
        assert_ok(store_check_standalone(a, &held, ec));
    assert_false(held);
    /* Given back to the pool, the lock goes too. */
    assert_ok(store_lock_standalone(b, ec));
    store_give_session(st, b);
    test_wait("SELECT IS_FREE_LOCK(CONCAT('shardwheel_', MD5(DATABASE())))");
    assert_ok(store_lock_standalone(a, ec));
    store_give_session(st, a);
    store_destroy(st);
}

/* The first miss of a stretch counts, until a time without any has passed. */
static void missed_beats_are_held_for_all_nodes(void **state)
{
    struct store *st = test_db_fresh(1, NOW_S);
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t age_s = 7;

    (void)state;
    assert_ok(store_load_missed(s, 90, &age_s, ec));
    assert_int_equal(age_s, -1);
    assert_ok(store_note_missed(s, 90, ec));
    assert_ok(store_load_missed(s, 90, &age_s, ec));
    assert_in_range(age_s, 0, 60);
    test_sql("UPDATE shardwheel_beats SET began_ms = began_ms - 500000, missed_ms = missed_ms - 20000");
    assert_ok(store_note_missed(s, 90, ec));
    assert_ok(store_load_missed(s, 90, &age_s, ec));
    assert_in_range(age_s, 500, 560);
    test_sql("UPDATE shardwheel_beats SET missed_ms = missed_ms - 91000");
    assert_ok(store_load_missed(s, 90, &age_s, ec));
    assert_int_equal(age_s, -1);
    assert_ok(store_note_missed(s, 90, ec));
    assert_ok(store_load_missed(s, 90, &age_s, ec));
    assert_in_range(age_s, 0, 60);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_beats"), 1);
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(beats_renew_insert_and_remove),
        cmocka_unit_test(many_beats_one_of_them_new),
        cmocka_unit_test(a_double_row_hides_no_missing_one),
        cmocka_unit_test(nobody_dies_when_the_clocks_go_back),
        cmocka_unit_test(a_beat_that_does_not_fit_keeps_no_other_out),
        cmocka_unit_test(groups_are_read_in_every_family),
        cmocka_unit_test(addresses_change_where_the_list_is_what_was_read),
        cmocka_unit_test(missed_beats_are_held_for_all_nodes),
        cmocka_unit_test(one_standalone_node_at_a_time),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
