/* SPDX-License-Identifier: MIT */
/* config: makes a config out of everything given: gathers settings, sorts out their keys, takes values, checks
 * the whole. */
#include "shardwheel/config.h"

#include "config/args.h"
#include "config/files.h"
#include "config/key.h"
#include "config/origin.h"
#include "config/original.h"
#include "config/settings.h"
#include "config/settle.h"
#include "shardwheel/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SLIP_DISTANCE 2 /* a key this near to one of ours is a slip of the pen, also where it would be ignored */

void config_destroy(struct config *config)
{
    if (!config)
        return;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        struct key_value none = {0};

        key_store(&key_rows[i], config, &none);
    }
    if (config->origin) {
        for (size_t i = 0; i < KEY_COUNT; i++)
            free(config->origin->sources[i]);
        for (size_t i = 0; i < config->origin->note_count; i++)
            free(config->origin->notes[i].text);
        free(config->origin->notes);
        free(config->origin);
    }
    jdbc_url_destroy(config->datasource);
    free(config->data_dir);
    free(config);
}

/* ---- gathering --------------------------------------------------------------------------------------------- */

/* The row whose name is most like this one; *distance is how far off it is. A name that lacks our prefix is near. */
static const struct key_row *find_nearest(const char *name, size_t *distance)
{
    const struct key_row *best = NULL;

    *distance = SIZE_MAX;
    for (size_t i = 0; i < KEY_COUNT; i++) {
        const char *known = key_rows[i].name;
        size_t d = name_distance(known, name);

        if (!strncmp(known, "shardwheel.", 11) && name_distance(known + 11, name) < d)
            d = name_distance(known + 11, name) + 1;
        if (d < *distance) {
            *distance = d;
            best = &key_rows[i];
        }
    }
    return best;
}

static enum err unknown_key(const char *source, const char *name, struct errctx *ec)
{
    size_t distance;
    const struct key_row *nearest = find_nearest(name, &distance);

    /* What begins with our name is surely meant for us. */
    if (distance <= 3 || distance <= strlen(name) / 5 || !strncasecmp(name, "shardwheel", 10))
        return err_set(ec, ERR_INPUT, "%s: unknown key %s: did you mean %s?", source, quote(name).s, nearest->name);
    return err_set(ec, ERR_INPUT, "%s: unknown key %s; --help-config lists all keys", source, quote(name).s);
}

/* Kubernetes sets such variables in every container for a Service whose name begins with shardwheel; nobody means
 * them. */
static bool is_service_variable(const char *name, size_t len, const char *value)
{
    static const char *const marks[] = {"_SERVICE_HOST", "_SERVICE_PORT", "_PORT_"};

    for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
        const char *mark = memmem(name, len, marks[i], strlen(marks[i]));

        if (mark && (i < 2 || isdigit((unsigned char)mark[strlen(marks[i])])))
            return true;
    }
    return len > 5 && !memcmp(name + len - 5, "_PORT", 5) && strstr(value, "://");
}

static enum err add_variable(const char *variable, struct settings *out, struct errctx *ec)
{
    const char *equals = strchr(variable, '=');
    size_t len = equals ? (size_t)(equals - variable) : 0;
    const struct original_row *original;
    const char *key = NULL;
    char source[100];
    char below[100]; /* the variable as a key: only the beginning of its name is known */

    if (!len)
        return ERR_OK;
    snprintf(source, sizeof(source), "environment %.*s", (int)len, variable);
    for (size_t i = 0; !key && i < KEY_COUNT; i++)
        if (name_is_variable(variable, len, key_rows[i].name))
            key = key_rows[i].name;
    original = key ? NULL : original_find_variable(variable, len);
    if (original && original->name[strlen(original->name) - 1] == '.') {
        snprintf(below, sizeof(below), "%.*s", (int)len, variable);
        for (char *p = below; *p; p++)
            *p = *p == '_' ? '.' : (char)tolower((unsigned char)*p);
        key = below;
    } else if (original) {
        key = original->name;
    }
    if (key)
        return settings_add(out, SETTING_FROM_ENVIRONMENT, source, key, equals + 1, ec);
    if (!strncmp(variable, "SHARDWHEEL_", 11) && !is_service_variable(variable, len, equals + 1))
        return unknown_key("environment", source + strlen("environment "), ec);
    return ERR_OK;
}

static enum err gather(struct args *args, char **envp, struct settings *out, struct config_origin *origin,
                       struct errctx *ec)
{
    struct settings given = {0};
    enum err e = ERR_OK;

    for (char **v = envp; !e && *v; v++)
        e = add_variable(*v, &given, ec);
    if (!e)
        e = settings_append(&given, &args->settings, ec);
    if (!e)
        e = files_load(args, &given, envp, out, origin, ec);
    if (!e)
        e = settings_append(out, &given, ec);
    settings_fini(&given);
    return e;
}

/* ---- values ------------------------------------------------------------------------------------------------ */

static enum err bad_value(const struct key_row *row, const char *name, const char *source, const char *text,
                          const char *reason, struct errctx *ec)
{
    struct buf expected = {0};
    /* A URL may hold a password, and the reason says enough. */
    bool is_shown = !(row->flags & KEY_SECRET) && row->kind != KIND_JDBC;

    key_write_expected(row, &expected);
    buf_puts(&expected, "");
    if (buf_failed(&expected)) {
        buf_fini(&expected);
        return no_memory(ec);
    }
    err_set(ec, ERR_INPUT, "%s: %s: %s%s%s%s%sexpected %s", source, name, is_shown ? "got " : "",
            is_shown ? quote(text).s : "", is_shown ? ", " : "", reason, *reason ? "; " : "", expected.data);
    buf_fini(&expected);
    return ERR_INPUT;
}

static enum err note_replaced(struct config_origin *origin, const struct key_row *row, const char *source,
                              const char *text, struct errctx *ec)
{
    struct buf bounds = {0};
    enum err e;

    key_write_number(row, row->min, &bounds);
    buf_puts(&bounds, " to ");
    key_write_number(row, row->max, &bounds);
    e = buf_failed(&bounds) ? no_memory(ec)
                            : origin_add_note(origin, CONFIG_NOTE_WARNING, ec,
                                              "%s: %s: %s is not within %s: the default, %s%s, is used", source,
                                              row->name, quote(text).s, bounds.data, row->default_text, row->unit);
    buf_fini(&bounds);
    return e;
}

/* The value of `text` goes into the config. `name`: of the key, or the original's that was given for it. */
static enum err take_text(struct config *config, const struct key_row *row, const char *name, const char *source,
                          const char *text, struct errctx *ec)
{
    struct errctx why = {{0}};
    struct key_value value;
    enum err e = key_parse(row, text, &value, &why);

    if (e == ERR_NOMEM)
        return no_memory(ec);
    if (e)
        return bad_value(row, name, source, text, why.text, ec);
    if (!key_is_in_bounds(row, value.number)) {
        if (!(row->flags & KEY_LENIENT))
            return bad_value(row, name, source, text, "", ec);
        e = note_replaced(config->origin, row, source, text, ec);
        if (!e)
            e = key_parse(row, row->default_text, &value, ec);
        if (e)
            return e;
    }
    key_store(row, config, &value);
    return ERR_OK;
}

/* The setting that wins for a key, and the name that it was given by: the key's own, or the original's for the same
 * thing. */
static const struct setting *find_setting(const struct settings *settings, const struct key_row *row, const char **name)
{
    for (size_t i = settings->count; i-- > 0;) {
        const struct original_row *original;

        *name = row->name;
        if (name_is_equal(settings->items[i].name, row->name))
            return &settings->items[i];
        original = original_find(settings->items[i].name);
        if (!original || original->fate != ORIGINAL_ALIAS || strcmp(original->reason, row->name) != 0)
            continue;
        *name = original->name;
        return &settings->items[i];
    }
    return NULL;
}

static enum err take_key(struct config *config, size_t index, const struct settings *settings, char **envp,
                         struct errctx *ec)
{
    const struct key_row *row = &key_rows[index];
    const char *name;
    const struct setting *setting = find_setting(settings, row, &name);
    char *text = NULL;
    enum err e;

    if (!setting) /* the default is there */
        return ERR_OK;
    if (setting->from == SETTING_FROM_TREE) {
        text = str_copy(setting->value);
        e = text ? ERR_OK : no_memory(ec);
    } else {
        e = settings_resolve(settings, envp, setting->value, &text, ec);
    }
    if (e)
        return err_wrap(ec, e, "%s: %s", setting->source, name);
    e = take_text(config, row, name, setting->source, text, ec);
    if (!e && setting->from == SETTING_FROM_ARGUMENT && (row->flags & KEY_SECRET) && *text)
        e = origin_add_note(config->origin, CONFIG_NOTE_WARNING, ec,
                            "%s is on the command line, which every user of this machine can see: set it in a file",
                            row->name);
    free(text);
    return e ? e : origin_set_source(config, index, setting->source, ec);
}

/* With server.ssl.enabled=false all of server.ssl. asks for nothing. */
static bool is_tls_off(const struct settings *settings, char **envp)
{
    static const char *const words[] = {"false", "off", "no", "0"};
    const struct setting *setting = settings_find(settings, "server.ssl.enabled");
    char *text = NULL;
    bool off = false;

    if (!setting || settings_resolve(settings, envp, setting->value, &text, NULL))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        off |= !strcasecmp(text, words[i]);
    free(text);
    return off;
}

static enum err add_key_note(struct config_origin *origin, enum config_note_kind kind, const struct setting *setting,
                             const char *why, struct errctx *ec)
{
    return origin_add_note(origin, kind, ec, "%s (%s): %s", setting->name, setting->source, why);
}

/* A file beside those of ours: it may be somebody else's, or a slip of the pen. */
static enum err note_foreign(struct config_origin *origin, const struct setting *setting, struct errctx *ec)
{
    size_t distance;
    const struct key_row *nearest = find_nearest(setting->name, &distance);

    if (distance <= 3 || !strncasecmp(setting->name, "shardwheel", 10))
        return origin_add_note(origin, CONFIG_NOTE_WARNING, ec, "%s is not used: %s is not a key: did you mean %s?",
                               setting->source, quote(setting->name).s, nearest->name);
    return origin_add_note(origin, CONFIG_NOTE_WARNING, ec, "%s is not used: %s is not a key", setting->source,
                           quote(setting->name).s);
}

/* One that has no row in the table of keys, after all values were taken: so keys which only placeholders name are
 * known. */
static enum err check_other(const struct setting *setting, const struct settings *settings, char **envp,
                            struct config_origin *origin, struct errctx *ec)
{
    const struct original_row *original = original_find(setting->name);
    size_t distance;

    if (setting->from == SETTING_FROM_TREE && (!original || original->fate == ORIGINAL_LOADER))
        return setting->used ? ERR_OK : note_foreign(origin, setting, ec);
    if (!original)
        return setting->used ? ERR_OK : unknown_key(setting->source, setting->name, ec);
    switch (original->fate) {
    case ORIGINAL_ALIAS: return ERR_OK;
    case ORIGINAL_LOADER:
        if (setting->from != SETTING_FROM_FILE || name_is_equal(setting->name, "spring.profiles.active") ||
            name_is_equal(setting->name, "spring.config.import"))
            return ERR_OK;
        return add_key_note(origin, CONFIG_NOTE_WARNING, setting,
                            "not used: it has an effect only on the command line and in the environment", ec);
    case ORIGINAL_REFUSED:
        if (str_is_blank(setting->value))
            return add_key_note(origin, CONFIG_NOTE_IGNORED, setting, "empty: as if not set", ec);
        if (name_is_equal(original->name, "server.ssl.") && is_tls_off(settings, envp))
            return add_key_note(origin, CONFIG_NOTE_IGNORED, setting, "server.ssl.enabled is false", ec);
        return err_set(ec, ERR_INPUT, "%s: %s is not supported here: %s", setting->source, quote(setting->name).s,
                       original->reason);
    case ORIGINAL_WARNED: return add_key_note(origin, CONFIG_NOTE_WARNING, setting, original->reason, ec);
    case ORIGINAL_PRESUMED:
        if (setting->used)
            return ERR_OK;
        find_nearest(setting->name, &distance);
        if (distance <= SLIP_DISTANCE)
            return unknown_key(setting->source, setting->name, ec);
        return add_key_note(origin, CONFIG_NOTE_IGNORED, setting, original->reason, ec);
    case ORIGINAL_IGNORED:
        return setting->used ? ERR_OK : add_key_note(origin, CONFIG_NOTE_IGNORED, setting, original->reason, ec);
    }
    return ERR_OK;
}

/* Each key once, where it was given last. */
static enum err check_keys(const struct settings *settings, char **envp, struct config_origin *origin,
                           struct errctx *ec)
{
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < settings->count; i++) {
        const struct setting *setting = &settings->items[i];

        if (settings_find(settings, setting->name) == setting && !key_find(setting->name))
            e = check_other(setting, settings, envp, origin, ec);
    }
    return e;
}

/* ---- the whole --------------------------------------------------------------------------------------------- */

static enum err create_with_defaults(const struct args *args, struct config **out, struct errctx *ec)
{
    struct config *config = calloc(1, sizeof *config);
    enum err e = ERR_OK;

    if (!config)
        return no_memory(ec);
    config->command = args->command;
    config->help_format = args->help_format;
    config->is_ctl = args->is_ctl;
    config->ctl = args->ctl;
    config->origin = calloc(1, sizeof *config->origin);
    config->data_dir = str_copy(args->data_dir);
    if (!config->origin || (args->data_dir && !config->data_dir))
        e = no_memory(ec);
    for (size_t i = 0; !e && i < KEY_COUNT; i++)
        e = take_text(config, &key_rows[i], key_rows[i].name, "default", key_rows[i].default_text, ec);
    if (e) {
        config_destroy(config);
        return e;
    }
    *out = config;
    return ERR_OK;
}

static enum err fill(struct config *config, struct args *args, char **envp, struct errctx *ec)
{
    struct settings settings = {0};
    enum err e = gather(args, envp, &settings, config->origin, ec);

    for (size_t i = 0; !e && i < KEY_COUNT; i++)
        e = take_key(config, i, &settings, envp, ec);
    if (!e)
        e = check_keys(&settings, envp, config->origin, ec);
    if (!e)
        e = config_settle(config, args->is_standalone, ec);
    settings_fini(&settings);
    return e;
}

enum err config_load(int argc, char **argv, char **envp, struct config **out, struct errctx *ec)
{
    struct args args = {0};
    struct config *config = NULL;
    enum err e = args_parse(argc, argv, &args, ec);

    if (!e)
        e = create_with_defaults(&args, &config, ec);
    if (!e && (args.command == CONFIG_RUN || args.command == CONFIG_INSTALL_SCHEMA || args.command == CONFIG_CTL))
        e = fill(config, &args, envp, ec);
    args_fini(&args);
    if (e) {
        config_destroy(config);
        return e;
    }
    *out = config;
    return ERR_OK;
}
