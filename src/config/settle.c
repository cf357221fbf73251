/* SPDX-License-Identifier: MIT */
#include "config/settle.h"

#include "config/origin.h"

#include "config/tree.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A key that was given but does not count. */
static enum err note_unused(struct config *config, size_t index, const char *why, struct errctx *ec)
{
    if (!config->origin->sources[index])
        return ERR_OK;
    return origin_add_note(config->origin, CONFIG_NOTE_WARNING, ec, "%s: %s is not used: %s",
                           origin_get_source(config, index), key_rows[index].name, why);
}

/* A value that was made of something else than its key. */
static enum err set_text(struct config *config, size_t index, const char *text, const char *source, struct errctx *ec)
{
    struct key_value value = {.text = str_copy(text)};

    if (!value.text)
        return no_memory(ec);
    key_store(&key_rows[index], config, &value);
    return origin_set_source(config, index, source, ec);
}

/* User and password in the URL count where their keys are empty. */
static enum err take_from_url(struct config *config, size_t index, const char *field, const char *from,
                              struct errctx *ec)
{
    return *field || !from ? ERR_OK
                           : set_text(config, index, from, origin_get_source(config, KEY_INDEX_datasource_url), ec);
}

enum err config_take_token(struct config *config, const char *token, const char *source, struct errctx *ec)
{
    return set_text(config, KEY_INDEX_access_token, token, source, ec);
}

/* The token of a data folder counts where none is configured, not even an empty one. */
static enum err find_token(struct config *config, struct errctx *ec)
{
    char path[PATH_MAX];
    char *token = NULL;
    enum err e;

    if (config->origin->sources[KEY_INDEX_access_token])
        return ERR_OK;
    if (snprintf(path, sizeof path, "%s/" CONFIG_TOKEN_FILE, config->data_dir) >= (int)sizeof path)
        return err_set(ec, ERR_INPUT, "the name of the data folder is too long");
    e = tree_read_value(path, &key_rows[KEY_INDEX_access_token], &token, ec);
    if (e == ERR_NOTFOUND)
        return ERR_OK;
    if (!e)
        e = config_take_token(config, token, path, ec);
    free(token);
    return e;
}

static enum err settle_database(struct config *config, struct errctx *ec)
{
    enum err e;

    if (config->data_dir) {
        if (*config->datasource_url)
            return err_set(ec, ERR_INPUT, "%s: %s: standalone --data brings its own database: remove one of the two",
                           origin_get_source(config, KEY_INDEX_datasource_url), "spring.datasource.url");
        e = note_unused(config, KEY_INDEX_datasource_username, "standalone --data brings its own database", ec);
        if (!e)
            e = note_unused(config, KEY_INDEX_datasource_password, "standalone --data brings its own database", ec);
        return e ? e : find_token(config, ec);
    }
    if (!*config->datasource_url && config->command == CONFIG_CTL && config->ctl.verb >= CTL_JOBS)
        return ERR_OK; /* over api/v1 */
    if (!*config->datasource_url)
        return err_set(ec, ERR_INPUT,
                       "spring.datasource.url is not set: set it in a file, as --spring.datasource.url=... or as "
                       "SPRING_DATASOURCE_URL; %s",
                       config->command == CONFIG_CTL
                           ? "for a node that runs as shardwheel standalone --data DIR, use the same --data DIR"
                           : "to try without a database, start as: shardwheel standalone --data DIR");
    e = jdbc_url_parse(config->datasource_url, &config->datasource, ec);
    for (size_t i = 0; !e && i < config->datasource->unknown_count; i++)
        e = origin_add_note(
            config->origin, CONFIG_NOTE_IGNORED, ec, "%s: parameter %s of spring.datasource.url: unknown",
            origin_get_source(config, KEY_INDEX_datasource_url), quote(config->datasource->unknown[i]).s);
    if (!e)
        e = take_from_url(config, KEY_INDEX_datasource_username, config->datasource_username, config->datasource->user,
                          ec);
    if (!e)
        e = take_from_url(config, KEY_INDEX_datasource_password, config->datasource_password,
                          config->datasource->password, ec);
    if (!e && config->datasource->password &&
        !strcmp(origin_get_source(config, KEY_INDEX_datasource_url), "command line"))
        e = origin_add_note(config->origin, CONFIG_NOTE_WARNING, ec,
                            "the password of spring.datasource.url is on the command line, which every user of this "
                            "machine can see: set spring.datasource.password in a file");
    return e;
}

static enum err settle_coordination(struct config *config, bool is_standalone, struct errctx *ec)
{
    bool has_servers = *config->zookeeper_servers;

    if (is_standalone && config->coordination == CONFIG_COORDINATION_ZOOKEEPER)
        return err_set(ec, ERR_INPUT, "%s: shardwheel.coordination: zookeeper conflicts with the command standalone",
                       origin_get_source(config, KEY_INDEX_coordination));
    if (is_standalone)
        config->coordination = CONFIG_COORDINATION_STANDALONE;
    if (config->coordination == CONFIG_COORDINATION_AUTO)
        config->coordination = has_servers ? CONFIG_COORDINATION_ZOOKEEPER : CONFIG_COORDINATION_STANDALONE;
    if (config->coordination == CONFIG_COORDINATION_ZOOKEEPER && !has_servers && config->command == CONFIG_RUN)
        return err_set(ec, ERR_INPUT, "%s: shardwheel.coordination: zookeeper needs shardwheel.zookeeper.servers",
                       origin_get_source(config, KEY_INDEX_coordination));
    if (config->coordination == CONFIG_COORDINATION_STANDALONE && has_servers)
        return note_unused(config, KEY_INDEX_zookeeper_servers, "coordination is standalone", ec);
    return ERR_OK;
}

/* What asks for TLS: asked for without a certificate, it must not become plain HTTP. */
static enum err find_half_tls(const struct config *config, struct errctx *ec)
{
    static const size_t keys[] = {
        KEY_INDEX_ssl_enabled,     KEY_INDEX_ssl_private_key,        KEY_INDEX_ssl_private_key_password,
        KEY_INDEX_ssl_client_auth, KEY_INDEX_ssl_key_store_password, KEY_INDEX_ssl_trust_certificate,
        KEY_INDEX_ssl_trust_store,
    };

    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct buf value = {0};
        if (!config->origin->sources[keys[i]])
            continue;
        key_write_value(&key_rows[keys[i]], config, &value);
        if (buf_failed(&value))
            return no_memory(ec);
        bool asks = value.len && strcmp(value.data, "none") != 0 && strcmp(value.data, "auto") != 0;
        buf_fini(&value);
        if (asks)
            return err_set(ec, ERR_INPUT,
                           "%s: %s needs server.ssl.certificate or server.ssl.key-store; for plain HTTP write "
                           "server.ssl.enabled=false",
                           origin_get_source(config, keys[i]), key_rows[keys[i]].name);
    }
    return ERR_OK;
}

/* The file decides, as it does in Java; only what it cannot be is refused. */
static enum err check_store_type(const struct config *config, size_t index, const char *type, struct errctx *ec)
{
    if (!*type || !strcasecmp(type, "PKCS12") || !strcasecmp(type, "JKS"))
        return ERR_OK;
    return err_set(ec, ERR_INPUT, "%s: %s: got %s, expected PKCS12", origin_get_source(config, index),
                   key_rows[index].name, quote(type).s);
}

static enum err settle_tls(struct config *config, struct errctx *ec)
{
    bool has_trust = *config->ssl_trust_certificate || *config->ssl_trust_store;
    enum err e;

    if (config->ssl_enabled == CONFIG_ENABLED_OFF)
        return ERR_OK;
    config->serves_tls = *config->ssl_certificate || *config->ssl_key_store;
    if (!config->serves_tls)
        return find_half_tls(config, ec);
    if (*config->ssl_certificate && *config->ssl_key_store)
        return err_set(ec, ERR_INPUT,
                       "%s: server.ssl.key-store conflicts with server.ssl.certificate: set only one of them",
                       origin_get_source(config, KEY_INDEX_ssl_key_store));
    if (config->ssl_client_auth != CONFIG_CLIENT_AUTH_NONE && !has_trust)
        return err_set(ec, ERR_INPUT,
                       "%s: server.ssl.client-auth needs server.ssl.trust-certificate or server.ssl.trust-store",
                       origin_get_source(config, KEY_INDEX_ssl_client_auth));
    e = check_store_type(config, KEY_INDEX_ssl_key_store_type, config->ssl_key_store_type, ec);
    if (!e)
        e = check_store_type(config, KEY_INDEX_ssl_trust_store_type, config->ssl_trust_store_type, ec);
    if (!e && config->ssl_client_auth == CONFIG_CLIENT_AUTH_NONE && has_trust)
        e = note_unused(config, *config->ssl_trust_store ? KEY_INDEX_ssl_trust_store : KEY_INDEX_ssl_trust_certificate,
                        "server.ssl.client-auth is none", ec);
    return e;
}

enum err config_settle(struct config *config, bool is_standalone, struct errctx *ec)
{
    enum err e = settle_database(config, ec);

    if (!e)
        e = settle_coordination(config, is_standalone, ec);
    return e ? e : settle_tls(config, ec);
}
