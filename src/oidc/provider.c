/* SPDX-License-Identifier: MIT */
/* What the provider says of itself: its pages, its keys; what is asked of its token page. */
#include "oidc/oidc_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KNOWN_MS (60 * 60 * 1000)
#define AGAIN_MS 10000 /* for newer keys */

/* ---- forms ------------------------------------------------------------------------------------------------------- */

void oidc_put_field(struct buf *out, const char *name, const char *value)
{
    if (out->len)
        buf_putc(out, '&');
    buf_put_url(out, name, strlen(name));
    buf_putc(out, '=');
    buf_put_url(out, value, strlen(value));
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static enum err take_place(const struct document *d, const char *name, bool needed, char *out, struct errctx *ec)
{
    const char *url = document_get_text(d, name);
    enum err e;

    out[0] = '\0';
    if (!url)
        return needed ? err_set(ec, ERR_LOST, "the provider does not name its %s", name) : ERR_OK;
    e = fetch_check_url(url, ec);
    if (e)
        return err_wrap(ec, ERR_LOST, "%s of the provider", name);
    snprintf(out, OIDC_TEXT_MAX + 1, "%s", url);
    return ERR_OK;
}

static enum err take_places(const struct document *d, struct oidc_places *out, struct errctx *ec)
{
    struct oidc_places p = {.tells_iss = document_is_true(d, "authorization_response_iss_parameter_supported")};
    static const char methods[] = "token_endpoint_auth_methods_supported";
    enum err e = take_place(d, "authorization_endpoint", true, p.authorize, ec);

    if (!e)
        e = take_place(d, "token_endpoint", true, p.token, ec);
    if (!e)
        e = take_place(d, "jwks_uri", true, p.keys, ec);
    if (!e)
        e = take_place(d, "userinfo_endpoint", false, p.userinfo, ec);
    if (!e)
        e = take_place(d, "end_session_endpoint", false, p.logout, ec);
    p.by_form = !document_lists(d, methods, "client_secret_basic") && document_lists(d, methods, "client_secret_post");
    if (!e)
        *out = p;
    return e;
}

static enum err read_places(struct oidc *o, const char *text, struct oidc_places *out, enum oidc_finding *finding,
                            struct errctx *ec)
{
    struct document *d = document_parse(text);
    const char *issuer = d ? document_get_text(d, "issuer") : NULL;
    enum err e = ERR_OK;

    *finding = OIDC_FINDING_AWAY;
    if (!issuer) {
        e = err_set(ec, ERR_LOST, "%s/.well-known/openid-configuration is not a discovery document", o->opts.issuer);
    } else if (strcmp(issuer, o->opts.issuer) != 0) {
        *finding = OIDC_FINDING_ISSUER;
        e = err_set(ec, ERR_LOST,
                    "the provider says that it is the issuer \"%.300s\", and shardwheel.oidc.issuer is \"%.300s\": "
                    "they must be exactly equal",
                    issuer, o->opts.issuer);
    } else {
        *finding = OIDC_FINDING_ENDPOINTS;
        e = take_places(d, out, ec);
    }
    document_destroy(d);
    return e;
}

static enum err ask_places(struct oidc *o, struct oidc_places *out, enum oidc_finding *finding, struct errctx *ec)
{
    struct fetch_answer answer = {0};
    struct buf url = {0};
    size_t len = strlen(o->opts.issuer);
    enum err e;

    buf_append(&url, o->opts.issuer, len - (o->opts.issuer[len - 1] == '/'));
    buf_puts(&url, "/.well-known/openid-configuration");
    *finding = OIDC_FINDING_AWAY;
    if (buf_failed(&url))
        return err_set(ec, ERR_NOMEM, "out of memory");
    e = fetch(&o->fetcher, &(struct fetch_request){.url = url.data}, &answer, ec);
    if (e == ERR_DENIED)
        *finding = OIDC_FINDING_CERTIFICATE;
    if (!e && answer.status != 200)
        e = err_set(ec, ERR_LOST, "%s answers %d", url.data, answer.status);
    else if (!e)
        e = read_places(o, answer.body.data, out, finding, ec);
    fetch_answer_fini(&answer);
    buf_fini(&url);
    return e;
}

enum err oidc_find_places(struct oidc *o, struct oidc_places *out, enum oidc_finding *finding, struct errctx *ec)
{
    int64_t now_mono_ms = clock_mono_ms(o->clock);
    enum err e;

    mutex_lock(&o->lock);
    bool known = o->places_mono_ms >= 0 && now_mono_ms - o->places_mono_ms < KNOWN_MS;
    if (known)
        *out = o->places;
    mutex_unlock(&o->lock);
    if (known)
        return ERR_OK;
    e = ask_places(o, out, finding, ec);
    if (e)
        return e;
    mutex_lock(&o->lock);
    o->places = *out;
    o->places_mono_ms = now_mono_ms;
    mutex_unlock(&o->lock);
    return ERR_OK;
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static enum err ask_keys(struct oidc *o, const struct oidc_places *places, char **out, struct errctx *ec)
{
    struct fetch_answer answer;
    enum err e = fetch(&o->fetcher, &(struct fetch_request){.url = places->keys}, &answer, ec);

    if (e)
        return e;
    if (answer.status != 200)
        e = err_set(ec, ERR_LOST, "%s answers %d", places->keys, answer.status);
    else if (!(*out = buf_take(&answer.body)))
        e = err_set(ec, ERR_NOMEM, "out of memory for keys");
    fetch_answer_fini(&answer);
    return e;
}

/* Keys older than an hour are not used any more: one that was taken away must not count for ever. */
enum err oidc_find_keys(struct oidc *o, const struct oidc_places *places, bool newer, char **out, struct errctx *ec)
{
    int64_t now_mono_ms = clock_mono_ms(o->clock);
    char *fresh = NULL, *copy = NULL;
    enum err e;

    mutex_lock(&o->lock);
    bool known = o->keys && now_mono_ms - o->keys_mono_ms < KNOWN_MS;
    bool just_asked = o->asked_mono_ms >= 0 && now_mono_ms - o->asked_mono_ms < AGAIN_MS;
    bool ask = !known || (newer && !just_asked);
    if (ask)
        o->asked_mono_ms = now_mono_ms;
    else
        copy = str_copy(o->keys);
    mutex_unlock(&o->lock);
    if (!ask) {
        *out = copy;
        return copy ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for keys");
    }
    e = ask_keys(o, places, &fresh, ec);
    if (e)
        return e;
    copy = str_copy(fresh);
    if (!copy) {
        free(fresh);
        return err_set(ec, ERR_NOMEM, "out of memory for keys");
    }
    mutex_lock(&o->lock);
    char *old = o->keys;
    o->keys = copy;
    o->keys_mono_ms = now_mono_ms;
    mutex_unlock(&o->lock);
    free(old);
    *out = fresh;
    return ERR_OK;
}

/* ---- the token page ---------------------------------------------------------------------------------------------- */

enum err oidc_ask_token(struct oidc *o, const struct oidc_places *places, const struct buf *form,
                        struct fetch_answer *out, struct errctx *ec)
{
    struct buf all = {0}, user = {0}, password = {0};
    bool basic = o->opts.client_secret[0] && !places->by_form;
    enum err e = ERR_OK;

    buf_append(&all, form->data, form->len);
    if (!basic)
        oidc_put_field(&all, "client_id", o->opts.client_id);
    if (!basic && o->opts.client_secret[0])
        oidc_put_field(&all, "client_secret", o->opts.client_secret);
    /* RFC 6749 2.3.1: encoded as in a form, before Basic */
    buf_put_url(&user, o->opts.client_id, strlen(o->opts.client_id));
    buf_put_url(&password, o->opts.client_secret, strlen(o->opts.client_secret));
    if (buf_failed(&all) || buf_failed(&user) || buf_failed(&password))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    else
        e = fetch(&o->fetcher,
                  &(struct fetch_request){.url = places->token,
                                          .form = all.data,
                                          .user = basic ? user.data : NULL,
                                          .password = basic ? password.data : NULL},
                  out, ec);
    buf_fini(&all);
    buf_fini(&user);
    buf_fini(&password);
    return e;
}
