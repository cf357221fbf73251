/* SPDX-License-Identifier: MIT */
/*
 * link: one connection to an LDAP server, and what is asked over it. link.c alone includes libldap. Private to
 * directory.
 *
 * Threads     One owner. limit.stopping may be set by anybody: what is waited for ends as AWAY within a quarter of a
 *             second.
 * Time        Nothing is waited for beyond the limit. Connection and TLS are made here, without libldap, whose own have
 *             no bound for the look-up of a name and for a handshake; and a socket of which a read waits for a second
 *             at most keeps half an answer from holding us up.
 * Bounds      A message, which has one entry at most, of LINK_MESSAGE_MAX bytes: no memory is taken for a longer one.
 */
#ifndef DIRECTORY_LINK_H
#define DIRECTORY_LINK_H

#include "directory/filter.h"
#include "directory/limit.h"
#include "shardwheel/directory.h"

struct link;

struct link_opts {
    const struct directory_url *urls;
    size_t url_count;
    bool starttls;
    const char *ca_file;
    struct resolver *resolver;
    struct limit limit;
};

#define LINK_MESSAGE_MAX (1024 * 1024)
#define LINK_ATTRIBUTES_MAX 5

struct link_value {
    size_t attribute; /* index of the query's */
    char *text;       /* what is no text as hexadecimal digits */
};

struct link_entry {
    char *dn;
    struct link_value *values;
    size_t value_count;
};

struct link_entries {
    struct link_entry *list;
    size_t count;
    bool cut; /* there are more than the limit, the query's or the server's */
};

struct link_query {
    const char *base;
    bool only_base; /* the entry itself; else all below it */
    const char *filter;
    const char *attributes[LINK_ATTRIBUTES_MAX]; /* NULL behind the last */
    int limit;
};

/* Before the first link, by one thread: libldap makes itself ready at its first call, whoever else calls it. */
void link_prepare(void);
/* Connected, and with TLS where the URL or StartTLS wants it. */
MUST_CHECK enum directory_answer link_open(const struct link_opts *opts, struct link **out, struct errctx *ec);
void link_close(struct link *l); /* NULL is fine */
/* WRONG, EXPIRED: the server does not take them. "" for both: as nobody. */
MUST_CHECK enum directory_answer link_bind(struct link *l, const char *dn, const char *password, struct errctx *ec);
MUST_CHECK enum directory_answer link_search(struct link *l, const struct link_query *query, struct link_entries *out,
                                             struct errctx *ec);
void link_entries_fini(struct link_entries *entries);
const char *link_find(const struct link_entry *entry, size_t attribute); /* the first value, or NULL */

#endif
