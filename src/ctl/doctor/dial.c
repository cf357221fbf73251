/* SPDX-License-Identifier: MIT */
#include "ctl/doctor/dial.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct dial {
    int fd;
    int64_t deadline_mono_ms;
    const struct clock *clock;
};

static enum err wait_for(struct dial *d, short what, struct errctx *ec)
{
    struct pollfd p = {.fd = d->fd, .events = what};
    int64_t left_ms = d->deadline_mono_ms - clock_mono_ms(d->clock);
    int n = left_ms > 0 ? poll(&p, 1, (int)left_ms) : 0;

    if (n < 0)
        return err_set(ec, ERR_IO, "poll: %s", strerror(errno));
    return n ? ERR_OK : err_set(ec, ERR_TIMEOUT, "no answer in time");
}

static enum err connect_to(struct dial *d, const struct addrinfo *to, struct errctx *ec)
{
    int error = 0;
    socklen_t len = sizeof error;
    enum err e;

    d->fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (d->fd < 0)
        return err_set(ec, ERR_IO, "socket: %s", strerror(errno));
    if (connect(d->fd, to->ai_addr, to->ai_addrlen) == 0)
        return ERR_OK;
    if (errno != EINPROGRESS)
        return err_set(ec, ERR_LOST, "%s", strerror(errno));
    e = wait_for(d, POLLOUT, ec);
    if (!e && (getsockopt(d->fd, SOL_SOCKET, SO_ERROR, &error, &len) != 0 || error))
        e = err_set(ec, ERR_LOST, "%s", strerror(error ? error : errno));
    return e;
}

static enum err send_all(struct dial *d, const char *request, struct errctx *ec)
{
    size_t left = strlen(request);
    enum err e = ERR_OK;

    while (!e && left) {
        ssize_t n = send(d->fd, request, left, MSG_NOSIGNAL);

        if (n >= 0) {
            request += n;
            left -= (size_t)n;
        } else if (errno == EAGAIN || errno == EINTR) {
            e = wait_for(d, POLLOUT, ec);
        } else {
            e = err_set(ec, ERR_LOST, "%s", strerror(errno));
        }
    }
    return e;
}

static enum err read_all(struct dial *d, struct buf *answer, struct errctx *ec)
{
    char piece[4096];

    while (answer->len < DIAL_ANSWER_MAX) {
        enum err e = wait_for(d, POLLIN, ec);
        ssize_t n = e ? 0 : recv(d->fd, piece, sizeof piece, 0);

        if (e)
            return e;
        if (n == 0)
            break;
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return err_set(ec, ERR_LOST, "%s", strerror(errno));
        if (n > 0)
            buf_append(answer, piece, (size_t)n);
    }
    buf_puts(answer, "");
    return buf_failed(answer) ? err_set(ec, ERR_NOMEM, "out of memory") : ERR_OK;
}

enum err dial_ask(const char *host, const char *port, const char *request, int wait_ms, const struct clock *clock,
                  struct buf *answer, struct errctx *ec)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct dial d = {.fd = -1, .deadline_mono_ms = clock_mono_ms(clock) + wait_ms, .clock = clock};
    struct addrinfo *list = NULL;
    int code = getaddrinfo(host, port, &hints, &list);
    enum err e = ERR_LOST;

    if (code)
        return err_set(ec, ERR_LOST, "%s: %s", host, gai_strerror(code));
    for (const struct addrinfo *to = list; to && e; to = to->ai_next) {
        if (d.fd >= 0)
            close(d.fd);
        e = connect_to(&d, to, ec);
    }
    freeaddrinfo(list);
    if (!e)
        e = send_all(&d, request, ec);
    if (!e)
        e = read_all(&d, answer, ec);
    if (d.fd >= 0)
        close(d.fd);
    return e;
}

bool dial_split(const char *text, size_t len, char host[280], char port[8])
{
    const char *end = text + len, *colon = memrchr(text, ':', len);
    bool is_v6 = len && *text == '[';
    const char *from = text + is_v6, *to = colon ? colon - is_v6 : NULL;

    if (!colon || to <= from || to - from >= 280 || end - colon < 2 || end - colon > 6 || (is_v6 && *to != ']'))
        return false;
    snprintf(host, 280, "%.*s", (int)(to - from), from);
    snprintf(port, 8, "%.*s", (int)(end - colon - 1), colon + 1);
    return true;
}

enum err dial_get(const char *url, const char *path, int wait_ms, const struct clock *clock, struct buf *body,
                  struct errctx *ec)
{
    static const char scheme[] = "http://";
    const char *at = url + strlen(scheme);
    char host[280], port[8], request[900];
    struct buf answer = {0};
    const char *end;
    enum err e;

    if (strncmp(url, scheme, strlen(scheme)) != 0 || !dial_split(at, strcspn(at, "/"), host, port))
        return err_set(ec, ERR_INPUT, "%.200s is not http://host:port", url);
    snprintf(request, sizeof request, "GET %.300s%.200s HTTP/1.0\r\nHost: %.*s\r\nConnection: close\r\n\r\n",
             at + strcspn(at, "/"), path, (int)strcspn(at, "/"), at);
    e = dial_ask(host, port, request, wait_ms, clock, &answer, ec);
    end = !e && answer.data ? strstr(answer.data, "\r\n\r\n") : NULL;
    if (!e && !end)
        e = err_set(ec, ERR_LOST, "what answers speaks no HTTP");
    if (!e)
        buf_puts(body, end + 4);
    buf_fini(&answer);
    return e;
}
