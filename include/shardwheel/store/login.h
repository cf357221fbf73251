/* SPDX-License-Identifier: MIT */
/*
 * store/login: sessions, tokens and failed logins of people (shardwheel_session, shardwheel_token, shardwheel_login).
 * See store/conn.h for threads, ownership and errors. All times are of the database's clock.
 */
#ifndef SHARDWHEEL_STORE_LOGIN_H
#define SHARDWHEEL_STORE_LOGIN_H

#include "shardwheel/store/people.h"

#define SECRET_HASH_MAX 65 /* 64 hexadecimal digits of SHA-256, and a NUL */
#define SESSION_AGENT_MAX 201
#define TOKEN_NAME_MAX 257 /* 64 characters */

/* ---- who a proof belongs to -------------------------------------------------------------------------------------- */

struct session_row {
    char id[SECRET_HASH_MAX]; /* hash of its secret; "": there is none */
    int64_t user_id;
    char password[SECRET_HASH_MAX]; /* hash of the password column at login */
    int64_t created_ms, used_ms, expires_ms;
    int64_t lives_ms; /* so long from its last use on */
    char address[65];
    char agent[SESSION_AGENT_MAX];
    int64_t factor_ms; /* when the second factor was shown; 0: it was not */
};

struct token_row {
    int64_t id;
    int64_t user_id;
    char name[TOKEN_NAME_MAX];
    char scopes[65]; /* as in the table: "read,run" */
    int64_t created_ms;
    int64_t expires_ms; /* 0: never */
    int64_t used_ms;    /* 0: never */
};

/* What a client shows. Exactly one of the first three says whose row it is. */
struct login_key {
    int64_t user_id;
    const char *name;
    const char *token;   /* hash of a token */
    const char *session; /* beside user_id or name: hash of a session's secret; NULL: none */
};

struct login_facts {
    struct user user;
    struct session_row session; /* of that user, expired or not; id "" when there is none */
    struct token_row token;
    int64_t now_ms;
};

/* One statement. ERR_NOTFOUND: no such user, or no such token. */
MUST_CHECK enum err store_load_login(struct store_session *s, const struct login_key *key, struct login_facts *out,
                                     struct errctx *ec);
void login_facts_fini(struct login_facts *f);

/* ---- sessions ---------------------------------------------------------------------------------------------------- */

/* Its times are filled in by the store, from lives_ms, and factor_ms where it is not 0. Of the user's sessions the one
 * unused for longest ends where there are more than `max`. */
MUST_CHECK enum err store_add_session(struct store_session *s, const struct session_row *session, int64_t max,
                                      const struct audit_row *audit, struct errctx *ec);
/* It was used: lives on for lives_ms from now, and no longer than `longest_ms` from its beginning. */
MUST_CHECK enum err store_touch_session(struct store_session *s, const char *id, int64_t longest_ms, struct errctx *ec);
/* ERR_NOTFOUND when the user has no such session; NULL for `id`: all of the user's. */
MUST_CHECK enum err store_remove_session(struct store_session *s, int64_t user_id, const char *id,
                                         const struct audit_row *audit, struct errctx *ec);
/* Ends the session of a Java admin, if it is that one still. */
MUST_CHECK enum err store_end_java_session(struct store_session *s, int64_t user_id, const char *token,
                                           const struct audit_row *audit, struct errctx *ec);
/* Those that have not expired, the one used last first; `limit` at most. */
MUST_CHECK enum err store_load_sessions(struct store_session *s, int64_t user_id, int64_t limit,
                                        struct session_row **out, size_t *count, struct errctx *ec);

/* The user has one that has not expired and was begun at that address. */
MUST_CHECK enum err store_has_session_from(struct store_session *s, int64_t user_id, const char *address, bool *out,
                                           struct errctx *ec);

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

/* id, created_ms and used_ms do not count. ERR_STATE: the user has one of that name, ERR_BUSY: `max` of them. */
MUST_CHECK enum err store_add_token(struct store_session *s, const struct token_row *token, const char *hash,
                                    int64_t max, const struct audit_row *audit, int64_t *id, struct errctx *ec);
MUST_CHECK enum err store_touch_token(struct store_session *s, int64_t id, struct errctx *ec);
/* user_id 0: of anybody. ERR_NOTFOUND when there is no such token. */
MUST_CHECK enum err store_remove_token(struct store_session *s, int64_t user_id, int64_t id,
                                       const struct audit_row *audit, struct errctx *ec);
/* Of one user (0: of all) behind after_id, by id. */
MUST_CHECK enum err store_load_tokens(struct store_session *s, int64_t user_id, int64_t after_id, int64_t limit,
                                      struct token_row **out, size_t *count, struct errctx *ec);

/* ---- failed logins ----------------------------------------------------------------------------------------------- */

#define LOGIN_KEYS 2 /* one for the user, one for the address */

/* How many failures of late there are, and when the last one was; all zero: none. */
struct login_failures {
    int64_t count;
    int64_t last_ms;
};

/* How long to wait before the next try may be made, in ms; 0: it may be made now. Pure. */
typedef int64_t (*login_wait_fn)(size_t key, const struct login_failures *failures, int64_t now_ms);

struct login_try {
    const char *keys[LOGIN_KEYS]; /* distinct texts of at most 110 characters */
    int64_t forget_ms;            /* failures that are older count no more */
    login_wait_fn wait;
    /* The password; called under the locks of the rows: it must not wait. NULL: somebody far away looks at it later; a
     * failure is counted before he is asked, so that many questions at once gain nothing. */
    bool (*check)(void *arg);
    void *arg;
};

/* Looks at the failures, and where none says wait, at the password; one that is wrong counts as a failure, one that is
 * right ends those of the first key. All of it under the locks of these rows, so that many tries at once gain nothing,
 * and many logins at once are none the worse. *wait_ms above 0: the password was not looked at. *before, unless NULL:
 * what there was, for the next. */
MUST_CHECK enum err store_try_login(struct store_session *s, const struct login_try *t,
                                    struct login_failures before[LOGIN_KEYS], int64_t *wait_ms, bool *right,
                                    struct errctx *ec);
/* It was none. `right`: the failures of the first key end, as with a right password; false: nobody has looked. */
MUST_CHECK enum err store_take_back_try(struct store_session *s, const char *const keys[LOGIN_KEYS],
                                        const struct login_failures before[LOGIN_KEYS], bool right, struct errctx *ec);
/* Removes failures older than forget_ms, some hundreds at a time, and the oldest where more than `max` are left. */
MUST_CHECK enum err store_clean_tries(struct store_session *s, int64_t forget_ms, int64_t max, struct errctx *ec);

/* ---- upkeep ------------------------------------------------------------------------------------------------------ */

/* Removes expired sessions, tokens that expired `token_ms` ago, and what belongs to users who are gone: *deleted rows,
 * some hundreds at a time. To be called again at once while that is not 0. */
MUST_CHECK enum err store_clean_people(struct store_session *s, int64_t token_ms, size_t *deleted, struct errctx *ec);
/* Of all users, those that have not expired. */
MUST_CHECK enum err store_count_sessions(struct store_session *s, int64_t *out, struct errctx *ec);

#endif
