/* SPDX-License-Identifier: MIT */
#include "shardwheel/admin/cluster.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "admin/admin_impl.h"
#include "shardwheel/admin/audit.h"

/* ---- pure -------------------------------------------------------------------------------------------------------- */

bool node_is_silent(const struct node_row *node, int64_t now_ms)
{
    return now_ms - node->beat_ms > NODE_SILENT_MS;
}

const char *node_get_state(const struct node_row *node, int64_t now_ms)
{
    if (node_is_silent(node, now_ms))
        return "silent";
    if (node->drain)
        return node->owned ? "draining" : "drained";
    return "live";
}

int64_t node_get_up_ms(const struct node_row *node, int64_t now_ms)
{
    return (node_is_silent(node, now_ms) ? node->beat_ms : now_ms) - node->started_ms;
}

size_t node_count_takers(const struct node_row *nodes, size_t count, int64_t now_ms, const char *but_incarnation)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i++)
        n +=
            !node_is_silent(&nodes[i], now_ms) && !nodes[i].drain && strcmp(nodes[i].incarnation, but_incarnation) != 0;
    return n;
}

int64_t shard_get_held_ms(const struct shard_view *shard, int64_t now_ms)
{
    int64_t ms = now_ms - shard->taken_s * 1000;

    return !shard->owner[0] || !shard->taken_s ? -1 : ms > 0 ? ms : 0;
}

/* ---- looking ----------------------------------------------------------------------------------------------------- */

FINI_BY(free, cluster_nodes, rows)

enum err admin_load_nodes(struct admin *a, const struct actor *actor, struct cluster_nodes *out, struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_enter(a, actor, RIGHT_SEE, 0, &s, r);

    if (!e)
        e = store_load_nodes(s, &out->rows, &out->count, &out->now_ms, &r->text);
    return admin_end(a, s, e, r);
}

enum err admin_load_shards(struct admin *a, const struct actor *actor, bool count_fires, struct cluster_status *out,
                           struct refusal *r)
{
    struct store_session *s = NULL;
    enum err e = admin_enter(a, actor, RIGHT_SEE, 0, &s, r);

    if (!e)
        e = store_load_status(s, count_fires, out, &r->text);
    return admin_end(a, s, e, r);
}

/* ---- drain, undrain ---------------------------------------------------------------------------------------------- */

/* By incarnation, or by a name that just one node has that lives. */
static enum err find_node(const struct cluster_nodes *nodes, const char *wanted, struct node_row *out,
                          struct refusal *r)
{
    const struct node_row *found = NULL;
    size_t named = 0;

    for (size_t i = 0; i < nodes->count; i++) {
        const struct node_row *node = &nodes->rows[i];
        if (!strcmp(node->incarnation, wanted)) {
            *out = *node;
            return ERR_OK;
        }
        if (!strcmp(node->node, wanted) && !node_is_silent(node, nodes->now_ms)) {
            found = node;
            named++;
        }
    }
    if (named > 1)
        return refuse(r, REFUSED_INVALID, "node", "%zu live nodes are named %s: use the incarnation of one of them",
                      named, wanted);
    if (!found)
        return refuse(r, REFUSED_UNKNOWN, "node", "there is no node %.100s", wanted);
    *out = *found;
    return ERR_OK;
}

static enum err check_drain(const struct cluster_nodes *nodes, const struct node_row *node, bool force,
                            struct refusal *r)
{
    if (node_is_silent(node, nodes->now_ms))
        return refuse(r, REFUSED_STATE, NULL,
                      "node %s is silent, so it cannot see the request; if it has ended, other nodes take its shards",
                      node->node);
    if (!force && !node_count_takers(nodes->rows, nodes->count, nodes->now_ms, node->incarnation))
        return refuse(r, REFUSED_STATE, "force",
                      "no other live node can take the shards of %s: no job would fire; force drains it anyway",
                      node->node);
    return ERR_OK;
}

static enum err write_drain(struct store_session *s, const struct actor *actor, const struct node_row *node, bool drain,
                            struct refusal *r)
{
    struct audit_diff diff;

    audit_begin(&diff, AUDIT_CHANGED);
    audit_bool(&diff, "drain", node->drain, drain);
    const struct audit_row *row = audit_end(&diff, actor, drain ? "node.drain" : "node.undrain", 0, node->node, 0);
    enum err e = store_set_drain(s, node->incarnation, drain, row, &r->text);
    audit_fini(&diff);
    if (e == ERR_NOTFOUND)
        return refuse(r, REFUSED_UNKNOWN, "node", "node %s no longer exists", node->node);
    return refuse_error(r, e);
}

enum err admin_set_drain(struct admin *a, const struct actor *actor, const char *wanted, bool drain, bool force,
                         struct node_row *out, int64_t *now_ms, struct refusal *r)
{
    struct cluster_nodes nodes = {0};
    struct store_session *s = NULL;
    struct node_row node;
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, &s, r);

    if (!e)
        e = store_load_nodes(s, &nodes.rows, &nodes.count, &nodes.now_ms, &r->text);
    if (!e)
        e = find_node(&nodes, wanted, &node, r);
    if (!e && drain && !node.drain)
        e = check_drain(&nodes, &node, force, r);
    if (!e && drain != node.drain)
        e = write_drain(s, actor, &node, drain, r);
    if (!e) {
        node.drain = drain;
        *out = node;
        *now_ms = nodes.now_ms;
    }
    cluster_nodes_fini(&nodes);
    return admin_end(a, s, e, r);
}

/* ---- release ----------------------------------------------------------------------------------------------------- */

/* The live node that has taken the shard, where another one could take it. */
static enum err find_owner(const struct cluster_status *status, const struct cluster_nodes *nodes, int shard,
                           struct node_row *owner, struct refusal *r)
{
    const struct shard_view *row = cluster_find_shard(status, shard);

    if (!row)
        return refuse(r, REFUSED_UNKNOWN, "shard", "there is no shard %d: the cluster has %d shards", shard,
                      status->shards);
    if (!row->owner[0])
        return refuse(r, REFUSED_STATE, NULL, "shard %d has no owner", shard);
    for (size_t i = 0; i < nodes->count; i++) {
        const struct node_row *node = &nodes->rows[i];
        if (strcmp(node->node, row->owner) != 0 || node_is_silent(node, nodes->now_ms))
            continue;
        if (!node_count_takers(nodes->rows, nodes->count, nodes->now_ms, node->incarnation))
            return refuse(r, REFUSED_STATE, NULL, "no other live node can take shard %d from %s", shard, node->node);
        *owner = *node;
        return ERR_OK;
    }
    return refuse(r, REFUSED_STATE, NULL,
                  "the last owner of shard %d is node %s, which is not live: another node takes it", shard, row->owner);
}

static enum err write_release(struct store_session *s, const struct actor *actor, int shard,
                              const struct node_row *owner, struct refusal *r)
{
    struct audit_diff diff;

    audit_begin(&diff, AUDIT_ADDED);
    audit_text(&diff, "node", NULL, owner->node);
    const struct audit_row *row = audit_end(&diff, actor, "shard.release", shard, owner->node, 0);
    enum err e = store_ask_release(s, owner->incarnation, shard, row, &r->text);
    audit_fini(&diff);
    if (e == ERR_BUSY)
        return refuse(r, REFUSED_LIMIT, NULL, "node %s: %s", owner->node, r->text.text);
    return refuse_error(r, e);
}

enum err admin_release_shard(struct admin *a, const struct actor *actor, int shard, struct node_row *owner,
                             struct refusal *r)
{
    struct cluster_status status = {0};
    struct cluster_nodes nodes = {0};
    struct store_session *s = NULL;
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, &s, r);

    if (!e)
        e = store_load_status(s, /*count_fires=*/false, &status, &r->text);
    if (!e)
        e = store_load_nodes(s, &nodes.rows, &nodes.count, &nodes.now_ms, &r->text);
    if (!e)
        e = find_owner(&status, &nodes, shard, owner, r);
    if (!e)
        e = write_release(s, actor, shard, owner, r);
    cluster_nodes_fini(&nodes);
    cluster_status_fini(&status);
    return admin_end(a, s, e, r);
}

/* ---- reshard ----------------------------------------------------------------------------------------------------- */

static enum err write_wish(struct store_session *s, const struct actor *actor, int from, int to,
                           struct reshard_wish *out, struct refusal *r)
{
    struct audit_diff diff;

    audit_begin(&diff, AUDIT_CHANGED);
    audit_int(&diff, "shards", from, to);
    enum err e = store_ask_reshard(s, to, audit_end(&diff, actor, "cluster.reshard", 0, "", 0), out, &r->text);
    audit_fini(&diff);
    if (e == ERR_STATE || e == ERR_CONFLICT)
        return refuse(r, REFUSED_STATE, NULL, "%s", r->text.text);
    return refuse_error(r, e);
}

enum err admin_reshard(struct admin *a, const struct actor *actor, int64_t shards, struct reshard_wish *out,
                       struct refusal *r)
{
    struct store_session *s = NULL;
    struct cluster_view view;
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, &s, r);

    if (!e && (shards < 1 || shards > STORE_SHARDS_MAX))
        e = refuse(r, REFUSED_INVALID, "shards", "shards must be a number from 1 to %d", STORE_SHARDS_MAX);
    if (!e)
        e = store_load_cluster(s, "", &view, &r->text);
    if (!e)
        e = write_wish(s, actor, view.shards, (int)shards, out, r);
    return admin_end(a, s, e, r);
}

enum err admin_cancel_reshard(struct admin *a, const struct actor *actor, struct refusal *r)
{
    const struct audit_row row = audit_bare(AUDIT_REMOVED, actor, "cluster.reshard-cancel", 0, "", 0);
    struct store_session *s = NULL;
    bool found = false;
    enum err e = admin_enter(a, actor, RIGHT_ADMINISTER, 0, &s, r);

    if (!e)
        e = store_cancel_reshard(s, 0, &row, &found, &r->text);
    if (!e && !found)
        e = refuse(r, REFUSED_STATE, NULL, "no change of the number of shards is in progress");
    return admin_end(a, s, e, r);
}
