/* SPDX-License-Identifier: MIT */
/* Users: reading, removing, what the changes of change.c and form.c share. */
#include "admin/people/people.h"

#include "admin/people/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- persons ----------------------------------------------------------------------------------------------------- */

void person_fini(struct person *p)
{
    user_fini(&p->user);
    free(p->groups);
    *p = (struct person){0};
}

void people_destroy(struct person *list, size_t count)
{
    for (size_t i = 0; list && i < count; i++)
        person_fini(&list[i]);
    free(list);
}

enum err person_make(const struct user *u, struct person *out, struct refusal *r)
{
    struct person p = {.role = user_find_role(u), .all_groups = user_has_all_groups(u)};
    const char *groups = p.role == ROLE_USER ? u->permission : u->own_groups;

    if (!user_copy(u, &p.user) || (!p.all_groups && !groups_parse(groups ? groups : "", &p.groups, &p.group_count))) {
        person_fini(&p);
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    }
    memset(p.user.password, 0, sizeof p.user.password);
    memset(p.user.strong, 0, sizeof p.user.strong);
    memset(p.user.token, 0, sizeof p.user.token);
    *out = p;
    return ERR_OK;
}

enum err person_refuse_unless(struct person_match match, const struct person *now, struct refusal *r)
{
    return !match.is || match.is(match.arg, now, r) ? ERR_OK : ERR_CONFLICT;
}

static bool is_role_of_ours(enum admin_role role)
{
    return role == ROLE_READER || role == ROLE_RUNNER;
}

size_t role_get_groups_max(enum admin_role role)
{
    return is_role_of_ours(role) ? OWN_GROUPS_MAX : PERMISSION_MAX;
}

bool user_set_role(struct user *u, enum admin_role role, char *groups)
{
    bool own = is_role_of_ours(role);

    if (groups && strlen(groups) > role_get_groups_max(role)) {
        free(groups);
        return false;
    }
    free(u->permission);
    free(u->own_groups);
    u->permission = own ? NULL : groups;
    u->own_groups = own ? groups : NULL;
    u->role = role == ROLE_ADMIN;
    snprintf(u->own_role, sizeof u->own_role, "%s", own ? role_name(role) : "");
    return true;
}

bool user_copy(const struct user *from, struct user *out)
{
    struct user copy = *from;

    copy.name = str_copy(from->name);
    copy.permission = str_copy(from->permission);
    copy.own_groups = str_copy(from->own_groups);
    if ((from->name && !copy.name) || (from->permission && !copy.permission) ||
        (from->own_groups && !copy.own_groups)) {
        user_fini(&copy);
        return false;
    }
    *out = copy;
    return true;
}

enum err refuse_outside(const struct user *u, struct refusal *r)
{
    if (!u->source[0])
        return ERR_OK;
    return refuse(r, REFUSED_STATE, NULL,
                  "role, groups and password of this user come from %s, and follow shardwheel.login.mapping at each "
                  "login",
                  u->source);
}

void person_put_audit(struct audit_diff *d, const struct user *from, const struct user *to)
{
    static const struct user none;

    from = from ? from : &none;
    to = to ? to : &none;
    audit_text(d, "username", from->name, to->name);
    audit_text(d, "role", from->name ? role_name(user_find_role(from)) : NULL, role_name(user_find_role(to)));
    audit_text(d, "permission", from->permission, to->permission);
    audit_text(d, "groups", from->own_groups, to->own_groups);
    audit_secret(d, "password", strcmp(from->password, to->password) != 0);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

enum err person_load(struct admin *a, int64_t id, struct user *out, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e && (e = store_load_user(s, id, out, &r->text)) == ERR_NOTFOUND)
        e = refuse(r, REFUSED_UNKNOWN, "id", "there is no user %" PRId64, id);
    return admin_end(a, s, e, r);
}

enum err admin_load_person(struct admin *a, const struct actor *actor, int64_t id, struct person *out,
                           struct refusal *r)
{
    struct user u = {0};
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    if (!e)
        e = person_load(a, id, &u, r);
    if (!e)
        e = person_make(&u, out, r);
    user_fini(&u);
    return e;
}

static enum err make_list(const struct user *users, size_t count, struct person **out, struct refusal *r)
{
    struct person *list = calloc(count + 1, sizeof *list);
    enum err e = list ? ERR_OK : refuse(r, REFUSED_BROKEN, NULL, "out of memory");

    for (size_t i = 0; i < count && !e; i++)
        e = person_make(&users[i], &list[i], r);
    if (e) {
        people_destroy(list, count);
        return e;
    }
    *out = list;
    return ERR_OK;
}

enum err admin_load_people(struct admin *a, const struct actor *actor, const struct user_filter *filter,
                           struct person **out, size_t *count, int64_t *total, struct refusal *r)
{
    struct store_session *s = NULL;
    struct user *users = NULL;
    size_t n = 0;
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, &s, r);

    if (!e)
        e = store_load_users(s, filter, &users, &n, &r->text);
    if (!e && total)
        e = store_count_users(s, filter, total, &r->text);
    if (!e)
        e = make_list(users, n, out, r);
    if (!e)
        *count = n;
    users_destroy(users, n);
    return admin_end(a, s, e, r);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

enum err person_write(struct admin *a, const struct actor *actor, const struct user *from, const struct user *to,
                      const struct identity *who, int64_t *id, struct refusal *r)
{
    const char *action = !from ? "user.add" : to ? "user.update" : "user.remove";
    const struct user *shown = from ? from : to;
    struct store_session *s = NULL;
    struct audit_diff d;
    enum err e = admin_take_session(a, &s, r);

    audit_begin(&d, !from ? AUDIT_ADDED : to ? AUDIT_CHANGED : AUDIT_REMOVED);
    person_put_audit(&d, from, to);
    const struct audit_row *row = audit_end(&d, actor, action, shown->id, shown->name, 0);
    if (!e && !from)
        e = store_add_user(s, to, row, id, &r->text);
    else if (!e && !to)
        e = store_remove_user(s, from->id, row, &r->text);
    else if (!e && audit_differs(&d))
        e = store_change_user(s, from, to, who && who->session[0] ? who->session : NULL, who && who->java, row,
                              &r->text);
    if (e == ERR_STATE)
        e = refuse(r, REFUSED_TAKEN, "username", "another user has this name");
    else if (s && e == ERR_NOTFOUND)
        e = refuse(r, REFUSED_UNKNOWN, "id", "there is no user %" PRId64, shown->id);
    if (from)
        identity_cache_clear(&a->identities);
    audit_fini(&d);
    return admin_end(a, s, e, r);
}

enum err admin_remove_person(struct admin *a, const struct actor *actor, int64_t id, struct person_match match,
                             struct refusal *r)
{
    struct user u = {0};
    struct person now = {0};
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    if (!e)
        e = person_load(a, id, &u, r);
    if (!e)
        e = person_make(&u, &now, r);
    if (!e)
        e = person_refuse_unless(match, &now, r);
    if (!e && id == actor->user_id)
        e = refuse(r, REFUSED_SELF, "id", "nobody removes himself");
    if (!e)
        e = person_write(a, actor, &u, NULL, NULL, NULL, r);
    person_fini(&now);
    user_fini(&u);
    return e;
}
