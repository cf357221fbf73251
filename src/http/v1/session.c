/* SPDX-License-Identifier: MIT */
/* Login and logout, who asks, his sessions, his password. */
#include "http/v1/write.h"
#include "http/visitor.h"
#include "shardwheel/admin/outside.h"
#include "shardwheel/admin/factor.h"
#include "shardwheel/admin/people.h"
#include "shardwheel/admin/tokens.h"

#include <stdlib.h>
#include <string.h>

/* ---- who it is --------------------------------------------------------------------------------------------------- */

static const char *name_proof(const struct identity *who)
{
    return who->token_id ? "token" : who->kind == PROOF_NAME ? "proxy" : who->session[0] ? "session" : "cookie";
}

static void put_codes(struct buf *b, const struct recovery_codes *codes)
{
    member_list(b, "recoveryCodes");
    for (size_t i = 0; i < RECOVERY_CODES; i++)
        member_text(b, NULL, codes->text[i]);
    member_list_end(b);
}

static void put_setup(struct buf *b, const struct factor_setup *setup)
{
    member_text(b, "secret", setup->secret);
    member_text(b, "url", setup->url);
}

/* `codes`: of a second factor that a login has set up; NULL: none. */
static void put_who(struct v1_call *c, const struct identity *who, const struct recovery_codes *codes)
{
    const struct actor *actor = &who->actor;
    struct buf *b = &c->r->body;
    int min, max;

    admin_get_password_length(c->admin, &min, &max);
    member_int(b, "userId", actor->user_id);
    member_text(b, "username", actor->name);
    member_text(b, "role", role_name(actor->role));
    if (actor->role == ROLE_ADMIN || actor->all_groups)
        member_null(b, "groups");
    else
        v1_put_ints(b, "groups", actor->groups, actor->group_count);
    v1_put_scopes(b, "rights", actor->rights & role_get_rights(actor->role));
    member_text(b, "by", name_proof(who));
    member_text(b, "source", who->source[0] ? who->source : NULL);
    member_int(b, "passwordMin", min);
    member_int(b, "passwordMax", max);
    if (codes)
        put_codes(b, codes);
}

static void answer_who(struct v1_call *c)
{
    if (!v1_is_refused(c))
        put_who(c, c->who, NULL);
}

/* ---- ways to log in ---------------------------------------------------------------------------------------------- */

static void answer_ways(struct v1_call *c)
{
    const struct http_opts *opts = &c->call->h->opts;
    struct buf *b = &c->r->body;

    if (v1_is_refused(c))
        return;
    member_bool(b, "password", admin_takes_passwords(c->admin));
    if (member_object_if(b, "oidc", opts->oidc)) {
        member_text(b, "title", opts->oidc_title && opts->oidc_title[0] ? opts->oidc_title : NULL);
        member_object_end(b);
    }
}

/* ---- login and logout -------------------------------------------------------------------------------------------- */

static void put_login(struct v1_call *c, const struct login *login, bool remember)
{
    char address[IP_TEXT_MAX];
    struct proof proof = {.kind = PROOF_SESSION, .user_id = login->user.id, .secret = login->secret};
    struct identity who;

    request_get_client_address(c->call->q, address);
    if (v1_has_failed(
            c, admin_identify(c->admin, &proof, &(struct origin){.address = address, .via = "api/v1"}, &who, &c->why)))
        return;
    put_who(c, &who, login->codes.text[0][0] ? &login->codes : NULL);
    if (!visitor_set_token_cookie(c->call, c->r, login, remember))
        c->r->body.failed = true;
    identity_fini(&who);
}

/* Who has shown the right password and no code, or a wrong one: what to do next. */
static bool ask_for_code(struct v1_call *c, const struct login *login)
{
    const struct refusal *why = &c->why;
    const char *kind = why->kind == REFUSED_REQUIRED  ? "code-required"
                       : why->kind == REFUSED_INVALID ? "code-wrong"
                       : why->kind == REFUSED_STATE   ? "code-setup"
                                                      : NULL;

    if (!kind || !why->field || strcmp(why->field, "code") != 0)
        return false;
    v1_write_problem(c, 401, kind, "code", why->text.text);
    if (login->setup.secret[0])
        put_setup(&c->r->body, &login->setup);
    return true;
}

static void answer_login(struct v1_call *c)
{
    char address[IP_TEXT_MAX];
    struct login_form form = {.name = v1_text(&c->body, "username", 200),
                              .password = v1_text(&c->body, "password", 200),
                              .code = v1_text(&c->body, "code", 50),
                              .takes_code = true,
                              .remember = v1_bool(&c->body, "remember", false)};
    struct login login = {0};

    request_get_client_address(c->call->q, address);
    struct origin from = {.address = address, .via = "api/v1", .agent = request_get_header(c->call->q, "User-Agent")};
    if (v1_is_refused(c))
        return;
    enum err e = admin_login(c->admin, &form, &from, &login, &c->why);
    if (e && c->why.kind == REFUSED_INVALID && !c->why.field) {
        v1_write_problem(c, 401, "login", NULL, c->why.text.text);
        return;
    }
    if (e && ask_for_code(c, &login))
        return;
    if (v1_has_failed(c, e))
        return;
    put_login(c, &login, form.remember);
    login_fini(&login);
}

static void answer_logout(struct v1_call *c)
{
    bool good = true;

    if (v1_is_refused(c) || v1_has_failed(c, visitor_end_session(c->call, "api/v1", &c->why)))
        return;
    if (visitor_has_cookie(c->call, visitor_token_cookie(c->call->h)))
        good = visitor_forget_token_cookie(c->call, c->r);
    if (good && visitor_has_cookie(c->call, ROW_COOKIE))
        good = visitor_forget_row_cookie(c->call, c->r);
    v1_set_no_content(c);
    if (!good)
        c->r->body.failed = true;
}

/* ---- password ---------------------------------------------------------------------------------------------------- */

static void answer_password(struct v1_call *c)
{
    v1_require(&c->body, "oldPassword");
    v1_require(&c->body, "password");
    const char *old = v1_text(&c->body, "oldPassword", 200), *wanted = v1_text(&c->body, "password", 200);

    if (!V1_FAILS_FOR(c, who, admin_change_password, old, wanted))
        v1_set_no_content(c);
}

/* ---- second factor ----------------------------------------------------------------------------------------------- */

static void answer_factor(struct v1_call *c)
{
    struct factor_state state;
    struct buf *b = &c->r->body;

    if (V1_FAILS_FOR(c, who, admin_load_factor, &state))
        return;
    v1_put_instant(b, "since", state.since_ms);
    member_bool(b, "required", state.needed);
    member_int(b, "recoveryCodesLeft", (int64_t)state.codes_left);
}

static const char *take_password(struct v1_call *c)
{
    v1_require(&c->body, "password");
    return v1_text(&c->body, "password", 200);
}

static void answer_begin_factor(struct v1_call *c)
{
    const char *password = take_password(c), *code = v1_text(&c->body, "code", 50);
    struct factor_setup setup;

    if (V1_FAILS_FOR(c, who, admin_begin_factor, password, code, &setup))
        return;
    put_setup(&c->r->body, &setup);
}

static void answer_codes(struct v1_call *c, enum err e, const struct recovery_codes *codes)
{
    if (v1_has_failed(c, e))
        return;
    put_codes(&c->r->body, codes);
}

static void answer_confirm_factor(struct v1_call *c)
{
    struct recovery_codes codes;

    v1_require(&c->body, "code");
    const char *code = v1_text(&c->body, "code", 50);
    if (!v1_is_refused(c))
        answer_codes(c, admin_confirm_factor(c->admin, c->who, code, &codes, &c->why), &codes);
}

static void answer_renew_recovery(struct v1_call *c)
{
    const char *password = take_password(c), *code = v1_text(&c->body, "code", 50);
    struct recovery_codes codes;

    if (!v1_is_refused(c))
        answer_codes(c, admin_renew_recovery(c->admin, c->who, password, code, &codes, &c->why), &codes);
}

static void answer_remove_factor(struct v1_call *c)
{
    const char *password = take_password(c), *code = v1_text(&c->body, "code", 50);

    if (!V1_FAILS_FOR(c, who, admin_remove_own_factor, password, code))
        v1_set_no_content(c);
}

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

static void put_session(struct buf *b, const struct session_row *row, const struct identity *who)
{
    char name[SESSION_NAME_LEN + 1];

    memcpy(name, row->id, SESSION_NAME_LEN);
    name[SESSION_NAME_LEN] = '\0';
    member_text(b, "id", name);
    v1_put_instant(b, "createdAt", row->created_ms);
    v1_put_instant(b, "usedAt", row->used_ms);
    v1_put_instant(b, "expiresAt", row->expires_ms);
    member_text(b, "address", row->address);
    member_text(b, "agent", row->agent);
    member_bool(b, "current", !strcmp(row->id, who->session));
}

static void answer_sessions(struct v1_call *c)
{
    struct session_row *list = NULL;
    size_t count = 0;

    if (V1_FAILS_FOR(c, who, admin_load_sessions, &list, &count))
        return;
    V1_PUT_LIST(&c->r->body, "items", list, count, put_session, c->who);
    free(list);
}

static void answer_end_session(struct v1_call *c)
{
    const char *id = v1_path_text(c, 0);

    if (!V1_FAILS_FOR(c, who, admin_end_session, id))
        v1_set_no_content(c);
}

static void answer_end_sessions(struct v1_call *c)
{
    if (!V1_FAILS_FOR(c, who, admin_end_session, NULL))
        v1_set_no_content(c);
}

static const struct v1_route routes[] = {
    {V1_ROUTE(ROUTE_GET, "/login", ROUTE_ANYBODY), V1_NO_BODY, 0, answer_ways},
    {V1_ROUTE(ROUTE_GET, "/session", ROUTE_LOGIN), V1_NO_BODY, 0, answer_who},
    {V1_ROUTE(ROUTE_POST, "/session", ROUTE_ANYBODY), V1_JSON_BODY, 0, answer_login},
    {V1_ROUTE(ROUTE_DELETE, "/session", ROUTE_ANYBODY), V1_NO_BODY, 0, answer_logout},
    {V1_ROUTE(ROUTE_POST, "/session/password", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_password},
    {V1_ROUTE(ROUTE_GET, "/session/second-factor", ROUTE_LOGIN), V1_NO_BODY, 0, answer_factor},
    {V1_ROUTE(ROUTE_POST, "/session/second-factor", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_begin_factor},
    {V1_ROUTE(ROUTE_POST, "/session/second-factor/confirm", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_confirm_factor},
    {V1_ROUTE(ROUTE_POST, "/session/second-factor/recovery-codes", ROUTE_LOGIN), V1_JSON_BODY, 0,
     answer_renew_recovery},
    {V1_ROUTE(ROUTE_POST, "/session/second-factor/remove", ROUTE_LOGIN), V1_JSON_BODY, 0, answer_remove_factor},
    {V1_ROUTE(ROUTE_GET, "/sessions", ROUTE_LOGIN), V1_NO_BODY, 0, answer_sessions},
    {V1_ROUTE(ROUTE_DELETE, "/sessions", ROUTE_LOGIN), V1_NO_BODY, 0, answer_end_sessions},
    {V1_ROUTE(ROUTE_DELETE, "/sessions/{id}", ROUTE_LOGIN), V1_NO_BODY, 0, answer_end_session},
};

const struct v1_topic v1_session = {routes, ARRAY_LEN(routes)};
