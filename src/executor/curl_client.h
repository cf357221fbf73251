/* SPDX-License-Identifier: MIT */
/*
 * curl_client: the part of http_client that goes through libcurl: https, host names, and addresses of uncommon form. Its promises are
 * those of http_client.h; the owner is http_client.c, which shares its poller.
 *
 * Threads     One owner. libcurl looks host names up in threads of its own.
 */
#ifndef EXECUTOR_CURL_CLIENT_H
#define EXECUTOR_CURL_CLIENT_H

#include "shardwheel/executor/http_client.h"
#include "executor/poller.h"

#define CURL_CLIENT_TAGS 8 /* events with tags below it are this client's */

struct curl_client;

MUST_CHECK enum err curl_client_create(const struct clock *clock, struct poller *poller, struct curl_client **out,
                                       struct errctx *ec);
void curl_client_destroy(struct curl_client *c); /* NULL is fine; aborts what is under way, without done */
/* `home`: requests of one host have one; spreads hosts over the pools of connections. On an error done is not called. */
MUST_CHECK enum err curl_client_start(struct curl_client *c, const struct http_request *request, const char *url,
                                      uint64_t home);
size_t curl_client_count(const struct curl_client *c);
int64_t curl_client_shorten_wait_us(const struct curl_client *c, int64_t wait_us);
void curl_client_handle(struct curl_client *c, const struct poller_event *event);
void curl_client_end_turn(struct curl_client *c); /* timers, and the ends of requests */
void curl_client_abort(struct curl_client *c);

#endif
