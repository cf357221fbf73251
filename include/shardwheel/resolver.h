/* SPDX-License-Identifier: MIT */
/*
 * resolver: addresses of host names. One look-up of a name at a time, of at most 64 names, in threads of its own.
 *
 * Threads     Any thread. Nothing waits for a look-up, not even resolver_destroy, which leaves those that hang to
 *             themselves.
 * Time        What was found is used for 30 s, and for up to five minutes while a later look-up hangs or fails. A name
 *             without an address is looked up again after 5 s.
 */
#ifndef SHARDWHEEL_RESOLVER_H
#define SHARDWHEEL_RESOLVER_H

#include "shardwheel/base.h"

#define RESOLVER_TEXT_MAX 400

struct resolver;

enum resolver_state {
    RESOLVER_WAITS, /* ask again when a look-up has ended */
    RESOLVER_FOUND,
    RESOLVER_FAILED,
};

struct resolver_answer {
    enum resolver_state state;
    char text[RESOLVER_TEXT_MAX]; /* found: IPs, separated by commas, those of version 6 in brackets; failed: why */
};

MUST_CHECK enum err resolver_create(const struct clock *clock, struct resolver **out, struct errctx *ec);
void resolver_destroy(struct resolver *r); /* NULL is fine; nobody watches it any more */
void resolver_ask(struct resolver *r, const char *host, struct resolver_answer *out);
/* Changes whenever a look-up has ended, of whatever name. The event descriptors that watch are written to then. */
uint64_t resolver_count_ended(const struct resolver *r);
MUST_CHECK enum err resolver_watch(struct resolver *r, int event_fd, struct errctx *ec);
void resolver_unwatch(struct resolver *r, int event_fd);
/* For a thread that may wait: the addresses, as in an answer; an IP is its own. `may_wait_ms` says how long to wait
 * until it is asked again; 0: no longer. ERR_LOST says why there is no address. */
MUST_CHECK enum err resolver_await(struct resolver *r, const char *host, int (*may_wait_ms)(const void *arg),
                                   const void *arg, char out[RESOLVER_TEXT_MAX], struct errctx *ec);
/* Needs no look-up. Version 6 without brackets. */
bool host_is_ip(const char *host);

#endif
