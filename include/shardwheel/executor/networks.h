/* SPDX-License-Identifier: MIT */
/*
 * networks: which addresses of executors may be called. An address is what a user typed or a stranger registered, and
 * the call comes from within the operator's network: it must not reach what answers everybody there with secrets.
 *
 * Rules       Of the built-in networks and those of shardwheel.executor.networks the one with the longest prefix
 *             decides, the operator's at the same length. Built in are refusals alone: link-local addresses and the
 *             other metadata services of clouds, 0.0.0.0/8, multicast. Where the operator names a network without "!",
 *             what is in none of his is refused. Private networks and loopback are allowed: executors live there.
 * Where       executor_networks_check_list when a user saves an address: IPs alone, a name may mean another one
 *             tomorrow. executor_networks_allow before each connection, with the IP that it goes to.
 * Threads     Never changes once it is there. NULL stands for the built-in rules.
 */
#ifndef SHARDWHEEL_EXECUTOR_NETWORKS_H
#define SHARDWHEEL_EXECUTOR_NETWORKS_H

#include "shardwheel/network.h"

#define EXECUTOR_ADDRESS_SHOWN 64
#define EXECUTOR_FORBIDDEN_TEXT "calls to this address are not allowed, see shardwheel.executor.networks"

struct executor_networks;

MUST_CHECK enum err executor_networks_create(const char *text, struct executor_networks **out, struct errctx *ec);
void executor_networks_destroy(struct executor_networks *n); /* NULL is fine */
bool executor_networks_allow(const struct executor_networks *n, const struct ip *ip);
/* `list`: addresses parted by commas, as http://10.0.0.1:9999/ or 10.0.0.1:9999; blank ones are passed over. ERR_INPUT:
 * the text says which is refused and why, and `refused` (may be NULL) has that one, cut. */
MUST_CHECK enum err executor_networks_check_list(const struct executor_networks *n, const char *list,
                                                 char refused[EXECUTOR_ADDRESS_SHOWN], struct errctx *ec);

#endif
