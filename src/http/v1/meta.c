/* SPDX-License-Identifier: MIT */
/* What api/v1 says of itself: its document. */
#include "http/v1/write.h"

static void answer_document(struct v1_call *c)
{
    if (v1_is_refused(c))
        return;
    v1_take_answer(c);
    v1_put_document(&c->r->body, c->call);
    v1_tag_answer(c);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/openapi.json", ROUTE_ANYBODY), V1_NO_BODY, 0, answer_document},
};

const struct v1_topic v1_meta = {routes, ARRAY_LEN(routes)};
