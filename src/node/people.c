/* SPDX-License-Identifier: MIT */
#include "node/node_impl.h"

#include "shardwheel/admin.h"
#include "shardwheel/admin/outside.h"
#include "shardwheel/admin/settings.h"
#include "shardwheel/directory.h"
#include "shardwheel/executor/call.h"
#include "shardwheel/http.h"
#include "shardwheel/oidc.h"
#include "shardwheel/job.h"
#include "shardwheel/metrics.h"
#include "shardwheel/store/database.h"

#include <stdlib.h>

#define CALLS_MAX 16                        /* executors that people wait for at once: logs and kills */
#define BODY_MAX ((size_t)64 * 1024 * 1024) /* of a request: a batch of callbacks may have 12 MB */

/* ---- pages ------------------------------------------------------------------------------------------------------- */

static void write_metrics(void *arg, struct buf *out)
{
    struct node *node = arg;
    struct shard_status *shards = calloc(STORE_SHARDS_MAX, sizeof *shards);
    size_t n = shards ? node_load_shards(node, shards) : 0;

    metrics_write(&(struct metrics_view){.node = node->name,
                                         .version = SHARDWHEEL_VERSION,
                                         .counters = &node->counters,
                                         .shards = shards,
                                         .shard_count = n,
                                         .now_ms = clock_wall_ms(node->clock),
                                         .started_ms = node->started_ms},
                  out);
    free(shards);
}

/* Settings that all nodes must have alike: shardwheelctl doctor compares them. */
static void put_shared_settings(const struct config *config, struct buf *out)
{
    member_object(out, "settings");
    member_bool(out, "javaGuard", config->java_guard);
    member_bool(out, "deliveryUnknownResend", config->delivery_unknown_resend);
    member_bool(out, "skippedRows", config->skipped_rows);
    member_bool(out, "lostRunsAsk", config->lost_runs_ask);
    member_int(out, "logRetentionDays", config->log_retention_days);
    member_text(out, "glue", config_glue_name(config->glue));
    member_object_end(out);
}

static bool write_health(void *arg, struct buf *out)
{
    struct node *node = arg;
    char why[NODE_WHY_MAX] = "";
    bool database = counters_get(&node->counters, COUNTER_DB_UP) == 1;
    bool coordination = counters_get(&node->counters, COUNTER_COORD_UP) == 1;
    bool healthy = node_is_healthy(node, why);

    buf_printf(out,
               "{\"status\":\"%s\",\"components\":{\"db\":{\"status\":\"%s\"},\"coordination\":{\"status\":\"%s\"},",
               healthy ? "UP" : "DOWN", database ? "UP" : "DOWN", coordination ? "UP" : "DEGRADED");
    buf_printf(out, "\"schedule\":{\"status\":\"%s\"", healthy ? "UP" : "DOWN");
    if (!healthy)
        member_text(out, "reason", why);
    buf_puts(out, "}}");
    member_text(out, "node", node->name);
    put_shared_settings(node->config, out);
    member_object_end(out);
    return healthy;
}

/* ---- starting ---------------------------------------------------------------------------------------------------- */

/* What people do: nothing of it begins before HTTP is served. */
enum err node_start_admin(struct node *node, struct errctx *ec)
{
    struct directory_opts directory;
    enum err e =
        database_open_for_console(node->config, node->database, node->store, node->clock, &node->console_store, ec);

    if (!e)
        e = store_load_features(node->console_store, &node->features, ec);
    if (!e)
        e = executor_calls_create(node->clock, node->resolver, node->networks, CALLS_MAX, &node->calls, ec);
    if (!e && directory_load_opts(node->config, &directory))
        e = directory_create(&directory, node->resolver, node->clock, &node->directory, ec);
    if (!e)
        e = admin_create(&(struct admin_opts){.store = node->console_store,
                                              .triggers = node->triggers,
                                              .registry = node->registry,
                                              .calls = node->calls,
                                              .access = &node->access,
                                              .keep = node->offers,
                                              .resolver = node->resolver,
                                              .directory = node->directory,
                                              .networks = node->networks,
                                              .zone = node->zone,
                                              .config = node->config,
                                              .node_name = node->name,
                                              .incarnation = node->incarnation,
                                              .glue = node->config->glue,
                                              .guarded = node->config->java_guard},
                         node->clock, &node->counters, &node->admin, ec);
    if (!e)
        e = admin_set_config(node->admin, node->config, ec);
    return e;
}

static enum err create_oidc(struct node *node, struct errctx *ec)
{
    struct oidc_opts opts;
    bool wanted = oidc_load_opts(node->config, &opts);

    if ((wanted || node->directory) && str_is_blank(node->config->login_mapping))
        log_warn("admin", "event=login_mapping_empty effect=\"all logins by OpenID Connect or LDAP are refused\"");
    return wanted ? oidc_create(&opts, node->resolver, node->clock, &node->oidc, ec) : ERR_OK;
}

/* Before coordination, so that a port in use is told before any shard is ours. */
enum err node_start_http(struct node *node, struct errctx *ec)
{
    const struct config *config = node->config;
    enum err e = create_oidc(node, ec);

    if (e)
        return e;
    e = http_create(&(struct http_opts){.bind = config->http_bind[0] ? config->http_bind : NULL,
                                        .port = (int)config->server_port,
                                        .context_path = config->server_context_path,
                                        .threads = (int)config->http_threads,
                                        .waits = node->directory ? DIRECTORY_ASKS_MAX : 0,
                                        .max_body = BODY_MAX,
                                        .tls = node->tls,
                                        .hsts_ms = config->hsts_ms,
                                        .trusted_networks = config->http_trusted_networks,
                                        .registry = node->registry,
                                        .access = &node->access,
                                        .complete = node->complete,
                                        .admin = node->admin,
                                        .oidc = node->oidc,
                                        .oidc_title = config->oidc_title,
                                        .lang = lang_parse(config->i18n),
                                        .login_cookie = config->login_cookie,
                                        .login_header = config->login_proxy_header,
                                        .login_networks = config->login_proxy_networks,
                                        .console_dialect = (1u << config->console_dialect) / 2,
                                        .web_dir = config->console_web_dir,
                                        .generation = node->features.family,
                                        .console_zone = node->zone,
                                        .write_metrics = write_metrics,
                                        .write_health = write_health,
                                        .arg = node},
                    node->clock, &node->counters, &node->http, ec);

    if (e)
        return e;
    e = http_start(node->http, ec);
    if (!e)
        host_make_url(config, node->tls, node->ip, http_get_port(node->http), node->url, sizeof node->url);
    return e;
}
