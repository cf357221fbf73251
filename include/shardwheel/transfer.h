/* SPDX-License-Identifier: MIT */
/*
 * transfer: one transfer by libcurl that its thread waits for. Here is what all of them have in common, of HTTP and of
 * SMTP: whom libcurl may call, for how long, which certificates it takes, how long an answer may be. Part of base.
 *
 * Threads     One owner. `stopped` may be set by any: the look-up of a name ends within half a second then, and what
 *             follows within about a second.
 * Rules       No redirect is followed, and no proxy or .netrc used. libcurl looks no name up: it would wait for that
 *             however long it takes.
 */
#ifndef SHARDWHEEL_TRANSFER_H
#define SHARDWHEEL_TRANSFER_H

#include <curl/curl.h>

#include "shardwheel/resolver.h"

/* What libcurl will take for the host of a URL. */
struct transfer_host {
    char *scheme, *name; /* in lower case; an IP of version 6 in brackets */
    int port;
    bool is_ip;
};
/* ERR_INPUT: it is no URL, or of a scheme without a port; ERR_NOMEM. */
MUST_CHECK enum err transfer_learn_host(const char *url, struct transfer_host *out);
void transfer_host_fini(struct transfer_host *host);

/* Lives as long as its `easy`, since libcurl ends connections that it has kept with the options of the last call. */
struct transfer {
    CURL *easy; /* [thread] as all below; its owner sets what is sent before transfer_run, which sets all else */
    const struct transfer_host *host;
    const char *url;
    const char *protocols; /* as libcurl has them: "http,https" */
    struct resolver *resolver;
    const struct clock *clock;
    const _Atomic bool *stopped; /* what it points to: [atomic] relaxed: nothing else is told by it */
    const char *ca;              /* a PEM file; "": the system's */
    bool verify;                 /* the certificate */
    struct buf *answer;          /* that what comes is appended to */
    size_t answer_max;           /* where it is longer, it ends there */

    struct curl_slist *addresses; /* of the host, from transfer_find on */
    bool too_long;                /* out, as all below: the answer was cut, and that is no failure */
    int status;
    char reason[CURL_ERROR_SIZE]; /* what went wrong */
};
/* The addresses of the host, of those that may be called (NULL: all), within wait_ms. ERR_LOST says why there is none.
 */
MUST_CHECK enum err transfer_find(struct transfer *t, bool (*may_call)(const char *ip), int64_t wait_ms,
                                  struct errctx *ec);
CURLcode transfer_run(struct transfer *t, int64_t timeout_ms);
void transfer_fini(struct transfer *t); /* `easy` stays its owner's */

#endif
