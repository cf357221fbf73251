/* SPDX-License-Identifier: MIT */
/* Logging in and out, and the sessions that somebody has. */
#include "shardwheel/admin/login.h"

#include "admin/people/factor.h"
#include "admin/people/identity.h"
#include "admin/people/login_impl.h"
#include "admin/people/password.h"
#include "admin/people/people.h"
#include "admin/people/throttle.h"
#include "shardwheel/admin/audit.h"
#include "shardwheel/admin/weak.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void login_fini(struct login *login)
{
    user_fini(&login->user);
    *login = (struct login){0};
}

/* ---- audit ------------------------------------------------------------------------------------------------------- */

/* A row of who logged in, or tried to; `factor`: what was shown as the second one, NULL: nothing. `d` keeps the
 * texts; *who the actor. */
static enum err make_row(struct audit_diff *d, struct identity *who, const struct user *u, const struct origin *from,
                         const char *action, const char *factor, struct refusal *r)
{
    enum err e = identity_make(u, who, r);

    audit_begin(d, AUDIT_ADDED);
    if (e)
        return e;
    audit_text(d, "secondFactor", NULL, factor);
    identity_set_origin(who, from, from->via);
    audit_end(d, &who->actor, action, u->id, u->name, 0);
    return ERR_OK;
}

/* ---- login ------------------------------------------------------------------------------------------------------- */

static enum err begin_session(struct store_session *s, int64_t lives_ms, bool factor, const struct origin *from,
                              const struct audit_row *audit, struct login *login, struct refusal *r)
{
    struct session_row row = {.user_id = login->user.id, .lives_ms = lives_ms, .factor_ms = factor};
    enum err e = random_hex(login->secret, SESSION_SECRET_LEN / 2, &r->text);

    if (!e) {
        sha256_hex(login->secret, row.id);
        sha256_hex(login->user.password, row.password);
        snprintf(row.address, sizeof row.address, "%s", from->address ? from->address : "");
        snprintf(row.agent, sizeof row.agent, "%s", from->agent ? from->agent : "");
        e = ERR_CONFLICT;
        /* Logins of one user at once may meet in a deadlock over the sessions that are too many. */
        for (int i = 0; i < DEADLOCKS_MAX && e == ERR_CONFLICT; i++)
            e = store_add_session(s, &row, SESSIONS_MAX, audit, &r->text);
        e = throttle_end_deadlocks(e, &r->text);
    }
    return e;
}

enum err login_let_in(struct admin *a, struct store_session *s, const char *password, const char *factor, bool row,
                      int64_t lives_ms, const struct origin *from, struct login *login, struct refusal *r)
{
    struct audit_diff d;
    struct identity who = {0};
    int length = 0;
    enum err e = make_row(&d, &who, &login->user, from, "session.begin", factor, r);

    if (!e && password)
        e = password_move(a, s, &login->user, password, &who.actor, r);
    if (!e)
        e = store_get_password_length(s, &length, &r->text);
    login->row = row && password_column_is_md5(length) && strlen(login->user.password) == 32;
    if (!e && login->row)
        e = store_write_audit(s, &d.row, &r->text);
    else if (!e)
        e = begin_session(s, lives_ms, factor != NULL, from, &d.row, login, r);
    audit_fini(&d);
    identity_fini(&who);
    return e;
}

/* An unknown name leaves a row as well, or the time taken would tell it from a wrong password. The name itself does not
 * stand there: people type passwords in its place. */
void login_note_refusal(struct admin *a, struct store_session *s, const struct user *u, const struct origin *from)
{
    char nameless[] = "";
    struct user nobody = {.name = nameless};
    struct audit_diff d;
    struct identity who = {0};
    struct refusal r;

    if (!make_row(&d, &who, u->id ? u : &nobody, from, "session.refused", NULL, &r))
        (void)!store_write_audit(s, &d.row, NULL); /* the refusal stands without it */
    log_limited(&a->login_log, a->clock, LOG_WARN, "admin", "event=login_refused user=%s address=%s",
                log_quote(u->id ? u->name : "").s, log_quote(from->address ? from->address : "").s);
    audit_fini(&d);
    identity_fini(&who);
}

static enum err look_up(struct store_session *s, const struct login_form *form, const struct origin *from,
                        struct login *login, struct throttle *t, struct refusal *r)
{
    bool known = false;
    enum err e = store_find_user(s, form->name, &login->user, &r->text);

    /* An unknown one is all zero, and goes the same way. Strangers who try a user's name must not keep him from logging
     * in where he works. */
    if (!e || e == ERR_NOTFOUND)
        e = store_has_session_from(s, login->user.id, from->address ? from->address : "", &known, &r->text);
    if (e)
        return e;
    throttle_make(t, login->user.id ? login->user.name : form->name, from->address, known);
    return ERR_OK;
}

static enum err try_login(struct admin *a, struct store_session *s, const struct login_form *form,
                          const struct throttle *t, const struct origin *from, struct login *login, struct refusal *r)
{
    bool right = false, barred;
    const char *factor = NULL;
    enum err e = throttle_try(a, s, t, &login->user, form->password, &right, r);

    if (e)
        return e;
    if (right && (login->user.source[0] || !admin_is_local_login(a, login->user.name))) {
        counters_add(a->counters, COUNTER_LOGINS_REFUSED, 1);
        login_note_refusal(a, s, &login->user, from);
        return refuse(r, REFUSED_OFF, NULL,
                      "this user does not log in with a password here: use your organization's login");
    }
    barred = right && admin_is_strict(a) && weak_is_password(form->password);
    if (!right || barred)
        counters_add(a->counters, COUNTER_LOGINS_REFUSED, 1);
    if (barred)
        return refuse(r, REFUSED_OFF, NULL,
                      "the password is a public default, and shardwheel.security.strict is on: an administrator must "
                      "set another one");
    if (right && factor_is_asked(a, &login->user)) {
        e = factor_check_login(a, s, form, from, login, &factor, r);
        if (e && r->kind == REFUSED_INVALID) {
            counters_add(a->counters, COUNTER_LOGINS_REFUSED, 1);
            login_note_refusal(a, s, &login->user, from);
        }
        if (e)
            return e;
    }
    if (right) {
        counters_add(a->counters, COUNTER_LOGINS, 1);
        return login_let_in(a, s, form->password, factor, form->row,
                            form->remember ? SESSION_KEPT_IDLE_MS : SESSION_IDLE_MS, from, login, r);
    }
    login_note_refusal(a, s, &login->user, from);
    return refuse(r, REFUSED_INVALID, NULL, "the user name or the password is wrong");
}

enum err admin_login(struct admin *a, const struct login_form *form, const struct origin *from, struct login *out,
                     struct refusal *r)
{
    struct store_session *s = NULL;
    struct login login = {0};
    struct throttle t;
    bool outside = false;
    enum err e;

    if (str_is_blank(form->name))
        return refuse(r, REFUSED_REQUIRED, "username", "username is required");
    if (str_is_blank(form->password))
        return refuse(r, REFUSED_REQUIRED, "password", "password is required");
    e = admin_take_session(a, &s, r);
    if (!e)
        e = look_up(s, form, from, &login, &t, r);
    if (!e && !(outside = login_is_of_directory(a, &login.user)))
        e = try_login(a, s, form, &t, from, &login, r);
    e = admin_end(a, s, e, r);
    if (!e && outside)
        e = login_by_directory(a, form, &t, from, &login, r);
    if (e) {
        struct factor_setup setup = login.setup;
        login_fini(&login);
        *out = (struct login){.setup = setup};
        return hide_fault(a, e, r);
    }
    *out = login;
    return ERR_OK;
}

/* ---- the end of sessions ----------------------------------------------------------------------------------------- */

/* `java`: the secret of a Java admin's; else the one of that id, NULL: all of them. */
static enum err end_sessions(struct admin *a, const struct identity *who, const char *id, const char *java,
                             struct refusal *r)
{
    int64_t user_id = who->actor.user_id;
    const struct audit_row row = audit_bare(AUDIT_REMOVED, &who->actor, "session.end", user_id, who->actor.name, 0);
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = java ? store_end_java_session(s, user_id, java, &row, &r->text)
                 : store_remove_session(s, user_id, id, &row, &r->text);
    identity_cache_clear(&a->identities);
    return admin_end(a, s, e, r);
}

enum err admin_logout(struct admin *a, const struct proof *proof, const struct origin *from, struct refusal *r)
{
    struct identity who = {0};
    enum err e = admin_identify(a, proof, from, &who, r);

    if (e)
        return r->kind == REFUSED_UNKNOWN ? ERR_OK : e;
    if (who.session[0] || who.java)
        e = end_sessions(a, &who, who.session, who.session[0] ? NULL : proof->secret, r);
    identity_fini(&who);
    return e == ERR_NOTFOUND ? ERR_OK : e;
}

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

enum err admin_load_sessions(struct admin *a, const struct identity *who, struct session_row **out, size_t *count,
                             struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e)
        e = store_load_sessions(s, who->actor.user_id, SESSIONS_MAX, out, count, &r->text);
    return admin_end(a, s, e, r);
}

/* The id that begins so. */
static enum err find_session(struct admin *a, const struct identity *who, const char *name, char out[SECRET_HASH_MAX],
                             struct refusal *r)
{
    struct session_row *list = NULL;
    size_t count = 0;
    enum err e = admin_load_sessions(a, who, &list, &count, r);

    out[0] = '\0';
    for (size_t i = 0; i < count && !e; i++) {
        if (strlen(name) == SESSION_NAME_LEN && !strncmp(list[i].id, name, SESSION_NAME_LEN))
            memcpy(out, list[i].id, SECRET_HASH_MAX);
    }
    free(list);
    if (!e && !out[0])
        e = refuse(r, REFUSED_UNKNOWN, "id", "you have no such session");
    return e;
}

enum err admin_end_session(struct admin *a, const struct identity *who, const char *name, struct refusal *r)
{
    char id[SECRET_HASH_MAX];
    enum err e = ERR_OK;

    if (!(who->actor.rights & RIGHT_ADMINISTER))
        return refuse(r, REFUSED_RIGHT, NULL, "the token has no scope admin");
    if (name)
        e = find_session(a, who, name, id, r);
    return e ? e : end_sessions(a, who, name ? id : NULL, NULL, r);
}
