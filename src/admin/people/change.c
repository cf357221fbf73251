/* SPDX-License-Identifier: MIT */
/* Users as api/v1 writes them. */
#include "admin/people/people.h"

#include "admin/people/password.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS_MAX 1000

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static enum err check_groups(struct admin *a, const struct person_change *change, struct refusal *r)
{
    struct store_session *s = NULL;
    size_t missing = 0;
    int64_t *ids;
    enum err e;

    if (!change->group_count)
        return ERR_OK;
    if (change->group_count > GROUPS_MAX)
        return refuse_length(r, "groups", 0, GROUPS_MAX, "groups must have at most %d ids", GROUPS_MAX);
    ids = malloc(change->group_count * sizeof *ids);
    if (!ids)
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    memcpy(ids, change->groups, change->group_count * sizeof *ids);
    e = admin_take_session(a, &s, r);
    if (!e)
        e = store_find_missing_groups(s, ids, change->group_count, &missing, &r->text);
    if (!e && missing) {
        e = refuse(r, REFUSED_UNKNOWN, "groups", "there is no group %" PRId64, ids[0]);
        snprintf(r->item, sizeof r->item, "%" PRId64, ids[0]);
    }
    free(ids);
    return admin_end(a, s, e, r);
}

char *groups_join(int64_t *ids, size_t count)
{
    struct buf text = {0};

    count = sort_distinct(ids, count);
    buf_append(&text, "", 0);
    for (size_t i = 0; i < count; i++) {
        if (i)
            buf_putc(&text, ',');
        buf_put_int(&text, ids[i]);
    }
    return buf_take(&text);
}

static char *join_groups(const struct person_change *change)
{
    int64_t *ids = calloc(change->group_count + 1, sizeof *ids);

    if (!ids)
        return NULL;
    if (change->group_count)
        memcpy(ids, change->groups, change->group_count * sizeof *ids);
    char *text = groups_join(ids, change->group_count);
    free(ids);
    return text;
}

/* ---- roles ------------------------------------------------------------------------------------------------------- */

/* What the change says, and where it says nothing, what `before` is (NULL for a new one). */
static enum err complete(struct person_change *change, const struct person *before, struct refusal *r)
{
    if (!change->has_role && !before)
        return refuse(r, REFUSED_REQUIRED, "role", "role is required: admin, user, runner or reader");
    if (!change->has_role)
        change->role = before->role;
    if (change->has_groups && change->role == ROLE_ADMIN && !change->all_groups)
        return refuse(r, REFUSED_INVALID, "groups", "an admin has all groups: groups must be null");
    if (change->has_groups && change->role == ROLE_USER && change->all_groups)
        return refuse(r, REFUSED_INVALID, "groups",
                      "a user needs a list of groups; only a reader or runner can have all");
    if (change->has_groups || change->role == ROLE_ADMIN)
        return ERR_OK;
    if (!before || before->role == ROLE_ADMIN || (before->all_groups && change->role == ROLE_USER))
        return refuse(r, REFUSED_REQUIRED, "groups", "groups is required: a list of ids, or null for all groups");
    change->all_groups = before->all_groups;
    change->groups = before->groups;
    change->group_count = before->group_count;
    return ERR_OK;
}

static enum err set_role(struct admin *a, struct person_change *change, const struct person *before, struct user *u,
                         struct refusal *r)
{
    enum err e = complete(change, before, r);
    size_t max = role_get_groups_max(change->role);
    char *groups = NULL;

    if (!e && change->has_groups)
        e = check_groups(a, change, r);
    if (!e && change->role != ROLE_ADMIN && !change->all_groups && !(groups = join_groups(change)))
        e = refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    if (!e && !user_set_role(u, change->role, groups))
        e = refuse_length(r, "groups", 0, max, "the list of group ids must have at most %zu characters", max);
    return e;
}

/* ---- use cases --------------------------------------------------------------------------------------------------- */

enum err admin_add_person(struct admin *a, const struct actor *actor, const struct person_change *wanted,
                          struct person *out, struct refusal *r)
{
    struct person_change change = *wanted;
    struct user u = {0};
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    if (!e)
        e = check_name(change.name, 1, PERSON_NAME_MAX, &u.name, r);
    if (!e)
        e = user_set_password(a, &u, change.password, r);
    if (!e)
        e = set_role(a, &change, NULL, &u, r);
    if (!e)
        e = person_write(a, actor, NULL, &u, NULL, &u.id, r);
    if (!e)
        e = person_make(&u, out, r);
    user_fini(&u);
    return e;
}

enum err admin_change_person(struct admin *a, const struct actor *actor, int64_t id, const struct person_change *wanted,
                             struct person *out, struct refusal *r)
{
    struct person_change change = *wanted;
    struct user from = {0}, to = {0};
    struct person before = {0};
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    if (!e)
        e = person_load(a, id, &from, r);
    if (!e)
        e = person_make(&from, &before, r);
    if (!e)
        e = person_refuse_unless(change.match, &before, r);
    if (!e && id == actor->user_id)
        e = refuse(r, REFUSED_SELF, NULL,
                   "you cannot change your own role or groups; to change your password, use the old one");
    if (!e)
        e = refuse_outside(&from, r);
    if (!e && !user_copy(&from, &to))
        e = refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    if (!e && change.password)
        e = user_set_password(a, &to, change.password, r);
    if (!e && (change.has_role || change.has_groups))
        e = set_role(a, &change, &before, &to, r);
    if (!e)
        e = person_write(a, actor, &from, &to, NULL, NULL, r);
    if (!e)
        e = person_make(&to, out, r);
    person_fini(&before);
    user_fini(&from);
    user_fini(&to);
    return e;
}

/* ---- a lost password --------------------------------------------------------------------------------------------- */

static enum err find_person(struct admin *a, const char *name, struct user *out, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_take_session(a, &s, r);

    if (!e && (e = store_find_user(s, name, out, &r->text)) == ERR_NOTFOUND)
        e = refuse(r, REFUSED_UNKNOWN, "username", "there is no user %.100s", name);
    return admin_end(a, s, e, r);
}

enum err admin_set_password(struct admin *a, const struct actor *actor, const char *name, const char *password,
                            struct refusal *r)
{
    struct user from = {0}, to = {0};
    enum err e = refuse_unless(actor, RIGHT_ADMINISTER, 0, r);

    if (!e)
        e = find_person(a, name, &from, r);
    if (!e && !user_copy(&from, &to))
        e = refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    if (!e)
        e = user_set_password(a, &to, password, r);
    if (!e)
        e = person_write(a, actor, &from, &to, NULL, NULL, r);
    user_fini(&from);
    user_fini(&to);
    return e;
}
