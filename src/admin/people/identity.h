/* SPDX-License-Identifier: MIT */
/* identity: what rows say of a user's role and groups. Pure. Private to admin. */
#ifndef ADMIN_PEOPLE_IDENTITY_H
#define ADMIN_PEOPLE_IDENTITY_H

#include "shardwheel/admin/login.h"

#define TOUCH_MS 60000 /* the last use of a session or token is noted so often */

enum admin_role user_find_role(const struct user *u);
bool user_has_all_groups(const struct user *u); /* an administrator, or a role of ours without a list */
/* Ids between commas, with blanks around them or not; ascending, each once; what is no id is left out. False when out
 * of memory. */
bool groups_parse(const char *text, int64_t **out, size_t *count);

/* Whether what was looked up proves it. */
enum proof_verdict { PROOF_BAD, PROOF_BY_SESSION, PROOF_BY_JAVA, PROOF_BY_HASH, PROOF_BY_TOKEN, PROOF_BY_OTHERS };
enum proof_verdict proof_judge(const struct proof *proof, const struct login_facts *facts, int password_length);

/* Who is not known yet hears nothing of the database: where it is, and by which name it is entered. The text of such a
 * fault is replaced; true: it was one. Pure. */
bool refusal_hide_fault(struct refusal *r);
/* The same, with a line in the log; gives `e` back. */
MUST_CHECK enum err hide_fault(struct admin *a, enum err e, struct refusal *r);

/* Nobody's groups are lost: REFUSED_BROKEN when out of memory. */
MUST_CHECK enum err identity_make(const struct user *u, struct identity *out, struct refusal *r);
void identity_set_origin(struct identity *who, const struct origin *from, const char *via);

#endif
