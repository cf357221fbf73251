/* SPDX-License-Identifier: MIT */
#include "http/v1/auth.h"

#include "http/visitor.h"

static bool may_change(const struct http_request *q)
{
    return route_find_method(q->method) != ROUTE_GET;
}

enum v1_login v1_find_caller(const struct route_call *call, struct identity *out, struct refusal *why)
{
    struct visitor v;

    visitor_find(call, "api/v1", may_change(call->q), &v);
    switch (v.state) {
    case VISITOR_UNSURE: *why = v.why; return V1_LOGIN_REFUSED;
    case VISITOR_NOBODY:
        refuse(why, REFUSED_RIGHT, NULL,
               "%s: log in (POST /api/v1/session), or send a token (Authorization: Bearer swt_...)", v.why.text.text);
        return V1_LOGIN_NOBODY;
    case VISITOR_KNOWN: break;
    }
    if (v.by_browser && may_change(call->q) && request_is_foreign(call->q)) {
        visitor_fini(&v);
        refuse(why, REFUSED_RIGHT, NULL, "%s", visitor_foreign_text);
        return V1_LOGIN_REFUSED;
    }
    *out = v.who;
    return V1_LOGIN_KNOWN;
}
