/* SPDX-License-Identifier: MIT */
/* login_impl: what the ways to log in share. Private to admin. */
#ifndef ADMIN_PEOPLE_LOGIN_IMPL_H
#define ADMIN_PEOPLE_LOGIN_IMPL_H

#include "admin/admin_impl.h"
#include "admin/people/throttle.h"
#include "shardwheel/admin/login.h"

/* A session of login->user, or with `row` what dialect A has instead; with a row of audit. `password`: he has shown it,
 * and it is stored as the settings say; NULL: somebody else has proved who that is. */
MUST_CHECK enum err login_let_in(struct admin *a, struct store_session *s, const char *password, const char *factor,
                                 bool row, int64_t lives_ms, const struct origin *from, struct login *login,
                                 struct refusal *r);
/* u->id 0: nobody who is known. */
void login_note_refusal(struct admin *a, struct store_session *s, const struct user *u, const struct origin *from);
/* Whether the directory is asked for the password of who has that row; u->id 0: who has none. */
bool login_is_of_directory(const struct admin *a, const struct user *u);
/* The directory says yes or no to form->password. No session of the store is held meanwhile. login->user: his row, if
 * there is one. */
MUST_CHECK enum err login_by_directory(struct admin *a, const struct login_form *form, const struct throttle *t,
                                       const struct origin *from, struct login *login, struct refusal *r);

#endif
