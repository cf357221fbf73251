/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin.h"

#include <string.h>

static const struct {
    const char *name;
    unsigned rights;
} roles[] = {
    [ROLE_ADMIN] = {"admin", RIGHTS_ALL},
    [ROLE_USER] = {"user", RIGHT_SEE | RIGHT_RUN | RIGHT_CHANGE},
    [ROLE_RUNNER] = {"runner", RIGHT_SEE | RIGHT_RUN},
    [ROLE_READER] = {"reader", RIGHT_SEE},
};

const char *role_name(enum admin_role role)
{
    return roles[role].name;
}

unsigned role_get_rights(enum admin_role role)
{
    return roles[role].rights;
}

bool role_parse(const char *name, enum admin_role *out)
{
    for (size_t i = 0; i < ARRAY_LEN(roles); i++) {
        if (!strcmp(name, roles[i].name)) {
            *out = (enum admin_role)i;
            return true;
        }
    }
    return false;
}

static const struct {
    const char *name;
    unsigned right;
} scopes_known[] = {{"read", RIGHT_SEE}, {"run", RIGHT_RUN}, {"write", RIGHT_CHANGE}, {"admin", RIGHT_ADMINISTER}};

bool scope_parse(const char *name, unsigned *out)
{
    for (size_t i = 0; i < ARRAY_LEN(scopes_known); i++) {
        if (!strcmp(name, scopes_known[i].name)) {
            *out = scopes_known[i].right;
            return true;
        }
    }
    return false;
}

const char *scope_name(enum admin_right right)
{
    size_t i = 0;

    while (scopes_known[i].right != right && i + 1 < ARRAY_LEN(scopes_known))
        i++;
    return scopes_known[i].name;
}

void scopes_each(unsigned scopes, void (*put)(void *arg, const char *name), void *arg)
{
    for (size_t i = 0; i < ARRAY_LEN(scopes_known); i++) {
        if (scopes & scopes_known[i].right)
            put(arg, scopes_known[i].name);
    }
}

static bool has_group(const struct actor *actor, int64_t group)
{
    for (size_t i = 0; i < actor->group_count; i++) {
        if (actor->groups[i] == group)
            return true;
    }
    return false;
}

bool actor_may(const struct actor *actor, enum admin_right right, int64_t group)
{
    if (!(actor->rights & roles[actor->role].rights & right))
        return false;
    return actor->role == ROLE_ADMIN || actor->all_groups || (group > 0 && has_group(actor, group));
}
