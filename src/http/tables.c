/* SPDX-License-Identifier: MIT */
/* All tables of routes, and what the server does with a request. */
#include "http/gzip.h"
#include "http/router.h"
#include "http/v1/v1.h"

static const struct route_table *const tables[] = {
    &v1_routes,    &executor_routes, &metrics_routes, &health_routes,  &document_routes,
    &asset_routes, &guide_routes,    &oidc_routes,    &console_routes,
};

enum http_lane http_admit(void *http, const struct http_request *head, size_t *max_body, struct http_response *r)
{
    struct http *h = http;
    struct route_call call;

    counters_add(h->counters, COUNTER_HTTP_REQUESTS, 1);
    route_find(&call, h, head, tables, ARRAY_LEN(tables));
    if (call.match != ROUTE_MATCH)
        call.route->answer(&call, r);
    if (call.match != ROUTE_MATCH && r->status == 405)
        route_add_allow(&call, r);
    if (call.match != ROUTE_MATCH || (call.table->admit && !call.table->admit(&call, r))) {
        r->guarded = call.table != &executor_routes;
        return HTTP_LANE_REFUSED;
    }
    counters_add(h->counters, COUNTER_HTTP_CONSOLE, lane_is_peoples(call.route->lane));
    size_t max = call.table->get_max_body ? call.table->get_max_body(&call) : BODY_MAX_USUAL;
    if (max < *max_body)
        *max_body = max;
    return call.route->lane;
}

void http_handle(void *http, const struct http_request *q, struct http_response *r)
{
    struct route_call call;

    route_find(&call, http, q, tables, ARRAY_LEN(tables));
    r->status = 200;
    r->guarded = lane_is_peoples(call.route->lane);
    r->may_gzip = r->guarded && gzip_is_accepted(request_get_header(q, "Accept-Encoding"));
    call.route->answer(&call, r);
}

void http_write_busy(void *http, const struct http_request *q, struct http_response *r)
{
    static const char msg[] = "this node has too many requests at the moment: send it again";
    struct route_call call;

    route_find(&call, http, q, tables, ARRAY_LEN(tables));
    r->guarded = true;
    if (call.table->write_busy)
        call.table->write_busy(&call, msg, r);
    else
        response_set_error(r, 503, msg);
}
