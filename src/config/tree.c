/* SPDX-License-Identifier: MIT */
#include "config/tree.h"

#include "config/key.h"
#include "config/original.h"
#include "shardwheel/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_VALUE (64 * 1024)
#define MAX_ENTRIES 1000 /* of one folder */
#define MAX_DEPTH 4
#define CREDENTIAL_PREFIX "shardwheel_" /* the id that the units give the folder of secrets */

struct tree {
    enum tree_kind kind;
    struct settings *out;
    struct config_origin *origin;
};

/* A file to be read, or passed over. */
struct leaf {
    const char *path;
    const char *key;
    const struct key_row *row; /* NULL: none of ours, at least not under its own name */
    bool ours;
    bool folder_is_open; /* others may come into its folder */
};

static bool is_alias(const char *name)
{
    const struct original_row *original = original_find(name);

    return original && original->fate == ORIGINAL_ALIAS;
}

/* ---- one file ---------------------------------------------------------------------------------------------- */

/* What is wrong with it stops the start where it is a key of ours; others may keep there what they like. */
static enum err at_fault(struct tree *t, const struct leaf *leaf, enum err e, const char *what, struct errctx *ec)
{
    if (e == ERR_IO && t->kind == TREE_BESIDE && leaf->ours)
        return origin_add_note(t->origin, CONFIG_NOTE_UNREADABLE, ec, "%s: %s", leaf->path, what);
    if (leaf->ours)
        return err_set(ec, e, "%s: %s", leaf->path, what);
    return origin_add_note(t->origin, CONFIG_NOTE_WARNING, ec, "%s is ignored: %s", leaf->path, what);
}

/* What is wrong with a value, or NULL. */
static const char *find_fault(const struct key_row *row, const struct buf *value)
{
    if (value->len > MAX_VALUE)
        return "more than 65536 bytes: this is not the value of a key";
    if (memchr(value->data, 0, value->len))
        return "a NUL byte: this is not text";
    if (!utf8_is_valid(value->data, value->len))
        return "it is not UTF-8";
    if (row && !(row->flags & KEY_LINES) && memchr(value->data, '\n', value->len))
        return "several lines: the value of this key is one line";
    return NULL;
}

static void strip_end_of_line(struct buf *value)
{
    if (!value->len || value->data[value->len - 1] != '\n')
        return;
    value->data[--value->len] = 0;
    if (value->len && value->data[value->len - 1] == '\r')
        value->data[--value->len] = 0;
}

/* Without the end of line at its end. ERR_INPUT: what is wrong with it. */
static enum err load_value(const char *path, const struct key_row *row, struct buf *out, struct errctx *ec)
{
    enum err e = file_read(path, O_NONBLOCK, MAX_VALUE, out, ec);
    const char *fault;

    if (e)
        return e;
    strip_end_of_line(out);
    fault = find_fault(row, out);
    return fault ? err_set(ec, ERR_INPUT, "%s", fault) : ERR_OK;
}

enum err tree_read_value(const char *path, const struct key_row *row, char **out, struct errctx *ec)
{
    struct buf value = {0};
    enum err e = load_value(path, row, &value, ec);

    if (e)
        err_wrap(ec, e, "%s", path);
    else
        *out = buf_take(&value);
    buf_fini(&value);
    return e;
}

/* Docker and Kubernetes leave what they mount readable to all, in a container where nobody else is. Rights of a group
 * are how a file is given to the node's user. */
static enum err check_mode(struct tree *t, const struct leaf *leaf, const struct stat *st, struct errctx *ec)
{
    if (!leaf->row || !(leaf->row->flags & KEY_SECRET) || !(st->st_mode & S_IROTH) || !leaf->folder_is_open)
        return ERR_OK;
    if (!strncmp(leaf->path, "/run/secrets/", 13) || !strncmp(leaf->path, "/var/run/secrets/", 17))
        return ERR_OK;
    return origin_add_note(t->origin, CONFIG_NOTE_WARNING, ec,
                           "%s: every user of this machine can read it: use chmod o= to prevent this", leaf->path);
}

static enum err take_leaf(struct tree *t, const struct leaf *leaf, const struct stat *st, struct errctx *ec)
{
    struct buf value = {0};
    struct errctx why = {{0}};
    enum err e = load_value(leaf->path, leaf->row, &value, &why);

    if (!e) {
        e = settings_add(t->out, SETTING_FROM_TREE, leaf->path, leaf->key, value.data, ec);
        if (!e)
            e = check_mode(t, leaf, st, ec);
    } else if (e == ERR_NOMEM) {
        e = no_memory(ec);
    } else {
        if (e != ERR_INPUT && leaf->ours)
            err_wrap(&why, e, "this user cannot read it; use root, or the user of the node");
        e = at_fault(t, leaf, e == ERR_INPUT ? e : ERR_IO, why.text, ec);
    }
    if (value.data)
        explicit_bzero(value.data, value.len);
    buf_fini(&value);
    return e;
}

/* ---- folders ----------------------------------------------------------------------------------------------- */

static enum err read_folder(struct tree *t, const char *path, const char *prefix, int depth, struct errctx *ec);

/* The key that a file stands for; NULL: it is none of our business. */
static const char *find_key(const struct tree *t, const char *name)
{
    size_t len = strlen(CREDENTIAL_PREFIX);

    if (t->kind != TREE_CREDENTIALS)
        return name;
    if (!strncmp(name, CREDENTIAL_PREFIX, len))
        return name + len;
    return key_find(name) || is_alias(name) ? name : NULL;
}

static enum err read_entry(struct tree *t, const char *folder, const char *name, const char *prefix, bool is_open,
                           int depth, struct errctx *ec)
{
    struct leaf leaf = {.folder_is_open = is_open};
    struct buf path = {0}, key = {0};
    const char *own = find_key(t, name);
    struct stat st;
    enum err e = ERR_OK;

    if (name[0] == '.' || !own || !*own)
        return ERR_OK;
    buf_printf(&path, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);
    buf_printf(&key, "%s%s", prefix, own);
    if (buf_failed(&path) || buf_failed(&key)) {
        e = no_memory(ec);
        goto out;
    }
    leaf.path = path.data;
    leaf.key = key.data;
    leaf.row = key_find(key.data);
    leaf.ours = leaf.row || is_alias(key.data);
    if (stat(path.data, &st) != 0) {
        e = errno == ENOENT ? ERR_OK : at_fault(t, &leaf, ERR_IO, strerror(errno), ec);
    } else if (S_ISREG(st.st_mode)) {
        e = take_leaf(t, &leaf, &st, ec);
    } else if (S_ISDIR(st.st_mode) && t->kind == TREE_ASKED && depth < MAX_DEPTH) {
        buf_putc(&key, '.');
        e = buf_failed(&key) ? no_memory(ec) : read_folder(t, path.data, key.data, depth + 1, ec);
    }
out:
    buf_fini(&path);
    buf_fini(&key);
    return e;
}

static int skip_dots(const struct dirent *entry)
{
    return entry->d_name[0] != '.' || !strcmp(entry->d_name, "..data");
}

static enum err open_fault(struct tree *t, const char *path, bool is_top, struct errctx *ec)
{
    struct errctx why = {{0}};

    if (errno == ENOENT || errno == ENOTDIR)
        return err_set(ec, ERR_NOTFOUND, "%s: %s", path,
                       errno == ENOENT ? "there is no such folder" : "is not a folder");
    err_set(&why, ERR_IO, "%s: %s: passwords and tokens in it are missing; use root, or the user of the node", path,
            strerror(errno));
    if (!is_top)
        return origin_add_note(t->origin, CONFIG_NOTE_WARNING, ec, "%s: %s: ignored", path, strerror(errno));
    if (t->kind == TREE_ASKED)
        return err_set(ec, ERR_IO, "%s", why.text);
    return origin_add_note(t->origin, CONFIG_NOTE_UNREADABLE, ec, "%s", why.text);
}

/* In the order of their names, so that the same folder says the same each time. */
static enum err read_folder(struct tree *t, const char *path, const char *prefix, int depth, struct errctx *ec)
{
    struct dirent **entries = NULL;
    struct stat st;
    int count = scandir(path, &entries, skip_dots, alphasort);
    bool is_open = true;
    enum err e = ERR_OK;

    if (count < 0)
        return open_fault(t, path, depth == 0, ec);
    if (stat(path, &st) == 0)
        is_open = st.st_mode & S_IXOTH;
    for (int i = 0; i < count; i++)
        is_open = is_open && strcmp(entries[i]->d_name, "..data") != 0; /* of Kubernetes */
    if (count > MAX_ENTRIES)
        e = err_set(ec, ERR_INPUT, "%s: more than %d files: this is not a folder of keys", path, MAX_ENTRIES);
    for (int i = 0; i < count; i++) {
        if (!e)
            e = read_entry(t, path, entries[i]->d_name, prefix, is_open, depth, ec);
        free(entries[i]);
    }
    free(entries);
    return e;
}

enum err tree_load(const char *path, enum tree_kind kind, struct settings *out, struct config_origin *origin,
                   struct errctx *ec)
{
    struct tree t = {.kind = kind, .out = out, .origin = origin};

    return read_folder(&t, path, "", 0, ec);
}
