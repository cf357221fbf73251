/* SPDX-License-Identifier: MIT */
/*
 * curl_call: one request as libcurl has it: what is asked, of whom, what libcurl may do on the way, and what came of
 * it. The one file of this area that includes libcurl; curl_client.c has many of them under way.
 *
 * Threads     One owner.
 * Invariants  libcurl repeats a request by itself when a connection that it had kept alive ends before any byte of an
 *             answer. Its pre-request callback runs before every write of a request head, so the second call for one
 *             request is that repeat: it is refused.
 */
#ifndef EXECUTOR_CURL_CALL_H
#define EXECUTOR_CURL_CALL_H

#include <curl/curl.h>
#include <sys/queue.h>

#include "executor/curl_client.h"
#include "shardwheel/executor/http_client.h"

struct pool;

/* What the connections of libcurl are opened and closed with. */
struct curl_sockets {
    struct poller *poller;
    const struct executor_networks *networks; /* may be NULL */
};

struct curl_call {
    TAILQ_ENTRY(curl_call) in_list; /* its owner's, as the next two */
    struct pool *pool;
    int64_t deadline_mono_ms;
    const struct curl_sockets *sockets;
    CURL *easy;
    struct curl_slist *headers;
    struct curl_slist *addresses; /* of its host */
    struct curl_peer *peer;
    int idle_s;                  /* as its answer says */
    struct buf body;             /* of the answer */
    char error[CURL_ERROR_SIZE]; /* libcurl's own words */
    bool takes_start;
    bool too_long;
    unsigned writes; /* how often libcurl was about to write the request */
    bool refused;
    bool forbidden; /* one of the addresses of its host was not called */
    bool (*may_send)(void *arg);
    void (*done)(void *arg, const struct http_answer *answer);
    void *arg;
};

TAILQ_HEAD(call_list, curl_call);

/* Room for a reason that has words of libcurl or of the resolver. */
struct curl_reason {
    char text[RESOLVER_TEXT_MAX + 40];
};

struct curl_call *curl_call_create(const struct curl_sockets *sockets); /* which stay; NULL when out of memory */
void curl_call_destroy(struct curl_call *call);                         /* NULL is fine */
/* After a request, for the next one. False: it holds too much memory to be kept. */
bool curl_call_clear(struct curl_call *call);
/* Its peer is set. The body stays the request's. */
bool curl_call_set_request(struct curl_call *call, const struct http_request *request, const char *url);
/* `addresses` of the host, where it is a name; else NULL. False when out of memory, as above. */
bool curl_call_set_way(struct curl_call *call, const char *addresses, int64_t timeout_ms);
/* The reason may be in `buf`, the body is the call's. */
void curl_call_get_answer(struct curl_call *call, CURLcode result, struct curl_reason *buf, struct http_answer *out);

/* What libcurl will take for the host of the URL. */
MUST_CHECK enum err curl_peer_learn(struct curl_peer *peer, const char *url);

#endif
