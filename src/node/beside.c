/* SPDX-License-Identifier: MIT */
/*
 * Who else works on the database: a node that stands alone and nodes of a cluster would take each other's shards again
 * and again, since neither asks the other's coordination. The later one is refused.
 */
#include "node/node_impl.h"

#include "shardwheel/admin/cluster.h"
#include "shardwheel/store/cluster.h"

#include <stdlib.h>
#include <string.h>

#define WAIT_MS (NODE_SILENT_MS + 500) /* for a node that is just ending, or was killed: its last beat is silent then */
#define AGAIN_MS 200

/* A live node under another name. One of our name is what ran here before. */
static enum err find_live(struct node *node, struct store_session *s, struct errctx *ec)
{
    struct node_row *rows = NULL;
    size_t count = 0;
    int64_t now_ms = 0;
    enum err e = store_load_nodes(s, &rows, &count, &now_ms, ec);

    for (size_t i = 0; i < count && !e; i++) {
        if (!node_is_silent(&rows[i], now_ms) && strcmp(rows[i].node, node->name) != 0)
            e = err_set(ec, ERR_BUSY,
                        "node %s uses this database, and this node is standalone: set shardwheel.zookeeper.servers as "
                        "on that node, or stop that node first",
                        rows[i].node);
    }
    free(rows);
    return e;
}

static enum err find_standalone(struct store_session *s, struct errctx *ec)
{
    bool used = false;
    enum err e = store_find_standalone(s, &used, ec);

    if (!e && used)
        e = err_set(
            ec, ERR_BUSY,
            "a standalone node uses this database: set shardwheel.zookeeper.servers for it too, or stop it first");
    return e;
}

enum err node_look_beside(struct node *node, struct errctx *ec)
{
    bool alone = node->config->coordination != CONFIG_COORDINATION_ZOOKEEPER;
    int64_t deadline_ms = clock_mono_ms(node->clock) + WAIT_MS;
    struct store_session *s = NULL;
    enum err e = store_take_session(node->store, SESSION_NORMAL, &s, ec);

    if (!e)
        e = alone ? find_live(node, s, ec) : find_standalone(s, ec);
    while (e == ERR_BUSY && clock_mono_ms(node->clock) < deadline_ms) {
        clock_sleep_ms(AGAIN_MS);
        errctx_clear(ec);
        e = alone ? find_live(node, s, ec) : find_standalone(s, ec);
    }
    store_give_session(node->store, s);
    return e ? err_wrap(ec, e, "coordination") : ERR_OK;
}
