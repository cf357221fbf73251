/* SPDX-License-Identifier: MIT */
#include "node/node_impl.h"

#include "shardwheel/admin/outside.h"
#include "shardwheel/admin/weak.h"
#include "shardwheel/alarm.h"
#include "shardwheel/coord.h"
#include "shardwheel/coord/primary.h"
#include "shardwheel/dispatch.h"
#include "shardwheel/events.h"
#include "shardwheel/executor/networks.h"
#include "shardwheel/follow.h"
#include "shardwheel/follow/lost.h"
#include "shardwheel/flowrun.h"
#include "shardwheel/follow/triggers.h"
#include "shardwheel/history.h"
#include "shardwheel/http.h"
#include "shardwheel/job.h"
#include "shardwheel/keep.h"
#include "shardwheel/record.h"
#include "shardwheel/registry.h"
#include "shardwheel/resolver.h"
#include "shardwheel/upkeep.h"
#include "shardwheel/watch.h"

#include <stdlib.h>
#include <string.h>

#define CRON_YEARS 100
#define DISPATCH_THREADS 2
#define PER_ADDRESS_MAX 64    /* requests under way at one executor */
#define FIRES_WAIT_MAX 200000 /* for connections to their executors; what is more fails */
#define RESULTS_MAX 200000    /* that are not yet written; half of them may wait for their callbacks */

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static bool is_sending(void *arg)
{
    struct node *node = arg;

    return dispatch_is_sending(node->dispatch);
}

static void submit_direct(void *arg, struct fire *list)
{
    struct node *node = arg;

    dispatch_submit_direct(node->dispatch, list);
}

static void on_primary(void *arg, int64_t generation, bool lossless)
{
    schedule_on_primary(arg, generation, lossless);
}

static struct message_style get_style(const struct config *config)
{
    return (struct message_style){.lang = lang_parse(config->i18n), .full = config->trigger_msg_long};
}

/* Of cron expressions. */
static int64_t find_max_year(const struct node *node)
{
    return zone_to_civil(node->zone, time_floor_div(clock_wall_ms(node->clock), 1000)).year + CRON_YEARS;
}

/* Whose logs are kept is offered by all that write ends of runs. */
static enum err start_keep(struct node *node, struct errctx *ec)
{
    const struct config *config = node->config;
    enum err e = keep_offers_create(&node->counters, &node->offers, ec);

    if (!e)
        e = keep_create(&(struct keep_opts){.store = node->store,
                                            .offers = node->offers,
                                            .resolver = node->resolver,
                                            .networks = node->networks,
                                            .access = &node->access,
                                            .which = config->kept_logs,
                                            .text_max = (size_t)config->kept_logs_size,
                                            .is_sending = is_sending,
                                            .arg = node},
                        node->clock, &node->counters, &node->keep, ec);
    return e ? e : keep_start(node->keep, ec);
}

/* Registry to completion: what the fires need on their way. Nothing is planned yet. */
static enum err start_way(struct node *node, struct errctx *ec)
{
    const struct config *config = node->config;
    enum err e = ERR_OK;

    counters_set(&node->counters, COUNTER_DISPATCH_QUEUE_MAX, FIRES_WAIT_MAX);
    counters_set(&node->counters, COUNTER_RESULTS_QUEUE_MAX, RESULTS_MAX);
    if (config->java_guard)
        e = guard_create(node->store, node->incarnation, node->clock, &node->counters, &node->guard, ec);
    else
        log_warn("main", "event=guard_off effect=\"a Java admin on this database would fire the same jobs again\"");
    if (node->guard)
        guard_set_watch(node->guard, node->watch);
    if (!e)
        e = registry_create(node->store, node->clock, &node->counters, &node->registry, ec);
    if (!e)
        e = registry_start(node->registry, ec);
    if (!e)
        e = schedule_create(&(struct schedule_opts){.shards = node->shards,
                                                    .node_name = node->name,
                                                    .admin_ip = node->ip,
                                                    .style = get_style(config),
                                                    .incarnation = node->incarnation,
                                                    .url = node->url,
                                                    .version = SHARDWHEEL_VERSION,
                                                    .zone = node->zone,
                                                    .max_year = find_max_year(node),
                                                    .resend = config->delivery_unknown_resend,
                                                    .skipped_rows = config->skipped_rows,
                                                    .watch = node->watch,
                                                    .store = node->store,
                                                    .registry = node->registry,
                                                    .guard = node->guard},
                            node->clock, &node->counters, &node->schedule, ec);
    if (!e && node->primary)
        primary_set_changed(node->primary, on_primary, node->schedule);
    if (!e)
        e = resolver_create(node->clock, &node->resolver, ec);
    if (!e)
        e = executor_networks_create(config->executor_networks, &node->networks, ec);
    if (!e)
        e = node_set_access(node, config, ec);
    if (!e)
        e = results_create(&(struct results_opts){.watch = node->watch,
                                                  .store = node->store,
                                                  .waiting_max = RESULTS_MAX / 2,
                                                  .incarnation = node->incarnation},
                           node->clock, &node->counters, &node->results, ec);
    if (!e)
        e = dispatch_create(&(struct dispatch_opts){.threads = DISPATCH_THREADS,
                                                    .per_address = PER_ADDRESS_MAX,
                                                    .queue_max = FIRES_WAIT_MAX,
                                                    .results_max = RESULTS_MAX,
                                                    .bean_only = config->glue == CONFIG_GLUE_BEAN_ONLY,
                                                    .node_name = node->name,
                                                    .admin_ip = node->ip,
                                                    .style = get_style(config),
                                                    .watch = node->watch,
                                                    .resolver = node->resolver,
                                                    .networks = node->networks,
                                                    .access = &node->access,
                                                    .sent = schedule_on_sent,
                                                    .arg = node->schedule},
                            node->registry, node->results, node->clock, &node->counters, &node->dispatch, ec);
    if (!e)
        e = results_start(node->results, ec);
    if (!e)
        e = dispatch_start(node->dispatch, ec);
    if (!e)
        e = start_keep(node, ec);
    if (!e)
        e = complete_create(&(struct complete_opts){.watch = node->watch,
                                                    .store = node->store,
                                                    .results = node->results,
                                                    .is_sending = is_sending,
                                                    .submit = submit_direct,
                                                    .keep = node->offers,
                                                    .incarnation = node->incarnation,
                                                    .arg = node},
                            node->clock, &node->counters, &node->complete, ec);
    if (!e)
        e = complete_start(node->complete, ec);
    if (!e)
        e = triggers_create(
            &(struct triggers_opts){
                .incarnation = node->incarnation, .store = node->store, .submit = submit_direct, .arg = node},
            node->clock, &node->counters, &node->triggers, ec);
    if (!e)
        e = triggers_start(node->triggers, ec);
    return e;
}

enum err node_start_coord(struct node *node, bool in_background, struct errctx *ec)
{
    const struct config *config = node->config;
    bool zookeeper = config->coordination == CONFIG_COORDINATION_ZOOKEEPER;
    enum err e = coord_create(&(struct coord_opts){.shards = node->shards,
                                                   .node_name = node->name,
                                                   .servers = zookeeper ? config->zookeeper_servers : NULL,
                                                   .base_path = config->zookeeper_base_path,
                                                   .session_timeout_ms = config->zookeeper_session_timeout_ms,
                                                   .max_hold_ms = config->lock_max_hold_ms,
                                                   .in_background = in_background,
                                                   .store = node->store,
                                                   .changed = schedule_on_grant,
                                                   .arg = node->schedule},
                              node->clock, &node->counters, &node->coord, ec);

    if (!e)
        e = coord_start(node->coord, ec);
    return e ? err_wrap(ec, e, "coordination") : ERR_OK;
}

static enum err start_schedule(struct node *node, struct errctx *ec)
{
    enum err e = node_look_beside(node, ec);

    if (!e)
        e = node_start_coord(node, /*in_background=*/false, ec);
    if (e)
        return e;
    node->schedule_started = true;
    return schedule_start(node->schedule, node->coord, node->dispatch, ec);
}

static enum err start_failures(struct node *node, struct errctx *ec)
{
    struct failures_opts opts = {
        .incarnation = node->incarnation,
        .alarms = {.node_name = node->name,
                   .incarnation = node->incarnation,
                   .resolver = node->resolver,
                   .zone = node->zone,
                   .max_year = find_max_year(node),
                   .store = node->store},
        .store = node->store,
        .registry = node->registry,
        .submit = submit_direct,
        .arg = node,
    };
    enum err e = alarms_read_config(node->config, &opts.alarms, ec);

    if (e)
        return e;
    e = failures_create(&opts, node->clock, &node->counters, &node->failures, ec);
    return e ? e : failures_start(node->failures, ec);
}

static int64_t get_first_epoch(void *arg)
{
    struct node *node = arg;
    int64_t epoch;

    mutex_lock(&node->lock);
    epoch = schedule_get_epoch(node->schedule, 0);
    mutex_unlock(&node->lock);
    return epoch;
}

static enum err start_lost(struct node *node, struct errctx *ec)
{
    enum err e = lost_create(&(struct lost_opts){.store = node->store,
                                                 .registry = node->registry,
                                                 .resolver = node->resolver,
                                                 .networks = node->networks,
                                                 .access = &node->access,
                                                 .ask = node->config->lost_runs_ask,
                                                 .keep = node->offers,
                                                 .get_epoch = get_first_epoch,
                                                 .arg = node},
                             node->clock, &node->counters, &node->lost, ec);

    return e ? e : lost_start(node->lost, ec);
}

static int get_epochs(void *arg, int64_t *out)
{
    struct node *node = arg;
    int n;

    mutex_lock(&node->lock);
    n = node->shards;
    for (int k = 0; k < n; k++)
        out[k] = schedule_get_epoch(node->schedule, k);
    mutex_unlock(&node->lock);
    return n;
}

static bool is_comparing(void *arg)
{
    struct node *node = arg;

    return dispatch_is_comparing_sent(node->dispatch);
}

static enum err start_flows(struct node *node, struct errctx *ec)
{
    enum err e = flowrun_create(&(struct flowrun_opts){.incarnation = node->incarnation,
                                                       .store = node->store,
                                                       .zone = node->zone,
                                                       .max_year = find_max_year(node),
                                                       .calls = node->calls,
                                                       .access = &node->access,
                                                       .keep = node->offers,
                                                       .watch = node->watch,
                                                       .get_epochs = get_epochs,
                                                       .submit = submit_direct,
                                                       .is_comparing = is_comparing,
                                                       .arg = node},
                                node->clock, &node->counters, &node->flows, ec);

    return e ? e : flowrun_start(node->flows, ec);
}

/* It learns which events are wanted before anything can end here; it sends them once there are shards. */
static enum err create_events(struct node *node, struct errctx *ec)
{
    store_share_hooks(node->store, node->console_store);
    return events_create(&(struct events_opts){.store = node->store,
                                               .resolver = node->resolver,
                                               .ca = node->config->alarm_ca,
                                               .off = !node->config->alarm_console_channels,
                                               .get_epoch = get_first_epoch,
                                               .arg = node},
                         node->clock, &node->counters, &node->events, ec);
}

static enum err start_upkeep(struct node *node, struct errctx *ec)
{
    enum err e = upkeep_create(&(struct upkeep_opts){.store = node->store,
                                                     .retention_days = node->config->log_retention_days,
                                                     .audit_days = node->config->audit_retention_days,
                                                     .kept_days = node->config->kept_logs_days,
                                                     .kept_total = node->config->kept_logs_total,
                                                     .get_epoch = get_first_epoch,
                                                     .arg = node},
                               node->clock, &node->counters, &node->upkeep, ec);

    return e ? e : upkeep_start(node->upkeep, ec);
}

/* Before any shard is ours, so that it sees them come. */
static enum err start_history(struct node *node, struct errctx *ec)
{
    enum err e = history_create(&(struct history_opts){.node_name = node->name,
                                                       .incarnation = node->incarnation,
                                                       .version = SHARDWHEEL_VERSION,
                                                       .store = node->store,
                                                       .load_shards = node_load_shards,
                                                       .get_epoch = get_first_epoch,
                                                       .arg = node},
                                node->clock, &node->counters, &node->history, ec);

    return e ? e : history_start(node->history, ec);
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

enum err node_create(const struct config *config, struct node **out, struct errctx *ec)
{
    struct node *node = calloc(1, sizeof *node);
    enum err e;

    if (!node)
        return err_set(ec, ERR_NOMEM, "node: out of memory");
    mutex_init(&node->lock, LOCK_MAIN);
    access_box_init(&node->access);
    node->config = config;
    node->clock = clock_system();
    node->started_ms = clock_wall_ms(node->clock);
    node->shards = (int)config->shards;
    host_find_ip(node->ip);
    e = watch_create(node->clock, &node->watch, ec);
    if (!e)
        e = host_make_name(config, node->name, sizeof node->name, ec);
    if (!e)
        e = random_hex(node->incarnation, 8, ec);
    if (!e) {
        e = config->time_zone[0] ? zone_load(config->time_zone, &node->zone, ec) : zone_load_local(&node->zone, ec);
        if (e)
            err_wrap(ec, e, "%s: shardwheel.time-zone", config_get_source(config, "shardwheel.time-zone"));
    }
    if (e) {
        node_stop(node);
        return e;
    }
    *out = node;
    return ERR_OK;
}

enum err node_start(struct config *config, struct node **out, struct errctx *ec)
{
    struct node *node = NULL;
    enum err e = node_create(config, &node, ec);

    if (e)
        return e;
    node->first = config;
    e = config->data_dir ? ERR_OK : weak_check_strict(config, ec);
    if (!e)
        e = outside_check_config(config, ec);
    if (!e)
        e = node_load_tls(node, ec);
    if (!e)
        e = node_start_database(node, ec);
    if (!e)
        e = weak_check_strict(config, ec); /* by now a new data folder has a token */
    if (!e)
        e = start_way(node, ec);
    if (!e)
        e = node_start_admin(node, ec);
    if (!e)
        e = create_events(node, ec);
    if (!e)
        e = node_start_http(node, ec);
    if (e == ERR_OK && node->guard)
        e = guard_start(node->guard, ec); /* last but for what needs it: Java admins stand by from now on */
    if (!e)
        e = start_history(node, ec);
    if (!e)
        e = start_schedule(node, ec);
    if (!e)
        e = start_failures(node, ec);
    if (!e)
        e = start_lost(node, ec);
    if (!e)
        e = start_flows(node, ec);
    if (!e)
        e = start_upkeep(node, ec);
    if (!e)
        e = events_start(node->events, ec);
    if (!e)
        e = weak_watch_start(node->admin, node->clock, &node->counters, &node->weak_watch, ec);
    if (e) {
        node_stop(node);
        return e;
    }
    if (config->data_dir && strstr(config_get_source(config, "xxl.job.accessToken"), "/" CONFIG_TOKEN_FILE))
        log_info("main", "event=access_token file=%s", log_quote(config_get_source(config, "xxl.job.accessToken")).s);
    log_info("main", "event=started node=%s port=%d shards=%d coordination=%s zone=%s database_zone=%s", node->name,
             http_get_port(node->http), node->shards,
             config->coordination == CONFIG_COORDINATION_ZOOKEEPER ? "zookeeper" : "standalone",
             zone_get_name(node->zone), zone_get_name(store_get_zone(node->store)));
    *out = node;
    return ERR_OK;
}
