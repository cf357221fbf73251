/* SPDX-License-Identifier: MIT */
#include "admin/people/identity.h"

#include "admin/admin_impl.h"
#include "admin/people/factor.h"
#include "admin/people/password.h"
#include "shardwheel/admin/tokens.h"
#include "shardwheel/admin/weak.h"
#include "shardwheel/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- what rows say ----------------------------------------------------------------------------------------------- */

enum admin_role user_find_role(const struct user *u)
{
    enum admin_role role = ROLE_USER;

    if (u->role == 1)
        return ROLE_ADMIN;
    if (u->own_role[0] && role_parse(u->own_role, &role) && (role == ROLE_READER || role == ROLE_RUNNER))
        return role;
    return ROLE_USER;
}

bool user_has_all_groups(const struct user *u)
{
    enum admin_role role = user_find_role(u);

    return role == ROLE_ADMIN || (role != ROLE_USER && !u->own_groups);
}

bool groups_parse(const char *text, int64_t **out, size_t *count)
{
    int64_t *ids = calloc(strlen(text) / 2 + 1, sizeof *ids);
    size_t n = 0;

    if (!ids)
        return false;
    while (*text) {
        char *end;
        text += strspn(text, ", \t\r\n");
        int64_t id = strtoll(text, &end, 10);
        size_t len = strcspn(text, ",");
        if (end > text && end + strspn(end, " \t\r\n") == text + len && id > 0 && len < 20)
            ids[n++] = id;
        text += len;
    }
    *out = ids;
    *count = sort_distinct(ids, n);
    return true;
}

/* ---- proofs ------------------------------------------------------------------------------------------------------ */

/* A session is one of that password: another one ends it. */
static bool is_session_good(const struct login_facts *facts)
{
    char hash[SECRET_HASH_MAX];

    sha256_hex(facts->user.password, hash);
    return facts->session.id[0] && facts->session.expires_ms > facts->now_ms &&
           str_equal_const_time(facts->session.password, hash);
}

enum proof_verdict proof_judge(const struct proof *proof, const struct login_facts *facts, int password_length)
{
    const struct user *u = &facts->user;
    bool session = proof->kind != PROOF_TOKEN && proof->kind != PROOF_NAME && is_session_good(facts);

    switch (proof->kind) {
    case PROOF_TOKEN:
        return facts->token.id && (!facts->token.expires_ms || facts->token.expires_ms > facts->now_ms) ? PROOF_BY_TOKEN
                                                                                                        : PROOF_BAD;
    case PROOF_NAME: /* to the collation of the table, letters with accents are those without: other people */
        return !strcasecmp(u->name, proof->name) ? PROOF_BY_OTHERS : PROOF_BAD;
    case PROOF_SESSION:
        if (session)
            return PROOF_BY_SESSION;
        return !str_is_blank(u->token) && str_equal_const_time(u->token, proof->secret) ? PROOF_BY_JAVA : PROOF_BAD;
    case PROOF_ROW:
        if (session)
            return PROOF_BY_SESSION;
        return password_column_is_md5(password_length) && strlen(u->password) == 32 &&
                       str_equal_const_time(u->password, proof->secret)
                   ? PROOF_BY_HASH
                   : PROOF_BAD;
    }
    return PROOF_BAD;
}

/* Of a user whom somebody else proves: it was too long ago for what the verdict rests on. */
static bool is_outside_over(const struct login_facts *facts, enum proof_verdict verdict, int64_t session_ms,
                            int64_t tokens_ms)
{
    const struct user *u = &facts->user;

    if (!u->source[0])
        return false;
    switch (verdict) {
    case PROOF_BY_SESSION: return !u->seen_ms || facts->now_ms - facts->session.created_ms >= session_ms;
    case PROOF_BY_TOKEN: return !u->seen_ms || facts->now_ms - u->seen_ms >= tokens_ms;
    case PROOF_BY_HASH: /* a password that a Java admin gave him is none */
    case PROOF_BY_JAVA: return true;
    case PROOF_BAD:
    case PROOF_BY_OTHERS: return false;
    }
    return true;
}

/* ---- identities -------------------------------------------------------------------------------------------------- */

static void copy_text(char *out, size_t size, const char *text)
{
    text = text ? text : "";
    snprintf(out, size, "%.*s", (int)utf8_cut(text, strlen(text), size - 1), text);
}

enum err identity_make(const struct user *u, struct identity *out, struct refusal *r)
{
    struct identity who = {.actor = {.user_id = u->id, .role = user_find_role(u), .rights = RIGHTS_ALL}};
    const char *groups = who.actor.role == ROLE_USER ? u->permission : u->own_groups;

    copy_text(who.actor.name, sizeof who.actor.name, u->name);
    who.actor.all_groups = user_has_all_groups(u);
    if (!who.actor.all_groups && !groups_parse(groups ? groups : "", &who.groups, &who.actor.group_count))
        return refuse(r, REFUSED_BROKEN, NULL, "out of memory");
    who.actor.groups = who.groups;
    snprintf(who.source, sizeof who.source, "%s", u->source);
    *out = who;
    return ERR_OK;
}

void identity_set_origin(struct identity *who, const struct origin *from, const char *via)
{
    copy_text(who->actor.address, sizeof who->actor.address, from->address);
    copy_text(who->actor.via, sizeof who->actor.via, via);
}

unsigned scopes_parse(const char *text)
{
    unsigned scopes = 0;

    for (unsigned right = RIGHT_SEE; right <= RIGHT_ADMINISTER; right <<= 1)
        if (text_list_has(text, scope_name((enum admin_right)right)))
            scopes |= right;
    return scopes;
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

bool refusal_hide_fault(struct refusal *r)
{
    if (r->kind != REFUSED_TRY_AGAIN && r->kind != REFUSED_UNSURE && r->kind != REFUSED_BROKEN &&
        r->kind != REFUSED_CHANGED)
        return false;
    refuse(r, r->kind, NULL, "logins cannot be checked at the moment: try again");
    return true;
}

enum err hide_fault(struct admin *a, enum err e, struct refusal *r)
{
    struct refusal was = *r;

    if (e && refusal_hide_fault(r))
        log_limited(&a->login_log, a->clock, LOG_WARN, "admin", "event=login_unsure error=%s",
                    log_quote(was.text.text).s);
    return e;
}

/* ---- looking up -------------------------------------------------------------------------------------------------- */

static struct login_key make_key(const struct proof *proof, char hash[SECRET_HASH_MAX])
{
    struct login_key key = {0};

    sha256_hex(proof->secret ? proof->secret : "", hash);
    switch (proof->kind) {
    case PROOF_SESSION:
        key.user_id = proof->user_id;
        key.session = hash;
        break;
    case PROOF_ROW:
        key.name = proof->name;
        key.session = hash;
        break;
    case PROOF_TOKEN: key.token = hash; break;
    case PROOF_NAME: key.name = proof->name; break;
    }
    return key;
}

/* That a use could not be noted is no reason to refuse it. */
static void note_use(struct store_session *s, const struct login_facts *facts, enum proof_verdict verdict,
                     int64_t session_ms)
{
    int64_t longest_ms = facts->user.source[0] && session_ms < SESSION_LONGEST_MS ? session_ms : SESSION_LONGEST_MS;

    if (verdict == PROOF_BY_SESSION && facts->now_ms - facts->session.used_ms >= TOUCH_MS)
        (void)!store_touch_session(s, facts->session.id, longest_ms, NULL);
    if (verdict == PROOF_BY_TOKEN && facts->now_ms - facts->token.used_ms >= TOUCH_MS)
        (void)!store_touch_token(s, facts->token.id, NULL);
}

static enum err make_identity(const struct proof *proof, const struct login_facts *facts, enum proof_verdict verdict,
                              struct identity *out, struct refusal *r)
{
    enum err e = identity_make(&facts->user, out, r);

    if (e)
        return e;
    out->kind = proof->kind;
    out->java = verdict == PROOF_BY_JAVA;
    if (verdict == PROOF_BY_SESSION)
        memcpy(out->session, facts->session.id, sizeof out->session);
    if (verdict == PROOF_BY_TOKEN) {
        out->token_id = facts->token.id;
        out->actor.rights = scopes_parse(facts->token.scopes);
        copy_text(out->actor.via, sizeof out->actor.via, facts->token.name); /* see admin_identify */
    }
    return ERR_OK;
}

static enum err look_up(struct admin *a, const struct proof *proof, struct identity *out, struct refusal *r)
{
    char hash[SECRET_HASH_MAX];
    struct login_key key = make_key(proof, hash);
    struct login_facts facts = {0};
    struct store_session *s = NULL;
    int64_t session_ms, tokens_ms;
    int length = 0;
    enum err e = admin_take_session(a, &s, r);

    if (e)
        return e;
    admin_get_outside_limits(a, &session_ms, &tokens_ms);
    e = store_load_login(s, &key, &facts, &r->text);
    if (!e)
        e = store_get_password_length(s, &length, &r->text);
    enum proof_verdict verdict = e ? PROOF_BAD : proof_judge(proof, &facts, length);
    /* A cookie with the hash of a password that everybody knows can be made by everybody. */
    if (verdict == PROOF_BY_HASH && ((admin_is_strict(a) && weak_is_password_hash(facts.user.password)) ||
                                     !admin_is_local_login(a, facts.user.name)))
        verdict = PROOF_BAD;
    if (!e && is_outside_over(&facts, verdict, session_ms, tokens_ms))
        verdict = PROOF_BAD;
    /* A Java admin has asked for no second factor. */
    if ((verdict == PROOF_BY_HASH || verdict == PROOF_BY_JAVA) && factor_is_asked(a, &facts.user))
        verdict = PROOF_BAD;
    if (!e && verdict == PROOF_BY_SESSION && factor_is_missing(a, &facts.user, &facts.session))
        verdict = PROOF_BAD;
    if (e == ERR_NOTFOUND || (!e && verdict == PROOF_BAD)) {
        e = refuse(r, REFUSED_UNKNOWN, NULL, "this login does not exist, or has ended");
    } else if (!e) {
        note_use(s, &facts, verdict, session_ms);
        e = make_identity(proof, &facts, verdict, out, r);
    }
    login_facts_fini(&facts);
    return admin_end(a, s, e, r);
}

enum err admin_identify(struct admin *a, const struct proof *proof, const struct origin *from, struct identity *out,
                        struct refusal *r)
{
    char key[SECRET_HASH_MAX], via[ACTOR_TEXT_MAX + 8];
    int64_t now_mono_ms = clock_mono_ms(a->clock), generation = 0;

    identity_cache_make_key(proof, key);
    int64_t known_at_ms = proof->now ? INT64_MAX : now_mono_ms; /* nobody is known for so long */
    if (!identity_cache_find(&a->identities, key, known_at_ms, out, &generation)) {
        enum err e = look_up(a, proof, out, r);
        if (e)
            return hide_fault(a, e, r);
        identity_cache_put(&a->identities, key, now_mono_ms, generation, out);
    }
    snprintf(via, sizeof via, "token %s", out->actor.via);
    identity_set_origin(out, from, out->token_id ? via : out->kind == PROOF_NAME ? "proxy" : from->via);
    return ERR_OK;
}
