/* SPDX-License-Identifier: MIT */
/* users: the columns that make a struct user, for the statements of this folder. Private to store/people. */
#ifndef STORE_PEOPLE_USERS_H
#define STORE_PEOPLE_USERS_H

#include "shardwheel/store/people.h"
#include "store/conn/rows.h"

/* Of the tables u (xxl_job_user) and r (shardwheel_role); USER_TOKEN follows them, by the features. */
#define USER_COLUMNS "u.id, u.username, u.password, u.role, u.permission, r.role, r.job_groups"
#define USER_ROLE_JOIN                                                                                                 \
    " LEFT JOIN shardwheel_role r ON r.user_id = u.id AND u.role = 0 AND COALESCE(u.permission, '') = ''"

/* Starts a SELECT with USER_COLUMNS and the token: columns 0 to 7. */
MUST_CHECK enum err users_start(struct store_session *s, struct errctx *ec);
/* ERR_NOMEM alone. */
MUST_CHECK enum err users_read(const struct db_rows *rows, struct user *out, struct errctx *ec);
/* store_load_user with its row locked, within a transaction. */
MUST_CHECK enum err users_lock(struct store_session *s, int64_t id, struct user *out, struct errctx *ec);

#endif
