/* SPDX-License-Identifier: MIT */
#define ERR_STATE openssl_ERR_STATE /* a type there, an error here */
#include <cjose/cjose.h>
#undef ERR_STATE

#include "oidc/document.h"
#include "oidc/keys.h"

#include <stdlib.h>
#include <string.h>

#define RSA_BITS_MIN 2048

struct algorithm {
    const char *name;
    cjose_jwk_kty_t kind;
    cjose_jwk_ec_curve curve; /* of ES */
};

static const struct algorithm algorithms[] = {
    {"RS256", CJOSE_JWK_KTY_RSA, 0},
    {"RS384", CJOSE_JWK_KTY_RSA, 0},
    {"RS512", CJOSE_JWK_KTY_RSA, 0},
    {"PS256", CJOSE_JWK_KTY_RSA, 0},
    {"PS384", CJOSE_JWK_KTY_RSA, 0},
    {"PS512", CJOSE_JWK_KTY_RSA, 0},
    {"ES256", CJOSE_JWK_KTY_EC, CJOSE_JWK_EC_P_256},
    {"ES384", CJOSE_JWK_KTY_EC, CJOSE_JWK_EC_P_384},
    {"ES512", CJOSE_JWK_KTY_EC, CJOSE_JWK_EC_P_521},
};

static const struct algorithm *find_algorithm(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(algorithms); i++)
        if (!strcmp(name, algorithms[i].name))
            return &algorithms[i];
    return NULL;
}

/* ---- keys of a set ----------------------------------------------------------------------------------------------- */

static bool fits_kind(const cjose_jwk_t *key, const struct algorithm *a)
{
    cjose_err err;

    if (cjose_jwk_get_kty(key, &err) != a->kind)
        return false;
    if (a->kind == CJOSE_JWK_KTY_EC)
        return cjose_jwk_EC_get_curve(key, &err) == a->curve;
    return cjose_jwk_get_keysize(key, &err) >= RSA_BITS_MIN;
}

static bool is_for_signatures(const struct document *key, const char *algorithm)
{
    const char *use = document_get_text(key, "use"), *own = document_get_text(key, "alg");

    return (!use || !strcmp(use, "sig")) && (!own || !algorithm || !strcmp(own, algorithm));
}

static cjose_jwk_t *import(const struct document *key)
{
    const char *text = document_get_json(key);
    cjose_err err;

    return text ? cjose_jwk_import(text, strlen(text), &err) : NULL;
}

/* Of any algorithm that we take. */
static bool could_sign(const struct document *item)
{
    cjose_jwk_t *key = is_for_signatures(item, NULL) ? import(item) : NULL;
    bool could = false;

    for (size_t i = 0; key && i < ARRAY_LEN(algorithms) && !could; i++)
        could = fits_kind(key, &algorithms[i]) && is_for_signatures(item, algorithms[i].name);
    cjose_jwk_release(key);
    return could;
}

int keys_count(const char *text)
{
    struct document *set = document_parse(text);
    int count = set && document_has_list(set, "keys") ? 0 : -1;

    for (size_t i = 0; count >= 0 && i < KEYS_MAX; i++) {
        struct document *item = document_get_item(set, "keys", i);
        if (!item)
            break;
        count += could_sign(item);
        document_destroy(item);
    }
    document_destroy(set);
    return count;
}

/* ---- a token ----------------------------------------------------------------------------------------------------- */

/* Whether that key has signed it. *tried: it could have. */
static bool try_key(cjose_jws_t *jws, const struct document *item, const struct algorithm *a, const char *kid,
                    bool *tried)
{
    const char *own = document_get_text(item, "kid");
    cjose_jwk_t *key = NULL;
    cjose_err err;
    bool good = false;

    if ((kid && (!own || strcmp(own, kid) != 0)) || !is_for_signatures(item, a->name) || !(key = import(item)))
        return false;
    if (fits_kind(key, a)) {
        *tried = true;
        good = cjose_jws_verify(jws, key, &err);
    }
    cjose_jwk_release(key);
    return good;
}

static enum keys_verdict try_keys(cjose_jws_t *jws, const char *text, const struct algorithm *a, const char *kid,
                                  struct errctx *ec)
{
    struct document *set = document_parse(text);
    bool good = false, tried = false;

    for (size_t i = 0; set && i < KEYS_MAX && !good; i++) {
        struct document *item = document_get_item(set, "keys", i);
        if (!item)
            break;
        good = try_key(jws, item, a, kid, &tried);
        document_destroy(item);
    }
    document_destroy(set);
    if (good)
        return KEYS_GOOD;
    err_set(ec, ERR_INPUT,
            tried ? "its signature is not that of the provider's key"
                  : "the provider has no key that could have signed it");
    /* Without a name of a key another one may have. */
    return tried && kid ? KEYS_BAD : KEYS_UNKNOWN;
}

static enum keys_verdict verify(cjose_jws_t *jws, const char *set, struct errctx *ec)
{
    cjose_header_t *header = cjose_jws_get_protected(jws);
    cjose_err err;
    const char *name = header ? cjose_header_get(header, "alg", &err) : NULL;
    const struct algorithm *a = find_algorithm(name ? name : "");
    char *crit = header ? cjose_header_get_raw(header, "crit", &err) : NULL;

    if (!a) {
        err_set(ec, ERR_INPUT, "it is signed by \"%.40s\", which is not accepted", name ? name : "");
    } else if (crit) {
        err_set(ec, ERR_INPUT, "it has critical headers that are not supported");
        a = NULL;
    }
    free(crit);
    return a ? try_keys(jws, set, a, cjose_header_get(header, "kid", &err), ec) : KEYS_BAD;
}

enum keys_verdict keys_verify(const char *token, const char *set, struct buf *claims, struct errctx *ec)
{
    cjose_err err;
    cjose_jws_t *jws = cjose_jws_import(token, strlen(token), &err);
    enum keys_verdict verdict = KEYS_BAD;
    uint8_t *text = NULL;
    size_t len = 0;

    if (!jws) {
        err_set(ec, ERR_INPUT, "it is not a signed token");
        return KEYS_BAD;
    }
    verdict = verify(jws, set, ec);
    if (verdict == KEYS_GOOD && (!cjose_jws_get_plaintext(jws, &text, &len, &err) || memchr(text, 0, len))) {
        err_set(ec, ERR_INPUT, "it cannot be read");
        verdict = KEYS_BAD;
    }
    if (verdict == KEYS_GOOD)
        buf_append(claims, (const char *)text, len);
    cjose_jws_release(jws);
    return verdict;
}
