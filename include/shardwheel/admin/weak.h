/* SPDX-License-Identifier: MIT */
/*
 * admin/weak: secrets that are none: empty, or those with which the original is delivered. Which there are, never what
 * they are.
 *
 * Threads     Any; nothing is kept but what admin_set_config has looked at.
 * Cost        weak_load: two small statements.
 */
#ifndef SHARDWHEEL_ADMIN_WEAK_H
#define SHARDWHEEL_ADMIN_WEAK_H

#include "shardwheel/admin.h"
#include "shardwheel/store/people.h"

struct config;

enum weak_kind {
    WEAK_TOKEN_EMPTY,      /* no access token is asked for */
    WEAK_TOKEN_DEFAULT,    /* "default_token" */
    WEAK_DATABASE_EMPTY,   /* by TCP: a socket may go by the user of the system */
    WEAK_DATABASE_DEFAULT, /* "root_pwd" */
    WEAK_DATABASE_USER,    /* the database password is the user's name */
    WEAK_USERS,            /* of the console, with the password 123456 */
    WEAK_GROUPS,           /* executor groups with the token "default_token" */
    WEAK_KINDS
};

struct weak_info {
    const char *name;   /* "token-default" */
    const char *where;  /* the key, or the table's column */
    const char *what;   /* a sentence */
    const char *advice; /* another one: what to change */
};
const struct weak_info *weak_get_info(enum weak_kind kind);

struct weak_secrets {
    unsigned found;          /* bit 1 << kind for each */
    struct named_few users;  /* of WEAK_USERS */
    struct named_few groups; /* of WEAK_GROUPS, by app name */
};

/* ---- pure -------------------------------------------------------------------------------------------------------- */

/* Bits of the token and of the database password. */
unsigned weak_check_config(const struct config *config);
/* ERR_INPUT for each of those, all in one text; ERR_OK too where shardwheel.security.strict is off. */
MUST_CHECK enum err weak_check_strict(const struct config *config, struct errctx *ec);
/* Of the hash in the column `password`, in either form. */
bool weak_is_password_hash(const char *stored);
bool weak_is_password(const char *text);

/* ---- with the database ------------------------------------------------------------------------------------------- */

/* The bits of WEAK_USERS and WEAK_GROUPS are added to what `out` has. */
MUST_CHECK enum err weak_load(struct store_session *s, struct weak_secrets *out, struct errctx *ec);

/* All of the node; for its own watch. */
MUST_CHECK enum err admin_load_weak(struct admin *a, struct weak_secrets *out, struct errctx *ec);
/* Right: ADMINISTER. */
MUST_CHECK enum err admin_show_weak(struct admin *a, const struct actor *actor, struct weak_secrets *out,
                                    struct refusal *r);

#endif
