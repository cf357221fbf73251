/* SPDX-License-Identifier: MIT */
#include "config/settle.h"

#include "config/origin.h"

#include "config/tree.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A key that was given but does not count with `--data`. */
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
            return err_set(ec, ERR_INPUT, "%s: %s: standalone --data brings its own database: leave one of the two out",
                           origin_get_source(config, KEY_INDEX_datasource_url), "spring.datasource.url");
        e = note_unused(config, KEY_INDEX_datasource_username, "standalone --data brings its own database", ec);
        if (!e)
            e = note_unused(config, KEY_INDEX_datasource_password, "standalone --data brings its own database", ec);
        return e ? e : find_token(config, ec);
    }
    if (!*config->datasource_url)
        return err_set(ec, ERR_INPUT,
                       "spring.datasource.url is not set: give it in a file, as --spring.datasource.url=... or as "
                       "SPRING_DATASOURCE_URL; to try without a database, start as: shardwheel standalone --data DIR");
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
                            "the password of spring.datasource.url stands on the command line, which every user of "
                            "this machine can see: give spring.datasource.password in a file");
    return e;
}

static enum err settle_coordination(struct config *config, bool is_standalone, struct errctx *ec)
{
    bool has_servers = *config->zookeeper_servers;

    if (is_standalone && config->coordination == CONFIG_COORDINATION_ZOOKEEPER)
        return err_set(ec, ERR_INPUT, "%s: shardwheel.coordination: zookeeper contradicts the command standalone",
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

enum err config_settle(struct config *config, bool is_standalone, struct errctx *ec)
{
    enum err e = settle_database(config, ec);

    return e ? e : settle_coordination(config, is_standalone, ec);
}
