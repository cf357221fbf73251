/* SPDX-License-Identifier: MIT */
/* How a node is, and what others may ask of it. */
#include "node/node_impl.h"

#include "shardwheel/coord/primary.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/private_server.h"
#include "shardwheel/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

size_t node_load_shards(void *arg, struct shard_status *out)
{
    struct node *node = arg;
    size_t n = 0;

    mutex_lock(&node->lock);
    if (node->schedule) {
        schedule_load_status(node->schedule, out);
        n = (size_t)node->shards;
    }
    mutex_unlock(&node->lock);
    return n;
}

bool node_is_healthy(struct node *node, char why[NODE_WHY_MAX])
{
    const char *reason = NULL;
    char text[PRIMARY_WHY_MAX];
    char thread[16];
    int64_t since_ms;

    if (watch_find_stuck(node->watch, thread, &since_ms)) {
        snprintf(why, NODE_WHY_MAX, "thread %s is stuck: it made no progress for %" PRId64 " s", thread,
                 since_ms / 1000);
        return false;
    }
    if (node->primary && !primary_is_healthy(node->primary, text)) {
        snprintf(why, NODE_WHY_MAX, "%.*s", NODE_WHY_MAX - 1, text);
        return false;
    }
    if (counters_get(&node->counters, COUNTER_DB_UP) != 1)
        reason = "the database is unavailable";
    else if (schedule_is_healthy(node->schedule, &reason))
        return true;
    snprintf(why, NODE_WHY_MAX, "%s", reason);
    return false;
}

void node_describe(struct node *node, char out[NODE_WHY_MAX])
{
    struct shard_status *shards;
    size_t n, owned = 0;

    if (!node_is_healthy(node, out))
        return;
    shards = calloc(STORE_SHARDS_MAX, sizeof *shards);
    n = shards ? node_load_shards(node, shards) : 0;
    for (size_t i = 0; i < n; i++)
        owned += shards[i].state == SHARD_OWNED;
    free(shards);
    snprintf(out, NODE_WHY_MAX, "healthy, owns %zu of %zu shards", owned, n);
}

size_t node_count_stuck(struct node *node)
{
    size_t stuck = watch_look(node->watch);

    counters_set(&node->counters, COUNTER_THREADS_STUCK, (int64_t)stuck);
    return stuck;
}

struct triggers *node_get_triggers(struct node *node)
{
    return node->triggers;
}

bool node_is_alive(struct node *node)
{
    return !node->database || private_server_is_running(node->database);
}

struct http_tls node_get_tls(const struct config *config)
{
    return (struct http_tls){
        .verify = config->tls_verify, .ca = config->tls_ca, .cert = config->tls_cert, .key = config->tls_key};
}
