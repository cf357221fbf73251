/* SPDX-License-Identifier: MIT */
/* Executor groups, and the chart, through the four dialects, on a real database of each generation. */
#include "http/console_send.h"
#include "cron/alloc_fail.h"
#include "shardwheel/admin/groups.h"
#include "store/test_schema.h"

#define NOW_S INT64_C(1700000000)
#define A_OK "{\"code\":200,\"msg\":null,\"content\":null}"
#define C_OK "{\"code\":200,\"msg\":\"Success\",\"data\":null,\"success\":true}"
#define A_MSG(text) "{\"code\":500,\"msg\":\"" text "\",\"content\":null}"
#define C_MSG(text) "{\"code\":500,\"msg\":\"" text "\",\"data\":null,\"success\":false}"

static struct store *st;
static struct admin *admin;

/* A database of that family, with one group of id 1. */
static void begin(const char *family)
{
    static char context[] = "";

    st = test_db_fresh(1, NOW_S);
    test_make_family(family);
    test_sql("DELETE FROM xxl_job_group");
    test_sql("INSERT INTO xxl_job_group (id, app_name, %s, address_type, address_list, update_time) VALUES "
             "(1, 'first-app', 'First', 0, NULL, '2018-11-03 22:21:31')",
             test_group_name_column(family));
    store_destroy(st);
    st = test_store(); /* one that reads the features anew */
    assert_ok(admin_create(&(struct admin_opts){.store = st}, clock_system(), NULL, &admin, ec));
    h = (struct http){
        .context = context, .generation = dialect_of_family(family), .opts = {.admin = admin, .lang = LANG_EN}};
    who = "admin";
    cookie = NULL;
    content_type = "application/x-www-form-urlencoded";
}

static int tear_down(void **state)
{
    (void)state;
    response_fini(&answer);
    answer = (struct http_response){0};
    admin_destroy(admin);
    store_destroy(st);
    admin = NULL;
    st = NULL;
    return 0;
}

/* By POST. */
static void expect(const char *path, const char *body, const char *expected)
{
    const char *got = console_send("POST", path, "", body);

    if (strcmp(got, expected))
        fail_msg("%s %s:\n%s\nexpected\n%s", path, body, got, expected);
}

static void lists_and_loads_in_each_dialect(void **state)
{
    (void)state;
    static const struct {
        const char *family, *query, *list, *one;
    } cases[] = {
        {"2.3", "start=0&length=5",
         "{\"recordsFiltered\":1,\"data\":[{\"id\":1,\"appname\":\"first-app\",\"title\":\"First\",\"addressType\":0,"
         "\"addressList\":null,\"updateTime\":\"2018-11-03T14:21:31.000+00:00\",\"registryList\":null}],"
         "\"recordsTotal\":1}",
         "{\"code\":200,\"msg\":null,\"content\":{\"id\":1,"},
        {"3.2", "appname=FIRST&title=",
         "{\"recordsFiltered\":1,\"data\":[{\"id\":1,\"appname\":\"first-app\",\"title\":\"First\",\"addressType\":0,"
         "\"addressList\":null,\"updateTime\":\"2018-11-03T14:21:31.000+00:00\",\"registryList\":null}],"
         "\"recordsTotal\":1}",
         "{\"code\":200,\"msg\":\"Success\",\"content\":{\"id\":1,"},
        {"3.4", "offset=0&pagesize=10&appname=t-a%25p",
         "{\"code\":200,\"msg\":\"Success\",\"data\":{\"offset\":0,\"pagesize\":0,\"data\":[{\"id\":1,\"appname\":"
         "\"first-app\",\"title\":\"First\",\"addressType\":0,\"addressList\":null,\"updateTime\":\"2018-11-03 "
         "14:21:31\",\"registryList\":null}],\"total\":1},\"success\":true}",
         "{\"code\":200,\"msg\":\"Success\",\"data\":{\"id\":1,"},
        {"3.5", "name=irs",
         "{\"code\":200,\"msg\":\"Success\",\"data\":{\"offset\":0,\"pagesize\":0,\"data\":[{\"id\":1,\"appname\":"
         "\"first-app\",\"name\":\"First\",\"addressType\":0,\"addressList\":null,\"accessToken\":null,"
         "\"updateTime\":\"2018-11-03 14:21:31\",\"registryList\":null}],\"total\":1},\"success\":true}",
         "{\"code\":200,\"msg\":\"Success\",\"data\":{\"id\":1,"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        begin(cases[i].family);
        expect("/jobgroup/pageList", cases[i].query, cases[i].list);
        assert_memory_equal(console_send("GET", "/jobgroup/loadById", "id=1", ""), cases[i].one, strlen(cases[i].one));
        tear_down(NULL);
    }
    begin("3.4");
    expect("/jobgroup/pageList", "offset=0&appname=no'such",
           "{\"code\":200,\"msg\":\"Success\",\"data\":{\"offset\":0,"
           "\"pagesize\":0,\"data\":[],\"total\":0},\"success\":true}");
    expect("/jobgroup/pageList", "start=5&length=10", "{\"recordsFiltered\":1,\"data\":[],\"recordsTotal\":1}");
    expect("/jobgroup/loadById", "id=9", C_MSG("Fail"));
    cookie = ADMIN;
    expect("/jobgroup/loadById", "id=9", "{\"code\":500,\"msg\":null,\"content\":null}");
}

static void a_and_b_add_by_their_rules(void **state)
{
    (void)state;
    static const char *const refused[][2] = {
        {"appname=%20&title=x", "please input AppName"},
        {"appname=abc&title=x", "AppName length is limited to 4~64"},
        {"appname=a%3Cbcd&title=x", "AppNameillegal"},
        {"appname=abcd&title=", "please input Title"},
        {"appname=abcd&title=%3Eb", "Titleillegal"},
        {"appname=abcd&title=x&addressType=1", "Manually registration type, the machine address must not be empty"},
        {"appname=abcd&title=x&addressType=1&addressList=%3C", "machine addressillegal"},
        {"appname=abcd&title=x&addressType=1&addressList=http://a,,http://b", "registry machine address is illegal"},
    };
    begin("2.5");
    cookie = ADMIN;
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        char expected[200];
        snprintf(expected, sizeof expected, A_MSG("%s"), refused[i][1]);
        expect("/jobgroup/save", refused[i][0], expected);
    }
    /* Too long for its column, which has twelve characters here, and where calls must not go. */
    assert_non_null(strstr(console_send("POST", "/jobgroup/save", "", "appname=abcd&title=1234567890123"), "title: "));
    assert_non_null(strstr(console_send("POST", "/jobgroup/save", "",
                                        "appname=abcd&title=x&addressType=1&addressList=http://169.254.169.254/"),
                           "addressList: "));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_group"), 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 0);
    /* As they were sent: blanks, no scheme, an empty item at the end, a title in another script. */
    expect("/jobgroup/save", "appname=+two&title=%E4%B8%AD%E6%96%87&addressType=1&addressList=1.2.3.4:9999,", A_OK);
    assert_string_equal(test_text("SELECT CONCAT('[', app_name, '][', title, '][', address_list, ']') FROM "
                                  "xxl_job_group WHERE id > 1"),
                        "[ two][中文][1.2.3.4:9999,]");
    expect("/jobgroup/save", "appname=first-app&title=again", A_OK); /* nobody looks whether it is there */
    assert_string_equal(test_text("SELECT CONCAT(who, ' ', via, ' ', action, ' ', target_name) FROM shardwheel_audit "
                                  "ORDER BY id LIMIT 1"),
                        "admin console A group.add  two");
}

static void c_adds_by_its_rules(void **state)
{
    (void)state;
    static const char *const refused[][2] = {
        {"appname=jscript&title=javascript:x", "Titleillegal"},
        {"appname=%3Cscript%3Ex&title=x", "AppNameillegal"},
        {"appname=abcd&title=x&addressType=1&addressList=http://a,,http://b", "registry machine address is illegal"},
        {"appname=abcd&title=x&addressType=1&addressList=1.2.3.4:9999", "registry machine address is illegal[2]"},
        {"appname=abcd&title=x&addressType=1&addressList=http://a,%20http://b",
         "registry machine address is illegal[2]"},
        {"appname=abcd&title=x&addressType=2&addressList=+", "Manually registration type, the machine address must "
                                                             "not be empty"},
    };
    begin("3.4");
    expect("/jobgroup/insert", "appname=&title=x",
           "{\"code\":500,\"msg\":\"please input AppName\",\"data\":null,"
           "\"success\":false}");
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        char expected[200];
        snprintf(expected, sizeof expected, C_MSG("%s"), refused[i][1]);
        expect("/jobgroup/insert", refused[i][0], expected);
    }
    expect("/jobgroup/insert", "appname=abcd&title=a%3Cb&addressType=1&addressList=http://a:1/,https://b:2/", C_OK);
    assert_string_equal(test_text("SELECT title FROM xxl_job_group WHERE app_name = 'abcd'"), "a<b");
    console_send("POST", "/jobgroup/insert", "", "appname=abcd&title=x&addressType=auto");
    assert_int_equal(answer.status, 400);
    assert_non_null(strstr(answer.body.data, "addressType"));
}

static void d_has_tokens_and_unique_names(void **state)
{
    (void)state;
    begin("3.5");
    expect("/jobgroup/insert", "appname=abcd&name=", C_MSG("please input Executor Name"));
    expect("/jobgroup/insert", "appname=abc&name=x", C_MSG("AppName Length limit4~64"));
    expect("/jobgroup/insert", "appname=first-app&name=x", C_MSG("AppName Repeat"));
    expect("/jobgroup/insert", "appname=abcd&name=x&accessToken=s3cret", C_OK);
    assert_string_equal(test_text("SELECT access_token FROM xxl_job_group WHERE app_name = 'abcd'"), "s3cret");
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit WHERE after_json LIKE '%%s3cret%%'"), 0);
    /* The name stays, and the token where none is sent; an unknown id has no words. */
    assert_non_null(strstr(console_send("POST", "/jobgroup/pageList", "", "name=x"), "\"accessToken\":null"));
    expect("/jobgroup/update", "id=1&appname=other&name=New&accessToken=tok", C_OK);
    assert_string_equal(test_text("SELECT CONCAT(app_name, ' ', name, ' ', access_token) FROM xxl_job_group WHERE "
                                  "id = 1"),
                        "first-app New tok");
    expect("/jobgroup/update", "id=1&name=New", C_OK);
    assert_string_equal(test_text("SELECT access_token FROM xxl_job_group WHERE id = 1"), "tok");
    expect("/jobgroup/update", "id=1&name=New&accessToken=", C_OK);
    assert_string_equal(test_text("SELECT access_token FROM xxl_job_group WHERE id = 1"), "tok");
    expect("/jobgroup/update", "id=99&name=New", "{\"code\":500,\"msg\":null,\"data\":null,\"success\":false}");
    /* Whoever is logged in may load a group. */
    test_sql("UPDATE xxl_job_group SET access_token = 'hidden'");
    who = "user";
    assert_null(strstr(console_send("GET", "/jobgroup/loadById", "id=1", ""), "hidden"));
    assert_non_null(strstr(answer.body.data, "\"accessToken\":null"));
    expect("/jobgroup/update", "id=1&name=x",
           "{\"code\":500,\"msg\":\"permission limit, current login-user does not have role:ADMIN\"}\n");
}

static void a_token_without_a_column_is_refused(void **state)
{
    (void)state;
    begin("3.4");
    assert_non_null(strstr(console_send("POST", "/jobgroup/insert", "", "appname=abcd&name=x&accessToken=t"),
                           "accessToken: executor groups in this database cannot have access tokens"));
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_group"), 1);
}

static void update_stores_who_is_registered(void **state)
{
    (void)state;
    begin("2.3");
    cookie = ADMIN;
    test_sql("INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES "
             "('EXECUTOR', 'first-app', 'http://b/', CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', '+08:00')), "
             "('EXECUTOR', 'first-app', 'http://a/', CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', '+08:00')), "
             "('EXECUTOR', 'first-app', 'http://a/', CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', '+08:00')), "
             "('ADMIN', 'first-app', 'http://no/', CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', '+08:00')), "
             "('EXECUTOR', 'FIRST-app', 'http://c/', CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', '+08:00')), "
             "('EXECUTOR', 'first-app', 'http://dead/', CONVERT_TZ(UTC_TIMESTAMP() - INTERVAL 100 SECOND, '+00:00', "
             "'+08:00'))");
    expect("/jobgroup/update", "id=1&appname=first-app&title=Two&addressType=0&addressList=http://typed/", A_OK);
    assert_string_equal(test_text("SELECT CONCAT(title, ' ', address_list) FROM xxl_job_group"),
                        "Two http://a/,http://b/");
    assert_string_equal(test_text("SELECT CONCAT(before_json, after_json) FROM shardwheel_audit"),
                        "{\"title\":\"First\",\"addressList\":null}{\"title\":\"Two\",\"addressList\":\"http://a/,"
                        "http://b/\"}");
    expect("/jobgroup/update", "id=1&appname=nobody-there&title=Two", A_OK); /* names can be changed up to C */
    assert_string_equal(test_text("SELECT address_list FROM xxl_job_group"), "(null)");
    expect("/jobgroup/update", "id=1&appname=nobody-there&title=Two&addressType=1&addressList=9.9.9.9:1", A_OK);
    assert_string_equal(test_text("SELECT CONCAT(address_type, address_list) FROM xxl_job_group"), "19.9.9.9:1");
    expect("/jobgroup/update", "id=1&appname=&title=Two", A_MSG("please input AppName"));
    expect("/jobgroup/update", "id=77&appname=nobody-there&title=", A_MSG("please input Title"));
    expect("/jobgroup/update", "id=77&appname=nobody-there&title=Two", "{\"code\":500,\"msg\":null,\"content\":null}");
    console_send("POST", "/jobgroup/update", "", "appname=nobody-there&title=Two&id=");
    assert_int_equal(answer.status, 400);
}

static void removal_keeps_what_is_used_and_the_last(void **state)
{
    (void)state;
    begin("3.4");
    test_add_job(5, 0);
    expect("/jobgroup/delete", "ids[]=1", C_MSG("Refuse to delete, the executor is being used"));
    test_sql("DELETE FROM xxl_job_info");
    expect("/jobgroup/delete", "ids[]=1", C_MSG("Refuses to delete, the system retains at least one executor"));
    expect("/jobgroup/delete", "ids[]=7", C_OK); /* unknown */
    cookie = ADMIN;
    expect("/jobgroup/remove", "id=7", A_MSG("Refuses to delete, the system retains at least one executor"));
    test_add_job(5, 0);
    test_sql("UPDATE xxl_job_info SET job_group = 7");
    expect("/jobgroup/remove", "id=7", A_MSG("Refuse to delete, the executor is being used"));
    test_sql("DELETE FROM xxl_job_info");
    test_sql("INSERT INTO xxl_job_group (id, app_name, title, update_time) VALUES (2, 'other', 'x', NOW()), "
             "(3, 'first-app', 'same name', NOW())");
    test_sql("INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES "
             "('EXECUTOR', 'first-app', 'http://a/', NOW()), ('EXECUTOR', 'other', 'http://b/', NOW())");
    expect("/jobgroup/remove", "id=7", "{\"code\":500,\"msg\":null,\"content\":null}");
    expect("/jobgroup/remove", "id=2", A_OK);
    expect("/jobgroup/remove", "id=1", A_OK); /* its executors beat for the other of that name, too */
    assert_string_equal(test_text("SELECT GROUP_CONCAT(registry_value) FROM xxl_job_registry"), "http://a/");
    assert_string_equal(test_text("SELECT GROUP_CONCAT(action, target ORDER BY id) FROM shardwheel_audit"),
                        "group.remove2,group.remove1");
}

/* One that was changed between reading and writing is read again, and nobody's change is lost. */
static void a_change_is_of_what_was_read(void **state)
{
    (void)state;
    struct store_session *s;
    struct group_infos list;
    struct audit_row audit = {.who = "x", .action = "group.update"};
    struct errctx ec;

    begin("3.4");
    s = test_take(st, SESSION_NORMAL);
    assert_int_equal(store_load_group(s, 1, &list, &ec), ERR_OK);
    struct group_info to = list.items[0];
    to.title = "Mine";
    test_sql("UPDATE xxl_job_group SET address_list = 'http://new/'"); /* heartbeats are no change */
    assert_int_equal(store_update_group(s, list.items, &to, NOW_S, &audit, &ec), ERR_OK);
    assert_string_equal(test_text("SELECT CONCAT(title, ' ', address_list) FROM xxl_job_group"), "Mine http://new/");
    test_sql("UPDATE xxl_job_group SET title = 'MINE'");
    assert_int_equal(store_update_group(s, &to, list.items, NOW_S, &audit, &ec), ERR_CONFLICT);
    assert_string_equal(test_text("SELECT title FROM xxl_job_group"), "MINE");
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit"), 1);
    group_infos_fini(&list);
    store_give_session(st, s);
}

/* ---- /chartInfo -------------------------------------------------------------------------------------------------- */

#define CHART "/chartInfo"
#define RANGE "startDate=2026-11-01+00:00:00&endDate=2026-11-3+23:59:59"

static void the_chart_has_the_days_of_the_report(void **state)
{
    (void)state;
    begin("3.4");
    test_sql("INSERT INTO xxl_job_log_report (trigger_day, running_count, suc_count, fail_count) VALUES "
             "('2026-10-31', 9, 9, 9), ('2026-11-03', 1, 20, 3), ('2026-11-01', 0, 5, 1), ('2026-11-04', 9, 9, 9)");
    expect(CHART, RANGE,
           "{\"code\":200,\"msg\":\"Success\",\"data\":{\"triggerDayList\":[\"2026-11-01\",\"2026-11-03\"],"
           "\"triggerDayCountRunningList\":[0,1],\"triggerCountRunningTotal\":1,\"triggerDayCountSucList\":[5,20],"
           "\"triggerCountSucTotal\":25,\"triggerDayCountFailList\":[1,3],\"triggerCountFailTotal\":4},"
           "\"success\":true}");
    static const char *const refused[] = {"", "startDate=&endDate=", "startDate=2026-11-01&endDate=2026-11-02",
                                          "startDate=2026-02-29+00:00:00&endDate=2026-11-03+00:00:00",
                                          "startDate=2026-11-01+24:00:00&endDate=2026-11-03+00:00:00"};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        console_send("POST", CHART, "", refused[i]);
        assert_int_equal(answer.status, 400);
        assert_non_null(strstr(answer.body.data, "startDate"));
    }
}

/* Nothing in the range, or in A no range at all: the last seven days with zeros. */
static void an_empty_chart_has_seven_days(void **state)
{
    (void)state;
    char expected[500], today[20];

    begin("2.5");
    snprintf(today, sizeof today, "%s", test_text("SELECT DATE(CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', '+08:00'))"));
    snprintf(expected, sizeof expected,
             "\"%s\"],\"triggerDayCountRunningList\":[0,0,0,0,0,0,0],\"triggerCountRunningTotal\":0,"
             "\"triggerDayCountSucList\":[0,0,0,0,0,0,0],\"triggerCountSucTotal\":0,",
             today);
    cookie = ADMIN;
    assert_non_null(strstr(console_send("POST", CHART, "", RANGE), expected));
    assert_non_null(strstr(console_send("POST", CHART, "", ""), expected));
    assert_non_null(strstr(answer.body.data, "{\"code\":200,\"msg\":null,\"content\":{\"triggerDayList\":["));
    who = "user";
    assert_non_null(strstr(console_send("GET", CHART, RANGE, ""), expected));
}

static void a_group_of_others_is_shown_as_the_original_does(void **state)
{
    static const char *const families[] = {"2.5", "3.2", "3.4", "3.5"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(families); i++) {
        begin(families[i]);
        who = "user";
        const char *got = console_send("GET", "/jobgroup/loadById", "id=1", "");
        assert_true(strstr(got, i < 2 ? "Permission limit" : "first-app") != NULL);
        assert_true(strstr(got, i < 2 ? "first-app" : "Permission limit") == NULL);
        tear_down(NULL);
    }
    begin("2.5");
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void send_and_forget(const char *path, const char *body)
{
    console_send("POST", path, "", body);
    response_fini(&answer);
    answer = (struct http_response){0};
}

/* The answer says so (or has failed itself, which the server sees), nothing leaks, and the next call works. */
static void any_allocation_may_fail(void **state)
{
    (void)state;
    static const char *const calls[][2] = {
        {"/jobgroup/pageList", "offset=0"},
        {"/jobgroup/loadById", "id=1"},
        {"/jobgroup/update", "id=1&appname=first-app&title=New&addressType=0"},
        {"/jobgroup/update", "id=1&appname=first-app&title=Old&addressType=1&addressList=http://a/"},
        {"/jobgroup/delete", "ids[]=1"},
        {"/chartInfo", RANGE},
    };
    begin("3.4");
    test_sql("INSERT INTO xxl_job_registry (registry_group, registry_key, registry_value, update_time) VALUES "
             "('EXECUTOR', 'first-app', 'http://b/', CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', '+08:00'))");
    for (size_t i = 0; alloc_fail_works && i < ARRAY_LEN(calls); i++) {
        bool failed = true;
        for (long n = 1; failed; n++) {
            send_and_forget(calls[i][0], calls[i][1]); /* a connection is there, with all of its buffers */
            long live = alloc_live;
            alloc_fail_start(n);
            const char *got = console_send("POST", calls[i][0], "", calls[i][1]);
            failed = alloc_fail_stop();
            bool in_library = strstr(got, "(error "); /* which leaks, and whose connection is closed then */
            if (failed && !answer.body.failed && !strstr(got, "\"code\":"))
                fail_msg("%s, allocation %ld: %s", calls[i][0], n, got);
            response_fini(&answer);
            answer = (struct http_response){0};
            send_and_forget(calls[i][0], calls[i][1]);
            if (alloc_live != live && !in_library)
                fail_msg("%s, allocation %ld: %ld blocks are left", calls[i][0], n, alloc_live - live);
        }
    }
}

#define CASE(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(lists_and_loads_in_each_dialect),
        CASE(a_and_b_add_by_their_rules),
        CASE(c_adds_by_its_rules),
        CASE(d_has_tokens_and_unique_names),
        CASE(a_token_without_a_column_is_refused),
        CASE(update_stores_who_is_registered),
        CASE(removal_keeps_what_is_used_and_the_last),
        CASE(a_change_is_of_what_was_read),
        CASE(a_group_of_others_is_shown_as_the_original_does),
        CASE(the_chart_has_the_days_of_the_report),
        CASE(an_empty_chart_has_seven_days),
        CASE(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
