/* SPDX-License-Identifier: MIT */
/*
 * keys: whether a token was signed by one of the provider's keys. The one file that includes libcjose, which reads the
 * token, the keys, and checks the signature. Pure.
 *
 * Algorithms  RS, PS and ES, of 256, 384 and 512 bits, each with a key of its own kind. So no public key can be taken
 *             for a shared secret (HS256), and a token without a signature is none.
 * Keys        Of a set those that are for signatures, and of the token's kid where it names one; RSA from 2048 bits on.
 */
#ifndef OIDC_KEYS_H
#define OIDC_KEYS_H

#include "shardwheel/base.h"

#define KEYS_MAX 100 /* that are looked at */

enum keys_verdict {
    KEYS_GOOD,
    KEYS_UNKNOWN, /* the set has no key that could have signed it: perhaps a newer one has */
    KEYS_BAD,     /* whatever keys there are */
};
/* `set`: a JWKS. The claims are appended, as they were signed, only if it is good; else `ec` says why. */
enum keys_verdict keys_verify(const char *token, const char *set, struct buf *claims, struct errctx *ec);
/* How many could sign a token. -1: it is no JWKS. */
int keys_count(const char *set);

#endif
