/* SPDX-License-Identifier: MIT */
/*
 * gzip: compresses answers; the one file that knows zlib.
 *
 * Threads     One owner each.
 * Cost        A quarter of a MiB each; the fastest level, as answers are made for one reader once.
 */
#ifndef HTTP_GZIP_H
#define HTTP_GZIP_H

#include "shardwheel/base.h"

struct gzip;

struct gzip *gzip_create(void);    /* NULL when out of memory */
void gzip_destroy(struct gzip *g); /* NULL is fine */
/* Appends what becomes of the bytes, which may be nothing until the end. False when out of memory. `end`: these are the
 * last ones. */
bool gzip_add(struct gzip *g, const void *data, size_t len, bool end, struct buf *out);
/* Whether a field Accept-Encoding allows it; NULL does not. Pure. */
bool gzip_is_accepted(const char *accept_encoding);

#endif
