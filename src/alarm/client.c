/* SPDX-License-Identifier: MIT */
#include "alarm/client.h"

#include <stdlib.h>
#include <string.h>

#include "shardwheel/executor/networks.h"
#include "shardwheel/transfer.h"

#define TIMEOUT_MS 10000 /* of a look-up, and of what follows */

struct client {
    char *url;                 /* [const] as all below but for transfer, with its connection, and aborted */
    struct transfer_host host; /* of that */
    /* Of a mail server. */
    const char *username; /* "": no login */
    const char *password; /* NULL: of a webhook */
    enum mail_tls tls;
    bool guarded;
    struct transfer transfer; /* [thread] */
    _Atomic bool aborted;     /* [atomic] set once; relaxed: nothing else is told by it */
};

/* ---- life -------------------------------------------------------------------------------------------------- */

#define NO_MAIL_HOST "spring.mail.host is not a host name or an IP address"

/* Nothing in it ends the host of a URL. */
static bool is_host(const char *host)
{
    size_t len = strspn(host, ASCII_LETTERS ASCII_DIGITS ".-_:");

    return len > 0 && !host[len];
}

static enum err allocate(struct client **out, struct errctx *ec)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(ec, ERR_NOMEM, "libcurl cannot be started");
    *out = calloc(1, sizeof **out);
    if (*out)
        return ERR_OK;
    curl_global_cleanup();
    return err_set(ec, ERR_NOMEM, "out of memory for a client");
}

static bool may_call(const char *ip_text)
{
    struct ip ip;

    return ip_parse(ip_text, &ip) && executor_networks_allow(NULL, &ip);
}

static enum err learn_host(struct client *c, struct errctx *ec)
{
    enum err e = transfer_learn_host(c->url, &c->host);

    if (!e && !strstr(c->password ? "smtp smtps" : "http https", c->host.scheme))
        e = ERR_INPUT;
    if (e == ERR_INPUT)
        return err_set(ec, e, "%s", c->password ? NO_MAIL_HOST : "this is not an http or https URL");
    if (e)
        return err_set(ec, e, "out of memory for a client");
    if (c->guarded && c->host.is_ip && !may_call(c->host.name))
        return err_set(ec, ERR_INPUT, "calls to that address are not allowed");
    return ERR_OK;
}

/* Takes the client, whose members of its kind are there; url may be NULL, when out of memory. */
static enum err finish(struct client *c, const char *ca, bool verify, struct resolver *resolver,
                       const struct clock *clock, struct client **out, struct errctx *ec)
{
    enum err e = c->url ? learn_host(c, ec) : err_set(ec, ERR_NOMEM, "out of memory for a client");

    atomic_init(&c->aborted, false);
    c->transfer = (struct transfer){.easy = curl_easy_init(),
                                    .host = &c->host,
                                    .protocols = c->password ? "smtp,smtps" : "http,https",
                                    .resolver = resolver,
                                    .clock = clock,
                                    .stopped = &c->aborted,
                                    .ca = ca,
                                    .verify = verify,
                                    .answer_max = CLIENT_ANSWER_MAX};
    if (!e && !c->transfer.easy)
        e = err_set(ec, ERR_NOMEM, "out of memory for a client");
    if (e) {
        client_destroy(c);
        return e;
    }
    *out = c;
    return ERR_OK;
}

enum err client_create_mail(const struct mail_opts *opts, struct resolver *resolver, const struct clock *clock,
                            struct client **out, struct errctx *ec)
{
    struct buf url = {0};
    struct client *c = NULL;
    enum err e;

    if (!is_host(opts->host))
        return err_set(ec, ERR_INPUT, NO_MAIL_HOST);
    e = allocate(&c, ec);
    if (e)
        return e;
    buf_puts(&url, opts->tls == MAIL_TLS_WRAPPED ? "smtps://" : "smtp://");
    buf_printf(&url, strchr(opts->host, ':') ? "[%s]:%d" : "%s:%d", opts->host, opts->port);
    c->url = buf_take(&url);
    c->username = opts->username;
    c->password = opts->password;
    c->tls = opts->tls;
    return finish(c, "", opts->verify, resolver, clock, out, ec);
}

enum err client_create_webhook(const char *url, const char *ca, bool guarded, struct resolver *resolver,
                               const struct clock *clock, struct client **out, struct errctx *ec)
{
    struct client *c = NULL;
    enum err e = allocate(&c, ec);

    if (e)
        return e;
    c->guarded = guarded;
    c->url = str_copy(url);
    return finish(c, ca, /*verify=*/true, resolver, clock, out, ec);
}

void client_destroy(struct client *c)
{
    if (!c)
        return;
    curl_easy_cleanup(c->transfer.easy);
    transfer_host_fini(&c->host);
    free(c->url);
    free(c);
    curl_global_cleanup();
}

void client_abort(struct client *c)
{
    atomic_store_explicit(&c->aborted, true, memory_order_relaxed);
}

bool client_is_aborted(const struct client *c)
{
    return atomic_load_explicit(&c->aborted, memory_order_relaxed);
}

/* ---- both ------------------------------------------------------------------------------------------------------- */

/* What no repeat mends: somebody must change a setting. */
static bool is_setting(CURLcode code)
{
    static const CURLcode codes[] = {CURLE_LOGIN_DENIED, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
                                     CURLE_USE_SSL_FAILED, CURLE_SSL_ISSUER_ERROR};

    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (code == codes[i])
            return true;
    return false;
}

/* A sender, recipient or text that is refused comes as one of these, with the server's code of 4xx or 5xx. */
static bool is_refusal(CURLcode code, int answer)
{
    return answer >= 400 && (code == CURLE_SEND_ERROR || code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_RECV_ERROR);
}

/* `r`: of setting what is sent. */
static enum client_outcome perform(struct client *c, CURLcode r, const char *url, struct buf *answer, struct errctx *ec)
{
    struct transfer *t = &c->transfer;

    t->url = url;
    t->answer = answer;
    t->status = 0;
    if (r) {
        err_set(ec, ERR_NOMEM, "out of memory for a message");
        return CLIENT_AWAY;
    }
    if (transfer_find(t, c->guarded ? may_call : NULL, TIMEOUT_MS, ec))
        return CLIENT_AWAY;
    r = transfer_run(t, TIMEOUT_MS);
    transfer_fini(t);
    if (!r)
        return CLIENT_SENT;
    err_set(ec, ERR_LOST, "%s", t->reason);
    return is_setting(r) || (c->password && is_refusal(r, t->status)) ? CLIENT_REFUSED : CLIENT_AWAY;
}

#define SET(option, value) r = r ? r : curl_easy_setopt(c->transfer.easy, option, value)

/* ---- a mail ------------------------------------------------------------------------------------------------ */

/* What is to be sent yet. */
struct rest {
    const char *data;
    size_t len;
};

static size_t on_read(char *to, size_t size, size_t count, void *arg)
{
    struct rest *rest = arg;
    size_t n = size * count < rest->len ? size * count : rest->len;

    memcpy(to, rest->data, n);
    rest->data += n;
    rest->len -= n;
    return n;
}

enum client_outcome client_send_mail(struct client *c, const char *from, const char *to, const char *data, size_t len,
                                     struct errctx *ec)
{
    long tls = c->tls == MAIL_TLS_TRY ? CURLUSESSL_TRY : c->tls == MAIL_TLS_NONE ? CURLUSESSL_NONE : CURLUSESSL_ALL;
    struct curl_slist *recipients = curl_slist_append(NULL, to);
    struct rest rest = {data, len};
    struct buf answer = {0};
    CURLcode r = recipients ? CURLE_OK : CURLE_OUT_OF_MEMORY;

    curl_easy_reset(c->transfer.easy); /* keeps the connection */
    SET(CURLOPT_USE_SSL, tls);
    if (c->username[0]) {
        SET(CURLOPT_USERNAME, c->username);
        SET(CURLOPT_PASSWORD, c->password);
    }
    SET(CURLOPT_MAIL_FROM, from);
    SET(CURLOPT_MAIL_RCPT, recipients);
    SET(CURLOPT_UPLOAD, 1L);
    SET(CURLOPT_READFUNCTION, on_read);
    SET(CURLOPT_READDATA, &rest);
    enum client_outcome outcome = perform(c, r, c->url, &answer, ec);
    curl_slist_free_all(recipients);
    buf_fini(&answer);
    return outcome;
}

/* ---- a post ------------------------------------------------------------------------------------------------ */

static bool add_header(struct curl_slist **list, const char *line)
{
    struct curl_slist *grown = curl_slist_append(*list, line);

    if (grown)
        *list = grown;
    return grown != NULL;
}

enum client_outcome client_post(struct client *c, const char *query, const char *header, const char *body, size_t len,
                                int *status, struct buf *answer, struct errctx *ec)
{
    struct curl_slist *headers = NULL;
    struct buf url = {0};
    CURLcode r = CURLE_OK;

    buf_puts(&url, c->url);
    if (query[0])
        buf_printf(&url, "%s%s", strchr(c->url, '?') ? "&" : "?", query);
    if (buf_failed(&url) || !add_header(&headers, "Content-Type: application/json; charset=utf-8") ||
        !add_header(&headers, "Expect:") || (header[0] && !add_header(&headers, header)))
        r = CURLE_OUT_OF_MEMORY;
    curl_easy_reset(c->transfer.easy);
    SET(CURLOPT_FORBID_REUSE, 1L); /* libcurl repeats a POST by itself when a kept connection ends under it */
    SET(CURLOPT_POSTFIELDS, body);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
    SET(CURLOPT_HTTPHEADER, headers);
    enum client_outcome outcome = perform(c, r, url.data, answer, ec);
    *status = c->transfer.status;
    curl_slist_free_all(headers);
    buf_fini(&url);
    return outcome;
}
