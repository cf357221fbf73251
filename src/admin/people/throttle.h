/* SPDX-License-Identifier: MIT */
/* throttle: how fast passwords may be tried; see admin/login.h for the figures. Private to admin. */
#ifndef ADMIN_PEOPLE_THROTTLE_H
#define ADMIN_PEOPLE_THROTTLE_H

#include "admin/admin_impl.h"

#define FREE_OF_USER 5
#define FREE_OF_ADDRESS 10
#define WAIT_FIRST_MS 1000
#define WAIT_USER_MS (60 * 1000)
#define WAIT_CODE_MS (15 * 60 * 1000)
#define WAIT_ADDRESS_MS (15 * 60 * 1000)
#define FORGET_MS (60 * 60 * 1000)
#define TRIES_MAX 20000  /* rows of the table, about */
#define DEADLOCKS_MAX 20 /* logins at once lock the same rows: one that meets a deadlock is made so often */

/* What is still a deadlock after so many is ERR_BUSY: nobody has changed anything, and the login may be sent again. */
MUST_CHECK enum err throttle_end_deadlocks(enum err e, struct errctx *ec);

struct throttle {
    char user[110], address[50]; /* keys of the table */
};

/* `name`: as the table of users has it; else as it was sent. Case, blanks around it and how many are within make no
 * difference, as in a directory. `known`: the user has a session from that address; his failures there are counted
 * apart from those of all others. */
void throttle_make(struct throttle *t, const char *name, const char *address, bool known);
int64_t throttle_find_code_wait(size_t key, const struct login_failures *failures, int64_t now_ms);
int64_t throttle_find_wait(size_t key, const struct login_failures *failures, int64_t now_ms); /* a login_wait_fn */

/* REFUSED_LIMIT: not yet; r->retry_s says when. Else *right tells whether the password is that of the user. */
MUST_CHECK enum err throttle_try(struct admin *a, struct store_session *s, const struct throttle *t,
                                 const struct user *u, const char *password, bool *right, struct refusal *r);
/* The same for a password that is looked at elsewhere: it counts as wrong until it is taken back. No session is held
 * meanwhile. */
MUST_CHECK enum err throttle_count(struct admin *a, const struct throttle *t, struct login_failures before[LOGIN_KEYS],
                                   struct refusal *r);
MUST_CHECK enum err throttle_take_back(struct admin *a, const struct throttle *t,
                                       const struct login_failures before[LOGIN_KEYS], bool right, struct refusal *r);

/* As throttle_try, of a code of the second factor: `check` looks at it, and must not wait. Its failures are counted
 * apart. */
MUST_CHECK enum err throttle_try_code(struct admin *a, struct store_session *s, const char *name, const char *address,
                                      bool (*code_fits)(void *arg), void *arg, bool *right, struct refusal *r);

#endif
