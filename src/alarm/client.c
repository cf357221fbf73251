/* SPDX-License-Identifier: MIT */
#include "alarm/client.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shardwheel/executor/networks.h"
#include "shardwheel/resolver.h"

#define TIMEOUT_MS 10000L

struct client {
    char *url; /* [const] as all below but for easy, with its connection, and aborted */
    char *ca;  /* of a webhook; NULL: the system's */
    /* Of a mail server. */
    char *username; /* NULL: no login */
    char *password; /* NULL: of a webhook */
    enum mail_tls tls;
    bool verify;
    bool guarded;
    char *host; /* a name that is to be looked up; NULL: an IP */
    int port;
    struct resolver *resolver;
    const struct clock *clock;
    int wake_fd;                  /* an event descriptor: a look-up has ended, or all is to end */
    CURL *easy;                   /* [thread] */
    char reason[CURL_ERROR_SIZE]; /* [thread] */
    _Atomic bool aborted;         /* [atomic] set once; relaxed: nothing else is told by it */
};

/* ---- what libcurl calls ------------------------------------------------------------------------------------ */

/* What one of them is about. */
struct call {
    const char *from;        /* of a mail; NULL: a post */
    struct curl_slist *list; /* its recipient; headers of a post */
    const char *data;        /* that is to be sent yet */
    size_t len;
    struct buf *answer; /* to a post */
    int status;         /* out: of a post */
};

static size_t on_answer(char *data, size_t size, size_t count, void *arg)
{
    struct buf *answer = arg;
    size_t len = size * count, room = CLIENT_ANSWER_MAX - answer->len;

    buf_append(answer, data, len < room ? len : room);
    return len;
}

static size_t on_read(char *to, size_t size, size_t count, void *arg)
{
    struct call *call = arg;
    size_t n = size * count < call->len ? size * count : call->len;

    memcpy(to, call->data, n);
    call->data += n;
    call->len -= n;
    return n;
}

bool client_is_aborted(const struct client *c)
{
    return atomic_load_explicit(&c->aborted, memory_order_relaxed);
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    (void)a, (void)b, (void)c, (void)d;
    return client_is_aborted(arg);
}

/* Called before libcurl looks a name up by itself: it would wait for that however long it takes. */
static int refuse_look_up(void *resolver, void *reserved, void *arg)
{
    (void)resolver, (void)reserved, (void)arg;
    return 1;
}

static curl_socket_t open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *address)
{
    int fd = socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);

    (void)arg, (void)purpose;
    return fd < 0 ? CURL_SOCKET_BAD : fd;
}

/* ---- life -------------------------------------------------------------------------------------------------- */

#define NO_MAIL_HOST "spring.mail.host is no name or address of a host"

/* Nothing in it ends the host of a URL. */
static bool is_host(const char *host)
{
    size_t len = strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:");

    return len > 0 && !host[len];
}

static enum err allocate(struct client **out, struct errctx *ec)
{
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(ec, ERR_NOMEM, "libcurl cannot be started");
    *out = calloc(1, sizeof **out);
    if (*out) {
        (*out)->wake_fd = -1;
        return ERR_OK;
    }
    curl_global_cleanup();
    return err_set(ec, ERR_NOMEM, "out of memory for a client");
}

static bool may_call(const struct client *c, const char *text)
{
    struct ip ip;

    return !c->guarded || (ip_parse(text, &ip) && executor_networks_allow(NULL, &ip));
}

/* What libcurl will take for host and port of the URL. */
static enum err learn_host(struct client *c, struct errctx *ec)
{
    CURLU *parts = curl_url();
    char *scheme = NULL, *host = NULL, *port = NULL;
    int64_t number = 0;
    CURLUcode r = parts ? CURLUE_OK : CURLUE_OUT_OF_MEMORY;
    enum err e = ERR_OK;

    r = r ? r : curl_url_set(parts, CURLUPART_URL, c->url, 0);
    r = r ? r : curl_url_get(parts, CURLUPART_SCHEME, &scheme, 0);
    r = r ? r : curl_url_get(parts, CURLUPART_HOST, &host, 0);
    r = r ? r : curl_url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT);
    bool fine =
        !r && strstr(c->password ? "smtp smtps" : "http https", scheme) && parse_int(port, 1, UINT16_MAX, &number);
    bool is_ip = fine && (host[0] == '[' || host_is_ip(host));
    if (fine && !is_ip)
        c->host = str_copy(host);
    c->port = (int)number;
    if (r == CURLUE_OUT_OF_MEMORY || (fine && !is_ip && !c->host))
        e = err_set(ec, ERR_NOMEM, "out of memory for a client");
    else if (!fine)
        e = err_set(ec, ERR_INPUT, "%s", c->password ? NO_MAIL_HOST : "that is no URL of http or https");
    else if (is_ip && !may_call(c, host))
        e = err_set(ec, ERR_INPUT, "calls to that address are not allowed");
    curl_free(scheme);
    curl_free(host);
    curl_free(port);
    curl_url_cleanup(parts);
    return e;
}

/* Takes the client, whose members of its kind are there unless `e` says otherwise. */
static enum err finish(struct client *c, enum err e, struct resolver *resolver, const struct clock *clock,
                       struct client **out, struct errctx *ec)
{
    if (!e)
        e = learn_host(c, ec);
    c->clock = clock;
    c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    c->easy = curl_easy_init();
    atomic_init(&c->aborted, false);
    if (!e && !c->easy)
        e = err_set(ec, ERR_NOMEM, "out of memory for a client");
    if (!e && c->wake_fd < 0)
        e = err_set(ec, ERR_IO, "event descriptor of a client: %s", strerror(errno));
    if (!e)
        e = resolver_watch(resolver, c->wake_fd, ec);
    if (e) {
        client_destroy(c);
        return e;
    }
    c->resolver = resolver;
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
    c->username = opts->username[0] ? str_copy(opts->username) : NULL;
    c->password = str_copy(opts->password);
    c->tls = opts->tls;
    c->verify = opts->verify;
    if (!c->url || !c->password || (opts->username[0] && !c->username))
        e = err_set(ec, ERR_NOMEM, "out of memory for the mail client");
    return finish(c, e, resolver, clock, out, ec);
}

enum err client_create_webhook(const char *url, const char *ca, bool guarded, struct resolver *resolver,
                               const struct clock *clock, struct client **out, struct errctx *ec)
{
    struct client *c = NULL;
    enum err e = allocate(&c, ec);

    if (e)
        return e;
    c->verify = true;
    c->guarded = guarded;
    c->url = str_copy(url);
    c->ca = ca[0] ? str_copy(ca) : NULL;
    if (!c->url || (ca[0] && !c->ca))
        e = err_set(ec, ERR_NOMEM, "out of memory for a webhook");
    return finish(c, e, resolver, clock, out, ec);
}

void client_destroy(struct client *c)
{
    if (!c)
        return;
    if (c->resolver)
        resolver_unwatch(c->resolver, c->wake_fd);
    if (c->wake_fd >= 0)
        close(c->wake_fd);
    curl_easy_cleanup(c->easy);
    free(c->ca);
    free(c->host);
    free(c->url);
    free(c->username);
    free(c->password);
    free(c);
    curl_global_cleanup();
}

void client_abort(struct client *c)
{
    uint64_t one = 1;

    atomic_store_explicit(&c->aborted, true, memory_order_relaxed);
    (void)!write(c->wake_fd, &one, sizeof one);
}

/* ---- a mail ------------------------------------------------------------------------------------------------ */

/* Of the addresses in `text`, between commas, those that may be called. */
static void put_allowed(const struct client *c, const char *text, struct buf *out)
{
    const char *between = "";

    while (*text) {
        char one[IP_TEXT_MAX + 2];
        size_t len = strcspn(text, ",");
        snprintf(one, sizeof one, "%.*s", (int)len, text);
        if (len > 0 && may_call(c, one)) {
            buf_printf(out, "%s%s", between, one);
            between = ",";
        }
        text += len + (text[len] == ',');
    }
}

/* Waits for the server's addresses, and puts them in the form in which libcurl takes them. */
static enum err find_server(struct client *c, struct curl_slist **out, struct errctx *ec)
{
    int64_t deadline_mono_ms = clock_mono_ms(c->clock) + TIMEOUT_MS, left_ms = TIMEOUT_MS;
    struct resolver_answer found;
    struct buf line = {0};
    uint64_t drained;

    if (!c->host)
        return ERR_OK;
    resolver_ask(c->resolver, c->host, &found);
    while (found.state == RESOLVER_WAITS && !client_is_aborted(c) && left_ms > 0) {
        poll(&(struct pollfd){.fd = c->wake_fd, .events = POLLIN}, 1, (int)left_ms);
        (void)!read(c->wake_fd, &drained, sizeof drained);
        resolver_ask(c->resolver, c->host, &found);
        left_ms = deadline_mono_ms - clock_mono_ms(c->clock);
    }
    if (found.state != RESOLVER_FOUND)
        return err_set(ec, ERR_LOST, "the name %s has no address: %s", c->host,
                       found.state == RESOLVER_FAILED ? found.text : "its look-up takes too long");
    buf_printf(&line, "+%s:%d:", c->host, c->port); /* +: they grow old in libcurl's cache */
    size_t head = line.len;
    put_allowed(c, found.text, &line);
    if (!buf_failed(&line) && line.len == head) {
        buf_fini(&line);
        return err_set(ec, ERR_LOST, "the name %s leads to addresses that may not be called", c->host);
    }
    if (!buf_failed(&line))
        *out = curl_slist_append(NULL, line.data);
    buf_fini(&line);
    return *out ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for a message");
}

#define SET(option, value) ok = ok && curl_easy_setopt(easy, option, value) == CURLE_OK

static bool set_mail_options(struct client *c, struct call *call)
{
    CURL *easy = c->easy;
    long tls = c->tls == MAIL_TLS_TRY ? CURLUSESSL_TRY : c->tls == MAIL_TLS_NONE ? CURLUSESSL_NONE : CURLUSESSL_ALL;
    bool ok = true;

    SET(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    SET(CURLOPT_USE_SSL, tls);
    if (c->username) {
        SET(CURLOPT_USERNAME, c->username);
        SET(CURLOPT_PASSWORD, c->password);
    }
    SET(CURLOPT_MAIL_FROM, call->from);
    SET(CURLOPT_MAIL_RCPT, call->list);
    SET(CURLOPT_UPLOAD, 1L);
    SET(CURLOPT_READFUNCTION, on_read);
    SET(CURLOPT_READDATA, call);
    return ok;
}

static bool set_post_options(struct client *c, struct call *call)
{
    CURL *easy = c->easy;
    bool ok = true;

    SET(CURLOPT_PROTOCOLS_STR, "http,https");
    SET(CURLOPT_FOLLOWLOCATION, 0L);
    SET(CURLOPT_FORBID_REUSE, 1L); /* libcurl repeats a POST by itself when a kept connection ends under it */
    SET(CURLOPT_POST, 1L);
    SET(CURLOPT_POSTFIELDS, call->data);
    SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->len);
    SET(CURLOPT_HTTPHEADER, call->list);
    SET(CURLOPT_WRITEFUNCTION, on_answer);
    SET(CURLOPT_WRITEDATA, call->answer);
    return ok;
}

static bool set_options(struct client *c, const char *url, struct curl_slist *addresses, struct call *call)
{
    CURL *easy = c->easy;
    bool ok = true;

    curl_easy_reset(easy); /* keeps the connection */
    SET(CURLOPT_URL, url);
    SET(CURLOPT_RESOLVE, addresses);
    SET(CURLOPT_RESOLVER_START_FUNCTION, c->host ? refuse_look_up : NULL);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
    SET(CURLOPT_CONNECTTIMEOUT_MS, TIMEOUT_MS);
    SET(CURLOPT_ERRORBUFFER, c->reason);
    SET(CURLOPT_SSL_VERIFYPEER, c->verify ? 1L : 0L);
    SET(CURLOPT_SSL_VERIFYHOST, c->verify ? 2L : 0L);
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    SET(CURLOPT_XFERINFODATA, c);
    if (c->ca)
        SET(CURLOPT_CAINFO, c->ca);
    return ok && (call->from ? set_mail_options(c, call) : set_post_options(c, call));
}

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

static enum client_outcome perform(struct client *c, const char *url, struct call *call, struct errctx *ec)
{
    struct curl_slist *addresses = NULL;
    CURLcode code = CURLE_OUT_OF_MEMORY;
    long answer = 0;

    c->reason[0] = '\0';
    if (find_server(c, &addresses, ec) != ERR_OK)
        return CLIENT_AWAY;
    if (call->list && set_options(c, url, addresses, call))
        code = curl_easy_perform(c->easy);
    curl_easy_getinfo(c->easy, CURLINFO_RESPONSE_CODE, &answer);
    call->status = (int)answer;
    curl_slist_free_all(addresses);
    if (code == CURLE_OK)
        return CLIENT_SENT;
    err_set(ec, ERR_LOST, "%s", c->reason[0] ? c->reason : curl_easy_strerror(code));
    return is_setting(code) || (call->from && is_refusal(code, call->status)) ? CLIENT_REFUSED : CLIENT_AWAY;
}

enum client_outcome client_send_mail(struct client *c, const char *from, const char *to, const char *data, size_t len,
                                     struct errctx *ec)
{
    struct call call = {.from = from, .list = curl_slist_append(NULL, to), .data = data, .len = len};
    enum client_outcome outcome = perform(c, c->url, &call, ec);

    curl_slist_free_all(call.list);
    return outcome;
}

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
    struct call call = {.data = body, .len = len, .answer = answer};
    struct buf url = {0};
    enum client_outcome outcome = CLIENT_AWAY;

    buf_puts(&url, c->url);
    if (query[0])
        buf_printf(&url, "%s%s", strchr(c->url, '?') ? "&" : "?", query);
    if (!buf_failed(&url) && add_header(&call.list, "Content-Type: application/json; charset=utf-8") &&
        add_header(&call.list, "Expect:") && (!header[0] || add_header(&call.list, header)))
        outcome = perform(c, url.data, &call, ec);
    else
        err_set(ec, ERR_NOMEM, "out of memory for a message");
    *status = call.status;
    curl_slist_free_all(call.list);
    buf_fini(&url);
    return outcome;
}
