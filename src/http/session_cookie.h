/* SPDX-License-Identifier: MIT */
/*
 * session_cookie: what stands in the cookies of logins. Pure.
 *
 * Dialect A   The row of the user as JSON, its bytes as one number of base 16. Where the column holds MD5 it has the
 *             hash, as Java admins read and write it; else the secret of a session of ours in that place.
 * B, C, D     JSON with the user's id and a signature, in base64url: the secret of a session of ours, or what stands in
 *             the column `token` of xxl_job_user.
 */
#ifndef HTTP_SESSION_COOKIE_H
#define HTTP_SESSION_COOKIE_H

#include "shardwheel/admin/login.h"

#define COOKIE_VALUE_MAX 4096
#define COOKIE_SECRET_MAX 129
#define COOKIE_NAME_TEXT_MAX 256

struct session_cookie {
    int64_t user_id;                 /* of B, C, D */
    char name[COOKIE_NAME_TEXT_MAX]; /* of A */
    char secret[COOKIE_SECRET_MAX];
};

enum cookie_verdict {
    COOKIE_GOOD,
    COOKIE_BROKEN, /* nothing of the kind: a client is told to forget it */
    COOKIE_OTHER,  /* of A: a number, but of no such row; it is left alone, as Java admins do */
};

enum cookie_verdict row_cookie_read(const char *value, struct session_cookie *out);
enum cookie_verdict token_cookie_read(const char *value, struct session_cookie *out);
/* `secret` NULL: the row's password. */
void row_cookie_put(struct buf *out, const struct user *u, const char *secret);
void token_cookie_put(struct buf *out, int64_t user_id, const char *secret);

#endif
