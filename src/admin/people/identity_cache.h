/* SPDX-License-Identifier: MIT */
/*
 * identity_cache: who proofs belong to, for KNOWN_MS after it was looked up. Private to admin.
 *
 * Threads     Any.
 * Bounds      IDENTITIES proofs; one that needs the place of another takes it. Proofs are kept as hashes.
 */
#ifndef ADMIN_PEOPLE_IDENTITY_CACHE_H
#define ADMIN_PEOPLE_IDENTITY_CACHE_H

#include "shardwheel/admin/login.h"

#define KNOWN_MS 1500
#define IDENTITIES 512

struct identity_place {
    char key[SECRET_HASH_MAX]; /* "": free */
    int64_t until_mono_ms;
    struct identity who;
};

struct identity_cache {
    struct mutex lock;             /* rank LOCK_LEAF */
    struct identity_place *places; /* [lock] */
    int64_t generation;            /* [lock] counts identity_cache_clear */
};

MUST_CHECK enum err identity_cache_init(struct identity_cache *c, struct errctx *ec);
void identity_cache_fini(struct identity_cache *c);
void identity_cache_make_key(const struct proof *proof, char out[SECRET_HASH_MAX]);
/* True: *out is a copy, the caller's. Else *generation goes to identity_cache_put, with what was looked up after this
 * call: it is dropped when the cache was cleared meanwhile. */
bool identity_cache_find(struct identity_cache *c, const char *key, int64_t now_mono_ms, struct identity *out,
                         int64_t *generation);
void identity_cache_put(struct identity_cache *c, const char *key, int64_t now_mono_ms, int64_t generation,
                        const struct identity *who);
void identity_cache_clear(struct identity_cache *c);

#endif
