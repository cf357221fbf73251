/* SPDX-License-Identifier: MIT */
/* people: what the use cases of users share. Private to admin. */
#ifndef ADMIN_PEOPLE_PEOPLE_H
#define ADMIN_PEOPLE_PEOPLE_H

#include "admin/admin_impl.h"
#include "shardwheel/admin/audit.h"
#include "shardwheel/admin/people.h"

#define PERSON_NAME_MAX 50  /* units of UTF-16 of the column */
#define PERMISSION_MAX 255  /* characters of the column */
#define OWN_GROUPS_MAX 8000 /* bytes of a list of ours */

/* How long the list of groups may be that stands with a role. */
size_t role_get_groups_max(enum admin_role role);
/* Gives him the role and the groups, between commas, which are taken; NULL: all of them, or the role has no list.
 * False: they are longer than that. */
bool user_set_role(struct user *u, enum admin_role role, char *groups);

MUST_CHECK enum err person_make(const struct user *u, struct person *out, struct refusal *r);
MUST_CHECK enum err person_refuse_unless(struct person_match match, const struct person *now, struct refusal *r);
/* Adds where `from` is NULL (*id is the new one), removes where `to` is, else writes what differs; one transaction.
 * REFUSED_TAKEN "username", REFUSED_CHANGED, REFUSED_UNKNOWN "id". `who`: whose own session stays; NULL: somebody
 * else's. */
MUST_CHECK enum err person_write(struct admin *a, const struct actor *actor, const struct user *from,
                                 const struct user *to, const struct identity *who, int64_t *id, struct refusal *r);
MUST_CHECK enum err person_load(struct admin *a, int64_t id, struct user *out, struct refusal *r);
/* Into `u`, in the form that the settings say; for that of Java admins the session is asked what the column takes. */
MUST_CHECK enum err password_make(struct admin *a, struct store_session *s, const char *password, struct user *u,
                                  struct refusal *r);
/* The same, once the password was checked. */
MUST_CHECK enum err user_set_password(struct admin *a, struct user *u, const char *text, struct refusal *r);
/* REFUSED_STATE of a user whose role, groups and password come from elsewhere. */
MUST_CHECK enum err refuse_outside(const struct user *u, struct refusal *r);
/* Fields of a change of a user. */
struct audit_diff;
void person_put_audit(struct audit_diff *d, const struct user *from, const struct user *to);
/* Ids as their columns have them: ascending, each once, between commas. `ids` is put in order. NULL: no memory. */
char *groups_join(int64_t *ids, size_t count);
/* Who has shown his password is stored in the form of the settings from now on; `u` is then as it is stored. That it
 * could not be done is no error, but REFUSED_INVALID: it is the password no more. */
MUST_CHECK enum err password_move(struct admin *a, struct store_session *s, struct user *u, const char *password,
                                  const struct actor *actor, struct refusal *r);
/* The password of who asks. REFUSED_INVALID `field`, REFUSED_LIMIT. */
MUST_CHECK enum err person_check_password(struct admin *a, const struct identity *who, const struct user *u,
                                          const char *field, const char *password, struct refusal *r);
bool user_copy(const struct user *from, struct user *out); /* false when out of memory */

#endif
