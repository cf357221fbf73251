/* SPDX-License-Identifier: MIT */
/* What is known of a fire when it is planned, and what is left to its second. */
#include "test.h"

#include "schedule/shard/ahead.h"
#include "shardwheel/dispatch.h"
#include "shardwheel/route.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define T_S INT64_C(1767225600)

static const char *const three[] = {"http://a:1/", "http://b:1/", "http://c:1/"};
static const struct registry_group group_of_three = {
    .id = 3, .app_name = "app", .access_token = "", .addresses = three, .count = 3};

/* Valid until the next call. */
static const struct job_due *job_of(const char *route)
{
    static struct job_due job;

    job = (struct job_due){.id = 7,
                           .group = 3,
                           .route = route,
                           .handler = "demo",
                           .param = "p",
                           .block = "SERIAL_EXECUTION",
                           .timeout_s = 9,
                           .retry_count = 1};
    return &job;
}

static int setup(void **state)
{
    struct ahead *a = NULL;

    assert_int_equal(ahead_create("n1", "10.0.0.1", (struct message_style){.lang = LANG_EN}, &a, NULL), ERR_OK);
    ahead_begin(a, 1000);
    *state = a;
    return 0;
}

static int teardown(void **state)
{
    ahead_destroy(*state);
    return 0;
}

static struct fire *make_fire(void)
{
    struct fire *fire = fire_create();

    assert_non_null(fire);
    fire->job_id = 7;
    fire->group = 3;
    fire->due_s = fire->original_due_s = T_S;
    return fire;
}

static void a_fire_in_time_has_its_way(void **state)
{
    struct fire *fire = make_fire();
    const char *message;

    fire->next = make_fire();
    fire->next->flags = FIRE_LAST;
    message = ahead_route(*state, job_of("ROUND"), &group_of_three, fire);
    assert_string_equal(message, "trigger type: cron<br>node: n1<br>route: ROUND");
    for (const struct fire *f = fire; f; f = f->next) {
        assert_true(f->written_ahead);
        assert_non_null(f->address);
        assert_int_equal(f->route_hash, fire_route_hash("ROUND"));
    }
    assert_string_not_equal(fire->address, fire->next->address);                            /* in turn */
    assert_ptr_equal(ahead_route(*state, job_of("ROUND"), &group_of_three, fire), message); /* one text for all */
    fire_destroy_list(fire);
}

static void a_broadcast_keeps_its_addresses(void **state)
{
    struct fire *fire = make_fire();

    fire->broadcast = true;
    fire->shard_index = 1;
    fire->shard_total = 2;
    fire->address = str_copy(three[1]);
    assert_non_null(ahead_route(*state, job_of("SHARDING_BROADCAST"), &group_of_three, fire));
    assert_true(fire->written_ahead);
    assert_string_equal(fire->address, three[1]);
    fire_destroy(fire);
}

static void what_is_late_or_leads_nowhere_is_left(void **state)
{
    static const struct registry_group empty = {.id = 3, .app_name = "app", .access_token = ""};
    static const struct {
        const char *route;
        const struct registry_group *group;
        int64_t late_s;
        enum trigger_kind kind;
    } cases[] = {
        {"FIRST", &group_of_three, 1, TRIGGER_CRON},
        {"FIRST", &group_of_three, 0, TRIGGER_MISFIRE},
        {"NO_SUCH", &group_of_three, 0, TRIGGER_CRON},
        {"FIRST", &empty, 0, TRIGGER_CRON},
        {"FIRST", NULL, 0, TRIGGER_CRON},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fire *fire = make_fire();

        fire->original_due_s -= cases[i].late_s;
        fire->kind = cases[i].kind;
        assert_null(ahead_route(*state, job_of(cases[i].route), cases[i].group, fire));
        assert_false(fire->written_ahead);
        assert_null(fire->address);
        fire_destroy(fire);
    }
}

/* Those that ask executors first have no address yet. */
static void routes_that_ask_nobody_are_written_ahead(void **state)
{
    static const struct {
        const char *route;
        bool ahead;
    } cases[] = {
        {"FIRST", true},
        {"LAST", true},
        {"ROUND", true},
        {"RANDOM", true},
        {"CONSISTENT_HASH", true},
        {"LEAST_FREQUENTLY_USED", true},
        {"LEAST_RECENTLY_USED", true},
        {"SHARDING_BROADCAST", true},
        {"FAILOVER", false},
        {"BUSYOVER", false},
        {" ", false},
    };
    char text[100];

    for (size_t i = 0, k; i < route_count(); i++) {
        for (k = 0; k < ARRAY_LEN(cases) && strcmp(cases[k].route, route_name(i)) != 0; k++)
            continue;
        if (k == ARRAY_LEN(cases))
            fail_msg("cases lack %s", route_name(i));
    }
    for (int again = 0; again < 2; again++) {
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            struct fire *fire = make_fire();
            const char *message = ahead_route(*state, job_of(cases[i].route), &group_of_three, fire);

            assert_true(fire->written_ahead == cases[i].ahead);
            assert_true((fire->address != NULL) == cases[i].ahead);
            assert_true((message != NULL) == cases[i].ahead);
            snprintf(text, sizeof text, "trigger type: cron<br>node: n1<br>route: %s", cases[i].route);
            if (cases[i].ahead)
                assert_string_equal(message, text);
            fire_destroy(fire);
        }
    }
}

/* The row must not grow when its fire has gone out. */
static void in_full_each_fire_has_its_own_text(void **state)
{
    struct message_style full = {.lang = LANG_EN, .full = true};
    struct fire *fire = make_fire();
    struct ahead *a = NULL;

    (void)state;
    fire->next = make_fire();
    assert_int_equal(ahead_create("n1", "10.0.0.1", full, &a, NULL), ERR_OK);
    ahead_begin(a, 1000);
    assert_null(ahead_route(a, job_of("ROUND"), &group_of_three, fire));
    for (const struct fire *f = fire; f; f = f->next) {
        const struct job_spec spec = {.route = "ROUND",
                                      .handler = "demo",
                                      .param = "p",
                                      .block = "SERIAL_EXECUTION",
                                      .timeout_s = 9,
                                      .retry_count = 1};
        const struct message_facts sent = {.style = full,
                                           .fire = f,
                                           .job = &spec,
                                           .group = &group_of_three,
                                           .node_name = "n1",
                                           .admin_ip = "10.0.0.1",
                                           .address = f->address,
                                           .code = 200,
                                           .from_executor = true};
        struct buf text = {0};

        assert_true(f->written_ahead);
        dispatch_put_message(&text, &sent);
        assert_string_equal(f->message, text.data);
        buf_fini(&text);
    }
    assert_string_not_equal(fire->message, fire->next->message); /* their addresses differ */
    fire_destroy_list(fire);
    ahead_destroy(a);
}

int main(void)
{
#define AHEAD_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        AHEAD_TEST(a_fire_in_time_has_its_way),
        AHEAD_TEST(a_broadcast_keeps_its_addresses),
        AHEAD_TEST(what_is_late_or_leads_nowhere_is_left),
        AHEAD_TEST(routes_that_ask_nobody_are_written_ahead),
        AHEAD_TEST(in_full_each_fire_has_its_own_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
