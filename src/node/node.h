/* SPDX-License-Identifier: MIT */
/*
 * node: all areas of one process, started in their order and stopped in reverse.
 *
 * Threads     The main thread alone, but for what says how the node stands: the watchdog's thread, HTTP workers.
 */
#ifndef NODE_NODE_H
#define NODE_NODE_H

#include "shardwheel/config.h"

struct node;
struct triggers;

/* Starts everything. `config` must outlive the node. Where a new data folder gets an access token, it is put in. */
MUST_CHECK enum err node_start(struct config *config, struct node **out, struct errctx *ec);
/* Puts the reloadable keys of `config` in force; it must outlive the node from now on. */
void node_apply(struct node *node, const struct config *config);
/* Fires by hand and by programs; valid until node_stop. */
struct triggers *node_get_triggers(struct node *node);
/* False when the node cannot go on: its private database has ended. */
bool node_is_alive(struct node *node);
#define NODE_WHY_MAX 160
/* False: `why` says so in a sentence. Any thread. */
bool node_is_healthy(struct node *node, char why[NODE_WHY_MAX]);
/* One line for people: whether it is healthy, and how many shards it has. Any thread. */
void node_describe(struct node *node, char out[NODE_WHY_MAX]);
/* Threads that fires depend on and that do not go on. Tells the log. One thread; at least every second. */
size_t node_count_stuck(struct node *node);
/* To be called often: goes over to another number of shards when the cluster has. */
void node_follow(struct node *node);
/* Hands all shards over. True when done; call it again until then. */
bool node_drain(struct node *node);
/* After that: true when no other node relies on this one to hold Java admins off. Call it again until then. */
bool node_may_end_guard(struct node *node);
/* Stops what is left, waits for answers and results, frees all. NULL is fine, half-started too. */
void node_stop(struct node *node);
/* Only what `install-schema` needs: connects and puts in what is missing, with a line to stdout for each thing done. */
MUST_CHECK enum err node_install_schema(const struct config *config, struct errctx *ec);

#endif
