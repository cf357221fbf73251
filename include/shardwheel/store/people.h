/* SPDX-License-Identifier: MIT */
/*
 * store/people: users (xxl_job_user) with the roles of ours beside them (shardwheel_role). See store/conn.h for
 * threads, ownership and errors.
 *
 * Names       Are looked up by SQL '=', so the collation of the column says which are equal: with MySQL's usual ones
 *             case and blanks at the end make no difference.
 * Passwords   A row of shardwheel_password counts only while the original's column has the value that was put there for
 *             it: whoever writes another one, a Java admin too, makes that the password.
 * Roles       A row of shardwheel_role counts only where the original's row has role 0 and no groups: whoever gives
 *             such a user another role or groups, a Java admin too, makes it a plain user.
 * Outside     A row of shardwheel_outside says that somebody else proves who a user is. It counts for the user whose
 *             name it has: another one who got the id of one who is gone is not meant.
 */
#ifndef SHARDWHEEL_STORE_PEOPLE_H
#define SHARDWHEEL_STORE_PEOPLE_H

#include "shardwheel/store/audit.h"

#define PASSWORD_HASH_MAX 101 /* of the widest column, with its NUL */
#define STRONG_HASH_MAX 129   /* of shardwheel_password, with its NUL */

struct user {
    int64_t id;
    char *name;
    char password[PASSWORD_HASH_MAX]; /* as it stands in the column: a hash, or what stands for `strong` */
    char strong[STRONG_HASH_MAX];     /* hash of ours that counts: the column has what stands for it; "": none */
    bool strong_is_weak;              /* of a password that everybody knows; written, never read */
    char token[PASSWORD_HASH_MAX];    /* session of a Java admin from 3.2 on; "" for none */
    int64_t factor_ms;                /* since when a second factor is in use (store/factor.h); 0: none is */
    int64_t role;                     /* of the original's row: 1 is an administrator */
    char *permission;                 /* ids of groups between commas; NULL as in the column */
    char own_role[17];                /* "reader" or "runner" where a row of ours counts, else "" */
    char *own_groups;                 /* of that row; NULL: all groups */
    char source[17];                  /* who proves him: "oidc", "ldap"; "": a password of ours */
    int64_t seen_ms;                  /* ... when that was last, by the database's clock; 0: he was refused since */
};

void user_fini(struct user *u);
void users_destroy(struct user *list, size_t count); /* NULL is fine */

struct user_filter {
    const char *name;  /* a part of it; NULL or "": any */
    int64_t role;      /* of the original's row; below 0: any */
    const char *named; /* "admin", "user", "runner", "reader"; NULL: any */
    bool by_name;      /* ordered by name, else by id */
    int64_t after_id;  /* by id: behind this one */
    int64_t offset;
    int64_t limit;
};

/* ERR_NOTFOUND when there is none. */
MUST_CHECK enum err store_find_user(struct store_session *s, const char *name, struct user *out, struct errctx *ec);
MUST_CHECK enum err store_load_user(struct store_session *s, int64_t id, struct user *out, struct errctx *ec);
MUST_CHECK enum err store_load_users(struct store_session *s, const struct user_filter *filter, struct user **out,
                                     size_t *count, struct errctx *ec);
/* Order, offset, limit and after_id make no difference. */
MUST_CHECK enum err store_count_users(struct store_session *s, const struct user_filter *filter, int64_t *out,
                                      struct errctx *ec);
/* Some names, and how many there are: those beyond a thousand are not counted. */
#define NAMED_FEW_MAX 20
struct named_few {
    char names[NAMED_FEW_MAX][101];
    size_t count;
    int64_t all;
};
/* In the column, or noted as weak beside a strong hash. */
MUST_CHECK enum err store_find_users_by_password(struct store_session *s, const char *const hashes[], size_t count,
                                                 struct named_few *out, struct errctx *ec);
/* By app name; none where groups have no tokens, up to 3.4. */
MUST_CHECK enum err store_find_groups_by_token(struct store_session *s, const char *token, struct named_few *out,
                                               struct errctx *ec);
/* Characters that a hash may have: 50 up to 3.1, 100 from 3.2 on. From the features that are known. */
MUST_CHECK enum err store_get_password_length(struct store_session *s, int *out, struct errctx *ec);
/* Sorts those of the ids out that are groups: the others are moved to the front, *missing of them. */
MUST_CHECK enum err store_find_missing_groups(struct store_session *s, int64_t *ids, size_t count, size_t *missing,
                                              struct errctx *ec);

/* Each is one transaction with its audit row, whose target is filled in for a new user. */

/* u->id does not count. ERR_STATE when the name is taken. */
MUST_CHECK enum err store_add_user(struct store_session *s, const struct user *u, const struct audit_row *audit,
                                   int64_t *id, struct errctx *ec);
/* Who a user is elsewhere. */
struct outside_row {
    char hash[65];       /* of source and subject: see outside_hash */
    const char *source;  /* 16 characters at most */
    const char *subject; /* for people: what is too long is cut */
};
/* The user, and that he is that one elsewhere. ERR_STATE when the name is taken. */
MUST_CHECK enum err store_add_outside_user(struct store_session *s, const struct user *u,
                                           const struct outside_row *outside, const struct audit_row *audit,
                                           int64_t *id, struct errctx *ec);
/* ERR_NOTFOUND when nobody here is that one. */
MUST_CHECK enum err store_find_outside_user(struct store_session *s, const char *hash, struct user *out,
                                            struct errctx *ec);
/* He was proved again, now. */
MUST_CHECK enum err store_touch_outside_user(struct store_session *s, int64_t id, struct errctx *ec);
/* He is nobody any more: his sessions end, that of a Java admin too, and seen_ms is 0. */
MUST_CHECK enum err store_end_outside_user(struct store_session *s, int64_t id, const struct audit_row *audit,
                                           struct errctx *ec);
/* Writes what differs between the two, but for id, name and token. ERR_CONFLICT when the row is not `from` any more,
 * ERR_NOTFOUND when it is gone. A new password ends all sessions of the user but `keep` (an id of shardwheel_session,
 * or NULL), and that of a Java admin unless `keep_java`. */
MUST_CHECK enum err store_change_user(struct store_session *s, const struct user *from, const struct user *to,
                                      const char *keep, bool keep_java, const struct audit_row *audit,
                                      struct errctx *ec);
/* The same password in another form: the column goes from `from` to to->password, if it is that still (*moved), with
 * to->strong beside it. Sessions stay, that of a Java admin too. */
MUST_CHECK enum err store_move_password(struct store_session *s, const struct user *to, const char *from,
                                        const struct audit_row *audit, bool *moved, struct errctx *ec);
/* Somebody has a row of shardwheel_password, whether it counts or not. */
MUST_CHECK enum err store_has_strong_passwords(struct store_session *s, bool *out, struct errctx *ec);
/* Whose passwords are in no form that a Java admin knows, by id; none where the tables are older than that. */
MUST_CHECK enum err store_find_strong_users(struct store_session *s, struct named_few *out, struct errctx *ec);
/* With its role, password, second factor, sessions and tokens. ERR_NOTFOUND when it was not there: `audit`
 * is not written then. */
MUST_CHECK enum err store_remove_user(struct store_session *s, int64_t id, const struct audit_row *audit,
                                      struct errctx *ec);

#endif
