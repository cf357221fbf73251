/* SPDX-License-Identifier: MIT */
/*
 * admin/login: who a request is from: passwords, sessions, tokens of api/v1, and what a trusted proxy vouches for. See
 * admin.h for threads and refusals.
 *
 * Proofs      A session of ours is a row of shardwheel_session: good on every node and over restarts; a user has up
 *             to SESSIONS_MAX of them. It ends SESSION_IDLE_MS after its last use, SESSION_KEPT_IDLE_MS where the user
 *             wanted to be remembered, and SESSION_LONGEST_MS after it began. The one session of a Java admin (column
 *             `token`) and the cookie of a 2.x admin (with the hash of the password) are good as well and left alone.
 * Cost        A request that shows a proof costs one statement at most: who it is stays known for 1.5 s. So a logout,
 *             another password, other groups or another role count within two seconds on every node, and at once on
 *             the one where they were changed.
 * Passwords   Verify by the form of the stored hash (32 digits: MD5; 64: SHA-256), are written in that of the column's
 *             generation, so that a Java admin of that generation takes them; or as argon2id in a table of ours
 *             (shardwheel.passwords=strong), with a value in the column that no Java admin takes. A login brings a user
 *             to the form of the settings. An unknown user takes as long as a wrong password.
 * Throttle    A user has 5 failures free, an address 10 (of IPv6 a /64); each further one doubles the wait, from 1 s to
 *             1 min for a user and 15 min for an address. Failures are forgotten after an hour without one. Sessions
 *             work on meanwhile; where a user has one from the same address, what others do elsewhere delays nothing.
 * Directory   A name of ours is never asked for in the directory: its row says whose password counts. Who has no row,
 *             or one of the directory, is looked up there, without a session of the store meanwhile. That may take the
 *             time of shardwheel.ldap.timeout, DIRECTORY_ASKS_MAX at a time; others are told at once to come again.
 */
#ifndef SHARDWHEEL_ADMIN_LOGIN_H
#define SHARDWHEEL_ADMIN_LOGIN_H

#include "shardwheel/admin.h"
#include "shardwheel/store/factor.h"

#define SESSIONS_MAX 100
#define SESSION_IDLE_MS (INT64_C(12) * 3600 * 1000)
#define SESSION_KEPT_IDLE_MS (INT64_C(30) * 24 * 3600 * 1000)
#define SESSION_LONGEST_MS (INT64_C(90) * 24 * 3600 * 1000)
#define SESSION_SECRET_LEN 32 /* hexadecimal digits */

/* ---- who it is --------------------------------------------------------------------------------------------------- */

enum proof_kind {
    PROOF_SESSION, /* user_id and secret: of a session of ours, or the column `token` */
    PROOF_ROW,     /* name and secret: the hash where the column holds MD5, or the secret of a session of ours */
    PROOF_TOKEN,   /* secret: a token of api/v1 */
    PROOF_NAME,    /* name: somebody who is trusted vouches for it */
};

struct proof {
    enum proof_kind kind;
    int64_t user_id;
    const char *name;
    const char *secret;
    bool now; /* who changes something is looked up, not remembered: what was taken away by SQL counts at once */
};

/* Where a request came from; for audit. */
struct origin {
    const char *address;
    const char *via;   /* "console A", "api/v1" */
    const char *agent; /* User-Agent, for a session that begins; NULL: none */
};

struct identity {
    struct actor actor;
    int64_t *groups;               /* of the actor */
    enum proof_kind kind;          /* how it was proved */
    char session[SECRET_HASH_MAX]; /* id of its session; "": none of ours */
    bool java;                     /* by the session of a Java admin */
    int64_t token_id;              /* 0: not by a token */
    char source[17];               /* who proves the user: see struct user */
};

/* REFUSED_UNKNOWN: the proof is not good (any more). */
MUST_CHECK enum err admin_identify(struct admin *a, const struct proof *proof, const struct origin *from,
                                   struct identity *out, struct refusal *r);
void identity_fini(struct identity *who);

/* ---- login and logout -------------------------------------------------------------------------------------------- */

#define FACTOR_URL_MAX 800 /* of a name of the longest column, all of it percent signs */
#define RECOVERY_TEXT_MAX 20

struct factor_setup {
    char secret[FACTOR_SECRET_MAX]; /* "": none was made */
    char url[FACTOR_URL_MAX];       /* otpauth:, for a QR code */
};

struct recovery_codes {
    char text[RECOVERY_CODES][RECOVERY_TEXT_MAX]; /* [0] "": none were made */
};

struct login_form {
    const char *name, *password; /* as they were sent; NULL: not at all */
    const char *code;            /* of the second factor (admin/factor.h); NULL or blank: none */
    bool takes_code;             /* false: this interface has no way to ask for one */
    bool remember;
    bool row; /* dialect A: without a session where its cookie can carry the hash, as Java admins do */
};

struct login {
    struct user user;
    bool row;                            /* no session was begun: the cookie carries user.password */
    char secret[SESSION_SECRET_LEN + 1]; /* of the session */
    struct recovery_codes codes;         /* the second factor was set up by this login */
    struct factor_setup setup;           /* of a login that was refused for it: see below */
};

/* REFUSED_REQUIRED "username" or "password"; REFUSED_LIMIT: too many failures, r->retry_s; REFUSED_INVALID without a
 * field: the name or the password is wrong. With a right password: REFUSED_REQUIRED "code": the second factor is asked
 * for; INVALID "code": it is wrong; STATE "code": it must be set up, by what out->setup has and a login with its first
 * code; OFF: this interface cannot ask for it.
 * REFUSED_OFF "password": the directory says that it has expired. REFUSED_TRY_AGAIN: the directory does not answer, or
 * too many ask. Who is known to the directory may be refused as by admin_login_outside. */
MUST_CHECK enum err admin_login(struct admin *a, const struct login_form *form, const struct origin *from,
                                struct login *out, struct refusal *r);
void login_fini(struct login *login);
/* Ends the session that the proof is of; nothing where it is not good, or of no session. */
MUST_CHECK enum err admin_logout(struct admin *a, const struct proof *proof, const struct origin *from,
                                 struct refusal *r);

/* ---- sessions of who asks ---------------------------------------------------------------------------------------- */

#define SESSION_NAME_LEN 16 /* by so many digits of its id a session is named to its user */

MUST_CHECK enum err admin_load_sessions(struct admin *a, const struct identity *who, struct session_row **out,
                                        size_t *count, struct refusal *r);
/* `name` NULL: all of them, also the one that asks. REFUSED_UNKNOWN "id". Tokens need the scope admin. */
MUST_CHECK enum err admin_end_session(struct admin *a, const struct identity *who, const char *name, struct refusal *r);

#endif
