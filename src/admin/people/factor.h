/* SPDX-License-Identifier: MIT */
/* factor: the second factor in a login. Private to admin; see shardwheel/admin/factor.h. */
#ifndef ADMIN_PEOPLE_FACTOR_H
#define ADMIN_PEOPLE_FACTOR_H

#include "admin/admin_impl.h"
#include "shardwheel/admin/factor.h"

unsigned factor_parse_roles(const char *text); /* of the setting; bits 1 << enum admin_role */
/* He has one, or needs one. */
bool factor_is_asked(const struct admin *a, const struct user *u);
/* His role needs one, and that session has not shown the one that he has now. */
bool factor_is_missing(const struct admin *a, const struct user *u, const struct session_row *session);

/* Of a login whose password was right, of a user who is asked. *how: what was shown, for audit. `login` has the user;
 * setup and codes are filled in. See admin_login for what is refused. */
MUST_CHECK enum err factor_check_login(struct admin *a, struct store_session *s, const struct login_form *form,
                                       const struct origin *from, struct login *login, const char **how,
                                       struct refusal *r);

#endif
