/* SPDX-License-Identifier: MIT */
/* What needs no mail server; the rest is in tests/integration/test_failures.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "alarm/client.h"
#include "fake_names.h"
#include "shardwheel/resolver.h"

struct fixture {
    struct resolver *resolver;
    struct client *client;
    struct errctx ec;
};

static int set_up(void **state)
{
    static const struct mail_opts opts = {
        .host = "hang.test", .port = 1, .username = "", .password = "", .from = "a@example.org"};
    struct fixture *f = calloc(1, sizeof *f);

    fake_names_reset("127.0.0.1");
    assert_int_equal(resolver_create(clock_system(), &f->resolver, &f->ec), ERR_OK);
    assert_int_equal(client_create_mail(&opts, f->resolver, clock_system(), &f->client, &f->ec), ERR_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    client_destroy(f->client);
    resolver_destroy(f->resolver);
    free(f);
    fake_names_set(false, 0, "127.0.0.1");
    return fake_names_wait(&fake_names_under_way, 0) ? 0 : -1;
}

static enum client_outcome send_mail(struct fixture *f)
{
    return client_send_mail(f->client, "a@example.org", "b@example.org", "\r\n", 2, &f->ec);
}

static void *send_one(void *arg)
{
    return (void *)(intptr_t)send_mail(arg);
}

/* libcurl waits for its look-up, however long it takes: a stop took 38 s. */
static void a_look_up_that_hangs_holds_no_abort_up(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    void *outcome;

    fake_names_set(true, 0, "127.0.0.1");
    assert_int_equal(pthread_create(&thread, NULL, send_one, f), 0);
    assert_true(fake_names_wait(&fake_names_calls, 1));
    client_abort(f->client);
    assert_int_equal(pthread_join(thread, &outcome), 0);
    assert_int_equal((intptr_t)outcome, CLIENT_AWAY);
    assert_non_null(strstr(f->ec.text, "hang.test"));
    client_destroy(f->client);
    f->client = NULL;
    assert_int_equal(atomic_load(&fake_names_under_way), 1); /* it still hangs */
    assert_int_equal(atomic_load(&fake_names_calls), 1);
}

static void a_name_without_address_is_told(void **state)
{
    struct fixture *f = *state;

    fake_names_set(false, EAI_NONAME, "");
    assert_int_equal(send_mail(f), CLIENT_AWAY);
    assert_non_null(strstr(f->ec.text, "hang.test"));
    assert_non_null(strstr(f->ec.text, gai_strerror(EAI_NONAME)));
}

static void the_address_that_was_found_is_used(void **state)
{
    struct fixture *f = *state;

    assert_int_equal(send_mail(f), CLIENT_AWAY); /* nobody listens there */
    assert_non_null(strstr(f->ec.text, "onnect"));
    assert_int_equal(atomic_load(&fake_names_calls), 1); /* and no other by libcurl */
}

/* A port is a key of its own. */
static void a_mail_host_is_a_name_or_an_address(void **state)
{
    static const char *const good[] = {"smtp.test", "a_b-c", "192.0.2.1", "::1", "2001:db8::1"};
    static const char *const bad[] = {"smtp.test:25",   "192.0.2.1:25", "1:2", "a b",
                                      "user@smtp.test", "smtp.test/x",  ""};
    struct fixture *f = *state;
    struct mail_opts opts = {.port = 1, .username = "", .password = "", .from = "a@example.org"};
    struct client *client = NULL;

    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        opts.host = good[i];
        assert_int_equal(client_create_mail(&opts, f->resolver, clock_system(), &client, &f->ec), ERR_OK);
        client_destroy(client);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        opts.host = bad[i];
        assert_int_equal(client_create_mail(&opts, f->resolver, clock_system(), &client, &f->ec), ERR_INPUT);
        assert_ptr_equal(strstr(f->ec.text, "spring.mail.host"), f->ec.text);
    }
}

static enum client_outcome post(struct fixture *f, const char *url, bool guarded)
{
    struct client *hook = NULL;
    struct buf answer = {0};
    int status = 0;

    assert_int_equal(client_create_webhook(url, "", guarded, f->resolver, clock_system(), &hook, &f->ec), ERR_OK);
    enum client_outcome outcome = client_post(hook, "", "", "{}", 2, &status, &answer, &f->ec);
    buf_fini(&answer);
    client_destroy(hook);
    return outcome;
}

/* Link-local is where clouds keep their secrets; loopback is anybody's own. */
static void a_guarded_webhook_reaches_no_forbidden_address(void **state)
{
    static const char *const forbidden[] = {"http://169.254.169.254/", "http://[fe80::1]:80/", "http://0xa9fea9fe/",
                                            "http://[::ffff:169.254.169.254]/"};
    struct fixture *f = *state;
    struct client *hook = NULL;

    for (size_t i = 0; i < ARRAY_LEN(forbidden); i++) {
        assert_int_equal(client_create_webhook(forbidden[i], "", true, f->resolver, clock_system(), &hook, &f->ec),
                         ERR_INPUT);
        assert_non_null(strstr(f->ec.text, "not allowed"));
    }
    /* A name is looked at with what it means now, address by address. */
    fake_names_set(false, 0, "169.254.169.254");
    assert_int_equal(post(f, "http://metadata.test:1/", true), CLIENT_AWAY);
    assert_non_null(strstr(f->ec.text, "may not be called"));
    fake_names_set(false, 0, "169.254.169.254 127.0.0.1");
    assert_int_equal(post(f, "http://both.test:1/", true), CLIENT_AWAY);
    assert_non_null(strstr(f->ec.text, "onnect"));
    assert_null(strstr(f->ec.text, "169.254"));
    assert_int_equal(post(f, "http://127.0.0.1:1/", true), CLIENT_AWAY);
    assert_non_null(strstr(f->ec.text, "onnect"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(a_look_up_that_hangs_holds_no_abort_up),
        T(a_name_without_address_is_told),
        T(the_address_that_was_found_is_used),
        T(a_mail_host_is_a_name_or_an_address),
        T(a_guarded_webhook_reaches_no_forbidden_address),
    };
    return cmocka_run_group_tests_name("alarm.smtp", tests, NULL, NULL);
}
