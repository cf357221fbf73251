/* SPDX-License-Identifier: MIT */
#include "alarm/smtp.h"

#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shardwheel/resolver.h"

#define TIMEOUT_MS 10000L

struct smtp {
    char *url;      /* [const] as all below but for easy, with its connection, and aborted */
    char *username; /* NULL: no login */
    char *password;
    enum mail_tls tls;
    bool verify;
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

struct upload {
    const char *data;
    size_t len;
};

static size_t on_read(char *to, size_t size, size_t count, void *arg)
{
    struct upload *up = arg;
    size_t n = size * count < up->len ? size * count : up->len;

    memcpy(to, up->data, n);
    up->data += n;
    up->len -= n;
    return n;
}

static bool is_aborted(const struct smtp *s)
{
    return atomic_load_explicit(&s->aborted, memory_order_relaxed);
}

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct smtp *s = arg;

    (void)a, (void)b, (void)c, (void)d;
    return is_aborted(s);
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

static bool is_host(const char *host)
{
    size_t len = strspn(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:");

    return len > 0 && !host[len];
}

enum err smtp_create(const struct mail_opts *opts, struct resolver *resolver, const struct clock *clock,
                     struct smtp **out, struct errctx *ec)
{
    struct buf url = {0};
    struct smtp *s;
    enum err e;

    if (!is_host(opts->host))
        return err_set(ec, ERR_INPUT, "spring.mail.host is no name or address of a host");
    if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        return err_set(ec, ERR_NOMEM, "libcurl cannot be started");
    s = calloc(1, sizeof *s);
    if (!s) {
        curl_global_cleanup();
        return err_set(ec, ERR_NOMEM, "out of memory for the mail client");
    }
    buf_puts(&url, opts->tls == MAIL_TLS_WRAPPED ? "smtps://" : "smtp://");
    buf_printf(&url, strchr(opts->host, ':') ? "[%s]:%d" : "%s:%d", opts->host, opts->port);
    s->url = buf_take(&url);
    s->username = opts->username[0] ? str_copy(opts->username) : NULL;
    s->password = str_copy(opts->password);
    s->tls = opts->tls;
    s->verify = opts->verify;
    s->host = host_is_ip(opts->host) ? NULL : str_copy(opts->host);
    s->port = opts->port;
    s->clock = clock;
    s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->easy = curl_easy_init();
    atomic_init(&s->aborted, false);
    if (!s->url || !s->password || !s->easy || (opts->username[0] && !s->username) ||
        (!s->host && !host_is_ip(opts->host)))
        e = err_set(ec, ERR_NOMEM, "out of memory for the mail client");
    else if (s->wake_fd < 0)
        e = err_set(ec, ERR_IO, "event descriptor of the mail client: %s", strerror(errno));
    else
        e = resolver_watch(resolver, s->wake_fd, ec);
    if (e) {
        smtp_destroy(s);
        return e;
    }
    s->resolver = resolver;
    *out = s;
    return ERR_OK;
}

void smtp_destroy(struct smtp *s)
{
    if (!s)
        return;
    if (s->resolver)
        resolver_unwatch(s->resolver, s->wake_fd);
    if (s->wake_fd >= 0)
        close(s->wake_fd);
    curl_easy_cleanup(s->easy);
    free(s->host);
    free(s->url);
    free(s->username);
    free(s->password);
    free(s);
    curl_global_cleanup();
}

void smtp_abort(struct smtp *s)
{
    uint64_t one = 1;

    atomic_store_explicit(&s->aborted, true, memory_order_relaxed);
    (void)!write(s->wake_fd, &one, sizeof one);
}

/* ---- a mail ------------------------------------------------------------------------------------------------ */

/* Waits for the server's addresses, and puts them in the form in which libcurl takes them. */
static enum err find_server(struct smtp *s, struct curl_slist **out, struct errctx *ec)
{
    int64_t deadline_mono_ms = clock_mono_ms(s->clock) + TIMEOUT_MS, left_ms = TIMEOUT_MS;
    struct resolver_answer found;
    struct buf line = {0};
    uint64_t drained;

    if (!s->host)
        return ERR_OK;
    resolver_ask(s->resolver, s->host, &found);
    while (found.state == RESOLVER_WAITS && !is_aborted(s) && left_ms > 0) {
        poll(&(struct pollfd){.fd = s->wake_fd, .events = POLLIN}, 1, (int)left_ms);
        (void)!read(s->wake_fd, &drained, sizeof drained);
        resolver_ask(s->resolver, s->host, &found);
        left_ms = deadline_mono_ms - clock_mono_ms(s->clock);
    }
    if (found.state != RESOLVER_FOUND)
        return err_set(ec, ERR_LOST, "the name %s has no address: %s", s->host,
                       found.state == RESOLVER_FAILED ? found.text : "its look-up takes too long");
    buf_printf(&line, "+%s:%d:%s", s->host, s->port, found.text); /* +: they grow old in libcurl's cache */
    if (!buf_failed(&line))
        *out = curl_slist_append(NULL, line.data);
    buf_fini(&line);
    return *out ? ERR_OK : err_set(ec, ERR_NOMEM, "out of memory for a mail");
}

static bool set_options(struct smtp *s, const char *from, struct curl_slist *to, struct curl_slist *addresses,
                        struct upload *up)
{
    CURL *c = s->easy;
    long tls = s->tls == MAIL_TLS_TRY ? CURLUSESSL_TRY : s->tls == MAIL_TLS_NONE ? CURLUSESSL_NONE : CURLUSESSL_ALL;
    bool ok = true;

    curl_easy_reset(c); /* keeps the connection */
#define SET(option, value) ok = ok && curl_easy_setopt(c, option, value) == CURLE_OK
    SET(CURLOPT_URL, s->url);
    SET(CURLOPT_RESOLVE, addresses);
    SET(CURLOPT_RESOLVER_START_FUNCTION, s->host ? refuse_look_up : NULL);
    SET(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_TIMEOUT_MS, TIMEOUT_MS);
    SET(CURLOPT_CONNECTTIMEOUT_MS, TIMEOUT_MS);
    SET(CURLOPT_ERRORBUFFER, s->reason);
    SET(CURLOPT_USE_SSL, tls);
    SET(CURLOPT_SSL_VERIFYPEER, s->verify ? 1L : 0L);
    SET(CURLOPT_SSL_VERIFYHOST, s->verify ? 2L : 0L);
    if (s->username) {
        SET(CURLOPT_USERNAME, s->username);
        SET(CURLOPT_PASSWORD, s->password);
    }
    SET(CURLOPT_MAIL_FROM, from);
    SET(CURLOPT_MAIL_RCPT, to);
    SET(CURLOPT_UPLOAD, 1L);
    SET(CURLOPT_READFUNCTION, on_read);
    SET(CURLOPT_READDATA, up);
    SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, on_progress);
    SET(CURLOPT_XFERINFODATA, s);
#undef SET
    return ok;
}

static enum smtp_outcome judge(struct smtp *s, CURLcode code, struct errctx *ec)
{
    long answer = 0;

    if (code == CURLE_OK)
        return SMTP_SENT;
    curl_easy_getinfo(s->easy, CURLINFO_RESPONSE_CODE, &answer);
    err_set(ec, ERR_LOST, "%s", s->reason[0] ? s->reason : curl_easy_strerror(code));
    /* A refused sender, recipient or text comes as one of these, with the server's code of 4xx or 5xx. */
    if (answer >= 400 && (code == CURLE_SEND_ERROR || code == CURLE_WEIRD_SERVER_REPLY || code == CURLE_RECV_ERROR))
        return SMTP_REFUSED;
    return SMTP_AWAY;
}

enum smtp_outcome smtp_send(struct smtp *s, const char *from, const char *to, const char *data, size_t len,
                            struct errctx *ec)
{
    struct upload up = {data, len};
    struct curl_slist *addresses = NULL, *recipients = NULL;
    enum smtp_outcome outcome = SMTP_AWAY;

    s->reason[0] = '\0';
    if (find_server(s, &addresses, ec) != ERR_OK)
        return SMTP_AWAY;
    recipients = curl_slist_append(NULL, to);
    if (recipients && set_options(s, from, recipients, addresses, &up))
        outcome = judge(s, curl_easy_perform(s->easy), ec);
    else
        err_set(ec, ERR_NOMEM, "out of memory for a mail");
    curl_slist_free_all(recipients);
    curl_slist_free_all(addresses);
    return outcome;
}
