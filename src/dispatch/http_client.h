/* SPDX-License-Identifier: MIT */
/*
 * http_client: sends POSTs over kept-alive connections, many at a time, driven by the owner's loop.
 *
 * Threads     One owner. http_client_wake alone may be called by any thread, as long as the client exists.
 * Invariants  A request is written to a socket at most once: where a connection that was kept alive dies without an answer, the
 *             request ends as HTTP_CLOSED and is not sent again. may_send is asked right before that one write. done is
 *             called exactly once for each request that was started, from within turn or abort.
 * Ownership   URL and headers are copied; the body must stay until done. The answer belongs to the client and is gone when
 *             done returns. Requests may be started from within done, not from within may_send.
 * Limits      No redirects, no proxy, no Expect header, HTTP/1.1 only, answers of at most HTTP_ANSWER_MAX bytes. Connections
 *             idle for a minute are not used again (executors close theirs after 75 s or more). Any TLS certificate is taken, as by the
 *             clients that executors are used to.
 */
#ifndef DISPATCH_HTTP_CLIENT_H
#define DISPATCH_HTTP_CLIENT_H

#include "shardwheel/base.h"

#define HTTP_ANSWER_MAX ((size_t)1024 * 1024)

struct http_client;

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
    bool written; /* may_send had said yes: the peer may have the request */
    int status;
    const char *body; /* ended by a NUL that len does not count */
    size_t len;
    const char *reason; /* where not HTTP_ANSWERED: without numbers that differ from one request to the next */
};

struct http_request {
    const char *url;
    uint64_t home;       /* requests of one host have one home; spreads hosts over the pools of connections */
    const char *headers; /* lines "Name: value", each ended by a NUL; headers_len counts all of them */
    size_t headers_len;
    const char *body;
    size_t body_len;
    int64_t timeout_ms; /* from the start to the whole answer */
    bool (*may_send)(void *arg);
    void (*done)(void *arg, const struct http_answer *answer);
    void *arg;
};

MUST_CHECK enum err http_client_create(const struct clock *clock, struct http_client **out, struct errctx *ec);
void http_client_destroy(struct http_client *client); /* NULL is fine; aborts what is under way, without done */
/* On an error done is not called. */
MUST_CHECK enum err http_client_start(struct http_client *client, const struct http_request *request);
size_t http_client_count(const struct http_client *client); /* requests under way */
/* Waits for network events, a wake-up or the time, whichever is first, and handles what came. */
void http_client_turn(struct http_client *client, int64_t wait_us);
void http_client_wake(struct http_client *client);
void http_client_abort(struct http_client *client); /* ends every request under way as HTTP_ABORTED */

#endif
