/* SPDX-License-Identifier: MIT */
/* users: the columns that make a struct user, for the statements of this folder. Private to store/people. */
#ifndef STORE_PEOPLE_USERS_H
#define STORE_PEOPLE_USERS_H

#include "shardwheel/store/people.h"
#include "store/conn/rows.h"

/* Of the tables u (xxl_job_user), r (shardwheel_role), p (shardwheel_password) and f (shardwheel_factor). Token, source
 * and seen_ms follow them. */
#define USER_COLUMNS                                                                                                   \
    "u.id, u.username, u.password, u.role, u.permission, r.role, r.job_groups, p.stands_for, p.hash, "                 \
    "f.since_ms"
#define USER_ROLE_JOIN                                                                                                 \
    " LEFT JOIN shardwheel_role r ON r.user_id = u.id AND u.role = 0 AND COALESCE(u.permission, '') = ''"              \
    " LEFT JOIN shardwheel_outside o ON o.user_id = u.id AND o.username = CONVERT(u.username USING utf8mb4) "          \
    "COLLATE utf8mb4_bin"
#define USER_JOINS                                                                                                     \
    USER_ROLE_JOIN                                                                                                     \
    " LEFT JOIN shardwheel_password p ON p.user_id = u.id LEFT JOIN shardwheel_factor f ON f.user_id = u.id"
/* A row of p counts. Bytes, whatever the collation of the original's column. */
#define USER_IS_STRONG "CAST(u.password AS BINARY) = CAST(p.stands_for AS BINARY)"

/* Starts a SELECT with USER_COLUMNS, token, source and seen_ms: columns 0 to 12. */
struct sqlbuf *users_start(struct store_session *s);
/* ERR_NOMEM alone. */
MUST_CHECK enum err users_read(const struct db_rows *rows, struct user *out, struct errctx *ec);
/* store_load_user with its row locked, within a transaction. */
MUST_CHECK enum err users_lock(struct store_session *s, int64_t id, struct user *out, struct errctx *ec);
/* Sends the SELECT of one user. ERR_NOTFOUND. */
MUST_CHECK enum err users_read_one(struct store_session *s, struct user *out, struct errctx *ec);
/* Begins it: all but its WHERE. */
struct sqlbuf *users_select(struct store_session *s);

#endif
