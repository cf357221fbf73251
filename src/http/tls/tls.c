/* SPDX-License-Identifier: MIT */
#include "http/tls/impl.h"

#include "shardwheel/config.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* Of TLS 1.2; all of 1.3 are such ones. */
#define CIPHERS "ECDHE+AESGCM:ECDHE+CHACHA20"
#define GROUPS "X25519:P-256:P-384"
#define SECURITY_LEVEL 2 /* 112 bits: RSA of 2,048, no SHA-1. Not what openssl.cnf says */
#define TICKET_S 3600    /* so long a client takes up a session; a certificate of its may expire in it */
#define CLIENT_CHAIN_MAX ((size_t)32 * 1024) /* bytes of the certificates that a client shows */
#define FILES_MAX 5

/* What tells one state of the files from another. */
struct stamps {
    struct {
        int64_t device, inode, size, changed_ns;
    } files[FILES_MAX];
};

struct tls_server {
    char *texts[10];        /* [const] what `files` points to */
    struct tls_files files; /* [const] */
    BIO_METHOD *method;     /* [const] */
    struct stamps loaded;   /* [follow] of the thread that follows: those in force, or refused */
    struct stamps seen;     /* [follow] at the last look */
    struct mutex lock;      /* rank LOCK_LEAF */
    SSL_CTX *context;       /* [lock] */
    struct tls_facts facts; /* [lock] */
    X509 *certificate;      /* [lock] */
};

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

static BIO_METHOD *make_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "socket");

    if (method && BIO_meth_set_read(method, read_socket) && BIO_meth_set_write(method, write_socket) &&
        BIO_meth_set_ctrl(method, control_socket))
        return method;
    BIO_meth_free(method);
    return NULL;
}

static struct tls *make_connection(SSL_CTX *context, BIO_METHOD *method, int fd)
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
    return t;
}

/* ---- contexts ---------------------------------------------------------------------------------------------------- */

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len, const unsigned char *offered,
                           unsigned offered_len, void *arg)
{
    static const unsigned char ours[] = "\x08http/1.1";

    (void)ssl, (void)arg;
    return SSL_select_next_proto((unsigned char **)(uintptr_t)out, out_len, ours, sizeof ours - 1, offered,
                                 offered_len) == OPENSSL_NPN_NEGOTIATED
               ? SSL_TLSEXT_ERR_OK
               : SSL_TLSEXT_ERR_ALERT_FATAL;
}

static bool set_rules(SSL_CTX *context)
{
    static const unsigned char id[] = "shardwheel";

    SSL_CTX_set_security_level(context, SECURITY_LEVEL);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    /* One record at a time: a client that sends what is no data keeps nobody busy in here. */
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    SSL_CTX_set_mode(context,
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF); /* clients keep theirs, in tickets */
    SSL_CTX_set_timeout(context, TICKET_S);
    SSL_CTX_set_max_cert_list(context, CLIENT_CHAIN_MAX);
    SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) && SSL_CTX_set_cipher_list(context, CIPHERS) &&
           SSL_CTX_set1_groups_list(context, GROUPS) && SSL_CTX_set_num_tickets(context, 1) &&
           SSL_CTX_set_session_id_context(context, id, sizeof id - 1);
}

static bool add_trust(SSL_CTX *context, STACK_OF(X509) * list)
{
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    bool good = true;

    for (int i = 0; i < sk_X509_num(list) && good; i++)
        good = X509_STORE_add_cert(store, sk_X509_value(list, i)) &&
               SSL_CTX_add_client_CA(context, sk_X509_value(list, i));
    return good;
}

static enum err set_clients(SSL_CTX *context, const struct tls_files *files, struct errctx *ec)
{
    STACK_OF(X509) *list = NULL;
    int mode = SSL_VERIFY_PEER | (files->clients == TLS_CLIENTS_NEEDED ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0);
    enum err e;

    if (files->clients == TLS_CLIENTS_ANY)
        return ERR_OK;
    e = tls_trust_load(files, &list, ec);
    if (!e && !add_trust(context, list))
        e = err_set(ec, ERR_NOMEM, "out of memory for server.ssl.trust-certificate");
    sk_X509_pop_free(list, X509_free);
    SSL_CTX_set_verify(context, mode, NULL);
    return e;
}

static enum err make_context(const struct tls_files *files, SSL_CTX **out, X509 **certificate, struct errctx *ec)
{
    struct tls_identity id = {0};
    SSL_CTX *context = NULL;
    char reason[200];
    enum err e = tls_identity_load(files, &id, ec);

    if (e)
        return e;
    context = SSL_CTX_new(TLS_server_method());
    if (!context || !set_rules(context)) {
        e = err_set(ec, ERR_NOMEM, "TLS cannot be set up: %s", tls_openssl_reason(reason));
        goto out;
    }
    if (!SSL_CTX_use_cert_and_key(context, id.certificate, id.key, id.chain, /*override=*/1)) {
        const char *path = tls_path_of(files->store && *files->store ? files->store : files->certificate);
        e = err_set(ec, ERR_INPUT, "server.ssl: the certificate in %.300s cannot be used: %s", path,
                    tls_openssl_reason(reason));
        goto out;
    }
    e = set_clients(context, files, ec);
    if (e)
        goto out;
    *out = context;
    *certificate = id.certificate;
    context = NULL;
    id.certificate = NULL;
out:
    SSL_CTX_free(context);
    tls_identity_fini(&id);
    return e;
}

/* ---- servers ----------------------------------------------------------------------------------------------------- */

static struct stamps look(const struct tls_files *files)
{
    const char *paths[FILES_MAX] = {files->certificate, files->key, files->store, files->trust, files->trust_store};
    struct stamps stamps = {0};

    for (size_t i = 0; i < FILES_MAX; i++) {
        struct stat s;
        if (!paths[i] || !*paths[i] || stat(tls_path_of(paths[i]), &s))
            continue;
        stamps.files[i].device = (int64_t)s.st_dev;
        stamps.files[i].inode = (int64_t)s.st_ino;
        stamps.files[i].size = s.st_size;
        stamps.files[i].changed_ns = s.st_mtim.tv_sec * INT64_C(1000000000) + s.st_mtim.tv_nsec;
    }
    return stamps;
}

static bool copy_files(struct tls_server *s, const struct tls_files *files)
{
    const char *const from[] = {files->certificate,    files->key,
                                files->key_password,   files->store,
                                files->store_password, files->store_key_password,
                                files->store_alias,    files->trust,
                                files->trust_store,    files->trust_store_password};
    static_assert(ARRAY_LEN(from) == ARRAY_LEN(s->texts), "each has its copy");
    bool good = true;

    for (size_t i = 0; i < ARRAY_LEN(from); i++) {
        s->texts[i] = str_copy(from[i] ? from[i] : "");
        good = good && s->texts[i];
    }
    s->files = (struct tls_files){.certificate = s->texts[0],
                                  .key = s->texts[1],
                                  .key_password = s->texts[2],
                                  .store = s->texts[3],
                                  .store_password = s->texts[4],
                                  .store_key_password = s->texts[5],
                                  .store_alias = s->texts[6],
                                  .clients = files->clients,
                                  .trust = s->texts[7],
                                  .trust_store = s->texts[8],
                                  .trust_store_password = s->texts[9]};
    return good;
}

/* The files as they are now. */
static enum err load(struct tls_server *s, struct errctx *ec)
{
    SSL_CTX *context = NULL;
    X509 *certificate = NULL;
    struct tls_facts facts;
    enum err e;

    s->loaded = s->seen = look(&s->files); /* before they are read: what changes meanwhile is seen at the next look */
    e = make_context(&s->files, &context, &certificate, ec);
    if (e)
        return e;
    tls_read_facts(certificate, &facts);
    mutex_lock(&s->lock);
    SSL_CTX *old_context = s->context;
    X509 *old_certificate = s->certificate;
    s->context = context;
    s->certificate = certificate;
    s->facts = facts;
    mutex_unlock(&s->lock);
    SSL_CTX_free(old_context);
    X509_free(old_certificate);
    return ERR_OK;
}

enum err tls_server_create(const struct tls_files *files, struct tls_server **out, struct errctx *ec)
{
    struct tls_server *s = calloc(1, sizeof *s);
    enum err e = ERR_OK;

    if (!s)
        return err_set(ec, ERR_NOMEM, "out of memory for TLS");
    mutex_init(&s->lock, LOCK_LEAF);
    s->method = make_method();
    if (!copy_files(s, files) || !s->method)
        e = err_set(ec, ERR_NOMEM, "out of memory for TLS");
    if (!e)
        e = load(s, ec);
    if (e) {
        tls_server_destroy(s);
        return e;
    }
    *out = s;
    return ERR_OK;
}

void tls_server_destroy(struct tls_server *s)
{
    if (!s)
        return;
    SSL_CTX_free(s->context);
    X509_free(s->certificate);
    BIO_meth_free(s->method);
    for (size_t i = 0; i < ARRAY_LEN(s->texts); i++) {
        if (s->texts[i])
            OPENSSL_cleanse(s->texts[i], strlen(s->texts[i]));
        free(s->texts[i]);
    }
    mutex_fini(&s->lock);
    free(s);
}

void tls_server_load_facts(struct tls_server *s, struct tls_facts *out)
{
    mutex_lock(&s->lock);
    *out = s->facts;
    mutex_unlock(&s->lock);
}

static SSL_CTX *take_context(struct tls_server *s, X509 **certificate)
{
    mutex_lock(&s->lock);
    SSL_CTX *context = s->context;
    SSL_CTX_up_ref(context);
    if (certificate) {
        *certificate = s->certificate;
        X509_up_ref(s->certificate);
    }
    mutex_unlock(&s->lock);
    return context;
}

bool tls_server_names_host(struct tls_server *s, const char *host)
{
    X509 *certificate = NULL;

    SSL_CTX_free(take_context(s, &certificate));
    bool good = tls_names_host(certificate, host);
    X509_free(certificate);
    return good;
}

enum tls_follow tls_server_follow(struct tls_server *s, bool now, struct errctx *ec)
{
    struct stamps present = look(&s->files);
    bool is_new = memcmp(&present, &s->loaded, sizeof present) != 0;
    bool is_settled = !memcmp(&present, &s->seen, sizeof present);

    s->seen = present;
    if (!now && (!is_new || !is_settled))
        return TLS_SAME;
    if (load(s, ec))
        return TLS_KEPT;
    return TLS_RELOADED;
}

bool tls_load_files(const struct config *c, struct tls_files *out)
{
    static const enum tls_clients clients[] = {[CONFIG_CLIENT_AUTH_NONE] = TLS_CLIENTS_ANY,
                                               [CONFIG_CLIENT_AUTH_WANT] = TLS_CLIENTS_WANTED,
                                               [CONFIG_CLIENT_AUTH_NEED] = TLS_CLIENTS_NEEDED};

    *out = (struct tls_files){.certificate = c->ssl_certificate,
                              .key = c->ssl_private_key,
                              .key_password = c->ssl_private_key_password,
                              .store = c->ssl_key_store,
                              .store_password = c->ssl_key_store_password,
                              .store_key_password = c->ssl_key_password,
                              .store_alias = c->ssl_key_alias,
                              .clients = clients[c->ssl_client_auth],
                              .trust = c->ssl_trust_certificate,
                              .trust_store = c->ssl_trust_store,
                              .trust_store_password = c->ssl_trust_store_password};
    return c->serves_tls;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

struct tls *tls_accept(struct tls_server *s, int fd)
{
    SSL_CTX *context = take_context(s, NULL);
    struct tls *t = make_connection(context, s->method, fd);

    SSL_CTX_free(context);
    if (t)
        SSL_set_accept_state(t->ssl);
    ERR_clear_error();
    return t;
}

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
    BIO_METHOD *method = make_method();
    struct tls *t = context && method ? make_connection(context, method, fd) : NULL;
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
    SSL_set_connect_state(t->ssl);
    ERR_clear_error();
    int done = SSL_do_handshake(t->ssl);
    if (done != 1) {
        ssize_t verdict = judge(t, done);
        e = verdict < 0 && errno == EAGAIN
                ? err_set(ec, ERR_TIMEOUT, "no answer in time")
                : err_set(ec, ERR_LOST, "TLS does not come about: %s", verdict ? tls_get_why(t) : "the server went");
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
