/* SPDX-License-Identifier: MIT */
/*
 * test_proxy: stands between a store and its server and, when told so, breaks the connection at the next COMMIT.
 *
 * Threads     One of its own forwards bytes; mode may be set by any.
 */
#ifndef SHARDWHEEL_TESTS_STORE_TEST_PROXY_H
#define SHARDWHEEL_TESTS_STORE_TEST_PROXY_H

#include "store/test_db.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

enum test_proxy_mode {
    PROXY_PASS,
    PROXY_LOSE_COMMIT, /* the server never sees it */
    PROXY_LOSE_ANSWER, /* the server commits, the client never hears of it */
};

#define PROXY_PAIRS 16

struct test_proxy {
    struct thread thread;
    char path[128];
    int listen_fd;
    int pair[PROXY_PAIRS][2]; /* client, server; -1 */
    _Atomic int mode;         /* goes back to PROXY_PASS once it happened */
    _Atomic bool stop;
};

static inline int test_proxy_connect(void)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(to.sun_path, sizeof to.sun_path, "%.100s", test_db.socket);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0)
        abort();
    return fd;
}

static inline void test_proxy_close(int pair[2])
{
    for (int side = 0; side < 2; side++) {
        if (pair[side] >= 0)
            close(pair[side]);
        pair[side] = -1;
    }
}

static inline void test_proxy_send(int fd, const char *data, ssize_t len)
{
    while (len > 0) {
        ssize_t n = send(fd, data, (size_t)len, MSG_NOSIGNAL);
        if (n <= 0)
            return; /* the other side is gone: its end shows in poll */
        data += n;
        len -= n;
    }
}

/* What one side has to say goes to the other. */
static inline void test_proxy_forward(struct test_proxy *p, int pair[2], int side)
{
    char data[65536];
    ssize_t n = read(pair[side], data, sizeof data);
    int mode = atomic_load(&p->mode);

    if (n <= 0) {
        test_proxy_close(pair);
        return;
    }
    /* A packet of its own: length 7, number 0, command "query". */
    bool cut = side == 0 && mode != PROXY_PASS && n == 11 && memcmp(data, "\7\0\0\0\3COMMIT", 11) == 0;
    if (!cut || mode == PROXY_LOSE_ANSWER)
        test_proxy_send(pair[1 - side], data, n);
    if (!cut)
        return;
    if (mode == PROXY_LOSE_ANSWER && read(pair[1], data, sizeof data) <= 0)
        abort();
    atomic_store(&p->mode, PROXY_PASS);
    test_proxy_close(pair);
}

static inline void test_proxy_run(void *arg)
{
    struct test_proxy *p = arg;

    while (!atomic_load(&p->stop)) {
        struct pollfd fds[1 + 2 * PROXY_PAIRS] = {{.fd = p->listen_fd, .events = POLLIN}};
        for (int i = 0; i < 2 * PROXY_PAIRS; i++)
            fds[1 + i] = (struct pollfd){.fd = p->pair[i / 2][i % 2], .events = POLLIN};
        if (poll(fds, ARRAY_LEN(fds), 20) <= 0)
            continue;
        for (int i = 0; i < 2 * PROXY_PAIRS; i++)
            if (fds[1 + i].revents && p->pair[i / 2][i % 2] >= 0)
                test_proxy_forward(p, p->pair[i / 2], i % 2);
        for (int i = 0; i < PROXY_PAIRS && fds[0].revents; i++)
            if (p->pair[i][0] < 0) {
                p->pair[i][0] = accept(p->listen_fd, NULL, NULL);
                p->pair[i][1] = test_proxy_connect();
                break;
            }
    }
}

static inline void test_proxy_start(struct test_proxy *p)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    memset(p, 0, sizeof *p);
    for (int i = 0; i < PROXY_PAIRS; i++)
        p->pair[i][0] = p->pair[i][1] = -1;
    snprintf(p->path, sizeof p->path, "%.80s/proxy", test_db.dir);
    snprintf(at.sun_path, sizeof at.sun_path, "%.100s", p->path);
    p->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(p->listen_fd >= 0);
    assert_int_equal(bind(p->listen_fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(p->listen_fd, PROXY_PAIRS), 0);
    assert_ok(thread_start(&p->thread, "proxy", test_proxy_run, p, ec));
}

static inline void test_proxy_stop(struct test_proxy *p)
{
    atomic_store(&p->stop, true);
    thread_join(&p->thread);
    for (int i = 0; i < PROXY_PAIRS; i++)
        test_proxy_close(p->pair[i]);
    close(p->listen_fd);
    unlink(p->path);
}

#endif
