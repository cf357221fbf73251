/* SPDX-License-Identifier: MIT */
/*
 * network: IP addresses, and lists of networks in CIDR form. Part of base; pure.
 *
 * Lists       "10.0.0.0/8,!10.1.0.0/16,192.168.0.7,fd00::/8": parted by commas and blanks; an entry without "/" is one
 *             address, one with "!" leaves out. Of the entries that hold an address the one with the longest prefix
 *             decides; of two of the same length the one that leaves out.
 * Forms       A version 4 address that was written as a version 6 one (::ffff:10.0.0.1) counts as version 4, and
 *             networks of version 6 do not hold those of version 4.
 * Threads     A list never changes once it is there.
 */
#ifndef SHARDWHEEL_NETWORK_H
#define SHARDWHEEL_NETWORK_H

#include "shardwheel/base.h"

#define IP_TEXT_MAX 46 /* with its NUL */
#define NETWORKS_MAX 200

/* All zero: not known. */
struct ip {
    unsigned char bytes[16]; /* those of version 4 as ::ffff:a.b.c.d */
};

struct sockaddr;

bool ip_parse(const char *text, struct ip *out);                     /* version 6 with or without brackets */
bool ip_from_socket(const struct sockaddr *address, struct ip *out); /* false: neither version 4 nor 6 */
bool ip_is_v4(const struct ip *ip);
void ip_write(const struct ip *ip, char out[IP_TEXT_MAX]);                  /* without brackets */
bool ip_has_prefix(const struct ip *ip, const struct ip *prefix, int bits); /* 0..128; those of version 4 from 96 */
/* The version 4 address to which packets for that one of version 6 go in the end: 6to4, NAT64 or "compatible". */
bool ip_find_inner(const struct ip *ip, struct ip *out);

enum networks_verdict {
    NETWORKS_NONE, /* no entry holds it */
    NETWORKS_IN,
    NETWORKS_OUT, /* an entry with "!" decides */
};

struct networks;

/* ERR_INPUT names the entry; also when it has bits beyond its prefix, as 10.0.0.1/8 has: one of both is a slip. */
MUST_CHECK enum err networks_parse(const char *text, struct networks **out, struct errctx *ec);
void networks_destroy(struct networks *n);               /* NULL is fine */
bool networks_have_entries_in(const struct networks *n); /* one at least has no "!" */
/* *bits: length of the prefix that decided, 0..128 where that of version 4 counts from 96; may be NULL. */
enum networks_verdict networks_look_up(const struct networks *n, const struct ip *ip, int *bits);
bool networks_have(const struct networks *n, const struct ip *ip); /* NETWORKS_IN */

#endif
