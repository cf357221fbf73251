/* SPDX-License-Identifier: MIT */
/*
 * secure: TLS to a directory, by OpenSSL. That of libldap has a handshake without a bound, and does not say what is
 * wrong with a certificate. Private to directory.
 */
#ifndef DIRECTORY_SECURE_H
#define DIRECTORY_SECURE_H

#include <sys/types.h>

#include "directory/limit.h"
#include "shardwheel/directory.h"

struct secure;

/* The handshake, on a socket that does not block. TLS 1.2 at least; the certificate must be of `host` and of a CA of
 * the file, "": of the system's. NO_HOST, NO_TRUST, NO_TLS, AWAY: `ec` says why. */
MUST_CHECK enum directory_answer secure_start(int fd, const char *host, const char *ca_file, const struct limit *limit,
                                              struct secure **out, struct errctx *ec);
ssize_t secure_read(struct secure *s, void *out, size_t size); /* as recv, also of errno */
ssize_t secure_write(struct secure *s, const void *data, size_t len);
bool secure_has_more(struct secure *s); /* bytes that the socket has given already */
void secure_destroy(struct secure *s);  /* NULL is fine; the socket stays */

#endif
