/* SPDX-License-Identifier: MIT */
/* filter: texts that go into LDAP filters, and what they are made of. Pure. Private to directory. */
#ifndef DIRECTORY_FILTER_H
#define DIRECTORY_FILTER_H

#include "shardwheel/base.h"

/* The template with values for {user} and {dn}, escaped (RFC 4515). NULL: that one stands for "*", anything. */
void filter_put(struct buf *out, const char *template, const char *user, const char *dn);
/* Parentheses match, and nothing is around them. What is within is the server's to say. */
bool filter_is_whole(const char *text);

/* ldap://host[:port] or ldaps://host[:port], and nothing behind it. */
struct directory_url {
    bool tls; /* ldaps */
    char host[256];
    char port[8];
};
#define DIRECTORY_URLS_MAX 8
/* Those of a list with blanks or commas between them. ERR_INPUT names the one that is wrong. */
MUST_CHECK enum err urls_parse(const char *text, struct directory_url out[DIRECTORY_URLS_MAX], size_t *count,
                               struct errctx *ec);

#endif
