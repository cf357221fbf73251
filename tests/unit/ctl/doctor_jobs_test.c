/* SPDX-License-Identifier: MIT */
/* What doctor says of a job by its columns, of families of jobs, and of executors by their answers. */
#include "ctl/doctor/ask.h"
#include "ctl/doctor/children.h"
#include "ctl/doctor/places.h"
#include "ctl/doctor/survey.h"

#include "test.h"

#include <stdlib.h>

#define NOW_MS INT64_C(1800000000000) /* 2027-01-15 08:00:00 UTC */
#define HOUR_MS INT64_C(3600000)
#define BIT(fault) (UINT32_C(1) << (fault))

static struct zone *utc;

static struct judge judge(void)
{
    struct errctx ec;

    errctx_clear(&ec);
    if (!utc)
        assert_int_equal(zone_load("UTC", &utc, &ec), ERR_OK);
    return (struct judge){.now_ms = NOW_MS, .max_year = 2127, .planned = true, .param_max = 512, .zone = utc};
}

static struct job_view good_job(void)
{
    return (struct job_view){.id = 1,
                             .group = 1,
                             .name = "a",
                             .running = true,
                             .next_ms = NOW_MS + HOUR_MS,
                             .type = "CRON",
                             .conf = "0 0 * * * ?",
                             .misfire = "DO_NOTHING",
                             .route = "FIRST",
                             .block = "SERIAL_EXECUTION",
                             .glue_type = "BEAN",
                             .has_handler = true,
                             .has_glue_time = true,
                             .children = "",
                             .email = "",
                             .zone = ""};
}

static void check(const struct job_view *job, uint32_t faults)
{
    struct judge j = judge();

    assert_int_equal(judge_job(&j, job), faults);
    judge_fini(&j);
}

static void a_good_job_has_no_fault(void **state)
{
    struct job_view job = good_job();

    (void)state;
    check(&job, 0);
    job.running = false;
    job.next_ms = 0;
    check(&job, 0);
    job.type = "NONE";
    check(&job, 0);
}

static void schedules(void **state)
{
    const struct {
        const char *type, *conf, *zone;
        int64_t next_ms, from_s, until_s;
        uint32_t faults;
    } table[] = {
        {"CRON", "0 0 25 * * ?", "", NOW_MS, 0, 0, BIT(FAULT_CRON_BROKEN)},
        {"CRON", "", "", NOW_MS, 0, 0, BIT(FAULT_CRON_BROKEN)},
        {"CRON", "0 0 0 1 1 ? 2020", "", NOW_MS, 0, 0, BIT(FAULT_CRON_OVER)},
        {"CRON", "0 0 0 31 2 ?", "", NOW_MS, 0, 0, BIT(FAULT_CRON_OVER)},
        {"CRON", ", 0 0 1 1 ?", "", NOW_MS, 0, 0, BIT(FAULT_CRON_OVER)}, /* read, and never evaluated */
        {"CRON", "0 0 * * * ?", "Mars/Base", NOW_MS, 0, 0, BIT(FAULT_ZONE)},
        {"CRON", "0 0 * * * ?", "Asia/Kolkata", NOW_MS + HOUR_MS / 2, 0, 0, 0},
        {"CRON", "0 0 * * * ?", "Asia/Kolkata", NOW_MS + HOUR_MS, 0, 0, BIT(FAULT_FAR)}, /* as in UTC */
        {"CRON", "0 0 * * * ?", "", NOW_MS + HOUR_MS + 1000, 0, 0, BIT(FAULT_FAR)},
        {"CRON", "* * * * * ?", "", NOW_MS + 60000, 0, 0, 0},
        /* The one that is due in 30 s may be planned already. */
        {"CRON", "30 0 8 * * ?", "", NOW_MS + 24 * HOUR_MS + 30000, 0, 0, 0},
        {"CRON", "30 0 8 15 1 ? 2027", "", NOW_MS + 30000, 0, 0, 0}, /* its last one */
        {"CRON", "0 0 * * * ?", "", NOW_MS + 48 * HOUR_MS, NOW_MS / 1000 + 48 * 3600, 0, 0},
        {"CRON", "0 0 * * * ?", "", NOW_MS + 49 * HOUR_MS, NOW_MS / 1000 + 48 * 3600, 0, BIT(FAULT_FAR)},
        {"CRON", "0 0 * * * ?", "", NOW_MS + HOUR_MS, 0, NOW_MS / 1000 + 3600, BIT(FAULT_VALIDITY)},
        {"CRON", "0 0 * * * ?", "", NOW_MS + HOUR_MS, 0, NOW_MS / 1000 + 3601, 0},
        {"FIX_RATE", "3600", "", NOW_MS + HOUR_MS, 0, 0, 0},
        {"FIX_RATE", "3600", "", NOW_MS + 2 * HOUR_MS, 0, 0, BIT(FAULT_FAR)},
        {"FIX_RATE", "3600", "", NOW_MS + HOUR_MS, 0, NOW_MS / 1000 - 1, BIT(FAULT_VALIDITY)},
        {"FIX_RATE", "0", "", NOW_MS, 0, 0, BIT(FAULT_RATE)},
        {"FIX_RATE", "1.5", "", NOW_MS, 0, 0, BIT(FAULT_RATE)},
        {"FIX_RATE", "2147484", "", NOW_MS, 0, 0, BIT(FAULT_BACK_OLD)},
        {"NONE", "", "", NOW_MS, 0, 0, BIT(FAULT_TYPE)},
        {"FIX_DELAY", "5", "", NOW_MS, 0, 0, BIT(FAULT_TYPE)},
        {"CRON", "0 0 * * * ?", "", 0, 0, 0, BIT(FAULT_LEFT_BEHIND)},
        {"CRON", "0 0 * * * ?", "", NOW_MS - 120001, 0, 0, BIT(FAULT_LEFT_BEHIND)},
        {"CRON", "0 0 * * * ?", "", NOW_MS - 120000, 0, 0, 0},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct job_view job = good_job();

        job.type = table[i].type;
        job.conf = table[i].conf;
        job.zone = table[i].zone;
        job.next_ms = table[i].next_ms;
        job.valid_from_s = table[i].from_s;
        job.valid_until_s = table[i].until_s;
        print_message("%zu\n", i);
        check(&job, table[i].faults);
    }
}

static void a_job_of_a_fixed_delay_waits_for_its_run(void **state)
{
    struct job_view job = good_job();

    (void)state;
    job.type = "FIX_RATE";
    job.conf = "60";
    job.fixed_delay_s = 60;
    job.next_ms = NOW_MS + 24 * HOUR_MS + 60000;
    check(&job, 0);
    job.next_ms += 60001;
    check(&job, BIT(FAULT_FAR));
}

static void nothing_is_left_behind_where_no_node_plans(void **state)
{
    struct job_view job = good_job();
    struct judge j = judge();

    (void)state;
    j.planned = false;
    job.next_ms = 0;
    assert_int_equal(judge_job(&j, &job), 0);
}

static void what_it_runs(void **state)
{
    struct job_view job = good_job();
    struct judge j = judge();

    (void)state;
    job.has_handler = false;
    check(&job, BIT(FAULT_HANDLER));
    job.glue_type = "GLUE_SHELL";
    check(&job, BIT(FAULT_SOURCE));
    job.has_source = true;
    check(&job, 0);
    j.glue = CONFIG_GLUE_OFF; /* no new ones: those that are there run on */
    assert_int_equal(judge_job(&j, &job), 0);
    j.glue = CONFIG_GLUE_BEAN_ONLY;
    assert_int_equal(judge_job(&j, &job), BIT(FAULT_GLUE_OFF));
    job.glue_type = "GLUE_RUBY";
    check(&job, BIT(FAULT_GLUE_TYPE));

    job = good_job();
    job.route = "";
    check(&job, BIT(FAULT_ROUTE));
    job.route = "first";
    check(&job, BIT(FAULT_ROUTE));
    job.route = "SHARDING_BROADCAST";
    check(&job, 0);
    job.misfire = "";
    check(&job, BIT(FAULT_WORD));
    job = good_job();
    job.block = "PARALLEL";
    check(&job, BIT(FAULT_WORD));
    job = good_job();
    job.param_chars = 513;
    check(&job, BIT(FAULT_PARAM));
    job = good_job();
    job.has_glue_time = false;
    check(&job, BIT(FAULT_BACK_ROW));
    judge_fini(&j);
}

static void what_is_stopped_might_not_start(void **state)
{
    struct job_view job = good_job();

    (void)state;
    job.running = false;
    job.conf = "every day";
    check(&job, BIT(FAULT_CANNOT_START));
    job.type = "FIX_RATE";
    check(&job, BIT(FAULT_CANNOT_START));
    job.type = "SOMETIMES";
    check(&job, BIT(FAULT_CANNOT_START));
}

static void other_engines_read_some_expressions_otherwise(void **state)
{
    (void)state;
    assert_int_equal(judge_going_back("0 0 0 1 * ?"), 0);
    assert_int_equal(judge_going_back("0 0 0 ? * 6L"), 0); /* the last Friday: all read it alike */
    assert_int_equal(judge_going_back("0 0 0 1,15 JUL WED"), 0);
    assert_int_equal(judge_going_back("0 0 0 L * ?"), BIT(FAULT_BACK_MIDDLE));
    assert_int_equal(judge_going_back(" 0\t0  0 l-3 * ?"), BIT(FAULT_BACK_MIDDLE));
    assert_int_equal(judge_going_back("0 0 0 15W * ?"), BIT(FAULT_BACK_MIDDLE));
    assert_int_equal(judge_going_back("0 0 0 1,L * ?"), BIT(FAULT_BACK_MIDDLE) | BIT(FAULT_BACK_OLD));
    assert_int_equal(judge_going_back(""), 0);
}

/* ---- families ---------------------------------------------------------------------------------------------------- */

static void find(struct family_edge *edges, size_t count, size_t jobs, const char *expected)
{
    bool is_in[16];
    struct errctx ec;

    errctx_clear(&ec);
    assert_int_equal(children_find_circles(edges, count, jobs, is_in, &ec), ERR_OK);
    for (size_t i = 0; i < jobs; i++)
        assert_int_equal(is_in[i], expected[i] == 'x');
}

static void circles(void **state)
{
    struct family_edge chain[] = {{2, 3}, {0, 1}, {1, 2}};
    struct family_edge circle[] = {{0, 1}, {2, 0}, {1, 2}, {2, 3}, {4, 0}};
    struct family_edge two[] = {{0, 1}, {1, 0}, {1, 2}, {2, 3}, {3, 2}, {0, 1}};
    struct family_edge diamond[] = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};

    (void)state;
    find(chain, 3, 4, "....");
    find(circle, 5, 5, "xxx..");
    find(two, 6, 5, "xxxx.");
    find(diamond, 4, 4, "....");
    find(NULL, 0, 0, "");
    find(NULL, 0, 2, "..");
}

/* As deep as there are jobs: no call for each. */
static void a_long_chain_needs_no_stack(void **state)
{
    enum { JOBS = 300000 };
    struct family_edge *edges = calloc(JOBS, sizeof *edges);
    bool *is_in = calloc(JOBS, sizeof *is_in);
    struct errctx ec;

    (void)state;
    errctx_clear(&ec);
    for (size_t i = 0; i < JOBS; i++)
        edges[i] = (struct family_edge){i, (i + 1) % JOBS};
    assert_int_equal(children_find_circles(edges, JOBS, JOBS, is_in, &ec), ERR_OK);
    assert_true(is_in[0] && is_in[JOBS / 2] && is_in[JOBS - 1]);
    free(edges);
    free(is_in);
}

/* ---- executors --------------------------------------------------------------------------------------------------- */

/* Answers as they came from 2.2.0, 3.3.2, Go 1.2.0 and pyxxl 0.4.8. */
static void executors_tell_what_they_are(void **state)
{
    const char java_path[] = "{\"code\":500,\"msg\":\"invalid request, uri-mapping(/shardwheel-doctor) not found.\"}";

    (void)state;
    assert_int_equal(executor_tell_kind(200,
                                        "{\"code\":200,\"content\":{\"fromLineNum\":1,\"toLineNum\":0,"
                                        "\"logContent\":\"readLog fail, logFile not exists\",\"isEnd\":true}}",
                                        200, java_path),
                     EXECUTOR_JAVA_OLD);
    assert_int_equal(executor_tell_kind(200,
                                        "{\"code\":200,\"msg\":\"Success\",\"data\":{\"fromLineNum\":1,"
                                        "\"toLineNum\":0,\"isEnd\":true}}",
                                        200, java_path),
                     EXECUTOR_JAVA);
    assert_int_equal(executor_tell_kind(200, "{\"code\":200,\"msg\":\"\",\"content\":{}}", 404, "404 page not found\n"),
                     EXECUTOR_GO);
    assert_int_equal(executor_tell_kind(200, "{\"code\": 200}", 404, "404: Not Found"), EXECUTOR_PYTHON);
    assert_int_equal(executor_tell_kind(200, "{\"code\":200}", 200, java_path), EXECUTOR_UNKNOWN);
    assert_int_equal(executor_tell_kind(404, "", 404, "<html>"), EXECUTOR_UNKNOWN);
}

static void loopback(void **state)
{
    (void)state;
    assert_true(executor_is_loopback("http://127.0.0.1:9999"));
    assert_true(executor_is_loopback("http://localhost:9999"));
    assert_true(executor_is_loopback("https://[::1]:9999"));
    assert_false(executor_is_loopback("http://localhost.example.org:9999"));
    assert_false(executor_is_loopback("http://10.0.0.1:9999"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_job_has_no_fault),
        cmocka_unit_test(schedules),
        cmocka_unit_test(a_job_of_a_fixed_delay_waits_for_its_run),
        cmocka_unit_test(nothing_is_left_behind_where_no_node_plans),
        cmocka_unit_test(what_it_runs),
        cmocka_unit_test(what_is_stopped_might_not_start),
        cmocka_unit_test(other_engines_read_some_expressions_otherwise),
        cmocka_unit_test(circles),
        cmocka_unit_test(a_long_chain_needs_no_stack),
        cmocka_unit_test(executors_tell_what_they_are),
        cmocka_unit_test(loopback),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);

    zone_destroy(utc);
    return failed;
}
