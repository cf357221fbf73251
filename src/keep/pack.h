/* SPDX-License-Identifier: MIT */
/*
 * pack: texts as they lie in the database: compressed by zlib. Pure.
 */
#ifndef KEEP_PACK_H
#define KEEP_PACK_H

#include "shardwheel/base.h"

/* False when out of memory. */
bool keep_pack(const char *text, size_t len, struct buf *out);

#endif
