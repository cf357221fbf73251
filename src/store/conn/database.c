/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/database.h"
#include "shardwheel/store/hosts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READ_TIMEOUT_MS 10000

/* A private server has nothing to protect: who may read its folder may have it. */
static enum err fill_private(const struct config *config, struct private_server *server, char *socket, size_t size,
                             struct store_opts *opts, struct errctx *ec)
{
    const char *name = server ? private_server_get_socket(server) : NULL;

    if (snprintf(socket, size, "%s%s", name ? name : config->data_dir, name ? "" : "/" PRIVATE_SERVER_SOCKET) >=
        (int)size)
        return err_set(ec, ERR_INPUT, "the name of the data folder is too long");
    opts->socket = socket;
    opts->database = "xxl_job";
    opts->user = "root";
    opts->password = "";
    return ERR_OK;
}

static enum err fill_from_url(const struct config *config, struct store_opts *opts, struct errctx *ec)
{
    const struct jdbc_url *url = config->datasource;

    if (url->time_zone && strcmp(url->time_zone, "SERVER") == 0)
        return err_set(ec, ERR_INPUT,
                       "%s: the time zone SERVER of the JDBC URL is not supported: name the zone in which "
                       "DATETIME columns are written, for example serverTimezone=Asia/Shanghai",
                       config_get_source(config, "spring.datasource.url"));
    opts->socket = url->socket;
    opts->database = url->database;
    opts->zone = url->time_zone;
    opts->tls = url->tls != JDBC_TLS_DISABLED;
    opts->tls_require = url->tls != JDBC_TLS_DISABLED && url->tls != JDBC_TLS_PREFERRED;
    opts->tls_verify = url->tls == JDBC_TLS_VERIFY_CA || url->tls == JDBC_TLS_VERIFY_IDENTITY;
    opts->tls_ca = url->tls_ca;
    if (url->connect_timeout_ms)
        opts->connect_timeout_ms = (int)url->connect_timeout_ms;
    if (url->socket_timeout_ms)
        opts->read_timeout_ms = (int)url->socket_timeout_ms;
    return ERR_OK;
}

static enum err fill(const struct config *config, struct private_server *server, char *socket, size_t size,
                     struct store_opts *opts, struct errctx *ec)
{
    *opts = (struct store_opts){
        .user = config->datasource_username,
        .password = config->datasource_password,
        .max_sessions = (int)config->datasource_max_sessions,
        .connect_timeout_ms = (int)config->datasource_connection_timeout_ms,
        .read_timeout_ms = READ_TIMEOUT_MS,
        .lang = lang_parse(config->i18n),
    };
    return config->data_dir ? fill_private(config, server, socket, size, opts, ec) : fill_from_url(config, opts, ec);
}

static enum err make_hosts(const struct jdbc_url *url, const struct clock *clock, struct store_opts *opts,
                           struct errctx *ec)
{
    struct host_address *list = calloc(url->host_count, sizeof *list);
    enum err e;

    if (!list)
        return err_set(ec, ERR_NOMEM, "out of memory");
    for (size_t i = 0; i < url->host_count; i++)
        list[i] = (struct host_address){.host = url->hosts[i].host, .port = (int)url->hosts[i].port};
    e = hosts_create(opts, list, url->host_count, clock, &opts->hosts, ec);
    opts->owns_hosts = !e;
    free(list);
    return e;
}

enum err database_open(const struct config *config, struct private_server *server, const struct clock *clock,
                       struct counters *counters, struct store **out, struct errctx *ec)
{
    char socket[PATH_MAX];
    struct store_opts opts;
    enum err e = fill(config, server, socket, sizeof socket, &opts, ec);

    if (!e && !opts.socket)
        e = make_hosts(config->datasource, clock, &opts, ec);
    if (!e)
        e = store_create(&opts, clock, counters, out, ec);
    if (e && opts.owns_hosts)
        hosts_destroy(opts.hosts);
    return e;
}

/* Counts nothing: its sessions, and whether its statements could be carried out, are not the scheduler's. */
enum err database_open_for_console(const struct config *config, struct private_server *server,
                                   const struct store *beside, const struct clock *clock, struct store **out,
                                   struct errctx *ec)
{
    char socket[PATH_MAX];
    struct store_opts opts;
    enum err e = fill(config, server, socket, sizeof socket, &opts, ec);

    opts.max_sessions = CONSOLE_SESSIONS_MAX;
    opts.hosts = store_get_hosts(beside);
    return e ? e : store_create(&opts, clock, NULL, out, ec);
}
