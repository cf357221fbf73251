/* SPDX-License-Identifier: MIT */
/* dial: a connection to one of several addresses, within a limit. Private to directory. */
#ifndef DIRECTORY_DIAL_H
#define DIRECTORY_DIAL_H

#include "directory/limit.h"

/* The socket, which does not block, to the first that takes a connection; -1: none did, and `ec` says why with `where`,
 * the server's name. `addresses`: IPs between commas. */
int dial_any(const char *addresses, int port, const struct limit *limit, const char *where, struct errctx *ec);
bool dial_set_blocking(int fd, bool on);
bool dial_set_limits(int fd); /* it blocks, for a second at most */

#endif
