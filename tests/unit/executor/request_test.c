/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>

#include "dispatch/fake_parts.h"
#include "shardwheel/executor/request.h"

static void the_body_has_every_field(void **state)
{
    struct job_spec job = {.id = 7,
                           .timeout_s = 30,
                           .glue_updated_ms = 1541254891000,
                           .handler = "demo\"Handler",
                           .param = "a\nb",
                           .block = "SERIAL_EXECUTION",
                           .glue_type = "BEAN",
                           .glue_source = ""};
    struct fire fire = {.log_id = 9007199254740993,
                        .job_id = 7,
                        .due_s = 1700000000,
                        .original_due_s = 1699999990,
                        .shard_index = 2,
                        .shard_total = 5,
                        .job = &job};
    struct buf b = {0};

    (void)state;
    request_put_body(&b, &fire);
    assert_string_equal(b.data, "{\"jobId\":7,\"executorHandler\":\"demo\\\"Handler\",\"executorParams\":\"a\\u000ab\","
                                "\"executorBlockStrategy\":\"SERIAL_EXECUTION\",\"executorTimeout\":30,"
                                "\"logId\":9007199254740993,\"logDateTime\":1700000000000,\"glueType\":\"BEAN\","
                                "\"glueSource\":\"\",\"glueUpdatetime\":1541254891000,\"broadcastIndex\":2,"
                                "\"broadcastTotal\":5}");
    buf_fini(&b);
}

static void a_missing_parameter_is_left_out_and_an_empty_one_is_not(void **state)
{
    struct job_spec job = {.id = 7};
    struct fire fire = {.job_id = 7, .shard_total = 1, .job = &job};
    struct buf b = {0};

    (void)state;
    request_put_body(&b, &fire);
    assert_null(strstr(b.data, "executorParams"));
    assert_non_null(strstr(b.data, "\"executorHandler\":\"\"")); /* some executors want the member to be there */
    buf_clear(&b);
    job.param = "";
    request_put_body(&b, &fire);
    assert_non_null(strstr(b.data, "\"executorParams\":\"\""));
    buf_fini(&b);
}

static void questions_about_jobs_and_logs_have_the_members_of_every_generation(void **state)
{
    struct buf b = {0};

    (void)state;
    request_put_job_body(&b, 7);
    assert_string_equal(b.data, "{\"jobId\":7}");
    buf_clear(&b);
    request_put_log_body(&b, 9007199254740993, 1700000000000, 16);
    assert_string_equal(b.data, "{\"logDateTim\":1700000000000,\"logDateTime\":1700000000000,"
                                "\"logId\":9007199254740993,\"fromLineNum\":16}");
    buf_fini(&b);
}

static void every_type_of_glue_goes_with_its_source_and_time(void **state)
{
    static const char *const types[] = {"GLUE_GROOVY", "GLUE_SHELL",  "GLUE_PYTHON",     "GLUE_PYTHON2",
                                        "GLUE_PHP",    "GLUE_NODEJS", "GLUE_POWERSHELL", "GLUE_OF_TOMORROW"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        struct job_spec job = {.id = 7,
                               .glue_type = types[i],
                               .glue_source = "#!/bin/sh\r\n\techo \"x\"\n",
                               .glue_updated_ms = 1714979289000};
        struct fire fire = {.job_id = 7, .shard_total = 1, .job = &job};
        struct buf b = {0};
        char wanted[200];

        request_put_body(&b, &fire);
        snprintf(wanted, sizeof wanted,
                 "\"glueType\":\"%s\",\"glueSource\":\"#!/bin/sh\\u000d\\u000a\\u0009echo \\\"x\\\"\\u000a\","
                 "\"glueUpdatetime\":1714979289000,",
                 types[i]);
        if (!strstr(b.data, wanted))
            fail_msg("%s: %s", wanted, b.data);
        buf_fini(&b);
    }
}

static void addresses_are_http_urls(void **state)
{
    (void)state;
    assert_true(request_is_address("http://a"));
    assert_true(request_is_address("HTTPS://a:1/x/"));
    assert_false(request_is_address(""));
    assert_false(request_is_address("10.0.0.5:9999"));
    assert_false(request_is_address("ftp://a/"));
    assert_false(request_is_address("http://"));
    assert_false(request_is_address("http:///x"));
    assert_false(request_is_address("http://a b/"));
    assert_false(request_is_address("http://a/\r\nX: y"));
}

static void assert_headers(const char *app, const char *group_token, const char *global_token, const char *joined)
{
    struct buf b = {0};

    request_put_headers(&b, app, group_token, global_token);
    assert_string_equal(b.data, joined);
    buf_fini(&b);
}

static void the_group_token_goes_before_the_global_one(void **state)
{
    (void)state;
#define HEAD "Content-Type: application/json;charset=UTF-8\r\nXXL-JOB-APPNAME: "
    assert_headers("app", "", "", HEAD "app\r\n");
    assert_headers("app", "", "global", HEAD "app\r\nXXL-JOB-ACCESS-TOKEN: global\r\n");
    assert_headers("app", "own", "global", HEAD "app\r\nXXL-JOB-ACCESS-TOKEN: own\r\n");
    assert_headers("app", NULL, NULL, HEAD "app\r\n");
    assert_headers("a\r\nX-Evil: 1", "to\nken", "", HEAD "aX-Evil: 1\r\nXXL-JOB-ACCESS-TOKEN: token\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_body_has_every_field),
        cmocka_unit_test(a_missing_parameter_is_left_out_and_an_empty_one_is_not),
        cmocka_unit_test(questions_about_jobs_and_logs_have_the_members_of_every_generation),
        cmocka_unit_test(every_type_of_glue_goes_with_its_source_and_time),
        cmocka_unit_test(addresses_are_http_urls),
        cmocka_unit_test(the_group_token_goes_before_the_global_one),
    };
    return cmocka_run_group_tests_name("dispatch.request", tests, NULL, NULL);
}
