/* SPDX-License-Identifier: MIT */
/*
 * totp: codes of authenticator apps (RFC 6238: SHA-1, 30 seconds, six digits) and recovery codes. Pure but for random
 * bytes. Private to admin.
 */
#ifndef ADMIN_PEOPLE_TOTP_H
#define ADMIN_PEOPLE_TOTP_H

#include "shardwheel/admin/login.h"

#define TOTP_STEP_MS 30000
#define TOTP_DIGITS 6
#define TOTP_SECRET_BYTES 20 /* 32 letters of base32 */
#define RECOVERY_BYTES 10    /* 16 letters, in four groups */

MUST_CHECK enum err totp_make_secret(char out[FACTOR_SECRET_MAX], struct errctx *ec);
/* False: the secret is no base32. */
bool totp_make_code(const char *secret, int64_t step, char out[TOTP_DIGITS + 1]);
/* The step whose code it is, among that of now and its neighbours, which is later than `last_step`; 0: none. Blanks in
 * the code go. Takes the same time for each code of six digits. */
int64_t totp_find_step(const char *secret, const char *code, int64_t now_ms, int64_t last_step);
/* "otpauth://totp/shardwheel:NAME?secret=...&issuer=shardwheel" */
void totp_put_url(struct buf *out, const char *name, const char *secret);

/* "abcd-efgh-ijkl-mnop" */
MUST_CHECK enum err recovery_make(char out[RECOVERY_TEXT_MAX], struct errctx *ec);
/* Of what somebody typed: capitals, blanks and dashes make no difference. False: it has not the form of one. */
bool recovery_hash(const char *text, char out[SECRET_HASH_MAX]);

#endif
