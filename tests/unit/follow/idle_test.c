/* SPDX-License-Identifier: MIT */
/* Whether jobs are idle: what executors answer, and what their silence costs. */
#include "test.h"

#include "executor/fake_server.h"
#include "follow/idle.h"

#include <stdlib.h>
#include <string.h>

static struct fake_server *server;
static struct idle_asker *asker;
static char urls[4][64];

static int set_up(void **state)
{
    struct errctx ec = {{0}};

    (void)state;
    server = fake_server_start(4);
    for (int i = 0; i < 4; i++)
        fake_server_url(server, i, "/", urls[i]);
    return idle_create(clock_system(), NULL, NULL, &asker, &ec);
}

static int tear_down(void **state)
{
    (void)state;
    idle_destroy(asker);
    fake_server_stop(server);
    return 0;
}

static bool was_asked(const char *part)
{
    bool found;

    pthread_mutex_lock(&server->lock);
    found = strstr(server->questions[0].last, part);
    pthread_mutex_unlock(&server->lock);
    return found;
}

static long count_questions(void)
{
    long n = 0;

    for (int i = 0; i < 4; i++)
        n += fake_server_questions(server, i);
    return n;
}

static void answers_are_understood(void **state)
{
    static const struct {
        int status;
        const char *body;
        enum idle_answer answer;
    } cases[] = {
        {200, "{\"code\":200}", IDLE_YES},
        {200, "{\"code\": 200, \"msg\": null}", IDLE_YES},
        {200, "{\"code\":200,\"msg\":\"Success\"}", IDLE_YES},
        {200, "{\"code\":500,\"msg\":\"job thread is running or has trigger queue.\"}", IDLE_NO},
        {200, "{\"code\":500,\"msg\":null}", IDLE_NO},
        {404, "404 page not found", IDLE_UNKNOWN},
        {200, "[{\"code\":200}]", IDLE_UNKNOWN},
        {200, "{}", IDLE_UNKNOWN},
        {200, "", IDLE_UNKNOWN},
        {200, "null", IDLE_UNKNOWN},
        {500, "{\"code\":200}", IDLE_UNKNOWN},
        {200, "{\"code\":500,\"msg\":\"invalid request, uri-mapping(/idleBeat) not found.\"}", IDLE_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct idle_question q = {.address = urls[0], .app_name = "my-app", .group_token = "own", .job_id = 4711};
        fake_server_set(server, FAKE_ANSWER, cases[i].status, cases[i].body);
        idle_ask(asker, &q, 1, "global", NULL, 5000);
        if (q.answer != cases[i].answer)
            fail_msg("%s: %d", cases[i].body, q.answer);
    }
    assert_true(was_asked("POST /idleBeat HTTP/1.1"));
    assert_true(was_asked("XXL-JOB-APPNAME: my-app"));
    assert_true(was_asked("XXL-JOB-ACCESS-TOKEN: own"));
    assert_true(was_asked("{\"jobId\":4711}"));
}

static void many_are_asked_at_once(void **state)
{
    struct idle_question *q = calloc(1000, sizeof *q);

    (void)state;
    assert_non_null(q);
    for (int i = 0; i < 1000; i++)
        q[i] = (struct idle_question){.address = urls[i / 250], .job_id = i};
    fake_server_set(server, FAKE_ANSWER, 200, "{\"code\":200}");
    idle_ask(asker, q, 1000, "", NULL, 60000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(q[i].answer, IDLE_YES);
    assert_int_equal(count_questions(), 1000);
    assert_in_range(atomic_load(&server->connections), 4, 16); /* a few for each address */
    free(q);
}

/* A dead one, a nonsense and a closing one do not keep the others from being asked, and are not asked much. */
static void silence_ends_the_questions_to_an_address(void **state)
{
    struct idle_question q[400];

    (void)state;
    for (int i = 0; i < 100; i++) {
        q[i] = (struct idle_question){.address = "http://127.0.0.1:1/", .job_id = i};
        q[100 + i] = (struct idle_question){.address = "nonsense", .job_id = i};
        q[200 + i] = (struct idle_question){.address = urls[1], .job_id = i};
    }
    fake_server_set(server, FAKE_CLOSE, 0, "");
    idle_ask(asker, q, 300, "", NULL, 60000);
    for (int i = 0; i < 300; i++)
        assert_int_equal(q[i].answer, IDLE_UNKNOWN);
    assert_in_range(count_questions(), 1, 4);
    idle_ask(asker, q, 0, "", NULL, 60000);
}

/* Without time nobody is asked. */
static void the_time_is_bounded(void **state)
{
    struct idle_question q = {.address = urls[0], .job_id = 1, .answer = IDLE_YES};

    (void)state;
    fake_server_set(server, FAKE_ANSWER, 200, "{\"code\":200}");
    idle_ask(asker, &q, 1, "", NULL, 0);
    assert_int_equal(q.answer, IDLE_UNKNOWN);
    assert_int_equal(count_questions(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(answers_are_understood, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_are_asked_at_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(silence_ends_the_questions_to_an_address, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_time_is_bounded, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
