/* SPDX-License-Identifier: MIT */
/*
 * admin/factor: second factors of local logins: codes of an authenticator app, and recovery codes. See admin.h for
 * threads and refusals.
 *
 * Who         Users of the roles in shardwheel.second-factor need one, and set it up at their next login; others may
 *             have one. Whoever has or needs one logs in at api/v1 alone: the calls of xxl-job cannot ask for a code,
 *             and the session or cookie of a Java admin is no login of his here. Tokens and a proxy's logins are not
 *             asked.
 * Sessions    of a user whose role needs one, and that have not shown the one that he has now, are good no more: after
 *             another role, another setting, or another factor. He is asked at the next login.
 * Codes       One counts once, and none that is older than one that was used; one step early or late is fine. Wrong
 *             ones make waits as wrong passwords do (admin/login.h), apart from these, and up to 15 min.
 * Secrets     Are shown until they are confirmed by a code, never again. Recovery codes are shown once.
 */
#ifndef SHARDWHEEL_ADMIN_FACTOR_H
#define SHARDWHEEL_ADMIN_FACTOR_H

#include "shardwheel/admin/login.h"
#include "shardwheel/store/factor.h"

struct factor_state {
    int64_t since_ms;  /* 0: none is in use */
    bool needed;       /* by the role */
    size_t codes_left; /* recovery codes */
};

/* ---- one's own --------------------------------------------------------------------------------------------------- */

/* These are for sessions alone: REFUSED_RIGHT for tokens. `password` and `code`: REFUSED_REQUIRED, INVALID;
 * REFUSED_LIMIT: too many wrong ones. A code may be a recovery code. */

MUST_CHECK enum err admin_load_factor(struct admin *a, const struct identity *who, struct factor_state *out,
                                      struct refusal *r);
/* A new secret, to be confirmed. `code`: of the one in use, where there is one. */
MUST_CHECK enum err admin_begin_factor(struct admin *a, const struct identity *who, const char *password,
                                       const char *code, struct factor_setup *out, struct refusal *r);
/* REFUSED_STATE: none was begun, or longer than an hour ago. */
MUST_CHECK enum err admin_confirm_factor(struct admin *a, const struct identity *who, const char *code,
                                         struct recovery_codes *out, struct refusal *r);
/* REFUSED_STATE: none is in use, here and below. */
MUST_CHECK enum err admin_renew_recovery(struct admin *a, const struct identity *who, const char *password,
                                         const char *code, struct recovery_codes *out, struct refusal *r);
/* REFUSED_OFF: the role needs one. */
MUST_CHECK enum err admin_remove_own_factor(struct admin *a, const struct identity *who, const char *password,
                                            const char *code, struct refusal *r);

/* ---- somebody else's --------------------------------------------------------------------------------------------- */

/* RIGHT_ADMINISTER. REFUSED_SELF; REFUSED_UNKNOWN "id": no such user, or without one. */
MUST_CHECK enum err admin_remove_factor(struct admin *a, const struct actor *actor, int64_t id, struct refusal *r);
/* The same by name, which is the field then. */
MUST_CHECK enum err admin_reset_factor(struct admin *a, const struct actor *actor, const char *name, struct refusal *r);

#endif
