/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/tokens.h"

#include "admin/admin_impl.h"
#include "admin/people/identity.h"
#include "admin/people/password.h"
#include "shardwheel/admin/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_BYTES 30 /* 40 characters of base64 */
#define NAME_MAX_UNITS 64
#define NO_TOKEN "there is no such token"

static void join_scope(void *arg, const char *name)
{
    char *text = arg;
    size_t len = strlen(text);

    snprintf(text + len, 65 - len, "%s%s", len ? "," : "", name);
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

static enum err check_spec(struct admin *a, const struct identity *who, const struct token_spec *spec,
                           struct token_row *out, struct refusal *r)
{
    struct text_part name = text_trim(spec->name ? spec->name : "");
    enum err e;

    if (!(who->actor.rights & RIGHT_ADMINISTER))
        return refuse(r, REFUSED_RIGHT, NULL, "the token has no scope admin");
    if (!who->actor.user_id)
        return refuse(r, REFUSED_RIGHT, NULL, "only users have tokens");
    if (!name.len)
        return refuse(r, REFUSED_REQUIRED, "name", "name is required");
    e = check_line("name", name, 1, NAME_MAX_UNITS, /*utf16=*/true, r);
    if (e)
        return e;
    if (!spec->scopes)
        return refuse(r, REFUSED_REQUIRED, "scopes", "scopes must have at least one of read, run, write and admin");
    if (spec->scopes & ~who->actor.rights)
        return refuse(r, REFUSED_RIGHT, "scopes", "a token cannot give a scope that it does not have itself");
    if (spec->expires_ms && spec->expires_ms <= clock_wall_ms(a->clock))
        return refuse(r, REFUSED_INVALID, "expiresAt", "expiresAt is in the past");
    *out = (struct token_row){.user_id = who->actor.user_id, .expires_ms = spec->expires_ms};
    snprintf(out->name, sizeof out->name, "%.*s", (int)name.len, name.at);
    scopes_each(spec->scopes, join_scope, out->scopes);
    return ERR_OK;
}

static enum err make_secret(char secret[TOKEN_LEN + 1], struct errctx *ec)
{
    unsigned char bytes[TOKEN_BYTES];
    struct buf text = {0};
    enum err e = random_bytes(bytes, sizeof bytes, ec);

    if (e)
        return e;
    buf_put_base64url(&text, bytes, sizeof bytes);
    if (buf_failed(&text))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    else
        snprintf(secret, TOKEN_LEN + 1, TOKEN_PREFIX "%s", text.data);
    buf_fini(&text);
    return e;
}

static enum err add(struct admin *a, const struct identity *who, const struct token_row *row, char *secret, int64_t *id,
                    struct refusal *r)
{
    char hash[SECRET_HASH_MAX];
    struct store_session *s = NULL;
    struct audit_diff d;
    enum err e = admin_take_session(a, &s, r);

    audit_begin(&d, AUDIT_ADDED);
    audit_text(&d, "name", NULL, row->name);
    audit_text(&d, "scopes", NULL, row->scopes);
    if (row->expires_ms)
        audit_int(&d, "expiresMs", 0, row->expires_ms);
    if (!e)
        e = make_secret(secret, &r->text);
    if (!e) {
        sha256_hex(secret, hash);
        e = store_add_token(s, row, hash, TOKENS_MAX, audit_end(&d, &who->actor, "token.add", 0, row->name, 0), id,
                            &r->text);
        e = admin_refuse_change(e, "name", NO_TOKEN, r);
    }
    audit_fini(&d);
    return admin_end(a, s, e, r);
}

enum err admin_add_token(struct admin *a, const struct identity *who, const struct token_spec *spec,
                         char secret[TOKEN_LEN + 1], struct token_row *out, struct refusal *r)
{
    struct token_row row;
    enum err e = check_spec(a, who, spec, &row, r);

    if (!e)
        e = add(a, who, &row, secret, &row.id, r);
    if (!e)
        *out = row;
    return e;
}

/* ---- the rest ---------------------------------------------------------------------------------------------------- */

enum err admin_load_tokens(struct admin *a, const struct identity *who, bool all, int64_t after_id, int64_t limit,
                           struct token_row **out, size_t *count, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = all ? refuse_unless(&who->actor, RIGHT_ADMINISTER, 0, r) : ERR_OK;

    if (!e)
        e = admin_take_session(a, &s, r);
    if (!e)
        e = store_load_tokens(s, all ? 0 : who->actor.user_id, after_id, limit, out, count, &r->text);
    return admin_end(a, s, e, r);
}

enum err admin_remove_token(struct admin *a, const struct identity *who, int64_t id, struct refusal *r)
{
    const struct audit_row row = audit_bare(AUDIT_REMOVED, &who->actor, "token.remove", id, "", 0);
    struct store_session *s = NULL;
    enum err e;

    if (!(who->actor.rights & RIGHT_ADMINISTER) && who->token_id != id)
        return refuse(r, REFUSED_RIGHT, NULL, "the token has no scope admin");
    e = admin_take_session(a, &s, r);
    if (!e)
        e = store_remove_token(s, actor_may(&who->actor, RIGHT_ADMINISTER, 0) ? 0 : who->actor.user_id, id, &row,
                               &r->text);
    if (s && e == ERR_NOTFOUND)
        e = refuse(r, REFUSED_UNKNOWN, "id", NO_TOKEN);
    identity_cache_clear(&a->identities);
    return admin_end(a, s, e, r);
}
