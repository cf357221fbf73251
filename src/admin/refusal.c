/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

static const struct {
    const char *name;
    enum err e;
} kinds[] = {
    [REFUSED_NOT] = {"not", ERR_OK},
    [REFUSED_RIGHT] = {"forbidden", ERR_DENIED},
    [REFUSED_REQUIRED] = {"required", ERR_INPUT},
    [REFUSED_INVALID] = {"invalid", ERR_INPUT},
    [REFUSED_LENGTH] = {"length", ERR_INPUT},
    [REFUSED_UNKNOWN] = {"unknown", ERR_NOTFOUND},
    [REFUSED_TAKEN] = {"taken", ERR_INPUT},
    [REFUSED_SELF] = {"self", ERR_INPUT},
    [REFUSED_IN_USE] = {"in-use", ERR_STATE},
    [REFUSED_LAST] = {"last", ERR_STATE},
    [REFUSED_STATE] = {"state", ERR_STATE},
    [REFUSED_CHANGED] = {"changed", ERR_CONFLICT},
    [REFUSED_LIMIT] = {"limit", ERR_BUSY},
    [REFUSED_OFF] = {"off", ERR_STATE},
    [REFUSED_EXECUTOR] = {"executor", ERR_LOST},
    [REFUSED_TRY_AGAIN] = {"try-again", ERR_BUSY},
    [REFUSED_UNSURE] = {"unsure", ERR_UNKNOWN},
    [REFUSED_BROKEN] = {"broken", ERR_IO},
};

const char *refusal_name(enum refusal_kind kind)
{
    return kinds[kind].name;
}

/* Takes what r->text is a part of, too. */
static enum err fill(struct refusal *r, struct refusal fresh, const char *fmt, va_list args)
{
    vsnprintf(fresh.text.text, sizeof fresh.text.text, fmt, args);
    *r = fresh;
    return kinds[fresh.kind].e;
}

enum err refuse(struct refusal *r, enum refusal_kind kind, const char *field, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    enum err e = fill(r, (struct refusal){.kind = kind, .field = field}, fmt, args);
    va_end(args);
    return e;
}

enum err refuse_length(struct refusal *r, const char *field, size_t min, size_t max, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    enum err e =
        fill(r, (struct refusal){.kind = REFUSED_LENGTH, .field = field, .min = (int64_t)min, .max = (int64_t)max}, fmt,
             args);
    va_end(args);
    return e;
}

enum err refuse_unless(const struct actor *actor, enum admin_right right, int64_t group, struct refusal *r)
{
    if (actor_may(actor, right, group))
        return ERR_OK;
    if (role_get_rights(actor->role) & ~actor->rights & right)
        return refuse(r, REFUSED_RIGHT, NULL, "the token has no scope %s", scope_name(right));
    if (group)
        return refuse(r, REFUSED_RIGHT, NULL, "%s has no right to do this in executor group %" PRId64, actor->name,
                      group);
    return refuse(r, REFUSED_RIGHT, NULL, "%s has no right to do this", actor->name);
}

enum err refuse_unless_somewhere(const struct actor *actor, enum admin_right right, struct refusal *r)
{
    return actor->rights & role_get_rights(actor->role) & right ? ERR_OK : refuse_unless(actor, right, 0, r);
}

enum err refuse_unless_sees(const struct actor *actor, struct refusal *r)
{
    return refuse_unless_somewhere(actor, RIGHT_SEE, r);
}

static enum refusal_kind find_kind(enum err e)
{
    switch (e) {
    case ERR_OK: return REFUSED_NOT;
    case ERR_INPUT: return REFUSED_INVALID;
    case ERR_NOTFOUND: return REFUSED_UNKNOWN;
    case ERR_DENIED:
    case ERR_BUSY:
    case ERR_LOST:
    case ERR_TIMEOUT:
    case ERR_GUARD: return REFUSED_TRY_AGAIN;
    case ERR_CONFLICT: return REFUSED_CHANGED;
    case ERR_STATE: return REFUSED_STATE;
    case ERR_UNKNOWN: return REFUSED_UNSURE;
    case ERR_NOMEM:
    case ERR_IO: return REFUSED_BROKEN;
    }
    return REFUSED_BROKEN;
}

enum err refuse_error(struct refusal *r, enum err e)
{
    if (e)
        refuse(r, find_kind(e), NULL, "%s", r->text.text);
    return e;
}
