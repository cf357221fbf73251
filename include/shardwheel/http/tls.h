/* SPDX-License-Identifier: MIT */
/*
 * tls: TLS of sockets, by OpenSSL: the certificate of a server and the connections that are made with it; and for
 * doctor, the other side of one.
 *
 * Threads     A server may be used by any thread; tls_server_follow by one at a time. A connection belongs to one
 *             thread at a time.
 * Invariants  TLS 1.2 and 1.3, with ECDHE and AEAD ciphers; no renegotiation, no compression, no early data. Nothing
 *             waits: a socket that has no bytes or no room is told as EAGAIN. What came is never held back here: behind
 *             tls_read with room for TLS_RECORD bytes all that it has not given out is still in the socket, so that
 *             level-triggered epoll tells of it.
 * Ownership   Texts of struct tls_files are copied. A connection keeps the certificate that it began with, must not
 *             outlive its server, and does not own its descriptor.
 */
#ifndef SHARDWHEEL_HTTP_TLS_H
#define SHARDWHEEL_HTTP_TLS_H

#include <sys/types.h>

#include "shardwheel/base.h"

/* ---- certificates ------------------------------------------------------------------------------------------------ */

enum tls_clients { TLS_CLIENTS_ANY, TLS_CLIENTS_WANTED, TLS_CLIENTS_NEEDED };

/* As the keys of Spring below server.ssl. have it, by which errors name them. A path may begin with "file:". NULL and
 * "" are none. */
struct tls_files {
    const char *certificate;        /* PEM: that of the server, then those that vouch for it */
    const char *key;                /* PEM; none: in the same file */
    const char *key_password;       /* of it */
    const char *store;              /* PKCS12, in the place of the three */
    const char *store_password;     /* of it */
    const char *store_key_password; /* of the key in it; none: the same. No other is understood */
    const char *store_alias;        /* of the entry; none: the only one */
    enum tls_clients clients;       /* whether they must show a certificate */
    const char *trust;              /* PEM: who vouches for clients */
    const char *trust_store;        /* PKCS12: the same */
    const char *trust_store_password;
};

struct tls_facts {
    char name[256]; /* the first that it names */
    int64_t from_s; /* wall clock */
    int64_t until_s;
};

struct config;
bool tls_load_files(const struct config *config, struct tls_files *out); /* false: no TLS is served. Borrows texts */

struct tls_server;
/* ERR_INPUT names the key and the file. One that has expired is no error. */
MUST_CHECK enum err tls_server_create(const struct tls_files *files, struct tls_server **out, struct errctx *ec);
void tls_server_destroy(struct tls_server *s); /* NULL is fine */
void tls_server_load_facts(struct tls_server *s, struct tls_facts *out);
/* The certificate is good for that host, a name or an IP address. */
bool tls_server_names_host(struct tls_server *s, const char *host);

enum tls_follow {
    TLS_SAME,
    TLS_RELOADED,
    TLS_KEPT, /* the files changed, but cannot be used: `ec` says why, and the former ones stay in force */
};
/* Looks whether the files changed, and takes the new ones once two looks saw the same: a certificate and its key are
 * rarely written at once. `now`: at once. Reads files. */
enum tls_follow tls_server_follow(struct tls_server *s, bool now, struct errctx *ec);

/* ---- connections ------------------------------------------------------------------------------------------------- */

#define TLS_RECORD ((size_t)16384)

struct tls;

struct tls *tls_accept(struct tls_server *s, int fd); /* NULL: out of memory. Sends and reads nothing yet */
void tls_destroy(struct tls *t);                      /* NULL is fine */

enum tls_step {
    TLS_STEP_DONE,
    TLS_STEP_READS,  /* goes on when the socket has bytes */
    TLS_STEP_WRITES, /* ... when it has room */
    TLS_STEP_FAILED, /* see tls_get_why */
};
/* Some of the handshake: up to a millisecond of the processor. */
enum tls_step tls_shake(struct tls *t);
const char *tls_get_why(const struct tls *t);

/* As recv and send on a non-blocking socket: -1 with errno EAGAIN, or another one when the connection is broken; 0: the
 * other side sends no more. tls_write may take a part; with EAGAIN it must be repeated with the same bytes first. */
ssize_t tls_read(struct tls *t, void *out, size_t size);
ssize_t tls_write(struct tls *t, const void *data, size_t len);
bool tls_wants_room(const struct tls *t); /* the last tls_read failed for it: it goes on when the socket has room */
void tls_end(struct tls *t);              /* tells the other side that no more comes, if all was written */

/* ---- the other side ---------------------------------------------------------------------------------------------- */

/* On a connected socket that blocks, with limits on its time: ERR_TIMEOUT, ERR_LOST. No certificate is refused: look at
 * it with tls_load_peer. */
MUST_CHECK enum err tls_connect(int fd, const char *host, struct tls **out, struct errctx *ec);
/* The certificate of the other side; *names_host: it is good for that host. False: it showed none. */
bool tls_load_peer(const struct tls *t, const char *host, struct tls_facts *out, bool *names_host);

#endif
