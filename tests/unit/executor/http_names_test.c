/* SPDX-License-Identifier: MIT */
/* Host names: who looks them up, and what a look-up that hangs costs. */
#include <dirent.h>

#include "executor/http_fixture.h"
#include "shardwheel/executor/networks.h"
#include "fake_names.h"

#define HANGING 40
#define EACH 5

static int set_up_names(void **state)
{
    fake_names_reset("127.0.0.1");
    return set_up_at(state, "good.test");
}

static int tear_down_names(void **state)
{
    fake_names_set(false, 0, "127.0.0.1");
    tear_down(state);
    return fake_names_wait(&fake_names_under_way, 0) ? 0 : -1;
}

static struct http_peer *add_peer(struct fixture *f, const char *host)
{
    struct http_peer *peer;
    char url[100];

    snprintf(url, sizeof url, "http://%s:%d/", host, f->server->ports[0]);
    assert_int_equal(http_client_add_peer(f->client, url, &peer), ERR_OK);
    return peer;
}

static int count_threads(void)
{
    DIR *dir = opendir("/proc/self/task");
    int count = 0;

    for (struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static void a_name_is_looked_up_once_for_many_requests(void **state)
{
    struct fixture *f = *state;
    struct asked a[20];

    for (size_t i = 0; i < ARRAY_LEN(a); i++)
        start(f->client, &a[i], f->peer, DEADLINE_MS);
    for (size_t i = 0; i < ARRAY_LEN(a); i++) {
        TURN_UNTIL(f->client, a[i].ends == 1);
        assert_answered(&a[i]);
    }
    ask(f, &a[0]);
    assert_answered(&a[0]);
    assert_non_null(fake_server_find(f->server, "Host: good.test:"));
    assert_int_equal(atomic_load(&fake_names_calls), 1);
}

static void names_are_found_in_all_spellings(void **state)
{
    static const char *const hosts[] = {"GOOD.test", "good.test.", "other_one", "127.1", "[::ffff:127.0.0.1]"};
    struct fixture *f = *state;
    struct asked a;

    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        start(f->client, &a, add_peer(f, hosts[i]), DEADLINE_MS);
        finish(f->client, &a);
        if (a.answer.outcome != HTTP_ANSWERED)
            print_error("%s: %s\n", hosts[i], a.reason);
        assert_answered(&a);
    }
    assert_int_equal(atomic_load(&fake_names_calls), 3); /* and none by libcurl */
}

/* libcurl made a thread for each request: 40 names that hang cost 1,685 threads, and none of them could be stopped. */
static void names_that_hang_cost_a_thread_each_and_hold_nothing_up(void **state)
{
    struct fixture *f = *state;
    static struct asked hanging[HANGING][EACH];
    struct asked good;
    int threads = count_threads();

    fake_names_set(true, 0, "127.0.0.1");
    for (int i = 0; i < HANGING; i++) {
        char host[32];
        struct http_peer *peer;

        snprintf(host, sizeof host, "hang-%d.test", i);
        peer = add_peer(f, host);
        for (int j = 0; j < EACH; j++)
            start(f->client, &hanging[i][j], peer, 60000);
    }
    for (int i = 0; i < 10; i++) {
        ask(f, &good);
        assert_answered(&good);
    }
    assert_true(fake_names_wait(&fake_names_calls, HANGING + 1));
    assert_in_range(count_threads(), threads, threads + HANGING + 1);
    assert_int_equal(http_client_count(f->client), HANGING * EACH);
    http_client_abort(f->client);
    for (int i = 0; i < HANGING; i++) {
        for (int j = 0; j < EACH; j++) {
            assert_int_equal(hanging[i][j].ends, 1);
            assert_int_equal(hanging[i][j].answer.outcome, HTTP_ABORTED);
            assert_false(hanging[i][j].answer.written);
        }
    }
    http_client_destroy(f->client);
    f->client = NULL;
    assert_int_equal(atomic_load(&fake_names_under_way), HANGING); /* they still hang */
}

static void a_look_up_that_takes_too_long_ends_the_request_alone(void **state)
{
    struct fixture *f = *state;
    struct http_peer *peer = add_peer(f, "hang.test");
    struct asked a;

    fake_names_set(true, 0, "127.0.0.1");
    start(f->client, &a, peer, 100);
    finish(f->client, &a);
    assert_int_equal(a.answer.outcome, HTTP_UNREACHED);
    assert_string_equal(a.reason, "its host name could not be looked up in time");
    assert_int_equal(a.times, 0);
    assert_int_equal(http_client_count(f->client), 0);
    start(f->client, &a, peer, DEADLINE_MS);
    http_client_turn(f->client, 1000);
    assert_int_equal(a.ends, 0);
    fake_names_set(false, 0, "127.0.0.1");
    finish(f->client, &a);
    assert_answered(&a);
    assert_int_equal(atomic_load(&fake_names_calls), 1);
}

static void a_name_without_address_is_told(void **state)
{
    struct fixture *f = *state;
    struct asked a;
    char expected[200];

    fake_names_set(false, EAI_NONAME, "");
    snprintf(expected, sizeof expected, "its host name has no address: %s", gai_strerror(EAI_NONAME));
    for (int i = 0; i < 3; i++) { /* the first waits for the look-up, the others are told at once */
        ask(f, &a);
        assert_int_equal(a.answer.outcome, HTTP_UNREACHED);
        assert_string_equal(a.reason, expected);
    }
    assert_int_equal(atomic_load(&fake_names_calls), 1);
}

static void the_second_address_is_tried_too(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    fake_names_set(false, 0, "127.77.77.77 127.0.0.1"); /* nobody listens at the first */
    ask(f, &a);
    assert_answered(&a);
}

static void expect_forbidden(struct http_client *client, struct http_peer *peer)
{
    struct asked a;

    start(client, &a, peer, DEADLINE_MS);
    finish(client, &a);
    assert_int_equal(a.answer.outcome, HTTP_UNREACHED);
    assert_string_equal(a.reason, EXECUTOR_FORBIDDEN_TEXT);
    assert_false(a.answer.written);
    assert_int_equal(a.times, 0);
}

/* Whatever a name meant when it was saved: what it means now counts. */
static void a_name_of_a_forbidden_address_is_not_called(void **state)
{
    struct fixture *f = *state;
    struct asked a;

    fake_names_set(false, 0, "169.254.169.254");
    expect_forbidden(f->client, f->peer);
    fake_names_set(false, 0, "169.254.169.254 127.0.0.1");
    struct http_peer *both = add_peer(f, "both.test");
    start(f->client, &a, both, DEADLINE_MS);
    finish(f->client, &a);
    assert_answered(&a); /* by the other one */
}

static void the_operators_networks_hold_for_every_spelling(void **state)
{
    static const char *const hosts[] = {"127.0.0.1", "good.test", "127.1", "2130706433", "[::ffff:127.0.0.1]"};
    struct fixture *f = *state;
    struct executor_networks *networks;
    struct http_client *ours = f->client;
    struct errctx ec;

    assert_int_equal(executor_networks_create("!127.0.0.0/8", &networks, &ec), ERR_OK);
    assert_int_equal(http_client_create(clock_system(), f->resolver, &f->client, &ec), ERR_OK);
    http_client_set_networks(f->client, networks);
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        struct http_peer *peer = add_peer(f, hosts[i]);
        expect_forbidden(f->client, peer);
        http_client_warm_peer(f->client, peer, 4);
        http_client_turn(f->client, 0);
    }
    assert_int_equal(atomic_load(&f->server->connections), 0);
    http_client_destroy(f->client);
    f->client = ours;
    executor_networks_destroy(networks);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up_names, tear_down_names)
    const struct CMUnitTest tests[] = {
        T(a_name_is_looked_up_once_for_many_requests),
        T(names_are_found_in_all_spellings),
        T(names_that_hang_cost_a_thread_each_and_hold_nothing_up),
        T(a_look_up_that_takes_too_long_ends_the_request_alone),
        T(a_name_without_address_is_told),
        T(the_second_address_is_tried_too),
        T(a_name_of_a_forbidden_address_is_not_called),
        T(the_operators_networks_hold_for_every_spelling),
    };
    return cmocka_run_group_tests_name("executor.http_names", tests, NULL, NULL);
}
