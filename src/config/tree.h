/* SPDX-License-Identifier: MIT */
/*
 * tree: folders in which each file is a key: its name the key, its content the value. Private to config.
 *
 * Values      As they are: no placeholders, no escapes; one end of line at the end goes. A folder in the folder is the
 *             first part of the names of what is in it. Names that begin with a dot do not count: Kubernetes has its
 *             own in such folders.
 * Faults      Of a file whose name is a key of ours an error, of any other a note: others may keep theirs there. No
 *             text has any of a value in it.
 */
#ifndef CONFIG_TREE_H
#define CONFIG_TREE_H

#include "config/origin.h"
#include "config/settings.h"

enum tree_kind {
    TREE_ASKED,       /* of spring.config.import */
    TREE_CREDENTIALS, /* of systemd: shardwheel_KEY from a folder, KEY alone; other names are somebody else's */
    TREE_BESIDE,      /* nobody asked: what may not be read is told (CONFIG_NOTE_UNREADABLE) and passed over */
};

/* Adds to `out`. ERR_NOTFOUND when there is no such folder. */
MUST_CHECK enum err tree_load(const char *path, enum tree_kind kind, struct settings *out, struct config_origin *origin,
                              struct errctx *ec);

/* The value of a key in a file of its own, for the caller to free. ERR_NOTFOUND when there is no such file. */
MUST_CHECK enum err tree_read_value(const char *path, const struct key_row *row, char **out, struct errctx *ec);

#endif
