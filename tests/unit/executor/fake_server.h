/* SPDX-License-Identifier: MIT */
/*
 * fake_server: an executor's HTTP server for tests: any number of ports on 127.0.0.1, one thread, and manners that can
 * be bad.
 */
#ifndef TEST_FAKE_SERVER_H
#define TEST_FAKE_SERVER_H

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum fake_manner {
    FAKE_ANSWER,       /* status and body */
    FAKE_SILENT,       /* reads and never answers; fake_server_release answers what waits */
    FAKE_CLOSE,        /* closes when a request came */
    FAKE_CLOSE_SECOND, /* answers the first request of a connection, closes when the second came */
    FAKE_HALF,         /* half an answer, then closes */
    FAKE_RAW,          /* sends `body` as it is, then closes */
    FAKE_RAW_KEEP,     /* sends `body` as it is, and stays */
    FAKE_DRIP,         /* sends `body` as it is, byte by byte, and stays */
    FAKE_RESET,        /* resets the connection when a request came */
    FAKE_HALF_RESET,   /* the same behind half an answer */
    FAKE_ANSWER_CLOSE, /* answers as if it would keep the connection, then closes it */
    FAKE_ANSWER_TWICE, /* answers, and fake_server_release answers once more */
    FAKE_DEAF,         /* does not even read, until fake_server_release */
    FAKE_EARLY,        /* answers as soon as the head is there, and reads no more */
};

struct fake_conn {
    int fd;
    int port_index;
    int requests;
    size_t len;
    char *in;
    size_t cap;
    bool waits; /* fake_server_release answers */
    bool deaf;
};

enum { FAKE_RELEASE_ANSWER = 1, FAKE_RELEASE_RESET };
#define FAKE_PORTS_MAX 128
#define FAKE_CONNS_MAX 4096

struct fake_server {
    int listeners[FAKE_PORTS_MAX];
    int ports[FAKE_PORTS_MAX];
    int port_count;
    int epoll_fd;
    int stop_fd;
    pthread_t thread;
    pthread_mutex_t lock;
    /* [lock] */
    enum fake_manner manner;
    int status;
    const char *body;         /* of the answer */
    const char *trigger_body; /* of the answer to /trigger; NULL: the same */
    int trigger_status;
    char last_request[8192];
    /* How a port answers /beat and /idleBeat, and what came of these: they are no arrivals. */
    struct fake_questions {
        bool is_set; /* else as everything */
        enum fake_manner manner;
        const char *body;
        long count;
        char last[2048];
    } questions[FAKE_PORTS_MAX];
    long arrived_by_port[FAKE_PORTS_MAX];
    int64_t first_arrival_us, last_arrival_us; /* wall clock */
    int64_t *seen;                             /* log ids in order of arrival */
    size_t seen_count, seen_cap;
    struct fake_conn *conns[FAKE_CONNS_MAX]; /* by descriptor; the thread's */
    /* */
    atomic_long arrivals, connections, closed, release;
};

static inline int64_t fake_wall_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return t.tv_sec * (int64_t)1000000 + t.tv_nsec / 1000;
}

static inline void fake_close(struct fake_server *s, struct fake_conn *c)
{
    s->conns[c->fd] = NULL;
    close(c->fd);
    free(c->in);
    free(c);
    atomic_fetch_add(&s->closed, 1);
}

static inline void fake_reset(struct fake_server *s, struct fake_conn *c)
{
    struct linger hard = {.l_onoff = 1};

    setsockopt(c->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof hard);
    fake_close(s, c);
}

static inline void fake_send(struct fake_conn *c, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = send(c->fd, data, len, MSG_NOSIGNAL); /* blocking: answers are small */
        if (n <= 0)
            return;
        data += n;
        len -= (size_t)n;
    }
}

static inline void fake_answer(struct fake_conn *c, int status, const char *body)
{
    char head[200];
    size_t body_len = strlen(body);
    int len = snprintf(head, sizeof head, "HTTP/1.1 %d X\r\ncontent-length: %zu\r\n\r\n", status, body_len);
    char *whole = malloc((size_t)len + body_len);

    memcpy(whole, head, (size_t)len);
    memcpy(whole + len, body, body_len);
    fake_send(c, whole, (size_t)len + body_len);
    free(whole);
}

/* Length of the first whole request in the buffer, or 0. */
static inline size_t fake_measure(const struct fake_conn *c)
{
    const char *end = c->len ? memmem(c->in, c->len, "\r\n\r\n", 4) : NULL;
    const char *length;
    size_t head, body;

    if (!end)
        return 0;
    head = (size_t)(end - c->in) + 4;
    length = strcasestr(c->in, "\r\ncontent-length:");
    body = length && length < end ? strtoul(length + 17, NULL, 10) : 0;
    return c->len >= head + body ? head + body : 0;
}

static inline void fake_note(struct fake_server *s, const struct fake_conn *c, size_t len)
{
    size_t keep = len < sizeof s->last_request - 1 ? len : sizeof s->last_request - 1;
    const char *id = memmem(c->in, len, "\"logId\":", 8);
    int64_t now = fake_wall_us();

    memcpy(s->last_request, c->in, keep);
    s->last_request[keep] = '\0';
    s->arrived_by_port[c->port_index]++;
    if (!s->first_arrival_us)
        s->first_arrival_us = now;
    s->last_arrival_us = now;
    if (s->seen_count == s->seen_cap) {
        s->seen_cap = s->seen_cap ? s->seen_cap * 2 : 1024;
        s->seen = realloc(s->seen, s->seen_cap * sizeof *s->seen);
    }
    s->seen[s->seen_count++] = id ? strtoll(id + 8, NULL, 10) : -1;
}

static inline void fake_note_question(struct fake_server *s, const struct fake_conn *c, size_t len,
                                      enum fake_manner *manner, int *status, const char **body)
{
    struct fake_questions *q = &s->questions[c->port_index];
    size_t keep = len < sizeof q->last - 1 ? len : sizeof q->last - 1;

    memcpy(q->last, c->in, keep);
    q->last[keep] = '\0';
    q->count++;
    if (q->is_set) {
        *manner = q->manner;
        *status = 200;
        *body = q->body;
    }
}

/* False when the connection is gone. */
static inline bool fake_serve(struct fake_server *s, struct fake_conn *c, size_t len)
{
    bool trigger = memcmp(c->in, "POST /trigger ", 14) == 0;
    bool question = memcmp(c->in, "POST /beat ", 11) == 0 || memcmp(c->in, "POST /idleBeat ", 15) == 0;
    enum fake_manner manner;
    int status;
    const char *body;

    pthread_mutex_lock(&s->lock);
    manner = s->manner;
    status = trigger && s->trigger_body ? s->trigger_status : s->status;
    body = trigger && s->trigger_body ? s->trigger_body : s->body;
    if (question)
        fake_note_question(s, c, len, &manner, &status, &body);
    else
        fake_note(s, c, len);
    pthread_mutex_unlock(&s->lock);
    memmove(c->in, c->in + len, c->len - len);
    c->len -= len;
    c->requests++;
    if (!question)
        atomic_fetch_add(&s->arrivals, 1);
    switch (manner) {
    case FAKE_ANSWER: fake_answer(c, status, body); return true;
    case FAKE_SILENT: c->waits = true; return true;
    case FAKE_CLOSE_SECOND:
        if (c->requests < 2) {
            fake_answer(c, status, body);
            return true;
        }
        break;
    case FAKE_HALF: fake_send(c, "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"code\":200", 52); break;
    case FAKE_RAW: fake_send(c, body, strlen(body)); break;
    case FAKE_RAW_KEEP: fake_send(c, body, strlen(body)); return true;
    case FAKE_DRIP:
        for (; *body; body++)
            fake_send(c, body, 1);
        return true;
    case FAKE_HALF_RESET: fake_send(c, "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"code\":200", 52); break;
    case FAKE_ANSWER_CLOSE: fake_answer(c, status, body); break;
    case FAKE_ANSWER_TWICE:
        fake_answer(c, status, body);
        c->waits = true;
        return true;
    case FAKE_DEAF:
    case FAKE_EARLY: /* as their requests come in, see fake_read */
    case FAKE_RESET:
    case FAKE_CLOSE: break;
    }
    if (manner == FAKE_RESET || manner == FAKE_HALF_RESET)
        fake_reset(s, c);
    else
        fake_close(s, c);
    return false;
}

static inline void fake_read(struct fake_server *s, struct fake_conn *c)
{
    ssize_t n;
    size_t len;
    enum fake_manner manner;

    pthread_mutex_lock(&s->lock);
    manner = s->manner;
    pthread_mutex_unlock(&s->lock);
    if (manner == FAKE_DEAF || c->deaf) {
        c->deaf = c->deaf || manner == FAKE_DEAF;
        epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
        return;
    }
    if (c->cap - c->len < 65536) {
        c->cap = c->cap * 2 + 65537;
        c->in = realloc(c->in, c->cap);
    }
    n = recv(c->fd, c->in + c->len, c->cap - c->len - 1, MSG_DONTWAIT);
    if (n <= 0) {
        fake_close(s, c);
        return;
    }
    c->len += (size_t)n;
    c->in[c->len] = '\0';
    if (manner == FAKE_EARLY && strstr(c->in, "\r\n\r\n")) {
        atomic_fetch_add(&s->arrivals, 1);
        fake_answer(c, 413, "");
        epoll_ctl(s->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
        return;
    }
    while ((len = fake_measure(c)) > 0)
        if (!fake_serve(s, c, len))
            return;
}

static inline void fake_accept(struct fake_server *s, int port_index)
{
    int one = 1, fd = accept4(s->listeners[port_index], NULL, NULL, SOCK_CLOEXEC);
    struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};

    if (fd < 0)
        return;
    assert(fd < FAKE_CONNS_MAX);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    s->conns[fd] = calloc(1, sizeof(struct fake_conn));
    s->conns[fd]->fd = fd;
    s->conns[fd]->port_index = port_index;
    atomic_fetch_add(&s->connections, 1);
    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &e);
}

static inline void fake_release_waiting(struct fake_server *s)
{
    for (int i = 0; i < FAKE_CONNS_MAX; i++) {
        struct fake_conn *c = s->conns[i];
        struct epoll_event e = {.events = EPOLLIN, .data.fd = i};

        if (c && c->deaf) {
            c->deaf = false;
            epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, i, &e);
        }
        if (!c || !c->waits)
            continue;
        c->waits = false;
        fake_answer(c, 200, "{\"code\":200}");
    }
}

static inline void fake_do_release(struct fake_server *s)
{
    if (atomic_load(&s->release) == FAKE_RELEASE_ANSWER) {
        fake_release_waiting(s);
        return;
    }
    for (int i = 0; i < FAKE_CONNS_MAX; i++)
        if (s->conns[i])
            fake_reset(s, s->conns[i]);
}

static inline void *fake_run(void *arg)
{
    struct fake_server *s = arg;
    struct epoll_event events[128];
    bool stop = false;

    while (!stop) {
        int n = epoll_wait(s->epoll_fd, events, 128, -1);
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd, listener = -1;
            uint64_t drained;
            if (fd == s->stop_fd) {
                (void)!read(fd, &drained, sizeof drained);
                stop = atomic_load(&s->release) == 0;
                if (!stop)
                    fake_do_release(s);
                atomic_store(&s->release, 0);
                continue;
            }
            for (int p = 0; p < s->port_count && listener < 0 && fd < s->listeners[s->port_count - 1] + 1; p++)
                listener = s->listeners[p] == fd ? p : -1;
            if (listener >= 0)
                fake_accept(s, listener);
            else if (s->conns[fd])
                fake_read(s, s->conns[fd]);
        }
    }
    for (int i = 0; i < FAKE_CONNS_MAX; i++)
        if (s->conns[i])
            fake_close(s, s->conns[i]);
    return NULL;
}

/* A port on which nobody listens: bound for the moment, then let go. */
static inline int fake_listen(bool listening, int *fd)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof a;

    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(*fd, (struct sockaddr *)&a, sizeof a) != 0 || (listening && listen(*fd, 1024) != 0) ||
        getsockname(*fd, (struct sockaddr *)&a, &len) != 0)
        abort();
    return ntohs(a.sin_port);
}

static inline struct fake_server *fake_server_start(int port_count)
{
    struct fake_server *s = calloc(1, sizeof *s);
    struct epoll_event e = {.events = EPOLLIN};

    pthread_mutex_init(&s->lock, NULL);
    s->status = 200;
    s->trigger_status = 200;
    s->body = "{\"code\":200}";
    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    s->stop_fd = e.data.fd = eventfd(0, EFD_CLOEXEC);
    epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->stop_fd, &e);
    for (s->port_count = 0; s->port_count < port_count; s->port_count++) {
        s->ports[s->port_count] = fake_listen(true, &s->listeners[s->port_count]);
        e.data.fd = s->listeners[s->port_count];
        epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, e.data.fd, &e);
    }
    pthread_create(&s->thread, NULL, fake_run, s);
    return s;
}

static inline void fake_server_set(struct fake_server *s, enum fake_manner manner, int status, const char *body)
{
    pthread_mutex_lock(&s->lock);
    s->manner = manner;
    s->status = status;
    s->body = body;
    pthread_mutex_unlock(&s->lock);
}

static inline void fake_server_set_trigger(struct fake_server *s, int status, const char *body)
{
    pthread_mutex_lock(&s->lock);
    s->trigger_status = status;
    s->trigger_body = body;
    pthread_mutex_unlock(&s->lock);
}

/* How one port answers /beat and /idleBeat, with status 200. */
static inline void fake_server_set_questions(struct fake_server *s, int port, enum fake_manner manner, const char *body)
{
    pthread_mutex_lock(&s->lock);
    s->questions[port].is_set = true;
    s->questions[port].manner = manner;
    s->questions[port].body = body;
    pthread_mutex_unlock(&s->lock);
}

static inline long fake_server_questions(struct fake_server *s, int port)
{
    long count;

    pthread_mutex_lock(&s->lock);
    count = s->questions[port].count;
    pthread_mutex_unlock(&s->lock);
    return count;
}

static inline void fake_server_ask(struct fake_server *s, long what)
{
    uint64_t one = 1;

    atomic_store(&s->release, what);
    (void)!write(s->stop_fd, &one, sizeof one);
}

/* Answers what was left without answer so far; reads what was not read. */
static inline void fake_server_release(struct fake_server *s)
{
    fake_server_ask(s, FAKE_RELEASE_ANSWER);
}

/* Resets all connections. */
static inline void fake_server_reset(struct fake_server *s)
{
    fake_server_ask(s, FAKE_RELEASE_RESET);
}

static inline void fake_server_url(const struct fake_server *s, int port_index, const char *tail, char out[64])
{
    snprintf(out, 64, "http://127.0.0.1:%d%s", s->ports[port_index], tail);
}

static inline long fake_server_arrivals(struct fake_server *s)
{
    return atomic_load(&s->arrivals);
}

/* strstr in the last request that came. */
static inline const char *fake_server_find(struct fake_server *s, const char *part)
{
    const char *found;

    pthread_mutex_lock(&s->lock);
    found = strstr(s->last_request, part);
    pthread_mutex_unlock(&s->lock);
    return found;
}

static inline void fake_server_stop(struct fake_server *s)
{
    uint64_t one = 1;

    (void)!write(s->stop_fd, &one, sizeof one);
    pthread_join(s->thread, NULL);
    for (int i = 0; i < s->port_count; i++)
        close(s->listeners[i]);
    close(s->epoll_fd);
    close(s->stop_fd);
    pthread_mutex_destroy(&s->lock);
    free(s->seen);
    free(s);
}

#endif
