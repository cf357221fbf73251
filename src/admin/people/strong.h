/* SPDX-License-Identifier: MIT */
/*
 * strong: passwords as argon2id, in a table of ours, and what stands for them in the original's column. Private to
 * admin.
 *
 * Cost        A hash takes STRONG_MEMORY_KIB and some 20 to 50 ms of a core. HASHINGS are made at once, and
 *             HASHINGS_WAITING wait for that: a flood of logins takes 38 MiB, and six threads of the console at most.
 * Threads     Any. hashing_enter may wait, HASHING_WAIT_MS at most.
 */
#ifndef ADMIN_PEOPLE_STRONG_H
#define ADMIN_PEOPLE_STRONG_H

#include "shardwheel/admin.h"
#include "shardwheel/counters.h"
#include "shardwheel/store/people.h"

#define STRONG_MEMORY_KIB 19456 /* as OWASP's password storage cheat sheet has it, with two passes and one lane */
#define STRONG_PASSES 2
#define HASHINGS 2
#define HASHINGS_WAITING 4
#define HASHING_WAIT_MS 5000

/* How many are at it. */
struct hashing {
    struct counters *counters; /* [const] NULL: nobody counts */
    struct mutex lock;         /* rank LOCK_LEAF */
    struct cond wake;          /* with lock: one has left */
    int busy;                  /* [lock] */
    int waiting;               /* [lock] */
};

MUST_CHECK enum err hashing_init(struct hashing *h, struct counters *counters, struct errctx *ec);
void hashing_fini(struct hashing *h);
/* REFUSED_LIMIT: too many at once, r->retry_s says when to try again. Else hashing_leave must follow. */
MUST_CHECK enum err hashing_enter(struct hashing *h, const struct clock *clock, struct refusal *r);
void hashing_leave(struct hashing *h);

/* All of the following between hashing_enter and hashing_leave. */

/* u->strong, and in u->password what stands for it: nobody can guess it, and no Java admin makes it of any password. */
MUST_CHECK enum err strong_make(struct hashing *h, const char *password, struct user *u, struct errctx *ec);
/* Takes the same time whatever is stored, "" as well. What asks for more than twice our cost is no hash. */
bool strong_fits(struct hashing *h, const char *stored, const char *given);

/* How a user's password is stored. */
struct stored_password {
    const char *column, *strong; /* of the user; "": nobody's */
    bool slow;                   /* both are looked at, whatever the user has: so the time tells nothing of him */
};
/* Without `slow`, and where there is no strong one, hashing_enter need not be. */
bool stored_password_fits(struct hashing *h, const struct stored_password *p, const char *given);

#endif
