/* SPDX-License-Identifier: MIT */
#include "node/node_impl.h"

#include "shardwheel/admin/people.h"
#include "shardwheel/coord/primary.h"
#include "shardwheel/store/cluster.h"
#include "shardwheel/store/database.h"
#include "shardwheel/store/private_server.h"
#include "shardwheel/store/replication.h"
#include "shardwheel/store/trials.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What is missing. The password of a user that is made for it, which nobody could read again, is printed once, on
 * stdout, where logs do not go. */
static enum err install(struct node *node, void (*report)(void *arg, const char *what), void *arg, struct errctx *ec)
{
    char *password = NULL;
    enum err e = store_install_schema(node->store, report, arg, &password, ec);

    if (!e && password && node->config->strong_passwords)
        e = people_make_strong(node->store, node->clock, "admin", password, ec);
    if (!e && password)
        e = node_propose_token(node->config, ec);
    if (password) {
        printf("The console's user is 'admin' with the password '%s'. It is shown only this time.\n", password);
        fflush(stdout);
    }
    free(password);
    return e;
}

static enum err check_schema(struct node *node, struct errctx *ec)
{
    struct store_features features;
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
        if (features.empty && node->config->data_dir && node->first)
            e = node_make_token(node->first, ec);
        if (!e)
            e = install(node, report_install, NULL, ec);
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
static enum err init_shards(struct node *node, struct store_session *s, struct errctx *ec)
{
    int configured = (int)node->config->shards;
    int64_t now_s = time_floor_div(clock_wall_ms(node->clock), 1000);
    enum err e = store_init_shards(s, configured, now_s, &node->shards, ec);

    if (e)
        return err_wrap(ec, e, "shardwheel.shards");
    if (node->shards != configured)
        log_warn("main", "event=shards_differ configured=%d cluster=%d effect=\"the number of the cluster is used\"",
                 configured, node->shards);
    return ERR_OK;
}

/* Two names of one zone pass; that on record stays there, and this node goes on with its own. */
static void log_synonym(const char *what, const char *own, const char *recorded)
{
    if (recorded[0] && strcmp(own, recorded) != 0)
        log_info("main",
                 "event=zone_synonym of=%s node=%s cluster=%s effect=\"both have the same offsets: nothing to do\"",
                 what, own, recorded);
    if (!recorded[0])
        log_warn("main", "event=zone_unnamed of=%s effect=\"nodes with another zone are not noticed: set TZ\"", what);
}

/* Rows that were planned in another zone are not found: see store/cluster.h. */
static enum err agree_on_zones(struct node *node, struct store_session *s, struct errctx *ec)
{
    struct cluster_zones zones;
    enum err e = store_agree_on_zones(s, node->zone, &zones, ec);

    if (e)
        return e;
    log_synonym("database", zone_get_name(store_get_zone(node->store)), zones.database);
    log_synonym("cron", zone_get_name(node->zone), zones.cron);
    return ERR_OK;
}

/* Settings by which a failover sends again what was sent: said once, since nothing can be done about it then. */
static enum err tell_replication(struct store_session *s, struct errctx *ec)
{
    struct replication_risk risks[REPLICATION_RISKS_MAX];
    struct replication r = {0};
    size_t count;
    enum err e = store_load_replication(s, &r, ec);

    if (e)
        return e;
    count = replication_find_risks(&r, risks);
    for (size_t i = 0; i < count; i++)
        log_warn("store", "event=failover_may_lose settings=%s why=%s", log_quote(risks[i].settings).s,
                 log_quote(risks[i].what).s);
    return ERR_OK;
}

/* Named locks are for the guard, and for a standalone node's own lock: see store/trials.h. */
static bool is_needed(const struct node *node, enum trial trial)
{
    return trial != TRIAL_NAMED_LOCKS || node->config->java_guard ||
           node->config->coordination != CONFIG_COORDINATION_ZOOKEEPER;
}

/* What a server or a proxy does otherwise than the protocol needs makes no error later: fires would go twice or get
 * lost. */
static enum err check_trials(struct node *node, struct errctx *ec)
{
    struct trials trials = {0};
    enum err e = store_make_trials(node->store, &trials, ec);

    for (size_t i = 0; !e && i < trials.count; i++) {
        const struct trial_fault *fault = &trials.faults[i];

        if (is_needed(node, fault->trial))
            return err_set(ec, ERR_STATE, "%s To correct it: %s. No node starts before that", fault->what,
                           fault->change);
        log_warn("store",
                 "event=named_locks_absent what=%s effect=\"no node on this server can keep Java admins on standby\"",
                 log_quote(fault->what).s);
    }
    return e;
}

/* What certification cannot fence: those who never write the same row. */
static void tell_galera(const struct node *node, struct store_session *s)
{
    if (!store_is_galera(s))
        return;
    if (node->config->java_guard)
        log_warn("store", "event=galera_guard effect=\"the lock that keeps Java admins on standby is valid on one "
                          "member only: they must use the same database server as the nodes\"");
    if (node->config->coordination != CONFIG_COORDINATION_ZOOKEEPER)
        log_warn("store", "event=galera_standalone effect=\"a second standalone node at another member of the "
                          "cluster is not noticed: start one only, or use ZooKeeper\"");
}

static enum err agree(struct node *node, struct errctx *ec)
{
    struct store_session *s = NULL;
    enum err e = store_take_session(node->store, SESSION_NORMAL, &s, ec);

    if (!e)
        e = init_shards(node, s, ec);
    if (!e)
        e = agree_on_zones(node, s, ec);
    if (!e)
        tell_galera(node, s);
    if (!e)
        e = tell_replication(s, ec);
    store_give_session(node->store, s);
    return e;
}

/* From here on sessions go to the server that the nodes have agreed on. */
static enum err agree_on_server(struct node *node, struct errctx *ec)
{
    const struct config *config = node->config;
    bool zookeeper = config->coordination == CONFIG_COORDINATION_ZOOKEEPER;
    struct primary_opts opts = {.hosts = store_get_hosts(node->store),
                                .node_name = node->name,
                                .incarnation = node->incarnation,
                                .servers = zookeeper ? config->zookeeper_servers : NULL,
                                .base_path = config->zookeeper_base_path,
                                .session_timeout_ms = config->zookeeper_session_timeout_ms,
                                .watch = node->watch};
    enum err e;

    if (!opts.hosts) {
        counters_set(&node->counters, COUNTER_DB_HOST, 1); /* the one at the socket */
        return ERR_OK;
    }
    e = primary_create(&opts, node->clock, &node->counters, &node->primary, ec);
    return e ? e : primary_start(node->primary, ec);
}

enum err node_start_database(struct node *node, struct errctx *ec)
{
    enum err e = open_store(node, ec);

    if (!e)
        e = agree_on_server(node, ec);
    if (!e)
        e = check_schema(node, ec);
    if (!e && node->primary)
        primary_look(node->primary); /* the row can be written now, where it is not there yet */
    if (!e)
        e = agree(node, ec);
    if (!e)
        e = check_trials(node, ec);
    return e ? err_wrap(ec, e, "database") : ERR_OK;
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
    bool any = false;
    enum err e = node_create(config, &node, ec);

    if (e)
        return e;
    e = open_store(node, ec);
    if (!e)
        e = store_load_features(node->store, &features, ec);
    if (!e)
        e = install(node, print_line, &any, ec);
    if (e == ERR_OK && !any)
        printf("Nothing was missing.\n");
    node_stop(node);
    return e;
}
