/* SPDX-License-Identifier: MIT */
/*
 * admin: what people and their programs do with jobs, executors, users, logs and the cluster: use cases. Knows no HTTP
 * and no dialect; a header per topic stands in include/shardwheel/admin/.
 *
 * A use case  takes who acts and what with, checks the right first and the input then, in the order that its header
 *             says, writes conditionally on what was read and only what differs, and leaves a row of audit in the same
 *             transaction. What it refuses says why in a struct refusal: which kind, which field, and a sentence.
 * Threads     Any, many at once. A call may wait for the database, or for an executor where its header says so.
 * Sessions    The store of admin is one of its own: people never take the scheduler's sessions, nor it theirs.
 * Ownership   What load functions return is the caller's.
 */
#ifndef SHARDWHEEL_ADMIN_H
#define SHARDWHEEL_ADMIN_H

#include "shardwheel/base.h"
#include "shardwheel/config.h"
#include "shardwheel/counters.h"
#include "shardwheel/cron.h"
#include "shardwheel/store/conn.h"

struct admin;
struct config;
struct directory;
struct executor_calls;
struct executor_networks;
struct access_box;
struct registry;
struct resolver;
struct triggers;

/* ---- who acts ---------------------------------------------------------------------------------------------------- */

/* What a role gives. ADMIN: all of it, everywhere. The others: in their groups alone. READER and RUNNER stand in a
 * table of ours (shardwheel_role); in the original's row such a user has role 0 and no groups. */
enum admin_role { ROLE_ADMIN, ROLE_USER, ROLE_RUNNER, ROLE_READER };
const char *role_name(enum admin_role role);    /* "admin", "user", "runner", "reader" */
unsigned role_get_rights(enum admin_role role); /* of enum admin_right */
bool role_parse(const char *name, enum admin_role *out);

enum admin_right {
    RIGHT_SEE = 1,        /* reader, runner, user */
    RIGHT_RUN = 2,        /* runner, user: fire a job, stop a run */
    RIGHT_CHANGE = 4,     /* user: add, edit, start, stop, remove jobs; GLUE; clear logs */
    RIGHT_ADMINISTER = 8, /* admin alone: groups, users, tokens of others, settings, the cluster */
    RIGHTS_ALL = 15,
};

bool scope_parse(const char *name, unsigned *out); /* of a token: one right each */
const char *scope_name(enum admin_right right);
/* Calls put for each scope, in the order read, run, write, admin. */
void scopes_each(unsigned scopes, void (*put)(void *arg, const char *name), void *arg);

#define ACTOR_NAME_MAX 101
#define ACTOR_TEXT_MAX 65

struct actor {
    int64_t user_id;           /* of xxl_job_user; 0: no user of that table */
    char name[ACTOR_NAME_MAX]; /* shown in audit */
    enum admin_role role;
    unsigned rights;       /* of the call, of enum admin_right: RIGHTS_ALL, or the scopes of its token */
    bool all_groups;       /* a role of ours without a list of groups */
    const int64_t *groups; /* ascending; belongs to who made the actor */
    size_t group_count;
    char address[ACTOR_TEXT_MAX]; /* where the request came from */
    char via[ACTOR_TEXT_MAX];     /* "console A", "api/v1", "token NAME", "proxy" */
};

/* Pure. `group` 0: nothing of a group, or all groups: for admins and who has all groups alone. */
bool actor_may(const struct actor *actor, enum admin_right right, int64_t group);

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

enum refusal_kind {
    REFUSED_NOT,       /* nothing was refused */
    REFUSED_RIGHT,     /* who acts may not; `field` is NULL */
    REFUSED_REQUIRED,  /* `field` is absent or blank */
    REFUSED_INVALID,   /* `field` is wrong */
    REFUSED_LENGTH,    /* `field` is too long or too short */
    REFUSED_UNKNOWN,   /* what `field` names is not there */
    REFUSED_TAKEN,     /* another one has that `field` already */
    REFUSED_SELF,      /* that names the job itself, or who acts */
    REFUSED_IN_USE,    /* others depend on it */
    REFUSED_LAST,      /* one must be left */
    REFUSED_STATE,     /* not as it is now: a job of type NONE cannot be started, a run that has ended not be stopped */
    REFUSED_CHANGED,   /* somebody has changed it since it was read */
    REFUSED_LIMIT,     /* too many, or too much at once */
    REFUSED_OFF,       /* switched off by a setting */
    REFUSED_EXECUTOR,  /* the executor says no, or cannot be reached; `text` is its own message */
    REFUSED_TRY_AGAIN, /* the database is away or busy, no node holds Java admins off: nothing was written */
    REFUSED_UNSURE,    /* the connection broke under a commit: it may have been written */
    REFUSED_BROKEN,    /* our fault; the log has the rest */
};

struct refusal {
    enum refusal_kind kind;
    const char *field;  /* as api/v1 names it: "scheduleConf"; a constant, or NULL */
    char item[64];      /* the one at fault, of a list; else "" */
    int64_t retry_s;    /* REFUSED_LIMIT, REFUSED_TRY_AGAIN: it may work after so long; 0: nobody knows */
    int64_t min, max;   /* what is allowed, of a number or a length; both 0: no matter of numbers */
    struct errctx text; /* one English sentence for people */
};

/* Return the error that goes with the kind (never ERR_OK), so that `return refuse(...)` reads well. What stands in `r`
 * may be among the arguments. */
enum err refuse(struct refusal *r, enum refusal_kind kind, const char *field, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* REFUSED_LENGTH, with what is allowed. */
enum err refuse_length(struct refusal *r, const char *field, size_t min, size_t max, const char *fmt, ...)
    PRINTF_LIKE(5, 6);
/* The right is missing: REFUSED_RIGHT. ERR_OK when it is not. If only the token lacks it, its scope is named. */
MUST_CHECK enum err refuse_unless(const struct actor *actor, enum admin_right right, int64_t group, struct refusal *r);
/* The same, where one group or none is enough. */
MUST_CHECK enum err refuse_unless_somewhere(const struct actor *actor, enum admin_right right, struct refusal *r);
/* The same of RIGHT_SEE. */
MUST_CHECK enum err refuse_unless_sees(const struct actor *actor, struct refusal *r);
/* An error of the store or another area, which has written r->text, with the kind that it stands for. ERR_OK stays
 * ERR_OK. */
enum err refuse_error(struct refusal *r, enum err e);
const char *refusal_name(enum refusal_kind kind); /* "required", "invalid": for api/v1 and logs */

/* ---- the object -------------------------------------------------------------------------------------------------- */

struct admin_opts {
    struct store *store;          /* its own */
    struct triggers *triggers;    /* fires that are asked for */
    struct registry *registry;    /* who is there now */
    struct executor_calls *calls; /* logs and kills */
    struct access_box *access;    /* of these; NULL: executors are not called */
    struct keep_offers *keep;     /* to which stopped runs are offered; NULL: to none */
    struct resolver *resolver;
    struct directory *directory;              /* who is unknown here may be known there; NULL: there is none */
    const struct executor_networks *networks; /* which addresses may be saved; NULL: the built-in rules */
    const struct zone *zone;                  /* of cron expressions */
    const struct config *config;              /* of the start: what no reload changes; NULL: none */
    const char *node_name, *incarnation;      /* of this node; NULL: none */
    enum config_glue glue;                    /* see shardwheel/admin/glue.h */
    bool guarded;                             /* a next time is written only while a node holds Java admins off */
};

/* What the options point to outlives it. */
MUST_CHECK enum err admin_create(const struct admin_opts *opts, const struct clock *clock, struct counters *counters,
                                 struct admin **out, struct errctx *ec);
void admin_stop(struct admin *a);    /* calls under way wait for nothing of ours any more; may be called twice */
void admin_destroy(struct admin *a); /* NULL is fine; no call is under way */

#endif
