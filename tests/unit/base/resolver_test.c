/* SPDX-License-Identifier: MIT */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake_names.h"
#include "shardwheel/resolver.h"

#define DEADLINE_MS 120000
#define HANGING_MAX 200

static _Atomic int64_t now_mono_ms;

static int64_t mono_ms(const struct clock *clock)
{
    (void)clock;
    return now_mono_ms;
}

struct fixture {
    struct clock clock;
    struct resolver *r;
    int fd;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct errctx ec;

    f->clock = *clock_system();
    f->clock.mono_ms = mono_ms;
    now_mono_ms = 1000000;
    fake_names_reset("10.0.0.1");
    f->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_int_equal(resolver_create(&f->clock, &f->r, &ec), ERR_OK);
    assert_int_equal(resolver_watch(f->r, f->fd, &ec), ERR_OK);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    fake_names_set(false, 0, "10.0.0.1");
    resolver_unwatch(f->r, f->fd);
    resolver_destroy(f->r);
    assert_true(fake_names_wait(&fake_names_under_way, 0));
    close(f->fd);
    free(f);
    return 0;
}

static enum resolver_state ask(struct fixture *f, const char *host, struct resolver_answer *out)
{
    resolver_ask(f->r, host, out);
    return out->state;
}

static void wait_for_an_end(struct fixture *f)
{
    uint64_t count;

    assert_int_equal(poll(&(struct pollfd){.fd = f->fd, .events = POLLIN}, 1, DEADLINE_MS), 1);
    assert_int_equal(read(f->fd, &count, sizeof count), sizeof count);
}

/* What is said when it waits no more. */
static enum resolver_state find(struct fixture *f, const char *host, struct resolver_answer *out)
{
    while (ask(f, host, out) == RESOLVER_WAITS)
        wait_for_an_end(f);
    return out->state;
}

static void addresses_are_found_and_kept_for_a_while(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;

    fake_names_set(false, 0, "10.0.0.1 ::1 10.0.0.2");
    assert_int_equal(ask(f, "one", &a), RESOLVER_WAITS);
    assert_int_equal(find(f, "one", &a), RESOLVER_FOUND);
    assert_string_equal(a.text, "10.0.0.1,[::1],10.0.0.2");
    now_mono_ms += 29999;
    assert_int_equal(ask(f, "one", &a), RESOLVER_FOUND);
    assert_int_equal(atomic_load(&fake_names_calls), 1);
    assert_int_equal(find(f, "two", &a), RESOLVER_FOUND);
    assert_int_equal(atomic_load(&fake_names_calls), 2);
    assert_int_equal(resolver_count_ended(f->r), 2);
}

static void old_addresses_are_used_while_the_next_look_up_hangs(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;

    assert_int_equal(find(f, "will-hang", &a), RESOLVER_FOUND);
    fake_names_set(true, 0, "10.0.0.9");
    now_mono_ms += 30000;
    assert_int_equal(ask(f, "will-hang", &a), RESOLVER_FOUND);
    assert_string_equal(a.text, "10.0.0.1");
    assert_true(fake_names_wait(&fake_names_calls, 2));
    now_mono_ms += 269999;
    assert_int_equal(ask(f, "will-hang", &a), RESOLVER_FOUND);
    now_mono_ms += 1;
    assert_int_equal(ask(f, "will-hang", &a), RESOLVER_WAITS);
    assert_int_equal(atomic_load(&fake_names_calls), 2);
    while (poll(&(struct pollfd){.fd = f->fd, .events = POLLIN}, 1, 0) == 1)
        wait_for_an_end(f);
    fake_names_set(false, 0, "10.0.0.9");
    assert_int_equal(find(f, "will-hang", &a), RESOLVER_FOUND);
    assert_string_equal(a.text, "10.0.0.9");
}

static void a_failure_is_kept_for_seconds(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;

    fake_names_set(false, EAI_NONAME, "");
    assert_int_equal(find(f, "nobody", &a), RESOLVER_FAILED);
    assert_string_equal(a.text, gai_strerror(EAI_NONAME));
    now_mono_ms += 4999;
    assert_int_equal(ask(f, "nobody", &a), RESOLVER_FAILED);
    assert_int_equal(atomic_load(&fake_names_calls), 1);
    now_mono_ms += 1;
    fake_names_set(false, 0, "10.0.0.3");
    assert_int_equal(find(f, "nobody", &a), RESOLVER_FOUND);
    assert_int_equal(atomic_load(&fake_names_calls), 2);
}

static void only_a_name_that_is_said_not_to_be_loses_its_addresses(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;

    assert_int_equal(find(f, "one", &a), RESOLVER_FOUND);
    fake_names_set(false, EAI_AGAIN, "");
    now_mono_ms += 30000;
    assert_int_equal(ask(f, "one", &a), RESOLVER_FOUND);
    wait_for_an_end(f);
    assert_int_equal(ask(f, "one", &a), RESOLVER_FOUND);
    assert_string_equal(a.text, "10.0.0.1");
    fake_names_set(false, EAI_NONAME, "");
    now_mono_ms += 5000;
    assert_int_equal(ask(f, "one", &a), RESOLVER_FOUND);
    wait_for_an_end(f);
    assert_int_equal(ask(f, "one", &a), RESOLVER_FAILED);
}

static void one_look_up_of_a_name_at_a_time(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;

    fake_names_set(true, 0, "10.0.0.1");
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ask(f, i % 2 ? "hang-1" : "hang-2", &a), RESOLVER_WAITS);
    assert_true(fake_names_wait(&fake_names_calls, 2));
    now_mono_ms += 3600 * 1000;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ask(f, i % 2 ? "hang-1" : "hang-2", &a), RESOLVER_WAITS);
    fake_names_set(false, 0, "10.0.0.1");
    assert_int_equal(find(f, "hang-1", &a), RESOLVER_FOUND);
    assert_int_equal(find(f, "hang-2", &a), RESOLVER_FOUND);
    assert_int_equal(atomic_load(&fake_names_calls), 2);
}

static void names_that_hang_hold_up_no_other_and_their_threads_are_bounded(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;
    char host[32];

    fake_names_set(true, 0, "10.0.0.1");
    for (int i = 0; i < 63; i++) {
        snprintf(host, sizeof host, "hang-%d", i);
        assert_int_equal(ask(f, host, &a), RESOLVER_WAITS);
    }
    assert_true(fake_names_wait(&fake_names_calls, 63));
    assert_int_equal(find(f, "good", &a), RESOLVER_FOUND);
    for (int i = 63; i < HANGING_MAX; i++) {
        snprintf(host, sizeof host, "hang-%d", i);
        assert_int_equal(ask(f, host, &a), RESOLVER_WAITS);
    }
    assert_true(fake_names_wait(&fake_names_calls, 65));
    fake_names_set(false, 0, "10.0.0.1");
    for (int i = 0; i < HANGING_MAX; i++) {
        snprintf(host, sizeof host, "hang-%d", i);
        assert_int_equal(find(f, host, &a), RESOLVER_FOUND);
    }
    assert_in_range(atomic_load(&fake_names_most), 63, 64);
}

static void what_hangs_holds_no_stop_up(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;
    struct errctx ec;

    fake_names_set(true, 0, "10.0.0.1");
    for (int i = 0; i < HANGING_MAX; i++) {
        char host[32];
        snprintf(host, sizeof host, "hang-%d", i);
        assert_int_equal(ask(f, host, &a), RESOLVER_WAITS);
    }
    assert_true(fake_names_wait(&fake_names_calls, 64));
    resolver_unwatch(f->r, f->fd);
    resolver_destroy(f->r); /* comes back while they hang */
    assert_int_equal(atomic_load(&fake_names_under_way), 64);
    fake_names_set(false, 0, "10.0.0.1");
    assert_true(fake_names_wait(&fake_names_under_way, 0));
    assert_int_equal(atomic_load(&fake_names_calls), 64); /* and those that waited were not begun */
    assert_int_equal(resolver_create(&f->clock, &f->r, &ec), ERR_OK);
}

static void names_out_of_use_are_forgotten(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;
    char host[32];

    for (int i = 0; i < 1000; i++) {
        snprintf(host, sizeof host, "name-%d", i);
        assert_int_equal(find(f, host, &a), RESOLVER_FOUND);
        now_mono_ms += 1000;
    }
    fake_names_set(true, 0, "10.0.0.1");
    assert_int_equal(ask(f, "name-999", &a), RESOLVER_FOUND);
    assert_int_equal(ask(f, "hang-0", &a), RESOLVER_WAITS);
    assert_int_equal(ask(f, "name-0", &a), RESOLVER_WAITS); /* anew */
    fake_names_set(false, 0, "10.0.0.1");
    assert_int_equal(find(f, "name-0", &a), RESOLVER_FOUND);
}

static void ips_are_told_from_names(void **state)
{
    (void)state;
    assert_true(host_is_ip("127.0.0.1"));
    assert_true(host_is_ip("::1"));
    assert_false(host_is_ip("127.1"));
    assert_false(host_is_ip("localhost"));
    assert_false(host_is_ip(""));
}

static int no_longer(const void *arg)
{
    (void)arg;
    return 0;
}

static int for_long(const void *arg)
{
    (void)arg;
    return DEADLINE_MS;
}

static void who_may_wait_gets_addresses_or_why_not(void **state)
{
    struct fixture *f = *state;
    char text[RESOLVER_TEXT_MAX];
    struct errctx ec;

    assert_int_equal(resolver_await(f->r, "127.0.0.1", no_longer, NULL, text, &ec), ERR_OK);
    assert_string_equal(text, "127.0.0.1");
    assert_int_equal(resolver_await(f->r, "::1", no_longer, NULL, text, &ec), ERR_OK);
    assert_string_equal(text, "::1");
    assert_int_equal(atomic_load(&fake_names_calls), 0);
    assert_int_equal(resolver_await(f->r, "name", for_long, NULL, text, &ec), ERR_OK);
    assert_string_equal(text, "10.0.0.1");
    fake_names_set(false, EAI_NONAME, "");
    assert_int_equal(resolver_await(f->r, "none", for_long, NULL, text, &ec), ERR_LOST);
    assert_non_null(strstr(ec.text, "the name none has no address"));
    fake_names_set(true, 0, "10.0.0.1");
    assert_int_equal(resolver_await(f->r, "hang", no_longer, NULL, text, &ec), ERR_LOST);
    assert_non_null(strstr(ec.text, "takes too long"));
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(addresses_are_found_and_kept_for_a_while),
        T(old_addresses_are_used_while_the_next_look_up_hangs),
        T(a_failure_is_kept_for_seconds),
        T(only_a_name_that_is_said_not_to_be_loses_its_addresses),
        T(one_look_up_of_a_name_at_a_time),
        T(names_that_hang_hold_up_no_other_and_their_threads_are_bounded),
        T(what_hangs_holds_no_stop_up),
        T(names_out_of_use_are_forgotten),
        T(ips_are_told_from_names),
        T(who_may_wait_gets_addresses_or_why_not),
    };
    return cmocka_run_group_tests_name("base.resolver", tests, NULL, NULL);
}
