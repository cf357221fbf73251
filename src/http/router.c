/* SPDX-License-Identifier: MIT */
#include "http/server.h"

#include <string.h>

#define PATH_LEN 512 /* longer paths are none of ours */

static void clean_path(const char *path, char *out, size_t size)
{
    size_t n = 0;
    for (; *path && n + 1 < size; path++) {
        if (*path != '/' || n == 0 || out[n - 1] != '/')
            out[n++] = *path;
    }
    if (n && out[n - 1] == '/')
        n--;
    out[n] = '\0';
}

/* What follows `context` in `path`, or NULL when the path is not below it. */
static const char *strip(const char *path, const char *context)
{
    size_t len = strlen(context);
    if (strncmp(path, context, len) || (path[len] && path[len] != '/'))
        return NULL;
    return path + len;
}

const char *router_strip_context(const struct http *h, const char *path, char *out, size_t size)
{
    clean_path(path, out, size);
    const char *rest = *h->context ? strip(out, h->context) : NULL;
    if (!rest)
        rest = strip(out, "/xxl-job-admin");
    return rest ? rest : out;
}

void http_handle(void *http, const struct http_request *q, struct http_response *r)
{
    struct http *h = http;
    char clean[PATH_LEN];
    const char *path = router_strip_context(h, q->path, clean, sizeof(clean));
    const char *api = strip(path, "/api");

    counters_add(h->counters, COUNTER_HTTP_REQUESTS, 1);
    if (api)
        api_answer(h, *api ? api + 1 : "", q, r);
    else
        pages_answer(h, path, q, r);
}

enum http_lane http_admit(void *http, const struct http_request *head, struct http_response *r)
{
    char clean[PATH_LEN];
    const char *path = router_strip_context(http, head->path, clean, sizeof(clean));

    (void)r;
    if (!strcmp(path, "/api/registry") || !strcmp(path, "/api/registryRemove") ||
        !strcmp(path, "/actuator/health/liveness"))
        return HTTP_LANE_AT_ONCE;
    return strip(path, "/api") || strip(path, "/metrics") || strip(path, "/actuator") ? HTTP_LANE_EXECUTOR
                                                                                      : HTTP_LANE_CONSOLE;
}
