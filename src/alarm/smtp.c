/* SPDX-License-Identifier: MIT */
#include "alarm/smtp.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define TIMEOUT_MS 10000L

struct smtp {
    char *url;      /* [const] as all below but for easy, with its connection, and aborted */
    char *username; /* NULL: no login */
    char *password;
    enum mail_tls tls;
    bool verify;
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

static int on_progress(void *arg, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    struct smtp *s = arg;

    (void)a, (void)b, (void)c, (void)d;
    return atomic_load_explicit(&s->aborted, memory_order_relaxed);
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

enum err smtp_create(const struct mail_opts *opts, struct smtp **out, struct errctx *ec)
{
    struct buf url = {0};
    struct smtp *s;

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
    s->easy = curl_easy_init();
    atomic_init(&s->aborted, false);
    if (!s->url || !s->password || !s->easy || (opts->username[0] && !s->username)) {
        smtp_destroy(s);
        return err_set(ec, ERR_NOMEM, "out of memory for the mail client");
    }
    *out = s;
    return ERR_OK;
}

void smtp_destroy(struct smtp *s)
{
    if (!s)
        return;
    curl_easy_cleanup(s->easy);
    free(s->url);
    free(s->username);
    free(s->password);
    free(s);
    curl_global_cleanup();
}

void smtp_abort(struct smtp *s)
{
    atomic_store_explicit(&s->aborted, true, memory_order_relaxed);
}

/* ---- a mail ------------------------------------------------------------------------------------------------ */

static bool set_options(struct smtp *s, const char *from, struct curl_slist *to, struct upload *up)
{
    CURL *c = s->easy;
    long tls = s->tls == MAIL_TLS_TRY ? CURLUSESSL_TRY : s->tls == MAIL_TLS_NONE ? CURLUSESSL_NONE : CURLUSESSL_ALL;
    bool ok = true;

    curl_easy_reset(c); /* keeps the connection */
#define SET(option, value) ok = ok && curl_easy_setopt(c, option, value) == CURLE_OK
    SET(CURLOPT_URL, s->url);
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
    struct curl_slist *recipients = curl_slist_append(NULL, to);
    enum smtp_outcome outcome;

    s->reason[0] = '\0';
    if (!recipients || !set_options(s, from, recipients, &up)) {
        curl_slist_free_all(recipients);
        err_set(ec, ERR_NOMEM, "out of memory for a mail");
        return SMTP_AWAY;
    }
    outcome = judge(s, curl_easy_perform(s->easy), ec);
    curl_slist_free_all(recipients);
    return outcome;
}
