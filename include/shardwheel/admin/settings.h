/* SPDX-License-Identifier: MIT */
/*
 * admin/settings: what this node was told by files, environment and command line, and what it is. See
 * shardwheel/admin.h for threads, ownership and refusals.
 *
 * Reload      admin_set_config copies all of a config, so nobody reads one that is gone. A reader has one whole state.
 */
#ifndef SHARDWHEEL_ADMIN_SETTINGS_H
#define SHARDWHEEL_ADMIN_SETTINGS_H

#include "shardwheel/admin.h"
#include "shardwheel/config.h"
#include "shardwheel/store/cluster.h"

/* At start, and after each reload. ERR_NOMEM: the state before stays. */
MUST_CHECK enum err admin_set_config(struct admin *a, const struct config *config, struct errctx *ec);

struct setting_row {
    const char *key, *value; /* secrets are hidden */
    const char *source;      /* "FILE:LINE", "environment NAME", "command line", "default" */
    struct config_about about;
};
struct setting_list {
    struct setting_row *rows; /* in the order of the table of keys */
    size_t count;
    char *memory; /* of the texts */
};
/* Right: ADMINISTER. */
MUST_CHECK enum err admin_load_settings(struct admin *a, const struct actor *actor, struct setting_list *out,
                                        struct refusal *r);
void setting_list_fini(struct setting_list *list);

/* What this node logs, by area. It counts until its next reload or end; others keep theirs. Right: ADMINISTER; on
 * record as log.levels. */
MUST_CHECK enum err admin_load_log_levels(const struct actor *actor, enum log_level out[LOG_AREA_COUNT],
                                          struct refusal *r);
MUST_CHECK enum err admin_set_log_levels(struct admin *a, const struct actor *actor,
                                         const enum log_level levels[LOG_AREA_COUNT], struct refusal *r);

struct instance {
    const char *version;
    const char *node, *incarnation;
    char coordination[16];       /* "zookeeper", "standalone" */
    const char *glue;            /* as shardwheel.glue says: "on", "off", "bean-only" */
    const char *console_dialect; /* as shardwheel.console.dialect says: "auto", "A" to "D" */
    char schema_family[8];
    char database_version[64];
    struct cluster_zones zones; /* as they are on record */
    int shards;                 /* 0: no node has worked on this database yet */
    int64_t now_ms;             /* by the database's clock */
};
/* For everybody who is known. */
MUST_CHECK enum err admin_load_instance(struct admin *a, const struct actor *actor, struct instance *out,
                                        struct refusal *r);

#endif
