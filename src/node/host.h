/* SPDX-License-Identifier: MIT */
/*
 * host: what a node tells others of itself and of the machine it runs on.
 *
 * Threads     Any; at start.
 */
#ifndef NODE_HOST_H
#define NODE_HOST_H

#include "shardwheel/config.h"
#include "shardwheel/http/tls.h"

#define HOST_IP_MAX 46 /* INET6_ADDRSTRLEN */

/* The configured name, or host name, port and a random part. ERR_INPUT for one that is too long. */
MUST_CHECK enum err host_make_name(const struct config *config, char *out, size_t size, struct errctx *ec);
/* The first address that is not the loopback's: shown in log rows, so that people know which node sent a fire. */
void host_find_ip(char out[HOST_IP_MAX]);
/* Where the node's pages are. `tls`: of its certificate; NULL: none. An address that it does not name becomes the name
 * of this machine where it names that one. */
void host_make_url(const struct config *config, struct tls_server *tls, const char *ip, int port, char *out,
                   size_t size);

#endif
