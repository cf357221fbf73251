/* SPDX-License-Identifier: MIT */
#include "http/visitor.h"

#include "shardwheel/admin/tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const char visitor_unclear_text[] = "refused: a browser sent this GET without a Referer of the console. Use POST";
const char visitor_foreign_text[] = "refused: the request comes from a page of another site. Behind a reverse proxy, "
                                    "Host must be the host name that the browser uses";

const char *visitor_token_cookie(const struct http *h)
{
    return h->login_cookie ? h->login_cookie : TOKEN_COOKIE_DEFAULT;
}

/* ---- proofs ------------------------------------------------------------------------------------------------------ */

/* Other kinds of authorization are for the proxy in front. */
static const char *get_token(const struct http_request *q)
{
    const char *header = request_get_header(q, "Authorization");

    if (!header || strncasecmp(header, "Bearer ", 7) != 0)
        return NULL;
    header += 7 + strspn(header + 7, " ");
    return strncmp(header, TOKEN_PREFIX, sizeof TOKEN_PREFIX - 1) ? NULL : header;
}

/* What an operator needs to know who sets a proxy up. */
static void note_vouched(const struct route_call *call, const char *why)
{
    char peer[IP_TEXT_MAX];

    ip_write(&call->q->peer, peer);
    log_limited(&call->h->vouched_log, call->h->clock, LOG_WARN, "http", "event=proxy_user_refused peer=%s why=%s",
                peer, log_quote(why).s);
}

static const char *get_vouched(const struct route_call *call)
{
    const struct http *h = call->h;
    const char *name;

    if (!h->login_header)
        return NULL;
    name = request_get_header(call->q, h->login_header);
    if (str_is_blank(name))
        return NULL;
    if (networks_have(h->login_networks, &call->q->peer))
        return name;
    note_vouched(call, "the peer is not in shardwheel.login.proxy-networks");
    return NULL;
}

/* In order; `place` goes from 0 on. False behind the last. */
static bool get_cookie_proof(const struct route_call *call, int place, struct session_cookie *memory, struct visitor *v,
                             struct proof *out)
{
    char value[COOKIE_VALUE_MAX];
    bool row = place == 1;

    *out = (struct proof){.kind = row ? PROOF_ROW : PROOF_SESSION};
    if (!request_get_cookie(call->q, row ? ROW_COOKIE : visitor_token_cookie(call->h), value, sizeof value))
        return false;
    enum cookie_verdict verdict = row ? row_cookie_read(value, memory) : token_cookie_read(value, memory);
    if (row)
        v->forget_row = verdict == COOKIE_BROKEN;
    else
        v->forget_token = true; /* unless it is good */
    if (verdict != COOKIE_GOOD)
        return false;
    out->user_id = memory->user_id;
    out->name = memory->name;
    out->secret = memory->secret;
    return true;
}

static void judge(const struct route_call *call, const char *via, const struct proof *proof, struct visitor *v)
{
    char address[IP_TEXT_MAX];

    request_get_client_address(call->q, address);
    enum err e =
        admin_identify(call->h->opts.admin, proof, &(struct origin){.address = address, .via = via}, &v->who, &v->why);
    v->state = !e ? VISITOR_KNOWN : v->why.kind == REFUSED_UNKNOWN ? VISITOR_NOBODY : VISITOR_UNSURE;
}

void visitor_find(const struct route_call *call, const char *via, bool changes, struct visitor *out)
{
    const char *token = get_token(call->q), *vouched = token ? NULL : get_vouched(call);
    struct session_cookie memory = {0};
    struct visitor v = {.state = VISITOR_NOBODY, .by_browser = !token};
    struct proof proof;

    refuse(&v.why, REFUSED_UNKNOWN, NULL, "not logged in");
    if (token) {
        judge(call, via, &(struct proof){.kind = PROOF_TOKEN, .secret = token, .now = changes}, &v);
        if (v.state == VISITOR_NOBODY)
            refuse(&v.why, REFUSED_UNKNOWN, NULL, "the token is unknown, or has expired");
    } else if (vouched) {
        judge(call, via, &(struct proof){.kind = PROOF_NAME, .name = vouched, .now = changes}, &v);
        if (v.state == VISITOR_NOBODY) {
            note_vouched(call, "the user is not in xxl_job_user");
            refuse(&v.why, REFUSED_UNKNOWN, NULL, "the user name from the proxy is not in xxl_job_user: %.100s",
                   vouched);
        }
    } else {
        for (int place = 0; place < 2 && v.state == VISITOR_NOBODY; place++) {
            if (!get_cookie_proof(call, place, &memory, &v, &proof))
                continue;
            proof.now = changes;
            judge(call, via, &proof, &v);
        }
    }
    if (v.state != VISITOR_NOBODY)
        v.forget_row = v.forget_token = false;
    *out = v;
}

void visitor_fini(struct visitor *v)
{
    identity_fini(&v->who);
}

enum err visitor_end_session(const struct route_call *call, const char *via, struct refusal *why)
{
    char address[IP_TEXT_MAX];
    struct session_cookie memory;
    struct visitor ignored = {0};
    struct proof proof;

    if (!get_cookie_proof(call, 0, &memory, &ignored, &proof) && !get_cookie_proof(call, 1, &memory, &ignored, &proof))
        return ERR_OK;
    request_get_client_address(call->q, address);
    return admin_logout(call->h->opts.admin, &proof, &(struct origin){.address = address, .via = via}, why);
}

/* ---- foreign pages ----------------------------------------------------------------------------------------------- */

/* A host without the port that goes without saying. */
static size_t measure_host(const char *host, bool tls)
{
    const char *port = tls ? ":443" : ":80";
    size_t len = strcspn(host, "/"), n = strlen(port);

    return len > n && !strncmp(host + len - n, port, n) ? len - n : len;
}

static bool is_own_origin(const struct http_request *q, const char *origin)
{
    char host[300];
    bool tls = !strncasecmp(origin, "https://", 8);

    if (!tls && strncasecmp(origin, "http://", 7) != 0)
        return false;
    if (!request_get_host(q, host, sizeof host))
        return false;
    origin += tls ? 8 : 7;
    size_t len = measure_host(origin, tls), own = measure_host(host, tls);
    return len == own && !strncasecmp(origin, host, len);
}

bool request_may_be_foreign(const struct http_request *q)
{
    const char *agent = request_get_header(q, "User-Agent"), *page = request_get_header(q, "Referer");

    if ((strcmp(q->method, "GET") && strcmp(q->method, "HEAD")) || request_get_header(q, "Sec-Fetch-Site") ||
        request_get_header(q, "Origin"))
        return false;
    if (!agent || strncmp(agent, "Mozilla/", 8) != 0 || !request_get_header(q, "Accept-Language"))
        return false;
    return !page || !is_own_origin(q, page);
}

bool request_is_foreign(const struct http_request *q)
{
    const char *site = request_get_header(q, "Sec-Fetch-Site"), *origin = request_get_header(q, "Origin");

    if (site)
        return strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
    return origin && !is_own_origin(q, origin);
}

/* ---- Set-Cookie -------------------------------------------------------------------------------------------------- */

bool visitor_set_cookie(const struct route_call *call, struct http_response *r, const char *name, const char *value,
                        const char *life)
{
    struct buf line = {0};
    struct errctx ec;

    buf_printf(&line, "%s=%s%s; Path=/; HttpOnly; SameSite=Lax%s", name, value, life,
               request_is_tls(call->q) ? "; Secure" : "");
    bool good = !buf_failed(&line) && !response_add_header(r, "Set-Cookie", line.data, &ec);
    buf_fini(&line);
    return good;
}

static bool set_filled(const struct route_call *call, struct http_response *r, const char *name, struct buf *value,
                       bool remember)
{
    char life[40] = "";

    if (remember)
        snprintf(life, sizeof life, "; Max-Age=%" PRId64, COOKIE_FOR_EVER);
    bool good = !buf_failed(value) && visitor_set_cookie(call, r, name, value->data, life);
    buf_fini(value);
    return good;
}

bool visitor_set_row_cookie(const struct route_call *call, struct http_response *r, const struct login *login,
                            bool remember)
{
    struct buf value = {0};

    row_cookie_put(&value, &login->user, login->row ? NULL : login->secret);
    return set_filled(call, r, ROW_COOKIE, &value, remember);
}

bool visitor_set_token_cookie(const struct route_call *call, struct http_response *r, const struct login *login,
                              bool remember)
{
    struct buf value = {0};

    token_cookie_put(&value, login->user.id, login->secret);
    return set_filled(call, r, visitor_token_cookie(call->h), &value, remember);
}

#define PAST "; Max-Age=0; Expires=Thu, 01 Jan 1970 00:00:10 GMT"

bool visitor_forget_row_cookie(const struct route_call *call, struct http_response *r)
{
    return visitor_set_cookie(call, r, ROW_COOKIE, "", PAST);
}

bool visitor_forget_token_cookie(const struct route_call *call, struct http_response *r)
{
    return visitor_set_cookie(call, r, visitor_token_cookie(call->h), "", PAST);
}

bool visitor_has_cookie(const struct route_call *call, const char *name)
{
    char value[COOKIE_VALUE_MAX];

    return request_get_cookie(call->q, name, value, sizeof value);
}
