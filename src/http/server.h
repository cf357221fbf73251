/* SPDX-License-Identifier: MIT */
/*
 * server: what the files of http share: the server object and one function per group of endpoints.
 *
 * Threads     Workers of the front call all of this at once; what changes is guarded as tagged.
 */
#ifndef HTTP_SERVER_H
#define HTTP_SERVER_H

#include "http/front.h"
#include "http/message.h"
#include "shardwheel/http.h"

struct http {
    struct http_opts opts;     /* [const] bind and context_path are copies of ours */
    char *bind;                /* [const] */
    char *context;             /* [const] "" or "/..." without a slash at its end */
    const struct clock *clock; /* [const] */
    struct counters *counters; /* [const] */
    struct front *front;       /* [const] after start */
    _Atomic bool stopping;     /* [atomic] set once in http_stop */
    struct mutex lock;         /* rank LOCK_HTTP */
    char *access_token;        /* [lock] "" when none is asked for */
};

bool http_is_stopping(const struct http *h);

/* ---- router.c ------------------------------------------------------------------------------------------------------- */

/* Called by the front, which must not wait: method, path and token, by the head alone. */
enum http_lane http_admit(void *http, const struct http_request *head, struct http_response *r);
void http_handle(void *http, const struct http_request *q, struct http_response *r);
/* Writes `path` without repeated slashes and without one at its end ("" for the root) to out, and returns the part of it behind
 * the context that it begins with. */
const char *router_strip_context(const struct http *h, const char *path, char *out, size_t size);

/* ---- api.c: the executors' API ----------------------------------------------------------------------------------------- */

/* `name` is what stands behind /api/. The HTTP status is 200 whatever happens: executors read the code of the body. */
void api_answer(struct http *h, const char *name, const struct http_request *q, struct http_response *r);
/* {"code":...,"msg":...,"content":null,"data":null} */
void api_write_answer(struct http_response *r, int code, const char *msg);

/* ---- pages.c -------------------------------------------------------------------------------------------------------------- */

void pages_answer(struct http *h, const char *path, const struct http_request *q, struct http_response *r);

#endif
