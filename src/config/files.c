/* SPDX-License-Identifier: MIT */
#include "config/files.h"

#include "config/properties.h"
#include "config/tree.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE (1024 * 1024)
#define MAX_FOLDERS 16

struct finder {
    struct settings *out;
    char **envp;
    const char *source; /* of the list that is gone through */
    struct config_origin *origin;
    char *folders[MAX_FOLDERS]; /* each with a slash at its end; searched again for profiles */
    size_t folder_count;
};

struct sink_arg {
    struct settings *out;
    const char *path;
};

static enum err add_pair(void *arg, const char *key, const char *value, int line, struct errctx *ec)
{
    struct sink_arg *sink = arg;
    struct buf source = {0};
    enum err e;

    buf_printf(&source, "%s:%d", sink->path, line);
    e = buf_failed(&source) ? no_memory(ec) : settings_add(sink->out, SETTING_FROM_FILE, source.data, key, value, ec);
    buf_fini(&source);
    return e;
}

/* Calls `each` for the parts of a list that the value of the setting holds, placeholders replaced. */
static enum err each_part(struct finder *f, const struct settings *given, const struct setting *setting,
                          enum err (*each)(struct finder *f, char *item, struct errctx *ec), struct errctx *ec)
{
    const char *source = setting->source; /* stays where it is when `each` adds settings; the setting itself may move */
    const char *name = setting->name;
    char *text = NULL;
    enum err e = settings_resolve(given, f->envp, setting->value, &text, ec);
    char *next = text;
    char *item;

    f->source = source;
    while (!e && (item = strsep(&next, ",;")))
        e = each(f, item, ec);
    free(text);
    return e ? err_wrap(ec, e, "%s: %s", source, name) : ERR_OK;
}

static char *trim(char *item)
{
    item += strspn(item, " \t");
    for (char *end = item + strlen(item); end > item && isspace((unsigned char)end[-1]);)
        *--end = 0;
    return item;
}

static bool take_prefix(char **item, const char *prefix)
{
    bool has = !strncmp(*item, prefix, strlen(prefix));

    if (has)
        *item += strlen(prefix);
    return has;
}

/* One item of spring.config.import. */
static enum err import(struct finder *f, char *item, struct errctx *ec)
{
    bool is_optional;
    enum err e;

    item = trim(item);
    is_optional = take_prefix(&item, "optional:");
    if (!*item)
        return ERR_OK;
    if (!take_prefix(&item, "configtree:"))
        return origin_add_note(
            f->origin, CONFIG_NOTE_WARNING, ec,
            "spring.config.import (%s): %s is not imported: only configtree:/DIR/ is; name files with "
            "--config or spring.config.additional-location",
            f->source, quote(item).s);
    if (!*item || strchr(item, '*'))
        return err_set(ec, ERR_INPUT, "configtree:%s: a folder without * is expected", quote(item).s);
    e = tree_load(item, TREE_ASKED, f->out, f->origin, ec);
    return e == ERR_NOTFOUND && is_optional ? ERR_OK : e;
}

/* What a file imports counts after it, and before the next file. */
static enum err import_of_file(struct finder *f, size_t first, struct errctx *ec)
{
    for (size_t i = f->out->count; i-- > first;)
        if (name_is_equal(f->out->items[i].name, "spring.config.import"))
            return each_part(f, f->out, &f->out->items[i], import, ec);
    return ERR_OK;
}

static enum err read_file(struct finder *f, const char *path, struct errctx *ec)
{
    size_t first = f->out->count;
    struct sink_arg arg = {.out = f->out, .path = path};
    struct properties_sink sink = {.add = add_pair, .arg = &arg};
    struct buf text = {0};
    enum err e = file_read(path, 0, MAX_FILE, &text, ec);

    if (e && e != ERR_NOMEM)
        err_wrap(ec, e, "%s", path);
    if (!e && text.len > MAX_FILE)
        e = err_set(ec, ERR_INPUT, "%s: more than %d bytes: this is not a properties file", path, MAX_FILE);
    if (!e)
        e = properties_parse(path, text.data, text.len, &sink, ec);
    buf_fini(&text);
    return e ? e : import_of_file(f, first, ec);
}

/* FOLDER/application[-PROFILE].properties; *found tells whether there is one. */
static enum err read_in_folder(struct finder *f, const char *folder, const char *profile, bool *found,
                               struct errctx *ec)
{
    struct buf path = {0};
    enum err e;

    buf_printf(&path, "%sapplication%s%s.properties", folder, *profile ? "-" : "", profile);
    e = buf_failed(&path) ? no_memory(ec) : read_file(f, path.data, ec);
    *found = e != ERR_NOTFOUND;
    buf_fini(&path);
    return e == ERR_NOTFOUND ? ERR_OK : e;
}

/* A YAML file in its place would be read by the original: say that it is not. */
static enum err note_yaml(struct finder *f, const char *folder, struct errctx *ec)
{
    static const char *const names[] = {"application.yml", "application.yaml"};
    enum err e = ERR_OK;

    for (size_t i = 0; !e && i < ARRAY_LEN(names); i++) {
        struct buf path = {0};

        buf_printf(&path, "%s%s", folder, names[i]);
        if (buf_failed(&path))
            e = no_memory(ec);
        else if (!access(path.data, F_OK))
            e = origin_add_note(f->origin, CONFIG_NOTE_WARNING, ec,
                                "%s is not read: write its keys as application.properties", path.data);
        buf_fini(&path);
    }
    return e;
}

static enum err read_folder(struct finder *f, const char *path, struct errctx *ec)
{
    struct buf folder = {0};
    bool found = false;
    enum err e;

    if (f->folder_count == MAX_FOLDERS)
        return err_set(ec, ERR_INPUT, "%s: more than %d folders to search", path, MAX_FOLDERS);
    buf_printf(&folder, "%s%s", path, path[strlen(path) - 1] == '/' ? "" : "/");
    f->folders[f->folder_count] = buf_take(&folder);
    if (!f->folders[f->folder_count])
        return no_memory(ec);
    path = f->folders[f->folder_count++];
    e = read_in_folder(f, path, "", &found, ec);
    return e || found ? e : note_yaml(f, path, ec);
}

/* A file or folder that may be missing only if it says so. */
static enum err read_place(struct finder *f, const char *path, bool is_optional, struct errctx *ec)
{
    const char *dot = strrchr(path, '.');
    struct stat st;
    enum err e;

    if (dot && (!strcasecmp(dot, ".yml") || !strcasecmp(dot, ".yaml")))
        return err_set(ec, ERR_INPUT, "%s: YAML is not read: write its keys as a properties file", path);
    if (!stat(path, &st) && S_ISDIR(st.st_mode))
        return read_folder(f, path, ec);
    e = read_file(f, path, ec);
    return e == ERR_NOTFOUND && is_optional ? ERR_OK : e;
}

/* One item of spring.config.location, as Spring writes it. */
static enum err read_location(struct finder *f, char *item, struct errctx *ec)
{
    bool is_optional;

    item = trim(item);
    is_optional = take_prefix(&item, "optional:");
    if (!strncmp(item, "classpath:", 10) || !strncmp(item, "classpath*:", 11))
        return origin_add_note(f->origin, CONFIG_NOTE_WARNING, ec, "%s: not read: there is no class path", item);
    if (!strncmp(item, "file:", 5)) {
        item += 5;
        if (!strncmp(item, "//", 2))
            item += 2;
    }
    return *item ? read_place(f, item, is_optional, ec) : ERR_OK;
}

/* ... that the setting of this name holds, if there is one. */
static enum err each_item(struct finder *f, const struct settings *given, const char *name,
                          enum err (*each)(struct finder *f, char *item, struct errctx *ec), struct errctx *ec)
{
    const struct setting *setting = settings_find(given, name);

    return setting ? each_part(f, given, setting, each, ec) : ERR_OK;
}

static enum err read_profile(struct finder *f, char *profile, struct errctx *ec)
{
    bool found_any = false;

    profile += strspn(profile, " \t");
    profile[strcspn(profile, " \t")] = 0;
    if (!*profile)
        return ERR_OK;
    if (strchr(profile, '/'))
        return err_set(ec, ERR_INPUT, "%s is not the name of a profile", quote(profile).s);
    for (size_t i = 0; i < f->folder_count; i++) {
        bool found;
        enum err e = read_in_folder(f, f->folders[i], profile, &found, ec);

        if (e)
            return e;
        found_any |= found;
    }
    if (found_any)
        return ERR_OK;
    return origin_add_note(f->origin, CONFIG_NOTE_WARNING, ec, "profile %s: there is no application-%s.properties",
                           profile, profile);
}

/* The profile may be named in a file too, where environment and arguments do not. */
static enum err read_profiles(struct finder *f, const struct settings *given, struct errctx *ec)
{
    static const char name[] = "spring.profiles.active";

    return each_item(f, settings_find(given, name) ? given : f->out, name, read_profile, ec);
}

/* ---- secrets ----------------------------------------------------------------------------------------------- */

/* Of the packages: /etc/shardwheel/secrets, which systemd hands to the node. Whoever starts the program by hand, and
 * shardwheelctl, has it from there. */
static enum err read_beside(struct finder *f, const char *file, struct errctx *ec)
{
    const char *slash = strrchr(file, '/');
    struct buf path = {0};
    struct stat st;
    enum err e;

    if (!stat(file, &st) && S_ISDIR(st.st_mode))
        buf_printf(&path, "%s/secrets", file);
    else
        buf_printf(&path, "%.*ssecrets", slash ? (int)(slash - file + 1) : 0, file);
    e = buf_failed(&path) ? no_memory(ec) : tree_load(path.data, TREE_BESIDE, f->out, f->origin, ec);
    buf_fini(&path);
    return e == ERR_NOTFOUND ? ERR_OK : e;
}

static enum err read_secrets(struct finder *f, const struct args *args, struct errctx *ec)
{
    static const char variable[] = "CREDENTIALS_DIRECTORY=";
    const char *folder = NULL;
    enum err e = ERR_OK;

    for (char **v = f->envp; *v && !folder; v++)
        if (!strncmp(*v, variable, sizeof variable - 1) && (*v)[sizeof variable - 1])
            folder = *v + sizeof variable - 1;
    for (size_t i = 0; !e && !folder && i < args->file_count; i++)
        e = read_beside(f, args->files[i], ec);
    if (!folder)
        return e;
    e = tree_load(folder, TREE_CREDENTIALS, f->out, f->origin, ec);
    return e == ERR_NOTFOUND ? ERR_OK : e ? err_wrap(ec, e, "CREDENTIALS_DIRECTORY") : ERR_OK;
}

enum err files_load(const struct args *args, const struct settings *given, char **envp, struct settings *out,
                    struct config_origin *origin, struct errctx *ec)
{
    struct finder f = {.out = out, .origin = origin, .envp = envp};
    enum err e = ERR_OK;

    if (!args->file_count && !settings_find(given, "spring.config.location")) {
        e = read_folder(&f, "./", ec);
        if (!e)
            e = read_folder(&f, "./config/", ec);
    }
    if (!e)
        e = each_item(&f, given, "spring.config.location", read_location, ec);
    for (size_t i = 0; !e && i < args->file_count; i++)
        e = read_place(&f, args->files[i], false, ec);
    if (!e)
        e = each_item(&f, given, "spring.config.additional-location", read_location, ec);
    if (!e)
        e = read_profiles(&f, given, ec);
    if (!e)
        e = read_secrets(&f, args, ec);
    if (!e)
        e = each_item(&f, given, "spring.config.import", import, ec);
    for (size_t i = 0; i < f.folder_count; i++)
        free(f.folders[i]);
    return e;
}
