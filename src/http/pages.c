/* SPDX-License-Identifier: MIT */
#include "http/server.h"

#include <string.h>

static void write_index(struct http *h, struct http_response *r)
{
    r->content_type = "text/plain; charset=utf-8";
    buf_puts(&r->body, "shardwheel: a job-scheduling centre for xxl-job executors.\n\n"
                       "POST /api/registry, /api/registryRemove, /api/callback   for executors\n"
                       "GET  /metrics                                            Prometheus text\n"
                       "GET  /actuator/health, .../liveness, .../readiness       JSON, 200 or 503\n\n"
                       "The same below /xxl-job-admin");
    if (*h->context && strcmp(h->context, "/xxl-job-admin"))
        buf_printf(&r->body, " and %s", h->context);
    buf_puts(&r->body, ".\n");
}

static void write_metrics(struct http *h, struct http_response *r)
{
    r->content_type = "text/plain; version=0.0.4; charset=utf-8";
    h->opts.write_metrics(h->opts.arg, &r->body);
}

static void write_health(struct http *h, struct http_response *r)
{
    r->content_type = "application/json";
    r->status = h->opts.write_health(h->opts.arg, &r->body) ? 200 : 503;
}

/* Alive is who answers: a database that is away must not make a supervisor kill the node. */
static void write_liveness(struct http *h, struct http_response *r)
{
    (void)h;
    r->content_type = "application/json";
    buf_puts(&r->body, "{\"status\":\"UP\"}");
}

static void write_readiness(struct http *h, struct http_response *r)
{
    if (!http_is_stopping(h)) {
        write_health(h, r);
        return;
    }
    r->content_type = "application/json";
    r->status = 503;
    buf_puts(&r->body, "{\"status\":\"OUT_OF_SERVICE\"}");
}

static const struct {
    const char *path;
    void (*write)(struct http *h, struct http_response *r);
} pages[] = {
    {"", write_index},
    {"/metrics", write_metrics},
    {"/actuator/health", write_health},
    {"/actuator/health/liveness", write_liveness},
    {"/actuator/health/readiness", write_readiness},
};

static void write_error(struct http_response *r, int status, const char *msg)
{
    api_write_answer(r, status, msg);
    r->status = status;
}

void pages_answer(struct http *h, const char *path, const struct http_request *q, struct http_response *r)
{
    for (size_t i = 0; i < ARRAY_LEN(pages); i++) {
        if (strcmp(path, pages[i].path))
            continue;
        if (strcmp(q->method, "GET") && strcmp(q->method, "HEAD")) {
            write_error(r, 405, "only GET and HEAD are possible here");
            return;
        }
        r->status = 200;
        pages[i].write(h, r);
        return;
    }
    write_error(r, 404, "there is no such page");
}
