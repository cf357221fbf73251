/* SPDX-License-Identifier: MIT */
/*
 * admin/people: users: who may log in, with which role, for which groups. See admin.h for threads and refusals.
 *
 * Roles       admin and user stand in the original's row. reader and runner stand in a row of ours beside one that has
 *             role 0 and no groups, so that a Java admin gives such a user nothing. Whoever gives one another role or
 *             groups through a dialect or a Java admin makes it a plain user again; a change of the password alone,
 *             with role 0 and no groups as the dialects show them, does not.
 * Fields      username, password, oldPassword, role, groups; in the dialects permission.
 * Outside     Of users whom somebody else proves (outside.h) nothing is changed here: REFUSED_STATE. They can be
 *             removed.
 * Texts       Names and passwords are trimmed as Java does (what is not above a blank), and have 4 to 20 characters
 *             then: Java admins' pages take no others. api/v1 takes names up to 50, for users whom a proxy vouches for.
 *             Strong passwords (shardwheel.passwords) have 8 to 128 characters.
 */
#ifndef SHARDWHEEL_ADMIN_PEOPLE_H
#define SHARDWHEEL_ADMIN_PEOPLE_H

#include "shardwheel/admin/login.h"

struct person {
    struct user user;     /* password and token are blank */
    enum admin_role role; /* that counts */
    bool all_groups;      /* admins, and roles of ours without a list */
    int64_t *groups;      /* ascending */
    size_t group_count;
};

void person_fini(struct person *p);
void people_destroy(struct person *list, size_t count);

/* RIGHT_ADMINISTER for all of these. `total`: how many the filter finds; NULL: nobody asks. */
MUST_CHECK enum err admin_load_people(struct admin *a, const struct actor *actor, const struct user_filter *filter,
                                      struct person **out, size_t *count, int64_t *total, struct refusal *r);
MUST_CHECK enum err admin_load_person(struct admin *a, const struct actor *actor, int64_t id, struct person *out,
                                      struct refusal *r);
/* Characters that a new password must have. */
void admin_get_password_length(const struct admin *a, int *min, int *max);
/* Of the user of that name, whose sessions all end. REFUSED_UNKNOWN "username"; else as for a change. */
MUST_CHECK enum err admin_set_password(struct admin *a, const struct actor *actor, const char *name,
                                       const char *password, struct refusal *r);
/* Whether the user is as who asks has read him; else `r` says that he is not. `is` NULL: that does not matter. */
struct person_match {
    bool (*is)(void *arg, const struct person *now, struct refusal *r);
    void *arg;
};
/* Who acts is refused: REFUSED_SELF. REFUSED_UNKNOWN "id". */
MUST_CHECK enum err admin_remove_person(struct admin *a, const struct actor *actor, int64_t id,
                                        struct person_match match, struct refusal *r);

/* ---- as the dialects have it ------------------------------------------------------------------------------------- */

struct person_form {
    const char *name, *password; /* NULL: absent */
    int64_t role;                /* as it was sent */
    const char *permission;      /* ids between commas, stored as they are; NULL: none */
};

/* In this order: username REQUIRED, LENGTH, INVALID; password REQUIRED, LENGTH; role INVALID; permission LENGTH;
 * username TAKEN. */
MUST_CHECK enum err admin_add_person_form(struct admin *a, const struct actor *actor, const struct person_form *form,
                                          int64_t *id, struct refusal *r);
/* Role and permission are written, a password only where it is not blank, the name never. One's own name in the form is
 * REFUSED_SELF; the id does not matter for that. REFUSED_UNKNOWN "id". */
MUST_CHECK enum err admin_change_person_form(struct admin *a, const struct actor *actor, int64_t id,
                                             const struct person_form *form, struct refusal *r);

/* ---- as api/v1 has it -------------------------------------------------------------------------------------------- */

struct person_change {
    const char *name;     /* of a new one */
    const char *password; /* NULL: as it is */
    bool has_role, has_groups;
    enum admin_role role;
    bool all_groups; /* of reader and runner alone */
    const int64_t *groups;
    size_t group_count;
    struct person_match match; /* of one who is there */
};

/* `groups` of a user are REFUSED_REQUIRED where the role needs a list; groups that are not there are REFUSED_UNKNOWN
 * with their id as the item. */
MUST_CHECK enum err admin_add_person(struct admin *a, const struct actor *actor, const struct person_change *change,
                                     struct person *out, struct refusal *r);
/* Who acts is refused (REFUSED_SELF): so one administrator is always left, and one's own password asks for the old
 * one. REFUSED_CHANGED: somebody else was faster. */
MUST_CHECK enum err admin_change_person(struct admin *a, const struct actor *actor, int64_t id,
                                        const struct person_change *change, struct person *out, struct refusal *r);

/* ---- one's own password ------------------------------------------------------------------------------------------ */

/* oldPassword REQUIRED, password REQUIRED, LENGTH, oldPassword INVALID; wrong ones count as failed logins:
 * REFUSED_LIMIT. Ends all other sessions of the user. Who asks by a token needs its scope admin. */
MUST_CHECK enum err admin_change_password(struct admin *a, const struct identity *who, const char *old,
                                          const char *wanted, struct refusal *r);

/* ---- without an admin -------------------------------------------------------------------------------------------- */

/* Stores the password, which is the user's, as a strong one: of a user who was just made. */
MUST_CHECK enum err people_make_strong(struct store *st, const struct clock *clock, const char *name,
                                       const char *password, struct errctx *ec);

#endif
