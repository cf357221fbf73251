/* SPDX-License-Identifier: MIT */
/*
 * address: where the server listens: looked up, tried out, and written as the library wants it.
 *
 * Threads     Any; nothing is kept.
 */
#ifndef HTTP_ADDRESS_H
#define HTTP_ADDRESS_H

#include "shardwheel/base.h"

#include <sys/socket.h>

/* Binds once and lets go again, since the library only says that it could not start. `bind_to` NULL or "": all addresses, of
 * both families where the machine has both. ERR_BUSY in use, ERR_DENIED no right, ERR_INPUT no address of this machine. */
MUST_CHECK enum err address_check(const char *bind_to, int port, struct sockaddr_storage *address, socklen_t *len,
                                  struct errctx *ec);
/* The library's way of writing an address and port. */
void address_format(const struct sockaddr_storage *address, bool any, int port, char *out, size_t size);
/* Begins a connection to there and drops it, to wake who is accepting. */
void address_connect_once(const struct sockaddr_storage *address, socklen_t len, int port);

#endif
