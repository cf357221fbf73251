/* SPDX-License-Identifier: MIT */
/*
 * original: keys of the original, and of Spring under it, that have no row in keys.h.
 *
 * Most of them mean nothing here and are ignored. Where ignoring one would do something else than the operator
 * asked for (listen everywhere, serve without TLS, miss a file), it is refused with the way to do it here.
 */
#ifndef CONFIG_ORIGINAL_H
#define CONFIG_ORIGINAL_H

#include "shardwheel/base.h"

enum original_fate {
    ORIGINAL_UNKNOWN, /* nobody's: an error */
    ORIGINAL_IGNORED,
    ORIGINAL_REFUSED,
    ORIGINAL_LOADER, /* says which files are read; see files.c */
};

struct original_row {
    const char *name; /* ends in a dot: all keys below */
    enum original_fate fate;
    const char *reason; /* NULL for ORIGINAL_UNKNOWN */
};

/* The first row that fits, or NULL. */
const struct original_row *original_find(const char *name);
/* The same for a variable of the environment, of which only those refused and those of the loader are looked for.
 */
const struct original_row *original_find_variable(const char *variable, size_t len);
const struct original_row *original_get_rows(size_t *count);

#endif
