/* SPDX-License-Identifier: MIT */
/*
 * address: opens the socket that the server listens at.
 *
 * Threads     Any; nothing is kept.
 */
#ifndef HTTP_ADDRESS_H
#define HTTP_ADDRESS_H

#include "shardwheel/base.h"

/* `bind_to` NULL or "": all addresses, of both families where the machine has both. *port: the real one when `port` is
 * 0. ERR_BUSY in use, ERR_DENIED no right, ERR_INPUT no address of this machine. */
MUST_CHECK enum err address_listen(const char *bind_to, int port, int *fd, int *real_port, struct errctx *ec);
/* Listens and lets go again, for a message at once. */
MUST_CHECK enum err address_check(const char *bind_to, int port, struct errctx *ec);

#endif
