/* SPDX-License-Identifier: MIT */
/* One connection, of either side. */
#include "http/tls/impl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

struct tls {
    SSL *ssl;
    BIO_METHOD *method; /* of its own; NULL: the server's */
    bool wants_room;
    bool broken;
    char why[200];
};

/* ---- sockets ----------------------------------------------------------------------------------------------------- */

/* OpenSSL's own would write without MSG_NOSIGNAL. */
static int socket_of(BIO *bio)
{
    return (int)(intptr_t)BIO_get_data(bio);
}

static int note_result(BIO *bio, ssize_t n, int again)
{
    BIO_clear_retry_flags(bio);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_flags(bio, again | BIO_FLAGS_SHOULD_RETRY);
    return (int)n;
}

static int read_socket(BIO *bio, char *out, int size)
{
    ssize_t n = recv(socket_of(bio), out, (size_t)size, 0);

    if (n == 0)
        BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
    return note_result(bio, n, BIO_FLAGS_READ);
}

static int write_socket(BIO *bio, const char *data, int len)
{
    return note_result(bio, send(socket_of(bio), data, (size_t)len, MSG_NOSIGNAL), BIO_FLAGS_WRITE);
}

static long control_socket(BIO *bio, int command, long number, void *pointer)
{
    (void)number, (void)pointer;
    if (command == BIO_CTRL_EOF)
        return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
    return command == BIO_CTRL_FLUSH;
}

BIO_METHOD *tls_make_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "socket");

    if (method && BIO_meth_set_read(method, read_socket) && BIO_meth_set_write(method, write_socket) &&
        BIO_meth_set_ctrl(method, control_socket))
        return method;
    BIO_meth_free(method);
    return NULL;
}

struct tls *tls_make_connection(SSL_CTX *context, BIO_METHOD *method, int fd, bool accepts)
{
    struct tls *t = calloc(1, sizeof *t);
    BIO *bio = BIO_new(method);

    if (t && bio)
        t->ssl = SSL_new(context);
    if (!t || !t->ssl) {
        BIO_free(bio);
        free(t);
        return NULL;
    }
    BIO_set_data(bio, (void *)(intptr_t)fd);
    BIO_set_init(bio, 1);
    SSL_set_bio(t->ssl, bio, bio);
    if (accepts)
        SSL_set_accept_state(t->ssl);
    else
        SSL_set_connect_state(t->ssl);
    ERR_clear_error();
    return t;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

void tls_destroy(struct tls *t)
{
    if (!t)
        return;
    SSL_free(t->ssl);
    BIO_meth_free(t->method);
    free(t);
}

const char *tls_get_why(const struct tls *t)
{
    return t->why;
}

static void note_why(struct tls *t)
{
    long verdict = SSL_get_verify_result(t->ssl);
    char reason[200];

    tls_openssl_reason(reason);
    if (verdict != X509_V_OK)
        snprintf(t->why, sizeof t->why, "%.90s: %.100s", reason, X509_verify_cert_error_string(verdict));
    else
        snprintf(t->why, sizeof t->why, "%s", reason);
}

/* What SSL_read and its like gave back that is no success, as recv would say it. */
static ssize_t judge(struct tls *t, int result)
{
    int error = SSL_get_error(t->ssl, result);

    if (error == SSL_ERROR_ZERO_RETURN)
        return 0;
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
        t->wants_room = error == SSL_ERROR_WANT_WRITE;
        errno = EAGAIN;
        return -1;
    }
    t->broken = true;
    note_why(t);
    errno = ECONNRESET;
    return -1;
}

enum tls_step tls_shake(struct tls *t)
{
    ERR_clear_error();
    int done = SSL_do_handshake(t->ssl);
    if (done == 1)
        return TLS_STEP_DONE;
    if (judge(t, done) == 0) {
        snprintf(t->why, sizeof t->why, "the client went");
        return TLS_STEP_FAILED;
    }
    return t->broken ? TLS_STEP_FAILED : t->wants_room ? TLS_STEP_WRITES : TLS_STEP_READS;
}

ssize_t tls_read(struct tls *t, void *out, size_t size)
{
    size_t got = 0;
    int n;

    ERR_clear_error();
    t->wants_room = false;
    do {
        n = SSL_read(t->ssl, (char *)out + got, (int)(size - got > TLS_RECORD ? TLS_RECORD : size - got));
        got += n > 0 ? (size_t)n : 0;
    } while (n == (int)TLS_RECORD && size - got >= TLS_RECORD); /* a full record is rarely the last */
    return got ? (ssize_t)got : judge(t, n);
}

ssize_t tls_write(struct tls *t, const void *data, size_t len)
{
    ERR_clear_error();
    int n = SSL_write(t->ssl, data, len > INT32_MAX ? INT32_MAX : (int)len);
    if (n > 0)
        return n;
    if (judge(t, n) == 0)
        errno = ECONNRESET;
    t->wants_room = false; /* that is for reading */
    return -1;
}

bool tls_wants_room(const struct tls *t)
{
    return t->wants_room;
}

void tls_end(struct tls *t)
{
    if (t->broken || !SSL_is_init_finished(t->ssl))
        return;
    ERR_clear_error();
    (void)SSL_shutdown(t->ssl); /* who has no room for it does not read anyway */
    ERR_clear_error();
}

/* ---- the other side ---------------------------------------------------------------------------------------------- */

static bool is_address(const char *host)
{
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(host);
    bool good = address != NULL;

    ASN1_OCTET_STRING_free(address);
    return good;
}

enum err tls_connect(int fd, const char *host, struct tls **out, struct errctx *ec)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    BIO_METHOD *method = tls_make_method();
    struct tls *t = context && method ? tls_make_connection(context, method, fd, /*accepts=*/false) : NULL;
    enum err e = ERR_OK;

    if (!t) {
        SSL_CTX_free(context);
        BIO_meth_free(method);
        return err_set(ec, ERR_NOMEM, "out of memory for TLS");
    }
    t->method = method;
    SSL_set_options(t->ssl, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_free(context);
    if (!is_address(host))
        SSL_set_tlsext_host_name(t->ssl, host);
    int done = SSL_do_handshake(t->ssl);
    if (done != 1) {
        ssize_t verdict = judge(t, done);
        e = verdict < 0 && errno == EAGAIN ? err_set(ec, ERR_TIMEOUT, "no answer in time")
                                           : err_set(ec, ERR_LOST, "the TLS handshake failed: %s",
                                                     verdict ? tls_get_why(t) : "the server closed the connection");
        tls_destroy(t);
        return e;
    }
    *out = t;
    return ERR_OK;
}

bool tls_load_peer(const struct tls *t, const char *host, struct tls_facts *out, bool *names_host)
{
    X509 *certificate = SSL_get0_peer_certificate(t->ssl);

    if (!certificate)
        return false;
    tls_read_facts(certificate, out);
    *names_host = tls_names_host(certificate, host);
    return true;
}
