/* SPDX-License-Identifier: MIT */
/* Pages for operators and their tools: metrics, health, the document of api/v1. No token; refusals by HTTP status. */
#include "http/v1/v1.h"

static void write_metrics(const struct route_call *call, struct http_response *r)
{
    r->content_type = "text/plain; version=0.0.4; charset=utf-8";
    call->h->opts.write_metrics(call->h->opts.arg, &r->body);
}

static void write_health(const struct route_call *call, struct http_response *r)
{
    r->content_type = "application/json";
    r->status = call->h->opts.write_health(call->h->opts.arg, &r->body) ? 200 : 503;
}

/* Alive is who answers: a database that is away must not make a supervisor kill the node. */
static void write_liveness(const struct route_call *call, struct http_response *r)
{
    (void)call;
    r->content_type = "application/json";
    buf_puts(&r->body, "{\"status\":\"UP\"}");
}

static void write_readiness(const struct route_call *call, struct http_response *r)
{
    if (!http_is_stopping(call->h)) {
        write_health(call, r);
        return;
    }
    r->content_type = "application/json";
    r->status = 503;
    buf_puts(&r->body, "{\"status\":\"OUT_OF_SERVICE\"}");
}

static void write_document(const struct route_call *call, struct http_response *r)
{
    r->content_type = "application/json";
    v1_put_document(&r->body, call);
    if (buf_failed(&r->body))
        response_set_error(r, 500, "out of memory for the answer");
}

static void refuse_unmatched(const struct route_call *call, struct http_response *r)
{
    if (call->match == ROUTE_NO_PATH)
        response_set_error(r, 404, "there is no such page");
    else
        response_set_error(r, 405, "only GET and HEAD are supported here");
}

static const struct route document[] = {
    {ROUTE_GET, "/openapi.json", HTTP_LANE_CONSOLE, ROUTE_ANYBODY, write_document},
};
static const struct route metrics[] = {
    {ROUTE_GET, "/metrics", HTTP_LANE_EXECUTOR, ROUTE_ANYBODY, write_metrics},
};
static const struct route health[] = {
    {ROUTE_GET, "/actuator/health", HTTP_LANE_EXECUTOR, ROUTE_ANYBODY, write_health},
    {ROUTE_GET, "/actuator/health/liveness", HTTP_LANE_AT_ONCE, ROUTE_ANYBODY, write_liveness},
    {ROUTE_GET, "/actuator/health/readiness", HTTP_LANE_EXECUTOR, ROUTE_ANYBODY, write_readiness},
};

const struct route_table metrics_routes = {
    .below = "/metrics", .routes = metrics, .count = ARRAY_LEN(metrics), .refuse = refuse_unmatched};
const struct route_table health_routes = {
    .below = "/actuator", .routes = health, .count = ARRAY_LEN(health), .refuse = refuse_unmatched};
const struct route_table document_routes = {
    .below = "/openapi.json", .routes = document, .count = ARRAY_LEN(document), .refuse = refuse_unmatched};
