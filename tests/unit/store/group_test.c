/* SPDX-License-Identifier: MIT */
/* Executor groups as people see and change them, on databases with and without tokens of groups. */
#include "store/test_schema.h"

#include "shardwheel/store/group.h"

#define NOW_S INT64_C(1700000000)
#define NOW_TEXT "2023-11-15 06:13:20" /* in the zone of the store */

static struct store *st;
static struct store_session *s;
static const char *family;

static int set_up(const char *wanted)
{
    family = wanted;
    store_destroy(test_db_fresh(1, NOW_S));
    test_make_family(family);
    test_sql("DELETE FROM xxl_job_group");
    st = test_store();
    s = test_take(st, SESSION_NORMAL);
    return 0;
}

static int set_up_plain(void **state)
{
    (void)state;
    return set_up("3.4");
}

static int set_up_with_tokens(void **state)
{
    (void)state;
    return set_up("3.5");
}

static int tear_down(void **state)
{
    (void)state;
    store_give_session(st, s);
    store_destroy(st);
    return 0;
}

static const struct audit_row audit = {.user_id = 1, .who = "admin", .action = "group.x"};
static const struct group_info group_a = {
    .app_name = "app-a", .title = "Title", .address_type = 1, .address_list = "http://a/", .access_token = "secret"};

static int64_t count_audit(void)
{
    return test_int("SELECT COUNT(*) FROM shardwheel_audit");
}

static int64_t add(const struct group_info *group)
{
    struct audit_row row = audit;
    int64_t id = 0;

    assert_ok(store_insert_group(s, group, NOW_S, &row, &id, ec));
    assert_true(id > 0);
    assert_int_equal(row.target, id);
    assert_int_equal(row.job_group, id);
    return id;
}

static const char *show(int64_t id)
{
    return test_text("SELECT CONCAT_WS('|', app_name, %s, address_type, IFNULL(address_list, '-'), %s, update_time) "
                     "FROM xxl_job_group WHERE id = %" PRId64,
                     test_group_name_column(family),
                     test_is_since(family, "3.5") ? "IFNULL(access_token, '-')" : "'(no column)'", id);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

static void a_group_is_added_with_all_it_has(void **state)
{
    struct group_info group = group_a;
    struct audit_row row = audit;
    struct errctx why;
    char title[80];
    int64_t id = 7;

    (void)state;
    assert_string_equal(show(add(&group)), "app-a|Title|1|http://a/|secret|" NOW_TEXT);
    group = (struct group_info){.app_name = "app-b", .title = "B"};
    assert_string_equal(show(add(&group)), "app-b|B|0|-|-|" NOW_TEXT);
    assert_int_equal(count_audit(), 2);

    memset(title, 'x', sizeof title);
    title[65] = '\0';
    group.app_name = "app-c";
    group.title = title;
    assert_int_equal(store_insert_group(s, &group, NOW_S, &row, &id, &why), ERR_INPUT);
    assert_non_null(strstr(why.text, "a text is too long for its column"));
    assert_int_equal(id, 7);
    assert_int_equal(count_audit(), 2);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_group"), 2);
}

static void each_member_alone_is_changed(void **state)
{
    static const struct {
        struct group_info to;
        const char *shown;
    } cases[] = {
        {{.app_name = "APP-A", .title = "Title", .address_type = 1, .address_list = "l", .access_token = "t"},
         "APP-A|Title|1|l|t|"},
        {{.app_name = "app-a", .title = "TITLE", .address_type = 1, .address_list = "l", .access_token = "t"},
         "app-a|TITLE|1|l|t|"},
        {{.app_name = "app-a", .title = "Title", .address_type = 0, .address_list = "l", .access_token = "t"},
         "app-a|Title|0|l|t|"},
        {{.app_name = "app-a", .title = "Title", .address_type = 1, .address_list = "other", .access_token = "t"},
         "app-a|Title|1|other|t|"},
        {{.app_name = "app-a", .title = "Title", .address_type = 1, .address_list = NULL, .access_token = "t"},
         "app-a|Title|1|-|t|"},
        {{.app_name = "app-a", .title = "Title", .address_type = 1, .address_list = "l", .access_token = "T"},
         "app-a|Title|1|l|T|"},
        {{.app_name = "app-a", .title = "Title", .address_type = 1, .address_list = "l", .access_token = NULL},
         "app-a|Title|1|l|-|"},
        {{.app_name = "app-a", .title = "Title", .address_type = 1, .address_list = "l", .access_token = "t"},
         "app-a|Title|1|l|t|"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct group_info from = cases[ARRAY_LEN(cases) - 1].to, to = cases[i].to;
        char shown[80];

        test_sql("DELETE FROM xxl_job_group");
        to.id = from.id = add(&from);
        assert_ok(store_update_group(s, &from, &to, NOW_S + 5, &audit, ec));
        snprintf(shown, sizeof shown, "%s2023-11-15 06:13:25", cases[i].shown);
        assert_string_equal(show(from.id), shown);
        assert_int_equal(count_audit(), 2 * (i + 1));
    }
}

/* To the letter, though the column's collation finds no difference. */
static void what_somebody_changed_meanwhile_is_left_alone(void **state)
{
    static const struct {
        const char *change, *back;
        bool automatic_too; /* of a group whose list is made of heartbeats it counts, too */
    } cases[] = {
        {"app_name = 'App-a'", "app_name = 'app-a'", true},
        {"name = 'TITLE'", "name = 'Title'", true},
        {"access_token = 'Secret'", "access_token = 'secret'", true},
        {"access_token = NULL", "access_token = 'secret'", true},
        {"address_list = 'http://A/'", "address_list = 'http://a/'", false},
        {"address_list = NULL", "address_list = 'http://a/'", false},
        {"address_type = 2", NULL, true},
    };

    (void)state;
    for (int type = 0; type <= 1; type++) {
        struct group_info from = group_a, to;
        enum group_removal removal;
        struct errctx why;

        from.address_type = type;
        to = from;
        to.title = "New";
        to.id = from.id = add(&from);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            char before[200];

            if (type == 0 && !cases[i].automatic_too)
                continue;
            test_sql("UPDATE xxl_job_group SET %s WHERE id = %" PRId64, cases[i].change, from.id);
            snprintf(before, sizeof before, "%s", show(from.id));
            assert_int_equal(store_update_group(s, &from, &to, NOW_S + 5, &audit, &why), ERR_CONFLICT);
            assert_non_null(strstr(why.text, "somebody else has changed or deleted the group"));
            test_sql("INSERT INTO xxl_job_group (id, app_name, name) VALUES (999, 'other', 'x')");
            assert_int_equal(store_remove_group(s, &from, &audit, &removal, &why), ERR_CONFLICT);
            test_sql("DELETE FROM xxl_job_group WHERE id = 999");
            assert_string_equal(show(from.id), before);
            if (cases[i].back)
                test_sql("UPDATE xxl_job_group SET %s WHERE id = %" PRId64, cases[i].back, from.id);
            else
                test_sql("UPDATE xxl_job_group SET address_type = %d WHERE id = %" PRId64, type, from.id);
        }
        assert_int_equal(count_audit(), 2 * type + 1);
        test_sql("UPDATE xxl_job_group SET address_list = '%s' WHERE id = %" PRId64,
                 type == 0 ? "http://beat/" : "http://a/", from.id);
        assert_ok(store_update_group(s, &from, &to, NOW_S, &audit, ec));
        assert_string_equal(show(from.id), type == 0 ? "app-a|New|0|http://beat/|secret|" NOW_TEXT
                                                     : "app-a|New|1|http://a/|secret|" NOW_TEXT);
        test_sql("DELETE FROM xxl_job_group");
        assert_int_equal(store_update_group(s, &to, &from, NOW_S, &audit, &why), ERR_CONFLICT);
    }
}

static void expect_removal(const struct group_info *from, enum group_removal expected)
{
    enum group_removal said = expected == GROUP_REMOVED ? GROUP_IS_LAST : GROUP_REMOVED, checked = said;
    int64_t rows = count_audit();

    assert_ok(store_check_removal(s, from->id, &checked, ec));
    assert_ok(store_remove_group(s, from, &audit, &said, ec));
    assert_int_equal(said, expected);
    assert_int_equal(checked, expected);
    assert_int_equal(count_audit(), rows + (expected == GROUP_REMOVED));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_group WHERE id = %" PRId64, from->id),
                     expected != GROUP_REMOVED);
}

static void a_group_is_removed_unless_it_is_needed(void **state)
{
    struct group_info a = group_a, b = group_a, c = group_a;

    (void)state;
    test_sql("INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES "
             "('EXECUTOR', 'app-a', 'http://1/', NOW()), ('EXECUTOR', 'app-a', 'http://2/', NOW()), "
             "('EXECUTOR', 'app-c', 'http://1/', NOW()), ('ADMIN', 'app-a', 'http://1/', NOW())");
    a.id = add(&a);
    expect_removal(&a, GROUP_IS_LAST);
    b.title = "the same name";
    b.id = add(&b);
    c.app_name = "app-c";
    c.id = add(&c);

    test_add_job(1, NOW_S * 1000);
    test_sql("UPDATE xxl_job_info SET job_group = %" PRId64, a.id);
    expect_removal(&a, GROUP_HAS_JOBS);
    test_sql("UPDATE xxl_job_info SET job_group = %" PRId64, c.id);
    expect_removal(&a, GROUP_REMOVED);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_registry"), 4); /* b needs them */
    expect_removal(&b, GROUP_REMOVED);
    assert_string_equal(test_text("SELECT GROUP_CONCAT(registry_group, registry_key ORDER BY id) FROM "
                                  "xxl_job_registry"),
                        "EXECUTORapp-c,ADMINapp-a");
    expect_removal(&c, GROUP_HAS_JOBS); /* though it is the last one, too */
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const char *ids_of(struct group_infos *list)
{
    static char out[100];
    size_t n = 0;

    out[0] = '\0';
    for (size_t i = 0; i < list->count; i++)
        n += (size_t)snprintf(out + n, sizeof out - n, "%s%" PRId64, i ? " " : "", list->items[i].id);
    group_infos_fini(list);
    return out;
}

static void groups_are_found_and_counted(void **state)
{
    static const int64_t some[] = {12, 14, 99};
    static const struct {
        struct group_filter filter;
        const char *by_name, *by_id; /* all; behind 12, two of them */
        int64_t count;
    } cases[] = {
        {{.all_groups = true}, "14 13 11 12", "13 14", 4},
        {{.all_groups = true, .app_name = "", .title = ""}, "14 13 11 12", "13 14", 4},
        {{.all_groups = true, .app_name = "ap"}, "13 11 12", "13", 3},
        {{.all_groups = true, .app_name = "p-b", .title = "x"}, "12", "", 1},
        {{.all_groups = true, .title = "x"}, "14 12", "14", 2},
        {{.all_groups = true, .app_name = "a%-b"}, "11 12", "", 2}, /* as in the original */
        {{.groups = some, .group_count = 3}, "14 12", "14", 2},
        {{.groups = some, .group_count = 1, .app_name = "no"}, "", "", 0},
        {{0}, "", "", 0},
    };
    struct group_infos list = {0};

    (void)state;
    test_sql("INSERT INTO xxl_job_group (id, app_name, title, address_type) VALUES (11, 'app-b', 'y', 0), "
             "(12, 'app-b', 'yx', 1), (13, 'app-a', 'z', 0), (14, 'a', 'x', 0)");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        int64_t count = -1;

        struct group_filter filter = cases[i].filter;

        filter.by_name = true;
        filter.limit = 9;
        assert_ok(store_list_groups(s, &filter, &list, ec));
        assert_string_equal(ids_of(&list), cases[i].by_name);
        filter.by_name = false;
        filter.after_id = 12;
        filter.limit = 2;
        assert_ok(store_list_groups(s, &filter, &list, ec));
        assert_string_equal(ids_of(&list), cases[i].by_id);
        assert_ok(store_count_groups(s, &filter, 5000, &count, ec));
        assert_int_equal(count, cases[i].count);
    }
    assert_ok(store_list_groups(s, &(struct group_filter){.all_groups = true, .by_name = true, .offset = 1, .limit = 2},
                                &list, ec));
    assert_string_equal(ids_of(&list), "13 11");
    assert_ok(store_list_groups(s, &(struct group_filter){.all_groups = true, .limit = 3}, &list, ec));
    assert_string_equal(ids_of(&list), "11 12 13");
}

static void a_group_is_loaded_as_it_is(void **state)
{
    static const struct {
        const char *sql;
        bool has_token;
    } tokens[] = {{"NULL", false}, {"''", false}, {"'  '", false}, {"'t'", true}};
    struct group_infos list = {0};
    struct group_columns columns = {0};
    struct errctx why;
    int64_t id = add(&group_a);

    (void)state;
    assert_ok(store_get_group_columns(s, &columns, ec));
    assert_int_equal(columns.title_chars, 64);
    assert_true(columns.has_token);
    assert_ok(store_load_group(s, id, &list, ec));
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].app_name, "app-a");
    assert_string_equal(list.items[0].title, "Title");
    assert_int_equal(list.items[0].address_type, 1);
    assert_string_equal(list.items[0].address_list, "http://a/");
    assert_string_equal(list.items[0].access_token, "secret");
    assert_int_equal(list.items[0].update_s, NOW_S);
    group_infos_fini(&list);
    test_sql("UPDATE xxl_job_group SET address_list = NULL, update_time = NULL");
    for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
        test_sql("UPDATE xxl_job_group SET access_token = %s", tokens[i].sql);
        assert_ok(store_load_group(s, id, &list, ec));
        assert_int_equal(list.items[0].has_token, tokens[i].has_token);
        assert_null(list.items[0].address_list);
        assert_int_equal(list.items[0].update_s, -1);
        group_infos_fini(&list);
    }
    assert_int_equal(store_load_group(s, id + 1, &list, &why), ERR_NOTFOUND);
}

static void a_name_is_taken_by_another_group_alone(void **state)
{
    int64_t id = add(&group_a);
    bool taken = false;

    (void)state;
    assert_ok(store_is_app_name_taken(s, "APP-A", 0, &taken, ec)); /* the collation sees no difference */
    assert_true(taken);
    assert_ok(store_is_app_name_taken(s, "app-a", id, &taken, ec));
    assert_false(taken);
    assert_ok(store_is_app_name_taken(s, "app-b", 0, &taken, ec));
    assert_false(taken);
}

static void beats_are_the_latest_of_each_address(void **state)
{
    struct group_beats beats = {0};

    (void)state;
    test_sql("ALTER TABLE xxl_job_registry DROP KEY i_g_k_v"); /* rows may be there twice without it */
    test_sql("INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES "
             "('EXECUTOR', 'app', 'http://b/', '2023-11-15 06:13:20'), "
             "('EXECUTOR', 'app', 'http://a/', '2023-11-15 06:13:25'), "
             "('EXECUTOR', 'app', 'http://a/', '2023-11-15 06:13:29'), "
             "('EXECUTOR', 'app', 'http://a/', '2023-11-15 06:13:21'), "
             "('EXECUTOR', 'app', 'http://c/', '2023-11-15 06:13:19'), "
             "('EXECUTOR', 'App', 'http://d/', '2023-11-15 06:13:29'), "
             "('ADMIN', 'app', 'http://e/', '2023-11-15 06:13:29')");
    assert_ok(store_load_group_beats(s, "app", NOW_S, &beats, ec));
    assert_int_equal(beats.count, 2);
    assert_string_equal(beats.items[0].address, "http://a/");
    assert_int_equal(beats.items[0].beat_s, NOW_S + 9);
    assert_string_equal(beats.items[1].address, "http://b/");
    assert_int_equal(beats.items[1].beat_s, NOW_S);
    group_beats_fini(&beats);
}

static void jobs_of_a_group_are_listed_by_id(void **state)
{
    struct group_jobs jobs = {0};

    (void)state;
    for (int64_t id = 1; id <= 5; id++)
        test_add_job(id, NOW_S * 1000);
    test_sql("UPDATE xxl_job_info SET job_group = 2 WHERE id = 3");
    test_sql("UPDATE xxl_job_info SET trigger_status = 0 WHERE id = 4");
    assert_ok(store_list_group_jobs(s, 1, 1, 2, &jobs, ec));
    assert_int_equal(jobs.count, 2);
    assert_int_equal(jobs.items[0].id, 2);
    assert_true(jobs.items[0].running);
    assert_string_equal(jobs.items[0].name, "job");
    assert_int_equal(jobs.items[1].id, 4);
    assert_false(jobs.items[1].running);
    group_jobs_fini(&jobs);
}

#define PLAIN(name) cmocka_unit_test_setup_teardown(name, set_up_plain, tear_down)
#define WITH_TOKENS(name) cmocka_unit_test_setup_teardown(name, set_up_with_tokens, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_TOKENS(a_group_is_added_with_all_it_has),
        WITH_TOKENS(each_member_alone_is_changed),
        WITH_TOKENS(what_somebody_changed_meanwhile_is_left_alone),
        PLAIN(a_group_is_removed_unless_it_is_needed),
        PLAIN(groups_are_found_and_counted),
        WITH_TOKENS(a_group_is_loaded_as_it_is),
        PLAIN(a_name_is_taken_by_another_group_alone),
        PLAIN(beats_are_the_latest_of_each_address),
        PLAIN(jobs_of_a_group_are_listed_by_id),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
