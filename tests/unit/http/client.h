/* SPDX-License-Identifier: MIT */
/* client: an HTTP client on a socket, plain or by TLS, for tests: bytes out, one answer in. */
#ifndef TEST_CLIENT_H
#define TEST_CLIENT_H

#include "shardwheel/base.h"
#include "shardwheel/http/tls.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct client {
    int fd;
    struct tls *tls; /* NULL: plain */
    struct buf in;   /* read and not yet used */
};

struct answer {
    int status;
    char head[4000];
    char *body; /* owned */
    size_t body_len;
    bool keep; /* Connection: keep-alive */
};

static inline bool client_open(struct client *k, int port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    int on = 1;
    struct timeval limit = {.tv_sec = 20};
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    *k = (struct client){.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    setsockopt(k->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(k->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    return !connect(k->fd, (struct sockaddr *)&to, sizeof(to));
}

static inline bool client_open_tls(struct client *k, int port)
{
    struct errctx ec;
    return client_open(k, port) && tls_connect(k->fd, "127.0.0.1", &k->tls, &ec) == ERR_OK;
}

static inline void client_close(struct client *k)
{
    tls_destroy(k->tls);
    k->tls = NULL;
    if (k->fd >= 0)
        close(k->fd);
    buf_fini(&k->in);
    k->fd = -1;
}

static inline bool client_send(struct client *k, const void *data, size_t len)
{
    const char *p = data;
    while (len) {
        ssize_t n = k->tls ? tls_write(k->tls, p, len) : send(k->fd, p, len, MSG_NOSIGNAL);
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

static inline bool client_fill(struct client *k)
{
    char piece[16384];
    ssize_t n = k->tls ? tls_read(k->tls, piece, sizeof(piece)) : recv(k->fd, piece, sizeof(piece), 0);
    if (n <= 0)
        return false;
    buf_append(&k->in, piece, (size_t)n);
    return true;
}

static inline const char *find_header(const char *head, const char *name)
{
    size_t len = strlen(name);
    for (const char *line = strstr(head, "\r\n"); line; line = strstr(line, "\r\n")) {
        line += 2;
        if (!strncasecmp(line, name, len) && line[len] == ':')
            return line + len + 1 + strspn(line + len + 1, " ");
    }
    return NULL;
}

/* One answer, read by Content-Length; false when the connection ends before it is whole. Skips a 100 Continue. */
static inline bool client_read(struct client *k, bool has_body, struct answer *a)
{
    memset(a, 0, sizeof(*a));
    for (;;) {
        char *end = k->in.len ? memmem(k->in.data, k->in.len, "\r\n\r\n", 4) : NULL;
        size_t head_len = end ? (size_t)(end - k->in.data) + 4 : 0;
        if (!end) {
            if (!client_fill(k))
                return false;
            continue;
        }
        snprintf(a->head, sizeof(a->head), "%.*s", (int)head_len, k->in.data);
        a->status = atoi(a->head + 9);
        const char *length = find_header(a->head, "Content-Length"), *keep = find_header(a->head, "Connection");
        a->body_len = length && has_body ? (size_t)atol(length) : 0;
        a->keep = keep && !strncasecmp(keep, "keep-alive", 10);
        if (k->in.len < head_len + a->body_len) {
            if (!client_fill(k))
                return false;
            continue;
        }
        a->body = strndup(k->in.data + head_len, a->body_len);
        size_t used = head_len + a->body_len;
        memmove(k->in.data, k->in.data + used, k->in.len - used + 1);
        k->in.len -= used;
        if (a->status != 100)
            return true;
        free(a->body);
    }
}

/* A POST as a Java executor sends it; more header lines end with \r\n each. */
static inline void write_post(struct buf *out, const char *path, const char *headers, const char *body, size_t len)
{
    buf_printf(out,
               "POST %s HTTP/1.1\r\nContent-Type: application/json;charset=UTF-8\r\n%sHost: x\r\n"
               "Connection: keep-alive\r\nContent-Length: %zu\r\n\r\n",
               path, headers, len);
    buf_append(out, body, len);
}

static inline bool client_post(struct client *k, const char *path, const char *headers, const char *body, size_t len,
                               struct answer *a)
{
    struct buf out = {0};
    write_post(&out, path, headers, body, len);
    bool ok = client_send(k, out.data, out.len) && client_read(k, true, a);
    buf_fini(&out);
    return ok;
}

#endif
