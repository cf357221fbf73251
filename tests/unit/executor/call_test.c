/* SPDX-License-Identifier: MIT */
#include "executor/http_fixture.h"
#include "shardwheel/executor/call.h"

struct calling {
    struct fixture *f;
    struct executor_calls *calls;
    struct executor_target target;
    char url[64];
};

static int set_up_calls(void **state)
{
    struct calling *c = calloc(1, sizeof *c);
    struct errctx ec;
    void *fixture;

    set_up(&fixture);
    c->f = fixture;
    fake_server_url(c->f->server, 0, "/", c->url);
    c->target = (struct executor_target){
        .address = c->url, .app_name = "app", .group_token = "of the group", .access_token = "t", .timeout_ms = 5000};
    assert_int_equal(executor_calls_create(clock_system(), c->f->resolver, NULL, 2, &c->calls, &ec), ERR_OK);
    *state = c;
    return 0;
}

static int tear_down_calls(void **state)
{
    struct calling *c = *state;
    void *fixture = c->f;

    executor_calls_destroy(c->calls);
    tear_down(&fixture);
    free(c);
    return 0;
}

static void each_call_has_its_path_its_body_and_our_headers(void **state)
{
    struct calling *c = *state;
    struct answer a;
    struct log_answer log;
    struct errctx ec;

    assert_int_equal(executor_kill(c->calls, &c->target, 7, &a, &ec), ERR_OK);
    assert_int_equal(a.code, CODE_OK);
    assert_non_null(fake_server_find(c->f->server, "POST /kill HTTP/1.1\r\n"));
    assert_non_null(fake_server_find(c->f->server, "XXL-JOB-ACCESS-TOKEN: of the group\r\n"));
    assert_non_null(fake_server_find(c->f->server, "\r\n\r\n{\"jobId\":7}"));
    answer_fini(&a);
    fake_server_set(c->f->server, FAKE_ANSWER, 200, "{\"code\":500,\"msg\":\"Task kill err\"}");
    assert_int_equal(executor_kill(c->calls, &c->target, 8, &a, &ec), ERR_OK);
    assert_int_equal(a.code, 500);
    assert_true(a.from_executor);
    assert_string_equal(a.text, "Task kill err");
    answer_fini(&a);
    fake_server_set(c->f->server, FAKE_ANSWER, 200,
                    "{\"code\":200,\"content\":{\"fromLineNum\":3,\"toLineNum\":4,\"logContent\":\"a\\nb\\n\"}}");
    assert_int_equal(executor_read_log(c->calls, &c->target, 9, 1000, 3, &log, &ec), ERR_OK);
    assert_non_null(fake_server_find(c->f->server, "POST /log HTTP/1.1\r\n"));
    assert_non_null(fake_server_find(c->f->server, "\"fromLineNum\":3}"));
    assert_int_equal(log.to_line, 4);
    assert_string_equal(log.content, "a\nb\n");
    log_answer_fini(&log);
}

static void a_beat_has_no_body(void **state)
{
    struct calling *c = *state;
    struct answer a;
    struct errctx ec;
    bool reached = false;

    assert_int_equal(executor_ask_beat(c->calls, &c->target, &a, &reached, &ec), ERR_OK);
    assert_true(reached);
    assert_int_equal(a.code, CODE_OK);
    assert_int_equal(fake_server_questions(c->f->server, 0), 1);
    answer_fini(&a);
}

static void an_executor_that_cannot_be_reached_is_an_answer(void **state)
{
    struct calling *c = *state;
    struct log_answer log;
    struct answer a;
    struct errctx ec;
    char reason[200];

    c->target.address = "10.0.0.5:9999";
    assert_int_equal(executor_kill(c->calls, &c->target, 8, &a, &ec), ERR_OK);
    assert_int_equal(a.code, CODE_FAILED);
    assert_false(a.from_executor);
    assert_string_equal(a.text, "10.0.0.5:9999: the address is not a URL");
    answer_fini(&a);
    c->target.address = c->url;
    c->target.timeout_ms = 50;
    fake_server_set(c->f->server, FAKE_SILENT, 200, "");
    assert_int_equal(executor_read_log(c->calls, &c->target, 9, 1000, 3, &log, &ec), ERR_OK);
    snprintf(reason, sizeof reason, "%s: no answer in time", c->url);
    assert_int_equal(log.answer.code, CODE_FAILED);
    assert_string_equal(log.answer.text, reason);
    assert_int_equal(log.to_line, 2);
    log_answer_fini(&log);
}

static void a_log_of_megabytes_comes_in_pages_of_whole_lines(void **state)
{
    enum { LINES = 30000 };
    struct calling *c = *state;
    struct log_answer log;
    struct errctx ec;
    struct buf body = {0};

    buf_puts(&body, "{\"code\":200,\"data\":{\"fromLineNum\":1,\"toLineNum\":30000,\"logContent\":\"");
    for (int i = 0; i < LINES; i++)
        buf_printf(&body, "line %d of a log that is longer than what is read of an answer\\n", i + 1);
    buf_puts(&body, "\",\"isEnd\":false}}");
    fake_server_set(c->f->server, FAKE_ANSWER, 200, body.data);
    assert_int_equal(executor_read_log(c->calls, &c->target, 9, 1000, 1, &log, &ec), ERR_OK);
    assert_int_equal(log.answer.code, CODE_OK);
    assert_in_range(log.to_line, 10000, LINES - 1);
    assert_int_equal(log.content[log.len - 1], '\n');
    snprintf(c->url, sizeof c->url, "\nline %d of", (int)log.to_line);
    assert_non_null(strstr(log.content, c->url));
    log_answer_fini(&log);
    fake_server_stop(c->f->server); /* before the body goes */
    c->f->server = fake_server_start(1);
    buf_fini(&body);
}

static void *call_and_wait(void *arg)
{
    struct calling *c = arg;
    struct answer a;
    struct errctx ec;

    assert_int_equal(executor_kill(c->calls, &c->target, 7, &a, &ec), ERR_OK);
    assert_int_equal(a.code, CODE_OK);
    answer_fini(&a);
    return NULL;
}

static void so_many_calls_at_a_time_and_no_more(void **state)
{
    struct calling *c = *state;
    pthread_t threads[2];
    struct answer a;
    struct errctx ec;

    fake_server_set(c->f->server, FAKE_SILENT, 200, "");
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_create(&threads[i], NULL, call_and_wait, c);
    WAIT_UNTIL(fake_server_arrivals(c->f->server) == 2);
    assert_int_equal(executor_kill(c->calls, &c->target, 7, &a, &ec), ERR_BUSY);
    assert_string_equal(ec.text, "2 calls to executors are already in progress");
    fake_server_set(c->f->server, FAKE_ANSWER, 200, "{\"code\":200}");
    fake_server_release(c->f->server);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    call_and_wait(c);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up_calls, tear_down_calls)
    const struct CMUnitTest tests[] = {
        T(each_call_has_its_path_its_body_and_our_headers),
        T(a_beat_has_no_body),
        T(an_executor_that_cannot_be_reached_is_an_answer),
        T(a_log_of_megabytes_comes_in_pages_of_whole_lines),
        T(so_many_calls_at_a_time_and_no_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
