/* SPDX-License-Identifier: MIT */
#include "node/node.h"

#include "shardwheel/store/going_back.h"
#include "shardwheel/store/database.h"
#include "node/host.h"
#include "shardwheel/admin.h"
#include "shardwheel/admin/settings.h"
#include "shardwheel/alarm.h"
#include "shardwheel/dispatch.h"
#include "shardwheel/executor/call.h"
#include "shardwheel/executor/http_client.h"
#include "shardwheel/executor/networks.h"
#include "shardwheel/follow.h"
#include "shardwheel/follow/lost.h"
#include "shardwheel/follow/triggers.h"
#include "shardwheel/history.h"
#include "shardwheel/job.h"
#include "shardwheel/record.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/private_server.h"
#include "shardwheel/store/schema.h"
#include "shardwheel/coord.h"
#include "shardwheel/http.h"
#include "shardwheel/metrics.h"
#include "shardwheel/registry.h"
#include "shardwheel/resolver.h"
#include "shardwheel/schedule.h"
#include "shardwheel/upkeep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CRON_YEARS 100
#define RESIZE_RETRY_MS 1000
#define CALLS_MAX 16 /* executors that people wait for at once: logs and kills */

struct node {
    const struct config *config; /* [main] */
    const struct clock *clock;   /* [const], as all below once started */
    struct counters counters;    /* [atomic] */
    char name[160];
    char incarnation[17]; /* of this run, in the tables of the cluster */
    char ip[HOST_IP_MAX];
    char url[300]; /* where its pages are; empty until HTTP is served */
    struct zone *zone;
    struct private_server *database; /* standalone --data */
    struct store *store;
    struct registry *registry;
    struct schedule *schedule;
    struct resolver *resolver; /* of executors and of the mail server */
    struct executor_networks *networks;
    struct results *results;
    struct dispatch *dispatch;
    struct complete *complete;
    struct failures *failures;
    struct lost *lost;
    struct upkeep *upkeep;
    struct history *history;
    struct triggers *triggers;
    struct coord *coord;
    struct guard *guard;            /* NULL: none is asked for */
    struct store *console_store;    /* of admin */
    struct executor_calls *calls;   /* of admin, as well */
    struct store_features features; /* of the database, at the start */
    struct admin *admin;
    struct http *http;
    bool schedule_started; /* [main], as the four that follow but for `shards` */
    bool draining;
    int resize_to;          /* the number of shards that the last try could not go over to; 0: it could */
    int64_t resize_mono_ms; /* no further try before */
    struct mutex lock;      /* rank LOCK_MAIN; held while shards are replaced or looked at */
    int shards;             /* [lock] where another thread than the main one looks */
};

/* ---- pages ------------------------------------------------------------------------------------------------------- */

/* `out` has room for STORE_SHARDS_MAX. */
static size_t load_shards(void *arg, struct shard_status *out)
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

static void write_metrics(void *arg, struct buf *out)
{
    struct node *node = arg;
    struct shard_status *shards = calloc(STORE_SHARDS_MAX, sizeof *shards);
    size_t n = shards ? load_shards(node, shards) : 0;

    metrics_write(&node->counters, shards, n, clock_wall_ms(node->clock), out);
    free(shards);
}

static bool write_health(void *arg, struct buf *out)
{
    struct node *node = arg;
    const char *why = NULL;
    bool database = counters_get(&node->counters, COUNTER_DB_UP) == 1;
    bool coordination = counters_get(&node->counters, COUNTER_COORD_UP) == 1;
    bool healthy = node_is_healthy(node, &why);

    buf_printf(out,
               "{\"status\":\"%s\",\"components\":{\"db\":{\"status\":\"%s\"},\"coordination\":{\"status\":\"%s\"},",
               healthy ? "UP" : "DOWN", database ? "UP" : "DOWN", coordination ? "UP" : "DEGRADED");
    buf_printf(out, "\"schedule\":{\"status\":\"%s\"", healthy ? "UP" : "DOWN");
    if (why) {
        buf_puts(out, ",\"reason\":");
        buf_put_json(out, why);
    }
    buf_puts(out, "}},\"node\":");
    buf_put_json(out, node->name);
    buf_puts(out, "}");
    return healthy;
}

bool node_is_healthy(struct node *node, const char **why)
{
    if (counters_get(&node->counters, COUNTER_DB_UP) != 1) {
        *why = "the database is away";
        return false;
    }
    return schedule_is_healthy(node->schedule, why);
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

static enum err open_store(struct node *node, struct errctx *ec)
{
    enum err e = ERR_OK;

    if (node->config->data_dir)
        e = private_server_start(node->config->data_dir, node->clock, &node->database, ec);
    return e ? e : database_open(node->config, node->database, node->clock, &node->counters, &node->store, ec);
}

static void report_install(void *arg, const char *what)
{
    (void)arg;
    log_info("store", "event=schema_installed what=%s", log_quote(what).s);
}

/* A password that nobody could read again is printed once, on stdout, where logs do not go. */
static void print_password(char *password)
{
    if (!password)
        return;
    printf("The console's user is 'admin' with the password '%s'. It is shown this once only.\n", password);
    fflush(stdout);
    free(password);
}

static enum err check_schema(struct node *node, struct errctx *ec)
{
    struct store_features features;
    char *password = NULL;
    enum err e = store_load_features(node->store, &features, ec);

    if (e)
        return e;
    if (features.empty || !features.own_complete) {
        if (!node->config->schema_auto && !node->config->data_dir)
            return err_set(
                ec, ERR_STATE,
                "the database %s and shardwheel.schema.auto is off: run `shardwheel install-schema` with the "
                "same settings",
                features.empty         ? "has no xxl_job tables"
                : !features.own_tables ? "has no shardwheel tables"
                                       : "has older shardwheel tables");
        e = store_install_schema(node->store, report_install, NULL, &password, ec);
        print_password(password);
        if (!e)
            e = store_load_features(node->store, &features, ec);
        if (e)
            return e;
    }
    log_info("store", "event=database family=%s tables_version=%d server=%s index_for_many_jobs=%s", features.family,
             features.own_version, log_quote(features.server_version).s, features.info_next_index ? "yes" : "no");
    return ERR_OK;
}

/* The number of shards is the cluster's, whatever this node is configured with: it changes while nodes run, their files
 * do not. */
static enum err init_shards(struct node *node, struct errctx *ec)
{
    struct store_session *session = NULL;
    int configured = (int)node->config->shards;
    enum err e = store_take_session(node->store, SESSION_NORMAL, &session, ec);

    if (e)
        return e;
    e = store_init_shards(session, configured, time_floor_div(clock_wall_ms(node->clock), 1000), &node->shards, ec);
    store_give_session(node->store, session);
    if (e)
        return err_wrap(ec, e, "shardwheel.shards");
    if (node->shards != configured)
        log_warn("main", "event=shards_differ configured=%d cluster=%d effect=\"the cluster's number is used\"",
                 configured, node->shards);
    return ERR_OK;
}

/* Two names of one zone pass; that on record stays there, and this node goes on with its own. */
static void log_synonym(const char *what, const char *own, const char *recorded)
{
    if (recorded[0] && strcmp(own, recorded) != 0)
        log_info("main", "event=zone_synonym of=%s node=%s cluster=%s effect=\"the same offsets: both are fine\"", what,
                 own, recorded);
    if (!recorded[0])
        log_warn("main", "event=zone_unnamed of=%s effect=\"nodes with another zone are not noticed: set TZ\"", what);
}

/* Rows that were planned in another zone are not found: see store/cluster.h. */
static enum err agree_on_zones(struct node *node, struct errctx *ec)
{
    struct store_session *session = NULL;
    struct cluster_zones zones;
    enum err e = store_take_session(node->store, SESSION_NORMAL, &session, ec);

    if (!e)
        e = store_agree_on_zones(session, node->zone, &zones, ec);
    store_give_session(node->store, session);
    if (e)
        return e;
    log_synonym("database", zone_get_name(store_get_zone(node->store)), zones.database);
    log_synonym("cron", zone_get_name(node->zone), zones.cron);
    return ERR_OK;
}

static enum err start_database(struct node *node, struct errctx *ec)
{
    enum err e = open_store(node, ec);

    if (!e)
        e = check_schema(node, ec);
    if (!e)
        e = init_shards(node, ec);
    if (!e)
        e = agree_on_zones(node, ec);
    return e ? err_wrap(ec, e, "database") : ERR_OK;
}

static bool is_sending(void *arg)
{
    struct node *node = arg;

    return dispatch_is_sending(node->dispatch);
}

static enum err check_readable(const char *key, const char *path, struct errctx *ec)
{
    if (!*path || access(path, R_OK) == 0)
        return ERR_OK;
    return err_set(ec, ERR_INPUT, "%s: cannot read %s: %s", key, path, strerror(errno));
}

static struct http_tls get_tls(const struct config *config)
{
    return (struct http_tls){
        .verify = config->tls_verify, .ca = config->tls_ca, .cert = config->tls_cert, .key = config->tls_key};
}

static enum err set_tls(struct node *node, const struct config *config, struct errctx *ec)
{
    struct http_tls tls = get_tls(config);
    enum err e = check_readable("shardwheel.executor.tls.ca", tls.ca, ec);

    if (!e && *tls.key && !*tls.cert)
        e = err_set(ec, ERR_INPUT, "shardwheel.executor.tls.key needs shardwheel.executor.tls.cert");
    if (!e)
        e = check_readable("shardwheel.executor.tls.cert", tls.cert, ec);
    if (!e)
        e = check_readable("shardwheel.executor.tls.key", tls.key, ec);
    if (!e)
        dispatch_set_tls(node->dispatch, &tls);
    return e;
}

static void submit_direct(void *arg, struct fire *list)
{
    struct node *node = arg;

    dispatch_submit_direct(node->dispatch, list);
}

static struct message_style get_style(const struct config *config)
{
    return (struct message_style){.lang = lang_parse(config->i18n), .full = config->trigger_msg_long};
}

/* Registry to completion: what the fires need on their way. Nothing is planned yet. */
static enum err start_way(struct node *node, struct errctx *ec)
{
    const struct config *config = node->config;
    enum err e = ERR_OK;

    if (config->java_guard)
        e = guard_create(node->store, node->incarnation, node->clock, &node->counters, &node->guard, ec);
    else
        log_warn("main", "event=guard_off effect=\"a Java admin on this database would fire the same jobs again\"");
    if (!e)
        e = registry_create(node->store, node->clock, &node->counters, &node->registry, ec);
    if (!e)
        e = registry_start(node->registry, ec);
    if (!e)
        e = schedule_create(
            &(struct schedule_opts){
                .shards = node->shards,
                .node_name = node->name,
                .admin_ip = node->ip,
                .style = get_style(config),
                .incarnation = node->incarnation,
                .url = node->url,
                .version = SHARDWHEEL_VERSION,
                .zone = node->zone,
                .max_year =
                    zone_to_civil(node->zone, time_floor_div(clock_wall_ms(node->clock), 1000)).year + CRON_YEARS,
                .resend = config->delivery_unknown_resend,
                .skipped_rows = config->skipped_rows,
                .store = node->store,
                .registry = node->registry,
                .guard = node->guard},
            node->clock, &node->counters, &node->schedule, ec);
    if (!e)
        e = resolver_create(node->clock, &node->resolver, ec);
    if (!e)
        e = executor_networks_create(config->executor_networks, &node->networks, ec);
    if (!e)
        e = results_create(
            &(struct results_opts){.store = node->store, .waiting_max = (size_t)config->results_queue_max / 2},
            node->clock, &node->counters, &node->results, ec);
    if (!e)
        e = dispatch_create(&(struct dispatch_opts){.threads = (int)config->dispatch_threads,
                                                    .per_address = (int)config->dispatch_per_address,
                                                    .queue_max = (size_t)config->dispatch_queue_max,
                                                    .results_max = (size_t)config->results_queue_max,
                                                    .bean_only = config->glue == CONFIG_GLUE_BEAN_ONLY,
                                                    .node_name = node->name,
                                                    .admin_ip = node->ip,
                                                    .style = get_style(config),
                                                    .resolver = node->resolver,
                                                    .networks = node->networks,
                                                    .sent = schedule_on_sent,
                                                    .arg = node->schedule},
                            node->registry, node->results, node->clock, &node->counters, &node->dispatch, ec);
    if (!e) {
        dispatch_set_limits(node->dispatch, config->access_token, config->executor_timeout_ms);
        e = set_tls(node, config, ec);
    }
    if (!e)
        e = results_start(node->results, ec);
    if (!e)
        e = dispatch_start(node->dispatch, ec);
    if (!e)
        e = complete_create(&(struct complete_opts){.store = node->store,
                                                    .results = node->results,
                                                    .is_sending = is_sending,
                                                    .submit = submit_direct,
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

static enum glue_mode find_glue_mode(const struct config *config)
{
    switch (config->glue) {
    case CONFIG_GLUE_ON: return GLUE_ON;
    case CONFIG_GLUE_OFF: return GLUE_OFF;
    case CONFIG_GLUE_BEAN_ONLY: return GLUE_BEAN_ONLY;
    }
    return GLUE_ON;
}

static void set_admin_access(struct node *node, const struct config *config)
{
    struct http_tls tls = get_tls(config);

    admin_set_access(node->admin, config->access_token, config->executor_timeout_ms, &tls);
}

/* What people do: nothing of it begins before HTTP is served. */
static enum err start_admin(struct node *node, struct errctx *ec)
{
    enum err e = database_open_for_console(node->config, node->database, node->clock, &node->console_store, ec);

    if (!e)
        e = store_load_features(node->console_store, &node->features, ec);
    if (!e)
        e = executor_calls_create(node->clock, node->resolver, node->networks, CALLS_MAX, &node->calls, ec);
    if (!e)
        e = admin_create(&(struct admin_opts){.store = node->console_store,
                                              .triggers = node->triggers,
                                              .registry = node->registry,
                                              .calls = node->calls,
                                              .resolver = node->resolver,
                                              .networks = node->networks,
                                              .zone = node->zone,
                                              .config = node->config,
                                              .node_name = node->name,
                                              .incarnation = node->incarnation,
                                              .glue = find_glue_mode(node->config),
                                              .guarded = node->config->java_guard},
                         node->clock, &node->counters, &node->admin, ec);
    if (!e)
        e = admin_set_config(node->admin, node->config, ec);
    if (!e)
        set_admin_access(node, node->config);
    return e;
}

/* Before coordination, so that a port in use is told before any shard is ours. */
static enum err start_http(struct node *node, struct errctx *ec)
{
    const struct config *config = node->config;
    enum err e = http_create(&(struct http_opts){.bind = config->http_bind[0] ? config->http_bind : NULL,
                                                 .port = (int)config->server_port,
                                                 .context_path = config->server_context_path,
                                                 .threads = (int)config->http_threads,
                                                 .max_body = (size_t)config->http_max_body,
                                                 .trusted_networks = config->http_trusted_networks,
                                                 .registry = node->registry,
                                                 .complete = node->complete,
                                                 .admin = node->admin,
                                                 .lang = lang_parse(config->i18n),
                                                 .login_cookie = config->login_cookie,
                                                 .login_header = config->login_proxy_header,
                                                 .login_networks = config->login_proxy_networks,
                                                 .console_dialect = (1u << config->console_dialect) / 2,
                                                 .generation = node->features.family,
                                                 .console_zone = node->zone,
                                                 .write_metrics = write_metrics,
                                                 .write_health = write_health,
                                                 .arg = node},
                             node->clock, &node->counters, &node->http, ec);

    if (e)
        return e;
    http_set_access_token(node->http, config->access_token);
    e = http_start(node->http, ec);
    if (!e)
        host_make_url(config, node->ip, http_get_port(node->http), node->url, sizeof node->url);
    return e;
}

static enum err start_coord(struct node *node, bool in_background, struct errctx *ec)
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
    enum err e = start_coord(node, /*in_background=*/false, ec);

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
                                                 .ask = node->config->lost_runs_ask,
                                                 .get_epoch = get_first_epoch,
                                                 .arg = node},
                             node->clock, &node->counters, &node->lost, ec);

    struct http_tls tls = get_tls(node->config);

    if (!e)
        e = lost_set_access(node->lost, node->config->access_token, &tls, ec);
    return e ? e : lost_start(node->lost, ec);
}

static enum err start_upkeep(struct node *node, struct errctx *ec)
{
    enum err e = upkeep_create(&(struct upkeep_opts){.store = node->store,
                                                     .retention_days = node->config->log_retention_days,
                                                     .audit_days = node->config->audit_retention_days,
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
                                                       .load_shards = load_shards,
                                                       .get_epoch = get_first_epoch,
                                                       .arg = node},
                                node->clock, &node->counters, &node->history, ec);

    return e ? e : history_start(node->history, ec);
}

/* ---- another number of shards ------------------------------------------------------------------------------------ */

static void stop_coord(struct node *node)
{
    if (!node->coord)
        return;
    coord_stop(node->coord);
    coord_join(node->coord);
}

/* Planning and firing begin anew with n shards; what is in flight, callbacks and beats go on meanwhile. */
static enum err resize(struct node *node, int n, struct errctx *ec)
{
    enum err e;

    stop_coord(node);
    schedule_halt(node->schedule);
    coord_destroy(node->coord);
    node->coord = NULL;
    mutex_lock(&node->lock);
    e = schedule_resize(node->schedule, n, ec);
    if (!e)
        node->shards = n;
    mutex_unlock(&node->lock);
    if (!e)
        e = start_coord(node, /*in_background=*/true, ec);
    return e ? e : schedule_start(node->schedule, node->coord, node->dispatch, ec);
}

void node_follow(struct node *node)
{
    int wanted = schedule_get_wanted_shards(node->schedule);
    int64_t now_ms = clock_mono_ms(node->clock);
    struct errctx ec;

    if (wanted == 0)
        wanted = node->resize_to; /* what the try of before halted does not look at the cluster any more */
    if (wanted == 0 || now_ms < node->resize_mono_ms)
        return;
    errctx_clear(&ec);
    node->resize_to = resize(node, wanted, &ec) ? wanted : 0;
    if (node->resize_to) {
        log_error("main", "event=resize_failed shards=%d error=%s effect=\"tried again\"", wanted,
                  log_quote(ec.text).s);
        stop_coord(node);
        schedule_halt(node->schedule);
        coord_destroy(node->coord);
        node->coord = NULL;
        node->resize_mono_ms = now_ms + RESIZE_RETRY_MS;
        return;
    }
    log_info("main", "event=resized shards=%d ms=%" PRId64, wanted, clock_mono_ms(node->clock) - now_ms);
}

static enum err create(const struct config *config, struct node **out, struct errctx *ec)
{
    struct node *node = calloc(1, sizeof *node);
    enum err e;

    if (!node)
        return err_set(ec, ERR_NOMEM, "node: out of memory");
    mutex_init(&node->lock, LOCK_MAIN);
    node->config = config;
    node->clock = clock_system();
    node->shards = (int)config->shards;
    host_find_ip(node->ip);
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

enum err node_start(const struct config *config, struct node **out, struct errctx *ec)
{
    struct node *node = NULL;
    enum err e = create(config, &node, ec);

    if (e)
        return e;
    e = start_database(node, ec);
    if (!e)
        e = start_way(node, ec);
    if (!e)
        e = start_admin(node, ec);
    if (!e)
        e = start_http(node, ec);
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
        e = start_upkeep(node, ec);
    if (e) {
        node_stop(node);
        return e;
    }
    log_info("main", "event=started node=%s port=%d shards=%d coordination=%s zone=%s database_zone=%s", node->name,
             http_get_port(node->http), node->shards,
             config->coordination == CONFIG_COORDINATION_ZOOKEEPER ? "zookeeper" : "standalone",
             zone_get_name(node->zone), zone_get_name(store_get_zone(node->store)));
    *out = node;
    return ERR_OK;
}

void node_apply(struct node *node, const struct config *config)
{
    struct http_tls tls = get_tls(config);
    struct errctx ec;

    node->config = config;
    dispatch_set_limits(node->dispatch, config->access_token, config->executor_timeout_ms);
    errctx_clear(&ec);
    if (set_tls(node, config, &ec) != ERR_OK || lost_set_access(node->lost, config->access_token, &tls, &ec) != ERR_OK)
        log_error("main", "event=tls_kept error=%s effect=\"https executors are spoken to as before\"",
                  log_quote(ec.text).s);
    http_set_access_token(node->http, config->access_token);
    set_admin_access(node, config);
    if (admin_set_config(node->admin, config, &ec) != ERR_OK)
        log_error("main", "event=settings_kept error=%s effect=\"api/v1 shows the settings before\"",
                  log_quote(ec.text).s);
}

struct triggers *node_get_triggers(struct node *node)
{
    return node->triggers;
}

bool node_is_alive(struct node *node)
{
    return !node->database || private_server_is_running(node->database);
}

/* ---- stopping ---------------------------------------------------------------------------------------------------- */

/* Whether every shard that this node had last has another owner by now. The nodes that should take them may just have
 * died. */
static bool is_taken_over(struct node *node)
{
    struct store_session *session = NULL;
    struct shard_row *rows = NULL;
    struct errctx ec;
    size_t count = 0;
    bool taken = true;

    if (counters_get(&node->counters, COUNTER_DB_UP) != 1)
        return true; /* nobody can take over, and we cannot ask */
    errctx_clear(&ec);
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
    struct errctx ec;

    errctx_clear(&ec);
    if (counters_get(&node->counters, COUNTER_DB_UP) == 1 &&
        store_take_session(node->store, SESSION_NORMAL, &session, &ec) == ERR_OK &&
        store_load_going_back(session, &g, &ec) == ERR_OK && !going_back_is_empty(&g))
        log_warn("node",
                 "event=going_back retries=%" PRId64 " triggers=%" PRId64 " children=%" PRId64 " held=%" PRId64
                 " planned=%" PRId64 " time_zones=%" PRId64 " fixed_delays=%" PRId64 " validities=%" PRId64
                 " retry_waits=%" PRId64 " holds=%" PRId64 " resends=%" PRId64 " retentions=%" PRId64
                 " effect=\"a Java admin that takes over does not do these; shardwheelctl going-back has the words\"",
                 g.later.kind[TRIGGER_RETRY].count,
                 g.later.kind[TRIGGER_MANUAL].count + g.later.kind[TRIGGER_API].count,
                 g.later.kind[TRIGGER_PARENT].count, g.later.held.count, g.later.planned, g.time_zones, g.fixed_delays,
                 g.validities, g.retry_waits, g.holds, g.resends, g.retentions);
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

void node_stop(struct node *node)
{
    if (!node)
        return;
    if (node->lost)
        lost_stop(node->lost);
    if (node->upkeep) {
        upkeep_stop(node->upkeep);
        upkeep_join(node->upkeep);
    }
    if (node->lost)
        lost_join(node->lost);
    /* First who hands fires to the ring and to dispatch: no cursor moves for a fire that would not be sent any more. */
    if (node->failures) {
        failures_stop(node->failures);
        failures_join(node->failures);
    }
    if (node->triggers) {
        triggers_stop(node->triggers);
        triggers_join(node->triggers);
    }
    if (node->schedule_started) {
        schedule_stop(node->schedule);
        schedule_join(node->schedule);
    }
    if (node->dispatch &&
        !dispatch_drain(node->dispatch, clock_mono_ms(node->clock) + node->config->executor_timeout_ms + 5000))
        log_error("main", "event=results_left count=%zu effect=\"ended as delivery unknown by the next owner\"",
                  dispatch_count_open(node->dispatch));
    /* Before dispatch: of children that callbacks make from the drain on, each row says that this node is stopping. */
    if (node->admin)
        admin_stop(node->admin);
    if (node->http)
        http_stop(node->http);
    if (node->complete) {
        complete_stop(node->complete);
        complete_join(node->complete);
    }
    stop_coord(node);
    if (node->history) { /* now that it has seen all ends but those of results */
        history_stop(node->history);
        history_join(node->history);
    }
    if (node->dispatch) {
        dispatch_stop(node->dispatch);
        dispatch_join(node->dispatch);
    }
    if (node->results) { /* now that nobody posts any more */
        results_stop(node->results);
        results_join(node->results);
    }
    /* What was planned has gone out and is written. */
    if (node->guard) {
        guard_stop(node->guard);
        guard_join(node->guard);
    }
    if (node->registry) {
        registry_stop(node->registry);
        registry_join(node->registry);
    }
    http_destroy(node->http);
    admin_destroy(node->admin);
    executor_calls_destroy(node->calls);
    upkeep_destroy(node->upkeep);
    history_destroy(node->history);
    lost_destroy(node->lost);
    failures_destroy(node->failures);
    triggers_destroy(node->triggers);
    complete_destroy(node->complete);
    results_destroy(node->results);
    dispatch_destroy(node->dispatch);
    executor_networks_destroy(node->networks);
    resolver_destroy(node->resolver);
    coord_destroy(node->coord);
    schedule_destroy(node->schedule);
    registry_destroy(node->registry);
    guard_destroy(node->guard);
    store_destroy(node->console_store);
    store_destroy(node->store);
    private_server_stop(node->database);
    zone_destroy(node->zone);
    mutex_fini(&node->lock);
    free(node);
}

/* ---- install-schema ---------------------------------------------------------------------------------------------- */

static void print_line(void *arg, const char *what)
{
    bool *any = arg;

    *any = true;
    printf("%s\n", what);
}

enum err node_install_schema(const struct config *config, struct errctx *ec)
{
    struct store_features features;
    struct node *node = NULL;
    char *password = NULL;
    bool any = false;
    enum err e = create(config, &node, ec);

    if (e)
        return e;
    e = open_store(node, ec);
    if (!e)
        e = store_load_features(node->store, &features, ec);
    if (!e)
        e = store_install_schema(node->store, print_line, &any, &password, ec);
    print_password(password);
    if (e == ERR_OK && !any)
        printf("Nothing was missing.\n");
    node_stop(node);
    return e;
}
