/* SPDX-License-Identifier: MIT */
/* login_impl: what the ways to log in share. Private to admin. */
#ifndef ADMIN_PEOPLE_LOGIN_IMPL_H
#define ADMIN_PEOPLE_LOGIN_IMPL_H

#include "admin/admin_impl.h"
#include "shardwheel/admin/login.h"

/* A session of login->user, or with `row` what dialect A has instead; with a row of audit. `password`: he has shown it,
 * and it is stored as the settings say; NULL: somebody else has proved who that is. */
MUST_CHECK enum err login_let_in(struct admin *a, struct store_session *s, const char *password, const char *factor,
                                 bool row, int64_t lives_ms, const struct origin *from, struct login *login,
                                 struct refusal *r);
/* u->id 0: nobody who is known. */
void login_note_refusal(struct admin *a, struct store_session *s, const struct user *u, const struct origin *from);

#endif
