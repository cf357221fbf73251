/* SPDX-License-Identifier: MIT */
/* reasons: what Active Directory says about a refused bind. Pure. */
#ifndef DIRECTORY_REASONS_H
#define DIRECTORY_REASONS_H

#include <stdbool.h>

/* Of the server's words, such as "80090308: LdapErr: DSID-0C090447, comment: AcceptSecurityContext error, data 532,
 * v4563". NULL: no reason is known. *expired: the password was right, and must be changed first; the server says so of
 * no wrong one. */
const char *reason_of_bind(const char *words, bool *expired);

#endif
