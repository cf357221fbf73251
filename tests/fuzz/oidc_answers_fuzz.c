/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target for the end of a login by OpenID Connect: what a provider, or who stands in its place, answers. The first
 * HEAD_BYTES bytes choose, the rest are texts that end with a NUL each, in the order of enum field. In them a byte 1 is
 * the issuer, 2 the client id, 3 the nonce, 4 the time, 5 a while later, 6 the provider's key, 7 its name.
 *
 * Oracle      Nobody comes in but by a token that the provider's key has signed, for this client, this login and this
 *             time, which is read here by json-c once more; with a userinfo page, by one of the same person. Whoever is
 *             refused is refused with a reason. The client secret goes to the token page alone, and nothing to a page
 *             that is neither https nor on this machine.
 * Run: tools/fuzz oidc_answers (-max_len=4000)
 */
#include "oidc/oidc_impl.h"

#define ERR_STATE openssl_ERR_STATE /* a type there, an error here */
#include <cjose/cjose.h>
#undef ERR_STATE

#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define HEAD_BYTES 8
#define ISSUER "https://login.example.com/a"
#define CLIENT "me"
#define SECRET "s3cr3tw0rd"
#define NONCE "00112233445566778899aabbccddeeff"
#define NOW_S 1800000000
#define SKEW_S 60

enum field {
    FIELD_DISCOVERY,
    FIELD_KEYS,
    FIELD_TOKENS, /* of the token page; "": ours, with the id_token that is made */
    FIELD_HEADER, /* of the id_token */
    FIELD_CLAIMS,
    FIELD_USERINFO,
    FIELD_ISS, /* that the browser brings */
    FIELD_ERROR,
    FIELDS
};

enum signer { BY_PROVIDER, BY_ANOTHER, BY_PUBLIC_KEY, BY_NOBODY, BY_NONE, AS_GIVEN, SIGNERS };

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
MUST_CHECK enum err __wrap_fetch(const struct fetcher *f, const struct fetch_request *request, struct fetch_answer *out,
                                 struct errctx *ec);

static cjose_jwk_t *provider_key, *other_key;
static char *provider_set;
static char *fields[FIELDS], *token;
static const uint8_t *head;
static bool asked_userinfo;
static char token_page[OIDC_TEXT_MAX + 1];

static void require(bool holds, const char *why)
{
    if (holds)
        return;
    fprintf(stderr, "%s\n", why);
    for (int i = 0; i < FIELDS; i++)
        fprintf(stderr, "  %d: %.2000s\n", i, fields[i] ? fields[i] : "");
    abort();
}

/* ---- time and keys ----------------------------------------------------------------------------------------------- */

static int64_t wall_us(const struct clock *clock)
{
    (void)clock;
    return INT64_C(1000000) * NOW_S;
}

static int64_t mono_ms(const struct clock *clock)
{
    (void)clock;
    return 1000;
}

static const struct clock still = {wall_us, mono_ms, mono_ms};

static cjose_jwk_t *make_key(void)
{
    cjose_err err;
    cjose_jwk_t *key = cjose_jwk_create_EC_random(CJOSE_JWK_EC_P_256, &err);

    if (!key || !cjose_jwk_set_kid(key, "k1", 2, &err))
        abort();
    return key;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    struct buf set = {0};
    cjose_err err;

    (void)argc, (void)argv;
    if (fetch_begin(NULL)) /* once for all: it takes long */
        abort();
    provider_key = make_key();
    other_key = make_key();
    char *json = cjose_jwk_to_json(provider_key, false, &err);
    buf_puts(&set, json);
    free(json);
    provider_set = buf_take(&set);
    return 0;
}

/* ---- tokens ------------------------------------------------------------------------------------------------------ */

static void put_encoded(struct buf *out, const char *text)
{
    buf_put_base64url(out, (const unsigned char *)text, strlen(text));
}

/* NULL: libcjose does not sign with such a header. */
static char *sign(cjose_jwk_t *key, const char *header_text, const char *claims)
{
    cjose_err err;
    cjose_header_t *header = cjose_header_new(&err);
    struct json_object *given = json_tokener_parse(header_text);
    const char *text;
    char *copy = NULL;
    bool good = cjose_header_set(header, "alg", "ES256", &err);

    if (json_object_is_type(given, json_type_object)) {
        json_object_object_foreach(given, name, value) good =
            good &&
            (!strcmp(name, "alg") || cjose_header_set_raw(header, name, json_object_to_json_string(value), &err));
    }
    json_object_put(given);
    cjose_jws_t *jws = good ? cjose_jws_sign(key, header, (const uint8_t *)claims, strlen(claims), &err) : NULL;
    if (jws && cjose_jws_export(jws, &text, &err))
        copy = strdup(text);
    cjose_jws_release(jws);
    cjose_header_release(header);
    return copy;
}

/* With a signature of a length that could be one, made without the provider's secret. */
static char *forge(enum signer by, const char *header, const char *claims)
{
    struct buf b = {0};
    unsigned char mac[32];

    put_encoded(&b, header);
    buf_putc(&b, '.');
    put_encoded(&b, claims);
    sha256_digest(provider_set, strlen(provider_set), mac);
    buf_putc(&b, '.');
    if (by == BY_PUBLIC_KEY)
        buf_put_base64url(&b, mac, sizeof mac);
    else if (by == BY_NOBODY)
        put_encoded(&b, "0123456789012345678901234567890123456789012345678901234567890123");
    return buf_take(&b);
}

static char *make_token(enum signer by)
{
    switch (by) {
    case BY_PROVIDER: return sign(provider_key, fields[FIELD_HEADER], fields[FIELD_CLAIMS]);
    case BY_ANOTHER: return sign(other_key, fields[FIELD_HEADER], fields[FIELD_CLAIMS]);
    case BY_PUBLIC_KEY:
    case BY_NOBODY:
    case BY_NONE: return forge(by, fields[FIELD_HEADER], fields[FIELD_CLAIMS]);
    case AS_GIVEN:
    case SIGNERS: break;
    }
    return strdup(fields[FIELD_HEADER]);
}

/* ---- the provider ------------------------------------------------------------------------------------------------ */

static bool is_our_machine(const char *url)
{
    return !strncasecmp(url, "http://127.", 11) || !strncasecmp(url, "http://localhost", 16) ||
           !strncasecmp(url, "http://[::1]", 12);
}

static const char *take_answer(const struct fetch_request *request)
{
    if (strstr(request->url, "/.well-known/openid-configuration"))
        return fields[FIELD_DISCOVERY];
    if (request->bearer) {
        asked_userinfo = true;
        return fields[FIELD_USERINFO];
    }
    if (request->form)
        return fields[FIELD_TOKENS];
    return fields[FIELD_KEYS];
}

enum err __wrap_fetch(const struct fetcher *f, const struct fetch_request *request, struct fetch_answer *out,
                      struct errctx *ec)
{
    static const int statuses[] = {200, 200, 200, 200, 400, 401, 404, 500};
    int page = strstr(request->url, "/.well-known/") ? 0 : request->bearer ? 1 : request->form ? 2 : 3;
    struct fetch_answer answer = {.status = statuses[head[page] >> 5], .date_s = NOW_S};
    const char *text = take_answer(request);
    struct errctx why;

    (void)f;
    require(!fetch_check_url(request->url, &why), "a page that cannot be asked is asked");
    require(!strncasecmp(request->url, "https://", 8) || is_our_machine(request->url), "a page in plain text is asked");
    require(request->form || (!request->user && !request->password), "the secret goes to another page");
    if (request->form)
        require(!strcmp(request->url, token_page) || !token_page[0], "the secret goes to another page");
    require(strchr(request->url, '\n') == NULL && strchr(request->url, ' ') == NULL, "no URL");
    if (head[page] % 32 == 31)
        return err_set(ec, head[page] & 64 ? ERR_DENIED : ERR_LOST, "not reached");
    buf_append(&answer.body, "", 0);
    if (page == 2 && !text[0])
        buf_printf(&answer.body, "{\"access_token\":\"a\",\"token_type\":\"Bearer\",\"id_token\":\"%s\"}", token);
    else
        buf_append(&answer.body, text, strlen(text));
    *out = answer;
    return ERR_OK;
}

/* ---- what must hold ---------------------------------------------------------------------------------------------- */

static struct json_object *get(struct json_object *from, const char *name, json_type type)
{
    struct json_object *value = NULL;

    return json_object_object_get_ex(from, name, &value) && json_object_is_type(value, type) ? value : NULL;
}

static const char *get_text(struct json_object *from, const char *name)
{
    struct json_object *value = get(from, name, json_type_string);

    return value ? json_object_get_string(value) : "";
}

static double get_number(struct json_object *from, const char *name)
{
    struct json_object *value = NULL;

    json_object_object_get_ex(from, name, &value);
    return json_object_is_type(value, json_type_int) || json_object_is_type(value, json_type_double)
               ? json_object_get_double(value)
               : -1;
}

static bool is_for_us(struct json_object *claims)
{
    struct json_object *list = get(claims, "aud", json_type_array);
    bool found = !strcmp(get_text(claims, "aud"), CLIENT), alone = !list || json_object_array_length(list) == 1;

    for (size_t i = 0; list && i < json_object_array_length(list); i++)
        found = found || !strcmp(json_object_get_string(json_object_array_get_idx(list, i)) ?: "", CLIENT);
    if (get(claims, "azp", json_type_string))
        return found && !strcmp(get_text(claims, "azp"), CLIENT);
    return found && alone;
}

static bool has_text(struct json_object *from, const char *name, const char *text)
{
    struct json_object *list = from ? get(from, name, json_type_array) : NULL;

    if (!from)
        return false;
    for (size_t i = 0; list && i < json_object_array_length(list); i++)
        if (!strcmp(json_object_get_string(json_object_array_get_idx(list, i)) ?: "", text))
            return true;
    return !strcmp(get_text(from, name), text);
}

static bool is_told(struct json_object *from, const char *text)
{
    struct json_object *access = from ? get(from, "realm_access", json_type_object) : NULL;

    return has_text(from, "groups", text) || has_text(from, "realm_access.roles", text) ||
           has_text(access, "roles", text);
}

static void check_person(const struct oidc_person *person, enum signer by)
{
    struct json_object *claims = json_tokener_parse(fields[FIELD_CLAIMS]), *more = NULL;

    require(by == BY_PROVIDER && !fields[FIELD_TOKENS][0], "somebody comes in without the provider");
    require(json_object_is_type(claims, json_type_object), "somebody comes in without claims");
    require(!strcmp(get_text(claims, "iss"), ISSUER), "by a token of another issuer");
    require(is_for_us(claims), "by a token for another client");
    require(!strcmp(get_text(claims, "nonce"), NONCE), "by a token of another login");
    require(get_number(claims, "exp") > NOW_S - SKEW_S, "by a token that has expired");
    require(get_number(claims, "iat") >= 0 && get_number(claims, "iat") < NOW_S + SKEW_S + 1,
            "by a token of the future");
    require(get_number(claims, "nbf") < NOW_S + SKEW_S + 1, "by a token that is not valid yet");
    require(get_text(claims, "sub")[0] != '\0', "nobody comes in");
    require(!strncmp(person->subject, ISSUER " ", strlen(ISSUER) + 1) &&
                !strcmp(person->subject + strlen(ISSUER) + 1, get_text(claims, "sub")),
            "somebody else comes in");
    if (asked_userinfo) {
        more = json_tokener_parse(fields[FIELD_USERINFO]);
        require(json_object_is_type(more, json_type_object) && !strcmp(get_text(more, "sub"), get_text(claims, "sub")),
                "userinfo of somebody else counts");
    }
    require(person->name && person->name[0], "somebody without a name");
    require(has_text(claims, "preferred_username", person->name) || has_text(claims, "email", person->name) ||
                has_text(more, "preferred_username", person->name) || has_text(more, "email", person->name),
            "a name that nobody told");
    require(person->group_count <= OIDC_GROUPS_MAX, "too many groups");
    for (size_t i = 0; i < person->group_count; i++)
        require(is_told(claims, person->groups[i]) || is_told(more, person->groups[i]), "a group that nobody told");
    json_object_put(claims);
    json_object_put(more);
}

/* Whoever answers knows the secret, and says it himself. */
static bool is_given_secret(void)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (strstr(fields[i], SECRET))
            return true;
    return false;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static char *take_field(const uint8_t **at, const uint8_t *end)
{
    static const char *const words[] = {"", ISSUER, CLIENT, NONCE, "1800000000", "1800000300", NULL, "k1"};
    struct buf b = {0};
    const uint8_t *stop = *at < end ? memchr(*at, '\0', (size_t)(end - *at)) : NULL;

    buf_puts(&b, "");
    stop = stop ? stop : end;
    for (const uint8_t *p = *at; p < stop; p++) {
        if (*p < ARRAY_LEN(words))
            buf_puts(&b, *p == 6 ? provider_set : words[*p]);
        else
            buf_putc(&b, (char)*p);
    }
    *at = stop < end ? stop + 1 : end;
    return buf_take(&b);
}

static void tell(void *arg, enum oidc_finding finding, const char *text)
{
    (void)arg;
    require((int)finding >= 0 && finding <= OIDC_FINDING_CLOCK && text[0], "a finding without words");
}

static void log_in(enum signer by)
{
    struct oidc_opts opts = {.issuer = ISSUER,
                             .client_id = CLIENT,
                             .client_secret = head[4] & 1 ? "" : SECRET,
                             .scopes = "openid",
                             .name_claims = "preferred_username,email",
                             .groups_claims = "groups,realm_access.roles",
                             .redirect_uri = "",
                             .ca = ""};
    struct oidc_answer answer = {.code = head[4] & 2 ? NULL : "c",
                                 .iss = fields[FIELD_ISS][0] ? fields[FIELD_ISS] : NULL,
                                 .error = fields[FIELD_ERROR][0] ? fields[FIELD_ERROR] : NULL};
    struct oidc_flow flow = {.state = NONCE, .nonce = NONCE, .verifier = NONCE NONCE}, begun;
    struct oidc_person person = {0};
    enum oidc_fault fault = OIDC_FINE;
    struct errctx ec = {{0}};
    struct buf url = {0};
    struct oidc *o = NULL;

    require(!oidc_create(&opts, NULL, &still, &o, &ec), ec.text);
    if (!oidc_begin(o, "https://jobs/auth/oidc/callback", &begun, &url, &ec)) {
        require(!strncasecmp(url.data, "https://", 8) || is_our_machine(url.data), "the browser goes to plain text");
        snprintf(token_page, sizeof token_page, "%s", o->places.token);
    }
    buf_fini(&url);
    errctx_clear(&ec);
    if (oidc_finish(o, "https://jobs/auth/oidc/callback", &flow, &answer, &person, &fault, &ec)) {
        require(fault != OIDC_FINE && ec.text[0], "refused without a reason");
        require(!strstr(ec.text, SECRET) || is_given_secret(), "the secret in a reason");
    } else {
        require(answer.code && !answer.error && (!answer.iss || !strcmp(answer.iss, ISSUER)), "an answer that is none");
        check_person(&person, by);
    }
    oidc_person_fini(&person);
    if (head[4] & 4)
        oidc_examine(o, tell, NULL);
    if (head[4] & 8 && !oidc_get_logout(o, "https://jobs/login", &url, &ec))
        require(!strncasecmp(url.data, "https://", 8) || is_our_machine(url.data), "the browser goes to plain text");
    buf_fini(&url);
    oidc_destroy(o);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *at = data + HEAD_BYTES, *end = data + size;

    if (size < HEAD_BYTES)
        return 0;
    head = data;
    asked_userinfo = false;
    token_page[0] = '\0';
    for (size_t i = 0; i < FIELDS; i++)
        fields[i] = take_field(&at, end);
    enum signer by = (enum signer)(head[5] % SIGNERS);
    token = make_token(by);
    if (token)
        log_in(by);
    free(token);
    for (size_t i = 0; i < FIELDS; i++)
        free(fields[i]);
    return 0;
}
