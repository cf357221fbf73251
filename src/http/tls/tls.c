/* SPDX-License-Identifier: MIT */
/* Servers: what they show and ask for, read from their files again when these change. */
#include "http/tls/impl.h"

#include "shardwheel/config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
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
    s->method = tls_make_method();
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

struct tls *tls_accept(struct tls_server *s, int fd)
{
    SSL_CTX *context = take_context(s, NULL);
    struct tls *t = tls_make_connection(context, s->method, fd, /*accepts=*/true);

    SSL_CTX_free(context);
    return t;
}
