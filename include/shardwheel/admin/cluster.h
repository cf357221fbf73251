/* SPDX-License-Identifier: MIT */
/*
 * admin/cluster: nodes and shards: what shardwheelctl does, with rights and audit. See shardwheel/admin.h for threads,
 * ownership and refusals.
 *
 * Rights      Seeing is for those who see all groups, and changing for who may ADMINISTER.
 * Time        All instants are of the database's clock.
 * Waiting     Nothing here waits for its outcome: what was asked stands in the database until the nodes have done it.
 */
#ifndef SHARDWHEEL_ADMIN_CLUSTER_H
#define SHARDWHEEL_ADMIN_CLUSTER_H

#include "shardwheel/admin.h"
#include "shardwheel/store/cluster.h"

#define NODE_SILENT_MS 3000 /* a node whose last beat is older does not live, as far as anybody can tell */

/* ---- pure -------------------------------------------------------------------------------------------------------- */

bool node_is_silent(const struct node_row *node, int64_t now_ms);
const char *node_get_state(const struct node_row *node, int64_t now_ms); /* "live", "draining", "drained", "silent" */
int64_t node_get_up_ms(const struct node_row *node, int64_t now_ms);     /* until now, or its last sign of life */
/* Nodes that live, are not drained, and are not that one. */
size_t node_count_takers(const struct node_row *nodes, size_t count, int64_t now_ms, const char *but_incarnation);
/* Since the owner took it; -1: nobody has. */
int64_t shard_get_held_ms(const struct shard_view *shard, int64_t now_ms);

/* ---- use cases --------------------------------------------------------------------------------------------------- */

struct cluster_nodes {
    struct node_row *rows; /* by name, then by start */
    size_t count;
    int64_t now_ms;
};
MUST_CHECK enum err admin_load_nodes(struct admin *a, const struct actor *actor, struct cluster_nodes *out,
                                     struct refusal *r);
void cluster_nodes_fini(struct cluster_nodes *nodes);
/* Fires are counted where asked for: that looks at rows of xxl_job_log. */
MUST_CHECK enum err admin_load_shards(struct admin *a, const struct actor *actor, bool count_fires,
                                      struct cluster_status *out, struct refusal *r);

/* `node` is its incarnation, or its name where just one that lives has it (field "node"). REFUSED_STATE: it is silent,
 * or no other node could take its shards (not with `force`), for a drain alone. *out is the node as it is now. */
MUST_CHECK enum err admin_set_drain(struct admin *a, const struct actor *actor, const char *node, bool drain,
                                    bool force, struct node_row *out, int64_t *now_ms, struct refusal *r);
/* Asks the owner to let the shard go (field "shard"). REFUSED_STATE: nobody owns it, its owner does not live, or no
 * other node could take it; REFUSED_LIMIT: its owner is still asked to release another one. *owner is who was asked. */
MUST_CHECK enum err admin_release_shard(struct admin *a, const struct actor *actor, int shard, struct node_row *owner,
                                        struct refusal *r);
/* Asks for another number of shards (field "shards", 1..STORE_SHARDS_MAX). REFUSED_STATE: it is that number already, or
 * another change is under way. */
MUST_CHECK enum err admin_reshard(struct admin *a, const struct actor *actor, int64_t shards, struct reshard_wish *out,
                                  struct refusal *r);
/* REFUSED_STATE: no change is under way. */
MUST_CHECK enum err admin_cancel_reshard(struct admin *a, const struct actor *actor, struct refusal *r);

#endif
