/* SPDX-License-Identifier: MIT */
/*
 * post: one event to one webhook.
 *
 * Threads     That of the HTTP client.
 * Ownership   A target is shared by its posts; a post is the client's until `done`, which may destroy it.
 */
#ifndef EVENTS_POST_H
#define EVENTS_POST_H

#include "shardwheel/events.h"
#include "shardwheel/executor/http_client.h"

/* Where a webhook's events go. */
struct hook_target {
    char *url;
    struct http_peer *peer;
    char *path;
};
MUST_CHECK enum err hook_target_create(struct http_client *http, const char *url, struct hook_target **out,
                                       struct errctx *ec);
void hook_target_destroy(struct http_client *http, struct hook_target *target); /* no post is under way; NULL is fine */

struct event_post {
    struct buf body, headers;
    void (*done)(void *arg, struct event_post *post);
    void *arg;
    /* Filled in when it is done. */
    bool aborted;
    bool sent;
    bool away;
    int status;
    char error[300]; /* "": sent */
};
/* Of an event, whose body is there already. */
void event_post_put_headers(struct event_post *post, const char *event, int64_t id, const char *secret);
/* False: out of memory, `done` is not called. */
bool event_post_start(struct event_post *post, struct http_client *http, const struct hook_target *target,
                      const struct http_tls *tls);
void event_post_fini(struct event_post *post);

#endif
