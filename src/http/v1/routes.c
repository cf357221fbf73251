/* SPDX-License-Identifier: MIT */
/* The table of api/v1: who is let in, and what every call begins and ends with. */
#include "http/v1/auth.h"
#include "http/v1/read.h"
#include "http/v1/write.h"

#include <string.h>

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

/* ---- by the head ------------------------------------------------------------------------------------------------- */

static void refuse_unmatched(const struct route_call *call, struct http_response *r)
{
    if (call->match == ROUTE_NO_PATH || !call->h->opts.admin)
        v1_write_problem(r, 404, "unknown", NULL, NULL, "there is nothing at this path of api/v1");
    else
        v1_write_problem(r, 405, "method", NULL, NULL, "the path is there, this method is not: see Allow");
}

static bool admit(const struct route_call *call, struct http_response *r)
{
    if (!call->h->opts.admin) {
        refuse_unmatched(call, r);
        return false;
    }
    if (http_is_stopping(call->h)) {
        v1_write_problem(r, 503, "try-again", NULL, NULL, "this node is shutting down");
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
    v1_write_problem(r, 503, "try-again", NULL, NULL, msg);
}

/* ---- by the whole ------------------------------------------------------------------------------------------------ */

static bool find_caller(struct v1_call *c, struct identity *who)
{
    struct errctx ec;

    if (c->route->route.right == ROUTE_ANYBODY)
        return true;
    switch (v1_find_caller(c->call, who, &c->why)) {
    case V1_LOGIN_KNOWN:
        c->who = who;
        c->actor = &who->actor;
        return true;
    case V1_LOGIN_REFUSED: v1_write_refusal(c); return false;
    case V1_LOGIN_NOBODY: break;
    }
    v1_write_problem(c->r, 401, "login", NULL, NULL, c->why.text.text);
    if (response_add_header(c->r, "WWW-Authenticate", "Bearer realm=\"shardwheel\"", &ec))
        c->r->body.failed = true;
    return false;
}

static bool load_request(struct v1_call *c)
{
    struct errctx ec;
    int status = 400;

    errctx_clear(&ec);
    if (request_load_query(c->call->q, &c->query, &ec) || v1_read_body(c, &status, &ec)) {
        v1_write_problem(c->r, status,
                         status == 415   ? "media-type"
                         : status == 413 ? "length"
                         : status == 503 ? "try-again"
                                         : "invalid",
                         NULL, NULL, ec.text);
        return false;
    }
    return true;
}

void v1_answer(const struct route_call *call, struct http_response *r)
{
    const struct v1_route *route = (const struct v1_route *)call->route; /* its first member */
    struct v1_call c = {.call = call, .route = route, .admin = call->h->opts.admin, .r = r};
    struct identity who = {0};

    c.body.c = &c;
    r->content_type = "application/json";
    if (find_caller(&c, &who) && load_request(&c))
        route->answer(&c);
    identity_fini(&who);
    form_fini(&c.query);
    v1_forget(&c);
    if (buf_failed(&r->body) || buf_failed(&r->headers)) {
        buf_fini(&r->body);
        buf_fini(&r->headers);
        v1_write_problem(r, 500, "broken", NULL, NULL, "out of memory for the answer");
    }
}

const struct route_table v1_routes = {.below = V1_BELOW,
                                      .get = get_route,
                                      .write_busy = write_busy,
                                      .get_max_body = get_max_body,
                                      .refuse = refuse_unmatched,
                                      .admit = admit};
