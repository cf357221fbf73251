/* SPDX-License-Identifier: MIT */
/*
 * router: which function answers which request. Every endpoint is a row of a table; a table is what lies below one path
 * and speaks one dialect: its own refusals, and their order.
 *
 * To add      an endpoint: a row in the table of its dialect, and its function beside it. A dialect: a file or folder
 *             with a table of its own, named in tables.c; what is below a longer path comes first there.
 * Threads     Any; tables are constant, and a call is one thread's.
 * Order       The server calls http_admit when a request's head is there, and http_handle when its body is too: only if
 *             it was admitted.
 */
#ifndef HTTP_ROUTER_H
#define HTTP_ROUTER_H

#include "http/server.h"

#define ROUTE_PATH_MAX 512 /* longer paths are none of ours */
#define ROUTE_PARAMS_MAX 4
#define BODY_MAX_USUAL ((size_t)1024 * 1024)
#define BODY_MAX_SOURCE ((size_t)4 * 1024 * 1024) /* where a GLUE source or an import may be in it */

enum route_method {
    ROUTE_GET = 1, /* and HEAD, whose answer goes out without its body */
    ROUTE_POST = 2,
    ROUTE_PUT = 4,
    ROUTE_DELETE = 8,
    ROUTE_PATCH = 16,
    ROUTE_OPTIONS = 32,
    ROUTE_ANY = 63, /* all of these */
};

/* What the table's `admit` asks for. */
enum route_right {
    ROUTE_ANYBODY,
    ROUTE_EXECUTOR, /* the access token of executors, or that of the caller's group */
    ROUTE_APP,      /* app name and access token of a group, where groups have such */
    ROUTE_LOGIN,    /* somebody who is known; what he may is checked by what he calls */
    ROUTE_SIGHT,    /* the same; and a token has the scope read, for the answer shows something */
};

struct route_call;

struct route {
    unsigned methods; /* of enum route_method */
    /* Below no context: "/api/callback", "/api/v1/jobs/{id}"; {...} is one part of a path, not empty. "*" is whatever
     * there is: the last row of a table whose `answer` knows more paths. */
    const char *pattern;
    enum http_lane lane;
    enum route_right right;
    void (*answer)(const struct route_call *call, struct http_response *r);
};

struct route_table {
    const char *below; /* "/api": all of it and below it, also what is no route of the table. "": whatever is left */
    const struct route *routes;
    size_t count;
    const struct route *(*get)(size_t i); /* where the rows lie in several places: the i-th, NULL behind the last */
    /* 503: too much is under way; NULL: response_set_error's, which every dialect of the console understands. */
    void (*write_busy)(const struct route_call *call, const char *msg, struct http_response *r);
    /* Longest body of the request, which was admitted; NULL: BODY_MAX_USUAL for all. That of the server holds too. */
    size_t (*get_max_body)(const struct route_call *call);
    /* Answers what the table has no route for: call->match says whether path or method is unknown. The router adds
     * Allow to a 405. */
    void (*refuse)(const struct route_call *call, struct http_response *r);
    /* Checks a request that has a route by its head; false: refused, and the answer is filled in. NULL: all are
     * admitted. */
    bool (*admit)(const struct route_call *call, struct http_response *r);
};

enum route_match {
    ROUTE_NO_PATH,   /* the table knows no such path */
    ROUTE_NO_METHOD, /* it does, by other methods */
    ROUTE_MATCH,
};

/* A request and its place in the tables. */
struct route_call {
    struct http *h;
    const struct http_request *q;
    const struct route_table *table;
    const struct route *route; /* never NULL: without a match, one that answers by the table's `refuse` */
    enum route_match match;
    const char *path;                    /* clean: below no context, single slashes, none at its end; "" for the root */
    const char *param[ROUTE_PARAMS_MAX]; /* what stands for {...}, in their order; NULL beyond them */
    char clean[ROUTE_PATH_MAX];          /* what `path` points into */
    char parts[ROUTE_PATH_MAX];          /* what `param` points into */
};

/* The tables. Beside them v1_routes, see v1/v1.h. */
extern const struct route_table executor_routes; /* executor/api.c */
extern const struct route_table metrics_routes;  /* pages.c */
extern const struct route_table health_routes;   /* pages.c */
extern const struct route_table document_routes; /* pages.c */
extern const struct route_table asset_routes;    /* web/routes.c */
extern const struct route_table guide_routes;    /* web/routes.c */
extern const struct route_table oidc_routes;     /* login/oidc.c */
extern const struct route_table console_routes;  /* console/console.c: whatever is left */

/* What the path begins with before its part that counts: "/xxl-job-admin", the configured context, or "". Returns
 * `out`. */
const char *route_get_context(const struct route_call *call, char out[ROUTE_PATH_MAX]);
/* Appends the way from the page that was asked for to where the context begins, relative to the page's address as the
 * client wrote it: "./" for /jobs and /xxl-job-admin/jobs, "../" for /jobs/7, "./xxl-job-admin/" for /xxl-job-admin. So
 * it is right behind a proxy, too, that has stripped something from the path. */
void route_put_base(const struct route_call *call, struct buf *out);
/* Single slashes, none at the end; in place, too. A path that is too long becomes one that no route has: "//". */
void route_clean_path(const char *path, char *out, size_t size);
unsigned route_find_method(const char *name); /* one of enum route_method; 0 when it is none of them */
/* Fills in the call: its table (the first in order that it is below, else the last), and its route there: of the
 * patterns that fit, those with the fewest {...} count. */
void route_find(struct route_call *call, struct http *h, const struct http_request *q,
                const struct route_table *const *tables, size_t count);
/* To an answer without a match, what is possible at the path: "GET, HEAD, POST". */
void route_add_allow(const struct route_call *call, struct http_response *r);

#endif
