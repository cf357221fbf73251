/* SPDX-License-Identifier: MIT */
/*
 * store/zones: the two zones that all nodes of a cluster must have in common, on record in shardwheel_cluster.
 *
 * A node finds planned rows by their DATETIME columns: one that reads these in another zone looks hours beside them, and they
 * are lost. So a node compares its zones with those on record when it starts. Two names are one zone when their offsets are the
 * same from a year ago until twenty years from now. See store/conn.h for threads, ownership and errors.
 */
#ifndef SHARDWHEEL_STORE_ZONES_H
#define SHARDWHEEL_STORE_ZONES_H

#include "shardwheel/store.h"

enum cluster_zone {
    CLUSTER_ZONE_DATABASE, /* of DATETIME columns: that of store_opts */
    CLUSTER_ZONE_CRON,
};

/* Names as they stand on record; "" where none does. */
struct cluster_zones {
    char database[ZONE_NAME_MAX];
    char cron[ZONE_NAME_MAX];
};

/* One transaction, after store_init_shards: compares this node's zones with those on record, and puts on record what is not
 * there (NULL). A zone that has no name, and no single offset either, is compared, but cannot be put on record. ERR_STATE names
 * both zones and what to do. */
MUST_CHECK enum err store_agree_on_zones(struct store_session *s, const struct zone *cron, struct cluster_zones *out,
                                         struct errctx *ec);
/* One transaction: puts a zone on record, for all nodes that start from now on; `before` gets the name that was there. ERR_BUSY:
 * a node gave a sign of life within the last 10 s. ERR_STATE: no node has ever worked on this database. Unless `force`,
 * ERR_CONFLICT when fires are planned in rows that would not be found any more. A node that starts at this very moment and has
 * not written its row yet is not seen. */
MUST_CHECK enum err store_set_zone(struct store_session *s, enum cluster_zone which, const char *name, bool force,
                                   char before[ZONE_NAME_MAX], struct errctx *ec);

#endif
