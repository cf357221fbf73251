/* SPDX-License-Identifier: MIT */
/*
 * getaddrinfo cannot be called off, and waits for a silent name server as long as resolv.conf lets it (10 s and more).
 * So each runs in a thread that nobody waits for, which has a reference of the resolver: whoever is the last one frees
 * it.
 */
#include "shardwheel/resolver.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/queue.h>
#include <unistd.h>

#define THREADS_MAX 64
#define FRESH_MS (30 * INT64_C(1000))       /* so long a name is not looked up again */
#define USABLE_MS (5 * 60 * INT64_C(1000))  /* so long its addresses are used while the next look-up hangs or fails */
#define FAILED_MS (5 * INT64_C(1000))       /* so long a name without address is not looked up again */
#define FORGET_MS (10 * 60 * INT64_C(1000)) /* so long after its last use a name is remembered */
#define NEVER_MS (INT64_MIN / 2)
#define BUCKETS 256
#define ADDRESSES_MAX 8

struct name {
    LIST_ENTRY(name) in_bucket;
    TAILQ_ENTRY(name) in_queue; /* while queued */
    char *host;
    bool under_way; /* queued, or a thread has it */
    bool failed;    /* the last look-up */
    int64_t ended_mono_ms;
    int64_t found_mono_ms; /* the addresses */
    int64_t used_mono_ms;
    char addresses[RESOLVER_TEXT_MAX];
    char reason[RESOLVER_TEXT_MAX];
};

struct resolver {
    const struct clock *clock;          /* [const] */
    struct mutex lock;                  /* rank LOCK_LEAF; never held during a look-up */
    LIST_HEAD(, name) buckets[BUCKETS]; /* [lock] as all below but for ended */
    TAILQ_HEAD(, name) queue;
    size_t threads;
    size_t refs; /* the owner's, and one of each thread */
    bool closed; /* the owner is gone, and maybe its clock */
    int64_t swept_mono_ms;
    int *watchers; /* descriptors */
    size_t watcher_count;
    _Atomic uint64_t ended; /* [atomic] look-ups so far; release in end_look_up, acquire in resolver_count_ended */
};

/* ---- names ----------------------------------------------------------------------------------------------------- */

static size_t find_bucket(const char *host)
{
    uint32_t hash = 2166136261u; /* FNV-1a */

    for (; *host; host++)
        hash = (hash ^ (unsigned char)*host) * 16777619u;
    return hash % BUCKETS;
}

static void destroy_name(struct name *name)
{
    LIST_REMOVE(name, in_bucket);
    free(name->host);
    free(name);
}

/* Before a new one is remembered. */
static void sweep(struct resolver *r, int64_t now_mono_ms)
{
    if (now_mono_ms - r->swept_mono_ms < FORGET_MS / 10)
        return;
    r->swept_mono_ms = now_mono_ms;
    for (size_t i = 0; i < BUCKETS; i++) {
        struct name *name = LIST_FIRST(&r->buckets[i]);

        while (name) {
            struct name *next = LIST_NEXT(name, in_bucket);

            if (!name->under_way && now_mono_ms - name->used_mono_ms > FORGET_MS)
                destroy_name(name);
            name = next;
        }
    }
}

static struct name *find_name(struct resolver *r, const char *host, int64_t now_mono_ms)
{
    size_t bucket = find_bucket(host);
    struct name *name;

    LIST_FOREACH(name, &r->buckets[bucket], in_bucket)
    if (strcmp(name->host, host) == 0)
        return name;
    sweep(r, now_mono_ms);
    name = calloc(1, sizeof *name);
    if (!name)
        return NULL;
    name->host = str_copy(host);
    if (!name->host) {
        free(name);
        return NULL;
    }
    name->ended_mono_ms = name->found_mono_ms = NEVER_MS;
    LIST_INSERT_HEAD(&r->buckets[bucket], name, in_bucket);
    return name;
}

/* ---- look-ups ---------------------------------------------------------------------------------------------------- */

static void put_addresses(const struct addrinfo *found, char out[RESOLVER_TEXT_MAX])
{
    size_t len = 0, count = 0;

    out[0] = '\0';
    for (; found && count < ADDRESSES_MAX; found = found->ai_next) {
        char ip[INET6_ADDRSTRLEN];
        bool v6 = found->ai_family == AF_INET6;
        const void *bytes = v6 ? (const void *)&((const struct sockaddr_in6 *)found->ai_addr)->sin6_addr
                               : (const void *)&((const struct sockaddr_in *)found->ai_addr)->sin_addr;

        if ((!v6 && found->ai_family != AF_INET) || !inet_ntop(found->ai_family, bytes, ip, sizeof ip))
            continue;
        len += (size_t)snprintf(out + len, RESOLVER_TEXT_MAX - len, v6 ? "%s[%s]" : "%s%s", len > 0 ? "," : "", ip);
        count++;
    }
}

/* What getaddrinfo says of the name: 0, with its addresses, or one of EAI_. */
static int look_up(const char *host, char addresses[RESOLVER_TEXT_MAX])
{
    struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    int rc = getaddrinfo(host, NULL, &wanted, &found);

    if (rc != 0)
        return rc;
    put_addresses(found, addresses);
    freeaddrinfo(found);
    return addresses[0] ? 0 : EAI_NONAME;
}

/* Within the lock. */
static void end_look_up(struct resolver *r, struct name *name, int rc, const char *why, const char *addresses)
{
    uint64_t one = 1;

    name->under_way = false;
    name->failed = rc != 0;
    name->ended_mono_ms = clock_mono_ms(r->clock);
    if (rc == 0) {
        name->found_mono_ms = name->ended_mono_ms;
        memcpy(name->addresses, addresses, sizeof name->addresses);
    } else {
        if (rc == EAI_NONAME) /* it is known that there is none; otherwise the old addresses may hold */
            name->found_mono_ms = NEVER_MS;
        snprintf(name->reason, sizeof name->reason, "%s", why);
    }
    /* release: pairs with the acquire in resolver_count_ended. */
    atomic_fetch_add_explicit(&r->ended, 1, memory_order_release);
    for (size_t i = 0; i < r->watcher_count; i++)
        (void)!write(r->watchers[i], &one, sizeof one); /* does not block; a full counter wakes as well */
}

/* Unlocks. */
static void give_ref(struct resolver *r)
{
    bool last = --r->refs == 0;

    mutex_unlock(&r->lock);
    if (!last)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        while (LIST_FIRST(&r->buckets[i]))
            destroy_name(LIST_FIRST(&r->buckets[i]));
    mutex_fini(&r->lock);
    free(r->watchers);
    free(r);
}

static void run(void *arg)
{
    struct resolver *r = arg;
    struct name *name;

    mutex_lock(&r->lock);
    while ((name = TAILQ_FIRST(&r->queue)) != NULL) {
        char addresses[RESOLVER_TEXT_MAX];
        int rc;

        TAILQ_REMOVE(&r->queue, name, in_queue);
        mutex_unlock(&r->lock);
        rc = look_up(name->host, addresses); /* host: const, and the name stays while it is under way */
        mutex_lock(&r->lock);
        if (!r->closed)
            end_look_up(r, name, rc, rc ? gai_strerror(rc) : "", addresses);
    }
    r->threads--;
    give_ref(r);
}

/* A name that has had addresses goes before those that may be nonsense. True: a thread more is to be started. */
static bool queue_name(struct resolver *r, struct name *name)
{
    name->under_way = true;
    if (name->addresses[0])
        TAILQ_INSERT_HEAD(&r->queue, name, in_queue);
    else
        TAILQ_INSERT_TAIL(&r->queue, name, in_queue);
    if (r->threads == THREADS_MAX)
        return false;
    r->threads++;
    r->refs++;
    return true;
}

static void start_thread(struct resolver *r)
{
    struct thread thread = {0};
    struct name *name;
    struct errctx ec;

    if (thread_start(&thread, "resolver", run, r, &ec) == ERR_OK) {
        thread_detach(&thread);
        return;
    }
    mutex_lock(&r->lock);
    r->threads--;
    while (r->threads == 0 && (name = TAILQ_FIRST(&r->queue)) != NULL) {
        TAILQ_REMOVE(&r->queue, name, in_queue);
        end_look_up(r, name, EAI_AGAIN, ec.text, NULL);
    }
    give_ref(r);
}

/* ---- asking ------------------------------------------------------------------------------------------------------ */

static void set_answer(struct resolver_answer *out, enum resolver_state state, const char *text)
{
    out->state = state;
    snprintf(out->text, sizeof out->text, "%s", text);
}

/* True: a thread more is to be started. */
static bool ask(struct resolver *r, const char *host, struct resolver_answer *out)
{
    int64_t now_mono_ms = clock_mono_ms(r->clock);
    struct name *name = find_name(r, host, now_mono_ms);
    bool start = false;

    if (!name) {
        set_answer(out, RESOLVER_FAILED, "out of memory");
        return false;
    }
    name->used_mono_ms = now_mono_ms;
    if (!name->under_way && now_mono_ms - name->ended_mono_ms >= (name->failed ? FAILED_MS : FRESH_MS))
        start = queue_name(r, name);
    if (now_mono_ms - name->found_mono_ms < USABLE_MS)
        set_answer(out, RESOLVER_FOUND, name->addresses);
    else if (name->under_way)
        set_answer(out, RESOLVER_WAITS, "");
    else
        set_answer(out, RESOLVER_FAILED, name->reason);
    return start;
}

void resolver_ask(struct resolver *r, const char *host, struct resolver_answer *out)
{
    bool start;

    mutex_lock(&r->lock);
    start = ask(r, host, out);
    mutex_unlock(&r->lock);
    if (start)
        start_thread(r);
}

uint64_t resolver_count_ended(const struct resolver *r)
{
    /* acquire: pairs with the release in end_look_up. */
    return atomic_load_explicit(&r->ended, memory_order_acquire);
}

bool host_is_ip(const char *host)
{
    unsigned char bytes[sizeof(struct in6_addr)];

    return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

enum err resolver_watch(struct resolver *r, int event_fd, struct errctx *ec)
{
    enum err e = ERR_OK;
    int *grown;

    mutex_lock(&r->lock);
    grown = realloc(r->watchers, (r->watcher_count + 1) * sizeof *grown);
    if (grown) {
        r->watchers = grown;
        r->watchers[r->watcher_count++] = event_fd;
    } else {
        e = ERR_NOMEM;
    }
    mutex_unlock(&r->lock);
    return e ? err_set(ec, e, "out of memory for the resolver") : ERR_OK;
}

void resolver_unwatch(struct resolver *r, int event_fd)
{
    mutex_lock(&r->lock);
    for (size_t i = 0; i < r->watcher_count; i++) {
        if (r->watchers[i] == event_fd) {
            r->watchers[i] = r->watchers[--r->watcher_count];
            break;
        }
    }
    mutex_unlock(&r->lock);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

enum err resolver_create(const struct clock *clock, struct resolver **out, struct errctx *ec)
{
    struct resolver *r = calloc(1, sizeof *r);

    if (!r)
        return err_set(ec, ERR_NOMEM, "out of memory for the resolver");
    r->clock = clock;
    mutex_init(&r->lock, LOCK_LEAF);
    TAILQ_INIT(&r->queue);
    r->refs = 1;
    r->swept_mono_ms = clock_mono_ms(clock);
    atomic_init(&r->ended, 0);
    *out = r;
    return ERR_OK;
}

void resolver_destroy(struct resolver *r)
{
    struct name *name;

    if (!r)
        return;
    mutex_lock(&r->lock);
    r->closed = true;
    while ((name = TAILQ_FIRST(&r->queue)) != NULL) {
        TAILQ_REMOVE(&r->queue, name, in_queue);
        name->under_way = false;
    }
    give_ref(r);
}

static void wait_for(struct resolver *r, const char *host, int fd, int (*may_wait_ms)(const void *arg), const void *arg,
                     struct resolver_answer *out)
{
    uint64_t drained;
    int wait_ms;

    resolver_ask(r, host, out);
    while (out->state == RESOLVER_WAITS && (wait_ms = may_wait_ms(arg)) > 0) {
        poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, wait_ms);
        (void)!read(fd, &drained, sizeof drained);
        resolver_ask(r, host, out);
    }
}

enum err resolver_await(struct resolver *r, const char *host, int (*may_wait_ms)(const void *arg), const void *arg,
                        char out[RESOLVER_TEXT_MAX], struct errctx *ec)
{
    struct resolver_answer found;
    enum err e;

    if (host_is_ip(host)) {
        snprintf(out, RESOLVER_TEXT_MAX, "%s", host);
        return ERR_OK;
    }
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return err_set(ec, ERR_LOST, "ask for %s: event descriptor: %s", host, strerror(errno));
    e = resolver_watch(r, fd, ec);
    if (!e) {
        wait_for(r, host, fd, may_wait_ms, arg, &found);
        resolver_unwatch(r, fd);
    }
    close(fd);
    if (e)
        return err_wrap(ec, ERR_LOST, "ask for %s", host);
    if (found.state != RESOLVER_FOUND)
        return err_set(ec, ERR_LOST, "the name %s has no address: %s", host,
                       found.state == RESOLVER_FAILED ? found.text : "its look-up takes too long");
    snprintf(out, RESOLVER_TEXT_MAX, "%s", found.text);
    return ERR_OK;
}
