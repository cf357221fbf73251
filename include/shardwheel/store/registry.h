/* SPDX-License-Identifier: MIT */
/*
 * store/registry: executor groups and the rows of the registry. See store/conn.h for threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_REGISTRY_H
#define SHARDWHEEL_STORE_REGISTRY_H

#include "shardwheel/store/conn.h"

struct group_row {
    int64_t id;
    bool manual; /* address_type 1 */
    const char *app_name;
    const char *address_list; /* as stored; "" for NULL */
    const char *access_token; /* "" where the schema has none or NULL */
};
STORE_LIST(group_list, struct group_row, rows); /* ascending by id */
MUST_CHECK enum err store_load_groups(struct store_session *s, struct group_list *out, struct errctx *ec);
/* Writes address_list (NULL when "") and update_time of one automatic group where the list still is what was read. */
MUST_CHECK enum err store_update_group_addresses(struct store_session *s, int64_t group, const char *old_list,
                                                 const char *new_list, int64_t now_s, struct errctx *ec);

struct beat {
    const char *group; /* registry_group */
    const char *key;
    const char *value;
    bool remove;
};
/* In order; a beat for a row that is there renews it, else inserts; a removal deletes. */
MUST_CHECK enum err store_write_beats(struct store_session *s, const struct beat *beats, size_t count, int64_t now_s,
                                      struct errctx *ec);
struct registry_row {
    const char *group, *key, *value;
};
STORE_LIST(registry_list, struct registry_row, rows);
/* Deletes rows not renewed since dead_before_s and loads the rest. */
MUST_CHECK enum err store_load_registry(struct store_session *s, int64_t dead_before_s, struct registry_list *out,
                                        struct errctx *ec);

/* shardwheel_beats: a node has missed heartbeats now. A time without any of `hold_s` ends what was before. */
MUST_CHECK enum err store_note_missed(struct store_session *s, int64_t hold_s, struct errctx *ec);
/* *age_s: how long ago nodes began to miss heartbeats, if one did so within the last hold_s; else -1. */
MUST_CHECK enum err store_load_missed(struct store_session *s, int64_t hold_s, int64_t *age_s, struct errctx *ec);

#endif
