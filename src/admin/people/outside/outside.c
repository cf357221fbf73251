/* SPDX-License-Identifier: MIT */
/* The login of people whom somebody else has proved, and what the settings say of logins. */
#include "shardwheel/admin/outside.h"

#include "admin/people/identity.h"
#include "admin/people/login_impl.h"
#include "admin/people/password.h"
#include "admin/people/people.h"
#include "shardwheel/admin/audit.h"
#include "shardwheel/config.h"
#include "shardwheel/store/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define TRIES 3 /* somebody else may log in, or change the row, meanwhile */
#define SESSION_DEFAULT_MS (INT64_C(8) * 3600 * 1000)

/* ---- settings ---------------------------------------------------------------------------------------------------- */

void login_rules_fini(struct login_rules *rules)
{
    free(rules->local);
    free(rules->mapping);
    *rules = (struct login_rules){0};
}

bool login_rules_make(const struct config *config, struct login_rules *out)
{
    struct login_rules rules = {.local = str_copy(config->login_local),
                                .mapping = str_copy(config->login_mapping),
                                .session_ms = config->login_outside_session_ms,
                                .tokens_ms = config->login_outside_tokens_ms};

    if (!rules.local || !rules.mapping) {
        login_rules_fini(&rules);
        return false;
    }
    *out = rules;
    return true;
}

enum err outside_check_config(const struct config *config, struct errctx *ec)
{
    struct mapping *m = NULL;
    enum err e = mapping_parse(config->login_mapping, &m, ec);

    mapping_destroy(m);
    return e ? err_wrap(ec, e, "%s: shardwheel.login.mapping", config_get_source(config, "shardwheel.login.mapping"))
             : ERR_OK;
}

void admin_get_outside_limits(struct admin *a, int64_t *session_ms, int64_t *tokens_ms)
{
    mutex_lock(&a->lock);
    *session_ms = a->login_rules.mapping ? a->login_rules.session_ms : SESSION_DEFAULT_MS;
    *tokens_ms = a->login_rules.tokens_ms;
    mutex_unlock(&a->lock);
}

bool admin_is_local_login(struct admin *a, const char *name)
{
    mutex_lock(&a->lock);
    bool may = !a->login_rules.local || local_may_login(a->login_rules.local, name);
    mutex_unlock(&a->lock);
    return may;
}

bool admin_takes_passwords(struct admin *a)
{
    if (a->opts.directory)
        return true;
    mutex_lock(&a->lock);
    bool takes = !a->login_rules.local || strcasecmp(a->login_rules.local, "none") != 0;
    mutex_unlock(&a->lock);
    return takes;
}

static enum err take_mapping(struct admin *a, struct mapping **out, struct refusal *r)
{
    mutex_lock(&a->lock);
    char *text = str_copy(a->login_rules.mapping ? a->login_rules.mapping : "");
    mutex_unlock(&a->lock);
    if (!text)
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    enum err e = mapping_parse(text, out, &r->text); /* it was checked when it was read */
    free(text);
    return refuse_error(r, e);
}

/* ---- role and groups --------------------------------------------------------------------------------------------- */

static bool is_meant(const struct mapped *is, const char *app_name)
{
    for (size_t i = 0; i < is->app_count; i++)
        if (mapping_fits(is->apps[i], app_name, false))
            return true;
    return false;
}

/* Ids of the groups that there are today, between commas. */
static enum err find_groups(struct store_session *s, const struct mapped *is, char **out, struct refusal *r)
{
    struct group_list list = {0};
    int64_t *ids = NULL;
    size_t count = 0;
    enum err e = refuse_error(r, store_load_groups(s, &list, &r->text));

    if (!e && !(ids = calloc(list.count + 1, sizeof *ids)))
        e = refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    for (size_t i = 0; i < list.count && !e; i++)
        if (is_meant(is, list.rows[i].app_name))
            ids[count++] = list.rows[i].id;
    if (!e && !(*out = groups_join(ids, count)))
        e = refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    free(ids);
    group_list_fini(&list);
    return e;
}

static enum err set_role(struct store_session *s, const struct mapped *is, struct user *u, struct refusal *r)
{
    size_t max = role_get_groups_max(is->role);
    char *groups = NULL;
    enum err e = is->all_groups ? ERR_OK : find_groups(s, is, &groups, r);

    if (!e && !user_set_role(u, is->role, groups))
        e = refuse_length(r, "groups", 0, max,
                          "shardwheel.login.mapping gives more executor groups than a user's row can hold: the list of "
                          "their ids can have at most %zu characters",
                          max);
    return e;
}

/* A password that a Java admin gave him goes, and his sessions with it. */
static enum err set_password(struct user *u, struct refusal *r)
{
    return u->password[0] && password_is_none(u->password) ? ERR_OK
                                                           : refuse_error(r, password_make_none(u->password, &r->text));
}

/* ---- the row ----------------------------------------------------------------------------------------------------- */

static void make_row(const struct outside_person *person, struct outside_row *out)
{
    struct buf text = {0};

    *out = (struct outside_row){.source = person->source, .subject = person->subject};
    buf_printf(&text, "%s %s", person->source, person->subject);
    if (!buf_failed(&text))
        sha256_hex(text.data, out->hash);
    buf_fini(&text);
}

/* Who acts: the person himself. */
static void set_actor(struct identity *who, const char *name, int64_t id, const struct origin *from)
{
    *who = (struct identity){.actor = {.user_id = id}};
    snprintf(who->actor.name, sizeof who->actor.name, "%s", name);
    identity_set_origin(who, from, from->via);
}

/* `was` NULL: there is none of him yet. */
static enum err write_user(struct admin *a, struct store_session *s, const struct user *was,
                           const struct outside_person *person, const struct outside_row *row, const struct mapped *is,
                           const struct origin *from, struct refusal *r)
{
    struct user u = {0};
    struct identity who;
    struct audit_diff d;
    int64_t id = 0;
    enum err e = ERR_OK;

    if (!was)
        e = check_name(person->name, 1, PERSON_NAME_MAX, &u.name, r);
    else if (!user_copy(was, &u))
        e = refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    audit_begin(&d, was ? AUDIT_CHANGED : AUDIT_ADDED);
    if (!e)
        e = set_role(s, is, &u, r);
    if (!e)
        e = set_password(&u, r);
    if (!e) {
        set_actor(&who, u.name, u.id, from);
        person_put_audit(&d, was, &u);
        audit_text(&d, "source", NULL, was ? NULL : person->source);
        audit_text(&d, "subject", NULL, was ? NULL : person->subject);
        audit_end(&d, &who.actor, was ? "user.update" : "user.add", u.id, u.name, 0);
    }
    if (!e && !was) {
        e = store_add_outside_user(s, &u, row, &d.row, &id, &r->text);
        if (e == ERR_STATE)
            e = refuse(r, REFUSED_TAKEN, "username",
                       "another user here has your name: an administrator must delete that user first");
    } else if (!e && audit_differs(&d)) {
        e = store_change_user(s, was, &u, NULL, false, &d.row, &r->text);
        identity_cache_clear(&a->identities);
    }
    if (!e && was)
        e = store_touch_outside_user(s, was->id, &r->text);
    audit_fini(&d);
    user_fini(&u);
    return e;
}

/* Makes the row what it shall be, and reads it. */
static enum err write_row(struct admin *a, struct store_session *s, const struct outside_person *person,
                          const struct outside_row *row, const struct mapped *is, const struct origin *from,
                          struct user *out, struct refusal *r)
{
    enum err e = ERR_CONFLICT;

    for (int i = 0; i < TRIES && (e == ERR_CONFLICT || r->kind == REFUSED_TAKEN); i++) {
        struct user was = {0};

        *r = (struct refusal){0};
        e = store_find_outside_user(s, row->hash, &was, &r->text);
        if (!e || e == ERR_NOTFOUND) /* taken: perhaps by himself, just now */
            e = write_user(a, s, e ? NULL : &was, person, row, is, from, r);
        user_fini(&was);
    }
    return e ? e : store_find_outside_user(s, row->hash, out, &r->text);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* What was given to him before goes at once. */
static enum err end_all(struct admin *a, struct store_session *s, const struct user *u, const struct origin *from,
                        struct refusal *r)
{
    struct identity who;

    set_actor(&who, u->name, u->id, from);
    const struct audit_row row = audit_bare(AUDIT_REMOVED, &who.actor, "session.end", u->id, u->name, 0);
    enum err e = store_end_outside_user(s, u->id, &row, &r->text);
    identity_cache_clear(&a->identities);
    return e;
}

static enum err refuse_nobody(struct admin *a, struct store_session *s, const struct outside_row *row,
                              const struct origin *from, struct refusal *why)
{
    struct user u = {0};
    struct refusal r = {0};
    enum err e = store_find_outside_user(s, row->hash, &u, &r.text);

    if (!e)
        e = end_all(a, s, &u, from, &r);
    if (e && e != ERR_NOTFOUND) { /* he must not keep what he had */
        *why = r;
        user_fini(&u);
        return e;
    }
    login_note_refusal(a, s, &u, from);
    user_fini(&u);
    return ERR_STATE;
}

/* ---- the use case ------------------------------------------------------------------------------------------------ */

static enum err log_in(struct admin *a, struct store_session *s, const struct outside_person *person,
                       const struct mapping *m, const struct origin *from, struct login *login, struct refusal *r)
{
    struct outside_row row;
    struct mapped is = {0};
    int64_t session_ms, tokens_ms;
    enum err e;

    make_row(person, &row);
    if (!row.hash[0])
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    e = mapping_apply(m, person->groups, person->group_count, person->any_case, &is, r);
    if (r->kind == REFUSED_RIGHT)
        return refuse_nobody(a, s, &row, from, r);
    if (!e)
        e = write_row(a, s, person, &row, &is, from, &login->user, r);
    free(is.apps);
    if (e)
        return e;
    admin_get_outside_limits(a, &session_ms, &tokens_ms);
    return login_let_in(a, s, NULL, NULL, false, session_ms < SESSION_IDLE_MS ? session_ms : SESSION_IDLE_MS, from,
                        login, r);
}

enum err admin_login_outside(struct admin *a, const struct outside_person *person, const struct origin *from,
                             struct login *out, struct refusal *r)
{
    struct store_session *s = NULL;
    struct mapping *m = NULL;
    struct login login = {0};
    enum err e;

    *r = (struct refusal){0};
    e = take_mapping(a, &m, r);
    if (!e)
        e = admin_take_session(a, &s, r);
    if (!e)
        e = log_in(a, s, person, m, from, &login, r);
    mapping_destroy(m);
    e = admin_end(a, s, e, r);
    counters_add(a->counters, e ? COUNTER_LOGINS_REFUSED : COUNTER_LOGINS, 1);
    if (e) {
        login_fini(&login);
        return hide_fault(a, e, r);
    }
    *out = login;
    return ERR_OK;
}
