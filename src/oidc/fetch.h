/* SPDX-License-Identifier: MIT */
/*
 * fetch: one request to the provider that the caller waits for.
 *
 * Threads     Any, many at once.
 * Bounds      An answer of FETCH_MAX bytes, `wait_ms` for all of it, the look-up of the name included. Redirects are
 *             not followed.
 */
#ifndef OIDC_FETCH_H
#define OIDC_FETCH_H

#include "shardwheel/oidc.h"

#define FETCH_MAX ((size_t)256 * 1024)

struct fetcher {
    struct resolver *resolver;   /* [const] */
    const struct clock *clock;   /* [const] */
    int64_t wait_ms;             /* [const] for an answer */
    const char *ca;              /* [const] "": the system's */
    const _Atomic bool *stopped; /* [const] what it points to: [atomic]; ends what is under way */
};

struct fetch_request {
    const char *url;
    const char *form; /* NULL: GET */
    const char *user; /* of Basic, with password; NULL: none */
    const char *password;
    const char *bearer; /* NULL: none */
};

struct fetch_answer {
    int status;
    int64_t date_s;  /* of its clock; -1: it does not say */
    struct buf body; /* ended by a NUL */
};
void fetch_answer_fini(struct fetch_answer *answer);

/* Before the first fetch, and after the last; one each for one. */
MUST_CHECK enum err fetch_begin(struct errctx *ec);
void fetch_end(void);
/* https, or http on a loopback address; ERR_INPUT says what is wrong. Pure. */
MUST_CHECK enum err fetch_check_url(const char *url, struct errctx *ec);
/* ERR_LOST: no answer, whose reason names the host; ERR_DENIED: its certificate is not taken, or cannot be examined. */
MUST_CHECK enum err fetch(const struct fetcher *f, const struct fetch_request *request, struct fetch_answer *out,
                          struct errctx *ec);

#endif
