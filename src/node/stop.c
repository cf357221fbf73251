/* SPDX-License-Identifier: MIT */
#include "node/node_impl.h"

#include "shardwheel/admin.h"
#include "shardwheel/coord.h"
#include "shardwheel/coord/primary.h"
#include "shardwheel/directory.h"
#include "shardwheel/dispatch.h"
#include "shardwheel/events.h"
#include "shardwheel/executor/call.h"
#include "shardwheel/executor/networks.h"
#include "shardwheel/follow.h"
#include "shardwheel/flowrun.h"
#include "shardwheel/follow/lost.h"
#include "shardwheel/follow/triggers.h"
#include "shardwheel/history.h"
#include "shardwheel/http.h"
#include "shardwheel/http/tls.h"
#include "shardwheel/keep.h"
#include "shardwheel/record.h"
#include "shardwheel/registry.h"
#include "shardwheel/oidc.h"
#include "shardwheel/resolver.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/going_back.h"
#include "shardwheel/store/private_server.h"
#include "shardwheel/upkeep.h"
#include "shardwheel/watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- letting go -------------------------------------------------------------------------------------------------- */

/* Whether every shard that this node had last has another owner by now. The nodes that should take them may just have
 * died. */
static bool is_taken_over(struct node *node)
{
    struct store_session *session = NULL;
    struct shard_row *rows = NULL;
    struct errctx ec = {0};
    size_t count = 0;
    bool taken = true;

    if (counters_get(&node->counters, COUNTER_DB_UP) != 1)
        return true; /* nobody can take over, and we cannot ask */
    if (store_take_session(node->store, SESSION_NORMAL, &session, &ec) == ERR_OK &&
        store_load_shards(session, &rows, &count, &ec) == ERR_OK) {
        for (size_t i = 0; i < count; i++)
            taken &= rows[i].shard >= node->shards || strcmp(rows[i].owner, node->name) != 0;
    }
    store_give_session(node->store, session);
    free(rows);
    return taken;
}

/* Nobody is left: what a Java admin that takes over will not do. */
static void tell_going_back(struct node *node)
{
    struct store_session *session = NULL;
    struct going_back g;
    struct errctx ec = {0};

    if (counters_get(&node->counters, COUNTER_DB_UP) == 1 &&
        store_take_session(node->store, SESSION_NORMAL, &session, &ec) == ERR_OK &&
        store_load_going_back(session, &g, &ec) == ERR_OK && !going_back_is_empty(&g))
        log_warn("node",
                 "event=going_back retries=%" PRId64 " triggers=%" PRId64 " children=%" PRId64 " held=%" PRId64
                 " planned=%" PRId64 " time_zones=%" PRId64 " fixed_delays=%" PRId64 " validities=%" PRId64
                 " retry_waits=%" PRId64 " holds=%" PRId64 " resends=%" PRId64 " retentions=%" PRId64
                 " watches=%" PRId64 " flow_runs=%" PRId64 " flows=%" PRId64 " strong_passwords=%" PRId64
                 " effect=\"a Java admin will not do these; shardwheelctl going-back explains them\"",
                 g.later.kind[TRIGGER_RETRY].count,
                 g.later.kind[TRIGGER_MANUAL].count + g.later.kind[TRIGGER_API].count,
                 g.later.kind[TRIGGER_PARENT].count, g.later.held.count, g.later.planned, g.time_zones, g.fixed_delays,
                 g.validities, g.retry_waits, g.holds, g.resends, g.retentions, g.watches, g.flow_runs, g.flows,
                 g.strong.all);
    store_give_session(node->store, session);
}

bool node_drain(struct node *node)
{
    bool last;

    if (!node->coord)
        return true; /* a change of the number of shards is half done: others, or the next start, go on with them */
    if (!node->draining) {
        coord_drain(node->coord);
        node->draining = true;
    }
    last = coord_is_last(node->coord); /* read first: that of before would not know of what there is to finish */
    if (coord_count_held(node->coord) > 0 || schedule_count_unsent(node->schedule) > 0)
        return false;
    if (last)
        tell_going_back(node);
    return last || is_taken_over(node);
}

bool node_may_end_guard(struct node *node)
{
    return !node->guard || guard_may_end(node->guard);
}

/* ---- stopping ---------------------------------------------------------------------------------------------------- */

void node_stop_coord(struct node *node)
{
    if (!node->coord)
        return;
    coord_stop(node->coord);
    coord_join(node->coord);
}

/* What was started: its thread ends. */
#define END(what, it)                                                                                                  \
    do {                                                                                                               \
        if (it) {                                                                                                      \
            what##_stop(it);                                                                                           \
            what##_join(it);                                                                                           \
        }                                                                                                              \
    } while (0)

void node_stop(struct node *node)
{
    if (!node)
        return;
    weak_watch_stop(node->weak_watch);
    END(flowrun, node->flows);
    lost_stop(node->lost);
    END(events, node->events);
    END(upkeep, node->upkeep);
    lost_join(node->lost);
    /* First who hands fires to the ring and to dispatch: no cursor moves for a fire that would not be sent any more. */
    END(failures, node->failures);
    END(triggers, node->triggers);
    if (node->schedule_started) {
        schedule_stop(node->schedule);
        schedule_join(node->schedule);
    }
    if (node->dispatch &&
        !dispatch_drain(node->dispatch, clock_mono_ms(node->clock) + node->config->executor_timeout_ms + 5000))
        log_error("main", "event=results_left count=%zu effect=\"the next owner ends them as delivery unknown\"",
                  dispatch_count_open(node->dispatch));
    /* Before dispatch: of children that callbacks make from the drain on, each row says that this node is stopping. */
    if (node->admin)
        admin_stop(node->admin);
    oidc_stop(node->oidc);
    if (node->http)
        http_stop(node->http);
    END(complete, node->complete);
    if (node->keep) /* no run ends here any more */
        keep_stop(node->keep);
    node_stop_coord(node);
    END(history, node->history); /* now that it has seen all ends but those of results */
    END(dispatch, node->dispatch);
    END(results, node->results); /* now that nobody posts any more */
    if (node->keep)
        keep_join(node->keep);
    /* What was planned has gone out and is written. */
    END(guard, node->guard);
    END(registry, node->registry);
    http_destroy(node->http);
    tls_server_destroy(node->tls);
    admin_destroy(node->admin);
    oidc_destroy(node->oidc);
    directory_destroy(node->directory);
    END(primary, node->primary); /* nobody has a session any more */
    flowrun_destroy(node->flows);
    executor_calls_destroy(node->calls);
    upkeep_destroy(node->upkeep);
    events_destroy(node->events);
    history_destroy(node->history);
    lost_destroy(node->lost);
    failures_destroy(node->failures);
    triggers_destroy(node->triggers);
    complete_destroy(node->complete);
    keep_destroy(node->keep);
    keep_offers_destroy(node->offers);
    results_destroy(node->results);
    dispatch_destroy(node->dispatch);
    executor_networks_destroy(node->networks);
    resolver_destroy(node->resolver);
    coord_destroy(node->coord);
    schedule_destroy(node->schedule);
    primary_destroy(node->primary);
    registry_destroy(node->registry);
    guard_destroy(node->guard);
    store_destroy(node->console_store);
    store_destroy(node->store);
    private_server_stop(node->database);
    zone_destroy(node->zone);
    watch_destroy(node->watch);
    access_box_fini(&node->access);
    mutex_fini(&node->lock);
    free(node);
}
