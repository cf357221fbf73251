/* SPDX-License-Identifier: MIT */
/*
 * admin/outside: people whom somebody else has proved, OpenID Connect or LDAP: which role and groups follow from the
 * groups that they have there, and their login here. See admin.h for threads and refusals.
 *
 * Mapping     Rules between ';' or line ends:  GROUP,... -> ROLE [in APP,...]
 *               ops -> admin; team-pay -> user in pay-executor,other; *-readers -> reader
 *             GROUP  a group of the provider. '*' stands for any characters; a '*' alone is everybody, also who is in
 *                    no group. In double quotes it may have any character, '"' and '\' behind a '\': so names of LDAP
 *                    may stand there whole.
 *             ROLE   admin, user, runner, reader.
 *             APP    AppName of executor groups, with '*' as above. A user needs some, runner and reader have all
 *                    groups without, an admin has them anyway.
 *             Of the rules that fit, those of the highest role count: no rule gives its groups to another's role. None
 *             fits: such a person is nobody here, and is refused.
 * Rows        A person not known so far gets a row of xxl_job_user, whose password nobody has, and one of
 *             shardwheel_outside, which says who he is at his provider: by that he is found again, not by his name. A
 *             name that another user has is refused: nobody becomes him by calling himself so. Role and groups are
 *             written at each login; here nobody changes them.
 * End         His sessions are good for shardwheel.login.outside-session after they began, his tokens for
 *             shardwheel.login.outside-tokens after his last login; both end when a login finds him to be nobody.
 */
#ifndef SHARDWHEEL_ADMIN_OUTSIDE_H
#define SHARDWHEEL_ADMIN_OUTSIDE_H

#include "shardwheel/admin/login.h"

/* ---- mapping: pure, admin/people/outside/mapping.c --------------------------------------------------------------- */

#define MAPPING_RULES_MAX 500
#define MAPPING_NAMES_MAX 100 /* of a side of a rule */

struct mapping; /* never changes: any thread may read it */
/* "" has no rules: everybody is nobody. ERR_INPUT says which rule is wrong, and what was expected. */
MUST_CHECK enum err mapping_parse(const char *text, struct mapping **out, struct errctx *ec);
void mapping_destroy(struct mapping *m); /* NULL is fine */

/* What somebody is here. */
struct mapped {
    enum admin_role role;
    bool all_groups;
    const char **apps; /* patterns of AppNames, unless all_groups; the mapping's. The list is the caller's: free */
    size_t app_count;
};
/* `any_case`: groups of the provider are equal whatever the case of ASCII letters is, as those of LDAP. REFUSED_RIGHT:
 * he is nobody; REFUSED_BROKEN. */
MUST_CHECK enum err mapping_apply(const struct mapping *m, const char *const *groups, size_t count, bool any_case,
                                  struct mapped *out, struct refusal *r);
/* `pattern`: one of a mapped's apps. */
bool mapping_fits(const char *pattern, const char *text, bool any_case);

/* ---- login: admin/people/outside/outside.c ----------------------------------------------------------------------- */

/* All of it was proved; texts are the caller's. */
struct outside_person {
    const char *source;  /* "oidc", "ldap" */
    const char *subject; /* what names him there, and nobody else ever: issuer and subject, an entry's id */
    const char *name;    /* that he gets here when he is new */
    const char *const *groups;
    size_t group_count;
    bool any_case; /* see mapping_apply */
};

/* What was proved becomes a row, role and groups, and a session: all of it audited. from->via names the way: "oidc".
 * REFUSED_RIGHT: he is nobody here (his sessions and tokens, if he was known, have ended). REFUSED_TAKEN "username":
 * another user has the name. username LENGTH, INVALID, REQUIRED: no name for a row. REFUSED_LENGTH "groups": more than
 * the column takes. */
MUST_CHECK enum err admin_login_outside(struct admin *a, const struct outside_person *person, const struct origin *from,
                                        struct login *out, struct refusal *r);

#define DIRECTORY_ASKS_MAX 8 /* logins of a node that wait for its directory; more are told to come again */

/* At start, and before a reload counts. ERR_INPUT: shardwheel.login.mapping, with where it stands. Pure. */
struct config;
MUST_CHECK enum err outside_check_config(const struct config *config, struct errctx *ec);

/* ---- who may log in here: admin/people/outside/local.c ----------------------------------------------------------- */

/* Whether shardwheel.login.local, "all", "none" or names between commas, lets that user log in by a password of ours.
 * The case of ASCII letters makes no difference. Pure. */
bool local_may_login(const char *setting, const char *name);

/* Whether anybody may log in by a password: shardwheel.login.local is not "none", or there is a directory. */
bool admin_takes_passwords(struct admin *a);

#endif
