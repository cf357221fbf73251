/* SPDX-License-Identifier: MIT */
/* What every call of api/v1 begins and ends with. */
#include "http/visitor.h"
#include "http/v1/read.h"
#include "http/v1/write.h"

#include <string.h>

static bool ask_to_log_in(struct v1_call *c, const char *why)
{
    struct errctx ec;

    refuse(&c->why, REFUSED_RIGHT, NULL,
           "%s: log in (POST /api/v1/session), or send a token (Authorization: Bearer swt_...)", why);
    v1_write_problem(c, 401, "login", NULL, c->why.text.text);
    if (response_add_header(c->r, "WWW-Authenticate", "Bearer realm=\"shardwheel\"", &ec))
        c->r->body.failed = true;
    return false;
}

/* By `Authorization: Bearer swt_...`, by a trusted proxy's header, or by the session cookie of a console. May wait for
 * the database. */
static bool find_caller(struct v1_call *c, struct identity *who)
{
    bool may_change = route_find_method(c->call->q->method) != ROUTE_GET;
    struct visitor v;

    if (c->route->route.right == ROUTE_ANYBODY)
        return true;
    visitor_find(c->call, "api/v1", may_change, &v);
    if (v.state == VISITOR_NOBODY)
        return ask_to_log_in(c, v.why.text.text);
    *who = v.who; /* ended by the caller, whatever becomes of it */
    if (v.state == VISITOR_UNSURE)
        c->why = v.why;
    else if (v.by_browser && may_change && request_is_foreign(c->call->q))
        refuse(&c->why, REFUSED_RIGHT, NULL, "%s", visitor_foreign_text);
    if (c->why.kind != REFUSED_NOT) {
        v1_write_refusal(c);
        return false;
    }
    c->who = who;
    c->actor = &who->actor;
    return true;
}

static bool load_request(struct v1_call *c)
{
    struct errctx ec = {{0}};
    int status = 400;

    if (form_parse(c->call->q->query, strlen(c->call->q->query), &c->query, &ec) || v1_read_body(c, &status, &ec)) {
        v1_write_problem(c, status,
                         status == 415   ? "media-type"
                         : status == 413 ? "length"
                         : status == 503 ? "try-again"
                                         : "invalid",
                         NULL, ec.text);
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
    member_object(&r->body, NULL);
    if (find_caller(&c, &who) && load_request(&c))
        route->answer(&c);
    v1_end_answer(&c);
    identity_fini(&who);
    form_fini(&c.query);
    v1_forget(&c);
    if (buf_failed(&r->body) || buf_failed(&r->headers)) {
        buf_fini(&r->body);
        buf_fini(&r->headers);
        v1_write_whole_problem(r, 500, "broken", "out of memory for the answer");
    }
}
