/* SPDX-License-Identifier: MIT */
/* What every call of api/v1 begins and ends with. */
#include "http/v1/auth.h"
#include "http/v1/read.h"
#include "http/v1/write.h"

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
    struct errctx ec = {{0}};
    int status = 400;

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
