/* SPDX-License-Identifier: MIT */
#include "shardwheel/oidc.h"

#include "oidc/claims.h"
#include "oidc/keys.h"
#include "oidc/oidc_impl.h"
#include "shardwheel/config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- the object -------------------------------------------------------------------------------------------------- */

static bool has_scope(const char *scopes, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = scopes; *(at += strspn(at, " ")); at += strcspn(at, " "))
        if (strcspn(at, " ") == len && !strncmp(at, name, len))
            return true;
    return false;
}

bool oidc_load_opts(const struct config *config, struct oidc_opts *out)
{
    *out = (struct oidc_opts){.issuer = config->oidc_issuer,
                              .client_id = config->oidc_client_id,
                              .client_secret = config->oidc_client_secret,
                              .scopes = config->oidc_scopes,
                              .name_claims = config->oidc_name_claims,
                              .groups_claims = config->oidc_groups_claims,
                              .redirect_uri = config->oidc_redirect_uri,
                              .ca = config->oidc_ca};
    return config->oidc_issuer[0] != '\0';
}

/* The provider is told it as it stands there, and http makes other addresses of what is before its end. */
static bool is_redirect_uri(const char *uri)
{
    size_t len = strlen(uri), tail = strlen(OIDC_CALLBACK);
    size_t scheme = !strncmp(uri, "https://", 8) ? 8 : !strncmp(uri, "http://", 7) ? 7 : 0;

    return scheme && len > scheme + tail && uri[scheme] != '/' && !strcmp(uri + len - tail, OIDC_CALLBACK) &&
           !strpbrk(uri, " \t\r\n?#");
}

static enum err check_opts(const struct oidc_opts *opts, struct errctx *ec)
{
    enum err e = fetch_check_url(opts->issuer, ec);

    if (e)
        return err_wrap(ec, e, "shardwheel.oidc.issuer");
    if (strpbrk(opts->issuer, "?#"))
        return err_set(ec, ERR_INPUT, "shardwheel.oidc.issuer: an issuer cannot have ? or #");
    if (str_is_blank(opts->client_id))
        return err_set(ec, ERR_INPUT, "shardwheel.oidc.client-id must be given, with shardwheel.oidc.issuer");
    if (opts->redirect_uri[0] && !is_redirect_uri(opts->redirect_uri))
        return err_set(
            ec, ERR_INPUT,
            "shardwheel.oidc.redirect-uri: %.200s is not a URL of this console: it must begin with https:// or "
            "http:// and end with " OIDC_CALLBACK,
            opts->redirect_uri);
    return ERR_OK;
}

enum err oidc_create(const struct oidc_opts *opts, struct resolver *resolver, const struct clock *clock,
                     struct oidc **out, struct errctx *ec)
{
    enum err e = check_opts(opts, ec);

    if (e)
        return e;
    struct oidc *o = calloc(1, sizeof *o);
    if (!o)
        return err_set(ec, ERR_NOMEM, "out of memory for OpenID Connect");
    e = fetch_begin(ec);
    if (e) {
        free(o);
        return e;
    }
    o->opts = *opts;
    o->clock = clock;
    o->places_mono_ms = o->asked_mono_ms = -1;
    atomic_init(&o->stopped, false);
    mutex_init(&o->lock, LOCK_LEAF);
    o->fetcher = (struct fetcher){.resolver = resolver,
                                  .clock = clock,
                                  .wait_ms = opts->wait_ms ? opts->wait_ms : OIDC_WAIT_MS,
                                  .ca = o->opts.ca,
                                  .stopped = &o->stopped};
    *out = o;
    return ERR_OK;
}

void oidc_stop(struct oidc *o)
{
    if (o)
        atomic_store_explicit(&o->stopped, true, memory_order_relaxed);
}

void oidc_destroy(struct oidc *o)
{
    if (!o)
        return;
    fetch_end();
    mutex_fini(&o->lock);
    free(o->keys);
    free(o);
}

const char *oidc_get_redirect_uri(const struct oidc *o)
{
    return o->opts.redirect_uri;
}

/* ---- the beginning ----------------------------------------------------------------------------------------------- */

static enum err make_flow(struct oidc_flow *flow, struct errctx *ec)
{
    enum err e = random_hex(flow->state, OIDC_SECRET_LEN / 2, ec);

    if (!e)
        e = random_hex(flow->nonce, OIDC_SECRET_LEN / 2, ec);
    if (!e)
        e = random_hex(flow->verifier, OIDC_SECRET_LEN, ec);
    return e;
}

/* base64url of the SHA-256 of the verifier. */
static void put_challenge(const char *verifier, struct buf *out)
{
    unsigned char bytes[32];

    sha256_digest(verifier, strlen(verifier), bytes);
    buf_put_base64url(out, bytes, sizeof bytes);
}

static void put_url(const struct oidc *o, const char *page, const char *redirect_uri, const struct oidc_flow *flow,
                    struct buf *out)
{
    struct buf query = {0}, challenge = {0}, scopes = {0};

    put_challenge(flow->verifier, &challenge);
    buf_printf(&scopes, "%s%s", has_scope(o->opts.scopes, "openid") ? "" : "openid ", o->opts.scopes);
    oidc_put_field(&query, "response_type", "code");
    oidc_put_field(&query, "client_id", o->opts.client_id);
    oidc_put_field(&query, "redirect_uri", redirect_uri);
    oidc_put_field(&query, "scope", buf_failed(&scopes) ? "" : scopes.data);
    oidc_put_field(&query, "state", flow->state);
    oidc_put_field(&query, "nonce", flow->nonce);
    oidc_put_field(&query, "code_challenge", buf_failed(&challenge) ? "" : challenge.data);
    oidc_put_field(&query, "code_challenge_method", "S256");
    buf_printf(out, "%s%c%s", page, strchr(page, '?') ? '&' : '?', buf_failed(&query) ? "" : query.data);
    if (buf_failed(&query) || buf_failed(&challenge) || buf_failed(&scopes))
        out->failed = true;
    buf_fini(&query);
    buf_fini(&challenge);
    buf_fini(&scopes);
}

enum err oidc_begin(struct oidc *o, const char *redirect_uri, struct oidc_flow *flow, struct buf *url,
                    struct errctx *ec)
{
    struct oidc_places places;
    enum oidc_finding finding;
    enum err e = oidc_find_places(o, &places, &finding, ec);

    if (!e)
        e = make_flow(flow, ec);
    if (e)
        return e;
    put_url(o, places.authorize, redirect_uri, flow, url);
    return buf_failed(url) ? err_set(ec, ERR_NOMEM, "out of memory") : ERR_OK;
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

static enum err fail(enum oidc_fault *out, enum oidc_fault fault, enum err e)
{
    *out = fault;
    return e;
}

/* A page of the provider could not be asked. */
static enum err fail_to_ask(enum oidc_fault *out, enum err e)
{
    return fail(out, e == ERR_DENIED ? OIDC_CERTIFICATE : OIDC_AWAY, e);
}

/* What the token page says instead of tokens. */
static enum err judge_refusal(const struct fetch_answer *answer, enum oidc_fault *fault, struct errctx *ec)
{
    struct document *d = document_parse(answer->body.data);
    const char *error = d ? document_get_text(d, "error") : NULL,
               *more = d ? document_get_text(d, "error_description") : NULL;

    *fault = OIDC_AWAY;
    if (error && !strcmp(error, "invalid_grant"))
        *fault = OIDC_CODE;
    else if ((error && (!strcmp(error, "invalid_client") || !strcmp(error, "unauthorized_client"))) ||
             answer->status == 401)
        *fault = OIDC_CLIENT;
    err_set(ec, ERR_STATE, "the provider returned no token (%d): %.100s %.200s", answer->status, error ? error : "",
            more ? more : "");
    document_destroy(d);
    return ERR_STATE;
}

static enum err get_tokens(struct oidc *o, const struct oidc_places *places, const char *redirect_uri,
                           const struct oidc_flow *flow, const char *code, struct document **out,
                           enum oidc_fault *fault, struct errctx *ec)
{
    struct fetch_answer answer = {0};
    struct buf form = {0};
    enum err e;

    oidc_put_field(&form, "grant_type", "authorization_code");
    oidc_put_field(&form, "code", code);
    oidc_put_field(&form, "redirect_uri", redirect_uri);
    oidc_put_field(&form, "code_verifier", flow->verifier);
    e = buf_failed(&form) ? err_set(ec, ERR_NOMEM, "out of memory") : oidc_ask_token(o, places, &form, &answer, ec);
    buf_fini(&form);
    if (e)
        return fail_to_ask(fault, e);
    if (answer.status != 200) {
        e = judge_refusal(&answer, fault, ec);
    } else if (!(*out = document_parse(answer.body.data)) || !document_get_text(*out, "id_token")) {
        document_destroy(*out);
        *out = NULL;
        e = fail(fault, OIDC_TOKEN, err_set(ec, ERR_STATE, "the provider's answer has no id_token"));
    }
    fetch_answer_fini(&answer);
    return e;
}

/* With the keys that are known, and where these do not have it, with newer ones. */
static enum err verify(struct oidc *o, const struct oidc_places *places, const char *token, struct buf *claims,
                       enum oidc_fault *fault, struct errctx *ec)
{
    enum keys_verdict verdict = KEYS_UNKNOWN;

    for (int i = 0; i < 2 && verdict == KEYS_UNKNOWN; i++) {
        char *keys = NULL;
        enum err e = oidc_find_keys(o, places, /*newer=*/i > 0, &keys, ec);
        if (e)
            return fail_to_ask(fault, e);
        verdict = keys_verify(token, keys, claims, ec);
        free(keys);
    }
    return verdict == KEYS_GOOD ? ERR_OK : fail(fault, OIDC_TOKEN, err_wrap(ec, ERR_STATE, "the id_token"));
}

static enum err read_token(struct oidc *o, const struct oidc_places *places, const struct oidc_flow *flow,
                           const char *token, struct document **out, enum oidc_fault *fault, struct errctx *ec)
{
    struct claims_wanted wanted = {.issuer = o->opts.issuer,
                                   .client_id = o->opts.client_id,
                                   .nonce = flow->nonce,
                                   .now_s = clock_wall_ms(o->clock) / 1000};
    struct buf text = {0};
    struct document *claims = NULL;
    enum err e = verify(o, places, token, &text, fault, ec);

    if (!e && (buf_failed(&text) || !(claims = document_parse(text.data))))
        e = fail(fault, OIDC_TOKEN, err_set(ec, ERR_STATE, "the id_token is not JSON"));
    buf_fini(&text);
    if (e)
        return e;
    e = claims_check(claims, &wanted, ec);
    if (e) {
        document_destroy(claims);
        return fail(fault, OIDC_TOKEN, err_wrap(ec, ERR_STATE, "the id_token"));
    }
    *out = claims;
    return ERR_OK;
}

/* What the token does not have, the userinfo page may tell: of the same person alone. *out stays NULL when it does not
 * answer with that. */
static enum err ask_userinfo(struct oidc *o, const struct oidc_places *places, const struct document *tokens,
                             const struct document *claims, struct document **out, enum oidc_fault *fault,
                             struct errctx *ec)
{
    const char *access = document_get_text(tokens, "access_token"), *subject;
    struct fetch_answer answer = {0};
    enum err e;

    if (!places->userinfo[0] || !access || claims_are_enough(claims, &o->opts))
        return ERR_OK;
    e = fetch(&o->fetcher, &(struct fetch_request){.url = places->userinfo, .bearer = access}, &answer, ec);
    if (e)
        return fail_to_ask(fault, e);
    struct document *d = answer.status == 200 ? document_parse(answer.body.data) : NULL;
    subject = d ? document_get_text(d, "sub") : NULL;
    if (answer.status != 200)
        e = fail(fault, OIDC_AWAY, err_set(ec, ERR_LOST, "the provider's userinfo page answers %d", answer.status));
    else if (!subject || strcmp(subject, document_get_text(claims, "sub")) != 0)
        e = fail(fault, OIDC_TOKEN, err_set(ec, ERR_STATE, "the provider's userinfo page is about another person"));
    fetch_answer_fini(&answer);
    if (e)
        document_destroy(d);
    else
        *out = d;
    return e;
}

static enum err make_person(struct oidc *o, const struct oidc_places *places, const struct document *tokens,
                            const struct document *claims, struct oidc_person *out, enum oidc_fault *fault,
                            struct errctx *ec)
{
    struct document *more = NULL;
    enum err e = ask_userinfo(o, places, tokens, claims, &more, fault, ec);

    if (e)
        return e;
    e = claims_take_person(claims, more, &o->opts, out, ec);
    document_destroy(more);
    if (e)
        return fail(fault, OIDC_TOKEN, e);
    if (out->name)
        return ERR_OK;
    oidc_person_fini(out);
    return fail(fault, OIDC_NAME,
                err_set(ec, ERR_STATE,
                        "the provider sent no name: none of the claims of shardwheel.oidc.name-claims (%.200s) is "
                        "there; a scope may be missing in shardwheel.oidc.scopes",
                        o->opts.name_claims));
}

static enum err check_answer(const struct oidc *o, const struct oidc_places *places, const struct oidc_answer *answer,
                             enum oidc_fault *fault, struct errctx *ec)
{
    if (answer->iss ? strcmp(answer->iss, o->opts.issuer) != 0 : places->tells_iss)
        return fail(
            fault, OIDC_TOKEN,
            err_set(ec, ERR_STATE, "the answer is from another issuer: \"%.200s\"", answer->iss ? answer->iss : ""));
    if (answer->error)
        return fail(fault, OIDC_DENIED, err_set(ec, ERR_STATE, "the provider says: %.100s", answer->error));
    if (!answer->code || !*answer->code)
        return fail(fault, OIDC_CODE, err_set(ec, ERR_STATE, "the provider returned no code"));
    return ERR_OK;
}

enum err oidc_finish(struct oidc *o, const char *redirect_uri, const struct oidc_flow *flow,
                     const struct oidc_answer *answer, struct oidc_person *out, enum oidc_fault *fault,
                     struct errctx *ec)
{
    struct document *tokens = NULL, *claims = NULL;
    struct oidc_places places;
    enum oidc_finding finding;
    enum err e = oidc_find_places(o, &places, &finding, ec);

    *fault = OIDC_FINE;
    if (e)
        return fail_to_ask(fault, e);
    if (!e)
        e = check_answer(o, &places, answer, fault, ec);
    if (!e)
        e = get_tokens(o, &places, redirect_uri, flow, answer->code, &tokens, fault, ec);
    if (!e)
        e = read_token(o, &places, flow, document_get_text(tokens, "id_token"), &claims, fault, ec);
    if (!e)
        e = make_person(o, &places, tokens, claims, out, fault, ec);
    document_destroy(claims);
    document_destroy(tokens);
    return e;
}

/* ---- logout ------------------------------------------------------------------------------------------------------ */

enum err oidc_get_logout(struct oidc *o, const char *back, struct buf *url, struct errctx *ec)
{
    struct oidc_places places;
    enum oidc_finding finding;
    struct buf query = {0};
    enum err e = oidc_find_places(o, &places, &finding, ec);

    if (e)
        return e;
    if (!places.logout[0])
        return err_set(ec, ERR_NOTFOUND, "the provider has no page to log out");
    oidc_put_field(&query, "client_id", o->opts.client_id);
    oidc_put_field(&query, "post_logout_redirect_uri", back);
    buf_printf(url, "%s%c%s", places.logout, strchr(places.logout, '?') ? '&' : '?',
               buf_failed(&query) ? "" : query.data);
    bool failed = buf_failed(&query) || buf_failed(url);
    buf_fini(&query);
    return failed ? err_set(ec, ERR_NOMEM, "out of memory") : ERR_OK;
}
