/* SPDX-License-Identifier: MIT */
/* Runs and GLUE through the four dialects, on a real database. */
#include "http/console_send.h"
#include "shardwheel/admin/glue.h"
#include "shardwheel/admin/runs.h"
#include "store/test_schema.h"

#define NOW_S INT64_C(1700000000) /* 2023-11-15 06:13:20 in Shanghai */
#define A_OK "{\"code\":200,\"msg\":null,\"content\":null}"
#define A_MSG(text) "{\"code\":500,\"msg\":\"" text "\",\"content\":null}"
#define C_MSG(text) "{\"code\":500,\"msg\":\"" text "\",\"data\":null,\"success\":false}"

static struct store *st;
static struct admin *admin;
static struct zone *zone;

static void begin(const char *family, enum config_glue glue)
{
    static char context[] = "";

    st = test_db_fresh(1, NOW_S);
    test_make_family(family);
    test_sql("DELETE FROM xxl_job_info");
    test_sql("INSERT INTO xxl_job_info (id, job_group, %s, glue_type, glue_source) VALUES (7, 1, 'nightly', "
             "'GLUE_SHELL', 'one')",
             test_job_name_column(family));
    store_destroy(st);
    st = test_store();
    assert_ok(zone_load("Asia/Shanghai", &zone, ec));
    assert_ok(admin_create(&(struct admin_opts){.store = st, .glue = glue}, clock_system(), NULL, &admin, ec));
    h = (struct http){.context = context,
                      .generation = dialect_of_family(family),
                      .opts = {.admin = admin, .lang = LANG_EN, .console_zone = zone}};
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
    zone_destroy(zone);
    admin = NULL;
    st = NULL;
    zone = NULL;
    return 0;
}

static void add_run(int64_t id, int64_t group, int64_t job, const char *time, int trigger, int handle)
{
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_time, trigger_code, trigger_msg, handle_code) "
             "VALUES (%" PRId64 ", %" PRId64 ", %" PRId64 ", '%s', %d, 'm', %d)",
             id, group, job, time, trigger, handle);
}

static void expect(const char *path, const char *body, const char *expected)
{
    const char *got = console_send("POST", path, "", body);

    if (strcmp(got, expected))
        fail_msg("%s %s:\n%s\nexpected\n%s", path, body, got, expected);
}

static void expect_part(const char *path, const char *body, const char *part)
{
    const char *got = console_send("POST", path, "", body);

    if (!strstr(got, part))
        fail_msg("%s %s:\n%s\nexpected\n%s", path, body, got, part);
}

/* Ids of a list, in its order. */
static void expect_ids(const char *body, const char *ids)
{
    const char *at = console_send("POST", "/joblog/pageList", "", body);
    struct buf found = {0};

    buf_append(&found, "", 0);
    for (; (at = strstr(at, "{\"id\":")) != NULL; at++)
        buf_printf(&found, "%s%lld", found.len ? "," : "", strtoll(at + 6, NULL, 10));
    if (strcmp(found.data, ids))
        fail_msg("%s: %s, expected %s", body, found.data, ids);
    buf_fini(&found);
}

#define ALL "jobGroup=0&jobId=0&logStatus=-1&filterTime="
#define A_PAGE "&start=0&length=10"
#define C_PAGE "&offset=0&pagesize=10"

static void lists_have_the_fields_of_the_dialect(void **state)
{
    (void)state;
    begin("2.3", CONFIG_GLUE_ON);
    test_sql("INSERT INTO xxl_job_log VALUES (5, 1, 7, 'http://a:1/', 'demo', 'p', '0/2', 3, '2023-11-15 06:13:20', "
             "200, '<!--sw:p:1:1-->t', NULL, 0, NULL, 0)");
    expect("/joblog/pageList", ALL A_PAGE,
           "{\"recordsFiltered\":1,\"data\":[{\"id\":5,\"jobGroup\":1,\"jobId\":7,\"executorAddress\":\"http://a:1/\","
           "\"executorHandler\":\"demo\",\"executorParam\":\"p\",\"executorShardingParam\":\"0/2\","
           "\"executorFailRetryCount\":3,\"triggerTime\":\"2023-11-14T22:13:20.000+00:00\",\"triggerCode\":200,"
           "\"triggerMsg\":\"<!--sw:p:1:1-->t\",\"handleTime\":null,\"handleCode\":0,\"handleMsg\":null,"
           "\"alarmStatus\":0}],\"recordsTotal\":1}");
    expect_part("/joblog/pageList", ALL C_PAGE,
                "{\"code\":200,\"msg\":\"Success\",\"data\":{\"offset\":0,\"pagesize\":0,\"data\":[{\"id\":5,");
    expect_part("/joblog/pageList", ALL C_PAGE, "],\"total\":1},\"success\":true}");
    tear_down(NULL);
    begin("3.4", CONFIG_GLUE_ON);
    add_run(5, 1, 7, "2023-11-15 06:13:20", 200, 0);
    expect_part("/joblog/pageList", ALL C_PAGE, "\"triggerTime\":\"2023-11-15 06:13:20\""); /* of the server's zone */
}

static void lists_are_filtered_and_ordered(void **state)
{
    (void)state;
    begin("2.5", CONFIG_GLUE_ON);
    add_run(1, 1, 7, "2023-11-15 10:00:00", 200, 200);
    add_run(2, 1, 8, "2023-11-15 12:00:00", 200, 0);
    add_run(3, 2, 7, "2023-11-15 11:00:00", 500, 0);
    add_run(4, 1, 7, "2023-11-15 12:00:00", 200, 500);
    add_run(5, 2, 9, "2023-11-15 09:00:00", 0, 0);
    expect_ids(ALL A_PAGE, "4,2,3,1,5");
    expect_ids(ALL C_PAGE, "5,4,3,2,1");
    expect_ids(ALL "&start=1&length=2", "2,3");
    expect_ids(ALL "&start=9&length=2", "");
    expect_ids(ALL "&start=0&length=0", "");
    expect_ids("jobGroup=1&jobId=0&logStatus=-1&filterTime=" A_PAGE, "4,2,1");
    expect_ids("jobGroup=1&jobId=7&logStatus=-1&filterTime=" A_PAGE, "4,1"); /* by both, in all dialects */
    expect_ids("jobGroup=0&jobId=7&logStatus=-1&filterTime=" C_PAGE, "4,3,1");
    expect_ids("jobGroup=0&jobId=0&logStatus=1&filterTime=" A_PAGE, "1");
    expect_ids("jobGroup=0&jobId=0&logStatus=2&filterTime=" A_PAGE, "4,3");
    expect_ids("jobGroup=0&jobId=0&logStatus=3&filterTime=" A_PAGE, "2");
    expect_ids("jobGroup=0&jobId=0&logStatus=-1&filterTime=2023-11-15+10:00:00+-+2023-11-15+11:00:00" A_PAGE, "3,1");
    expect_ids("jobGroup=0&jobId=0&logStatus=-1&filterTime=2023-11-15+10:30:00+-+whenever" A_PAGE, "4,2,3");
    expect_part("/joblog/pageList", "jobGroup=0&jobId=0&logStatus=-1&filterTime=2023-11-15+10:30:00+-+whenever" C_PAGE,
                "parse error.");
    expect_part("/joblog/pageList", "jobId=0&logStatus=-1&filterTime=" A_PAGE, "jobGroup");
    who = "ann";
    who_group = 1;
    expect_ids("jobGroup=1&jobId=0&logStatus=-1&filterTime=" A_PAGE, "4,2,1");
    expect("/joblog/pageList", ALL A_PAGE, A_MSG("Permission limit[username=ann]"));
    expect_part("/joblog/pageList", "jobGroup=2&jobId=0&logStatus=-1&filterTime=" A_PAGE, "Permission limit");
}

static void runs_that_cannot_be_stopped(void **state)
{
    (void)state;
    begin("3.4", CONFIG_GLUE_ON);
    add_run(1, 1, 7, "2023-11-15 10:00:00", 500, 0);
    add_run(2, 1, 7, "2023-11-15 10:00:00", 200, 200);
    add_run(3, 1, 99, "2023-11-15 10:00:00", 200, 0);
    add_run(4, 2, 7, "2023-11-15 10:00:00", 200, 0);
    expect_part("/joblog/logKill", "id=77", "there is no run 77");
    expect("/joblog/logKill", "id=1&offset=0&pagesize=1", C_MSG("Trigger Fail, can not kill job"));
    expect("/joblog/logKill", "id=3&offset=0&pagesize=1", C_MSG("Job ID is illegal"));
    expect_part("/joblog/logKill", "id=2&offset=0&pagesize=1",
                "{\"code\":200,\"msg\":\"Success\",\"data\":\"run 2 has ended already, with code 200\"");
    assert_int_equal(test_int("SELECT handle_code FROM xxl_job_log WHERE id = 2"), 200);
    who = "ann";
    who_group = 1;
    expect_part("/joblog/logKill", "id=4", "Permission limit");
    expect_part("/joblog/logDetailCat", "logId=4&fromLineNum=1", "Permission limit");
    who = "reader";
    expect_ids("jobGroup=1&jobId=0&logStatus=-1&filterTime=" C_PAGE, "3,2,1");
    expect_part("/joblog/logKill", "id=1", "Permission limit");
    who = "admin";
    expect("/joblog/logDetailCat", "logId=77&fromLineNum=1&offset=0&pagesize=1", C_MSG("Log ID is illegal"));
}

static void the_log_is_cleared(void **state)
{
    (void)state;
    begin("2.3", CONFIG_GLUE_ON);
    for (int64_t id = 1; id <= 1200; id++)
        add_run(id, 1 + id % 2, 7 + id % 3, id <= 600 ? "2020-01-01 00:00:00" : "2023-11-15 06:13:20", 200, 200);
    test_sql("UPDATE xxl_job_log SET trigger_time = NOW() WHERE id > 1190");
    test_sql("INSERT INTO xxl_job_log (id, job_group, job_id, trigger_time, trigger_code, trigger_msg, handle_code) "
             "VALUES (2000, 1, 7, '2019-01-01 00:00:00', 0, '<!--sw:p:1:1-->', 0)");
    expect("/joblog/clearLog", "jobGroup=0&jobId=0&type=10&start=1", A_MSG("Clean type is illegal"));
    expect("/joblog/clearLog", "jobGroup=0&jobId=0&type=-3&start=1", A_MSG("Clean type is illegal"));
    expect("/joblog/clearLog", "jobGroup=0&jobId=0&type=5&start=1", A_OK);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 1001); /* that one is somebody's */
    assert_int_equal(test_int("SELECT MIN(id) FROM xxl_job_log"), 201);
    expect("/joblog/clearLog", "jobGroup=2&jobId=7&type=9&start=1", A_OK);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE job_group = 2 AND job_id = 7"), 0);
    assert_true(test_int("SELECT COUNT(*) FROM xxl_job_log") > 800);
    expect("/joblog/clearLog", "jobGroup=0&jobId=0&type=4&start=1", A_OK);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log WHERE trigger_time < '2024-01-01'"), 1);
    assert_true(test_int("SELECT COUNT(*) FROM xxl_job_log") > 5);
    expect("/joblog/clearLog", "jobGroup=0&jobId=0&type=9&start=1", A_OK);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 1);
    assert_int_equal(test_int("SELECT COUNT(*) FROM shardwheel_audit WHERE action = 'run.clear'"), 4);
    who = "ann";
    who_group = 1;
    expect_part("/joblog/clearLog", "jobGroup=0&jobId=0&type=10", "Permission limit");
    expect_part("/joblog/clearLog", "jobGroup=2&jobId=0&type=9", "Permission limit");
    expect("/joblog/clearLog", "jobGroup=1&jobId=0&type=9&start=1", A_OK);
}

static void glue_is_saved(void **state)
{
    (void)state;
    begin("2.5", CONFIG_GLUE_ON);
    expect("/jobcode/save", "id=7&glueSource=two%0d%0a&glueRemark=abcd&start=1", A_OK);
    assert_string_equal(test_text("SELECT glue_source FROM xxl_job_info"), "two\r\n");
    expect("/jobcode/save", "id=7&glueSource=x&start=1", A_MSG("please input Resource Remark"));
    expect("/jobcode/save", "id=7&glueSource=x&glueRemark=abc&start=1",
           A_MSG("Resource Remark length is limited to 4~100"));
    expect("/jobcode/save", "id=7&glueSource=x&glueRemark=%F0%9F%98%80%F0%9F%98%80&start=1", A_OK); /* UTF-16 units */
    expect("/jobcode/save", "id=8&glueSource=x&glueRemark=abcd&start=1", A_MSG("Job ID is illegal"));
    expect("/jobcode/save", "id=7&glueSource=+&glueRemark=abcd&offset=0&pagesize=1", C_MSG("please input GLUE Source"));
    expect("/jobcode/save", "id=7&glueRemark=abcd&start=1", A_OK); /* in A an absent one is NULL */
    assert_string_equal(test_text("SELECT glue_source FROM xxl_job_info"), "(null)");
    who = "ann";
    who_group = 2;
    expect_part("/jobcode/save", "id=7&glueSource=x&glueRemark=abcd&start=1", "Permission limit");
    who = "reader";
    who_group = 1;
    expect_part("/jobcode/save", "id=7&glueSource=x&glueRemark=abcd&start=1", "Permission limit");
}

static void glue_can_be_switched_off(void **state)
{
    struct refusal r;
    (void)state;
    begin("3.4", CONFIG_GLUE_OFF);
    expect_part("/jobcode/save", "id=7&glueSource=x&glueRemark=abcd&start=1", "GLUE is disabled on this node");
    assert_string_equal(test_text("SELECT glue_source FROM xxl_job_info"), "one");
    expect_part("/jobinfo/add",
                "jobGroup=1&jobDesc=x&author=me&scheduleType=NONE&glueType=GLUE_SHELL&glueSource=x&"
                "executorRouteStrategy=FIRST&misfireStrategy=DO_NOTHING&executorBlockStrategy=SERIAL_EXECUTION",
                "GLUE is disabled on this node");
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info"), 1);
    assert_int_equal(glue_may_save(admin, "GLUE_GROOVY", &r), ERR_STATE);
    assert_int_equal(r.kind, REFUSED_OFF);
    assert_int_equal(glue_may_save(admin, "BEAN", &r), ERR_OK);
    tear_down(NULL);
    begin("3.4", CONFIG_GLUE_BEAN_ONLY);
    assert_int_equal(glue_may_save(admin, "GLUE_SHELL", &r), ERR_STATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(lists_have_the_fields_of_the_dialect, tear_down),
        cmocka_unit_test_teardown(lists_are_filtered_and_ordered, tear_down),
        cmocka_unit_test_teardown(runs_that_cannot_be_stopped, tear_down),
        cmocka_unit_test_teardown(the_log_is_cleared, tear_down),
        cmocka_unit_test_teardown(glue_is_saved, tear_down),
        cmocka_unit_test_teardown(glue_can_be_switched_off, tear_down),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
