/* SPDX-License-Identifier: MIT */
/* The way of a call: from its path to its row's function. */
#include "http/console/console.h"
#include "http/visitor.h"
#include "http/web/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct console_topic *const topics[] = {
    &console_pages,    &console_login,  &console_dashboard, &console_jobinfo,
    &console_jobgroup, &console_joblog, &console_jobcode,   &console_user,
};

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* The path without what follows a semicolon ("/jobinfo;jsessionid=..."). */
static bool is_path(const char *path, const char *of_row)
{
    size_t len = strcspn(path, ";");

    return strlen(of_row) == len && !strncmp(path, of_row, len);
}

/* The dialects in which there is such a path; 0: none. */
static unsigned find_dialects(const char *path)
{
    unsigned dialects = 0;

    for (size_t t = 0; t < ARRAY_LEN(topics); t++) {
        for (size_t i = 0; i < topics[t]->count; i++) {
            if (is_path(path, topics[t]->rows[i].path))
                dialects |= topics[t]->rows[i].dialects;
        }
    }
    return dialects;
}

static const struct console_endpoint *find_row(const char *path, enum dialect dialect)
{
    for (size_t t = 0; t < ARRAY_LEN(topics); t++) {
        for (size_t i = 0; i < topics[t]->count; i++) {
            const struct console_endpoint *row = &topics[t]->rows[i];
            if (row->dialects & dialect && is_path(path, row->path))
                return row;
        }
    }
    return NULL;
}

bool console_may_change(const struct console_endpoint *endpoint)
{
    static const char *const names[] = {"/pageList",        "/chartInfo",      "/loadById",
                                        "/nextTriggerTime", "/getJobsByGroup", "/logDetailCat"};
    const char *last = endpoint ? strrchr(endpoint->path, '/') : NULL;

    if (!endpoint || endpoint->kind != CONSOLE_CALL)
        return false;
    for (size_t i = 0; last && i < ARRAY_LEN(names); i++) {
        if (!strcmp(last, names[i]))
            return false;
    }
    return true;
}

/* ---- refusals by the dialect ------------------------------------------------------------------------------------- */

/* Browsers are sent on relative to where they are, which is right behind a proxy that strips a part of the path, too.
 * Scripts look at the path. */
/* What scripts find an expired session by. The path is the one below the context. */
static void refuse_stranger(struct console_call *call)
{
    if (call->dialect == DIALECT_A)
        console_redirect(call, 302, "/toLogin");
    else if (call->endpoint->kind == CONSOLE_PAGE)
        console_redirect(call, 302, "/auth/login");
    else
        console_fail_hard(call, "not login for path:%.*s", (int)strcspn(call->route->path, ";"), call->route->path);
}

static void refuse_role(struct console_call *call)
{
    if (call->dialect == DIALECT_A)
        console_fail_hard(call, "%s", say_get(call->lang, call->dialect, SAY_PERMISSION_LIMIT));
    else
        console_fail_hard(call, "permission limit, current login-user does not have role:ADMIN");
}

static void write_allow(struct console_call *call)
{
    bool post_only = call->endpoint && call->endpoint->methods == ROUTE_POST;
    struct errctx ec;

    if (response_add_header(call->r, "Allow",
                            post_only ? "POST, OPTIONS" : "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS", &ec))
        call->r->body.failed = true;
}

/* Browsers ask before they send a request of another site; the consoles allow none. */
static void answer_options(struct console_call *call)
{
    const struct http_request *q = call->route->q;
    bool preflight = request_get_header(q, "Origin") && request_get_header(q, "Access-Control-Request-Method");
    struct refusal refusal;

    write_allow(call);
    if (call->dialect == DIALECT_A && !preflight && call->endpoint->need != NEED_NOBODY) {
        if (console_find_actor(call, &refusal)) {
            console_fail_refusal(call, &refusal);
            return;
        }
        if (!call->has_actor) {
            refuse_stranger(call);
            return;
        }
    }
    call->r->status = preflight && call->dialect & DIALECTS_AB ? 403 : 200;
    call->r->content_type = "text/plain";
    buf_clear(&call->r->body);
    if (call->r->status == 403)
        buf_puts(&call->r->body, "Invalid CORS request");
}

/* In A a stranger is sent to the login page whatever is wrong with his request. */
static void refuse_request(struct console_call *call, int status, const char *why)
{
    struct refusal refusal;

    if (call->dialect == DIALECT_A && !call->has_actor && console_find_actor(call, &refusal)) {
        console_fail_refusal(call, &refusal);
        return;
    }
    if (status == 405)
        write_allow(call);
    if (call->dialect == DIALECT_A && !call->has_actor)
        refuse_stranger(call);
    else
        console_fail_status(call, status, "%s", why);
}

/* ---- accept ------------------------------------------------------------------------------------------------------ */

static bool accepts_json(const char *accept)
{
    for (const char *at = accept; at && *at;) {
        at += strspn(at, " \t,");
        size_t n = strcspn(at, ",; \t");
        if ((n == 3 && !strncmp(at, "*/*", 3)) || (n == 13 && !strncasecmp(at, "application/*", 13)) ||
            (n == 16 && !strncasecmp(at, "application/json", 16)) ||
            (n >= 18 && !strncasecmp(at, "application/", 12) && !strncasecmp(at + n - 5, "+json", 5)))
            return true;
        at += strcspn(at, ",");
    }
    return !accept || !accept[strspn(accept, " \t,")];
}

/* As in the original: the work is done, and the client does not want to know. */
static void check_accept(struct console_call *call)
{
    if (call->endpoint->kind != CONSOLE_CALL || call->r->status != 200 ||
        accepts_json(request_get_header(call->route->q, "Accept")))
        return;
    console_fail_status(call, 406, "the call was carried out, but its answer is JSON, which Accept does not allow");
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* The fields of a multipart body. ERR_INPUT: it is none. */
static enum err load_parts(struct console_call *call, const char *type, struct errctx *ec)
{
    const struct http_request *q = call->route->q;
    struct multipart_field *fields = calloc(PARAMS_MAX, sizeof *fields);
    size_t count = 0;
    enum err e = fields ? multipart_parse(type, q->body, q->body_len, fields, PARAMS_MAX, &count, ec)
                        : err_set(ec, ERR_NOMEM, "out of memory for the parameters");

    if (!e)
        e = params_load(q->query, NULL, 0, fields, count, &call->params, ec);
    free(fields);
    return e;
}

/* A body of another type counts as no parameters, and so does that of a GET. */
static enum err load_params(struct console_call *call, struct errctx *ec)
{
    const struct http_request *q = call->route->q;
    const char *type = request_get_header(q, "Content-Type");
    bool has_body = q->body_state == BODY_WHOLE && q->body_len && strcmp(q->method, "GET") && strcmp(q->method, "HEAD");

    if (has_body && multipart_is(type)) {
        enum err e = load_parts(call, type, &call->broken);
        if (e != ERR_INPUT)
            return e ? err_set(ec, e, "%s", call->broken.text) : ERR_OK;
        has_body = false;
    }
    has_body = has_body && media_is(type, "application/x-www-form-urlencoded");
    return params_load(q->query, has_body ? q->body : NULL, has_body ? q->body_len : 0, NULL, 0, &call->params, ec);
}

static void find_endpoint(struct console_call *call)
{
    const struct http *h = call->route->h;
    unsigned possible = find_dialects(call->route->path);

    call->dialect = dialect_choose(possible ? possible : DIALECTS_ALL, call->route->path, &call->params,
                                   visitor_has_cookie(call->route, ROW_COOKIE),
                                   visitor_has_cookie(call->route, visitor_token_cookie(h)), h->opts.console_dialect,
                                   h->generation);
    call->endpoint = possible ? find_row(call->route->path, call->dialect) : NULL;
    snprintf(call->actor.via, sizeof call->actor.via, "console %s", dialect_name(call->dialect));
    request_get_client_address(call->route->q, call->actor.address);
}

/* A page of somebody else's may have made the browser send this. NULL: no. */
static const char *find_foreign(const struct console_call *call)
{
    const struct http_request *q = call->route->q;

    if (call->endpoint->kind != CONSOLE_CALL)
        return NULL;
    if (request_is_foreign(q))
        return visitor_foreign_text;
    return console_may_change(call->endpoint) && request_may_be_foreign(q) ? visitor_unclear_text : NULL;
}

/* False: who calls may not, and the answer is there. Nobody's page may log somebody in or out. */
static bool check_login(struct console_call *call)
{
    const char *foreign = find_foreign(call);
    struct refusal refusal;

    if (call->endpoint->need == NEED_NOBODY) {
        if (foreign)
            console_fail_status(call, 403, "%s", foreign);
        return !foreign;
    }
    if (console_find_actor(call, &refusal))
        console_fail_refusal(call, &refusal);
    else if (!call->has_actor)
        refuse_stranger(call);
    else if (foreign && call->by_browser)
        console_fail_status(call, 403, "%s", foreign);
    else if (call->endpoint->need == NEED_ADMIN && call->actor.role != ROLE_ADMIN)
        refuse_role(call);
    else
        return true;
    return false;
}

static bool check_params(struct console_call *call)
{
    const struct http_request *q = call->route->q;

    if (q->body_state == BODY_TOO_LARGE)
        console_fail_status(call, 413, "the body is larger than %zu bytes", q->max_body);
    else if (q->body_state != BODY_WHOLE)
        console_fail_status(call, 503, "the body is incomplete: send it again");
    else if (*call->broken.text)
        console_fail_status(call, 400, "the body cannot be read: %.400s", call->broken.text);
    else if (*call->params.bad)
        console_fail_status(call, 400, "parameter %s is not UTF-8, or has a NUL", call->params.bad);
    else if (call->params.too_many)
        console_fail_status(call, 400, "there are more than %d parameters", PARAMS_MAX);
    else
        return true;
    return false;
}

static void answer_endpoint(struct console_call *call)
{
    call->endpoint->answer(call);
    check_accept(call);
}

static void answer_call(struct console_call *call)
{
    unsigned method = route_find_method(call->route->q->method);

    if (method == ROUTE_OPTIONS && call->endpoint)
        answer_options(call);
    else if (!call->endpoint)
        refuse_request(call, 404, "there is no such page");
    else if (!(call->endpoint->methods & method))
        refuse_request(call, 405, "this path does not support this method");
    else if (check_login(call) && check_params(call))
        answer_endpoint(call);
}

static void answer(const struct route_call *route, struct http_response *r)
{
    struct console_call call = {
        .route = route, .r = r, .lang = route->h->opts.lang, .admin = route->h->opts.admin, .dialect = DIALECT_A};
    struct errctx ec;

    if (load_params(&call, &ec)) {
        response_set_error(r, 500, ec.text);
        return;
    }
    find_endpoint(&call);
    answer_call(&call);
    params_fini(&call.params);
    identity_fini(&call.who);
}

/* In A the path is a call, of POST; browsers come for our page. */
static void answer_login(const struct route_call *route, struct http_response *r)
{
    if (console_is_for_browser(route->q))
        web_write_page(route, r);
    else
        answer(route, r);
}

/* ---- the table of the router ------------------------------------------------------------------------------------- */

/* Our own pages are for anybody: what is in them is asked of api/v1, which looks who asks. */

static bool admit(const struct route_call *call, struct http_response *r)
{
    if (call->h->opts.admin)
        return true;
    if (!*call->path)
        web_write_page(call, r);
    else
        response_set_error(r, 404, "there is no such page");
    return false;
}

/* TRACE and CONNECT: for all else "*" is there. */
static void refuse_method(const struct route_call *call, struct http_response *r)
{
    (void)call;
    response_set_error(r, 405, "this path does not support this method");
}

/* GLUE sources come by these. */
static size_t get_max_body(const struct route_call *call)
{
    static const char *const paths[] = {"/jobcode/save", "/jobinfo/add", "/jobinfo/insert", "/jobinfo/update"};

    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        if (!strcmp(call->path, paths[i]))
            return BODY_MAX_SOURCE;
    }
    return BODY_MAX_USUAL;
}

#define OURS(pattern)                                                                                                  \
    {                                                                                                                  \
        ROUTE_GET, pattern, HTTP_LANE_AT_ONCE, ROUTE_ANYBODY, web_write_page                                           \
    }
#define ICON(pattern)                                                                                                  \
    {                                                                                                                  \
        ROUTE_GET, pattern, HTTP_LANE_AT_ONCE, ROUTE_ANYBODY, web_write_icon                                           \
    }

static const struct route routes[] = {
    {ROUTE_GET, "/login", HTTP_LANE_CONSOLE, ROUTE_ANYBODY, answer_login},
    OURS("/jobs"),
    OURS("/jobs/{id}"),
    OURS("/jobs/{id}/{tab}"),
    OURS("/flows"),
    OURS("/flows/{id}"),
    OURS("/flows/{id}/{tab}"),
    OURS("/flow-runs/{id}"),
    OURS("/runs"),
    OURS("/runs/{id}"),
    OURS("/executors"),
    OURS("/executors/{id}"),
    OURS("/cluster"),
    OURS("/alarms"),
    OURS("/events"),
    OURS("/events/deliveries"),
    OURS("/users"),
    OURS("/tokens"),
    OURS("/audit"),
    OURS("/settings"),
    OURS("/import"),
    OURS("/account"),
    ICON("/favicon.svg"),
    ICON("/favicon.ico"),
    {ROUTE_ANY, "*", HTTP_LANE_CONSOLE, ROUTE_ANYBODY, answer},
};

const struct route_table console_routes = {.below = "",
                                           .routes = routes,
                                           .count = ARRAY_LEN(routes),
                                           .get_max_body = get_max_body,
                                           .refuse = refuse_method,
                                           .admit = admit};
