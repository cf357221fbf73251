/* SPDX-License-Identifier: MIT */
/*
 * fake_names: the program's own getaddrinfo, which stands before the library's, for whoever calls it: names that hang,
 * and answers that change. Names with "hang" in them hang while told so; all others get the same answer.
 */
#ifndef TEST_FAKE_NAMES_H
#define TEST_FAKE_NAMES_H

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define FAKE_NAMES_DEADLINE_MS 120000

static pthread_mutex_t fake_names_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t fake_names_changed = PTHREAD_COND_INITIALIZER;
static bool fake_names_hang;            /* [lock] as the next two */
static int fake_names_answer;           /* 0, or an EAI_ */
static const char *fake_names_ips = ""; /* that are found, separated by blanks */
static atomic_int fake_names_calls, fake_names_under_way, fake_names_most;

static inline void fake_names_set(bool hang, int answer, const char *ips)
{
    pthread_mutex_lock(&fake_names_lock);
    fake_names_hang = hang;
    fake_names_answer = answer;
    fake_names_ips = ips;
    pthread_cond_broadcast(&fake_names_changed);
    pthread_mutex_unlock(&fake_names_lock);
}

static inline struct addrinfo *fake_names_make(const char *ip)
{
    struct addrinfo *a = calloc(1, sizeof *a + sizeof(struct sockaddr_in6));
    struct sockaddr_in *v4 = (struct sockaddr_in *)(a + 1);
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(a + 1);

    a->ai_addr = (struct sockaddr *)(a + 1);
    a->ai_family = strchr(ip, ':') ? AF_INET6 : AF_INET;
    a->ai_addrlen = a->ai_family == AF_INET ? sizeof *v4 : sizeof *v6;
    a->ai_socktype = SOCK_STREAM;
    a->ai_addr->sa_family = (sa_family_t)a->ai_family;
    inet_pton(a->ai_family, ip, a->ai_family == AF_INET ? (void *)&v4->sin_addr : (void *)&v6->sin6_addr);
    return a;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **out)
{
    int now = atomic_fetch_add(&fake_names_under_way, 1) + 1, most = atomic_load(&fake_names_most), rc;
    struct addrinfo **end = out;
    char list[200], *rest = list;

    (void)service, (void)hints;
    atomic_fetch_add(&fake_names_calls, 1);
    while (now > most && !atomic_compare_exchange_weak(&fake_names_most, &most, now))
        ;
    pthread_mutex_lock(&fake_names_lock);
    while (fake_names_hang && strstr(node, "hang"))
        pthread_cond_wait(&fake_names_changed, &fake_names_lock);
    rc = fake_names_answer;
    snprintf(list, sizeof list, "%s", fake_names_ips);
    pthread_mutex_unlock(&fake_names_lock);
    *out = NULL;
    for (const char *ip; rc == 0 && (ip = strsep(&rest, " ")) != NULL; end = &(*end)->ai_next)
        *end = fake_names_make(ip);
    atomic_fetch_sub(&fake_names_under_way, 1);
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

static inline void fake_names_reset(const char *ips)
{
    fake_names_set(false, 0, ips);
    atomic_store(&fake_names_calls, 0);
    atomic_store(&fake_names_most, 0);
}

/* False when it does not come to that. */
static inline bool fake_names_wait(atomic_int *number, int value)
{
    for (int i = 0; i < FAKE_NAMES_DEADLINE_MS && atomic_load(number) != value; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return atomic_load(number) == value;
}

#endif
