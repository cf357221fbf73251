/* SPDX-License-Identifier: MIT */
/*
 * http_conn: the connections of an http_client, and the lists that they are in; private to http_client.c and
 * http_exchange.c.
 *
 * Threads     Those of http_client.
 * Invariants  A connection is in one list of the client, but for the moment of its making. One without a request that
 *             is open or opens is free: in the list of its peer, too.
 */
#ifndef EXECUTOR_HTTP_CONN_H
#define EXECUTOR_HTTP_CONN_H

#include <sys/queue.h>

#include "executor/curl_client.h"
#include "shardwheel/executor/http_client.h"
#include "shardwheel/executor/networks.h"
#include "executor/plain_address.h"
#include "executor/http_reader.h"
#include "executor/poller.h"

#define CONN_FORBIDDEN (-1) /* of conn_open, beside errnos */
#define HTTP_READ_SIZE ((size_t)16 * 1024)

enum conn_state {
    CONN_OPENING, /* with or without a request */
    CONN_IDLE,
    CONN_WRITING, /* of its request some is not written */
    CONN_READING,
    CONN_ENDED, /* the end of its request is not told yet */
};

TAILQ_HEAD(conn_list, conn);

struct conn {
    struct http_peer *peer;
    struct conn_list *list; /* of the client, by the time at which something is up; all are in one */
    TAILQ_ENTRY(conn) in_list;
    TAILQ_ENTRY(conn) in_free; /* of the peer, while it has no request */
    int fd;                    /* -1: none */
    uint32_t tag;              /* tells the events of this descriptor from those of an earlier one of its number */
    enum conn_state state;
    bool has_request;
    bool kept; /* was idle before */
    int64_t deadline_mono_ms;
    int64_t use_until_mono_ms; /* a request that is written later might cross the peer's closing */
    struct http_request request;
    size_t sent;     /* bytes of head and body */
    struct buf head; /* of the request; empty where it could be written at once */
    struct buf in;   /* what came; empty until an answer comes in pieces */
    struct http_reader reader;
    enum http_outcome outcome; /* once ended */
    const char *reason;
};

struct http_peer {
    TAILQ_ENTRY(http_peer) in_peers;
    char *address;
    bool plain;
    struct curl_peer curl;
    /* Of a plain one: */
    struct plain_address where; /* points into address */
    bool forbidden;             /* see executor/networks.h */
    struct conn_list free;      /* idle ones first, last used first; then those that open without a request */
    size_t conn_count;
    bool is_impatient; /* it has said that it closes idle connections early */
};

struct http_client {
    const struct clock *clock;
    struct resolver *resolver;
    const struct executor_networks *networks; /* may be NULL */
    struct poller *poller;
    struct curl_client *curl; /* NULL until the first peer needs it */
    TAILQ_HEAD(, http_peer) peers;
    struct conn **conns; /* by descriptor */
    size_t conns_size;
    uint32_t last_tag;
    struct conn_list deadlines; /* requests under way and connections that open, soonest first */
    struct conn_list idle;      /* the first to be closed first */
    struct conn_list ended;
    size_t busy;    /* connections with a request */
    size_t opening; /* connections that open without a request */
    uint64_t peer_count;
    struct buf head;             /* of the request being written */
    char in[HTTP_READ_SIZE + 1]; /* one for a NUL */
};

struct conn *conn_create(struct http_peer *peer); /* in no list yet; NULL when out of memory */
void conn_destroy(struct http_client *c, struct conn *conn);
int conn_open(struct http_client *c, struct conn *conn); /* 0, an errno, or CONN_FORBIDDEN */
void conn_close(struct http_client *c, struct conn *conn);
void conn_put_in_list(struct conn *conn, struct conn_list *list); /* at its end; out of the one it was in */
void conn_set_deadline(struct http_client *c, struct conn *conn, int64_t deadline_mono_ms);
void conn_make_idle(struct http_client *c, struct conn *conn);
void conn_add_opening(struct http_client *c, struct conn *conn); /* one without a request */
void conn_take(struct http_client *c, struct conn *conn);        /* out of the peer's free ones */

#endif
