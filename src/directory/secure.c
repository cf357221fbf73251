/* SPDX-License-Identifier: MIT */
#include "directory/secure.h"

#include "directory/answer.h"
#include "shardwheel/resolver.h"

#define ERR_STATE openssl_err_state /* OpenSSL has one, too */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#undef ERR_STATE

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct secure {
    SSL_CTX *context;
    SSL *ssl;
    int fd;
};

/* The reason of what failed last, of this thread; and forgets it. */
static const char *read_reason(char out[200])
{
    const char *reason = ERR_reason_error_string(ERR_peek_last_error());

    snprintf(out, 200, "%s", reason ? reason : "the server ended the connection");
    ERR_clear_error();
    return out;
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

static bool set_host(SSL *ssl, const char *host)
{
    X509_VERIFY_PARAM *param = SSL_get0_param(ssl);

    X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (host_is_ip(host))
        return X509_VERIFY_PARAM_set1_ip_asc(param, host) == 1;
    return X509_VERIFY_PARAM_set1_host(param, host, 0) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

static enum directory_answer set_trust(SSL_CTX *context, const char *ca_file, struct errctx *ec)
{
    char reason[200];

    if (!*ca_file && SSL_CTX_set_default_verify_paths(context) == 1)
        return DIRECTORY_YES;
    if (*ca_file && access(ca_file, R_OK))
        return answer_set(ec, DIRECTORY_NO_TLS, "%s: %s", ca_file, strerror(errno));
    if (*ca_file && SSL_CTX_load_verify_file(context, ca_file) == 1)
        return DIRECTORY_YES;
    return answer_set(ec, DIRECTORY_NO_TLS, "%s has no certificates of a CA in PEM form: %s",
                      *ca_file ? ca_file : "the system", read_reason(reason));
}

static enum directory_answer make(struct secure *s, const char *host, const char *ca_file, struct errctx *ec)
{
    s->context = SSL_CTX_new(TLS_client_method());
    if (s->context && SSL_CTX_set_min_proto_version(s->context, TLS1_2_VERSION) == 1) {
        enum directory_answer a = set_trust(s->context, ca_file, ec);
        if (a)
            return a;
        SSL_CTX_set_verify(s->context, SSL_VERIFY_PEER, NULL);
        SSL_CTX_clear_mode(s->context, SSL_MODE_AUTO_RETRY);
        SSL_CTX_set_mode(s->context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        s->ssl = SSL_new(s->context);
    }
    if (s->ssl && set_host(s->ssl, host) && SSL_set_fd(s->ssl, s->fd) == 1)
        return DIRECTORY_YES;
    ERR_clear_error();
    return answer_no_memory(ec);
}

/* ---- handshake --------------------------------------------------------------------------------------------------- */

static enum directory_answer judge(struct secure *s, const char *host, struct errctx *ec)
{
    long verdict = SSL_get_verify_result(s->ssl);
    char reason[200];

    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH)
        return answer_set(ec, DIRECTORY_NO_HOST, "%s: its certificate is for another host", host);
    if (verdict != X509_V_OK)
        return answer_set(ec, DIRECTORY_NO_TRUST, "%s: its certificate is not trusted: %s", host,
                          X509_verify_cert_error_string(verdict));
    return answer_set(ec, DIRECTORY_NO_TLS, "%s: no TLS: %s", host, read_reason(reason));
}

static enum directory_answer shake_hands(struct secure *s, const char *host, const struct limit *limit,
                                         struct errctx *ec)
{
    for (;;) {
        ERR_clear_error();
        int done = SSL_connect(s->ssl), why = SSL_get_error(s->ssl, done);
        struct pollfd wait = {.fd = s->fd, .events = why == SSL_ERROR_WANT_WRITE ? POLLOUT : POLLIN};

        if (done == 1)
            return DIRECTORY_YES;
        if (why != SSL_ERROR_WANT_READ && why != SSL_ERROR_WANT_WRITE)
            return judge(s, host, ec);
        if (limit_left_ms(limit) == 0)
            return answer_set(ec, DIRECTORY_AWAY, "%s: no answer in time (TLS)", host);
        poll(&wait, 1, limit_slice_ms(limit));
    }
}

enum directory_answer secure_start(int fd, const char *host, const char *ca_file, const struct limit *limit,
                                   struct secure **out, struct errctx *ec)
{
    struct secure *s = calloc(1, sizeof *s);
    enum directory_answer a;

    if (!s)
        return answer_no_memory(ec);
    s->fd = fd;
    a = make(s, host, ca_file, ec);
    if (!a)
        a = shake_hands(s, host, limit, ec);
    if (a) {
        secure_destroy(s);
        return a;
    }
    *out = s;
    return DIRECTORY_YES;
}

/* ---- afterwards -------------------------------------------------------------------------------------------------- */

static ssize_t finish(struct secure *s, int done)
{
    int why = SSL_get_error(s->ssl, done);

    if (done > 0)
        return done;
    if (why == SSL_ERROR_ZERO_RETURN)
        return 0;
    errno = why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? EWOULDBLOCK : ECONNRESET;
    return -1;
}

ssize_t secure_read(struct secure *s, void *out, size_t size)
{
    ERR_clear_error();
    return finish(s, SSL_read(s->ssl, out, size > INT32_MAX ? INT32_MAX : (int)size));
}

ssize_t secure_write(struct secure *s, const void *data, size_t len)
{
    ERR_clear_error();
    return len ? finish(s, SSL_write(s->ssl, data, len > INT32_MAX ? INT32_MAX : (int)len)) : 0;
}

bool secure_has_more(struct secure *s)
{
    return SSL_pending(s->ssl) > 0;
}

void secure_destroy(struct secure *s)
{
    if (!s)
        return;
    SSL_free(s->ssl);
    SSL_CTX_free(s->context);
    ERR_clear_error();
    free(s);
}
