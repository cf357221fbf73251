/* SPDX-License-Identifier: MIT */
/*
 * http: the server: the executors' API, the consoles and api/v1 under both contexts, metrics, health.
 *
 * Threads     A front of its own has all connections, and workers answer; a worker may wait about a second for a
 *             callback's commit.
 * Ownership   Pages are produced by functions given at start; everything passed in must outlive the server.
 * Facts       Requests, answers and literals of the executor API: docs/wire.md.
 */
#ifndef SHARDWHEEL_HTTP_H
#define SHARDWHEEL_HTTP_H

#include "shardwheel/base.h"
#include "shardwheel/counters.h"
#include "shardwheel/job/words.h"
#include "shardwheel/registry.h"

struct access_box;
struct admin;
struct http;
struct oidc;
struct tls_server;

struct http_opts {
    const char *bind; /* NULL: all addresses */
    int port;
    const char *context_path; /* of the operator's config, besides "/" and "/xxl-job-admin"; NULL or "" */
    int threads;
    int waits; /* so many requests of the console may wait for somebody far away: there are workers for them beside */
    size_t max_body;
    struct tls_server *tls;       /* NULL: plain HTTP */
    int64_t hsts_ms;              /* how long browsers keep to https for this host; 0: they are not told to */
    const char *trusted_networks; /* of reverse proxies, for networks_parse; NULL or "": none */
    const char *login_cookie;     /* name of the cookie of dialects B, C, D; NULL: that of the original */
    const char *login_header;     /* in which a proxy names the user; NULL or "": none does */
    const char *login_networks;   /* of those proxies, as above */
    struct registry *registry;
    struct access_box *access; /* whose token executors send; NULL: none is asked for */
    struct complete *complete;
    struct admin *admin;             /* what the console and api/v1 do; NULL: they are not there */
    struct oidc *oidc;               /* logins by a provider; NULL: there are none */
    const char *oidc_title;          /* on its button; NULL or "": in the page's own words */
    enum lang lang;                  /* of the console's messages */
    unsigned console_dialect;        /* 1, 2, 4, 8: A, B, C, D, for calls that could be of several; 0: auto */
    const char *web_dir;             /* of the built console; NULL or "": where it is installed, or built */
    const char *generation;          /* "3.4": the family of the database's schema; NULL: the oldest */
    const struct zone *console_zone; /* of times that the consoles show as local; NULL: UTC */
    void (*write_metrics)(void *arg, struct buf *out);
    /* Writes a JSON object; returns true when healthy (HTTP 200), false when not (HTTP 503). */
    bool (*write_health)(void *arg, struct buf *out);
    void *arg;
};

/* ERR_BUSY when the port is in use, with the port in the text. */
MUST_CHECK enum err http_create(const struct http_opts *opts, const struct clock *clock, struct counters *counters,
                                struct http **out, struct errctx *ec);
MUST_CHECK enum err http_start(struct http *h, struct errctx *ec);
int http_get_port(const struct http *h); /* the real one when 0 was asked for */
void http_stop(struct http *h);          /* waits for the workers */
void http_destroy(struct http *h);

#endif
