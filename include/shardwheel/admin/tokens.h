/* SPDX-License-Identifier: MIT */
/*
 * admin/tokens: tokens of api/v1: what programs show instead of a session. See admin.h for threads and refusals.
 *
 * Rights      Those of the owner at that moment, as far as the scopes go: read is RIGHT_SEE, run RIGHT_RUN, write
 *             RIGHT_CHANGE, admin RIGHT_ADMINISTER. No scope holds another one.
 * Secrets     A token is shown once, by the call that makes it; the database has its SHA-256.
 */
#ifndef SHARDWHEEL_ADMIN_TOKENS_H
#define SHARDWHEEL_ADMIN_TOKENS_H

#include "shardwheel/admin/login.h"

#define TOKEN_PREFIX "swt_"
#define TOKEN_LEN 44  /* the prefix and 40 characters of base64url: 240 random bits */
#define TOKENS_MAX 50 /* of a user */

struct token_spec {
    const char *name;   /* 1 to 64 characters; no other token of the user has it */
    unsigned scopes;    /* of enum admin_right */
    int64_t expires_ms; /* 0: never */
};

unsigned scopes_parse(const char *text); /* of a row */
/* For who asks. Fields name, scopes, expiresAt. Who asks by a token needs its scope admin, and gives no scope that it
 * has not. REFUSED_TAKEN "name", REFUSED_LIMIT: TOKENS_MAX are there. `out` does not say when it was made. */
MUST_CHECK enum err admin_add_token(struct admin *a, const struct identity *who, const struct token_spec *spec,
                                    char secret[TOKEN_LEN + 1], struct token_row *out, struct refusal *r);
/* One's own, or with `all` those of everybody, for administrators. By id, behind after_id. */
MUST_CHECK enum err admin_load_tokens(struct admin *a, const struct identity *who, bool all, int64_t after_id,
                                      int64_t limit, struct token_row **out, size_t *count, struct refusal *r);
/* One's own, or as an administrator anybody's. REFUSED_UNKNOWN "id". A token may always end itself. */
MUST_CHECK enum err admin_remove_token(struct admin *a, const struct identity *who, int64_t id, struct refusal *r);

#endif
