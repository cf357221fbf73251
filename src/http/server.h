/* SPDX-License-Identifier: MIT */
/*
 * server: what the files of http share: the server object and one function per group of endpoints.
 *
 * Threads     Workers of the front call all of this at once; what changes is guarded as tagged.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "http/executor/progress.h"
#include "http/front.h"
#include "http/message.h"
#include "shardwheel/counters.h"
#include "shardwheel/http.h"

struct web;

struct http {
    struct http_opts opts;           /* [const] bind and context_path are copies of ours */
    char *bind;                      /* [const] */
    char *context;                   /* [const] "" or "/..." without a slash at its end */
    struct networks *trusted;        /* [const] reverse proxies */
    char *login_cookie;              /* [const] see visitor_token_cookie */
    char *login_header;              /* [const] in which a proxy names the user; NULL: none does */
    struct networks *login_networks; /* [const] of those proxies */
    unsigned generation;             /* [const] of enum dialect: what the database's schema is of */
    const struct clock *clock;       /* [const] */
    struct counters *counters;       /* [const] */
    struct web *web;                 /* [const] the built console; NULL: there is none */
    struct front *front;             /* [const] after start */
    _Atomic bool stopping;           /* [atomic] set once in http_stop */
    struct progress progress;        /* [lock] its own */
    _Atomic int64_t job_calls_us;    /* [atomic] see job_calls_take */
    struct log_limit oidc_log;       /* [atomic] logins that were refused */
    struct log_limit denied_log, large_log, unread_log, malformed_log,
        vouched_log; /* [atomic] calls that were refused, by reason */
};

bool http_is_stopping(const struct http *h);

/* ---- tables.c ---------------------------------------------------------------------------------------------------- */

/* The head of a request is there, its body not yet: checks path, method and token. Either refuses (the answer is filled
 * in, and http_handle is not called) or says whose work the request is. Called by the front, which must not wait. */
enum http_lane http_admit(void *http, const struct http_request *head, size_t *max_body, struct http_response *r);
/* The console's lane has no room for the request: see front.h. */
void http_write_busy(void *http, const struct http_request *q, struct http_response *r);
/* The request is there as a whole, and was admitted. */
void http_handle(void *http, const struct http_request *q, struct http_response *r);

#endif
