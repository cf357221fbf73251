/* SPDX-License-Identifier: MIT */
/* admin_impl: what the files of admin share. */
#ifndef ADMIN_ADMIN_IMPL_H
#define ADMIN_ADMIN_IMPL_H

#include "admin/people/identity_cache.h"
#include "admin/people/strong.h"
#include "admin/overview/cache.h"
#include "shardwheel/counters.h"
#include "shardwheel/admin.h"

/* What a list had counted when there was time for it. */
#define KNOWN_COUNTS 64
struct known_count {
    uint64_t hash; /* [lock] of admin: of the filter, and of what is listed */
    int64_t count; /* [lock] of admin */
};

/* Of the settings: who may log in. */
struct login_rules {
    char *local;                   /* shardwheel.login.local */
    char *mapping;                 /* shardwheel.login.mapping */
    int64_t session_ms, tokens_ms; /* of people from outside */
};

struct admin {
    struct admin_opts opts;                  /* [const] */
    const struct clock *clock;               /* [const] */
    struct counters *counters;               /* [const] */
    _Atomic bool testing_alarms;             /* [atomic] a test of the channels is under way */
    _Atomic bool importing;                  /* [atomic] a document is being put in */
    _Atomic int batches;                     /* [atomic] that are under way */
    _Atomic int64_t unguarded_mono_ms;       /* [atomic] when a change of a job last began to wait for a guard; 0 */
    struct mutex lock;                       /* rank LOCK_LEAF */
    struct buf settings;                     /* [lock] key, value and source of each, every one with its NUL */
    struct known_count counts[KNOWN_COUNTS]; /* [lock] */
    struct log_limit audit_log;              /* [atomic] of rows that could not be written */
    struct identity_cache identities;        /* [const] locks by itself */
    unsigned factor_roles;                   /* [const] bits of roles that need a second factor */
    struct hashing hashing;                  /* [const] likewise */
    struct log_limit login_log;              /* [atomic] of logins that were refused */
    struct log_limit directory_log;          /* [atomic] of what a directory did not answer */
    _Atomic int asking;                      /* [atomic] logins that wait for the directory */
    _Atomic int64_t tries;                   /* [atomic] logins, to clean what they leave now and then */
    unsigned weak_config;                    /* [lock] bits of weak.h: of the settings */
    struct login_rules login_rules;          /* [lock] */
    struct run_counts *run_counts;           /* [const] locks by itself */
    struct overview_cache overviews;         /* [const] likewise */
    struct run_clearing *clears;             /* [const] likewise */
};

/* shardwheel.security.strict; no reload changes it. */
bool admin_is_strict(const struct admin *a);
/* How long people from outside are known: see outside.h. people/outside/outside.c */
void admin_get_outside_limits(struct admin *a, int64_t *session_ms, int64_t *tokens_ms);
/* Whether that user may log in by a password of ours. False when out of memory. people/outside/outside.c */
bool admin_is_local_login(struct admin *a, const char *name);
/* A copy of what counts for logins; false when out of memory. people/outside/outside.c */
struct config;
bool login_rules_make(const struct config *config, struct login_rules *out);
void login_rules_fini(struct login_rules *rules);
bool admin_has_strong_passwords(const struct admin *a); /* shardwheel.passwords; neither */
/* The alarms' settings, with the channels of the table, which are the caller's to free. alarms/alarms.c */
struct alarms_opts;
struct channel_rows;
MUST_CHECK enum err admin_read_alarms(struct admin *a, struct alarms_opts *out, struct channel_rows *rows,
                                      struct refusal *r);
/* What a rule may say, by its kind; alarms/rules.c */
struct watch_rule;
MUST_CHECK enum err admin_check_watch_rule(const struct watch_rule *rule, struct refusal *r);
/* As admin_take_session below, for whoever sees any job: those of *groups, or all if that is NULL. alarms/alarms.c */
MUST_CHECK enum err admin_enter_alarms(struct admin *a, const struct actor *actor, const int64_t **groups,
                                       size_t *group_count, struct store_session **out, struct refusal *r);
/* What a change, as the store calls it, is for people: taken, too many, or not there. A refusal that is filled in
 * already stays. */
MUST_CHECK enum err admin_refuse_change(enum err e, const char *field, const char *not_there, struct refusal *r);
/* The zone of that name; NULL, "": that of the cluster. *own is to be destroyed; NULL where it is the cluster's. */
MUST_CHECK enum err admin_take_zone(const struct admin *a, const char *name, struct zone **own, const struct zone **out,
                                    struct errctx *ec);
bool is_same_text(const char *a, const char *b); /* NULL and "" are the same */
/* Empties `r`. Give it back with store_give_session(a->opts.store, ...), or by admin_end. */
MUST_CHECK enum err admin_take_session(struct admin *a, struct store_session **out, struct refusal *r);
/* The same for whoever has the right: see refuse_unless. */
MUST_CHECK enum err admin_enter(struct admin *a, const struct actor *actor, enum admin_right right, int64_t group,
                                struct store_session **out, struct refusal *r);
/* The same for whoever sees anything: see refuse_unless_sees. */
MUST_CHECK enum err admin_enter_seeing(struct admin *a, const struct actor *actor, struct store_session **out,
                                       struct refusal *r);
/* A row of audit by itself, of what writes nothing else; ends the diff. */
struct audit_diff;
MUST_CHECK enum err admin_write_audit(struct admin *a, struct audit_diff *diff, const struct actor *actor,
                                      const char *action, int64_t target, const char *target_name, int64_t job_group,
                                      struct refusal *r);
/* Ends what one of these began, also without success: gives the session back. An error that nobody has refused yet is
 * one of the store, whose text is in r->text. */
MUST_CHECK enum err admin_end(struct admin *a, struct store_session *s, enum err e, struct refusal *r);

#endif
