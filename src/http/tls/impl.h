/* SPDX-License-Identifier: MIT */
/* What the files of tls share, and the one place that includes OpenSSL's TLS. It has an ERR_STATE too, so that name is
 * moved out of the way. */
#ifndef HTTP_TLS_IMPL_H
#define HTTP_TLS_IMPL_H

#define ERR_STATE openssl_err_state
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#undef ERR_STATE

#include "shardwheel/http/tls.h"

/* ---- files.c ----------------------------------------------------------------------------------------------------- */

/* What a server shows. All zero is empty. */
struct tls_identity {
    EVP_PKEY *key;
    X509 *certificate;
    STACK_OF(X509) * chain;
};

void tls_identity_fini(struct tls_identity *id);
MUST_CHECK enum err tls_identity_load(const struct tls_files *files, struct tls_identity *out, struct errctx *ec);
/* Who vouches for clients; at least one. */
MUST_CHECK enum err tls_trust_load(const struct tls_files *files, STACK_OF(X509) * *out, struct errctx *ec);
void tls_read_facts(X509 *certificate, struct tls_facts *out);
bool tls_names_host(X509 *certificate, const char *host);
const char *tls_path_of(const char *value); /* without "file:" */
/* The reason of what failed last, of this thread; and forgets it. */
const char *tls_openssl_reason(char out[200]);

/* ---- connection.c ------------------------------------------------------------------------------------------------ */

BIO_METHOD *tls_make_method(void); /* of its socket; NULL when out of memory, as the next */
struct tls *tls_make_connection(SSL_CTX *context, BIO_METHOD *method, int fd, bool accepts);

#endif
