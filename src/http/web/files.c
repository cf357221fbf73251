/* SPDX-License-Identifier: MIT */
#include "http/web/files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct web {
    struct web_file *files; /* by path */
    size_t count;
    size_t bytes;
};

/* ---- where it is ------------------------------------------------------------------------------------------------- */

static bool is_there(const struct buf *dir)
{
    return !buf_failed(dir) && access(dir->data, F_OK) == 0;
}

/* Length of the path without its last part; 0: it has one part only. */
static size_t cut_last(const char *path, size_t len)
{
    while (len && path[len - 1] != '/')
        len--;
    while (len > 1 && path[len - 1] == '/')
        len--;
    return len;
}

static bool ends_with(const char *text, size_t len, const char *end)
{
    size_t n = strlen(end);

    return len >= n && !memcmp(text + len - n, end, n);
}

bool web_find_dir(const char *configured, const char *program, struct buf *out)
{
    size_t folder = cut_last(program, strlen(program)), above = cut_last(program, folder);

    buf_clear(out);
    if (configured && *configured) {
        buf_puts(out, configured);
        return true;
    }
    buf_printf(out, "%.*s/share/shardwheel/web", (int)above, program);
    if (is_there(out))
        return true;
    buf_clear(out);
    if (ends_with(program, above, "/build"))
        buf_printf(out, "%.*s/web", (int)above, program);
    return out->len && is_there(out);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static const char *find_type(const char *path)
{
    static const struct {
        const char *end, *type;
    } types[] = {
        {".html", "text/html; charset=utf-8"},
        {".js", "text/javascript; charset=utf-8"},
        {".mjs", "text/javascript; charset=utf-8"},
        {".css", "text/css; charset=utf-8"},
        {".txt", "text/plain; charset=utf-8"},
        {".json", "application/json"},
        {".map", "application/json"},
        {".webmanifest", "application/manifest+json"},
        {".svg", "image/svg+xml"},
        {".png", "image/png"},
        {".jpg", "image/jpeg"},
        {".webp", "image/webp"},
        {".ico", "image/x-icon"},
        {".woff2", "font/woff2"},
        {".wasm", "application/wasm"},
    };

    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        if (ends_with(path, strlen(path), types[i].end))
            return types[i].type;
    }
    return "application/octet-stream";
}

/* `fd` is the file's, and stays open. */
static enum err read_file(struct web *web, int fd, const char *path, struct errctx *ec)
{
    struct web_file *file = &web->files[web->count];
    enum err e;

    if (web->count == WEB_FILES_MAX)
        return err_set(ec, ERR_INPUT, "there are more than %d files", WEB_FILES_MAX);
    *file = (struct web_file){.path = str_copy(path), .content_type = find_type(path)};
    web->count++;
    e = file->path ? file_read_rest(fd, WEB_BYTES_MAX, &file->bytes, ec) : ERR_NOMEM;
    web->bytes += file->bytes.len;
    if (e == ERR_IO)
        return err_wrap(ec, e, "cannot read %s", path);
    if (e == ERR_NOMEM)
        return err_set(ec, e, "out of memory for %s", path);
    if (web->bytes > WEB_BYTES_MAX)
        return err_set(ec, ERR_INPUT, "the files are larger than %zu MiB in total", WEB_BYTES_MAX >> 20);
    md5_hex(file->bytes.len ? file->bytes.data : "", file->bytes.len, file->digest);
    return ERR_OK;
}

static enum err read_folder(struct web *web, int fd, struct buf *path, int depth, struct errctx *ec);

/* A file, or a folder with all that is in it; what is neither is passed by. `path` is as before afterwards. */
static enum err read_entry(struct web *web, int folder, const char *name, struct buf *path, int depth,
                           struct errctx *ec)
{
    size_t len = path->len;
    struct stat st;
    enum err e = ERR_OK;

    buf_printf(path, "%s%s", len ? "/" : "", name);
    if (buf_failed(path))
        return err_set(ec, ERR_NOMEM, "out of memory for %s", name);
    int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &st))
        e = err_set(ec, ERR_IO, "cannot read %s: %s", path->data, strerror(errno));
    else if (S_ISREG(st.st_mode))
        e = read_file(web, fd, path->data, ec);
    else if (S_ISDIR(st.st_mode))
        e = read_folder(web, fd, path, depth + 1, ec);
    if (fd >= 0)
        close(fd);
    path->len = len;
    path->data[len] = '\0';
    return e;
}

static enum err read_folder(struct web *web, int fd, struct buf *path, int depth, struct errctx *ec)
{
    struct dirent *entry;
    enum err e = ERR_OK;

    if (depth > WEB_DEPTH_MAX)
        return err_set(ec, ERR_INPUT, "%s is more than %d folders deep", path->data, WEB_DEPTH_MAX);
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    DIR *dir = own >= 0 ? fdopendir(own) : NULL;
    if (!dir) {
        e = err_set(ec, ERR_IO, "cannot read the folder %s: %s", path->len ? path->data : ".", strerror(errno));
        if (own >= 0)
            close(own);
        return e;
    }
    while (!e && (errno = 0, entry = readdir(dir))) {
        if (*entry->d_name != '.')
            e = read_entry(web, fd, entry->d_name, path, depth, ec);
    }
    if (!e && errno)
        e = err_set(ec, ERR_IO, "cannot read the folder %s: %s", path->len ? path->data : ".", strerror(errno));
    closedir(dir);
    return e;
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

struct path {
    const char *text;
    size_t len;
};

static int compare_path(const void *key, const void *file)
{
    const struct path *path = key;
    const char *other = ((const struct web_file *)file)->path;
    int order = strncmp(path->text, other, path->len);

    return order ? order : other[path->len] ? -1 : 0;
}

static struct web_file *find(const struct web *web, const char *path, size_t len)
{
    struct path key = {path, len};

    return web->count ? bsearch(&key, web->files, web->count, sizeof *web->files, compare_path) : NULL;
}

static void fini_file(struct web_file *file)
{
    free(file->path);
    buf_fini(&file->bytes);
    buf_fini(&file->gzip);
    *file = (struct web_file){0};
}

/* Gives each NAME.gz to its NAME. */
static void join_twins(struct web *web)
{
    size_t kept = 0;

    for (size_t i = 0; i < web->count; i++) {
        struct web_file *small = &web->files[i];
        size_t len = strlen(small->path);
        struct web_file *plain = ends_with(small->path, len, ".gz") ? find(web, small->path, len - 3) : NULL;
        if (!plain)
            continue;
        if (small->bytes.len < plain->bytes.len) {
            plain->gzip = small->bytes;
            small->bytes = (struct buf){0};
        }
        small->content_type = NULL; /* it has no place of its own */
    }
    for (size_t i = 0; i < web->count; i++) {
        if (web->files[i].content_type)
            web->files[kept++] = web->files[i];
        else
            fini_file(&web->files[i]);
    }
    web->count = kept;
}

/* ---- the whole --------------------------------------------------------------------------------------------------- */

static enum err read_dir(struct web *web, const char *dir, struct errctx *ec)
{
    struct buf path = {0};
    int fd = open(dir, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    enum err e = ERR_OK;

    buf_append(&path, "", 0);
    if (fd < 0)
        e = err_set(ec, ERR_IO, "cannot read the folder: %s", strerror(errno));
    else if (buf_failed(&path))
        e = err_set(ec, ERR_NOMEM, "out of memory");
    else
        e = read_folder(web, fd, &path, 1, ec);
    if (fd >= 0)
        close(fd);
    buf_fini(&path);
    return e;
}

/* Without the first the page's links lead astray; without the second nothing of its styles is shown. */
static enum err check_index(const struct web *web, struct errctx *ec)
{
    const struct web_file *index = web_find_file(web, WEB_INDEX);

    if (!index)
        return err_set(ec, ERR_INPUT, "there is no " WEB_INDEX " in it");
    if (!index->bytes.len || !strstr(index->bytes.data, "%BASE%") || !strstr(index->bytes.data, "%NONCE%"))
        return err_set(ec, ERR_INPUT, WEB_INDEX " is not that of a console: it has no %%BASE%% or no %%NONCE%%");
    return ERR_OK;
}

enum err web_load(const char *dir, struct web **out, struct errctx *ec)
{
    struct web *web = calloc(1, sizeof *web);
    enum err e;

    if (web)
        web->files = calloc(WEB_FILES_MAX, sizeof *web->files);
    if (!web || !web->files) {
        web_destroy(web);
        return err_set(ec, ERR_NOMEM, "out of memory for the console");
    }
    e = read_dir(web, dir, ec);
    if (!e) {
        qsort(web->files, web->count, sizeof *web->files, compare_texts);
        join_twins(web);
        e = check_index(web, ec);
    }
    if (e) {
        web_destroy(web);
        return e;
    }
    *out = web;
    return ERR_OK;
}

void web_destroy(struct web *web)
{
    if (!web)
        return;
    for (size_t i = 0; i < web->count; i++)
        fini_file(&web->files[i]);
    free(web->files);
    free(web);
}

const struct web_file *web_find_file(const struct web *web, const char *path)
{
    return web ? find(web, path, strlen(path)) : NULL;
}

size_t web_count_files(const struct web *web)
{
    return web->count;
}

size_t web_count_bytes(const struct web *web)
{
    return web->bytes;
}
