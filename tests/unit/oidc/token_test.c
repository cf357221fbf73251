/* SPDX-License-Identifier: MIT */
/* Tokens that are good, and all that are not: signatures, algorithms, keys, and what they say. */
#define ERR_STATE openssl_ERR_STATE
#include <cjose/cjose.h>
#undef ERR_STATE

#include "oidc/claims.h"
#include "oidc/keys.h"
#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLAIMS                                                                                                         \
    "{\"iss\":\"https://p\",\"aud\":\"me\",\"sub\":\"7\",\"nonce\":\"n1\",\"iat\":1000,\"exp\":1300,"                  \
    "\"preferred_username\":\"ann\",\"groups\":[\"a\",\"b\"]}"

static cjose_jwk_t *rsa, *other, *small, *ec;

static cjose_jwk_t *make_rsa(size_t bits, const char *kid)
{
    cjose_err err;
    cjose_jwk_t *key = cjose_jwk_create_RSA_random(bits, (const uint8_t *)"\x01\x00\x01", 3, &err);

    assert_non_null(key);
    if (kid)
        assert_true(cjose_jwk_set_kid(key, kid, strlen(kid), &err));
    return key;
}

static int set_up(void **state)
{
    cjose_err err;

    (void)state;
    rsa = make_rsa(2048, "k1");
    other = make_rsa(2048, "k1"); /* the same name */
    small = make_rsa(1024, "small");
    ec = cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &err);
    assert_true(cjose_jwk_set_kid(ec, "e1", 2, &err));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    cjose_jwk_release(rsa);
    cjose_jwk_release(other);
    cjose_jwk_release(small);
    cjose_jwk_release(ec);
    return 0;
}

static char *sign(const cjose_jwk_t *key, const char *alg, const char *kid, const char *crit)
{
    cjose_err err;
    cjose_header_t *header = cjose_header_new(&err);
    const char *text;

    assert_true(cjose_header_set(header, "alg", alg, &err));
    if (kid)
        assert_true(cjose_header_set(header, "kid", kid, &err));
    if (crit)
        assert_true(cjose_header_set_raw(header, "crit", crit, &err));
    cjose_jws_t *jws = cjose_jws_sign(key, header, (const uint8_t *)CLAIMS, strlen(CLAIMS), &err);
    if (!jws)
        fail_msg("%s: %s", alg, err.message);
    assert_true(cjose_jws_export(jws, &text, &err));
    char *copy = str_copy(text);
    cjose_jws_release(jws);
    cjose_header_release(header);
    return copy;
}

/* A set of one key, with what else its object has. */
static char *make_set(const cjose_jwk_t *key, const char *more)
{
    struct buf out = {0};
    cjose_err err;
    char *json = cjose_jwk_to_json(key, false, &err);

    buf_printf(&out, "{\"keys\":[{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AA\"},7,{%s%s]}", more, json + 1);
    free(json);
    return buf_take(&out);
}

static enum keys_verdict judge(char *token, char *set, char *why)
{
    struct buf claims = {0};
    struct errctx problem = {{0}};
    enum keys_verdict verdict = keys_verify(token, set, &claims, &problem);

    if (verdict == KEYS_GOOD)
        assert_string_equal(claims.data, CLAIMS);
    else
        assert_int_equal(claims.len, 0);
    if (why)
        snprintf(why, 200, "%.199s", problem.text);
    buf_fini(&claims);
    free(token);
    free(set);
    return verdict;
}

static void signatures_of_the_providers_keys_are_good(void **state)
{
    static const char *const algorithms[] = {"RS256", "RS384", "RS512", "PS256", "PS384", "PS512"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(algorithms); i++)
        assert_int_equal(judge(sign(rsa, algorithms[i], "k1", NULL), make_set(rsa, ""), NULL), KEYS_GOOD);
    assert_int_equal(judge(sign(ec, "ES256", "e1", NULL), make_set(ec, "\"use\":\"sig\","), NULL), KEYS_GOOD);
    assert_int_equal(judge(sign(rsa, "RS256", NULL, NULL), make_set(rsa, ""), NULL), KEYS_GOOD);
}

static void another_key_is_not_the_providers(void **state)
{
    char why[200];

    (void)state;
    assert_int_equal(judge(sign(other, "RS256", "k1", NULL), make_set(rsa, ""), why), KEYS_BAD);
    assert_string_equal(why, "its signature is not that of the provider's key");
    assert_int_equal(judge(sign(other, "RS256", "k2", NULL), make_set(rsa, ""), why), KEYS_UNKNOWN);
    assert_int_equal(judge(sign(other, "RS256", NULL, NULL), make_set(rsa, ""), why), KEYS_UNKNOWN);
    assert_int_equal(judge(sign(rsa, "RS256", "k1", NULL), make_set(ec, ""), NULL), KEYS_UNKNOWN);
    assert_int_equal(judge(sign(rsa, "RS256", "k1", NULL), str_copy("{\"keys\":[]}"), NULL), KEYS_UNKNOWN);
    assert_int_equal(judge(sign(rsa, "RS256", "k1", NULL), str_copy("nonsense"), NULL), KEYS_UNKNOWN);
    /* Keys for something else, or too weak. */
    assert_int_equal(judge(sign(rsa, "RS256", "k1", NULL), make_set(rsa, "\"use\":\"enc\","), NULL), KEYS_UNKNOWN);
    assert_int_equal(judge(sign(rsa, "RS256", "k1", NULL), make_set(rsa, "\"alg\":\"PS256\","), NULL), KEYS_UNKNOWN);
    assert_int_equal(judge(sign(small, "RS256", "small", NULL), make_set(small, ""), NULL), KEYS_UNKNOWN);
}

/* The public key is known to everybody: where it counts as a shared secret, everybody signs. */
static void a_public_key_is_no_shared_secret(void **state)
{
    cjose_err err;
    char *json = cjose_jwk_to_json(rsa, false, &err), why[200];
    cjose_jwk_t *secret = cjose_jwk_create_oct_spec((const uint8_t *)json, strlen(json), &err);
    struct buf set = {0};

    (void)state;
    assert_int_equal(judge(sign(secret, "HS256", "k1", NULL), make_set(rsa, ""), why), KEYS_BAD);
    assert_string_equal(why, "it is signed by \"HS256\", which is not accepted");
    char *shared = cjose_jwk_to_json(secret, true, &err); /* even where the set has it */
    buf_printf(&set, "{\"keys\":[%s]}", shared);
    assert_int_equal(keys_count(set.data), 0);
    assert_int_equal(judge(sign(secret, "HS256", NULL, NULL), buf_take(&set), NULL), KEYS_BAD);
    free(shared);
    free(json);
    cjose_jwk_release(secret);
}

static void put_base64url(struct buf *out, const char *text)
{
    size_t from = out->len;

    buf_put_base64(out, text, strlen(text));
    while (out->data[out->len - 1] == '=')
        out->data[--out->len] = '\0';
    for (size_t i = from; i < out->len; i++)
        out->data[i] = out->data[i] == '+' ? '-' : out->data[i] == '/' ? '_' : out->data[i];
}

static void what_is_not_signed_is_nothing(void **state)
{
    static const char *const headers[] = {
        "{\"alg\":\"none\"}", "{\"alg\":\"None\"}", "{\"alg\":\"\"}", "{}", "{\"alg\":7}", "[]", "nonsense"};
    static const char *const tokens[] = {"", ".", "..", "a.b", "a.b.c", "a.b.c.d.e", "\xff.\xff.\xff", "eyJ.eyJ."};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(headers); i++) {
        struct buf token = {0};
        put_base64url(&token, headers[i]);
        buf_putc(&token, '.');
        put_base64url(&token, CLAIMS);
        buf_putc(&token, '.');
        if (i % 2)
            put_base64url(&token, "signature");
        if (judge(buf_take(&token), make_set(rsa, ""), NULL) != KEYS_BAD)
            fail_msg("%s", headers[i]);
    }
    for (size_t i = 0; i < ARRAY_LEN(tokens); i++)
        if (judge(str_copy(tokens[i]), make_set(rsa, ""), NULL) != KEYS_BAD)
            fail_msg("%s", tokens[i]);
}

static void what_was_changed_afterwards_is_not_good(void **state)
{
    char *token = sign(rsa, "RS256", "k1", NULL), *set = make_set(rsa, "");
    size_t len = strlen(token);

    (void)state;
    for (size_t i = 0; i < len; i += 7) {
        char *copy = str_copy(token);
        copy[i] = copy[i] == 'A' ? 'B' : 'A';
        if (strcmp(copy, token) != 0 && judge(copy, str_copy(set), NULL) == KEYS_GOOD)
            fail_msg("at %zu of %zu", i, len);
    }
    for (size_t i = 0; i < len; i += 11) {
        char *copy = str_copy(token);
        copy[i] = '\0';
        assert_int_not_equal(judge(copy, str_copy(set), NULL), KEYS_GOOD);
    }
    free(token);
    free(set);
    char why[200];
    assert_int_equal(judge(sign(rsa, "RS256", "k1", "[\"b64\"]"), make_set(rsa, ""), why), KEYS_BAD);
    assert_string_equal(why, "it has critical headers that are not supported");
}

static void keys_that_could_sign_are_counted(void **state)
{
    char *set = make_set(rsa, ""), *weak = make_set(small, ""), *enc = make_set(rsa, "\"use\":\"enc\",");

    (void)state;
    assert_int_equal(keys_count(set), 1);
    assert_int_equal(keys_count(weak), 0);
    assert_int_equal(keys_count(enc), 0);
    assert_int_equal(keys_count("{}"), -1);
    assert_int_equal(keys_count("["), -1);
    free(set);
    free(weak);
    free(enc);
}

/* ---- what they say ----------------------------------------------------------------------------------------------- */

static void claims_are_for_us_and_for_now(void **state)
{
#define ALL(iss, aud, more) "{\"iss\":\"" iss "\",\"aud\":" aud ",\"sub\":\"7\",\"iat\":1000,\"exp\":1300" more "}"
#define NONCE ",\"nonce\":\"n1\""
    static const struct {
        const char *claims, *why; /* NULL: it is good */
        int64_t now_s;
    } cases[] = {
        {CLAIMS, NULL, 1000},
        {CLAIMS, NULL, 940}, /* clocks differ by a minute */
        {CLAIMS, "it was issued 61 s ahead of this node's clock (iat): one of the clocks is wrong", 939},
        {CLAIMS, NULL, 1359},
        {CLAIMS, "it expired 60 s ago by this node's clock (exp)", 1360},
        {ALL("https://q", "\"me\"", NONCE), "it is from another issuer (iss): \"https://q\"", 1000},
        {ALL("https://p/", "\"me\"", NONCE), "it is from another issuer (iss): \"https://p/\"", 1000},
        {ALL("https://p", "\"you\"", NONCE), "it is for another client (aud)", 1000},
        {ALL("https://p", "[\"you\"]", NONCE), "it is for another client (aud)", 1000},
        {ALL("https://p", "7", NONCE), "it is for another client (aud)", 1000},
        {ALL("https://p", "[\"me\"]", NONCE), NULL, 1000},
        {ALL("https://p", "[\"you\",\"me\"]", NONCE),
         "it is for several clients, and does not name the one that requested it (azp)", 1000},
        {ALL("https://p", "[\"you\",\"me\"]", NONCE ",\"azp\":\"me\""), NULL, 1000},
        {ALL("https://p", "[\"you\",\"me\"]", NONCE ",\"azp\":\"you\""), "another client requested it (azp)", 1000},
        {ALL("https://p", "\"me\"", ""), "it has no nonce", 1000},
        {ALL("https://p", "\"me\"", ",\"nonce\":\"n2\""), "it is for another login (nonce)", 1000},
        {ALL("https://p", "\"me\"", ",\"nonce\":\"\""), "it is for another login (nonce)", 1000},
        {ALL("https://p", "\"me\"", NONCE ",\"nbf\":1061"), "it is not valid yet by this node's clock (nbf)", 1000},
        {"{\"iss\":\"https://p\",\"aud\":\"me\",\"sub\":\"7\",\"nonce\":\"n1\",\"iat\":1000}",
         "it has no time of issue, or no end of validity (iat, exp)", 1000},
        {"{\"iss\":\"https://p\",\"aud\":\"me\",\"sub\":\"7\",\"nonce\":\"n1\",\"iat\":1000,\"exp\":\"1300\"}",
         "it has no time of issue, or no end of validity (iat, exp)", 1000},
        {"{\"iss\":\"https://p\",\"aud\":\"me\",\"sub\":\"7\",\"nonce\":\"n1\",\"iat\":1000,\"exp\":1e300}",
         "it has no time of issue, or no end of validity (iat, exp)", 1000},
        {"{\"iss\":\"https://p\",\"aud\":\"me\",\"sub\":\"\",\"nonce\":\"n1\",\"iat\":1000,\"exp\":1300}",
         "it does not identify the user (sub)", 1000},
        {"{\"iss\":\"https://p\",\"aud\":\"me\",\"nonce\":\"n1\",\"iat\":1000,\"exp\":1300.5}",
         "it does not identify the user (sub)", 1000},
        {"{}", "it is from another issuer (iss): \"\"", 1000},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct claims_wanted wanted = {"https://p", "me", "n1", cases[i].now_s};
        struct document *d = document_parse(cases[i].claims);
        struct errctx problem = {{0}};

        enum err e = claims_check(d, &wanted, &problem);
        if ((e == ERR_OK) != !cases[i].why || (e && strcmp(problem.text, cases[i].why) != 0))
            fail_msg("case %zu: %s", i, problem.text);
        document_destroy(d);
    }
}

static void names_and_groups_are_where_the_settings_say(void **state)
{
    static const struct {
        const char *names, *groups, *claims, *more, *expected;
    } cases[] = {
        {"preferred_username,email", "groups", CLAIMS, NULL, "ann:a b"},
        {"nick, email", "groups", "{\"sub\":\"7\",\"email\":\"a@b\"}", NULL, "a@b:"},
        {"nick\t, email ", " \tg , h\t ", "{\"sub\":\"7\",\"email\":\"a@b\",\"g\":\"x\",\"h\":\"y\"}", NULL, "a@b:x y"},
        {"name", "groups", "{\"sub\":\"7\",\"name\":\"\"}", "{\"name\":\"ann\",\"groups\":\"one\"}", "ann:one"},
        {"name", "realm.roles, groups", "{\"sub\":\"7\",\"realm\":{\"roles\":[\"r\",7,null]},\"groups\":[\"g\"]}", NULL,
         "(none):r g"},
        {"name", "a.b", "{\"sub\":\"7\",\"a.b\":[\"x\"]}", NULL, "(none):x"},
        {"name", "a.b.c", "{\"sub\":\"7\",\"a\":{\"b\":[\"x\"]}}", NULL, "(none):"},
        {"", "", "{\"sub\":\"7\"}", NULL, "(none):"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct oidc_opts opts = {
            .issuer = "https://p", .name_claims = cases[i].names, .groups_claims = cases[i].groups};
        struct document *d = document_parse(cases[i].claims), *m = cases[i].more ? document_parse(cases[i].more) : NULL;
        struct oidc_person person;
        struct errctx problem;
        struct buf said = {0};

        assert_int_equal(claims_take_person(d, m, &opts, &person, &problem), ERR_OK);
        assert_string_equal(person.subject, "https://p 7");
        buf_printf(&said, "%s:", person.name ? person.name : "(none)");
        for (size_t g = 0; g < person.group_count; g++)
            buf_printf(&said, "%s%s", g ? " " : "", person.groups[g]);
        if (strcmp(said.data, cases[i].expected) != 0)
            fail_msg("case %zu: %s", i, said.data);
        buf_fini(&said);
        oidc_person_fini(&person);
        document_destroy(d);
        document_destroy(m);
    }
}

static void issuers_are_https_or_this_machine(void **state)
{
    static const struct {
        const char *issuer;
        bool good;
    } cases[] = {
        {"https://login.example.com", true},
        {"https://login.example.com/realms/a/", true},
        {"http://127.0.0.1:3000", true},
        {"http://localhost:3000", true},
        {"http://[::1]:3000", true},
        {"http://login.example.com", false},
        {"http://127.0.0.1.example.com", false},
        {"http://127.0.0.1@example.com", false},
        {"ftp://127.0.0.1", false},
        {"https://a?b", false},
        {"https://a#b", false},
        {"login.example.com", false},
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct oidc_opts opts = {cases[i].issuer, "me", "", "", "", "", "", "", 0};
        struct oidc *o = NULL;
        struct errctx problem = {{0}};

        if (!oidc_create(&opts, NULL, clock_system(), &o, &problem) != cases[i].good)
            fail_msg("%s: %s", cases[i].issuer, problem.text);
        oidc_destroy(o);
    }
}

static void redirect_uris_end_with_the_callback(void **state)
{
    static const struct {
        const char *uri;
        bool good;
    } cases[] = {
        {"", true},
        {"https://jobs.example.com/auth/oidc/callback", true},
        {"http://jobs/x/auth/oidc/callback", true},
        {"https://jobs.example.com", false},
        {"https://jobs.example.com/auth/oidc/callback/", false},
        {"https://jobs.example.com/auth/oidc/callback?x=1", false},
        {"https://jobs.example.com/?x=/auth/oidc/callback", false},
        {"https://jobs.example.com/#/auth/oidc/callback", false},
        {"https://jobs example/auth/oidc/callback", false},
        {"https:///auth/oidc/callback", false},
        {"https://auth/oidc/callback", false},
        {"jobs.example.com/auth/oidc/callback", false},
        {"/auth/oidc/callback", false},
        {" ", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct oidc_opts opts = {"https://login.example.com", "me", "", "", "", "", cases[i].uri, "", 0};
        struct oidc *o = NULL;
        struct errctx problem = {{0}};
        enum err e = oidc_create(&opts, NULL, clock_system(), &o, &problem);

        if (e != (cases[i].good ? ERR_OK : ERR_INPUT) || (e && !strstr(problem.text, "shardwheel.oidc.redirect-uri")) ||
            (!e && strcmp(oidc_get_redirect_uri(o), cases[i].uri) != 0))
            fail_msg("%s: %s", cases[i].uri, problem.text);
        oidc_destroy(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signatures_of_the_providers_keys_are_good),
        cmocka_unit_test(another_key_is_not_the_providers),
        cmocka_unit_test(a_public_key_is_no_shared_secret),
        cmocka_unit_test(what_is_not_signed_is_nothing),
        cmocka_unit_test(what_was_changed_afterwards_is_not_good),
        cmocka_unit_test(keys_that_could_sign_are_counted),
        cmocka_unit_test(claims_are_for_us_and_for_now),
        cmocka_unit_test(names_and_groups_are_where_the_settings_say),
        cmocka_unit_test(issuers_are_https_or_this_machine),
        cmocka_unit_test(redirect_uris_end_with_the_callback),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
