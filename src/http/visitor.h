/* SPDX-License-Identifier: MIT */
/*
 * visitor: who a request is from, and whether a page of somebody else's made a browser send it.
 *
 * Order       `Authorization: Bearer swt_...` of api/v1; the header that a trusted proxy names a user by
 *             (shardwheel.login.proxy-header, from shardwheel.login.proxy-networks: the peer itself, not whom it speaks
 *             for); the session cookies, that of dialects B, C, D first. All of them count for all dialects and api/v1.
 * Foreign     Browsers send cookies along with requests that any page makes them send. Where a browser says so
 *             (Sec-Fetch-Site, else Origin), those of other sites and origins are refused if they could change
 *             something. Calls of the consoles that change something may be GETs, with which browsers say nothing over
 *             plain HTTP: those must come from a page of ours. Programs send neither and go on; so do those with a
 *             token, which no browser adds by itself.
 * Threads     Any; visitor_find may wait for the database.
 */
#ifndef HTTP_VISITOR_H
#define HTTP_VISITOR_H

#include "http/router.h"
#include "http/session_cookie.h"

#define ROW_COOKIE "XXL_JOB_LOGIN_IDENTITY"        /* of dialect A */
#define TOKEN_COOKIE_DEFAULT "xxl_job_login_token" /* of B, C, D: xxl-sso.token.key */
#define COOKIE_FOR_EVER INT64_C(2147483647)

enum visitor_state {
    VISITOR_KNOWN,
    VISITOR_NOBODY, /* nothing was shown, or nothing that is good (any more): `why` says it */
    VISITOR_UNSURE, /* it could not be found out: `why` */
};

struct visitor {
    enum visitor_state state;
    struct identity who;           /* VISITOR_KNOWN */
    bool by_browser;               /* by what a browser sends by itself: not by a token */
    bool forget_row, forget_token; /* cookies that are no good, to be cleared by visitor_forget_cookies */
    struct refusal why;
};

/* With `changes` he is looked up in the database; else he may be remembered from a moment ago. */
void visitor_find(const struct route_call *call, const char *via, bool changes, struct visitor *out);
void visitor_fini(struct visitor *v);

/* True: a page of another origin made a browser send this. Pure. */
bool request_is_foreign(const struct http_request *q);
/* True: a browser sends this by GET, and nothing says that a page of ours made it. Over plain HTTP browsers tell no
 * Sec-Fetch-Site, and no Origin with a GET. A browser is who calls himself one and names languages. Pure. */
bool request_may_be_foreign(const struct http_request *q);
/* What refusals of such requests say. */
extern const char visitor_foreign_text[], visitor_unclear_text[];

/* Ends the session of the request's cookie, if it has one. The cookies are the caller's to clear. */
MUST_CHECK enum err visitor_end_session(const struct route_call *call, const char *via, struct refusal *why);

/* Set-Cookie. False when out of memory. */
bool visitor_set_cookie(const struct route_call *call, struct http_response *r, const char *name, const char *value,
                        const char *life); /* "; Max-Age=600", or "": until the browser ends */
bool visitor_set_row_cookie(const struct route_call *call, struct http_response *r, const struct login *login,
                            bool remember);
bool visitor_set_token_cookie(const struct route_call *call, struct http_response *r, const struct login *login,
                              bool remember);
bool visitor_forget_row_cookie(const struct route_call *call, struct http_response *r);
bool visitor_forget_token_cookie(const struct route_call *call, struct http_response *r);
const char *visitor_token_cookie(const struct http *h); /* the name of that of dialects B, C, D */
bool visitor_has_cookie(const struct route_call *call, const char *name);

#endif
