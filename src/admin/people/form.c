/* SPDX-License-Identifier: MIT */
/* Users as the dialects write them, and one's own password. */
#include "admin/people/people.h"

#include "admin/people/identity.h"
#include "admin/people/password.h"
#include "admin/people/throttle.h"
#include "shardwheel/admin/weak.h"
#include "shardwheel/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHANGE_TRIES 3 /* a dialect knows no "changed by somebody meanwhile" */

/* ---- forms ------------------------------------------------------------------------------------------------------- */

void admin_get_password_length(const struct admin *a, int *min, int *max)
{
    *min = admin_has_strong_passwords(a) ? STRONG_WORDS_MIN : WORDS_MIN;
    *max = admin_has_strong_passwords(a) ? STRONG_WORDS_MAX : WORDS_MAX;
}

enum err user_set_password(struct admin *a, struct user *u, const char *text, struct refusal *r)
{
    bool strong = admin_has_strong_passwords(a);
    struct store_session *s = NULL;
    char *password = NULL;
    enum err e = check_password(text, strong, &password, r);

    if (!e && admin_is_strict(a) && weak_is_password(password))
        e = refuse(r, REFUSED_INVALID, "password",
                   "password is a public default, which shardwheel.security.strict forbids");
    if (!e && !strong) /* nobody holds a session while he waits for his turn to hash */
        e = admin_take_session(a, &s, r);
    if (!e)
        e = password_make(a, s, password, u, r);
    free(password);
    return admin_end(a, s, e, r);
}

/* Role and permission as they were sent. A role of ours stays where the form says what the original's row says of one:
 * role 0, no groups. */
static enum err take_role(const struct person_form *form, struct user *u, struct refusal *r)
{
    const char *permission = form->permission;

    if (form->role < INT8_MIN || form->role > INT8_MAX)
        return refuse(r, REFUSED_INVALID, "role", "role must be a number from -128 to 127");
    if (permission && !utf8_is_valid(permission, strlen(permission)))
        return refuse(r, REFUSED_INVALID, "permission", "permission is not UTF-8");
    if (permission && utf8_count(permission, strlen(permission), /*utf16=*/true) > PERMISSION_MAX)
        return refuse_length(r, "permission", 0, PERMISSION_MAX, "permission must have at most %d characters",
                             PERMISSION_MAX);
    if (permission && permission[strspn(permission, ASCII_DIGITS ", ")])
        return refuse(r, REFUSED_INVALID, "permission", "permission must be ids separated by commas");
    if (form->role != 0 || !str_is_blank(permission)) {
        u->own_role[0] = '\0';
        free(u->own_groups);
        u->own_groups = NULL;
    }
    free(u->permission);
    u->permission = str_copy(permission);
    u->role = form->role;
    return permission && !u->permission ? refuse(r, REFUSED_BROKEN, NULL, "out of memory") : ERR_OK;
}

enum err admin_add_person_form(struct admin *a, const struct actor *actor, const struct person_form *form, int64_t *id,
                               struct refusal *r)
{
    struct user u = {0};
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    if (!e)
        e = check_name(form->name, WORDS_MIN, WORDS_MAX, &u.name, r);
    if (!e)
        e = user_set_password(a, &u, form->password, r);
    if (!e)
        e = take_role(form, &u, r);
    if (!e)
        e = person_write(a, actor, NULL, &u, NULL, id, r);
    user_fini(&u);
    return e;
}

static enum err change_once(struct admin *a, const struct actor *actor, int64_t id, const struct person_form *form,
                            struct refusal *r)
{
    struct user from = {0}, to = {0};
    enum err e = person_load(a, id, &from, r);

    if (!e)
        e = refuse_outside(&from, r);
    if (!e && !user_copy(&from, &to))
        e = refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    if (!e && !str_is_blank(form->password))
        e = user_set_password(a, &to, form->password, r);
    if (!e)
        e = take_role(form, &to, r);
    if (!e)
        e = person_write(a, actor, &from, &to, NULL, NULL, r);
    user_fini(&from);
    user_fini(&to);
    return e;
}

enum err admin_change_person_form(struct admin *a, const struct actor *actor, int64_t id,
                                  const struct person_form *form, struct refusal *r)
{
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    if (!e && (id == actor->user_id || (form->name && !strcmp(form->name, actor->name))))
        e = refuse(r, REFUSED_SELF, "username", "you cannot change your own user here");
    for (int i = 0; i < CHANGE_TRIES && !e; i++) {
        e = change_once(a, actor, id, form, r);
        if (!e || r->kind != REFUSED_CHANGED)
            return e;
        e = i + 1 < CHANGE_TRIES ? ERR_OK : e;
    }
    return e;
}

/* ---- one's own password ------------------------------------------------------------------------------------------ */

/* A session that was stolen is no way to find the password. */
enum err person_check_password(struct admin *a, const struct identity *who, const struct user *u, const char *field,
                               const char *password, struct refusal *r)
{
    struct store_session *s = NULL;
    struct throttle t;
    bool right = false;
    enum err e = admin_take_session(a, &s, r);

    throttle_make(&t, u->name, who->actor.address, /*known=*/who->session[0] != 0);
    if (!e)
        e = throttle_try(a, s, &t, u, password, &right, r);
    if (!e && !right)
        e = refuse(r, REFUSED_INVALID, field, "%s is not the password", field);
    return admin_end(a, s, e, r);
}

static enum err change_own(struct admin *a, const struct identity *who, const char *old, const char *wanted,
                           struct refusal *r)
{
    struct user from = {0}, to = {0};
    enum err e = person_load(a, who->actor.user_id, &from, r);

    if (!e)
        e = refuse_outside(&from, r);
    if (!e && !user_copy(&from, &to))
        e = refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    if (!e)
        e = user_set_password(a, &to, wanted, r);
    if (!e)
        e = person_check_password(a, who, &from, "oldPassword", old, r);
    if (!e)
        e = person_write(a, &who->actor, &from, &to, who, NULL, r);
    user_fini(&from);
    user_fini(&to);
    return e;
}

enum err admin_change_password(struct admin *a, const struct identity *who, const char *old, const char *wanted,
                               struct refusal *r)
{
    if (!(who->actor.rights & RIGHT_ADMINISTER))
        return refuse(r, REFUSED_RIGHT, NULL, "the token has no scope admin");
    if (str_is_blank(old))
        return refuse(r, REFUSED_REQUIRED, "oldPassword", "oldPassword is required");
    if (str_is_blank(wanted))
        return refuse(r, REFUSED_REQUIRED, "password", "password is required");
    return change_own(a, who, old, wanted, r);
}
