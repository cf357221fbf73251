/* SPDX-License-Identifier: MIT */
/*
 * Logins by OpenID Connect, as the browser goes through them: to the provider, back with a code, and to the page where
 * it began. What is only for this browser (state, nonce, PKCE's verifier, the page) stands in a cookie of ten minutes,
 * so that the login may end on another node; a code that comes back without its cookie is somebody else's. All of this
 * waits for the provider, on a lane of its own: it holds up nobody who does something else.
 *
 * Bound       A browser has LOGINS_MAX of these cookies at most, of COOKIES_SIZE bytes: a login that is begun forgets
 *             those that were sent first, which are the oldest (RFC 6265, 5.4). Else a page that begins one after the
 *             other would have the browser send more than a proxy takes.
 * Redirects   Go to the provider, or to a path of this console: never to a place that a request names.
 */
#include "http/router.h"
#include "http/visitor.h"
#include "shardwheel/admin/outside.h"
#include "shardwheel/oidc.h"

#include <stdio.h>
#include <string.h>

#define COOKIE_START "shardwheel_oidc_"
#define COOKIE_LIFE "; Max-Age=600"
#define COOKIE_PAST "; Max-Age=0"
#define COOKIE_NAMED_BY 8 /* digits of the state: logins in several tabs do not meet */
#define PAGE_MAX 1000
#define LOGINS_MAX 5      /* of one browser, that have not ended */
#define COOKIES_SIZE 4000 /* bytes of their cookies; nginx takes 8 KB for all that a browser sends */
#define FORGOTTEN_MAX 16  /* by one answer: its headers have a bound in proxies, too */

/* What the login page says; its texts are in web/src/i18n. */
static const char *const fault_words[] = {
    [OIDC_FINE] = "broken",   [OIDC_AWAY] = "away", [OIDC_CERTIFICATE] = "certificate",
    [OIDC_DENIED] = "denied", [OIDC_CODE] = "code", [OIDC_CLIENT] = "client",
    [OIDC_TOKEN] = "token",   [OIDC_NAME] = "name",
};

/* ---- redirects --------------------------------------------------------------------------------------------------- */

static void redirect(struct http_response *r, struct buf *url)
{
    struct errctx ec;

    r->status = 303;
    r->content_type = "text/plain";
    if (buf_failed(url) || response_add_header(r, "Location", url->data, &ec)) {
        buf_clear(&r->headers);
        response_set_error(r, 500, "the redirect address cannot be written");
    }
    buf_fini(url);
}

/* A path of this console, as it may stand behind its base: one slash at its head, and nothing that a browser takes for
 * another host. */
static bool is_page(const char *path)
{
    if (path[0] != '/' || path[1] == '/' || strlen(path) > PAGE_MAX)
        return false;
    for (const char *c = path; *c; c++)
        if ((unsigned char)*c <= ' ' || *c == '\\' || *c == 0x7f || (unsigned char)*c >= 0x80)
            return false;
    return true;
}

static void go_to_page(const struct route_call *call, struct http_response *r, const char *page)
{
    struct buf url = {0};

    route_put_base(call, &url);
    buf_puts(&url, (is_page(page) ? page : "/") + 1);
    redirect(r, &url);
}

static void go_to_login(const struct route_call *call, struct http_response *r, const char *why)
{
    struct buf url = {0};

    route_put_base(call, &url);
    buf_printf(&url, "login?refused=%s", why);
    redirect(r, &url);
}

/* The address of this console for the provider, with `end` behind its context. */
static bool put_own_url(const struct route_call *call, const char *end, struct buf *out)
{
    const char *set = oidc_get_redirect_uri(call->h->opts.oidc);
    char host[300], context[ROUTE_PATH_MAX];

    if (*set) {
        buf_append(out, set, strlen(set) - strlen(OIDC_CALLBACK));
    } else {
        if (!request_get_host(call->q, host, sizeof host))
            return false;
        buf_printf(out, "%s://%s%s", request_is_tls(call->q) ? "https" : "http", host,
                   route_get_context(call, context));
    }
    buf_puts(out, end);
    return !buf_failed(out);
}

/* ---- the cookie -------------------------------------------------------------------------------------------------- */

static bool is_secret(const char *text, size_t len)
{
    return strlen(text) == len && text[strspn(text, "0123456789abcdef")] == '\0';
}

static void name_cookie(const char *state, char out[40])
{
    snprintf(out, 40, COOKIE_START "%.*s", COOKIE_NAMED_BY, state);
}

/* The first of our cookies from `at` on, and behind it; NULL: there is none. *len: with its name. */
static const char *find_begun(const char *at, char name[40], size_t *len)
{
    const size_t start = sizeof COOKIE_START - 1;

    while (*at) {
        at += strspn(at, "; ");
        *len = strcspn(at, ";");
        if (!strncmp(at, COOKIE_START, start) && strspn(at + start, "0123456789abcdef") == COOKIE_NAMED_BY &&
            at[start + COOKIE_NAMED_BY] == '=') {
            snprintf(name, 40, "%.*s", (int)(start + COOKIE_NAMED_BY), at);
            return at + *len;
        }
        at += *len;
    }
    return NULL;
}

/* Makes room for one more, of that length. */
static bool forget_oldest(const struct route_call *call, struct http_response *r, size_t more)
{
    const char *header = request_get_header(call->q, "Cookie");
    size_t count = 1, size = more, len, forgotten = 0;
    char name[40];

    for (const char *at = header ? header : ""; (at = find_begun(at, name, &len));) {
        count++;
        size += len;
    }
    for (const char *at = header ? header : ""; (at = find_begun(at, name, &len));) {
        if ((count <= LOGINS_MAX && size <= COOKIES_SIZE) || forgotten == FORGOTTEN_MAX)
            break;
        if (!visitor_set_cookie(call, r, name, "", COOKIE_PAST))
            return false;
        forgotten++;
        count--;
        size -= len;
    }
    return true;
}

static bool set_cookie(const struct route_call *call, struct http_response *r, const struct oidc_flow *flow,
                       const char *page)
{
    struct buf value = {0};
    char name[40];

    name_cookie(flow->state, name);
    buf_printf(&value, "%s.%s.%s.", flow->state, flow->nonce, flow->verifier);
    buf_put_hex(&value, page, strlen(page));
    bool good = !buf_failed(&value) && forget_oldest(call, r, strlen(name) + 1 + value.len) &&
                visitor_set_cookie(call, r, name, value.data, COOKIE_LIFE);
    buf_fini(&value);
    return good;
}

static bool read_page(const char *hex, char page[PAGE_MAX + 1])
{
    size_t n = 0;

    for (; hex[0] && hex[1] && n < PAGE_MAX; hex += 2) {
        int byte = hex_byte(hex);
        if (byte < 0)
            return false;
        page[n++] = (char)byte;
    }
    page[n] = '\0';
    return !*hex && strlen(page) == n && is_page(page);
}

/* What this browser began, if it is what came back. */
static bool get_cookie(const struct route_call *call, const char *state, struct oidc_flow *flow,
                       char page[PAGE_MAX + 1])
{
    char name[40], value[COOKIE_VALUE_MAX], *parts[4], *next = value;

    if (!state || !is_secret(state, OIDC_SECRET_LEN))
        return false;
    name_cookie(state, name);
    if (!request_get_cookie(call->q, name, value, sizeof value))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (!(parts[i] = strsep(&next, ".")))
            return false;
    if (next || !is_secret(parts[0], OIDC_SECRET_LEN) || !is_secret(parts[1], OIDC_SECRET_LEN) ||
        !is_secret(parts[2], sizeof flow->verifier - 1) || !str_equal_const_time(parts[0], state) ||
        !read_page(parts[3], page))
        return false;
    snprintf(flow->state, sizeof flow->state, "%s", parts[0]);
    snprintf(flow->nonce, sizeof flow->nonce, "%s", parts[1]);
    snprintf(flow->verifier, sizeof flow->verifier, "%s", parts[2]);
    return true;
}

/* ---- the beginning ----------------------------------------------------------------------------------------------- */

static void note(const struct route_call *call, const char *why, const char *error)
{
    char address[IP_TEXT_MAX];

    request_get_client_address(call->q, address);
    log_limited(&call->h->oidc_log, call->h->clock, LOG_WARN, "http",
                "event=oidc_login_refused why=%s address=%s error=%s", why, log_quote(address).s, log_quote(error).s);
}

static void answer_begin(const struct route_call *call, struct http_response *r)
{
    struct form form = {0};
    struct buf own = {0}, url = {0};
    struct oidc_flow flow;
    struct errctx ec = {{0}};
    enum err e = form_parse(call->q->query, strlen(call->q->query), &form, &ec);
    const char *page = e ? NULL : form_get(&form, "return");

    if (!put_own_url(call, OIDC_CALLBACK, &own))
        response_set_error(r, 400, "the request has no Host");
    else if ((e = oidc_begin(call->h->opts.oidc, own.data, &flow, &url, &ec))) {
        const char *why = fault_words[e == ERR_DENIED ? OIDC_CERTIFICATE : OIDC_AWAY];
        note(call, why, ec.text);
        go_to_login(call, r, why);
    } else if (!set_cookie(call, r, &flow, page && is_page(page) ? page : "/"))
        response_set_error(r, 500, "out of memory for the answer");
    else
        redirect(r, &url);
    buf_fini(&own);
    buf_fini(&url);
    form_fini(&form);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static const char *name_refusal(const struct refusal *r)
{
    switch (r->kind) {
    case REFUSED_RIGHT: return "nobody";
    case REFUSED_TAKEN: return "taken";
    case REFUSED_REQUIRED:
    case REFUSED_INVALID: return "name";
    case REFUSED_LENGTH: return !strcmp(r->field ? r->field : "", "groups") ? "groups" : "name";
    case REFUSED_NOT:
    case REFUSED_UNKNOWN:
    case REFUSED_SELF:
    case REFUSED_IN_USE:
    case REFUSED_LAST:
    case REFUSED_STATE:
    case REFUSED_CHANGED:
    case REFUSED_LIMIT:
    case REFUSED_OFF:
    case REFUSED_EXECUTOR:
    case REFUSED_TRY_AGAIN:
    case REFUSED_UNSURE:
    case REFUSED_BROKEN: break;
    }
    return "broken";
}

static void let_in(const struct route_call *call, struct http_response *r, const struct oidc_person *person,
                   const char *page)
{
    char address[IP_TEXT_MAX];
    struct outside_person outside = {.source = "oidc",
                                     .subject = person->subject,
                                     .name = person->name,
                                     .groups = (const char *const *)person->groups,
                                     .group_count = person->group_count};
    struct login login;
    struct refusal why;

    request_get_client_address(call->q, address);
    struct origin from = {.address = address, .via = "oidc", .agent = request_get_header(call->q, "User-Agent")};
    if (admin_login_outside(call->h->opts.admin, &outside, &from, &login, &why)) {
        note(call, name_refusal(&why), why.text.text);
        go_to_login(call, r, name_refusal(&why));
        return;
    }
    if (visitor_set_token_cookie(call, r, &login, false))
        go_to_page(call, r, page);
    else
        response_set_error(r, 500, "out of memory for the answer");
    login_fini(&login);
}

/* The login that this browser began ends, whatever comes of it: its cookie is for one try. */
static void finish(const struct route_call *call, struct http_response *r, const struct form *form,
                   const struct oidc_flow *flow, const char *page)
{
    struct oidc_answer answer = {
        .code = form_get(form, "code"), .iss = form_get(form, "iss"), .error = form_get(form, "error")};
    struct oidc_person person = {0};
    enum oidc_fault fault = OIDC_AWAY;
    struct buf own = {0};
    struct errctx ec = {{0}};
    char name[40];

    name_cookie(flow->state, name);
    if (!visitor_set_cookie(call, r, name, "", COOKIE_PAST)) {
        response_set_error(r, 500, "out of memory for the answer");
    } else if (!put_own_url(call, OIDC_CALLBACK, &own)) {
        response_set_error(r, 400, "the request has no Host");
    } else if (oidc_finish(call->h->opts.oidc, own.data, flow, &answer, &person, &fault, &ec)) {
        note(call, fault_words[fault], ec.text);
        go_to_login(call, r, fault_words[fault]);
    } else {
        let_in(call, r, &person, page);
    }
    oidc_person_fini(&person);
    buf_fini(&own);
}

static void answer_callback(const struct route_call *call, struct http_response *r)
{
    const char *query = call->q->query;
    struct form form = {0};
    struct oidc_flow flow;
    struct errctx ec = {{0}};
    char page[PAGE_MAX + 1];

    if (form_parse(query, strlen(query), &form, &ec) || !get_cookie(call, form_get(&form, "state"), &flow, page)) {
        note(call, "state", "this login was not started in this browser, or has expired");
        go_to_login(call, r, "state");
    } else {
        finish(call, r, &form, &flow, page);
    }
    form_fini(&form);
}

/* ---- logout ------------------------------------------------------------------------------------------------------ */

/* The session here has ended before (DELETE api/v1/session): this is the way on to the provider. */
static void answer_logout(const struct route_call *call, struct http_response *r)
{
    struct buf own = {0}, url = {0};
    struct errctx ec = {{0}};

    if (!put_own_url(call, "/login", &own)) {
        response_set_error(r, 400, "the request has no Host");
    } else if (oidc_get_logout(call->h->opts.oidc, own.data, &url, &ec)) {
        go_to_page(call, r, "/login");
    } else {
        redirect(r, &url);
    }
    buf_fini(&own);
    buf_fini(&url);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

static void refuse_unmatched(const struct route_call *call, struct http_response *r)
{
    if (call->match == ROUTE_NO_PATH)
        response_set_error(r, 404, "there is no such page");
    else
        response_set_error(r, 405, "only GET is supported here");
}

static bool admit(const struct route_call *call, struct http_response *r)
{
    if (call->h->opts.oidc && call->h->opts.admin)
        return true;
    response_set_error(r, 404, "shardwheel.oidc.issuer is not set: logins by OpenID Connect are disabled");
    return false;
}

static const struct route routes[] = {
    {ROUTE_GET, "/auth/oidc/login", HTTP_LANE_LOGIN, ROUTE_ANYBODY, answer_begin},
    {ROUTE_GET, OIDC_CALLBACK, HTTP_LANE_LOGIN, ROUTE_ANYBODY, answer_callback},
    {ROUTE_GET, "/auth/oidc/logout", HTTP_LANE_LOGIN, ROUTE_ANYBODY, answer_logout},
};

const struct route_table oidc_routes = {
    .below = "/auth/oidc", .routes = routes, .count = ARRAY_LEN(routes), .refuse = refuse_unmatched, .admit = admit};
