/* SPDX-License-Identifier: MIT */
/* Jobs through the four dialects, on a real database of each generation. */
#include "http/console_send.h"
#include "shardwheel/admin/jobs.h"
#include "store/test_schema.h"

#define NOW_S INT64_C(1700000000)
#define A_MSG(text) "{\"code\":500,\"msg\":\"" text "\",\"content\":null}"
#define C_MSG(text) "{\"code\":500,\"msg\":\"" text "\",\"data\":null,\"success\":false}"
#define A_OK "{\"code\":200,\"msg\":null,\"content\":null}"
#define C_OK "{\"code\":200,\"msg\":\"Success\",\"data\":null,\"success\":true}"
#define STRATEGIES "&misfireStrategy=DO_NOTHING&executorRouteStrategy=FIRST&executorBlockStrategy=COVER_EARLY"
#define REST "&author=me&scheduleType=CRON&scheduleConf=0+0+3+*+*+?&glueType=BEAN&executorHandler=h" STRATEGIES

static struct store *st;
static struct admin *admin;
static struct zone *tokyo;
static struct triggers *triggers;

static void drop_fires(void *arg, struct fire *list)
{
    (void)arg;
    fire_destroy_list(list);
}

/* A database of that family: group 1 and job 7. */
static void begin(const char *family)
{
    static char context[] = "";

    st = test_db_fresh(1, NOW_S);
    test_make_family(family);
    test_sql("DELETE FROM xxl_job_group");
    test_sql("INSERT INTO xxl_job_group (id, app_name, %s, address_type, address_list) VALUES (1, 'app', 'g', 1, "
             "'http://127.0.0.1:1'), (2, 'other', 'g', 1, 'http://127.0.0.1:1')",
             test_group_name_column(family));
    test_sql("INSERT INTO xxl_job_info (id, job_group, %s, author, add_time, schedule_type, schedule_conf, "
             "misfire_strategy, executor_route_strategy, executor_handler, executor_block_strategy, glue_type, "
             "glue_source) VALUES (7, 1, 'seven', 'me', '2018-11-03 22:21:31', 'CRON', '0 0 3 * * ?', 'DO_NOTHING', "
             "'FIRST', 'h', 'SERIAL_EXECUTION', 'BEAN', 'src')",
             test_job_name_column(family));
    store_destroy(st);
    st = test_store(); /* one that reads the features anew */
    assert_ok(zone_load("Asia/Tokyo", &tokyo, ec));
    assert_ok(triggers_create(&(struct triggers_opts){"0123456789abcdef", st, drop_fires, NULL}, clock_system(), NULL,
                              &triggers, ec));
    assert_ok(triggers_start(triggers, ec));
    assert_ok(admin_create(&(struct admin_opts){.store = st, .zone = tokyo, .triggers = triggers}, clock_system(), NULL,
                           &admin, ec));
    h = (struct http){
        .context = context, .generation = dialect_of_family(family), .opts = {.admin = admin, .lang = LANG_EN}};
    who = "admin";
    cookie = h.generation == DIALECT_A ? ADMIN : SSO;
    content_type = "application/x-www-form-urlencoded";
}

static int tear_down(void **state)
{
    (void)state;
    response_fini(&answer);
    answer = (struct http_response){0};
    admin_destroy(admin);
    triggers_stop(triggers);
    triggers_join(triggers);
    triggers_destroy(triggers);
    store_destroy(st);
    zone_destroy(tokyo);
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

#define JOB(named, date)                                                                                               \
    "{\"id\":7,\"jobGroup\":1,\"" named "\":\"seven\",\"addTime\":\"" date                                             \
    "\",\"updateTime\":null,\"author\":\"me\",\"alarmEmail\":null,\"scheduleType\":\"CRON\",\"scheduleConf\":"         \
    "\"0 0 3 * * ?\",\"misfireStrategy\":\"DO_NOTHING\",\"executorRouteStrategy\":\"FIRST\",\"executorHandler\":"      \
    "\"h\",\"executorParam\":null,\"executorBlockStrategy\":\"SERIAL_EXECUTION\",\"executorTimeout\":0,"               \
    "\"executorFailRetryCount\":0,\"glueType\":\"BEAN\",\"glueSource\":\"src\",\"glueRemark\":null,"                   \
    "\"glueUpdatetime\":null,\"childJobId\":null,\"triggerStatus\":0,\"triggerLastTime\":0,\"triggerNextTime\":0}"

static void lists_in_each_dialect(void **state)
{
    static const struct {
        const char *family, *query, *list;
    } cases[] = {
        {"2.3", "jobGroup=1&triggerStatus=-1&jobDesc=e_en",
         "{\"recordsFiltered\":1,\"data\":[" JOB("jobDesc", "2018-11-03T14:21:31.000+00:00") "],\"recordsTotal\":1}"},
        {"3.2", "jobGroup=0&triggerStatus=0&jobDesc=&executorHandler=H&author=ME&start=0&length=3",
         "{\"recordsFiltered\":1,\"data\":[" JOB("jobDesc", "2018-11-03T14:21:31.000+00:00") "],\"recordsTotal\":1}"},
        {"3.4", "offset=0&pagesize=9&jobGroup=1&triggerStatus=-1&jobDesc=&executorHandler=&author=",
         "{\"code\":200,\"msg\":\"Success\",\"data\":{\"offset\":0,\"pagesize\":0,\"data\":[" JOB(
             "jobDesc", "2018-11-03 14:21:31") "],\"total\":1},\"success\":true}"},
        {"3.5", "offset=0&pagesize=9&jobGroup=1&triggerStatus=-1&name=seven&executorHandler=&author=",
         "{\"code\":200,\"msg\":\"Success\",\"data\":{\"offset\":0,\"pagesize\":0,\"data\":[" JOB(
             "name", "2018-11-03 14:21:31") "],\"total\":1},\"success\":true}"},
        {"3.5", "offset=0&pagesize=9&jobGroup=1&triggerStatus=1&name=&executorHandler=&author=",
         "{\"code\":200,\"msg\":\"Success\",\"data\":{\"offset\":0,\"pagesize\":0,\"data\":[],\"total\":0},"
         "\"success\":true}"},
    };
    (void)state;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        begin(cases[i].family);
        expect("/jobinfo/pageList", cases[i].query, cases[i].list);
        if (i == 0) {
            expect("/joblog/getJobsByGroup", "jobGroup=1",
                   "{\"code\":200,\"msg\":null,\"content\":[" JOB("jobDesc", "2018-11-03T14:21:31.000+00:00") "]}");
            expect("/joblog/getJobsByGroup", "jobGroup=99", "{\"code\":200,\"msg\":null,\"content\":[]}");
        }
        who = "user";
        assert_non_null(
            strstr(console_send("POST", "/jobinfo/pageList", "", cases[i].query), "Permission limit[username=user]"));
        tear_down(NULL);
    }
    begin("2.3");
}

static void a_new_job_is_refused_in_the_words_of_the_original(void **state)
{
    static const char *const refused[][2] = {
        {"jobGroup=9", "please choose Executor"},
        {"jobGroup=1&jobDesc=+", "please input Job description"},
        {"jobGroup=1&jobDesc=x", "please input Author"},
        {"jobGroup=1&jobDesc=x&author=y", "Schedule Typeillegal"},
        {"jobGroup=1&jobDesc=x&author=y&scheduleType=CRON", "Cronillegal"},
        {"jobGroup=1&jobDesc=x&author=y&scheduleType=CRON&scheduleConf=x", "Cronillegal"},
        {"jobGroup=1&jobDesc=x&author=y&scheduleType=FIX_RATE", "Schedule Type"},
        {"jobGroup=1&jobDesc=x&author=y&scheduleType=FIX_RATE&scheduleConf=0", "Schedule Typeillegal"},
        {"jobGroup=1&jobDesc=x&author=y&scheduleType=NONE", "GLUE Typeillegal"},
        {"jobGroup=1&jobDesc=x&author=y&scheduleType=NONE&glueType=BEAN", "please input JobHandler"},
        {"jobGroup=1&jobDesc=x&author=y&scheduleType=NONE&glueType=GLUE_PHP", "Route Strategyillegal"},
        {"jobGroup=1&jobDesc=x&author=y&scheduleType=NONE&glueType=GLUE_PHP&executorRouteStrategy=FIRST",
         "Misfire strategyillegal"},
        {"jobGroup=1&jobDesc=x&author=y&scheduleType=NONE&glueType=GLUE_PHP&executorRouteStrategy=FIRST"
         "&misfireStrategy=DO_NOTHING",
         "Block Strategyillegal"},
        {"jobGroup=1&jobDesc=x" REST "&childJobId=7,x", "Child Job ID(x)illegal"},
        {"jobGroup=1&jobDesc=x" REST "&childJobId=7,8", "Child Job ID(8)not exist"},
    };
    (void)state;

    begin("2.5");
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        char expected[200];

        snprintf(expected, sizeof expected, A_MSG("%s"), refused[i][1]);
        expect("/jobinfo/add", refused[i][0], expected);
    }
    h.opts.lang = LANG_ZH_CN;
    expect("/jobinfo/add", "jobGroup=1", A_MSG("请输入任务描述"));
    h.opts.lang = LANG_EN;
    expect("/jobinfo/add", "jobGroup=1&jobDesc=x" REST "&childJobId=7,&triggerStatus=1&triggerNextTime=5",
           "{\"code\":200,\"msg\":null,\"content\":\"8\"}");
    assert_string_equal(test_text("SELECT CONCAT(child_jobid, ' ', trigger_status, ' ', trigger_next_time) FROM "
                                  "xxl_job_info WHERE id = 8"),
                        "7 1 5");
    assert_string_equal(test_text("SELECT CONCAT(who, ' ', via) FROM shardwheel_audit"), "admin console A");
    who = "user";
    assert_non_null(strstr(console_send("POST", "/jobinfo/add", "", "jobGroup=1&jobDesc=x" REST),
                           "Permission limit[username=user]"));
}

static void d_has_names_of_its_own(void **state)
{
    (void)state;
    begin("3.5");
    expect("/jobinfo/insert", "jobGroup=9", C_MSG("please input Job name"));
    expect("/jobinfo/insert", "jobGroup=9&name=x", C_MSG("please input Author"));
    expect("/jobinfo/insert", "jobGroup=9&name=x&author=y", C_MSG("please choose Executor"));
    expect("/jobinfo/insert", "jobGroup=1&name=x" REST,
           "{\"code\":200,\"msg\":\"Success\",\"data\":\"8\",\"success\":true}");
    expect("/jobinfo/update", "id=8&jobGroup=9&name=y&author=z", C_MSG("please choose Executor"));
    expect("/jobinfo/update", "id=8&jobGroup=1&name=y" REST, C_OK);
    assert_string_equal(test_text("SELECT name FROM xxl_job_info WHERE id = 8"), "y");
    expect("/jobinfo/delete", "ids%5B%5D=8", C_OK);
    expect("/jobinfo/delete", "ids%5B%5D=8", C_OK); /* gone already */
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info"), 1);
}

static void what_is_done_by_id_alone(void **state)
{
    (void)state;
    begin("2.5");
    expect("/jobinfo/update", "id=99&jobGroup=1&jobDesc=x" REST, A_MSG("Job IDnot exist"));
    expect("/jobinfo/update", "id=7&jobGroup=1&jobDesc=x" REST "&childJobId=7", A_MSG("Child Job ID(7)illegal"));
    expect("/jobinfo/update", "id=7&jobGroup=77&jobDesc=x" REST, A_MSG("Executorillegal"));
    expect("/jobinfo/update", "id=7&jobGroup=1&jobDesc=x&author=y&scheduleType=FIX_RATE",
           A_MSG("Schedule Typeillegal"));
    expect("/jobinfo/start", "id=99", A_MSG("Job ID is illegal"));
    expect("/jobinfo/stop", "id=99", A_MSG("Job ID is illegal"));
    expect("/jobinfo/trigger", "id=99", A_MSG("Job ID is illegal"));
    expect("/jobinfo/start", "id=7", A_OK);
    assert_int_equal(test_int("SELECT trigger_status FROM xxl_job_info"), 1);
    expect("/jobinfo/update", "id=7&jobGroup=1&jobDesc=x&author=y&scheduleType=NONE" STRATEGIES,
           A_MSG("Schedule Typeillegal"));
    expect("/jobinfo/stop", "id=7", A_OK);
    expect("/jobinfo/update", "id=7&jobGroup=1&jobDesc=x&author=y&scheduleType=NONE" STRATEGIES, A_OK);
    expect("/jobinfo/start", "id=7", A_MSG("The current schedule type disables startup"));
    expect("/jobinfo/trigger", "id=7&addressList=%20", A_OK);
    assert_string_equal(test_text("SELECT executor_param FROM xxl_job_log"), "");
    who = "user";
    expect("/jobinfo/start", "id=7", A_MSG("Permission limit"));
    expect("/jobinfo/stop", "id=7", A_MSG("Permission limit"));
    expect("/jobinfo/remove", "id=7", A_MSG("Permission limit"));
    expect("/jobinfo/trigger", "id=7", A_MSG("Permission limit"));
    who = "admin";
    expect("/jobinfo/remove", "id=7", A_OK);
    expect("/jobinfo/remove", "id=7", A_OK);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_info"), 0);
    assert_int_equal(test_int("SELECT COUNT(*) FROM xxl_job_log"), 0);
}

static void next_times_are_shown_in_the_zone_of_the_server(void **state)
{
    const char *times;
    (void)state;

    begin("3.4");
    times = console_send("GET", "/jobinfo/nextTriggerTime", "scheduleType=CRON&scheduleConf=0+30+4+1+1+?&offset=0", "");
    assert_non_null(strstr(times, "-01-01 04:30:00\",\""));
    expect("/jobinfo/nextTriggerTime", "scheduleType=&scheduleConf=x&offset=0",
           "{\"code\":200,\"msg\":\"Success\",\"data\":[],\"success\":true}");
    expect("/jobinfo/nextTriggerTime", "scheduleType=NONE&scheduleConf=x&offset=0",
           "{\"code\":200,\"msg\":\"Success\",\"data\":[],\"success\":true}");
    times = console_send("GET", "/jobinfo/nextTriggerTime", "scheduleType=CRON&scheduleConf=x&offset=0", "");
    assert_non_null(strstr(times, "{\"code\":500,\"msg\":\"Schedule Typeillegal"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(lists_in_each_dialect, tear_down),
        cmocka_unit_test_teardown(a_new_job_is_refused_in_the_words_of_the_original, tear_down),
        cmocka_unit_test_teardown(d_has_names_of_its_own, tear_down),
        cmocka_unit_test_teardown(what_is_done_by_id_alone, tear_down),
        cmocka_unit_test_teardown(next_times_are_shown_in_the_zone_of_the_server, tear_down),
    };

    return cmocka_run_group_tests(tests, test_db_start, test_db_stop);
}
