/* SPDX-License-Identifier: MIT */
/*
 * http_client: sends POSTs over kept-alive connections, many at a time, driven by the owner's loop.
 *
 * Threads     One owner. http_client_wake alone may be called by any thread, as long as the client exists.
 * Invariants  A request is written at most once: where a connection dies after the first byte was written, the request
 *             ends as HTTP_CLOSED and is not sent again; where a kept-alive one turns out to be closed before that, a
 *             new connection is made. may_send is asked right before each try to write the first byte, and of one try
 *             at most can bytes have come. done is called exactly once for each request that was started, from within
 *             turn or abort. One request at a time on a connection.
 * Ownership   Path and headers are copied where that is needed; the body must stay until done. The answer belongs to
 *             the client and is gone when done returns. Requests may be started from within done, not from within
 *             may_send.
 * Limits      No redirects, no proxy, no Expect header, HTTP/1.1 only, answers of at most HTTP_ANSWER_MAX bytes. How
 *             many connections a peer has is bounded by what its user has under way or warms. Connections idle for a
 *             minute are closed (executors close theirs after 75 s or more), and not used any more a second before a
 *             Keep-Alive field of the peer says that it does.
 * Plain peers http:// with a numeric IP is spoken here. https, host names and uncommon forms go through libcurl
 *             (curl_client.h). A request whose name is being looked up waits for that until its
 *             time is over, and is then not written.
 */
#ifndef SHARDWHEEL_EXECUTOR_HTTP_CLIENT_H
#define SHARDWHEEL_EXECUTOR_HTTP_CLIENT_H

#include "shardwheel/executor/access.h"

#define HTTP_ANSWER_MAX ((size_t)1024 * 1024)

struct executor_networks;
struct http_client;
struct resolver;
struct http_peer; /* one address in one client, with its connections */

enum http_outcome {
    HTTP_ANSWERED,   /* status and body are there */
    HTTP_REFUSED,    /* may_send said no: nothing was written */
    HTTP_UNREACHED,  /* no connection came about: nothing was written */
    HTTP_TIMEOUT,    /* written, but no whole answer in time */
    HTTP_CLOSED,     /* written, but the connection ended without a whole answer */
    HTTP_BAD_ANSWER, /* what came is no HTTP, or too long */
    HTTP_ABORTED,    /* http_client_abort */
};

struct http_answer {
    enum http_outcome outcome;
    bool written; /* the peer may have the request, or a part of it */
    int status;
    const char *body; /* ended by a NUL that len does not count */
    size_t len;
    bool cut; /* the body goes on: of one beyond HTTP_ANSWER_MAX its start alone is here, as takes_start asked for */
    const char *reason; /* where not HTTP_ANSWERED: without numbers that differ from one request to the next */
};

struct http_request {
    struct http_peer *peer;
    const char *path;    /* behind the peer's address */
    const char *headers; /* lines "Name: value\r\n" */
    size_t headers_len;
    const char *body;
    size_t body_len;
    const struct http_tls *tls;  /* looked at by http_client_start; NULL: verified against the system's */
    int64_t timeout_ms;          /* from the start to the whole answer */
    bool takes_start;            /* of an answer that is too long the start will do; its connection is closed then */
    bool (*may_send)(void *arg); /* NULL: always; a request that may come twice */
    void (*done)(void *arg, const struct http_answer *answer);
    void *arg;
};

/* The resolver outlives the client; NULL will do where every address is an IP. */
MUST_CHECK enum err http_client_create(const struct clock *clock, struct resolver *resolver, struct http_client **out,
                                       struct errctx *ec);
/* Which addresses may be connected to; a request to another ends as HTTP_UNREACHED. Before the first peer; they outlive
 * the client. Not called: the built-in rules of executor/networks.h. */
void http_client_set_networks(struct http_client *client, const struct executor_networks *networks);
void http_client_destroy(struct http_client *client); /* NULL is fine; aborts what is under way, without done */
/* `address`: what a URL begins with; one slash at its end is left away. Nonsense is found out by the first request. */
MUST_CHECK enum err http_client_add_peer(struct http_client *client, const char *address, struct http_peer **out);
/* Closes its connections; none of its requests is under way. All must be dropped before the client is destroyed. */
void http_client_drop_peer(struct http_client *client, struct http_peer *peer);
/* Opens connections ahead until the peer has `count`; only so many open at a time in the client, further ones are left
 * out. What fails is found out by the next request. */
void http_client_warm_peer(struct http_client *client, struct http_peer *peer, size_t count);
/* Writes at once where a connection is free. On an error done is not called. */
MUST_CHECK enum err http_client_start(struct http_client *client, const struct http_request *request);
size_t http_client_count(const struct http_client *client); /* requests under way */
/* Waits for network events, a wake-up or the time, whichever is first, and handles what came. */
void http_client_turn(struct http_client *client, int64_t wait_us);
void http_client_wake(struct http_client *client);
void http_client_abort(struct http_client *client); /* ends every request under way as HTTP_ABORTED */

#endif
