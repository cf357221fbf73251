/* SPDX-License-Identifier: MIT */
/*
 * store/factor: second factors of users (shardwheel_factor) and their recovery codes (shardwheel_recovery). See
 * store/conn.h for threads, ownership and errors. All times are of the database's clock.
 */
#ifndef SHARDWHEEL_STORE_FACTOR_H
#define SHARDWHEEL_STORE_FACTOR_H

#include "shardwheel/store/login.h"

#define FACTOR_SECRET_MAX 65 /* base32, and a NUL */
#define RECOVERY_CODES 10

struct factor_row {
    char secret[FACTOR_SECRET_MAX]; /* "": none is in use */
    int64_t since_ms;
    int64_t last_step;               /* the time step of the last code that was used: no older one counts */
    char pending[FACTOR_SECRET_MAX]; /* shown to the user, and not confirmed by a code; "": none */
    int64_t pending_ms;
    char codes[RECOVERY_CODES][SECRET_HASH_MAX]; /* hashes of those that are left */
    size_t code_count;
    int64_t now_ms;
};

/* All zero but for now_ms where the user has none. */
MUST_CHECK enum err store_load_factor(struct store_session *s, int64_t user_id, struct factor_row *out,
                                      struct errctx *ec);
/* The one in use stays. */
MUST_CHECK enum err store_set_pending_factor(struct store_session *s, int64_t user_id, const char *secret,
                                             struct errctx *ec);
/* The pending secret is in use from now on, with these recovery codes alone, and `step` is used. `session`: id of the
 * one that showed the code; "": none. *done is false when another one is pending by now. */
MUST_CHECK enum err store_confirm_factor(struct store_session *s, int64_t user_id, const char *session,
                                         const char *pending, int64_t step,
                                         const char hashes[RECOVERY_CODES][SECRET_HASH_MAX],
                                         const struct audit_row *audit, bool *done, struct errctx *ec);
/* *used: the code of that step counts, for it and none of a later step was used before. Of several at once one gets
 * true. */
MUST_CHECK enum err store_use_factor_step(struct store_session *s, int64_t user_id, const char *secret, int64_t step,
                                          bool *used, struct errctx *ec);
/* The same of a recovery code, which is gone then. */
MUST_CHECK enum err store_use_recovery(struct store_session *s, int64_t user_id, const char *hash, bool *used,
                                       struct errctx *ec);
/* ERR_NOTFOUND: the user has no second factor. */
MUST_CHECK enum err store_replace_recovery(struct store_session *s, int64_t user_id,
                                           const char hashes[RECOVERY_CODES][SECRET_HASH_MAX],
                                           const struct audit_row *audit, struct errctx *ec);
/* With its recovery codes, and what is pending. ERR_NOTFOUND: the user has none in use. */
MUST_CHECK enum err store_remove_factor(struct store_session *s, int64_t user_id, const struct audit_row *audit,
                                        struct errctx *ec);

#endif
