/* SPDX-License-Identifier: MIT */
/*
 * plain_address: the common form of an executor's address, http:// with a numeric IP, taken apart. Pure.
 */
#ifndef EXECUTOR_PLAIN_ADDRESS_H
#define EXECUTOR_PLAIN_ADDRESS_H

#include <netinet/in.h>

#include "shardwheel/base.h"

struct plain_address {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } socket;
    socklen_t socket_len;
    const char *host; /* as the Host header says it, in `address` */
    size_t host_len;
    const char *path; /* in `address`; without a slash at its end, so maybe empty */
    size_t path_len;
};

/* False for every other form, be it right or wrong: https, names, user names, queries, escapes, dots as path segments,
 * ports and IPs in unusual spellings. The result points into `address`. */
bool plain_address_parse(const char *address, struct plain_address *out);

#endif
