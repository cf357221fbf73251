/* SPDX-License-Identifier: MIT */
#include "shardwheel/store/database.h"

#include <limits.h>
#include <stdio.h>
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
    opts->host = url->socket ? NULL : url->hosts[0].host;
    opts->port = (int)url->hosts[0].port;
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

static enum err open_with(const struct config *config, struct private_server *server, int max_sessions,
                          const struct clock *clock, struct counters *counters, struct store **out, struct errctx *ec)
{
    char socket[PATH_MAX];
    struct store_opts opts = {
        .user = config->datasource_username,
        .password = config->datasource_password,
        .max_sessions = max_sessions,
        .connect_timeout_ms = (int)config->datasource_connection_timeout_ms,
        .read_timeout_ms = READ_TIMEOUT_MS,
        .lang = lang_parse(config->i18n),
    };
    enum err e = config->data_dir ? fill_private(config, server, socket, sizeof socket, &opts, ec)
                                  : fill_from_url(config, &opts, ec);

    return e ? e : store_create(&opts, clock, counters, out, ec);
}

enum err database_open(const struct config *config, struct private_server *server, const struct clock *clock,
                       struct counters *counters, struct store **out, struct errctx *ec)
{
    return open_with(config, server, (int)config->datasource_max_sessions, clock, counters, out, ec);
}

/* Counts nothing: its sessions, and whether its statements could be carried out, are not the scheduler's. */
enum err database_open_for_console(const struct config *config, struct private_server *server,
                                   const struct clock *clock, struct store **out, struct errctx *ec)
{
    return open_with(config, server, CONSOLE_SESSIONS_MAX, clock, NULL, out, ec);
}
