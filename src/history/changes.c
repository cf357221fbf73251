/* SPDX-License-Identifier: MIT */
#include "history/changes.h"

#include "shardwheel/history.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void changes_init(struct changes *w, const char *node)
{
    *w = (struct changes){.node = node};
}

/* ---- what is away ------------------------------------------------------------------------------------------------ */

/* True when it is back after so long that it is an event: *since_ms is its beginning then, and still to be cleared. */
static bool is_back(int64_t *since_ms, bool up, int64_t now_ms)
{
    if (!up) {
        *since_ms = *since_ms ? *since_ms : now_ms;
        return false;
    }
    if (*since_ms && now_ms - *since_ms < CHANGES_AWAY_MS)
        *since_ms = 0;
    return *since_ms != 0;
}

static void look_at_others(struct changes *w, const struct changes_facts *facts, struct events *out)
{
    int64_t now_ms = facts->now_ms;

    if (!facts->database_up)
        w->back_ms = now_ms;
    if (is_back(&w->database_since_ms, facts->database_up, now_ms)) {
        events_post(out,
                    &(struct event_row){.at_ms = w->database_since_ms,
                                        .until_ms = now_ms,
                                        .kind = EVENT_DATABASE_AWAY,
                                        .node = w->node,
                                        .shard = -1},
                    "The database was unavailable for %" PRId64 " s, seen by %s: nothing was planned or sent.",
                    (now_ms - w->database_since_ms + 500) / 1000, w->node);
        w->database_since_ms = 0;
    }
    if (is_back(&w->zookeeper_since_ms, facts->zookeeper_up, now_ms)) {
        events_post(out,
                    &(struct event_row){.at_ms = w->zookeeper_since_ms,
                                        .until_ms = now_ms,
                                        .kind = EVENT_ZOOKEEPER_AWAY,
                                        .node = w->node,
                                        .shard = -1},
                    "ZooKeeper was unavailable for %" PRId64 " s, seen by %s: it kept its shards.",
                    (now_ms - w->zookeeper_since_ms + 500) / 1000, w->node);
        w->zookeeper_since_ms = 0;
    }
    if (w->begun && facts->guard_losses != w->guard_losses)
        events_post(out, &(struct event_row){.at_ms = now_ms, .kind = EVENT_GUARD_LOST, .node = w->node, .shard = -1},
                    "%s lost the lock that keeps Java admins on standby: nothing is planned while no node has it.",
                    w->node);
    w->guard_losses = facts->guard_losses;
}

/* ---- shards ------------------------------------------------------------------------------------------------------ */

static void post_move(struct changes *w, int shard, int64_t now_ms, const char *kind, const char *what,
                      struct events *out)
{
    events_post(out, &(struct event_row){.at_ms = now_ms, .kind = kind, .node = w->node, .shard = shard},
                "%s %s shard %d.", w->node, what, shard);
}

static void look_at_shard(struct changes *w, const struct shard_status *now, bool lost, int64_t now_ms,
                          struct events *out)
{
    int64_t was = w->epochs[now->shard];
    int64_t epoch = now->state == SHARD_OWNED || now->state == SHARD_HANDOVER ? now->epoch : 0;

    if (was && epoch != was && lost)
        post_move(w, now->shard, now_ms, EVENT_SHARD_LOST, "lost", out);
    else if (was && epoch != was)
        post_move(w, now->shard, now_ms, EVENT_SHARD_HANDED_OVER, "handed over", out);
    if (epoch && epoch != was)
        post_move(w, now->shard, now_ms, EVENT_SHARD_TAKEN, "took over", out);
    w->epochs[now->shard] = epoch;
}

static void post_reshard(struct changes *w, const struct changes_facts *facts, struct events *out)
{
    char data[80];

    snprintf(data, sizeof data, "{\"shardsBefore\":%zu,\"shardsAfter\":%zu}", w->count, facts->count);
    events_post(out,
                &(struct event_row){
                    .at_ms = facts->now_ms, .kind = EVENT_RESHARDED, .node = w->node, .shard = -1, .data = data},
                "The number of shards changed from %zu to %zu.", w->count, facts->count);
}

static void look_at_shards(struct changes *w, const struct changes_facts *facts, struct events *out)
{
    bool lost = facts->shard_losses != w->shard_losses;

    if (facts->count == 0)
        return;
    if (w->count > 0 && w->count != facts->count)
        post_reshard(w, facts, out);
    if (w->count != facts->count)
        memset(w->epochs, 0, sizeof w->epochs);
    w->count = facts->count;
    w->shard_losses = facts->shard_losses;
    for (size_t i = 0; i < facts->count; i++)
        look_at_shard(w, &facts->shards[i], lost, facts->now_ms, out);
}

void changes_look(struct changes *w, const struct changes_facts *facts, struct events *out)
{
    look_at_others(w, facts, out);
    look_at_shards(w, facts, out);
    w->begun = true;
}
