/* SPDX-License-Identifier: MIT */
/* The program has a getaddrinfo of its own, which stands before the library's: names that hang and answers that change need one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "shardwheel/resolver.h"

#define DEADLINE_MS 20000
#define HANGING_MAX 200

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t released = PTHREAD_COND_INITIALIZER;
static bool hang;            /* names with "hang" in them */
static int answers_to = 0;   /* what is said of other names: 0, or an EAI_ */
static const char *ips = ""; /* that are found, separated by blanks */
static atomic_int calls, under_way, most_under_way;

static struct addrinfo *make_address(const char *ip)
{
    struct addrinfo *a = calloc(1, sizeof *a + sizeof(struct sockaddr_in6));
    struct sockaddr_in *v4 = (struct sockaddr_in *)(a + 1);
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(a + 1);

    a->ai_addr = (struct sockaddr *)(a + 1);
    a->ai_family = strchr(ip, ':') ? AF_INET6 : AF_INET;
    a->ai_addr->sa_family = (sa_family_t)a->ai_family;
    assert_int_equal(
        inet_pton(a->ai_family, ip, a->ai_family == AF_INET ? (void *)&v4->sin_addr : (void *)&v6->sin6_addr), 1);
    return a;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
    int now = atomic_fetch_add(&under_way, 1) + 1, most = atomic_load(&most_under_way), rc;
    struct addrinfo **end = out;
    char list[200], *rest = list;

    (void)service, (void)hints;
    atomic_fetch_add(&calls, 1);
    while (now > most && !atomic_compare_exchange_weak(&most_under_way, &most, now))
        ;
    pthread_mutex_lock(&lock);
    while (hang && strstr(node, "hang"))
        pthread_cond_wait(&released, &lock);
    rc = answers_to;
    snprintf(list, sizeof list, "%s", ips);
    pthread_mutex_unlock(&lock);
    *out = NULL;
    for (const char *ip; rc == 0 && (ip = strsep(&rest, " ")) != NULL; end = &(*end)->ai_next)
        *end = make_address(ip);
    atomic_fetch_sub(&under_way, 1);
    return rc;
}

void freeaddrinfo(struct addrinfo *list)
{
    while (list) {
        struct addrinfo *next = list->ai_next;
        free(list);
        list = next;
    }
}

static void set(bool hangs, int rc, const char *found)
{
    pthread_mutex_lock(&lock);
    hang = hangs;
    answers_to = rc;
    ips = found;
    pthread_cond_broadcast(&released);
    pthread_mutex_unlock(&lock);
}

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
    set(false, 0, "10.0.0.1");
    atomic_store(&calls, 0);
    atomic_store(&most_under_way, 0);
    f->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_int_equal(resolver_create(&f->clock, &f->r, &ec), ERR_OK);
    assert_int_equal(resolver_watch(f->r, f->fd, &ec), ERR_OK);
    *state = f;
    return 0;
}

static void wait_for_nothing_under_way(void)
{
    for (int i = 0; i < DEADLINE_MS && atomic_load(&under_way) > 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(atomic_load(&under_way), 0);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    set(false, 0, "10.0.0.1");
    resolver_unwatch(f->r, f->fd);
    resolver_destroy(f->r);
    wait_for_nothing_under_way();
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

static void wait_for_calls(int count)
{
    for (int i = 0; i < DEADLINE_MS && atomic_load(&calls) < count; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    assert_int_equal(atomic_load(&calls), count);
}

static void addresses_are_found_and_kept_for_a_while(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;

    set(false, 0, "10.0.0.1 ::1 10.0.0.2");
    assert_int_equal(ask(f, "one", &a), RESOLVER_WAITS);
    assert_int_equal(find(f, "one", &a), RESOLVER_FOUND);
    assert_string_equal(a.text, "10.0.0.1,[::1],10.0.0.2");
    now_mono_ms += 29999;
    assert_int_equal(ask(f, "one", &a), RESOLVER_FOUND);
    assert_int_equal(atomic_load(&calls), 1);
    assert_int_equal(find(f, "two", &a), RESOLVER_FOUND);
    assert_int_equal(atomic_load(&calls), 2);
    assert_int_equal(resolver_count_ended(f->r), 2);
}

static void old_addresses_are_used_while_the_next_look_up_hangs(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;

    assert_int_equal(find(f, "will-hang", &a), RESOLVER_FOUND);
    set(true, 0, "10.0.0.9");
    now_mono_ms += 30000;
    assert_int_equal(ask(f, "will-hang", &a), RESOLVER_FOUND);
    assert_string_equal(a.text, "10.0.0.1");
    wait_for_calls(2);
    now_mono_ms += 269999;
    assert_int_equal(ask(f, "will-hang", &a), RESOLVER_FOUND);
    now_mono_ms += 1;
    assert_int_equal(ask(f, "will-hang", &a), RESOLVER_WAITS);
    assert_int_equal(atomic_load(&calls), 2);
    while (poll(&(struct pollfd){.fd = f->fd, .events = POLLIN}, 1, 0) == 1)
        wait_for_an_end(f);
    set(false, 0, "10.0.0.9");
    assert_int_equal(find(f, "will-hang", &a), RESOLVER_FOUND);
    assert_string_equal(a.text, "10.0.0.9");
}

static void a_failure_is_kept_for_seconds(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;

    set(false, EAI_NONAME, "");
    assert_int_equal(find(f, "nobody", &a), RESOLVER_FAILED);
    assert_string_equal(a.text, gai_strerror(EAI_NONAME));
    now_mono_ms += 4999;
    assert_int_equal(ask(f, "nobody", &a), RESOLVER_FAILED);
    assert_int_equal(atomic_load(&calls), 1);
    now_mono_ms += 1;
    set(false, 0, "10.0.0.3");
    assert_int_equal(find(f, "nobody", &a), RESOLVER_FOUND);
    assert_int_equal(atomic_load(&calls), 2);
}

static void only_a_name_that_is_said_not_to_be_loses_its_addresses(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;

    assert_int_equal(find(f, "one", &a), RESOLVER_FOUND);
    set(false, EAI_AGAIN, "");
    now_mono_ms += 30000;
    assert_int_equal(ask(f, "one", &a), RESOLVER_FOUND);
    wait_for_an_end(f);
    assert_int_equal(ask(f, "one", &a), RESOLVER_FOUND);
    assert_string_equal(a.text, "10.0.0.1");
    set(false, EAI_NONAME, "");
    now_mono_ms += 5000;
    assert_int_equal(ask(f, "one", &a), RESOLVER_FOUND);
    wait_for_an_end(f);
    assert_int_equal(ask(f, "one", &a), RESOLVER_FAILED);
}

static void one_look_up_of_a_name_at_a_time(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;

    set(true, 0, "10.0.0.1");
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ask(f, i % 2 ? "hang-1" : "hang-2", &a), RESOLVER_WAITS);
    wait_for_calls(2);
    now_mono_ms += 3600 * 1000;
    for (int i = 0; i < 1000; i++)
        assert_int_equal(ask(f, i % 2 ? "hang-1" : "hang-2", &a), RESOLVER_WAITS);
    set(false, 0, "10.0.0.1");
    assert_int_equal(find(f, "hang-1", &a), RESOLVER_FOUND);
    assert_int_equal(find(f, "hang-2", &a), RESOLVER_FOUND);
    assert_int_equal(atomic_load(&calls), 2);
}

static void names_that_hang_hold_up_no_other_and_their_threads_are_bounded(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;
    char host[32];

    set(true, 0, "10.0.0.1");
    for (int i = 0; i < 63; i++) {
        snprintf(host, sizeof host, "hang-%d", i);
        assert_int_equal(ask(f, host, &a), RESOLVER_WAITS);
    }
    wait_for_calls(63);
    assert_int_equal(find(f, "good", &a), RESOLVER_FOUND);
    for (int i = 63; i < HANGING_MAX; i++) {
        snprintf(host, sizeof host, "hang-%d", i);
        assert_int_equal(ask(f, host, &a), RESOLVER_WAITS);
    }
    wait_for_calls(65);
    set(false, 0, "10.0.0.1");
    for (int i = 0; i < HANGING_MAX; i++) {
        snprintf(host, sizeof host, "hang-%d", i);
        assert_int_equal(find(f, host, &a), RESOLVER_FOUND);
    }
    assert_in_range(atomic_load(&most_under_way), 63, 64);
}

static void what_hangs_holds_no_stop_up(void **state)
{
    struct fixture *f = *state;
    struct resolver_answer a;
    struct errctx ec;

    set(true, 0, "10.0.0.1");
    for (int i = 0; i < HANGING_MAX; i++) {
        char host[32];
        snprintf(host, sizeof host, "hang-%d", i);
        assert_int_equal(ask(f, host, &a), RESOLVER_WAITS);
    }
    wait_for_calls(64);
    resolver_unwatch(f->r, f->fd);
    resolver_destroy(f->r); /* comes back while they hang */
    assert_int_equal(atomic_load(&under_way), 64);
    set(false, 0, "10.0.0.1");
    wait_for_nothing_under_way();
    assert_int_equal(atomic_load(&calls), 64); /* and those that waited were not begun */
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
    set(true, 0, "10.0.0.1");
    assert_int_equal(ask(f, "name-999", &a), RESOLVER_FOUND);
    assert_int_equal(ask(f, "hang-0", &a), RESOLVER_WAITS);
    assert_int_equal(ask(f, "name-0", &a), RESOLVER_WAITS); /* anew */
    set(false, 0, "10.0.0.1");
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
    };
    return cmocka_run_group_tests_name("base.resolver", tests, NULL, NULL);
}
