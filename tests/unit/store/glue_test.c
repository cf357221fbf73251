/* SPDX-License-Identifier: MIT */
/* Sources of GLUE jobs: what a save writes, and what it leaves alone. */
#include "store/test_schema.h"

#include "shardwheel/store/glue.h"

#define NOW_S INT64_C(1700000000) /* 2023-11-15 06:13:20 in Shanghai */

static const struct audit_row audit = {
    .user_id = 5, .who = "ann", .address = "10.0.0.9", .via = "api/v1", .action = "glue.save", .job_group = 1};

static struct store *prepare(const char *family)
{
    struct store *st = test_db_fresh(1, NOW_S);

    test_make_family(family);
    store_destroy(st);
    test_sql("DELETE FROM xxl_job_info");
    test_sql("INSERT INTO xxl_job_info (id, job_group, %s, glue_type, glue_source, glue_remark, glue_updatetime, "
             "trigger_status, trigger_next_time, trigger_last_time) VALUES (9, 1, 'nightly', 'GLUE_SHELL', 'one', "
             "'first', '2023-11-15 06:13:20', 1, 77, 66)",
             test_job_name_column(family));
    return test_store();
}

static enum err save(struct store_session *s, const char *source, int64_t now_s, const struct glue_now *from,
                     int64_t *updated_s, struct errctx *ec)
{
    const struct glue_change change = {.job_id = 9, .source = source, .remark = "remark", .now_s = now_s, .from = from};

    return store_save_glue(s, &change, &audit, updated_s, ec);
}

static void a_save_changes_the_source_alone(void **state)
{
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(test_families); i++) {
        struct store *st = prepare(test_families[i]);
        struct store_session *s = test_take(st, SESSION_NORMAL);
        struct glue_now now;
        int64_t updated_s = 0;

        assert_ok(store_load_glue(s, 9, &now, ec));
        assert_string_equal(now.name, "nightly");
        assert_string_equal(now.type, "GLUE_SHELL");
        assert_string_equal(now.source, "one");
        assert_int_equal(now.updated_s, NOW_S);
        assert_ok(save(s, "two\r\n", NOW_S + 60, &now, &updated_s, ec));
        assert_int_equal(updated_s, NOW_S + 60);
        assert_string_equal(test_text("SELECT CONCAT_WS('|', glue_source, glue_remark, glue_updatetime, update_time, "
                                      "trigger_status, trigger_next_time, trigger_last_time) FROM xxl_job_info"),
                            "two\r\n|remark|2023-11-15 06:14:20|2023-11-15 06:14:20|1|77|66");
        assert_string_equal(test_text("SELECT CONCAT_WS('|', job_id, glue_type, glue_source, glue_remark, add_time, "
                                      "update_time) FROM xxl_job_logglue"),
                            "9|GLUE_SHELL|two\r\n|remark|2023-11-15 06:14:20|2023-11-15 06:14:20");
        assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit WHERE action = 'glue.save'"), 1);
        glue_now_fini(&now);
        store_give_session(st, s);
        store_destroy(st);
    }
}

/* Executors load a source anew when its time is another one. */
static void each_save_has_a_time_of_its_own(void **state)
{
    struct store *st = prepare("3.4");
    struct store_session *s = test_take(st, SESSION_NORMAL);
    int64_t updated_s;
    (void)state;

    assert_ok(save(s, "a", NOW_S, NULL, &updated_s, ec)); /* in the second of the one before */
    assert_int_equal(updated_s, NOW_S + 1);
    assert_ok(save(s, "b", NOW_S - 3600, NULL, &updated_s, ec)); /* the clock went back */
    assert_int_equal(updated_s, NOW_S + 2);
    test_sql("UPDATE xxl_job_info SET glue_updatetime = NULL");
    assert_ok(save(s, NULL, NOW_S, NULL, &updated_s, ec));
    assert_int_equal(updated_s, NOW_S);
    assert_string_equal(test_text("SELECT glue_source FROM xxl_job_info"), "(null)");
    store_give_session(st, s);
    store_destroy(st);
}

static void what_was_changed_meanwhile_stays(void **state)
{
    static const char *const changes[] = {"glue_source = 'x'", "glue_remark = 'x'",
                                          "glue_updatetime = '2023-11-15 06:13:21'", "glue_source = NULL"};
    struct errctx why;
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        struct store *st = prepare("3.4");
        struct store_session *s = test_take(st, SESSION_NORMAL);
        struct glue_now now;
        int64_t updated_s;

        assert_ok(store_load_glue(s, 9, &now, ec));
        test_sql("UPDATE xxl_job_info SET %s", changes[i]);
        assert_int_equal(save(s, "two", NOW_S, &now, &updated_s, &why), ERR_CONFLICT);
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info WHERE glue_source = 'two'"), 0);
        assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_logglue"), 0);
        assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 0);
        glue_now_fini(&now);
        store_give_session(st, s);
        store_destroy(st);
    }
}

static void thirty_versions_are_kept(void **state)
{
    struct store *st = prepare("2.3");
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct glue_versions list, one;
    struct errctx why;
    int64_t updated_s;
    char source[20];
    (void)state;

    test_sql("INSERT INTO xxl_job_logglue (job_id, glue_source, glue_remark, update_time) VALUES (8, 'other', '', "
             "'2001-01-01')");
    for (int i = 0; i < 33; i++) {
        snprintf(source, sizeof source, "source %d", i);
        assert_ok(save(s, source, NOW_S, NULL, &updated_s, ec));
    }
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_logglue WHERE job_id = 9"), GLUE_VERSIONS_KEPT);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_logglue WHERE job_id = 8"), 1);
    assert_string_equal(test_text("SELECT glue_source FROM xxl_job_logglue WHERE job_id = 9 ORDER BY id"), "source 3");
    assert_ok(store_load_glue_versions(s, 9, &list, ec));
    assert_int_equal(list.count, GLUE_VERSIONS_KEPT);
    assert_true(list.items[0].id > list.items[29].id && list.items[0].added_s > list.items[29].added_s);
    assert_null(list.items[0].source);
    assert_int_equal(list.items[0].length, 9);
    assert_ok(store_load_glue_version(s, 9, list.items[0].id, &one, ec));
    assert_string_equal(one.items[0].source, "source 32");
    assert_int_equal(store_load_glue_version(s, 8, list.items[0].id, &one, &why), ERR_NOTFOUND);
    glue_versions_fini(&one);
    glue_versions_fini(&list);
    store_give_session(st, s);
    store_destroy(st);
}

static void a_job_that_is_gone(void **state)
{
    struct store *st = prepare("3.4");
    struct store_session *s = test_take(st, SESSION_NORMAL);
    struct glue_now now;
    struct errctx why;
    int64_t updated_s;
    (void)state;

    test_sql("DELETE FROM xxl_job_info");
    assert_int_equal(store_load_glue(s, 9, &now, &why), ERR_NOTFOUND);
    assert_int_equal(save(s, "x", NOW_S, NULL, &updated_s, &why), ERR_NOTFOUND);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_logglue"), 0);
    store_give_session(st, s);
    store_destroy(st);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_save_changes_the_source_alone),
        cmocka_unit_test(each_save_has_a_time_of_its_own),
        cmocka_unit_test(what_was_changed_meanwhile_stays),
        cmocka_unit_test(thirty_versions_are_kept),
        cmocka_unit_test(a_job_that_is_gone),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
