/* SPDX-License-Identifier: MIT */
/* How the cluster is, in one line: asked for by every open page, so it is loaded for all of them at once. */
#include "shardwheel/admin/overview.h"

#include "admin/admin_impl.h"
#include "shardwheel/admin/cluster.h"
#include "shardwheel/config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static enum err load(struct admin *a, struct health *h, struct errctx *ec)
{
    struct store_session *s = NULL;
    struct node_row *nodes = NULL;
    struct cluster_view cluster = {0};
    size_t count = 0;
    int64_t now_ms = 0;
    enum err e = store_take_session(a->opts.store, SESSION_NORMAL, &s, ec);
    int64_t begun_ms = clock_mono_ms(a->clock);

    if (!e)
        e = store_load_nodes(s, &nodes, &count, &now_ms, ec);
    if (!e) {
        h->database_ms = clock_mono_ms(a->clock) - begun_ms;
        e = store_load_cluster(s, a->opts.incarnation ? a->opts.incarnation : "", &cluster, ec);
    }
    store_give_session(a->opts.store, s);
    for (size_t i = 0; i < count && !e; i++) {
        bool silent = node_is_silent(&nodes[i], now_ms);

        h->nodes++;
        h->nodes_live += !silent;
        h->nodes_draining += !silent && nodes[i].drain;
        h->shards_owned += silent ? 0 : nodes[i].owned;
    }
    h->shards = cluster.shards;
    h->shards_owned = h->shards_owned < h->shards ? h->shards_owned : h->shards;
    free(nodes);
    return e;
}

static const char *find_zookeeper(const struct admin *a)
{
    if (!a->opts.config || a->opts.config->coordination != CONFIG_COORDINATION_ZOOKEEPER)
        return "none";
    return a->counters && counters_get(a->counters, COUNTER_COORD_UP) != 1 ? "away" : "up";
}

/* The worst of it. */
static void judge(struct health *h, bool answered)
{
    if (!answered) {
        h->trouble = "database-away";
        snprintf(h->text, sizeof h->text, "The database does not answer: nothing is planned until it is back.");
    } else if (h->zookeeper[0] == 'a') {
        h->trouble = "zookeeper-away";
        snprintf(h->text, sizeof h->text, "This node cannot reach ZooKeeper.");
    } else if (h->shards_owned < h->shards) {
        h->trouble = "shards-unowned";
        snprintf(h->text, sizeof h->text, "%" PRId64 " of %" PRId64 " shards have no owner: their jobs do not fire.",
                 h->shards - h->shards_owned, h->shards);
    } else if (h->nodes_live < h->nodes) {
        h->trouble = "node-silent";
        snprintf(h->text, sizeof h->text, "%" PRId64 " of %" PRId64 " nodes are silent.", h->nodes - h->nodes_live,
                 h->nodes);
    }
}

enum err admin_load_health(struct admin *a, struct health *out, struct refusal *r)
{
    struct overview_cache *c = &a->overviews;
    int64_t now = clock_mono_ms(a->clock);
    struct health h = {.database_ms = -1};
    bool known;

    mutex_lock(&c->lock);
    known = c->health_mono_ms && now - c->health_mono_ms < HEALTH_MS;
    if (known)
        *out = c->health;
    else if (c->health_mono_ms)
        c->health_mono_ms = now; /* others get the one before meanwhile */
    mutex_unlock(&c->lock);
    if (known)
        return ERR_OK;
    h.zookeeper = find_zookeeper(a);
    judge(&h, load(a, &h, &r->text) == ERR_OK);
    now = clock_mono_ms(a->clock);
    mutex_lock(&c->lock);
    c->health = h;
    c->health_mono_ms = now + 1; /* never 0 */
    mutex_unlock(&c->lock);
    *out = h;
    return ERR_OK;
}
