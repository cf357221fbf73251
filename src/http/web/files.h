/* SPDX-License-Identifier: MIT */
/*
 * files: the console as tools/web has built it, in memory: read once at start, so that no request waits for a disk and
 * none can name a file that was not read.
 *
 * Threads     Nothing changes after web_load: any thread reads.
 * Bounds      WEB_FILES_MAX files in WEB_DEPTH_MAX folders below each other, WEB_BYTES_MAX bytes together. Names that
 *             begin with a dot are passed by.
 * Compressed  NAME.gz beside NAME is what NAME is to clients that take gzip, and no file of its own.
 */
#ifndef HTTP_WEB_FILES_H
#define HTTP_WEB_FILES_H

#include "shardwheel/base.h"

#define WEB_FILES_MAX 2000
#define WEB_DEPTH_MAX 4
#define WEB_BYTES_MAX ((size_t)64 << 20)
#define WEB_INDEX "index.html"

struct web;

struct web_file {
    char *path;               /* below the folder: "assets/index-B4x.js" */
    const char *content_type; /* a literal */
    struct buf bytes;
    struct buf gzip; /* empty where there is none, or where it is no smaller */
    char digest[33]; /* of the bytes */
};

/* Where the built console is: the folder that is configured; else ../share/shardwheel/web beside the folder of the
 * program, where `cmake --install` puts it; else build/web for a program in a folder of build. False: nowhere. The text
 * is appended. */
bool web_find_dir(const char *configured, const char *program, struct buf *out);
/* ERR_INPUT for what is no built console, ERR_IO for what cannot be read: the text names the file. */
MUST_CHECK enum err web_load(const char *dir, struct web **out, struct errctx *ec);
void web_destroy(struct web *web); /* NULL is fine */
/* NULL: there is none; also where `web` is NULL. */
const struct web_file *web_find_file(const struct web *web, const char *path);
size_t web_count_files(const struct web *web);
size_t web_count_bytes(const struct web *web);

#endif
