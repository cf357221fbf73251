/* SPDX-License-Identifier: MIT */
#include "executor/http_conn.h"

#include <assert.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WARM_MS (5 * INT64_C(1000)) /* for a connection that is opened ahead */

void conn_put_in_list(struct conn *conn, struct conn_list *list)
{
    if (conn->list)
        TAILQ_REMOVE(conn->list, conn, in_list);
    conn->list = list;
    if (list)
        TAILQ_INSERT_TAIL(list, conn, in_list);
}

/* Nearly always at the end, for most deadlines are as far away as the one before. */
void conn_set_deadline(struct http_client *c, struct conn *conn, int64_t deadline_mono_ms)
{
    struct conn *before;

    conn->deadline_mono_ms = deadline_mono_ms;
    conn_put_in_list(conn, NULL);
    conn->list = &c->deadlines;
    before = TAILQ_LAST(&c->deadlines, conn_list);
    while (before && before->deadline_mono_ms > deadline_mono_ms)
        before = TAILQ_PREV(before, conn_list, in_list);
    if (before)
        TAILQ_INSERT_AFTER(&c->deadlines, before, conn, in_list);
    else
        TAILQ_INSERT_HEAD(&c->deadlines, conn, in_list);
}

static bool conn_is_free(const struct conn *conn)
{
    return !conn->has_request && (conn->state == CONN_IDLE || conn->state == CONN_OPENING);
}

void conn_close(struct http_client *c, struct conn *conn)
{
    if (conn->fd < 0)
        return;
    c->conns[conn->fd] = NULL;
    poller_forget(c->poller, conn->fd);
    close(conn->fd);
    conn->fd = -1;
}

void conn_take(struct http_client *c, struct conn *conn)
{
    assert(conn_is_free(conn));
    TAILQ_REMOVE(&conn->peer->free, conn, in_free);
    if (conn->state == CONN_OPENING)
        c->opening--;
}

void conn_destroy(struct http_client *c, struct conn *conn)
{
    if (conn_is_free(conn))
        conn_take(c, conn);
    conn_put_in_list(conn, NULL);
    conn_close(c, conn);
    conn->peer->conn_count--;
    buf_fini(&conn->head);
    buf_fini(&conn->in);
    free(conn);
}

/* Every one stays for as long, so that a new one is the list's last. One that may not be used any more is left out when
 * somebody looks for one, and is mostly gone before, since its peer closes it. */
void conn_make_idle(struct http_client *c, struct conn *conn)
{
    conn->state = CONN_IDLE;
    conn->has_request = false;
    conn->kept = true;
    buf_fini(&conn->head); /* of a request that was refused when the connection stood */
    conn->deadline_mono_ms = clock_mono_ms(c->clock) + HTTP_IDLE_MAX_S * INT64_C(1000);
    conn_put_in_list(conn, &c->idle);
    TAILQ_INSERT_HEAD(&conn->peer->free, conn, in_free);
}

static bool note_fd(struct http_client *c, int fd, struct conn *conn)
{
    if ((size_t)fd >= c->conns_size) {
        size_t size = c->conns_size ? c->conns_size : 64;
        struct conn **grown;

        while (size <= (size_t)fd)
            size *= 2;
        grown = realloc(c->conns, size * sizeof(struct conn *));
        if (!grown)
            return false;
        memset(grown + c->conns_size, 0, (size - c->conns_size) * sizeof(struct conn *));
        c->conns = grown;
        c->conns_size = size;
    }
    c->conns[fd] = conn;
    return true;
}

int conn_open(struct http_client *c, struct conn *conn)
{
    const struct plain_address *to = &conn->peer->where;
    int one = 1, error = 0;

    conn->state = CONN_OPENING;
    conn->kept = false;
    if (conn->peer->forbidden)
        return CONN_FORBIDDEN;
    conn->use_until_mono_ms = clock_mono_ms(c->clock) + HTTP_IDLE_MAX_S * INT64_C(1000);
    conn->fd = socket(to->socket.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (conn->fd < 0)
        return errno;
    if (!note_fd(c, conn->fd, conn)) {
        close(conn->fd);
        conn->fd = -1;
        return ENOMEM;
    }
    setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(conn->fd, &to->socket.any, to->socket_len) != 0 && errno != EINPROGRESS) {
        error = errno;
        conn_close(c, conn);
        return error;
    }
    c->last_tag = c->last_tag == UINT32_MAX ? CURL_CLIENT_TAGS : c->last_tag + 1;
    conn->tag = c->last_tag;
    poller_want(c->poller, conn->fd, EPOLLOUT, conn->tag);
    return 0;
}

struct conn *conn_create(struct http_peer *peer)
{
    struct conn *conn = calloc(1, sizeof *conn);

    if (!conn)
        return NULL;
    conn->peer = peer;
    conn->fd = -1;
    peer->conn_count++;
    return conn;
}

void conn_add_opening(struct http_client *c, struct conn *conn)
{
    c->opening++;
    TAILQ_INSERT_TAIL(&conn->peer->free, conn, in_free);
    conn_set_deadline(c, conn, clock_mono_ms(c->clock) + WARM_MS);
}
