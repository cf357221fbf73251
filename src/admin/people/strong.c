/* SPDX-License-Identifier: MIT */
#include "admin/people/strong.h"

#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "admin/people/password.h"

#define STAND_IN "!argon2id:" /* followed by digits: in a column of 50 characters */
#define STAND_IN_BYTES 18
#define GIVEN_MAX 1024 /* bytes: no password is so long */

_Static_assert(STRONG_HASH_MAX >= crypto_pwhash_STRBYTES, "a hash has room");
_Static_assert(sizeof STAND_IN - 1 + 2 * STAND_IN_BYTES <= 50, "it fits the column of 2.x");

/* Of a password that nobody has. */
static const char nobodys_hash[crypto_pwhash_STRBYTES] =
    "$argon2id$v=19$m=19456,t=2,p=1$CiG8t95xUsfqfp067aIN8g$dlB5WrRuXSVu1ZY5p9typiUpkEErRwnfhoSTFXiaSec";

/* ---- how many at once -------------------------------------------------------------------------------------------- */

enum err hashing_init(struct hashing *h, struct counters *counters, struct errctx *ec)
{
    if (sodium_init() < 0)
        return err_set(ec, ERR_STATE, "libsodium cannot be used");
    *h = (struct hashing){.counters = counters};
    mutex_init(&h->lock, LOCK_LEAF);
    cond_init(&h->wake);
    return ERR_OK;
}

void hashing_fini(struct hashing *h)
{
    cond_fini(&h->wake);
    mutex_fini(&h->lock);
}

enum err hashing_enter(struct hashing *h, const struct clock *clock, struct refusal *r)
{
    int64_t until_mono_ms = clock_mono_ms(clock) + HASHING_WAIT_MS;
    bool entered;

    mutex_lock(&h->lock);
    if (h->busy < HASHINGS || h->waiting < HASHINGS_WAITING) {
        h->waiting++;
        while (h->busy >= HASHINGS && cond_wait_until(&h->wake, &h->lock, until_mono_ms))
            ;
        h->waiting--;
    }
    entered = h->busy < HASHINGS;
    if (entered)
        h->busy++;
    mutex_unlock(&h->lock);
    if (entered)
        return ERR_OK;
    enum err e = refuse(r, REFUSED_LIMIT, NULL, "too many logins at once: try again in a second");
    r->retry_s = 1;
    return e;
}

void hashing_leave(struct hashing *h)
{
    mutex_lock(&h->lock);
    h->busy--;
    cond_signal(&h->wake);
    mutex_unlock(&h->lock);
}

/* ---- hashes ------------------------------------------------------------------------------------------------------ */

enum err strong_make(struct hashing *h, const char *password, struct user *u, struct errctx *ec)
{
    char digits[2 * STAND_IN_BYTES + 1];
    enum err e = random_hex(digits, STAND_IN_BYTES, ec);

    if (e)
        return e;
    counters_add(h->counters, COUNTER_PASSWORD_HASHES, 1);
    memset(u->strong, 0, sizeof u->strong);
    if (crypto_pwhash_str_alg(u->strong, password, strlen(password), STRONG_PASSES, STRONG_MEMORY_KIB * 1024ULL,
                              crypto_pwhash_ALG_ARGON2ID13) != 0)
        return err_set(ec, ERR_NOMEM, "out of memory for the hash of a password");
    snprintf(u->password, sizeof u->password, STAND_IN "%s", digits);
    return ERR_OK;
}

static bool is_affordable(const char *hash)
{
    unsigned memory = 0, passes = 0, lanes = 0;

    return sscanf(hash, "$argon2id$v=19$m=%9u,t=%9u,p=%9u$", &memory, &passes, &lanes) == 3 &&
           memory <= 2 * STRONG_MEMORY_KIB && passes <= 2 * STRONG_PASSES && lanes == 1;
}

bool strong_fits(struct hashing *h, const char *stored, const char *given)
{
    char hash[crypto_pwhash_STRBYTES] = "";
    size_t len = strlen(given);
    bool good = len <= GIVEN_MAX && is_affordable(stored);

    counters_add(h->counters, COUNTER_PASSWORD_HASHES, 1);
    snprintf(hash, sizeof hash, "%s", good ? stored : nobodys_hash);
    bool fits = crypto_pwhash_str_verify(hash, given, len <= GIVEN_MAX ? len : 0) == 0;
    return good && fits;
}

bool stored_password_fits(struct hashing *h, const struct stored_password *p, const char *given)
{
    bool by_column = password_fits(p->strong[0] ? "" : p->column, given);
    bool by_strong = (p->slow || p->strong[0]) && strong_fits(h, p->strong, given);

    return p->strong[0] ? by_strong : by_column;
}
