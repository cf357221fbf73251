/* SPDX-License-Identifier: MIT */
/* Login and logout, one's own password, and who a request is from. */
#include "http/console/console.h"

#include "http/console/refuse.h"
#include "http/visitor.h"
#include "shardwheel/admin/people.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- who it is --------------------------------------------------------------------------------------------------- */

static void forget_cookies(struct console_call *call, const struct visitor *v)
{
    if ((v->forget_row && !visitor_forget_row_cookie(call->route, call->r)) ||
        (v->forget_token && call->dialect != DIALECT_A && !visitor_forget_token_cookie(call->route, call->r)))
        call->r->body.failed = true;
}

enum err console_find_actor(struct console_call *call, struct refusal *r)
{
    struct visitor v;

    visitor_find(call->route, call->actor.via, console_may_change(call->endpoint), &v);
    call->has_actor = v.state == VISITOR_KNOWN;
    call->by_browser = v.by_browser;
    switch (v.state) {
    case VISITOR_KNOWN:
        identity_fini(&call->who);
        call->who = v.who;
        call->actor = v.who.actor;
        return ERR_OK;
    case VISITOR_NOBODY: forget_cookies(call, &v); break;
    case VISITOR_UNSURE: *r = v.why; break;
    }
    visitor_fini(&v);
    return v.state == VISITOR_UNSURE ? ERR_BUSY : ERR_OK;
}

/* ---- login ------------------------------------------------------------------------------------------------------- */

/* B has a text of another library here. */
static void succeed(struct console_call *call)
{
    if (call->dialect != DIALECT_B) {
        console_succeed(call);
        return;
    }
    buf_clear(&call->r->body);
    buf_puts(&call->r->body, "{\"code\":200,\"msg\":\"成功\",\"content\":null,\"success\":true}");
}

static void add_retry(struct console_call *call, const struct refusal *r)
{
    char seconds[24];
    struct errctx ec;

    snprintf(seconds, sizeof seconds, "%" PRId64, r->retry_s);
    if (response_add_header(call->r, "Retry-After", seconds, &ec))
        call->r->body.failed = true;
}

/* Who has to wait hears the same as who is wrong: clients know no other answer. */
static void refuse_login(struct console_call *call, const struct refusal *r)
{
    static const struct console_refusal table[] = {
        {REFUSED_REQUIRED, NULL, {SAY_LOGIN_EMPTY}},
        {REFUSED_INVALID, NULL, {SAY_LOGIN_INVALID}},
        {REFUSED_LIMIT, NULL, {SAY_LOGIN_INVALID}},
    };

    console_refuse_by(call, r, table, ARRAY_LEN(table));
    if (r->kind == REFUSED_LIMIT)
        add_retry(call, r);
}

static void answer_login(struct console_call *call)
{
    const char *remember = console_get_filter(call, "ifRemember");
    bool row = call->dialect == DIALECT_A, kept = !strcmp(remember, "on");
    struct login_form form = {.name = console_get_text(call, "userName"),
                              .password = console_get_text(call, "password"),
                              .remember = kept,
                              .row = row};
    struct origin from = {.address = call->actor.address,
                          .via = call->actor.via,
                          .agent = request_get_header(call->route->q, "User-Agent")};
    struct login login;
    struct refusal r;

    if (admin_login(call->admin, &form, &from, &login, &r)) {
        refuse_login(call, &r);
        return;
    }
    if (row ? visitor_set_row_cookie(call->route, call->r, &login, kept)
            : visitor_set_token_cookie(call->route, call->r, &login, kept))
        succeed(call);
    else
        call->r->body.failed = true;
    login_fini(&login);
}

/* ---- logout ------------------------------------------------------------------------------------------------------ */

static void answer_logout(struct console_call *call)
{
    struct refusal r;
    bool good = true;

    if (visitor_end_session(call->route, call->actor.via, &r)) {
        console_fail_refusal(call, &r);
        return;
    }
    if (visitor_has_cookie(call->route, ROW_COOKIE))
        good = visitor_forget_row_cookie(call->route, call->r);
    if (good && visitor_has_cookie(call->route, visitor_token_cookie(call->route->h)))
        good = visitor_forget_token_cookie(call->route, call->r);
    if (good)
        succeed(call);
    else
        call->r->body.failed = true;
}

/* ---- one's own password ------------------------------------------------------------------------------------------ */

/* A missing new password is told as a missing old one, as the original does. */
static void answer_password(struct console_call *call)
{
    static const struct console_refusal table[] = {
        {REFUSED_REQUIRED, NULL, {SAY_PLEASE_INPUT, SAY_OLD_PASSWORD}},
        {REFUSED_LENGTH, "password", {SAY_LENGTH_LIMIT, SAY_BOUNDS}},
        {REFUSED_INVALID, "oldPassword", {SAY_OLD_PASSWORD, SAY_INVALID}},
        {REFUSED_LIMIT, NULL, {SAY_OLD_PASSWORD, SAY_INVALID}},
    };
    struct refusal r;

    if (!admin_change_password(call->admin, &call->who, console_get_text(call, "oldPassword"),
                               console_get_text(call, "password"), &r)) {
        console_succeed(call);
        return;
    }
    console_refuse_by(call, &r, table, ARRAY_LEN(table));
    if (r.kind == REFUSED_LIMIT)
        add_retry(call, &r);
}

static const struct console_endpoint rows[] = {
    {"/login", DIALECT_A, ROUTE_POST, CONSOLE_CALL, NEED_NOBODY, answer_login},
    {"/logout", DIALECT_A, ROUTE_POST, CONSOLE_CALL, NEED_NOBODY, answer_logout},
    {"/auth/doLogin", DIALECTS_BCD, ROUTE_POST, CONSOLE_CALL, NEED_NOBODY, answer_login},
    {"/auth/logout", DIALECTS_BCD, ROUTE_POST, CONSOLE_CALL, NEED_NOBODY, answer_logout},
    {"/auth/updatePwd", DIALECTS_CD, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_password},
    {"/user/updatePwd", DIALECTS_AB, ROUTE_ANY, CONSOLE_CALL, NEED_USER, answer_password},
};

const struct console_topic console_login = {rows, ARRAY_LEN(rows)};
