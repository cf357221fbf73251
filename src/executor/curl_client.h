/* SPDX-License-Identifier: MIT */
/*
 * curl_client: the part of http_client that goes through libcurl: https, host names, and addresses of uncommon form.
 * Its promises are those of http_client.h; the owner is http_client.c, which shares its poller.
 *
 * Threads     One owner. libcurl looks no host name up: it would do so in a thread for each request, however long that
 *             hangs.
 */
#ifndef EXECUTOR_CURL_CLIENT_H
#define EXECUTOR_CURL_CLIENT_H

#include "shardwheel/executor/http_client.h"
#include "executor/poller.h"
#include "shardwheel/resolver.h"

#define CURL_CLIENT_TAGS 8 /* events with tags below it are this client's */

struct curl_client;

/* What it knows of a peer, which keeps it. All zero at first but home and idle_s. */
struct curl_peer {
    uint64_t home; /* requests of one host have one; spreads hosts over the pools of connections */
    enum { CURL_HOST_UNKNOWN, CURL_HOST_IP, CURL_HOST_NAME, CURL_HOST_NONE } kind;
    char *host; /* a name that is to be looked up */
    int port;
    int idle_s; /* how long it keeps an idle connection, as its last answer said */
};
void curl_peer_fini(struct curl_peer *peer);

/* `networks`: which addresses may be connected to; NULL: the built-in rules. All of it outlives the client. */
MUST_CHECK enum err curl_client_create(const struct clock *clock, struct resolver *resolver,
                                       const struct executor_networks *networks, struct poller *poller,
                                       struct curl_client **out, struct errctx *ec);
void curl_client_destroy(struct curl_client *c); /* NULL is fine; aborts what is under way, without done */
/* On an error done is not called. The peer must stay until done. */
MUST_CHECK enum err curl_client_start(struct curl_client *c, const struct http_request *request, const char *url,
                                      struct curl_peer *peer);
size_t curl_client_count(const struct curl_client *c);
int64_t curl_client_shorten_wait_us(const struct curl_client *c, int64_t wait_us);
void curl_client_handle(struct curl_client *c, const struct poller_event *event);
void curl_client_end_turn(struct curl_client *c); /* timers, look-ups, and the ends of requests */
void curl_client_abort(struct curl_client *c);

#endif
