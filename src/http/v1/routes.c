/* SPDX-License-Identifier: MIT */
/* The table of api/v1: who is let in. */
#include "http/v1/read.h"
#include "http/v1/write.h"

#define TOPIC_OF(name) &v1_##name,
static const struct v1_topic *const topics[] = {V1_TOPICS(TOPIC_OF)};
#undef TOPIC_OF

const struct v1_route *v1_get_route(size_t i)
{
    for (size_t t = 0; t < ARRAY_LEN(topics); t++) {
        if (i < topics[t]->count)
            return &topics[t]->routes[i];
        i -= topics[t]->count;
    }
    return NULL;
}

static const struct route *get_route(size_t i)
{
    const struct v1_route *route = v1_get_route(i);

    return route ? &route->route : NULL;
}

static void refuse_unmatched(const struct route_call *call, struct http_response *r)
{
    if (call->match == ROUTE_NO_PATH || !call->h->opts.admin)
        v1_write_whole_problem(r, 404, "unknown", "api/v1 has no such path");
    else
        v1_write_whole_problem(r, 405, "method", "this path does not support this method: see Allow");
}

static bool admit(const struct route_call *call, struct http_response *r)
{
    if (!call->h->opts.admin) {
        refuse_unmatched(call, r);
        return false;
    }
    if (http_is_stopping(call->h)) {
        v1_write_whole_problem(r, 503, "try-again", "this node is shutting down");
        return false;
    }
    return true;
}

static size_t get_max_body(const struct route_call *call)
{
    size_t max = ((const struct v1_route *)call->route)->max_body; /* its first member */

    return max ? max : V1_BODY_MAX;
}

static void write_busy(const struct route_call *call, const char *msg, struct http_response *r)
{
    (void)call;
    v1_write_whole_problem(r, 503, "try-again", msg);
}

const struct route_table v1_routes = {.below = V1_BELOW,
                                      .get = get_route,
                                      .write_busy = write_busy,
                                      .get_max_body = get_max_body,
                                      .refuse = refuse_unmatched,
                                      .admit = admit};
