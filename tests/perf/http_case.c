/* SPDX-License-Identifier: MIT */
/* The client of the executors, against the smallest server that answers. */
#include "micro.h"

#include "shardwheel/executor/http_client.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum { IN_FLIGHT = 64, PORTS = 4, TIMEOUT_MS = 10000 };

struct http_state {
    struct http_client *client;
    pthread_t server;
    int epoll_fd, stop_fd;
    int listeners[PORTS];
    struct http_peer *peers[PORTS];
    size_t answered;
};

/* ---- the server: a request ends with its body's brace, and there is one at a time on a connection ---------------- */

static void serve(int fd)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 28\r\nConnection: keep-alive\r\n\r\n"
                                 "{\"code\":200,\"msg\":\"Success\"}";
    char in[8192];
    ssize_t n = recv(fd, in, sizeof(in), 0);

    if (n <= 0) {
        close(fd);
        return;
    }
    if (in[n - 1] != '}') /* the head by itself, or half a body */
        return;
    if (send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof(answer) - 1)
        micro_die("the answer could not be sent");
}

static void watch(struct http_state *s, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

    if (fd < 0 || epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
        micro_die("the server cannot watch a socket");
}

static bool is_listener(const struct http_state *s, int fd)
{
    for (int i = 0; i < PORTS; i++) {
        if (s->listeners[i] == fd)
            return true;
    }
    return false;
}

static void *run_server(void *arg)
{
    struct http_state *s = arg;
    struct epoll_event events[IN_FLIGHT];

    for (;;) {
        int n = epoll_wait(s->epoll_fd, events, IN_FLIGHT, -1);

        for (int i = 0; i < n; i++) {
            if (events[i].data.fd == s->stop_fd)
                return NULL;
            if (is_listener(s, events[i].data.fd))
                watch(s, accept4(events[i].data.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
            else
                serve(events[i].data.fd);
        }
    }
}

static void start_server(struct http_state *s)
{
    char url[64];

    s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    s->stop_fd = eventfd(0, EFD_CLOEXEC);
    watch(s, s->stop_fd);
    for (int i = 0; i < PORTS; i++) {
        struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof(addr);
        int on = 1;

        s->listeners[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(s->listeners[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        if (bind(s->listeners[i], (struct sockaddr *)&addr, len) < 0 || listen(s->listeners[i], 256) < 0 ||
            getsockname(s->listeners[i], (struct sockaddr *)&addr, &len) < 0)
            micro_die("the server cannot listen");
        watch(s, s->listeners[i]);
        snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(addr.sin_port));
        if (http_client_add_peer(s->client, url, &s->peers[i]))
            micro_die("no peer for %s", url);
    }
    if (pthread_create(&s->server, NULL, run_server, s))
        micro_die("no thread for the server");
}

/* ---- the client -------------------------------------------------------------------------------------------------- */

static bool may_send(void *arg)
{
    (void)arg;
    return true;
}

static void note_answer(void *arg, const struct http_answer *answer)
{
    struct http_state *s = arg;

    if (answer->outcome != HTTP_ANSWERED || answer->status != 200)
        micro_die("a request ended with outcome %d: %s", answer->outcome, answer->reason ? answer->reason : "-");
    s->answered++;
}

static void *http_make(void)
{
    struct http_state *s = calloc(1, sizeof(*s));
    struct errctx ec;

    if (!s || http_client_create(clock_system(), NULL, &s->client, &ec))
        micro_die("no client");
    start_server(s);
    return s;
}

static void http_run(void *state, size_t count)
{
    static const char headers[] =
        "Content-Type: application/json;charset=UTF-8\r\nXXL-JOB-ACCESS-TOKEN: default_token\r\n";
    static const char body[] =
        "{\"jobId\":7,\"executorHandler\":\"demoJobHandler\",\"executorParams\":\"\",\"executorBlockStrategy\":"
        "\"SERIAL_EXECUTION\",\"executorTimeout\":0,\"logId\":1234567,\"logDateTime\":1767225600000,"
        "\"glueType\":\"BEAN\",\"glueSource\":\"\",\"glueUpdatetime\":1541254891000,\"broadcastIndex\":0,"
        "\"broadcastTotal\":1}";
    struct http_state *s = state;
    size_t started = 0;

    s->answered = 0;
    while (s->answered < count) {
        while (started < count && started - s->answered < IN_FLIGHT) {
            struct http_request r = {.peer = s->peers[started % PORTS],
                                     .path = "/run",
                                     .headers = headers,
                                     .headers_len = sizeof(headers) - 1,
                                     .body = body,
                                     .body_len = sizeof(body) - 1,
                                     .timeout_ms = TIMEOUT_MS,
                                     .may_send = may_send,
                                     .done = note_answer,
                                     .arg = s};

            if (http_client_start(s->client, &r))
                micro_die("a request could not be started");
            started++;
        }
        http_client_turn(s->client, 100000);
    }
}

static void http_unmake(void *state)
{
    struct http_state *s = state;
    uint64_t one = 1;

    for (int i = 0; i < PORTS; i++)
        http_client_drop_peer(s->client, s->peers[i]);
    http_client_destroy(s->client);
    if (write(s->stop_fd, &one, sizeof(one)) != (ssize_t)sizeof(one))
        micro_die("the server cannot be stopped");
    pthread_join(s->server, NULL);
    for (int i = 0; i < PORTS; i++)
        close(s->listeners[i]);
    close(s->stop_fd);
    close(s->epoll_fd);
    free(s);
}

const struct micro_case http_case = {
    "http", "one POST and its answer, 64 under way, with the server", 5000, http_make, http_run, http_unmake};
