/* SPDX-License-Identifier: MIT */
#include "ctl/doctor/dial.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* What is left until the deadline is what the next call may take. */
static bool set_limit(int fd, int64_t deadline_mono_ms, const struct clock *clock)
{
    int64_t left_ms = deadline_mono_ms - clock_mono_ms(clock);
    struct timeval limit = {.tv_sec = left_ms / 1000, .tv_usec = left_ms % 1000 * 1000};

    errno = EAGAIN;
    return left_ms > 0 && setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) == 0 &&
           setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0;
}

static enum err fail(struct errctx *ec)
{
    if (errno == EAGAIN || errno == EINPROGRESS)
        return err_set(ec, ERR_TIMEOUT, "no answer in time");
    return err_set(ec, ERR_LOST, "%s", strerror(errno));
}

/* `tls` NULL: as it is. */
static enum err talk(int fd, struct tls *tls, const char *request, int64_t deadline_mono_ms, const struct clock *clock,
                     struct buf *answer, struct errctx *ec)
{
    char piece[TLS_RECORD];
    size_t len = strlen(request);
    ssize_t n = tls ? tls_write(tls, request, len) : send(fd, request, len, MSG_NOSIGNAL);

    while (n > 0 && answer->len < DIAL_ANSWER_MAX) {
        if (!set_limit(fd, deadline_mono_ms, clock))
            n = -1;
        else
            n = tls ? tls_read(tls, piece, sizeof piece) : recv(fd, piece, sizeof piece, 0);
        if (n > 0)
            buf_append(answer, piece, (size_t)n);
    }
    buf_puts(answer, "");
    if (n < 0 && tls && *tls_get_why(tls))
        return err_set(ec, ERR_LOST, "%s", tls_get_why(tls));
    return n < 0 ? fail(ec) : buf_failed(answer) ? err_set(ec, ERR_NOMEM, "out of memory") : ERR_OK;
}

/* `certificate` NULL: without TLS. */
static enum err ask(const char *host, const char *port, const char *request, int wait_ms, const struct clock *clock,
                    struct buf *answer, struct dial_certificate *certificate, struct errctx *ec)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    int64_t deadline_mono_ms = clock_mono_ms(clock) + wait_ms;
    struct tls *tls = NULL;
    struct addrinfo *list = NULL;
    int code = getaddrinfo(host, port, &hints, &list), fd = -1;
    enum err e = ERR_LOST;

    if (code)
        return err_set(ec, ERR_LOST, "%s: %s", host, gai_strerror(code));
    for (const struct addrinfo *to = list; to && e; to = to->ai_next) {
        if (fd >= 0)
            close(fd);
        fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        e = fd >= 0 && set_limit(fd, deadline_mono_ms, clock) && connect(fd, to->ai_addr, to->ai_addrlen) == 0
                ? ERR_OK
                : fail(ec);
    }
    freeaddrinfo(list);
    if (!e && certificate)
        e = tls_connect(fd, host, &tls, ec);
    if (tls)
        certificate->shown = tls_load_peer(tls, host, &certificate->facts, &certificate->names_host);
    if (!e)
        e = talk(fd, tls, request, deadline_mono_ms, clock, answer, ec);
    tls_destroy(tls);
    if (fd >= 0)
        close(fd);
    return e;
}

enum err dial_ask(const char *host, const char *port, const char *request, int wait_ms, const struct clock *clock,
                  struct buf *answer, struct errctx *ec)
{
    return ask(host, port, request, wait_ms, clock, answer, NULL, ec);
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
                  struct dial_certificate *certificate, struct errctx *ec)
{
    bool tls = strncmp(url, "https://", 8) == 0;
    const char *at = url + (tls ? 8 : 7);
    char host[280], port[8], request[900];
    struct buf answer = {0};
    const char *end;
    enum err e;

    *certificate = (struct dial_certificate){0};
    if ((!tls && strncmp(url, "http://", 7) != 0) || !dial_split(at, strcspn(at, "/"), host, port))
        return err_set(ec, ERR_INPUT, "%.200s is not http://host:port", url);
    snprintf(request, sizeof request, "GET %.300s%.200s HTTP/1.0\r\nHost: %.*s\r\nConnection: close\r\n\r\n",
             at + strcspn(at, "/"), path, (int)strcspn(at, "/"), at);
    e = ask(host, port, request, wait_ms, clock, &answer, tls ? certificate : NULL, ec);
    end = !e && answer.data ? strstr(answer.data, "\r\n\r\n") : NULL;
    if (!e && !end)
        e = err_set(ec, ERR_LOST, "the program that answers does not speak HTTP");
    if (!e)
        buf_puts(body, end + 4);
    buf_fini(&answer);
    return e;
}
