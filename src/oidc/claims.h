/* SPDX-License-Identifier: MIT */
/* claims: whether what a signed token says is for us and now, and who it says that somebody is. Pure. */
#ifndef OIDC_CLAIMS_H
#define OIDC_CLAIMS_H

#include "oidc/document.h"
#include "shardwheel/oidc.h"

struct claims_wanted {
    const char *issuer, *client_id, *nonce;
    int64_t now_s;
};
/* ERR_INPUT says what is wrong, without the values of secrets. */
MUST_CHECK enum err claims_check(const struct document *claims, const struct claims_wanted *wanted, struct errctx *ec);

/* Name and groups of one document or the other: `more` is asked where the first has none; NULL: there is none. The
 * name is NULL where nobody tells one. ERR_NOMEM; ERR_INPUT: too many groups. */
MUST_CHECK enum err claims_take_person(const struct document *claims, const struct document *more,
                                       const struct oidc_opts *opts, struct oidc_person *out, struct errctx *ec);
/* Whether the document has a name, and groups. */
bool claims_are_enough(const struct document *claims, const struct oidc_opts *opts);

#endif
