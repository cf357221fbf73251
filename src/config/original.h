/* SPDX-License-Identifier: MIT */
/*
 * original: keys of the original, and of Spring under it, that have no row in keys.h; and those that had one.
 *
 * People bring the files that they have: what is below a name of the original or of Spring never stops a start, known
 * or not, nor does a former key of ours. It is named in the log at start, once, where ignoring it does something else
 * than was asked for as a warning. Refused is only what would open a door (no TLS) or is a second way to say where the
 * database is.
 */
#ifndef CONFIG_ORIGINAL_H
#define CONFIG_ORIGINAL_H

#include "shardwheel/base.h"

enum original_fate {
    ORIGINAL_ALIAS,    /* another name of a key of ours, which is the row's reason */
    ORIGINAL_LOADER,   /* says which files are read; see files.c */
    ORIGINAL_REFUSED,  /* an error; the reason is what to do instead */
    ORIGINAL_WARNED,   /* ignored, with a warning */
    ORIGINAL_IGNORED,  /* known to be theirs */
    ORIGINAL_PRESUMED, /* ... by its beginning alone: it may be a slip of the pen for one of ours */
};

struct original_row {
    const char *name; /* ends in a dot: all keys below */
    enum original_fate fate;
    const char *reason;
};

/* The first row that fits, or NULL. */
const struct original_row *original_find(const char *name);
/* The same for a variable of the environment, where those that are only ignored are not looked for: nobody knows whose
 * they are. */
const struct original_row *original_find_variable(const char *variable, size_t len);
const struct original_row *original_get_rows(size_t *count);

#endif
