/* SPDX-License-Identifier: MIT */
#include "admin/people/factor.h"

#include "admin/people/identity.h"
#include "admin/people/people.h"
#include "admin/people/throttle.h"
#include "admin/people/totp.h"
#include "shardwheel/config.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PENDING_MS (60 * 60 * 1000)

/* ---- who needs one ----------------------------------------------------------------------------------------------- */

unsigned factor_parse_roles(const char *text)
{
    unsigned roles = 0;

    for (int role = ROLE_ADMIN; role <= ROLE_READER; role++)
        if (!strcmp(text, "all") || text_list_has(text, role_name((enum admin_role)role)))
            roles |= 1u << role;
    return roles;
}

static bool is_needed(const struct admin *a, const struct user *u)
{
    return a->factor_roles & 1u << user_find_role(u);
}

bool factor_is_asked(const struct admin *a, const struct user *u)
{
    return u->factor_ms || is_needed(a, u);
}

bool factor_is_missing(const struct admin *a, const struct user *u, const struct session_row *session)
{
    bool shown = u->factor_ms && session->factor_ms >= u->factor_ms;

    return is_needed(a, u) && !u->source[0] && !shown;
}

/* ---- codes ------------------------------------------------------------------------------------------------------- */

struct code_question {
    const struct factor_row *factor;
    const char *code;
    bool of_pending;            /* a code of the pending secret; else of the one in use, or a recovery code */
    int64_t step;               /* that it is of; 0: none */
    char hash[SECRET_HASH_MAX]; /* of the recovery code that it is; "": none */
};

static bool is_recovery(const struct factor_row *f, const char *hash)
{
    bool found = false;

    for (size_t i = 0; i < f->code_count; i++)
        found |= str_equal_const_time(f->codes[i], hash);
    return found;
}

static bool fits(void *arg)
{
    struct code_question *q = arg;
    const struct factor_row *f = q->factor;

    q->hash[0] = '\0';
    q->step = q->of_pending ? totp_find_step(f->pending, q->code, f->now_ms, 0)
                            : totp_find_step(f->secret, q->code, f->now_ms, f->last_step);
    if (q->step || q->of_pending)
        return q->step != 0;
    if (recovery_hash(q->code, q->hash) && is_recovery(f, q->hash))
        return true;
    q->hash[0] = '\0';
    return false;
}

static enum err refuse_code(struct refusal *r)
{
    return refuse(r, REFUSED_INVALID, "code", "the code is wrong, or was used before");
}

/* Of the secret in use. Used up once it was right: of several who show the same one at once, one comes through. */
static enum err use_code(struct admin *a, struct store_session *s, const struct user *u, const char *address,
                         const struct factor_row *f, const char *code, const char **how, struct refusal *r)
{
    struct code_question q = {.factor = f, .code = code};
    bool right = false;
    enum err e = throttle_try_code(a, s, u->name, address, fits, &q, &right, r);

    if (!e && right && q.step)
        e = store_use_factor_step(s, u->id, f->secret, q.step, &right, &r->text);
    else if (!e && right)
        e = store_use_recovery(s, u->id, q.hash, &right, &r->text);
    *how = q.step ? "code" : "recoveryCode";
    return !e && !right ? refuse_code(r) : e;
}

static enum err make_codes(struct recovery_codes *out, char hashes[RECOVERY_CODES][SECRET_HASH_MAX], struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; i < RECOVERY_CODES && !e; i++) {
        e = recovery_make(out->text[i], ec);
        if (!e && !recovery_hash(out->text[i], hashes[i]))
            e = err_set(ec, ERR_STATE, "a recovery code has the wrong form");
    }
    return e;
}

/* ---- setting up -------------------------------------------------------------------------------------------------- */

static enum err begin(struct store_session *s, const struct user *u, struct factor_setup *out, struct refusal *r)
{
    struct factor_setup setup = {{0}, {0}};
    struct buf url = {0};
    enum err e = totp_make_secret(setup.secret, &r->text);

    totp_put_url(&url, u->name, setup.secret);
    if (!e && (buf_failed(&url) || url.len >= sizeof setup.url))
        e = err_set(&r->text, ERR_NOMEM, "the name is too long for a second factor");
    if (!e) {
        snprintf(setup.url, sizeof setup.url, "%s", url.data);
        e = store_set_pending_factor(s, u->id, setup.secret, &r->text);
    }
    buf_fini(&url);
    if (!e)
        *out = setup;
    return e;
}

static bool is_pending(const struct factor_row *f)
{
    return f->pending[0] && f->now_ms - f->pending_ms < PENDING_MS;
}

/* By the first code of the pending secret, which who->session has shown. */
static enum err confirm(struct admin *a, struct store_session *s, const struct user *u, const struct identity *who,
                        const struct factor_row *f, const char *code, struct recovery_codes *out, struct refusal *r)
{
    char hashes[RECOVERY_CODES][SECRET_HASH_MAX];
    struct code_question q = {.factor = f, .code = code, .of_pending = true};
    struct recovery_codes codes;
    struct audit_diff d;
    bool right = false;
    enum err e = throttle_try_code(a, s, u->name, who->actor.address, fits, &q, &right, r);

    if (e || !right)
        return e ? e : refuse_code(r);
    audit_begin(&d, f->secret[0] ? AUDIT_CHANGED : AUDIT_ADDED);
    if (f->secret[0])
        audit_secret(&d, "secondFactor", true);
    e = make_codes(&codes, hashes, &r->text);
    if (!e)
        e = store_confirm_factor(s, u->id, who->session, f->pending, q.step, (const char(*)[SECRET_HASH_MAX])hashes,
                                 audit_end(&d, &who->actor, "second-factor.add", u->id, u->name, 0), &right, &r->text);
    audit_fini(&d);
    identity_cache_clear(&a->identities);
    if (!e && !right)
        e = refuse_code(r);
    if (!e)
        *out = codes;
    return e;
}

/* ---- login ------------------------------------------------------------------------------------------------------- */

static enum err set_up_by_login(struct admin *a, struct store_session *s, const struct login_form *form,
                                const struct origin *from, const struct factor_row *f, struct login *login,
                                struct refusal *r)
{
    struct identity who = {0};
    enum err e;

    if (str_is_blank(form->code) || !is_pending(f)) {
        e = begin(s, &login->user, &login->setup, r);
        return e ? e
                 : refuse(r, REFUSED_STATE, "code",
                          "a second factor must be set up: add the secret to an authenticator app, and log in with "
                          "the code that it shows");
    }
    e = identity_make(&login->user, &who, r);
    if (!e) {
        identity_set_origin(&who, from, from->via);
        e = confirm(a, s, &login->user, &who, f, form->code, &login->codes, r);
    }
    identity_fini(&who);
    return e;
}

enum err factor_check_login(struct admin *a, struct store_session *s, const struct login_form *form,
                            const struct origin *from, struct login *login, const char **how, struct refusal *r)
{
    struct factor_row f;
    enum err e;

    *how = "setUp";
    if (!form->takes_code)
        return refuse(r, REFUSED_OFF, NULL,
                      "this user logs in with a second factor: use the console of shardwheel, or a token of api/v1");
    e = store_load_factor(s, login->user.id, &f, &r->text);
    if (e)
        return e;
    if (!f.secret[0])
        return set_up_by_login(a, s, form, from, &f, login, r);
    if (str_is_blank(form->code))
        return refuse(r, REFUSED_REQUIRED, "code", "a code of the authenticator app or a recovery code is required");
    return use_code(a, s, &login->user, from->address, &f, form->code, how, r);
}

/* ---- one's own --------------------------------------------------------------------------------------------------- */

/* What each of these begins with. */
static enum err enter(struct admin *a, const struct identity *who, struct store_session **s, struct user *u,
                      struct factor_row *f, struct refusal *r)
{
    enum err e;

    if (who->token_id || !who->actor.user_id)
        return refuse(r, REFUSED_RIGHT, NULL, "a second factor is for logins, not for tokens");
    e = admin_take_session(a, s, r);
    if (!e)
        e = store_load_user(*s, who->actor.user_id, u, &r->text);
    if (!e)
        e = store_load_factor(*s, u->id, f, &r->text);
    return e;
}

static enum err refuse_none(struct refusal *r)
{
    return refuse(r, REFUSED_STATE, NULL, "no second factor is in use");
}

/* Password, and a code of the one in use where there is one. */
static enum err prove(struct admin *a, struct store_session *s, const struct identity *who, const struct user *u,
                      const struct factor_row *f, const char *password, const char *code, struct refusal *r)
{
    const char *how;
    enum err e;

    if (str_is_blank(password))
        return refuse(r, REFUSED_REQUIRED, "password", "password is required");
    if (f->secret[0] && str_is_blank(code))
        return refuse(r, REFUSED_REQUIRED, "code", "a code of the authenticator app or a recovery code is required");
    e = person_check_password(a, who, u, "password", password, r);
    return e || !f->secret[0] ? e : use_code(a, s, u, who->actor.address, f, code, &how, r);
}

enum err admin_load_factor(struct admin *a, const struct identity *who, struct factor_state *out, struct refusal *r)
{
    struct store_session *s = NULL;
    struct user u = {0};
    struct factor_row f;
    enum err e = enter(a, who, &s, &u, &f, r);

    if (!e)
        *out = (struct factor_state){
            .since_ms = f.since_ms, .needed = is_needed(a, &u), .codes_left = f.secret[0] ? f.code_count : 0};
    user_fini(&u);
    return admin_end(a, s, e, r);
}

enum err admin_begin_factor(struct admin *a, const struct identity *who, const char *password, const char *code,
                            struct factor_setup *out, struct refusal *r)
{
    struct store_session *s = NULL;
    struct user u = {0};
    struct factor_row f;
    enum err e = enter(a, who, &s, &u, &f, r);

    if (!e)
        e = prove(a, s, who, &u, &f, password, code, r);
    if (!e)
        e = begin(s, &u, out, r);
    user_fini(&u);
    return admin_end(a, s, e, r);
}

enum err admin_confirm_factor(struct admin *a, const struct identity *who, const char *code, struct recovery_codes *out,
                              struct refusal *r)
{
    struct store_session *s = NULL;
    struct user u = {0};
    struct factor_row f;
    enum err e = enter(a, who, &s, &u, &f, r);

    if (!e && str_is_blank(code))
        e = refuse(r, REFUSED_REQUIRED, "code", "a code of the authenticator app is required");
    if (!e && !is_pending(&f))
        e = refuse(r, REFUSED_STATE, NULL, "no setup of a second factor was begun within the last hour");
    if (!e)
        e = confirm(a, s, &u, who, &f, code, out, r);
    user_fini(&u);
    return admin_end(a, s, e, r);
}

static enum err write_new_codes(struct store_session *s, const struct user *u, const struct actor *actor,
                                struct recovery_codes *out, struct refusal *r)
{
    char hashes[RECOVERY_CODES][SECRET_HASH_MAX];
    struct recovery_codes codes;
    struct audit_diff d;
    enum err e = make_codes(&codes, hashes, &r->text);

    audit_begin(&d, AUDIT_CHANGED);
    audit_secret(&d, "recoveryCodes", true);
    if (!e)
        e = store_replace_recovery(s, u->id, (const char(*)[SECRET_HASH_MAX])hashes,
                                   audit_end(&d, actor, "second-factor.codes", u->id, u->name, 0), &r->text);
    audit_fini(&d);
    if (!e)
        *out = codes;
    return e == ERR_NOTFOUND ? refuse_none(r) : e;
}

enum err admin_renew_recovery(struct admin *a, const struct identity *who, const char *password, const char *code,
                              struct recovery_codes *out, struct refusal *r)
{
    struct store_session *s = NULL;
    struct user u = {0};
    struct factor_row f;
    enum err e = enter(a, who, &s, &u, &f, r);

    if (!e && !f.secret[0])
        e = refuse_none(r);
    if (!e)
        e = prove(a, s, who, &u, &f, password, code, r);
    if (!e)
        e = write_new_codes(s, &u, &who->actor, out, r);
    user_fini(&u);
    return admin_end(a, s, e, r);
}

/* ---- removing ---------------------------------------------------------------------------------------------------- */

static enum err remove_factor(struct admin *a, struct store_session *s, const struct user *u, const struct actor *actor,
                              struct refusal *r)
{
    const struct audit_row row = audit_bare(AUDIT_REMOVED, actor, "second-factor.remove", u->id, u->name, 0);
    enum err e = store_remove_factor(s, u->id, &row, &r->text);

    identity_cache_clear(&a->identities);
    return e;
}

enum err admin_remove_own_factor(struct admin *a, const struct identity *who, const char *password, const char *code,
                                 struct refusal *r)
{
    struct store_session *s = NULL;
    struct user u = {0};
    struct factor_row f;
    enum err e = enter(a, who, &s, &u, &f, r);

    if (!e && is_needed(a, &u))
        e = refuse(r, REFUSED_OFF, NULL, "the role %s needs a second factor: set up another one instead",
                   role_name(user_find_role(&u)));
    if (!e && !f.secret[0])
        e = refuse_none(r);
    if (!e)
        e = prove(a, s, who, &u, &f, password, code, r);
    if (!e && (e = remove_factor(a, s, &u, &who->actor, r)) == ERR_NOTFOUND)
        e = refuse_none(r);
    user_fini(&u);
    return admin_end(a, s, e, r);
}

enum err admin_remove_factor(struct admin *a, const struct actor *actor, int64_t id, struct refusal *r)
{
    struct store_session *s = NULL;
    struct user u = {0};
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    if (!e && id == actor->user_id)
        e = refuse(r, REFUSED_SELF, "id", "to remove your own second factor, use the password and a code");
    if (!e)
        e = person_load(a, id, &u, r);
    if (!e)
        e = admin_take_session(a, &s, r);
    if (!e && (e = remove_factor(a, s, &u, actor, r)) == ERR_NOTFOUND)
        e = refuse(r, REFUSED_UNKNOWN, "id", "user %" PRId64 " has no second factor", id);
    user_fini(&u);
    return admin_end(a, s, e, r);
}

enum err admin_reset_factor(struct admin *a, const struct actor *actor, const char *name, struct refusal *r)
{
    struct store_session *s = NULL;
    struct user u = {0};
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, &s, r);

    if (!e && (e = store_find_user(s, name, &u, &r->text)) == ERR_NOTFOUND)
        e = refuse(r, REFUSED_UNKNOWN, "username", "there is no user %.100s", name);
    else if (!e && (e = remove_factor(a, s, &u, actor, r)) == ERR_NOTFOUND)
        e = refuse(r, REFUSED_UNKNOWN, "username", "user %.100s has no second factor", name);
    user_fini(&u);
    return admin_end(a, s, e, r);
}
